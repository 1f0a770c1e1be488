"""A contact that a correction holds over a range of a take."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...errors import HandError
from ...hand.flesh import ENDS, LINKS_OF_CAPSULES, PALM, PARTS_OF_CAPSULES, STARTS, Flesh, radius_at
from ...hand.generators import Steps, run_to_end
from ...hand.joints import DIGITS, JOINTS
from ...hand.kinematics import Pose, joint_frames
from ...hand.model import HandModel, Site
from ...solvers.pose_problem import (
    Objective,
    PoseProblem,
    Separation,
    angles_of,
    half_closed,
    relative_size,
    solve,
)
from ..corrections.correction import HeldTouch
from .find_contacts import END_GAP, Contact, touch_over_time
from .flesh_problem import FleshProblem
from .held_contacts import BLEND_SECONDS, HeldContacts
from .held_motion import blend_frames, held_motion
from .hold_contacts import contact_strain, hold_contacts
from .hold_in_range import HeldRange, hold_in_range
from .meeting_points import nearest_meeting
from .sliding_points import REACH

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

PAD_POSITION = 0.6
"""Position of a bone's pad, as a fraction of the bone's length."""
PALM_SIDE: Floats = np.array([0.0, 0.0, -1.0])
"""A bone's +Z is out of the back of the hand."""
_CAPSULES = {JOINTS[joint]: capsule for capsule, joint in enumerate(STARTS.tolist())}


@dataclass(frozen=True, slots=True)
class HoldFailure:
    """Why a hand cannot hold a contact; lengths in m."""

    lacking: tuple[str, ...] = ()
    """The digits of the contact that the hand lacks."""
    apart: float = 0.0
    """Smallest gap between the skins that the hand can reach; 0 if they meet."""
    strain: float = 0.0
    """Maximum gap between the points, or depth of the hand in itself, if the skins meet; 0 if they do not."""


def touch_from_contact(contact: Contact) -> HeldTouch:
    """Convert a detected contact to one that a correction holds."""
    first, second = (JOINTS[STARTS[capsule]] for capsule in contact.capsules)
    return HeldTouch((first, second), contact.shares, contact.direction)


def find_touch(pose: Pose, flesh: Flesh, digit: str, other_part: str) -> HeldTouch:
    """Return the contact of a digit's tip with another digit, or with the palm, over F frames.

    It is at the point of smallest distance if the skins touch there. Otherwise the fingertip's pad is on the pad of the
    other tip, or of the palm below the fingertip. Raises HandError if the hand lacks one of them.
    """
    parts = [DIGITS.index(digit), PALM if other_part == "palm" else DIGITS.index(other_part)]
    is_of_tip = (LINKS_OF_CAPSULES[flesh.pairs] == 2) & (PARTS_OF_CAPSULES[flesh.pairs] == parts[0])
    columns = np.flatnonzero(
        is_of_tip.any(axis=0) & (np.sort(flesh.parts, axis=0) == np.sort(parts)[:, None]).all(axis=0)
    )
    if not len(columns):
        raise HandError(f"the hand has no {digit} and {other_part} that can touch")
    nearest = _nearest(pose, flesh, columns, parts[0])
    if nearest.gap > END_GAP * relative_size(pose.hand):
        pads = _pad_on_pad(pose, flesh, nearest, [digit, *(part for part in [other_part] if part != "palm")])
        nearest = _nearest(pads, flesh, columns, parts[0])
    return touch_from_contact(nearest)


def _nearest(pose: Pose, flesh: Flesh, columns: Ints, tip: int) -> Contact:
    """Return the contact of the nearest two capsules among some pairs, in the frame of their smallest gap."""
    frames = joint_frames(pose.hand, Pose.at_origin(pose.hand, pose.angles))
    touches = [touch_over_time(frames, flesh, int(column), 0, tip=tip) for column in columns]
    nearest_touch = min(touches, key=lambda touch: float(touch.gaps.min()))
    row = int(nearest_touch.gaps.argmin())
    return nearest_touch.contact(slice(row, row + 1), 0)


