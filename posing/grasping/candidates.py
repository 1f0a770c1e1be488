"""Candidate poses of a hand around an object, before any is tried."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...hand import rotations as rot
from ...hand.model import HandModel
from . import contact_frames
from .arm_reach import CarryingArm, nearby_rotations
from .contact_frames import Seat
from .distance_field import Distance
from .grasp_circle import GraspPlane
from .grips import Grip
from .object_shape import GraspShape
from .skin_samples import SkinPoints

Floats = NDArray[np.float64]

OPENING_WIDTH = 0.62
"""Hand lengths, the thickest object that fits into a hand."""
ROLLS = 16
"""Number of directions about an axis from which the hand approaches."""
APPROACH_LENGTH = 0.35
"""Hand lengths from the surface at which the open hand starts its straight approach."""
PINCH_DEPTH = 0.07
"""Hand lengths by which the edge of a pinched object reaches in between finger and thumb."""
PEN_TIP_LENGTH = 0.19
"""Hand lengths from the tip of a pen to where it is held."""
PEN_SHIFTS = (0.0, 0.01, 0.02)
"""Hand lengths by which a pen may lie nearer to the middle finger than in Knuckle's own hand."""
HALF_HAND_WIDTH = 0.3
"""Hand lengths that a hand occupies to either side along the axis that it is wrapped around."""
ROTATION_COST, OUT_OF_REACH_COST, STRAIN_COST, STRAIN_SQUARED_COST = 1.0, 40.0, 6.0, 12.0
"""Costs, in phalanges that hold: of a half turn from the current orientation; of each metre by which the arm is too
short; of each radian of strain, and of each square radian, since people do not bend a wrist far."""
THUMB_DOWN_COST = 1.0
"""Cost of the thumb pointing down while wrapping, in phalanges that hold: people do not hold a cup like that."""
HALF_SHEET_M = 0.0015
"""m, half the thickness given to a surface without an inside while candidates are tried."""


@dataclass(frozen=True, slots=True, eq=False)
class GraspingHand:
    """The hand that grasps."""

    hand: HandModel
    skin: SkinPoints
    root: Floats
    """(4, 4) T_world_wrist, its current pose."""
    arm: CarryingArm | None = None
    """None for a hand without an arm."""


@dataclass(frozen=True, slots=True, eq=False)
class GraspedObject:
    """The object to grasp."""

    shape: GraspShape
    vertices: Floats
    """(V, 3) m"""
    distance: Distance
    solid: bool = True
    """Whether it has an inside; the distance from a sheet is never negative."""

    @property
    def press_share(self) -> float:
        """See finger_closing.Closing.press_share."""
        return 1.0 if self.solid else 0.0

    def thickened(self, points: Floats) -> Floats:
        """Return the distance (N,) m used for candidates, for which a sheet is made thick enough for the grid."""
        distance = self.distance(points)
        return distance if self.solid else distance - HALF_SHEET_M


@dataclass(frozen=True, slots=True, eq=False)
class GraspTask:
    """A grasp to plan: the object, the hand and the grip."""

    grip: Grip
    grasping_hand: GraspingHand
    object: GraspedObject
    plane: GraspPlane
    contact: Floats
    """(3,) m, the point of the grasping circle nearest to the hand's current position."""

    @property
    def hand(self) -> HandModel:
        """The hand that grasps."""
        return self.grasping_hand.hand

    @property
    def size(self) -> float:
        """m, the hand's length."""
        return contact_frames.hand_length(self.grasping_hand.hand)


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """F candidate poses of a hand."""

    roots: Floats
    """(F, 4, 4) T_world_wrist"""
    directions: Floats
    """(F, 3) unit vectors, the directions of approach."""
    joint_speeds: Floats
    """(F, 3), see Grip.joint_speeds."""

    def subset(self, rows: NDArray[np.int64]) -> "Candidates":
        """Return the candidates in some rows."""
        return Candidates(self.roots[rows], self.directions[rows], self.joint_speeds[rows])

    @classmethod
    def concatenated(cls, parts: "Sequence[Candidates]") -> "Candidates":
        """Return several sets of candidates as one."""
        return cls(
            np.concatenate([part.roots for part in parts]),
            np.concatenate([part.directions for part in parts]),
            np.concatenate([part.joint_speeds for part in parts]),
        )

    def with_joint_speeds(self, grip: Grip) -> "Candidates":
        """Return each pose combined with each of a grip's joint speeds."""
        count = len(grip.joint_speeds)
        joint_speeds = np.tile(np.array(grip.joint_speeds), (len(self.roots), 1))
        return Candidates(np.repeat(self.roots, count, axis=0), np.repeat(self.directions, count, axis=0), joint_speeds)


