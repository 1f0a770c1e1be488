"""Grasp planning: candidates are tried on the cached distance, and the best are closed on the exact surface."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...errors import HandError
from ...hand.kinematics import Pose, joint_frames
from ...hand.model import HandModel
from . import contact_frames, finger_closing, grasp_circle, grasp_quality
from .candidates import (
    APPROACH_LENGTH,
    OPENING_WIDTH,
    Candidates,
    GraspedObject,
    GraspingHand,
    GraspTask,
    candidate_sets,
    cost,
)
from .distance_field import CachedDistance, Distance
from .finger_closing import CONTACT_DISTANCE_M, Contacts
from .grasp_circle import GraspPlane
from .grasp_quality import TOUCH_DISTANCE_M
from .grips import GRIPS, Grip, Name
from .object_shape import GraspShape
from .skin_samples import LINKS, SkinPoints, thinned

Floats = NDArray[np.float64]

MAX_PEN_THICKNESS, MAX_PINCH_SIZE, MIN_PEN_LENGTH, MAX_CARD_THICKNESS = 0.09, 0.2, 0.35, 0.03
"""Hand lengths: maximum thickness of a pen, maximum size of an object to pinch, minimum length of a pen, and maximum
thickness of a card."""
CANDIDATES_PER_AXIS, MAX_THUMB_TRIALS, EXACT_CANDIDATES = 32, 6, 2
"""Numbers of candidates: tried for each axis, tried in total with all motions of the thumb, and closed on the exact
surface."""
FALLBACK_GRIPS: tuple[Name, ...] = ("wrap", "ball", "pinch")
"""Grips to try if the most suitable one does not hold."""
CANDIDATE_SPACING = 0.055
"""Hand lengths between the skin points of candidates."""
GRID_SPACING = 0.016
"""Hand lengths between the grid points of the cached distance."""
CANDIDATE_CONTACT_M = 4e-4
"""m, contact distance of candidates."""
MAX_CLEARING_STEPS = 24
"""Greatest number of steps that move an open hand out of the object."""


@dataclass(frozen=True, slots=True, eq=False)
class Grasp:
    """A planned grasp."""

    grip: Grip
    root: Floats
    """(4, 4) T_world_wrist"""
    approach_start: Floats
    """(4, 4) T_world_wrist of the open hand at the start of its straight approach."""
    opened: Floats
    """(D,) rad, angles of the open hand."""
    closed: Floats
    """(D,) rad, angles to which it would close without an object."""
    joint_speeds: Floats
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
class _Candidate:
    """A candidate and the best motion of its thumb."""

    pose: Candidates
    """A single pose."""
    thumb: int
    """Index into Grip.thumbs."""
    cost: float


def choose_grip(shape: GraspShape, hand: HandModel) -> Grip:
    """Return the grip by which a hand of this size holds an object.

    Raises HandError for an object that is too thick.
    """
    size, greatest_extent = contact_frames.hand_length(hand), float(shape.extents.max())
    thick = _check_thickness(shape, hand)
    if shape.kind == "ball":
        return GRIPS["pinch" if greatest_extent < MAX_PINCH_SIZE * size else "ball"]
    is_slender = thick < MAX_PEN_THICKNESS * size
    if shape.kind == "bar" and is_slender and shape.length >= max(MIN_PEN_LENGTH * size, 0.99 * greatest_extent):
        return GRIPS["write"]
    is_card = shape.kind == "block" and thick < MAX_CARD_THICKNESS * size
    # A bar's width is that of its body: a handle that sticks out passes the hand.
    width = shape.thickness() if shape.kind == "bar" else shape.extents[1:].max()
    if (
        is_card
        or greatest_extent < (MIN_PEN_LENGTH if is_slender else MAX_PINCH_SIZE) * size
        or width > OPENING_WIDTH * size
    ):
        return GRIPS["pinch"]
    return GRIPS["wrap"]


def plan(holder: GraspingHand, thing: GraspedObject, name: Name | None = None) -> Grasp:
    """Return the best grasp of an object, by the named grip or the most suitable one.

    Raises HandError for an object that is too thick or flat, and if thumb and fingers cannot touch it.
    """
    _check_thickness(thing.shape, holder.hand)
    plane = grasp_circle.grasp_plane(
        grasp_circle.assign_points(grasp_circle.four_points(thing.vertices, thing.shape.axes[0]))
    )
    size = contact_frames.hand_length(holder.hand)
    low, high = thing.vertices.min(axis=0), thing.vertices.max(axis=0)
    field = CachedDistance(thing.thickened, low - 0.1 * size, high + 0.1 * size, GRID_SPACING * size)
    first: Name = name or choose_grip(thing.shape, holder.hand).name
    # Without a named grip, others are tried until thumb and fingers touch.
    fallbacks: tuple[Name, ...] = () if name else FALLBACK_GRIPS
    for grip_name in (first, *(other for other in fallbacks if other != first)):
        task = GraspTask(GRIPS[grip_name], holder, thing, plane, plane.contact(holder.root[:3, 3]))
        grasps = [_exact_grasp(task, field, found) for found in _search(task, field)[:EXACT_CANDIDATES]]
        best = max(grasps, key=lambda hold: hold.score)
        touches = best.gaps < TOUCH_DISTANCE_M
        if touches[1:].any() and (name or touches[0].any()):
            return best
    raise HandError(
        "thumb and fingers cannot touch the object on opposite sides, rotate the palm towards it or choose another grip"
    )


def close_hand(task: GraspTask, root: Floats, bends: tuple[Floats, Floats], joint_speeds: Floats) -> Contacts:
    """Close a hand at root (4, 4); bends: first and last angles, (D,) rad each.

    The fingers close first, and those without contact follow their neighbours. The thumb follows; it must not pass
    through a finger.
    """
    hand, flesh, thing = task.hand, task.grasping_hand.skin, task.object
    roots, speeds = root[None], joint_speeds[None]
    opened, closed = bends[0][None], bends[1][None]
    fingers = _fingers(task.grip)
    closing = finger_closing.Closing(hand, flesh, thing.distance, press_share=thing.press_share)
    contacts = closing.close(roots, (opened, closed), fingers, joint_speeds=speeds)
    idle = [digit for digit in fingers if not np.any(contacts.gaps[0, digit] < TOUCH_DISTANCE_M)]
    if idle and len(idle) < len(fingers) and not task.grip.starts_around:
        closed_like_neighbours = closed.copy()
        for digit in idle:
            neighbour = min((other for other in fingers if other not in idle), key=lambda other: abs(other - digit))
            closed_like_neighbours[0, _flexion_dofs(hand, digit)] = contacts.angles[0, _flexion_dofs(hand, neighbour)]
        contacts = closing.close(roots, (opened, closed_like_neighbours), fingers, joint_speeds=speeds)
    if 0 not in task.grip.digits:
        return contacts
    thumb = np.isin(hand.axis_joint, LINKS[0])
    start, end = np.where(thumb, opened, contacts.angles), np.where(thumb, closed, contacts.angles)
    obstacles = finger_closing.phalanges(hand, roots, start, flesh, (1, 2, 3))
    return _with_thumb(contacts, 0, closing.close(roots, (start, end), (0,), capsules=obstacles), 0)


def moved_outside(task: GraspTask, outwards: Distance, root: Floats, opened: Floats) -> Floats:
    """Return root (4, 4), moved so that no skin of the open hand is inside the object.

    outwards: the distance's gradient (3,) at a point (3,).
    """
    root = root.copy()
    for _ in range(MAX_CLEARING_STEPS):
        skin = task.grasping_hand.skin.posed(joint_frames(task.hand, Pose(task.hand, root[None], opened[None])))[0]
        distances = task.object.distance(skin)
        deepest = int(distances.argmin())
        if distances[deepest] >= 0:
            break
        root[:3, 3] += (CONTACT_DISTANCE_M - distances[deepest]) * outwards(skin[deepest])
    return root


def _check_thickness(shape: GraspShape, hand: HandModel) -> float:
    """Return the thickness (m) that must fit into the hand. Raises HandError if it does not."""
    thick = {"ball": shape.extents.max(), "bar": min(shape.thickness(), shape.length), "block": shape.extents[2]}
    opening = OPENING_WIDTH * contact_frames.hand_length(hand)
    if thick[shape.kind] > opening:
        raise HandError(
            f"the object is {_length_text(thick[shape.kind])} thick and the hand opens to "
            f"{_length_text(opening)}: make one of them fit the other"
        )
    return float(thick[shape.kind])


def _length_text(metres: float) -> str:
    return f"{metres:.2f} m" if metres >= 1 else f"{1e3 * metres:.0f} mm"


def _fingers(grip: Grip) -> tuple[int, ...]:
    return tuple(digit for digit in grip.digits if digit)


def _inside_of_hand(flesh: SkinPoints) -> SkinPoints:
    """Return the skin without the backs of fingers and hand, which do not touch a held object."""
    backward = flesh.local()[:, 2]
    front = backward < np.where(flesh.digit < 0, -0.002, 0.35 * np.abs(backward).max())
    return flesh.subset(np.flatnonzero(front))


def _search(task: GraspTask, field: CachedDistance) -> list[_Candidate]:
    """Return the best candidates, best first."""
    hand, grip, holder = task.hand, task.grip, task.grasping_hand
    skin_sample = replace(thinned(_inside_of_hand(holder.skin), CANDIDATE_SPACING * task.size), dual_quaternions=False)
    opened, closed = grip.bends(hand, len(grip.thumbs) // 2)
    candidates = Candidates.concatenated(
        [
            candidate_set.subset(np.argsort(cost(task, candidate_set, ahead=True), kind="stable")[:CANDIDATES_PER_AXIS])
            for candidate_set in candidate_sets(task)
        ]
    )
    candidates = _approached(task, skin_sample, field, candidates, opened).with_joint_speeds(grip)
    bends = np.tile(opened, (len(candidates.roots), 1)), np.tile(closed, (len(candidates.roots), 1))
    closing = finger_closing.Closing(hand, skin_sample, field, contact_distance=CANDIDATE_CONTACT_M)
    contacts = closing.close(candidates.roots, bends, _fingers(grip), joint_speeds=candidates.joint_speeds)
    costs = cost(task, candidates)
    values = grasp_quality.contact_values(task, contacts, range(1, 5)) - costs
    found = []
    for row in np.argsort(-values, kind="stable")[:MAX_THUMB_TRIALS].tolist():
        thumbs = _closed_thumbs(task, closing, candidates.roots[row], contacts.angles[row])
        both = [_with_thumb(contacts, row, thumbs, thumb) for thumb in range(len(grip.thumbs))]
        thumb_values = [
            float(
                grasp_quality.contact_values(task, candidate, range(5))[0]
                + grasp_quality.opposition_values(field, candidate)[0]
            )
            for candidate in both
        ]
        thumb = int(np.argmax(thumb_values))
        found.append(
            (
                thumb_values[thumb] - float(costs[row]),
                _Candidate(candidates.subset(np.array([row])), thumb, float(costs[row])),
            )
        )
    return [candidate for _, candidate in sorted(found, key=lambda pair: -pair[0])]


def _approached(
    task: GraspTask, skin: SkinPoints, distance: Distance, candidates: Candidates, opened: Floats
) -> Candidates:
    """Return candidates moved along their directions of approach until their skin touches."""
    if task.grip.starts_around:
        return candidates
    max_distance = float(task.object.shape.extents.max()) + 2 * APPROACH_LENGTH * task.size
    closing = finger_closing.Closing(task.hand, skin, distance)
    travelled = closing.approach(
        candidates.roots, np.tile(opened, (len(candidates.roots), 1)), candidates.directions, max_distance
    )
    roots = candidates.roots.copy()
    roots[:, :3, 3] += travelled[:, None] * candidates.directions
    return replace(candidates, roots=roots)


def _closed_thumbs(task: GraspTask, closing: finger_closing.Closing, root: Floats, fingers: Floats) -> Contacts:
    """Return the thumb closed by each of its motions, with the fingers at angles (D,)."""
    hand, count = task.hand, len(task.grip.thumbs)
    thumb = np.isin(hand.axis_joint, LINKS[0])
    opened, closed = np.moveaxis(np.array([task.grip.bends(hand, motion) for motion in range(count)]), 1, 0)
    bends = np.where(thumb, opened, fingers), np.where(thumb, closed, fingers)
    roots = np.tile(root, (count, 1, 1))
    obstacles = finger_closing.phalanges(hand, roots, bends[0], task.grasping_hand.skin, (1, 2, 3))
    return closing.close(roots, bends, (0,), capsules=obstacles)


def _with_thumb(fingers: Contacts, row: int, thumbs: Contacts, motion: int) -> Contacts:
    """Return the contacts of one candidate's fingers (`row`) and one motion of its thumb (`motion`)."""
    gaps, points = fingers.gaps[row : row + 1].copy(), fingers.points[row : row + 1].copy()
    gaps[0, 0], points[0, 0] = thumbs.gaps[motion, 0], thumbs.points[motion, 0]
    return Contacts(thumbs.angles[motion : motion + 1], gaps, points)


