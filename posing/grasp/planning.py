"""Which grip, from where: candidates are tried on the object's surface, and the best of them is closed exactly."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...errors import HandError
from ...hand import rotations as rot
from ...hand.kinematics import Pose, joint_frames
from ...hand.model import HandModel
from . import closing, points, seats
from .closing import Touching
from .field import Distance, Field
from .flesh import Flesh, thinned
from .grips import GRIPS, Grip, Name
from .points import GraspPlane
from .seats import Seat
from .shape import Shape

Floats = NDArray[np.float64]

OPENING = 0.62
"""Hand lengths: what is thicker does not go into a hand."""
THIN, SMALL, HELD = 0.09, 0.2, 0.35
"""Hand lengths: what is thinner is held as a pen is, what is smaller between finger and thumb, what is shorter is no
pen."""
ROLLS = 16
"""Ways about an axis from which the hand comes."""
TRIED, CLOSED, EXACT = 32, 8, 3
"""How many candidates are tried at all, with all ways of the thumb, and exactly."""
COARSE = 0.055
"""Hand lengths between the points of skin that candidates are tried with,"""
GRID = 0.016
"""and between the places where the distance is kept for them."""
SHEET = 0.0015
"""m, what stands on either side of a surface without an inside, for candidates."""
SEARCHED = 4e-4
"""m, what is as near touches, for candidates."""
TOUCHES = 0.002
"""m, a phalanx that is as near holds."""
BACK = 0.35
"""Hand lengths in front of the surface where the hand is open before it comes straight."""
TURNED = 1.0
"""What a half turn from how the hand stands costs, in phalanges that hold."""
LACKING = 40.0
"""What each metre costs by which an arm is too short."""


@dataclass(frozen=True, slots=True, eq=False)
class Holder:
    """The hand that is to hold."""

    hand: HandModel
    flesh: Flesh
    root: Floats
    """(4, 4) T_world_wrist, how it stands now."""
    lacking: Callable[[Floats], Floats] | None = None
    """What an arm lacks (F,) m to bring its wrist to (F, 4, 4); None for a hand that hangs on none."""


@dataclass(frozen=True, slots=True, eq=False)
class Thing:
    """The object that is to be held."""

    shape: Shape
    vertices: Floats
    """(V, 3) m"""
    distance: Distance
    solid: bool = True
    """Whether it has an inside; of a sheet the distance is never below 0."""

    @property
    def yields(self) -> float:
        """See closing.close."""
        return 1.0 if self.solid else 0.0

    def thickened(self, points: Floats) -> Floats:
        """(N,) m, the distance as candidates are tried with: a sheet is as thick as the grid can tell."""
        far = self.distance(points)
        return far if self.solid else far - SHEET


@dataclass(frozen=True, slots=True, eq=False)
class Hold:
    """A hand that holds an object."""

    grip: Grip
    root: Floats
    """(4, 4) T_world_wrist,"""
    before: Floats
    """(4, 4) and where the hand is open before it comes straight."""
    opened: Floats
    """(D,) rad, how it comes,"""
    closed: Floats
    """(D,) how far it would close on nothing,"""
    angles: Floats
    """(D,) and how it holds."""
    gaps: Floats
    """(5, 3) m, how near the skin of each phalanx is."""
    plane: GraspPlane
    contact: Floats
    """(3,) m, where the grasping circle is nearest to how the hand stood."""
    score: float


@dataclass(frozen=True, slots=True, eq=False)
class _Tries:
    """F places of a hand."""

    roots: Floats
    """(F, 4, 4)"""
    ways: Floats
    """(F, 3) unit"""
    paces: Floats
    """(F, 3), see Grip."""

    def some(self, rows: NDArray[np.int64]) -> "_Tries":
        return _Tries(self.roots[rows], self.ways[rows], self.paces[rows])


def choose_grip(shape: Shape, hand: HandModel) -> Grip:
    """How a hand of this size holds such an object.

    Raises HandError for one that is too thick for it.
    """
    size = seats.length(hand)
    thick, long = _thickness(shape), float(shape.extents.max())
    if thick > OPENING * size:
        raise HandError(
            f"the object is {_length(thick)} thick and the hand opens to {_length(OPENING * size)}: scale one of them, "
            "or choose a part that it can hold"
        )
    if shape.kind == "ball":
        return GRIPS["pinch" if long < SMALL * size else "ball"]
    if shape.kind == "bar" and shape.length >= long * 0.99 and thick < THIN * size and long >= HELD * size:
        return GRIPS["write"]
    if long < SMALL * size or shape.extents[1:].max() > OPENING * size or (thick < THIN * size and long < HELD * size):
        return GRIPS["pinch"]
    return GRIPS["wrap"]


def plan(holder: Holder, thing: Thing, name: Name | None = None) -> Hold:
    """The best hold of an object, by a grip or by the one that suits it.

    Raises HandError for an object that is too thick or flat, and where no finger and thumb come to it.
    """
    grip = GRIPS[name] if name else choose_grip(thing.shape, holder.hand)
    if name:
        choose_grip(thing.shape, holder.hand)
    size = seats.length(holder.hand)
    plane = _plane(thing)
    contact = plane.contact(holder.root[:3, 3])
    tries = _nearest(_tries(grip, holder, thing, plane, contact), holder)
    low, high = thing.vertices.min(axis=0), thing.vertices.max(axis=0)
    field = Field(thing.thickened, low - 0.1 * size, high + 0.1 * size, GRID * size)
    few = replace(thinned(_inside_of_hand(holder.flesh), COARSE * size), dual=False)
    found = _search(grip, holder, thing, field, few, tries)
    best: Hold | None = None
    for cost, seat, thumb in found[:EXACT]:
        hold = _exact(grip, holder, thing, field, seat, thumb, (plane, contact))
        hold = replace(hold, score=hold.score - cost)
        if best is None or hold.score > best.score:
            best = hold
    if best is None or not _holds(best):
        raise HandError(
            "no finger and thumb come to the object from opposite sides, turn the hand's palm towards it or choose "
            "another grip"
        )
    return best


def _holds(hold: Hold) -> bool:
    near = hold.gaps < TOUCHES
    return bool(near[0].any() and near[1:].any())


def _thickness(shape: Shape) -> float:
    """m, what has to go between the fingers: of an object that lies flat how flat it is."""
    if shape.kind == "block":
        return float(shape.extents[2])
    return min(shape.thickness(), shape.length) if shape.kind == "bar" else shape.thickness()


def _length(metres: float) -> str:
    return f"{metres:.2f} m" if metres >= 1 else f"{1e3 * metres:.0f} mm"


def _plane(thing: Thing) -> GraspPlane:
    four = points.assign(points.four_points(thing.vertices, thing.shape.axes[0]))
    return points.grasp_plane(four)


def _inside_of_hand(flesh: Flesh) -> Flesh:
    """Without the backs of fingers and hand, which touch nothing that is held."""
    front = flesh.local()[:, 2] < np.where(flesh.digit < 0, -0.002, 0.35 * np.abs(flesh.local()[:, 2]).max())
    return flesh.chosen(np.flatnonzero(front))


def _tries(grip: Grip, holder: Holder, thing: Thing, plane: GraspPlane, contact: Floats) -> _Tries:
    """Places of a hand about an object, of which the first comes by the paper's point of contact."""
    hand, shape = holder.hand, thing.shape
    size = seats.length(hand)
    roots, ways = [], []
    for axis, place, way, seat in _poses(grip, holder, thing, plane, contact):
        basis = np.stack([seat.axis, seat.way, np.cross(seat.axis, seat.way)], axis=1)
        onto = np.stack([axis, way, np.cross(axis, way)], axis=1)
        root = np.eye(4)
        root[:3, :3] = onto @ basis.T
        away = 0.0 if grip.placed else 0.5 * float(shape.extents.max()) + BACK * size
        root[:3, 3] = place - away * way - root[:3, :3] @ seat.place
        roots.append(root)
        ways.append(way)
    return _Tries(np.array(roots), np.array(ways), np.ones((len(roots), 3)))


