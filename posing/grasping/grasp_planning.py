"""Grasp planning: candidates are tried on the cached distance, and the best are closed on the exact surface."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...errors import HandError
from ...hand.kinematics import Pose, joint_frames
from ...hand.model import HandModel
from . import contact_frames, finger_closing, grasp_circle, grasp_quality
from .candidates import BACK, OPENING, Holder, Task, Thing, Tries, cost, tries
from .distance_field import Distance, Field
from .finger_closing import NEAR, Touching
from .grasp_circle import GraspPlane
from .grasp_quality import TOUCHES
from .grips import GRIPS, Grip, Name
from .object_shape import Shape
from .skin_samples import LINKS, Flesh, thinned

Floats = NDArray[np.float64]

THIN, SMALL, HELD, FLAT = 0.09, 0.2, 0.35, 0.03
"""Hand lengths: thinner objects are held like a pen, smaller ones are pinched, shorter ones are no pens; a flatter
block is a card."""
TRIED, CLOSED, EXACT = 32, 6, 2
"""Number of candidates for each axis that are tried at all; in total with all motions of the thumb; and exactly."""
OTHERS: tuple[Name, ...] = ("wrap", "ball", "pinch")
"""Grips to try if the most suitable one does not hold."""
COARSE = 0.055
"""Hand lengths between the skin points of candidates."""
GRID = 0.016
"""Hand lengths between the grid points of the cached distance."""
SEARCHED = 4e-4
"""m, contact distance of candidates."""
CLEARINGS = 24
"""Greatest number of steps that move an open hand out of the object."""


@dataclass(frozen=True, slots=True, eq=False)
class Hold:
    """A planned grasp."""

    grip: Grip
    root: Floats
    """(4, 4) T_world_wrist"""
    before: Floats
    """(4, 4) T_world_wrist of the open hand at the start of its straight approach."""
    opened: Floats
    """(D,) rad, angles of the open hand."""
    closed: Floats
    """(D,) rad, angles to which it would close without an object."""
    paces: Floats
    """(3,) relative speeds of the fingers' joints, see Grip."""
    angles: Floats
    """(D,) rad, angles of the grasp."""
    gaps: Floats
    """(5, 3) m, the distance of each phalanx's skin; infinite for digits that do not hold."""
    plane: GraspPlane
    contact: Floats
    """(3,) m, the point of the grasping circle nearest to the hand's pose before the grasp."""
    score: float


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    """A candidate and the best motion of its thumb."""

    place: Tries
    """A single pose."""
    thumb: int
    """Index into Grip.thumbs."""
    cost: float


def choose_grip(shape: Shape, hand: HandModel) -> Grip:
    """Return the grip by which a hand of this size holds an object.

    Raises HandError for an object that is too thick.
    """
    size, long = contact_frames.length(hand), float(shape.extents.max())
    thick = _check_thickness(shape, hand)
    if shape.kind == "ball":
        return GRIPS["pinch" if long < SMALL * size else "ball"]
    slender = thick < THIN * size
    if shape.kind == "bar" and slender and shape.length >= max(HELD * size, 0.99 * long):
        return GRIPS["write"]
    card = shape.kind == "block" and thick < FLAT * size
    # A bar's width is that of its body: a handle that sticks out passes the hand.
    wide = shape.thickness() if shape.kind == "bar" else shape.extents[1:].max()
    if card or long < (HELD if slender else SMALL) * size or wide > OPENING * size:
        return GRIPS["pinch"]
    return GRIPS["wrap"]


def plan(holder: Holder, thing: Thing, name: Name | None = None) -> Hold:
    """Return the best grasp of an object, by the named grip or the most suitable one.

    Raises HandError for an object that is too thick or flat, and if thumb and fingers cannot touch it.
    """
    _check_thickness(thing.shape, holder.hand)
    plane = grasp_circle.grasp_plane(grasp_circle.assign(grasp_circle.four_points(thing.vertices, thing.shape.axes[0])))
    size = contact_frames.length(holder.hand)
    low, high = thing.vertices.min(axis=0), thing.vertices.max(axis=0)
    field = Field(thing.thickened, low - 0.1 * size, high + 0.1 * size, GRID * size)
    first: Name = name or choose_grip(thing.shape, holder.hand).name
    # Without a named grip, others are tried until thumb and fingers touch.
    others: tuple[Name, ...] = () if name else OTHERS
    for one in (first, *(other for other in others if other != first)):
        task = Task(GRIPS[one], holder, thing, plane, plane.contact(holder.root[:3, 3]))
        holds = [_exact(task, field, found) for found in _search(task, field)[:EXACT]]
        best = max(holds, key=lambda hold: hold.score)
        near = best.gaps < TOUCHES
        if near[1:].any() and (name or near[0].any()):
            return best
    raise HandError(
        "no finger and thumb come to the object from opposite sides, turn the hand's palm towards it or choose another "
        "grip"
    )


