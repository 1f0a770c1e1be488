"""Held contacts: points of a hand's skin that meet over the frames of a contact.

The points of both skins that meet (meeting_points.py) are fixed to their bones for the whole contact, so that nothing
slips. If skin slides, two contacts of the same parts follow each other soon, and the second takes over from the first.
held_motion.py defines how fingers approach and leave a contact.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...hand.flesh import PALM, Flesh
from ...hand.model import HandModel, Site
from ...hand.smoothstep import smoothstep
from ...solvers.pose_problem import Objective
from .find_contacts import Contact
from .windows import window_frames

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

BLEND_SECONDS = 0.15
"""Minimum s before and after a contact in which skin approaches and leaves."""
FOLLOWS_SECONDS = 0.3
"""Maximum s between two contacts of the same parts of which the second takes over."""
WEIGHT = 3.0
"""Weight of points that meet, relative to flesh that is too deep."""


@dataclass(frozen=True, slots=True, eq=False)
class HeldContact:
    """Two points of a hand's skin that meet in the frames of a contact."""

    contact: Contact
    points: tuple[Site, Site]
    """The points on the fingertip and on the part that it touches."""
    following: tuple[Site, Site] | None
    """The points of the contact of the same parts that takes over; None if none does."""
    last: int
    """The last row in which it is held: its own last row, or the row before the contact that takes over."""
    follows: bool
    """Whether it takes over from a previous contact."""
    blends: tuple[int, int]
    """Minimum frames before and after it in which skin approaches and leaves."""

    def is_held(self, rows: Ints) -> Bools:
        """Return whether it is held in rows (N,) of the take."""
        return np.asarray((rows >= self.contact.first) & (rows <= self.last))

    def share(self, rows: Ints) -> Floats:
        """Return the weight, 0..1, of the following points in rows (N,)."""
        after = self.last + 1 - self.contact.last
        return smoothstep((rows - self.contact.last) / after) if self.following else np.zeros(len(rows))


@dataclass(frozen=True, slots=True, eq=False)
class HeldContacts:
    """The contacts of a hand that are held."""

    hand: HandModel
    contacts: tuple[HeldContact, ...]

    def objectives(self, rows: Ints, _angles: Floats) -> tuple[HandModel, list[Objective]]:
        """Return the hand with additional sites, and the objectives in rows (N,)."""
        sites, goals, count = list[Site](), list[Objective](), len(self.hand.sites)
        for held_contact in self.contacts:
            is_held = held_contact.is_held(rows)
            if not is_held.any():
                continue
            first = count + len(sites)
            sites += [*held_contact.points, *(held_contact.following or ())]
            following = None if held_contact.following is None else (first + 2, first + 3)
            share = None if following is None else held_contact.share(rows)
            goals.append(Objective(first, np.zeros(3), np.where(is_held, WEIGHT, 0.0), first + 1, following, share))
        return self.hand.with_sites(tuple(sites)), goals

    def is_held(self, rows: Ints) -> Bools:
        """Return whether any contact is held in rows (N,) of the take."""
        is_any_held = np.zeros(len(rows), bool)
        for held_contact in self.contacts:
            is_any_held |= held_contact.is_held(rows)
        return is_any_held

    def approach_frames(self) -> dict[int, int]:
        """Return first row of a contact -> frames of its approach."""
        return {
            held_contact.contact.first: held_contact.blends[0]
            for held_contact in self.contacts
            if not held_contact.follows
        }

    def release_frames(self) -> dict[int, int]:
        """Return first row after a contact -> frames of its release."""
        return {
            held_contact.last + 1: held_contact.blends[1]
            for held_contact in self.contacts
            if held_contact.following is None
        }

    def touching(self, rows: Ints, flesh: Flesh) -> Bools:
        """Return whether pairs of capsules (N, K) belong to digits that touch something in rows (N,)."""
        is_touching = np.zeros((len(rows), flesh.pairs.shape[1]), bool)
        for held_contact in self.contacts:
            digits = [part for part in held_contact.contact.parts if part != PALM]
            is_touching |= held_contact.is_held(rows)[:, None] & np.isin(flesh.parts, digits).any(axis=0)
        return is_touching


def held_contacts(
    hand: HandModel,
    times: Floats,
    meetings: Sequence[tuple[Contact, tuple[Site, Site]]],
    blends: tuple[int, int] | None = None,
) -> HeldContacts:
    """Return how a hand holds contacts, each with the points that meet, over F frames at times (F,) s.

    blends: minimum frames before and after each contact; BLEND_SECONDS by default.
    """
    max_frames, blend_frames = window_frames(times, FOLLOWS_SECONDS), window_frames(times, BLEND_SECONDS)
    followers = [_follower(row, [contact for contact, _ in meetings], max_frames) for row in range(len(meetings))]
    contacts = []
    for row, (met_contact, points) in enumerate(meetings):
        follower = followers[row]
        following = None if follower is None else meetings[follower][1]
        last = met_contact.last if follower is None else meetings[follower][0].first - 1
        contacts.append(
            HeldContact(met_contact, points, following, last, row in followers, blends or (blend_frames, blend_frames))
        )
    return HeldContacts(hand, tuple(contacts))


def _follower(row: int, contacts: Sequence[Contact], max_frames: int) -> int | None:
    """Return the row of the next contact of the same parts, None if it starts more than `max_frames` later."""
    contact = contacts[row]
    followers = [
        (candidate.first, index)
        for index, candidate in enumerate(contacts)
        if set(candidate.parts) == set(contact.parts) and contact.last < candidate.first <= contact.last + max_frames
    ]
    return min(followers)[1] if followers else None
