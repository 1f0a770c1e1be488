"""Held contacts: two points of a hand's skin are kept together during a contact.

Both points (meeting_points.py) are fixed to their bones for the whole contact, so that the skin does not slip. Sliding
skin is seen as two contacts of the same parts in quick succession; the second then takes over from the first without a
release. held_motion.py defines how fingers approach and leave a contact.
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
"""Minimum duration (s) of the approach before a contact and of the release after it."""
MAX_TAKEOVER_SECONDS = 0.3
"""Maximum time (s) between two contacts of the same parts for the second to take over."""
WEIGHT = 3.0
"""Weight of a held contact, relative to flesh that is too deep."""


@dataclass(frozen=True, slots=True, eq=False)
class HeldContact:
    """Two points of a hand's skin that are kept together during a contact."""

    contact: Contact
    points: tuple[Site, Site]
    """The points on the fingertip and on the part that it touches."""
    next_points: tuple[Site, Site] | None
    """The points of the contact that takes over from this one; None without such a contact."""
    last: int
    """The last row in which the points are held: the contact's own, or the row before the next contact takes over."""
    takes_over: bool
    """Whether it takes over from a previous contact."""
    blends: tuple[int, int]
    """Minimum frames of the approach and of the release."""

    def is_held(self, rows: Ints) -> Bools:
        """Return (N,) whether the contact is held in rows (N,) of the take."""
        return np.asarray((rows >= self.contact.first) & (rows <= self.last))

    def next_weights(self, rows: Ints) -> Floats:
        """Return the weights (N,), 0..1, of the next contact's points in rows (N,)."""
        gap_frames = self.last + 1 - self.contact.last
        return smoothstep((rows - self.contact.last) / gap_frames) if self.next_points else np.zeros(len(rows))


@dataclass(frozen=True, slots=True, eq=False)
class HeldContacts:
    """All held contacts of a hand."""

    hand: HandModel
    contacts: tuple[HeldContact, ...]

    def objectives(self, rows: Ints, _angles: Floats) -> tuple[HandModel, list[Objective]]:
        """Return the hand with a site for each contact point, and the contacts' objectives in rows (N,)."""
        sites, goals, count = list[Site](), list[Objective](), len(self.hand.sites)
        for held_contact in self.contacts:
            is_held = held_contact.is_held(rows)
            if not is_held.any():
                continue
            first = count + len(sites)
            sites += [*held_contact.points, *(held_contact.next_points or ())]
            next_sites = None if held_contact.next_points is None else (first + 2, first + 3)
            next_weights = None if next_sites is None else held_contact.next_weights(rows)
            weights = np.where(is_held, WEIGHT, 0.0)
            goals.append(Objective(first, np.zeros(3), weights, first + 1, next_sites, next_weights))
        return self.hand.with_sites(tuple(sites)), goals

    def is_held(self, rows: Ints) -> Bools:
        """Return (N,) whether any contact is held in rows (N,) of the take."""
        is_any_held = np.zeros(len(rows), bool)
        for held_contact in self.contacts:
            is_any_held |= held_contact.is_held(rows)
        return is_any_held

    def approach_frames(self) -> dict[int, int]:
        """Return first row of a contact -> frames of its approach."""
        return {
            held_contact.contact.first: held_contact.blends[0]
            for held_contact in self.contacts
            if not held_contact.takes_over
        }

    def release_frames(self) -> dict[int, int]:
        """Return first row after a contact -> frames of its release."""
        return {
            held_contact.last + 1: held_contact.blends[1]
            for held_contact in self.contacts
            if held_contact.next_points is None
        }

    def touching(self, rows: Ints, flesh: Flesh) -> Bools:
        """Return (N, K) whether each of K pairs of capsules has a digit with a held contact in rows (N,)."""
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
    """Return the held contacts of a hand.

    times: (F,) s, of the take's frames. meetings: the contacts, each with its two points of the skin.
    blends: minimum frames of each approach and release; BLEND_SECONDS by default.
    """
    max_frames, blend_frames = window_frames(times, MAX_TAKEOVER_SECONDS), window_frames(times, BLEND_SECONDS)
    blends = blends or (blend_frames, blend_frames)
    successors = [_successor(index, [contact for contact, _ in meetings], max_frames) for index in range(len(meetings))]
    contacts = []
    for index, (contact, points) in enumerate(meetings):
        successor = successors[index]
        next_points = None if successor is None else meetings[successor][1]
        last = contact.last if successor is None else meetings[successor][0].first - 1
        contacts.append(HeldContact(contact, points, next_points, last, index in successors, blends))
    return HeldContacts(hand, tuple(contacts))


def _successor(index: int, contacts: Sequence[Contact], max_frames: int) -> int | None:
    """Return the index of the next contact of the same parts; None if it starts more than `max_frames` later."""
    contact = contacts[index]
    successors = [
        (candidate.first, candidate_index)
        for candidate_index, candidate in enumerate(contacts)
        if set(candidate.parts) == set(contact.parts) and contact.last < candidate.first <= contact.last + max_frames
    ]
    return min(successors)[1] if successors else None