@dataclass(frozen=True, slots=True, eq=False)
class _Line:
    """A line of an object to be aligned with a seat of the hand."""

    axis: Floats
    """(3,) unit vector, to be aligned with the seat's axis."""
    position: Floats
    """(3,) m, the point to be aligned with the seat's position."""
    seat: Seat


def candidate_sets(task: GraspTask) -> list[Candidates]:
    """Return candidate poses of a hand around an object, in one set for each of its axes.

    The first candidate about a line approaches from the paper's point of contact.
    """
    if task.grip.name == "ball":
        return [_candidates_about(task, _about_ball(task))]
    return [_candidates_about(task, _about_lines(task, lines)) for lines in _lines(task)]


def _candidates_about(task: GraspTask, approaches: list[tuple[_Line, Floats]]) -> Candidates:
    distance = (
        0.0 if task.grip.starts_around else 0.5 * float(task.object.shape.extents.max()) + APPROACH_LENGTH * task.size
    )
    roots = np.tile(np.eye(4), (len(approaches), 1, 1))
    for root, (line, direction) in zip(roots, approaches, strict=True):
        seat = line.seat
        seat_frame = np.stack([seat.axis, seat.approach, np.cross(seat.axis, seat.approach)], axis=1)
        root[:3, :3] = np.stack([line.axis, direction, np.cross(line.axis, direction)], axis=1) @ seat_frame.T
        root[:3, 3] = line.position - distance * direction - root[:3, :3] @ seat.position
    return Candidates(roots, np.array([direction for _, direction in approaches]), np.ones((len(roots), 3)))


def cost(task: GraspTask, candidates: Candidates, *, ahead: bool = False) -> Floats:
    """Return the costs (F,) of bringing a hand to candidate poses, in phalanges that hold.

    ahead: whether to use the estimated poses at contact instead of those at the start of the approach.
    """
    roots, holder = candidates.roots, task.grasping_hand
    if ahead and not task.grip.starts_around:
        roots = roots.copy()
        shape = task.object.shape
        distance = (
            0.5 * float(shape.extents.max())
            + APPROACH_LENGTH * task.size
            - 0.5 * shape.extents_along(candidates.directions)
        )
        roots[:, :3, 3] += distance[:, None] * candidates.directions
    between = np.swapaxes(roots[:, :3, :3], -1, -2) @ holder.root[:3, :3]
    rotation_angles = np.arccos(np.clip((np.trace(between, axis1=1, axis2=2) - 1) / 2, -1.0, 1.0))
    costs: Floats = ROTATION_COST * rotation_angles / np.pi
    if task.grip.name == "wrap":
        from_thumb = 1.0 if holder.hand.side == "right" else -1.0
        costs = costs + THUMB_DOWN_COST * np.maximum(from_thumb * roots[:, 2, 0], 0.0)
    if holder.arm is not None:
        strain = holder.arm.strain(roots)[0]
        costs = (
            costs
            + OUT_OF_REACH_COST * holder.arm.shortfall(roots)
            + STRAIN_COST * strain
            + STRAIN_SQUARED_COST * strain**2
        )
    return costs


def _about_lines(task: GraspTask, lines: list[_Line]) -> list[tuple[_Line, Floats]]:
    """Return lines of an object with directions of approach all around them."""
    result = []
    for line in lines:
        to_contact = task.contact - line.position
        to_contact = rot.unit_vector(to_contact - (to_contact @ line.axis) * line.axis)
        if not to_contact.any():
            to_contact = rot.perpendicular(line.axis)
        for roll in range(ROLLS):
            direction = -rot.rotate(rot.from_axis_angle(line.axis, 2 * np.pi * roll / ROLLS), to_contact)
            position = line.position
            if task.grip.name == "pinch":
                # An object wider than the fingers are long is held at its edge.
                half = 0.5 * task.object.shape.thickness(0.0, direction)
                position = position - max(0.0, half - PINCH_DEPTH * task.size) * direction
            result.append((_Line(line.axis, position, line.seat), direction))
    return result