def close_hand(task: Task, root: Floats, bends: tuple[Floats, Floats], paces: Floats) -> Touching:
    """Close a hand at root (4, 4); bends: first and last angles, (D,) rad each.

    First the fingers, of which those without contact follow their neighbours; then the thumb, which must not pass
    through a finger.
    """
    hand, flesh, thing = task.hand, task.holder.flesh, task.thing
    roots, each = root[None], paces[None]
    opened, closed = bends[0][None], bends[1][None]
    fingers = _fingers(task.grip)
    closes = finger_closing.Closing(hand, flesh, thing.distance, yields=thing.yields)
    touching = closes.close(roots, (opened, closed), fingers, paces=each)
    idle = [digit for digit in fingers if not np.any(touching.gaps[0, digit] < TOUCHES)]
    if idle and len(idle) < len(fingers) and not task.grip.placed:
        like_others = closed.copy()
        for digit in idle:
            like = min((other for other in fingers if other not in idle), key=lambda other: abs(other - digit))
            like_others[0, _bending(hand, digit)] = touching.angles[0, _bending(hand, like)]
        touching = closes.close(roots, (opened, like_others), fingers, paces=each)
    if 0 not in task.grip.digits:
        return touching
    thumb = np.isin(hand.axis_joint, LINKS[0])
    begin, end = np.where(thumb, opened, touching.angles), np.where(thumb, closed, touching.angles)
    rods = finger_closing.phalanges(hand, roots, begin, flesh, (1, 2, 3))
    return _with(touching, 0, closes.close(roots, (begin, end), (0,), capsules=rods), 0)


def cleared(task: Task, outwards: Distance, root: Floats, opened: Floats) -> Floats:
    """Return root (4, 4), moved so that no skin of the open hand is inside the object.

    outwards: the distance's gradient (3,) at a point (3,).
    """
    root = root.copy()
    for _ in range(CLEARINGS):
        skin = task.holder.flesh.moved(joint_frames(task.hand, Pose(task.hand, root[None], opened[None])))[0]
        far = task.thing.distance(skin)
        deepest = int(far.argmin())
        if far[deepest] >= 0:
            break
        root[:3, 3] += (NEAR - far[deepest]) * outwards(skin[deepest])
    return root


def _check_thickness(shape: Shape, hand: HandModel) -> float:
    """Return the thickness (m) that must fit into the hand. Raises HandError if it does not."""
    thick = {"ball": shape.extents.max(), "bar": min(shape.thickness(), shape.length), "block": shape.extents[2]}
    opening = OPENING * contact_frames.length(hand)
    if thick[shape.kind] > opening:
        raise HandError(
            f"the object is {_length(thick[shape.kind])} thick and the hand opens to {_length(opening)}: make one of "
            "them fit the other"
        )
    return float(thick[shape.kind])


def _length(metres: float) -> str:
    return f"{metres:.2f} m" if metres >= 1 else f"{1e3 * metres:.0f} mm"


def _fingers(grip: Grip) -> tuple[int, ...]:
    return tuple(digit for digit in grip.digits if digit)


def _inside_of_hand(flesh: Flesh) -> Flesh:
    """Return the skin without the backs of fingers and hand, which do not touch a held object."""
    out = flesh.local()[:, 2]
    front = out < np.where(flesh.digit < 0, -0.002, 0.35 * np.abs(out).max())
    return flesh.chosen(np.flatnonzero(front))


