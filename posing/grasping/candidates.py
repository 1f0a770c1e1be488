"""Candidate poses of a hand around an object, before any is tried."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...hand import rotations as rot
from ...hand.model import HandModel
from . import contact_frames
from .arm_reach import Carrier, turns_about
from .contact_frames import Seat
from .distance_field import Distance
from .grasp_circle import GraspPlane
from .grips import Grip
from .object_shape import Shape
from .skin_samples import Flesh

Floats = NDArray[np.float64]

OPENING = 0.62
"""Hand lengths, the thickest object that fits into a hand."""
ROLLS = 16
"""Number of directions about an axis from which the hand approaches."""
BACK = 0.35
"""Hand lengths from the surface at which the open hand begins its straight approach."""
INTO = 0.07
"""Hand lengths by which a pinched object's edge is between finger and thumb."""
FROM_TIP = 0.19
"""Hand lengths from the tip of a pen to where it is held."""
ASIDES = (0.0, 0.01, 0.02)
"""Hand lengths by which a pen may lie nearer to the middle finger than in Knuckle's own hand."""
ROOM = 0.3
"""Hand lengths that a hand occupies to either side along the axis that it is wrapped around."""
TURNED, LACKING, STRAINED, BENT = 1.0, 40.0, 6.0, 12.0
"""Costs, in phalanges that hold: of half a rotation from the present orientation; of each metre by which the arm is too
short; of each radian of strain; and of its square, since people do not bend a wrist far."""
THUMB_DOWN = 1.0
"""Cost of the thumb pointing down while wrapping, in phalanges that hold: nobody drinks like that."""
SHEET = 0.0015
"""m, half the thickness given to a surface without an inside while candidates are tried."""


@dataclass(frozen=True, slots=True, eq=False)
class Holder:
    """The hand that grasps."""

    hand: HandModel
    flesh: Flesh
    root: Floats
    """(4, 4) T_world_wrist, its present pose."""
    carrier: Carrier | None = None
    """None for a hand without an arm."""


@dataclass(frozen=True, slots=True, eq=False)
class Thing:
    """The object to grasp."""

    shape: Shape
    vertices: Floats
    """(V, 3) m"""
    distance: Distance
    solid: bool = True
    """Whether it has an inside; the distance from a sheet is never negative."""

    @property
    def yields(self) -> float:
        """See finger_closing.Closing.yields."""
        return 1.0 if self.solid else 0.0

    def thickened(self, points: Floats) -> Floats:
        """Return the distance (N,) m used for candidates, for which a sheet is made thick enough for the grid."""
        far = self.distance(points)
        return far if self.solid else far - SHEET


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """A grasp to plan: the object, the hand and the grip."""

    grip: Grip
    holder: Holder
    thing: Thing
    plane: GraspPlane
    contact: Floats
    """(3,) m, the point of the grasping circle nearest to the hand's present position."""

    @property
    def hand(self) -> HandModel:
        """The hand that grasps."""
        return self.holder.hand

    @property
    def size(self) -> float:
        """m, the hand's length."""
        return contact_frames.length(self.holder.hand)


@dataclass(frozen=True, slots=True, eq=False)
class Tries:
    """F candidate poses of a hand."""

    roots: Floats
    """(F, 4, 4) T_world_wrist"""
    ways: Floats
    """(F, 3) unit vectors, the directions of approach."""
    paces: Floats
    """(F, 3), see Grip.paces."""

    def some(self, rows: NDArray[np.int64]) -> "Tries":
        """Return the candidates in some rows."""
        return Tries(self.roots[rows], self.ways[rows], self.paces[rows])

    @classmethod
    def together(cls, each: "Iterable[Tries]") -> "Tries":
        """Return several sets of candidates as one."""
        return cls(*map(np.concatenate, zip(*((one.roots, one.ways, one.paces) for one in each), strict=True)))

    def with_paces(self, grip: Grip) -> "Tries":
        """Return each pose combined with each of a grip's paces."""
        count = len(grip.paces)
        paces = np.tile(np.array(grip.paces), (len(self.roots), 1))
        return Tries(np.repeat(self.roots, count, axis=0), np.repeat(self.ways, count, axis=0), paces)