def _poses(
    grip: Grip, holder: Holder, thing: Thing, plane: GraspPlane, contact: Floats
) -> "list[tuple[Floats, Floats, Floats, Seat]]":
    """Object's axis, object's place, way of the hand, seat: of every candidate."""
    hand, shape = holder.hand, thing.shape
    if grip.name == "ball":
        return _about_ball(holder, shape)
    result = []
    for axis, middle, seat in _lines(grip, holder, thing, plane):
        toward = contact - middle
        toward = toward - (toward @ axis) * axis
        if np.linalg.norm(toward) < 1e-9:
            toward = np.cross(axis, np.eye(3)[np.abs(axis).argmin()])
        first = -rot.unit_vector(toward)
        for roll in range(ROLLS):
            way = rot.rotate(rot.about(axis, 2 * np.pi * roll / ROLLS), first)
            place = middle
            if grip.name == "pinch":
                half = 0.5 * shape.thickness(0.0, way)
                place = middle - max(0.0, half - 0.12 * seats.length(hand)) * way
            result.append((axis, place, way, seat))
    return result


def _lines(grip: Grip, holder: Holder, thing: Thing, plane: GraspPlane) -> "list[tuple[Floats, Floats, Seat]]":
    """Axes of an object, places on them, and the seats in which they may lie."""
    hand, shape = holder.hand, thing.shape
    size = seats.length(hand)
    axis = shape.axes[0]
    if grip.name == "write":
        axis = _to_tip(shape, holder)
        seat = seats.web_seat(hand, holder.flesh, 0.5 * shape.thickness())
        return [(axis, shape.centre + (0.5 * shape.length - 0.19 * size) * axis, seat)]
    if grip.name == "pinch":
        thin = shape.axes[int(shape.extents.argmin())]
        seat = seats.pinch_seat(hand, holder.flesh)
        across = [thin] if shape.extents.min() < 0.7 * shape.extents.max() else list(shape.axes)
        return [(sign * one, shape.centre, seat) for one in across for sign in (1.0, -1.0)]
    # Half way between base and apex, and of what is long where the hand is.
    station = float((plane.centre - shape.centre) @ axis)
    spare = max(0.0, 0.5 * shape.length - 0.3 * size)
    if spare > 0:
        station = float(np.clip((holder.root[:3, 3] - shape.centre) @ axis, -spare, spare))
    middle = shape.centre + station * axis
    slim = 1.0 - min(1.0, shape.thickness(station) / (OPENING * size))
    places = [
        seats.palm_seat(hand, tilt=tilt, back=back - 0.05 * slim, aside=0.45)
        for tilt in (0.0, 0.1 + 0.25 * slim)
        for back in (0.05, 0.12)
    ]
    return [(sign * axis, middle, seat) for sign in (1.0, -1.0) for seat in places]


