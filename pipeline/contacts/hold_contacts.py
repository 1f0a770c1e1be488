"""Choose the contacts of a performer that a hand can hold.

Some contacts cannot be held together, such as a thumb on palm and finger, on a hand with other proportions, or even on
the performer's own, whose skin is known only to some millimetres. Contacts are tried together on some of their frames.
While contacts conflict, the one with the largest gap or depth in the performer's skin is dropped. Dropped contacts are
then tried again together with the others: first at their own points, then with sliding points in all contacts that move
the same digits at the same time. A contact is not held if a joint would rotate too fast.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...hand import rotations as rot
from ...hand.flesh import PALM, Flesh
from ...hand.generators import run_to_end
from ...hand.kinematics import Pose
from .find_contacts import Contact
from .flesh_depths import pair_depths
from .flesh_problem import FleshProblem
from .held_contacts import HeldContact, HeldContacts, held_contacts
from .meeting_points import meeting_points, offsets_between
from .settling import settle
from .sliding_points import MAX_SLIDE, Points, find_sliding_points, slide_distance
from .windows import window_frames

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ContactPoints = tuple[Contact, Points]
"""A contact, and the points of the hand's skin that meet in it."""

CandidateContact = tuple[Contact, Points | None]
"""A contact, and the points that would meet; None if the hand does not reach them."""

SAMPLE_FRAMES = 9
"""Number of frames of each contact on which it is tried."""
MAX_STRAIN = 0.5e-3
"""m of a hand of the usual length: maximum gap between the points, or excess depth of flesh, in these frames."""
CHECKED_SECONDS = 1.0
"""s before and after contacts with sliding points in which rotations are checked."""
MAX_ROTATION, ROTATION_FACTOR = np.deg2rad(4.5), 1.5
"""Maximum rotation of a joint per frame: MAX_ROTATION rad beyond ROTATION_FACTOR times the rotation without contacts.
The documentation promises 5°."""
MAX_TRIALS = 2
"""Number of times that contacts are posed, each time starting from the last result."""


def hold_contacts(
    pose: Pose,
    times: Floats,
    flesh: Flesh,
    free: Ints,
    contacts: Sequence[Contact],
    *,
    blends: tuple[int, int] | None = None,
) -> HeldContacts:
    """Return which contacts of a performer a hand holds over F frames, and with which points.

    Contacts are left out if the hand lacks one of the digits, cannot reach them, or cannot hold them with others.

    Args:
        pose: pose of the hand without the contacts. times: (F,) s. flesh: flesh of the hand. free: the angles that may
            change, as in hand.jacobians. contacts: the performer's contacts, found by find_contacts. blends: minimum
            frames before and after each contact; BLEND_SECONDS by default.
    """
    pairs = {tuple(pair) for pair in np.sort(flesh.pairs.T, axis=1).tolist()}
    possible = (candidate for candidate in contacts if tuple(sorted(candidate.capsules)) in pairs)
    meetings = [(candidate, meeting_points(pose, flesh, free, candidate)) for candidate in possible]
    trial = _Trial(FleshProblem(pose.hand, flesh, free), pose, times, blends)
    holdable = [
        candidate for together in _overlapping_groups(meetings) for candidate in _select_holdable(trial, together)
    ]
    return held_contacts(pose.hand, times, _in_order(holdable), blends)


def contact_strain(
    pose: Pose, times: Floats, flesh: Flesh, free: Ints, meeting: ContactPoints, *, blends: tuple[int, int]
) -> float:
    """Return the maximum gap between a contact's points, or excess depth of flesh, in m; see hold_contacts."""
    trial = _Trial(FleshProblem(pose.hand, flesh, free), pose, times, blends)
    return float(trial.strains([meeting])[0]) * trial.problem.scale