@dataclass(frozen=True, slots=True, eq=False)
class _Line:
    """A line of an object to be aligned with a seat of the hand."""

    axis: Floats
    """(3,) unit vector, to be aligned with the seat's axis."""
    place: Floats
    """(3,) m, the point to be aligned with the seat's place."""
    seat: Seat


def tries(task: Task) -> list[Tries]:
    """Return candidate poses of a hand around an object, in one set for each of its axes.

    The first about a line approaches from the paper's point of contact.
    """
    if task.grip.name == "ball":
        return [_places(task, _about_ball(task))]
    return [_places(task, _about_lines(task, lines)) for lines in _lines(task)]


def _places(task: Task, about: list[tuple[_Line, Floats]]) -> Tries:
    away = 0.0 if task.grip.placed else 0.5 * float(task.thing.shape.extents.max()) + BACK * task.size
    roots = np.tile(np.eye(4), (len(about), 1, 1))
    for root, (line, way) in zip(roots, about, strict=True):
        seat = line.seat
        held = np.stack([seat.axis, seat.way, np.cross(seat.axis, seat.way)], axis=1)
        root[:3, :3] = np.stack([line.axis, way, np.cross(line.axis, way)], axis=1) @ held.T
        root[:3, 3] = line.place - away * way - root[:3, :3] @ seat.place
    return Tries(roots, np.array([way for _, way in about]), np.ones((len(roots), 3)))


def cost(task: Task, places: Tries, *, ahead: bool = False) -> Floats:
    """Return the costs (F,) of bringing a hand to candidate poses, in phalanges that hold.

    ahead: for the poses in which it will touch, estimated, instead of where the approach begins.
    """
    roots, holder = places.roots, task.holder
    if ahead and not task.grip.placed:
        roots = roots.copy()
        shape = task.thing.shape
        away = 0.5 * float(shape.extents.max()) + BACK * task.size - 0.5 * shape.across(places.ways)
        roots[:, :3, 3] += away[:, None] * places.ways
    between = np.swapaxes(roots[:, :3, :3], -1, -2) @ holder.root[:3, :3]
    turned = np.arccos(np.clip((np.trace(between, axis1=1, axis2=2) - 1) / 2, -1.0, 1.0))
    result: Floats = TURNED * turned / np.pi
    if task.grip.name == "wrap":
        from_thumb = 1.0 if holder.hand.side == "right" else -1.0
        result = result + THUMB_DOWN * np.maximum(from_thumb * roots[:, 2, 0], 0.0)
    if holder.carrier is not None:
        strain = holder.carrier.strain(roots)[0]
        result = result + LACKING * holder.carrier.lacking(roots) + STRAINED * strain + BENT * strain**2
    return result


def _about_lines(task: Task, lines: list[_Line]) -> list[tuple[_Line, Floats]]:
    """Return lines of an object with directions of approach all around them."""
    result = []
    for line in lines:
        toward = task.contact - line.place
        toward = rot.unit_vector(toward - (toward @ line.axis) * line.axis)
        if not toward.any():
            toward = rot.unit_vector(np.cross(line.axis, np.eye(3)[np.abs(line.axis).argmin()]))
        for roll in range(ROLLS):
            way = -rot.rotate(rot.from_axis_angle(line.axis, 2 * np.pi * roll / ROLLS), toward)
            place = line.place
            if task.grip.name == "pinch":
                # An object broader than the fingers are long is held at its edge.
                half = 0.5 * task.thing.shape.thickness(0.0, way)
                place = place - max(0.0, half - INTO * task.size) * way
            result.append((_Line(line.axis, place, line.seat), way))
    return result