def _to_tip(shape: Shape, holder: Holder) -> Floats:
    """(3,) the axis of a pen towards its tip: the thinner end, or else the lower one, or else as the hand points."""
    axis = shape.axes[0]
    ends = [shape.thickness(sign * 0.5 * shape.length) for sign in (1, -1)]
    if abs(ends[0] - ends[1]) > 0.1 * max(ends):
        return axis if ends[0] < ends[1] else -axis
    if abs(axis[2]) > 0.3:
        return axis if axis[2] < 0 else -axis
    points_to = holder.root[:3, 1]
    return axis if axis @ points_to >= 0 else -axis


def _about_ball(holder: Holder, shape: Shape) -> "list[tuple[Floats, Floats, Floats, Seat]]":
    """A ball is alike from everywhere: from where the hand is, with the palm towards it."""
    now = holder.root[:3, :3]
    result = []
    for back in (0.0, 0.05, 0.1):
        for aside in (0.3, 0.45):
            seat = seats.palm_seat(holder.hand, tilt=0.0, back=back, aside=aside)
            for turn in (0.0, 0.35, -0.35):
                for about in (now[:, 0], now[:, 1])[: 1 if turn == 0 else 2]:
                    tilted = rot.to_matrix(rot.about(about, turn)) @ now
                    result.append((tilted @ seat.axis, shape.centre, tilted @ seat.way, seat))
    return result


def _nearest(tries: _Tries, holder: Holder) -> _Tries:
    """Those that turn the hand least from how it stands."""
    return tries.some(np.argsort(_turned(tries.roots, holder), kind="stable")[:TRIED])


def _turned(roots: Floats, holder: Holder) -> Floats:
    """(F,) rad, from how the hand stands."""
    between = np.swapaxes(roots[:, :3, :3], -1, -2) @ holder.root[:3, :3]
    angles: Floats = np.arccos(np.clip((np.trace(between, axis1=1, axis2=2) - 1) / 2, -1.0, 1.0))
    return angles