@dataclass(frozen=True, slots=True, eq=False)
class _Trial:
    """A hand on which contacts are tried."""

    problem: FleshProblem
    pose: Pose
    times: Floats
    blends: tuple[int, int] | None
    """See hold_contacts."""

    def strains(self, meetings: Sequence[ContactPoints]) -> Floats:
        """Return the maximum error or excess depth of each contact (C,), with all of them held together.

        In m of a hand of the usual length.
        """
        if not meetings:
            return np.zeros(0)
        pose, hold = self.pose, held_contacts(self.pose.hand, self.times, meetings, self.blends)
        problem = replace(self.problem, hold=hold)
        spans = [
            np.linspace(held_contact.contact.first, held_contact.contact.last, SAMPLE_FRAMES).round().astype(int)
            for held_contact in hold.contacts
        ]
        rows = np.unique(np.concatenate(spans))
        angles = pose.angles[rows]
        without = problem.excess(pair_depths(problem.flesh, pose.hand, angles))
        for _ in range(MAX_TRIALS):
            deep = pair_depths(problem.flesh, pose.hand, angles)
            angles = problem.solve(angles, rows, deep, problem.excess(deep), patient=True)
        trial_pose, excess = (
            Pose.at_origin(pose.hand, angles),
            problem.excess(pair_depths(problem.flesh, pose.hand, angles)),
        )
        strains = [
            _strain(held_contact, trial_pose, rows, (without, excess), problem.flesh) for held_contact in hold.contacts
        ]
        return np.array(strains) / problem.scale

    def holds(self, meetings: Sequence[ContactPoints]) -> bool:
        """Return whether contacts can be held together."""
        return bool(self.strains(meetings).max(initial=0.0) <= MAX_STRAIN)

    def has_jump(self, meetings: Sequence[ContactPoints]) -> bool:
        """Return whether a joint rotates too far in one frame, see MAX_ROTATION.

        A contact held by a correction is not checked: its blends are as long as its motion needs.
        """
        if not meetings or self.blends is not None:
            return False
        around = window_frames(self.times, CHECKED_SECONDS)
        first = max(min(contact.first for contact, _ in meetings) - around, 0)
        part = slice(first, max(contact.last for contact, _ in meetings) + 1 + around)
        shifted = [
            (replace(contact, first=contact.first - first, last=contact.last - first), points)
            for contact, points in meetings
        ]
        start_pose = Pose.at_origin(self.pose.hand, self.pose.angles[part])
        hold = held_contacts(start_pose.hand, self.times[part], shifted)
        work = settle(start_pose, self.times[part], self.problem.flesh, self.problem.free, hold, everywhere=False)
        angles = [
            rot.angles_between(rotations[1:], rotations[:-1])
            for rotations in (start_pose.rotations, run_to_end(work).rotations)
        ]
        return bool((angles[1] - ROTATION_FACTOR * angles[0]).max(initial=0.0) > MAX_ROTATION)


def _overlapping_groups(meetings: Sequence[CandidateContact]) -> list[list[CandidateContact]]:
    """Return contacts, sorted by their first frame, in groups that have no frame in common."""
    groups, last = list[list[CandidateContact]](), -1
    for candidate in meetings:
        if candidate[0].first > last:
            groups.append([])
        groups[-1].append(candidate)
        last = max(last, candidate[0].last)
    return groups


def _select_holdable(trial: _Trial, candidates: Sequence[CandidateContact]) -> list[ContactPoints]:
    """Select the contacts that can be held together, from contacts that overlap in time."""
    meetings = [(contact, points) for contact, points in candidates if points is not None]
    rejected: list[CandidateContact] = [candidate for candidate in candidates if candidate[1] is None]
    while (strains := trial.strains(meetings)).max(initial=0.0) > MAX_STRAIN:
        worst = meetings[int(strains.argmax())][0]
        rivals = [
            row for row, (candidate, _) in enumerate(meetings) if candidate is worst or _conflict(candidate, worst)
        ]
        rejected.append(meetings.pop(max(rivals, key=lambda row: abs(meetings[row][0].gap))))
    if trial.has_jump(meetings):
        # Try the others again one by one, and leave out those with which a joint rotates too far.
        meetings, rejected = [], [*meetings, *rejected]
    # A contact may have been dropped because of another that was dropped later.
    for try_candidate in (_with_own_points, _with_sliding_points):
        for candidate in sorted(rejected, key=lambda rejected_candidate: abs(rejected_candidate[0].gap)):
            extended = try_candidate(trial, meetings, candidate)
            if extended is not None:
                meetings, rejected = (
                    extended,
                    [rejected_candidate for rejected_candidate in rejected if rejected_candidate is not candidate],
                )
    return meetings