def _lines(task: Task) -> list[list[_Line]]:
    """Return lines of an object, in one list for each of its axes."""
    hand, shape = task.hand, task.thing.shape
    if task.grip.name == "write":
        axis = _to_tip(shape, task.holder)
        place = shape.centre + (0.5 * shape.length - FROM_TIP * task.size) * axis
        radius = 0.5 * shape.thickness()
        webs = [contact_frames.web_seat(hand, task.holder.flesh, radius, aside * task.size) for aside in ASIDES]
        return [[_Line(axis, place, seat) for seat in webs]]
    if task.grip.name == "pinch":
        thin = shape.axes[int(shape.extents.argmin())]
        flat = shape.extents.min() < 0.7 * shape.extents.max()
        seat = contact_frames.pinch_seat(hand, task.holder.flesh)
        axes = [thin] if flat else shape.axes
        return [[_Line(sign * axis, shape.centre, seat) for axis in axes for sign in (1, -1)]]
    return [_wrapping(task, axis) for axis in _wrapped(task)]


def _wrapped(task: Task) -> list[int]:
    """Return the axes that a hand can wrap around: a bar's own, or those of a block that are thin enough."""
    shape = task.thing.shape
    if shape.kind != "block":
        return [0]
    return [axis for axis in range(3) if shape.thickness_about(axis) <= OPENING * task.size]


def _wrapping(task: Task, axis: int) -> list[_Line]:
    shape, along = task.thing.shape, _station(task, axis)
    slim = 1.0 - min(1.0, shape.thickness_about(axis, along) / (OPENING * task.size))
    places = [
        contact_frames.palm_seat(task.hand, tilt=tilt, back=back - 0.05 * slim, aside=0.45)
        for tilt in (0.0, 0.1 + 0.25 * slim)
        for back in (0.05, 0.12)
    ]
    middle = shape.centre + along * shape.axes[axis]
    return [_Line(sign * shape.axes[axis], middle, seat) for sign in (1, -1) for seat in places]


def _station(task: Task, axis: int) -> float:
    """Return the position (m from the centre) on an axis at which a hand wraps around it.

    In the grasping plane, half way between base and apex; on an object longer than a hand is broad, nearest to the
    hand.
    """
    shape = task.thing.shape
    way, spare = shape.axes[axis], 0.5 * float(shape.extents[axis]) - ROOM * task.size
    if spare > 0:
        return float(np.clip((task.holder.root[:3, 3] - shape.centre) @ way, -spare, spare))
    return float((task.plane.centre - shape.centre) @ way)


def _to_tip(shape: Shape, holder: Holder) -> Floats:
    """Return the axis (3,) of a pen towards its tip: the thinner end, else the lower one, else the one ahead."""
    axis = shape.axes[0]
    ends = [shape.thickness(sign * 0.5 * shape.length) for sign in (1, -1)]
    if abs(ends[0] - ends[1]) > 0.1 * max(ends):
        ahead = ends[1] - ends[0]
    else:
        ahead = -axis[2] if abs(axis[2]) > 0.3 else float(axis @ holder.root[:3, 1])
    towards: Floats = axis if ahead >= 0 else -axis
    return towards


def _about_ball(task: Task) -> list[tuple[_Line, Floats]]:
    """Return approaches to a ball: with the hand's present rotation, its comfortable one, and rotations near both."""
    result = []
    turns = turns_about(task.holder.root[:3, :3])
    if carrier := task.holder.carrier:
        turns += turns_about(carrier.at_ease(task.thing.shape.centre))
    for back in (0.0, 0.05, 0.1):
        for aside in (0.3, 0.45):
            seat = contact_frames.palm_seat(task.hand, tilt=0.0, back=back, aside=aside)
            centre = task.thing.shape.centre
            result += [(_Line(turn @ seat.axis, centre, seat), turn @ seat.way) for turn in turns]
    return result
