"""Contacts that are held: points of the skin of a hand that meet, over the frames of a contact and blends around it.

The points of both skins that meet (meeting_points.py) are fixed to their bones for the whole contact, so that nothing
slips. Before and after it, what the contact's first and last frame would be off fades in and out, so that
fingers come to a contact and leave it without a leap. Between two contacts of the same parts that follow
each other soon, of skin that slides, one takes over from the other.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...hand.flesh import Flesh
from ...hand.kinematics import Pose
from ...hand.model import HandModel, Site
from ...hand.smoothstep import smoothstep
from ...solvers.pose_problem import Objective
from .find_contacts import Contact
from .meeting_points import meeting_points, offsets_between
from .windows import window_frames

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BLEND_SECONDS = 0.15
"""s before and after a contact, over which skin comes to meet, and leaves."""
WEIGHT = 3.0
"""How much more points that meet count than flesh that is too deep."""


@dataclass(frozen=True, slots=True, eq=False)
class HeldContact:
    """Two points of a hand's skin that meet over F frames."""

    contact: Contact
    points: tuple[Site, Site]
    """On the fingertip, and on what it touches."""
    following: tuple[Site, Site] | None
    """The points of the contact of the same parts that takes over; None if none does."""
    weights: Floats
    """(F,) 0..1, how much it counts, and how much of what the contact's frames are off is mended."""
    share: Floats
    """(F,) 0..1, how far the points that follow have taken over."""
    goals: Floats
    """(F, 3) m, the offset of the first point from the second, in the wrist's frame."""


@dataclass(frozen=True, slots=True, eq=False)
class HeldContacts:
    """The contacts of a hand that are held."""

    hand: HandModel
    held: tuple[HeldContact, ...]
    within: Floats
    """(F,) 0..1: 1 in the frames of contacts, and between those that follow each other; 0 beyond the blends."""

    def objectives(self, rows: Ints) -> tuple[HandModel, list[Objective]]:
        """Return the objectives in some of the frames, and the hand with their sites."""
        active = [each for each in self.held if each.weights[rows].any()]
        sites, goals, count = list[Site](), list[Objective](), len(self.hand.sites)
        for each in active:
            first = count + len(sites)
            sites += [*each.points, *(each.following or ())]
            following = None if each.following is None else (first + 2, first + 3)
            weights, share = WEIGHT * each.weights[rows], None if following is None else each.share[rows]
            goals.append(Objective(first, each.goals[rows], weights, first + 1, following, share))
        return self.hand.with_sites(tuple(sites)), goals

    def touching(self, rows: Ints, flesh: Flesh) -> Floats:
        """Return how far pairs of capsules (N, K) are of parts that touch in some of the frames, 0..1."""
        found = np.zeros((len(rows), flesh.pairs.shape[1]))
        for each in self.held:
            same = (np.sort(flesh.parts, axis=0) == np.sort(each.contact.parts)[:, None]).all(axis=0)
            np.maximum(found, np.where(same, each.weights[rows, None], 0.0), out=found)
        return found


def hold_contacts(pose: Pose, times: Floats, flesh: Flesh, free: Ints, contacts: Sequence[Contact]) -> HeldContacts:
    """Return how the contacts of a performer are held by a hand that follows in F frames.

    Contacts are left out if the hand lacks one of the digits, or cannot reach them.

    Args:
        pose: the hand's, without the contacts.
        times: (F,) s.
        flesh: of the hand.
        free: the angles that may change, as in hand.jacobians.
        contacts: the performer's, found by find_contacts.
    """
    there = {tuple(pair) for pair in np.sort(flesh.pairs.T, axis=1).tolist()}
    possible = (each for each in contacts if tuple(sorted(each.capsules)) in there)
    met = [(each, points) for each in possible if (points := meeting_points(pose, flesh, free, each)) is not None]
    within, held, blend = np.zeros(len(pose)), list[HeldContact](), window_frames(times, BLEND_SECONDS)
    reachable = [each for each, _ in met]
    followers = [_follower(row, reachable, 2 * blend) for row in range(len(met))]
    following_rows = set(followers)
    for row, (contact, points) in enumerate(met):
        follower = followers[row]
        after = 0 if follower is None else met[follower][0].first - contact.last
        weights, share = _weights_over_time(contact, len(pose), blend, row in following_rows, after)
        rows, goals = np.flatnonzero(weights), np.zeros((len(pose), 3))
        offsets = offsets_between(Pose.at_origin(pose.hand, pose.angles[rows]), points)
        # What the first and the last frame of the contact are off fades beside it: a finger may be far away soon.
        beside, edge = weights[rows, None] < 1.0, np.clip(rows, contact.first, contact.last) - rows[0]
        goals[rows] = np.where(beside, offsets - weights[rows, None] * offsets[edge], 0.0)
        following = None if follower is None else met[follower][1]
        held.append(HeldContact(contact, points, following, weights, share, goals))
        np.maximum(within, weights, out=within)
    return HeldContacts(pose.hand, tuple(held), within)


def _follower(row: int, contacts: Sequence[Contact], most: int) -> int | None:
    """Return the row of the next contact of the same parts, None if it begins more than `most` frames later."""
    contact = contacts[row]
    later = [
        (each.first, other)
        for other, each in enumerate(contacts)
        if set(each.parts) == set(contact.parts) and contact.last < each.first <= contact.last + most
    ]
    return min(later)[1] if later else None


def _weights_over_time(contact: Contact, count: int, blend: int, follows: bool, after: int) -> tuple[Floats, Floats]:
    """Return how much a contact counts (F,), and how far the next one has taken over (F,), both 0..1.

    follows: whether it takes over from one before. after: frames until the next one has taken over; 0 if none does.
    """
    early, late = contact.first - np.arange(count), np.arange(count) - contact.last
    entering = (early <= 0).astype(float) if follows else smoothstep(1.0 - early / (blend + 1))
    leaving = (late < after).astype(float) if after else smoothstep(1.0 - late / (blend + 1))
    share = smoothstep(late / after) if after else np.zeros(count)
    return np.minimum(entering, leaving), share