def _search(task: Task, field: Field) -> list[_Found]:
    """Return the best candidates, best first."""
    hand, grip, holder = task.hand, task.grip, task.holder
    few = replace(thinned(_inside_of_hand(holder.flesh), COARSE * task.size), dual=False)
    opened, closed = grip.bends(hand, len(grip.thumbs) // 2)
    places = Tries.together(
        each.some(np.argsort(cost(task, each, ahead=True), kind="stable")[:TRIED]) for each in tries(task)
    )
    places = _come(task, few, field, places, opened).with_paces(grip)
    bends = np.tile(opened, (len(places.roots), 1)), np.tile(closed, (len(places.roots), 1))
    closes = finger_closing.Closing(hand, few, field, near=SEARCHED)
    touching = closes.close(places.roots, bends, _fingers(grip), paces=places.paces)
    costs = cost(task, places)
    first = grasp_quality.worth(task, touching, range(1, 5)) - costs
    found = []
    for row in np.argsort(-first, kind="stable")[:CLOSED].tolist():
        thumbs = _thumb(task, closes, places.roots[row], touching.angles[row])
        both = [_with(touching, row, thumbs, way) for way in range(len(grip.thumbs))]
        worth = [
            float(grasp_quality.worth(task, one, range(5))[0] + grasp_quality.opposed(field, one)[0]) for one in both
        ]
        way = int(np.argmax(worth))
        found.append((worth[way] - float(costs[row]), _Found(places.some(np.array([row])), way, float(costs[row]))))
    return [one for _, one in sorted(found, key=lambda pair: -pair[0])]


def _come(task: Task, flesh: Flesh, distance: Distance, places: Tries, opened: Floats) -> Tries:
    """Return candidates moved along their directions of approach until their skin touches."""
    if task.grip.placed:
        return places
    most = float(task.thing.shape.extents.max()) + 2 * BACK * task.size
    closes = finger_closing.Closing(task.hand, flesh, distance)
    gone = closes.approach(places.roots, np.tile(opened, (len(places.roots), 1)), places.ways, most)
    roots = places.roots.copy()
    roots[:, :3, 3] += gone[:, None] * places.ways
    return replace(places, roots=roots)


def _thumb(task: Task, closes: finger_closing.Closing, root: Floats, fingers: Floats) -> Touching:
    """Return the thumb closed by each of its motions, with the fingers at angles (D,)."""
    hand, count = task.hand, len(task.grip.thumbs)
    thumb = np.isin(hand.axis_joint, LINKS[0])
    opened, closed = np.moveaxis(np.array([task.grip.bends(hand, way) for way in range(count)]), 1, 0)
    bends = np.where(thumb, opened, fingers), np.where(thumb, closed, fingers)
    roots = np.tile(root, (count, 1, 1))
    rods = finger_closing.phalanges(hand, roots, bends[0], task.holder.flesh, (1, 2, 3))
    return closes.close(roots, bends, (0,), capsules=rods)


def _with(fingers: Touching, row: int, thumbs: Touching, way: int) -> Touching:
    """Return the contacts of one candidate's fingers (`row`) and one motion of its thumb (`way`)."""
    gaps, places = fingers.gaps[row : row + 1].copy(), fingers.points[row : row + 1].copy()
    gaps[0, 0], places[0, 0] = thumbs.gaps[way, 0], thumbs.points[way, 0]
    return Touching(thumbs.angles[way : way + 1], gaps, places)


def _exact(task: Task, field: Field, found: _Found) -> Hold:
    """Return the grasp of a candidate, computed with all of its skin and the exact distance."""
    opened, closed = task.grip.bends(task.hand, found.thumb)
    place = found.place
    if not task.grip.placed:
        # Start clear of the object, because the distance does not show that a sheet was crossed.
        back = place.roots.copy()
        back[:, :3, 3] -= (0.5 * float(task.thing.shape.extents.max()) + BACK * task.size) * place.ways
        place = _come(task, task.holder.flesh, task.thing.distance, replace(place, roots=back), opened)
    root = cleared(task, field.gradient, place.roots[0], opened)
    touching = close_hand(task, root, (opened, closed), place.paces[0])
    before = root.copy()
    before[:3, 3] -= BACK * task.size * place.ways[0]
    score = grasp_quality.worth(task, touching, range(5))[0] + grasp_quality.opposed(field, touching)[0] - found.cost
    return Hold(
        grip=task.grip,
        root=root,
        before=before,
        opened=opened,
        closed=closed,
        paces=place.paces[0],
        angles=touching.angles[0],
        gaps=touching.gaps[0],
        plane=task.plane,
        contact=task.contact,
        score=float(score),
    )


def _bending(hand: HandModel, digit: int) -> NDArray[np.int64]:
    """Return the flexion angles of a digit, outwards."""
    flexes = np.array([movement == "flexion" for movement in hand.movements])
    return np.flatnonzero(flexes & np.isin(hand.axis_joint, LINKS[digit]))