def _exact_grasp(task: GraspTask, field: CachedDistance, found: _Candidate) -> Grasp:
    """Return the grasp of a candidate, computed with all of its skin and the exact distance."""
    opened, closed = task.grip.bends(task.hand, found.thumb)
    pose = found.pose
    if not task.grip.starts_around:
        # Start outside the object, because the distance to a sheet does not show that it was crossed.
        back = pose.roots.copy()
        back[:, :3, 3] -= (0.5 * float(task.object.shape.extents.max()) + APPROACH_LENGTH * task.size) * pose.directions
        pose = _approached(task, task.grasping_hand.skin, task.object.distance, replace(pose, roots=back), opened)
    root = moved_outside(task, field.gradient, pose.roots[0], opened)
    contacts = close_hand(task, root, (opened, closed), pose.joint_speeds[0])
    approach_start = root.copy()
    approach_start[:3, 3] -= APPROACH_LENGTH * task.size * pose.directions[0]
    score = (
        grasp_quality.contact_values(task, contacts, range(5))[0]
        + grasp_quality.opposition_values(field, contacts)[0]
        - found.cost
    )
    return Grasp(
        grip=task.grip,
        root=root,
        approach_start=approach_start,
        opened=opened,
        closed=closed,
        joint_speeds=pose.joint_speeds[0],
        angles=contacts.angles[0],
        gaps=contacts.gaps[0],
        plane=task.plane,
        contact=task.contact,
        score=float(score),
    )


def _flexion_dofs(hand: HandModel, digit: int) -> NDArray[np.int64]:
    """Return the flexion angles of a digit, outwards."""
    flexes = np.array([movement == "flexion" for movement in hand.movements])
    return np.flatnonzero(flexes & np.isin(hand.axis_joint, LINKS[digit]))