def _search(
    grip: Grip, holder: Holder, thing: Thing, field: Field, few: Flesh, tries: _Tries
) -> list[tuple[float, _Tries, int]]:
    """What each of the best candidates costs, its place, and the way of its thumb; the best first."""
    hand = holder.hand
    middle = len(grip.thumbs) // 2
    opened, closed = (np.tile(one, (len(tries.roots), 1)) for one in grip.bends(hand, middle))
    tries = _come(grip, holder, thing, few, field, tries, opened)
    tries = _with_paces(grip, tries)
    opened, closed = (np.tile(one[:1], (len(tries.roots), 1)) for one in (opened, closed))
    fingers = tuple(digit for digit in grip.digits if digit)
    touching = closing.close(hand, tries.roots, (opened, closed), few, field, digits=fingers, paces=tries.paces, near=SEARCHED)
    cost = TURNED * _turned(tries.roots, holder) / np.pi
    if holder.lacking is not None:
        cost = cost + LACKING * holder.lacking(tries.roots)
    first = _worth(grip, thing, field, touching, range(1, 5)) - cost
    found = []
    for row in np.argsort(-first, kind="stable")[:CLOSED]:
        thumbs = _thumb(grip, holder, field, few, tries.roots[row], touching.angles[row])
        both = [_with(touching, int(row), thumbs, way) for way in range(len(grip.thumbs))]
        worth = np.array([_worth(grip, thing, field, one, range(5))[0] + _opposed(field, one)[0] for one in both])
        way = int(worth.argmax())
        found.append((float(worth[way] - cost[row]), float(cost[row]), tries.some(np.array([row])), way))
    found.sort(key=lambda one: -one[0])
    return [(cost, place, way) for _, cost, place, way in found]


def _with_paces(grip: Grip, tries: _Tries) -> _Tries:
    """Each place with each of the paces of a grip."""
    count = len(grip.paces)
    return _Tries(
        np.repeat(tries.roots, count, axis=0),
        np.repeat(tries.ways, count, axis=0),
        np.tile(np.array(grip.paces), (len(tries.roots), 1)),
    )


def _come(
    grip: Grip, holder: Holder, thing: Thing, flesh: Flesh, distance: Distance, tries: _Tries, opened: Floats
) -> _Tries:
    """Those hands brought to where their skin touches, on their ways; a pen is where it is to be already."""
    if grip.placed:
        return tries
    most = np.full(len(tries.roots), float(thing.shape.extents.max()) + 2 * BACK * seats.length(holder.hand))
    gone = closing.approach(holder.hand, tries.roots, opened, tries.ways, flesh, distance, most)
    roots = tries.roots.copy()
    roots[:, :3, 3] += gone[:, None] * tries.ways
    return replace(tries, roots=roots)


def _thumb(grip: Grip, holder: Holder, field: Field, few: Flesh, root: Floats, fingers: Floats) -> Touching:
    """The thumb closed on each of its ways, with the fingers as they hold."""
    hand, count = holder.hand, len(grip.thumbs)
    thumb = np.flatnonzero(np.array([hand.joints[joint].startswith("thumb") for joint in hand.axis_joint]))
    opened, closed = np.tile(fingers, (2, count, 1))
    for way in range(count):
        for bends, of_grip in zip((opened, closed), grip.bends(hand, way), strict=True):
            bends[way, thumb] = of_grip[thumb]
    roots = np.tile(root, (count, 1, 1))
    rods = closing.phalanges(hand, roots, opened, holder.flesh, (1, 2, 3))
    return closing.close(hand, roots, (opened, closed), few, field, digits=(0,), capsules=rods, near=SEARCHED)


def _with(fingers: Touching, row: int, thumbs: Touching, way: int) -> Touching:
    """The fingers of one candidate and one way of its thumb."""
    gaps, places = fingers.gaps[row : row + 1].copy(), fingers.points[row : row + 1].copy()
    gaps[0, 0], places[0, 0] = thumbs.gaps[way, 0], thumbs.points[way, 0]
    return Touching(thumbs.angles[way : way + 1], gaps, places)


def _worth(grip: Grip, thing: Thing, field: Field, touching: Touching, digits: range) -> Floats:
    """(F,) what the phalanges that touch are worth; on a bar's handle or spout half of it."""
    worth = np.array(grip.finds)
    near = touching.gaps < TOUCHES
    shape = thing.shape
    beside = np.zeros_like(near)
    if shape.kind == "bar" and grip.name == "wrap":
        away = touching.points - shape.centre
        radial = np.linalg.norm(away - (away @ shape.axes[0])[..., None] * shape.axes[0], axis=-1)
        beside = radial > 0.5 * shape.thickness() + 0.004
    too_deep = touching.gaps < -2 * closing.CREASE_DEPTH
    each = worth * near * np.where(beside, 0.3, 1.0) - 2.0 * too_deep
    result: Floats = each[:, list(digits)].sum(axis=(1, 2))
    return result