def _lines(task: GraspTask) -> list[list[_Line]]:
    """Return lines of an object, in one list for each of its axes."""
    hand, shape = task.hand, task.object.shape
    if task.grip.name == "write":
        axis = _tip_direction(shape, task.grasping_hand)
        position = shape.centre + (0.5 * shape.length - PEN_TIP_LENGTH * task.size) * axis
        radius = 0.5 * shape.thickness()
        seats = [
            contact_frames.web_seat(hand, task.grasping_hand.skin, radius, aside * task.size) for aside in PEN_SHIFTS
        ]
        return [[_Line(axis, position, seat) for seat in seats]]
    if task.grip.name == "pinch":
        thinnest = shape.axes[int(shape.extents.argmin())]
        is_flat = shape.extents.min() < 0.7 * shape.extents.max()
        seat = contact_frames.pinch_seat(hand, task.grasping_hand.skin)
        axes = [thinnest] if is_flat else shape.axes
        return [[_Line(sign * axis, shape.centre, seat) for axis in axes for sign in (1, -1)]]
    return [_wrap_lines(task, axis) for axis in _wrappable_axes(task)]


def _wrappable_axes(task: GraspTask) -> list[int]:
    """Return the axes that a hand can wrap around: a bar's own, or those of a block that are thin enough."""
    shape = task.object.shape
    if shape.kind != "block":
        return [0]
    return [axis for axis in range(3) if shape.thickness_about(axis) <= OPENING_WIDTH * task.size]


def _wrap_lines(task: GraspTask, axis: int) -> list[_Line]:
    shape, station = task.object.shape, _wrap_station(task, axis)
    slimness = 1.0 - min(1.0, shape.thickness_about(axis, station) / (OPENING_WIDTH * task.size))
    seats = [
        contact_frames.palm_seat(task.hand, tilt=tilt, back=back - 0.05 * slimness, aside=0.45)
        for tilt in (0.0, 0.1 + 0.25 * slimness)
        for back in (0.05, 0.12)
    ]
    middle = shape.centre + station * shape.axes[axis]
    return [_Line(sign * shape.axes[axis], middle, seat) for sign in (1, -1) for seat in seats]


def _wrap_station(task: GraspTask, axis: int) -> float:
    """Return the position (m from the centre) on an axis at which a hand wraps around it.

    It is in the grasping plane, halfway between base and apex; on an object longer than the hand's width, nearest to
    the hand.
    """
    shape = task.object.shape
    direction, free_half_length = shape.axes[axis], 0.5 * float(shape.extents[axis]) - HALF_HAND_WIDTH * task.size
    if free_half_length > 0:
        return float(
            np.clip((task.grasping_hand.root[:3, 3] - shape.centre) @ direction, -free_half_length, free_half_length)
        )
    return float((task.plane.centre - shape.centre) @ direction)


def _tip_direction(shape: GraspShape, holder: GraspingHand) -> Floats:
    """Return the axis (3,) of a pen towards its tip: the thinner end, else the lower one, else the one ahead."""
    axis = shape.axes[0]
    ends = [shape.thickness(sign * 0.5 * shape.length) for sign in (1, -1)]
    if abs(ends[0] - ends[1]) > 0.1 * max(ends):
        ahead = ends[1] - ends[0]
    else:
        ahead = -axis[2] if abs(axis[2]) > 0.3 else float(axis @ holder.root[:3, 1])
    towards: Floats = axis if ahead >= 0 else -axis
    return towards


def _about_ball(task: GraspTask) -> list[tuple[_Line, Floats]]:
    """Return approaches to a ball: with the hand's current rotation, its comfortable one, and rotations near both."""
    result = []
    rotations = nearby_rotations(task.grasping_hand.root[:3, :3])
    if carrier := task.grasping_hand.arm:
        rotations += nearby_rotations(carrier.comfortable_rotation(task.object.shape.centre))
    for back in (0.0, 0.05, 0.1):
        for aside in (0.3, 0.45):
            seat = contact_frames.palm_seat(task.hand, tilt=0.0, back=back, aside=aside)
            centre = task.object.shape.centre
            result += [(_Line(rotation @ seat.axis, centre, seat), rotation @ seat.approach) for rotation in rotations]
    return result
