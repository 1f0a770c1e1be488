"""Contacts that are held: points of the skin of a hand that meet, over the frames of a contact.

The points of both skins that meet (meeting_points.py) are fixed to their bones for the whole contact, so that nothing
slips. Between two contacts of the same parts that follow each other soon, of skin that slides, one takes over from the
other. How fingers come to a contact and leave it is in held_motion.py.
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
"""s before and after a contact, at least, over which skin comes to meet, and leaves."""
FOLLOWS_SECONDS = 0.3
"""s between two contacts of the same parts, if one takes over from the other."""
WEIGHT = 3.0
"""How much more points that meet count than flesh that is too deep."""


@dataclass(frozen=True, slots=True, eq=False)
class HeldContact:
    """Two points of a hand's skin that meet in the frames of a contact."""

    contact: Contact
    points: tuple[Site, Site]
    """On the fingertip, and on what it touches."""
    following: tuple[Site, Site] | None
    """The points of the contact of the same parts that takes over; None if none does."""
    last: int
    """Row until which it is held: its own last one, or that before the contact that takes over."""
    follows: bool
    """Whether it takes over from one before."""
    blends: tuple[int, int]
    """Frames before and after it, at least, over which skin comes to meet, and leaves."""

    def counts(self, rows: Ints) -> Bools:
        """Return in which of some rows (N,) of the take it is held."""
        return np.asarray((rows >= self.contact.first) & (rows <= self.last))

    def share(self, rows: Ints) -> Floats:
        """Return how far the points that follow have taken over in rows (N,), 0..1."""
        after = self.last + 1 - self.contact.last
        return smoothstep((rows - self.contact.last) / after) if self.following else np.zeros(len(rows))


@dataclass(frozen=True, slots=True, eq=False)
class HeldContacts:
    """The contacts of a hand that are held."""

    hand: HandModel
    contacts: tuple[HeldContact, ...]

    def objectives(self, rows: Ints, _angles: Floats) -> tuple[HandModel, list[Objective]]:
        """Return the objectives in some of the frames, and the hand with their sites."""
        sites, goals, count = list[Site](), list[Objective](), len(self.hand.sites)
        for held_contact in self.contacts:
            counts = held_contact.counts(rows)
            if not counts.any():
                continue
            first = count + len(sites)
            sites += [*held_contact.points, *(held_contact.following or ())]
            following = None if held_contact.following is None else (first + 2, first + 3)
            share = None if following is None else held_contact.share(rows)
            goals.append(Objective(first, np.zeros(3), np.where(counts, WEIGHT, 0.0), first + 1, following, share))
        return self.hand.with_sites(tuple(sites)), goals

    def counts(self, rows: Ints) -> Bools:
        """Return in which of some rows (N,) of the take any contact is held."""
        found = np.zeros(len(rows), bool)
        for held_contact in self.contacts:
            found |= held_contact.counts(rows)
        return found

    def starts(self) -> dict[int, int]:
        """Return row -> frames before it of what begins there."""
        return {
            held_contact.contact.first: held_contact.blends[0]
            for held_contact in self.contacts
            if not held_contact.follows
        }

    def ends(self) -> dict[int, int]:
        """Return row -> frames from it on of what ended before it."""
        return {
            held_contact.last + 1: held_contact.blends[1]
            for held_contact in self.contacts
            if held_contact.following is None
        }

    def touching(self, rows: Ints, flesh: Flesh) -> Bools:
        """Return which pairs of capsules (N, K) are of digits that touch something in some of the frames."""
        found = np.zeros((len(rows), flesh.pairs.shape[1]), bool)
        for held_contact in self.contacts:
            digits = [part for part in held_contact.contact.parts if part != PALM]
            found |= held_contact.counts(rows)[:, None] & np.isin(flesh.parts, digits).any(axis=0)
        return found


def held_contacts(
    hand: HandModel,
    times: Floats,
    met: Sequence[tuple[Contact, tuple[Site, Site]]],
    blends: tuple[int, int] | None = None,
) -> HeldContacts:
    """Return how a hand holds contacts, each with the points that meet, over F frames; times (F,) s.

    blends: frames before and after each, at least; BLEND_SECONDS by default.
    """
    most, usual = window_frames(times, FOLLOWS_SECONDS), window_frames(times, BLEND_SECONDS)
    followers = [_follower(row, [known for known, _ in met], most) for row in range(len(met))]
    holding = []
    for row, (contact, points) in enumerate(met):
        follower = followers[row]
        following = None if follower is None else met[follower][1]
        last = contact.last if follower is None else met[follower][0].first - 1
        holding.append(HeldContact(contact, points, following, last, row in followers, blends or (usual, usual)))
    return HeldContacts(hand, tuple(holding))


def _follower(row: int, contacts: Sequence[Contact], most: int) -> int | None:
    """Return the row of the next contact of the same parts, None if it begins more than `most` frames later."""
    contact = contacts[row]
    followers = [
        (candidate.first, index)
        for index, candidate in enumerate(contacts)
        if set(candidate.parts) == set(contact.parts) and contact.last < candidate.first <= contact.last + most
    ]
    return min(followers)[1] if followers else None
