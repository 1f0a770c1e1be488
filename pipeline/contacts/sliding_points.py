"""Find points of skin that a hand can bring together, for one contact or for several in the same frames.

A hand may not reach the performer's contact point, or several of them together. Then only depth matters: each fingertip
touches the nearest capsule of the other part, and all other flesh of these digits stays apart. The points that are
nearest in that pose are the ones that meet. Points therefore slide on pad and palm as far as necessary, and
the points of several contacts belong to one pose. The search starts from the take's pose and from an open thumb, since
the take's thumb may be inside other digits.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...hand.flesh import PALM, STARTS, Flesh, radius_at, touches
from ...hand.jacobians import ROOT_DOFS
from ...hand.joints import CHAIN_JOINTS, JOINT_INDEX
from ...hand.kinematics import Pose, joint_frames, site_positions
from ...hand.model import HandModel, Site
from ...solvers.pose_problem import Objective, PoseProblem, Preferences, Separation, Solution, relative_size, solve
from .find_contacts import PAD, Contact
from .flesh_problem import HOLD_POSTURE, MAX_DEPTH

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Points = tuple[Site, Site]

SAMPLES = 5
"""Number of frames of a contact in which its points are searched for."""
REACH = 3e-3
"""m of a hand of the usual length: maximum gap between skins that reach each other."""
MAX_SLIDE = 15e-3
"""m of a hand of the usual length: maximum distance that points may slide to hold contacts together."""
PULL = 0.03
"""Weight of the distance to the meeting point, relative to that of flesh that is too deep."""
SLIDES = 4
"""Number of searches for the nearest capsule."""


@dataclass(frozen=True, slots=True, eq=False)
class Meeting:
    """The nearest points of a contact's skins in some frames."""

    points: Points
    gap: float
    """m, median distance between the skins, whether they are apart or in each other."""
    on_pad: bool
    """Whether one of the two parts touches with its pad."""


def sample_rows(contact: Contact) -> Ints:
    """Return the rows of a contact in which its meeting points are searched for."""
    return np.unique(np.linspace(contact.first, contact.last, SAMPLES).round().astype(int))


def contact_pairs(flesh: Flesh, contact: Contact) -> list[int]:
    """Return the pairs of a contact's fingertip and the part that it touches."""
    is_contact_pair = (flesh.pairs == contact.capsules[0]).any(axis=0) & (flesh.parts == contact.parts[1]).any(axis=0)
    return np.flatnonzero(is_contact_pair & (flesh.parts[0] != flesh.parts[1])).tolist()


def own_pairs(flesh: Flesh, contact: Contact) -> Bools:
    """Return (K,) whether each pair of capsules has a digit of a contact."""
    return np.asarray(np.isin(flesh.parts, [part for part in contact.parts if part != PALM]).any(axis=0))


def nearest_pair(flesh: Flesh, frames: Floats, contact: Contact) -> int:
    """Return the pair of capsules of a contact that is deepest in most of the frames (F, J, 4, 4)."""
    rows, pairs = np.arange(len(frames)), contact_pairs(flesh, contact)
    # A part has several capsules: the fingertip may reach a neighbouring one first.
    deep = [np.median(touches(flesh, frames[..., :3, 3], rows, np.full(len(rows), pair)).depths) for pair in pairs]
    return pairs[int(np.argmax(deep))]


def find_sliding_points(
    pose: Pose, flesh: Flesh, free: Ints, meetings: Sequence[tuple[Contact, Points | None]]
) -> list[Points] | None:
    """Return the points that meet in contacts, all of one pose in each frame; None if these skins cannot meet.

    free: the angles that may change, as in hand.jacobians. meetings: contacts with the points near which they should
    meet.
    """
    contacts = [contact for contact, _ in meetings]
    rows = np.unique(np.concatenate([sample_rows(touching) for touching in contacts]))
    active = [(rows >= touching.first) & (rows <= touching.last) for touching in contacts]
    start, opened = Pose.at_origin(pose.hand, pose.angles[rows]), pose.angles[rows].copy()
    thumb = np.isin(pose.hand.axis_joint, [JOINT_INDEX[joint] for joint in CHAIN_JOINTS["thumb"]])
    changes = thumb & np.isin(np.arange(pose.hand.dofs) + ROOT_DOFS, free)
    opened[:, changes] = pose.hand.neutral[changes]
    problem = _Closing.of(start, flesh, free, meetings, active)
    solution = min(
        (problem.solve(angles) for angles in (start.angles, opened)), key=lambda candidate: float(candidate.cost.sum())
    )
    frames = joint_frames(solution.pose.hand, solution.pose)
    meeting_list = [
        meeting_in_frames(flesh, frames[is_active], touching)
        for touching, is_active in zip(contacts, active, strict=True)
    ]
    max_gap = REACH * relative_size(pose.hand)
    return (
        [touching.points for touching in meeting_list]
        if all(touching.gap <= max_gap and touching.on_pad for touching in meeting_list)
        else None
    )