def _pad_on_pad(pose: Pose, flesh: Flesh, nearest: Contact, digits: Sequence[str]) -> Pose:
    """Return the hand in one frame with the pads of two parts touching, starting from their nearest contact."""
    first, second = nearest.capsules
    if PARTS_OF_CAPSULES[second] != PALM:
        second += 2 - int(LINKS_OF_CAPSULES[second])
    sites = [_pad(pose.hand, flesh, capsule) for capsule in (first, second)]
    hand, count = pose.hand.with_sites((sites[0], sites[1])), len(pose.hand.sites)
    start = Pose.at_origin(hand, pose.angles[nearest.first : nearest.first + 1])
    goal = Objective(count, np.zeros(3), relative=count + 1)
    allowed = np.zeros((1, flesh.pairs.shape[1]))
    problem = PoseProblem.of(start, angles_of(hand, digits), [goal], separation=Separation(flesh, allowed))
    solutions = [solve(problem), solve(problem, Pose(hand, start.root, half_closed(problem)))]
    return min(solutions, key=lambda solution: float(solution.cost[0])).pose


def _pad(hand: HandModel, flesh: Flesh, capsule: int) -> Site:
    """Return the pad of a bone: on its palm's side, nearer to its end."""
    bone = np.array(hand.rest[ENDS[capsule], :3, 3])
    x, y, z = (PAD_POSITION * bone + radius_at(flesh, capsule, PAD_POSITION) * PALM_SIDE).tolist()
    return Site(f"pad {capsule}", int(STARTS[capsule]), (x, y, z))


def hold_touch(
    pose: Pose, times: Floats, flesh: Flesh, free: Ints, touch: HeldTouch, *, full: Bools, continues: tuple[bool, bool]
) -> Steps[HeldRange | HoldFailure]:
    """Return how a hand holds a contact in a range of frames, or why it cannot.

    Args:
        pose: the F frames of the range. times: (F,) s. flesh: flesh of the hand. free: the angles that may change, as
            in hand.jacobians. touch: the touching parts and their points. full: (F,) whether a frame is between the
            blends. continues: whether the take has frames before and after the range.
    """

    def hold_in(first: int, last: int) -> HeldContacts | None:
        contact, blends = contact_from_touch(touch, first, last), (first, len(pose) - 1 - last)
        hold = hold_contacts(pose, times, flesh, free, [contact], blends=blends)
        return hold if hold.contacts else None

    problem = FleshProblem(pose.hand, flesh, free)
    motion = yield from hold_in_range(pose, times, problem, hold_in, full=full, continues=continues)
    return _hold_failure(pose, times, flesh, free, touch, full=full) if motion is None else motion


def _hold_failure(pose: Pose, times: Floats, flesh: Flesh, free: Ints, touch: HeldTouch, *, full: Bools) -> HoldFailure:
    """Return why a hand cannot hold a contact in the frames in which `full` (F,) is true, or in all if it never is."""
    lacking = tuple(digit for digit in touch.digits if not (flesh.parts == DIGITS.index(digit)).any())
    if lacking:
        return HoldFailure(lacking)
    rows = np.flatnonzero(full) if full.any() else np.arange(len(pose))
    contact = contact_from_touch(touch, int(rows[0]), int(rows[-1]))
    meeting = nearest_meeting(pose, flesh, free, contact)
    if meeting.gap > REACH * relative_size(pose.hand):
        return HoldFailure(apart=meeting.gap)
    return HoldFailure(strain=contact_strain(pose, times, flesh, free, (contact, meeting.points), blends=(0, 0)))


def blends_needed(pose: Pose, times: Floats, flesh: Flesh, free: Ints, touch: HeldTouch) -> tuple[float, float]:
    """Return how long the blends before and after a contact in all F frames must be, in s; times: (F,) s.

    Each is at least BLEND_SECONDS, and longer if a joint would rotate too fast; see hold_touch for the arguments.
    """
    # With explicit blends, a contact is held even if a joint rotates too fast in its frames.
    hold = hold_contacts(pose, times, flesh, free, [contact_from_touch(touch, 0, len(pose) - 1)], blends=(0, 0))
    step = float(np.median(np.diff(times))) if len(times) > 1 else 0.0
    motion = run_to_end(held_motion(pose, times, FleshProblem(pose.hand, flesh, free, hold), hold))
    changes = motion.angles[[0, -1]] - pose.angles[[0, -1]]
    # Add one frame, because the end frames of a range have weight 0.
    blend_in, blend_out = (max(BLEND_SECONDS, (blend_frames(pose.hand, change) + 1) * step) for change in changes)
    return blend_in, blend_out


def contact_from_touch(touch: HeldTouch, first: int, last: int) -> Contact:
    """Return the contact of a touch from a first row to a last one."""
    capsules = _CAPSULES[touch.bones[0]], _CAPSULES[touch.bones[1]]
    return Contact(capsules, first, last, 0.0, touch.shares, touch.direction)