def _opposed(field: Field, touching: Touching) -> Floats:
    """(F,) 0..3, how well what touches holds: the thumb against the fingers, and all of it in balance."""
    near = touching.gaps < TOUCHES
    normals = field.gradient(touching.points)
    result = np.zeros(len(near))
    for row, (touches, out) in enumerate(zip(near, normals, strict=True)):
        if touches[0].any() and touches[1:].any():
            thumb, fingers = out[0][touches[0]].mean(axis=0), out[1:][touches[1:]].mean(axis=0)
            result[row] = 1.0 - rot.unit_vector(thumb) @ rot.unit_vector(fingers)
            result[row] += 1.0 - balance(out[touches])
    return result


def balance(normals: Floats) -> float:
    """0..1, the shortest of all mixtures of unit normals (N, 3): 0 where pushes along them can hold each other.

    The point of their convex hull that is nearest to 0 (Gilbert 1966).
    """
    point = normals.mean(axis=0)
    for _ in range(30):
        furthest = normals[(normals @ point).argmin()]
        along = furthest - point
        step = -(point @ along) / max(float(along @ along), 1e-12)
        if step <= 1e-6:
            break
        point = point + min(step, 1.0) * along
    return float(np.linalg.norm(point))


def _exact(
    grip: Grip, holder: Holder, thing: Thing, field: Field, place: _Tries, thumb: int, at: tuple[GraspPlane, Floats]
) -> Hold:
    """A candidate with all of its skin and the surface's true distance."""
    hand, size = holder.hand, seats.length(holder.hand)
    opened, closed = (one[None] for one in grip.bends(hand, thumb))
    back = replace(place, roots=place.roots.copy())
    back.roots[:, :3, 3] -= 0.08 * size * place.ways
    near = place if grip.placed else _come(grip, holder, thing, holder.flesh, thing.distance, back, opened)
    angles = close_hand(grip, holder, thing, near.roots, (opened, closed), place.paces)
    before = near.roots[0].copy()
    before[:3, 3] -= BACK * size * place.ways[0]
    score = float(_worth(grip, thing, field, angles, range(5))[0] + _opposed(field, angles)[0])
    return Hold(
        grip, near.roots[0], before, opened[0], closed[0], angles.angles[0], angles.gaps[0], at[0], at[1], score
    )


def close_hand(
    grip: Grip, holder: Holder, thing: Thing, root: Floats, bends: tuple[Floats, Floats], paces: Floats
) -> Touching:
    """One hand closed: fingers, those that find nothing as their neighbours, then the thumb."""
    hand, flesh, distance, yields = holder.hand, holder.flesh, thing.distance, thing.yields
    opened, closed = bends
    fingers = tuple(digit for digit in grip.digits if digit)
    touching = closing.close(hand, root, bends, flesh, distance, digits=fingers, paces=paces, yields=yields)
    idle = [digit for digit in fingers if not np.any(touching.gaps[0, digit] < TOUCHES)]
    if idle and len(idle) < len(fingers) and not grip.placed:
        shown = closed.copy()
        for digit in idle:
            like = min((other for other in fingers if other not in idle), key=lambda other: abs(other - digit))
            shown[0, _bending(hand, digit)] = touching.angles[0, _bending(hand, like)]
        touching = closing.close(hand, root, (opened, shown), flesh, distance, digits=fingers, paces=paces, yields=yields)
    if 0 not in grip.digits:
        return touching
    thumb = np.isin(hand.axis_joint, closing.LINKS[0])
    begin, end = np.where(thumb, opened, touching.angles), np.where(thumb, closed, touching.angles)
    rods = closing.phalanges(hand, root, begin, flesh, (1, 2, 3))
    of_thumb = closing.close(hand, root, (begin, end), flesh, distance, digits=(0,), capsules=rods, yields=yields)
    return _with(touching, 0, of_thumb, 0)


def _bending(hand: HandModel, digit: int) -> NDArray[np.int64]:
    """Its flexions, outwards."""
    return np.array(
        [
            dof
            for joint in closing.LINKS[digit]
            for dof in range(hand.dofs)
            if hand.axis_joint[dof] == joint and hand.movements[dof] == "flexion"
        ]
    )