def _with_own_points(
    trial: _Trial, meetings: Sequence[ContactPoints], added: CandidateContact
) -> list[ContactPoints] | None:
    """Return the contacts with another one added, all at their own points; None if they cannot be held together."""
    contact, points = added
    extended = None if points is None else _in_order([*meetings, (contact, points)])
    return extended if extended is not None and trial.holds(extended) and not trial.has_jump(extended) else None


def _in_order(meetings: Sequence[ContactPoints]) -> list[ContactPoints]:
    return sorted(meetings, key=lambda candidate: (candidate[0].first, candidate[0].capsules))


def _with_sliding_points(
    trial: _Trial, meetings: Sequence[ContactPoints], added: CandidateContact
) -> list[ContactPoints] | None:
    """Return the contacts with another one added, where the points of conflicting contacts slide until all meet; None
    if they cannot."""
    group: list[CandidateContact] = [added]
    remaining = list(meetings)
    while conflicting := [
        candidate for candidate in remaining if any(_conflict(candidate[0], member[0]) for member in group)
    ]:
        group += conflicting
        remaining = [candidate for candidate in remaining if all(candidate is not member for member in conflicting)]
    pose, problem = trial.pose, trial.problem
    slid = find_sliding_points(pose, problem.flesh, problem.free, group)
    if slid is None:
        return None
    slides = [
        slide_distance(pose, contact, points, slid_contact_points)
        for (contact, points), slid_contact_points in zip(group, slid, strict=True)
        if points
    ]
    extended = _in_order([*remaining, *((contact, points) for (contact, _), points in zip(group, slid, strict=True))])
    is_near = max(slides, default=0.0) <= MAX_SLIDE * problem.scale
    return extended if is_near and trial.holds(extended) and not trial.has_jump(extended) else None


def _conflict(first: Contact, second: Contact) -> bool:
    """Return whether two contacts move the same digit at the same time."""
    shared = (set(first.parts) & set(second.parts)) - {PALM}
    return bool(shared) and first.first <= second.last and second.first <= first.last


def _strain(
    held_contact: HeldContact, trial_pose: Pose, rows: Ints, excess: tuple[Floats, Floats], flesh: Flesh
) -> float:
    """Return the maximum error or excess depth of a contact in m.

    excess: (R, K) m, excess depth of pairs without the contact, and with it. Adjacent fingers, which a take may press
    into each other, count only where the contact makes them deeper.
    """
    in_contact = (rows >= held_contact.contact.first) & (rows <= held_contact.contact.last)
    digits = [part for part in held_contact.contact.parts if part != PALM]
    pairs = np.isin(flesh.parts, digits).any(axis=0)
    gaps = np.linalg.norm(
        offsets_between(Pose.at_origin(trial_pose.hand, trial_pose.angles[in_contact]), held_contact.points), axis=1
    )
    fingers = ((flesh.parts > 0) & (flesh.parts < PALM)).all(axis=0)
    are_adjacent = fingers & (np.abs(flesh.parts[1] - flesh.parts[0]) == 1)
    depth = float(excess[1][in_contact][:, pairs & ~are_adjacent].max(initial=0.0))
    without, with_contact = (float(depths[in_contact][:, pairs & are_adjacent].max(initial=0.0)) for depths in excess)
    return max(float(gaps.max()), depth, with_contact - without)
