"""Which contacts of a performer a hand can hold, and how.

One fingertip on several parts at once, such as a thumb on palm and finger, may not be possible on other proportions,
and not even on the performer's own hand, whose skin is measured to some millimetres. Contacts are tried together on
some of their frames; of those that hinder each other the one that the performer's skins are farthest apart in, or
deepest in each other, is left out, until the others hold. Then those that were left out are tried again beside these.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...hand.flesh import PALM, Flesh
from ...hand.kinematics import Pose
from ...hand.model import Site
from .find_contacts import Contact
from .flesh_depths import pair_depths
from .flesh_problem import FleshProblem
from .held_contacts import HeldContact, HeldContacts, held_contacts
from .meeting_points import meeting_points, offsets_between

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

Met = tuple[Contact, tuple[Site, Site]]
"""A contact, and the points of the hand's skin that meet in it."""

TRIED = 9
"""Frames of each contact on which it is tried."""
MOST_STRAIN = 0.5e-3
"""m of a hand of the usual length, by which points may miss each other, or flesh be too deep, on these."""
TRIES = 2
"""How often they are posed, each from where the last one ended."""


def hold_contacts(
    pose: Pose,
    times: Floats,
    flesh: Flesh,
    free: Ints,
    contacts: Sequence[Contact],
    *,
    blends: tuple[int, int] | None = None,
) -> HeldContacts:
    """Return how the contacts of a performer are held by a hand that follows in F frames.

    Contacts are left out if the hand lacks one of the digits, cannot reach them, or cannot hold them with others.

    Args:
        pose: the hand's, without the contacts.
        times: (F,) s.
        flesh: of the hand.
        free: the angles that may change, as in hand.jacobians.
        contacts: the performer's, found by find_contacts.
        blends: frames before and after each, at least; BLEND_SECONDS by default.
    """
    there = {tuple(pair) for pair in np.sort(flesh.pairs.T, axis=1).tolist()}
    possible = (each for each in contacts if tuple(sorted(each.capsules)) in there)
    met = [(each, points) for each in possible if (points := meeting_points(pose, flesh, free, each)) is not None]
    problem, left_out = FleshProblem(pose.hand, flesh, free), list[Met]()
    while True:
        held, strains = _tried(problem, pose, held_contacts(pose.hand, times, met, blends))
        if strains.max(initial=0.0) <= MOST_STRAIN:
            break
        worst = held.held[int(strains.argmax())].contact
        rivals = [row for row, (each, _) in enumerate(met) if each is worst or _hinder(each, worst)]
        left_out.append(met.pop(max(rivals, key=lambda row: abs(met[row][0].gap))))
    # What one was left out for may itself have been left out later.
    for each in sorted(left_out[:-1], key=lambda one: abs(one[0].gap)):
        more = sorted([*met, each], key=lambda one: (one[0].first, one[0].capsules))
        with_it, strains = _tried(problem, pose, held_contacts(pose.hand, times, more, blends))
        if strains.max() <= MOST_STRAIN:
            met, held = more, with_it
    return held


def _tried(problem: FleshProblem, pose: Pose, held: HeldContacts) -> tuple[HeldContacts, Floats]:
    """Return how contacts are held together, and the strain (C,) of each."""
    return held, _strains(pose, replace(problem, held=held), held) if held.held else np.zeros(0)


def _hinder(one: Contact, other: Contact) -> bool:
    """Whether two contacts move the same digit at the same time."""
    shared = (set(one.parts) & set(other.parts)) - {PALM}
    return bool(shared) and one.first <= other.last and other.first <= one.last


def _strains(pose: Pose, problem: FleshProblem, held: HeldContacts) -> Floats:
    """Return what each contact (C,) is off, or its digits are too deep, at most, as m of a hand of the usual length."""
    spans = [np.linspace(each.contact.first, each.contact.last, TRIED).round().astype(int) for each in held.held]
    rows = np.unique(np.concatenate(spans))
    angles = pose.angles[rows]
    without = problem.excess(pair_depths(problem.flesh, pose.hand, angles))
    for _ in range(TRIES):
        deep = pair_depths(problem.flesh, pose.hand, angles)
        angles = problem.solve(angles, rows, deep, problem.excess(deep), patient=True)
    tried, excess = Pose.at_origin(pose.hand, angles), problem.excess(pair_depths(problem.flesh, pose.hand, angles))
    strains = [_strain(each, tried, rows, (without, excess), problem.flesh) for each in held.held]
    return np.array(strains) / problem.scale


def _strain(held: HeldContact, tried: Pose, rows: Ints, excess: tuple[Floats, Floats], flesh: Flesh) -> float:
    """Return what a contact is off, or its digits are too deep, at most, m.

    excess: (R, K) m, by how much pairs are too deep without it, and with it. Fingers beside each other, which a take
    may press into each other, only count where the contact makes them deeper.
    """
    own = (rows >= held.contact.first) & (rows <= held.contact.last)
    digits = [part for part in held.contact.parts if part != PALM]
    pairs = np.isin(flesh.parts, digits).any(axis=0)
    off = np.linalg.norm(offsets_between(Pose.at_origin(tried.hand, tried.angles[own]), held.points), axis=1)
    fingers = ((flesh.parts > 0) & (flesh.parts < PALM)).all(axis=0)
    beside = fingers & (np.abs(flesh.parts[1] - flesh.parts[0]) == 1)
    deep = float(excess[1][own][:, pairs & ~beside].max(initial=0.0))
    without, with_it = (float(each[own][:, pairs & beside].max(initial=0.0)) for each in excess)
    return max(float(off.max()), deep, with_it - without)
