"""Find the points at which the skins of a hand meet in a contact of its performer.

A hand with other proportions, and even the performer's, whose skins have a small gap or depth, first moves its
fingertip to the performer's contact: at the same fractions of both bones and from the same direction, by a pose
problem on a few of the contact's frames. The nearest points of both skins in that pose are the ones that meet.
"""

import numpy as np
from numpy.typing import NDArray

from ...hand.flesh import ENDS, LINKS_OF_CAPSULES, STARTS, Flesh, radius_at
from ...hand.kinematics import Pose, joint_frames
from ...hand.model import HandModel, Site
from ...solvers.pose_problem import (
    Objective,
    PoseProblem,
    Separation,
    relative_size,
    solve,
)
from .find_contacts import Contact
from .flesh_problem import MAX_DEPTH
from .sliding_points import REACH, Meeting, contact_pairs, meeting_in_frames, own_pairs, point_positions, sample_rows

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def meeting_points(pose: Pose, flesh: Flesh, free: Ints, contact: Contact) -> tuple[Site, Site] | None:
    """Return the points of both skins that meet in the performer's contact; None if the hand cannot reach it."""
    meeting = nearest_meeting(pose, flesh, free, contact)
    return meeting.points if meeting.gap <= REACH * relative_size(pose.hand) else None


def nearest_meeting(pose: Pose, flesh: Flesh, free: Ints, contact: Contact) -> Meeting:
    """Return the nearest points of both skins as near to the performer's contact as the hand can get."""
    rows = sample_rows(contact)
    first, second = contact.capsules
    radii = [
        radius_at(flesh, capsule, fraction) for capsule, fraction in zip(contact.capsules, contact.shares, strict=True)
    ]
    axes = [
        _axis_point(pose.hand, flesh, capsule, fraction)
        for capsule, fraction in zip(contact.capsules, contact.shares, strict=True)
    ]
    tip = Site("first axis", int(STARTS[first]), _triple(axes[0]))
    second_skin = Site("second skin", int(STARTS[second]), _triple(axes[1] + sum(radii) * contact.direction))
    hand, count = pose.hand.with_sites((tip, second_skin)), len(pose.hand.sites)
    goal = Objective(count, np.zeros(3), relative=count + 1)
    # If the axes come nearest elsewhere, as those of crossed tips do, the digits would penetrate each other there; and
    # if other flesh is in between, the points cannot meet.
    pairs = contact_pairs(flesh, contact)
    allowed = np.tile(np.where(own_pairs(flesh, contact), MAX_DEPTH * relative_size(hand), np.inf), (len(rows), 1))
    allowed[:, pairs] = 0.0
    start, separation = Pose.at_origin(hand, pose.angles[rows]), Separation(flesh, allowed)
    touching = solve(PoseProblem.of(start, free, [goal], separation=separation)).pose
    return meeting_in_frames(flesh, joint_frames(hand, touching), contact)


def offsets_between(pose: Pose, points: tuple[Site, Site]) -> Floats:
    """Return the offsets (F, 3) m from the second point to the first."""
    positions = point_positions(points, pose.hand, joint_frames(pose.hand, pose))
    return np.asarray(positions[:, 0] - positions[:, 1])


def _axis_point(hand: HandModel, flesh: Flesh, capsule: int, fraction: float) -> Floats:
    """Return a point (3,) m of a capsule's axis in the frame of its bone."""
    axis = np.array(hand.rest[ENDS[capsule], :3, 3])
    if LINKS_OF_CAPSULES[capsule] == 2:
        length = max(float(np.linalg.norm(axis)), 1e-6)
        axis = axis * max(1.0 - float(flesh.radii[capsule, 1]) / length, 0.0)
    return np.asarray(fraction * axis)


def _triple(point: Floats) -> tuple[float, float, float]:
    x, y, z = point.tolist()
    return x, y, z