def slide_distance(pose: Pose, contact: Contact, first: Points, second: Points) -> float:
    """Return the maximum distance (m) of a contact's points from other points of it on the hand.

    pose: F frames; the contact's middle one counts.
    """
    middle = (contact.first + contact.last) // 2
    frames = joint_frames(pose.hand, Pose.at_origin(pose.hand, pose.angles[middle : middle + 1]))
    positions = point_positions((*first, *second), pose.hand, frames)[0]
    return float(np.linalg.norm(positions[:2] - positions[2:], axis=1).max())


def point_positions(points: tuple[Site, ...], hand: HandModel, frames: Floats) -> Floats:
    """Return the positions (F, P, 3) m of points of a hand whose joints are at frames (F, J, 4, 4)."""
    return site_positions(replace(hand, sites=points), frames)


@dataclass(frozen=True, slots=True, eq=False)
class _Closing:
    """The pose problem of F frames in which the skins of contacts come together."""

    start: Pose
    """Pose of a hand that has the sites of the goals."""
    goals: list[Objective]
    flesh: Flesh
    free: Ints
    contacts: list[Contact]
    active: Sequence[Bools]
    """(F,) whether each contact is active in each frame."""

    @classmethod
    def of(
        cls,
        start: Pose,
        flesh: Flesh,
        free: Ints,
        meetings: Sequence[tuple[Contact, Points | None]],
        active: Sequence[Bools],
    ) -> "_Closing":
        """Set up the problem of contacts near their points; active: the frames (F,) of each contact."""
        sites, goals, count = list[Site](), list[Objective](), len(start.hand.sites)
        for (_, points), is_active in zip(meetings, active, strict=True):
            if points is not None:
                first = count + len(sites)
                goals.append(Objective(first, np.zeros(3), np.where(is_active, PULL, 0.0), first + 1))
                sites += points
        hand = start.hand.with_sites(tuple(sites))
        contacts = [contact for contact, _ in meetings]
        return cls(Pose(hand, start.root, start.angles), goals, flesh, free, contacts, active)

    def solve(self, angles: Floats) -> Solution:
        """Return the poses in which contacts just touch, searched for from angles (F, D)."""
        hand, flesh = self.start.hand, self.flesh
        allowed = np.full((len(self.start), flesh.pairs.shape[1]), np.inf)
        for contact, is_active in zip(self.contacts, self.active, strict=True):
            allowed[np.ix_(is_active, own_pairs(flesh, contact))] = MAX_DEPTH * relative_size(hand)
        preferences, pose = Preferences(posture=HOLD_POSTURE), Pose(hand, self.start.root, angles)
        for _ in range(SLIDES):
            frames, depths, closed = joint_frames(hand, pose), allowed.copy(), np.zeros(allowed.shape, bool)
            for contact, is_active in zip(self.contacts, self.active, strict=True):
                pair = nearest_pair(flesh, frames[is_active], contact)
                depths[is_active, pair], closed[is_active, pair] = 0.0, True
            separation = Separation(flesh, depths, closed)
            problem = PoseProblem.of(self.start, self.free, self.goals, preferences=preferences, separation=separation)
            solution = solve(problem, pose)
            pose = solution.pose
        return solution


def meeting_in_frames(flesh: Flesh, frames: Floats, contact: Contact) -> Meeting:
    """Return the points at which the skins of a contact are nearest to each other, with joints at frames (F, J, 4,
    4)."""
    pair = nearest_pair(flesh, frames, contact)
    touch_points = touches(flesh, frames[..., :3, 3], np.arange(len(frames)), np.full(len(frames), pair))
    order = [0, 1] if flesh.pairs[0, pair] == contact.capsules[0] else [1, 0]
    capsules, points, fractions = (
        flesh.pairs[order, pair].tolist(),
        touch_points.points[order],
        touch_points.shares[order],
    )
    offsets = points[0] - points[1]
    offsets /= np.maximum(np.linalg.norm(offsets, axis=1, keepdims=True), 1e-9)
    sites, pads = list[Site](), []
    for capsule, axis_points, sign, fraction in zip(capsules, points, (-1.0, 1.0), fractions, strict=True):
        skin = axis_points + sign * radius_at(flesh, capsule, fraction)[:, None] * offsets
        bone = frames[:, STARTS[capsule]]
        local = np.einsum("fji,fj->fi", bone[:, :3, :3], skin - bone[:, :3, 3])
        x, y, z = local.mean(axis=0).tolist()
        sites.append(Site(f"skin {capsule}", int(STARTS[capsule]), (x, y, z)))
        # A bone's +Z is out of the back of the hand.
        pads.append(-sign * np.einsum("fi,fi->f", offsets, bone[:, :3, 2]))
    on_pad = bool(np.median(np.max(pads, axis=0)) > PAD)
    return Meeting((sites[0], sites[1]), float(np.median(np.abs(touch_points.depths))), on_pad)
