"""Which chain is which digit: the labels with which the palm lies best on a mean hand's palm.

The palm hardly changes when digits bend: the wrist, where the thumb begins and the knuckles tell the digits apart in a
fist as in an open hand. Left and right are not asked here, the fit may mirror.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ...hand.joints import CHAIN_JOINTS, DIGITS, JOINT_INDEX, KNUCKLES
from ...hand.proportions import adult, world_frames
from .chains import Candidate
from .name_hints import NameHints
from .skeleton import Skeleton

Floats = NDArray[np.float64]

METACARPAL_BEFORE = {2: 0.0, 3: 0.4, 4: 0.58}
"""A finger's first bone is in the palm where it begins nearer the wrist than this share of the way to its second. By
the number of bones: three are more likely three phalanges."""
METACARPAL_BEFORE_MORE = 0.65
MOST_IN_PALM = 2
"""A bone of the carpus and one of the metacarpus."""

FINGERS: dict[int, tuple[str, ...]] = {
    1: ("middle-finger",),
    2: ("index-finger", "middle-finger"),
    3: ("index-finger", "middle-finger", "pinky-finger"),
    4: DIGITS[1:],
}
"""What the fingers of a hand with fewer are called: the outermost of three does a little finger's work."""

LENGTH = 0.95
"""A mean hand's finger from the knuckle to its tip, in distances of the knuckle from the wrist."""
LENGTH_FREE = 0.5
"""Natural logarithm: fingers up to this much longer or shorter cost nothing."""
NAME_COST = 0.05
"""What names that say otherwise cost: enough where the geometry is undecided, no more."""
LENGTH_COST, COUNT_COST, THUMB_COUNT_COST = 0.25, 0.02, 0.05


@dataclass(frozen=True, slots=True)
class DigitLabels:
    """A candidate's chains as digits."""

    wrist: int
    place: Floats
    """(3,) where the wrist is."""
    digits: dict[str, tuple[int, ...]]
    """digit -> its bones from inside outwards, thumb first."""
    palm_bones: dict[str, int]
    """finger -> how many of its bones are in the palm: 0 to 2."""
    cost: float
    """How little this looks like a hand, in palm lengths: a mean hand's is 0."""
    margin: float = 0.0
    """How much more the next best thumb costs."""
    order_margin: float = 0.0
    """How much more the reverse order of the fingers costs."""


def label(skeleton: Skeleton, candidate: Candidate, hints: NameHints) -> Iterator[DigitLabels]:
    """The best labels of a candidate's chains: of all, of more than five the five that fit best, and then the four."""
    fingers = _fingers_alone(skeleton, candidate, hints)
    if fingers is not None:
        yield fingers
    for size in (5, 4) if len(candidate.chains) > 4 else (len(candidate.chains),):
        sets = combinations(candidate.chains, size)
        if found := [labels for chains in sets if (labels := _label(skeleton, candidate, chains, hints))]:
            yield min(found, key=lambda labels: labels.cost)


def _label(
    skeleton: Skeleton, hand: Candidate, chains: Sequence[tuple[int, ...]], hints: NameHints
) -> DigitLabels | None:
    """All of these chains as digits: each is tried as the thumb, and the fingers in both orders."""
    best: list[DigitLabels] = []
    for thumb, chain in enumerate(chains):
        fingers = [other for number, other in enumerate(chains) if number != thumb]
        tried = sorted(_tried(skeleton, _Split(hand, chain, fingers), hints), key=lambda labels: labels.cost)
        if tried:
            other = tried[1].cost if len(tried) > 1 else np.inf
            best.append(_with_margins(tried[0], order_margin=other - tried[0].cost))
    best.sort(key=lambda labels: labels.cost)
    if not best:
        return None
    return _with_margins(best[0], margin=best[1].cost - best[0].cost if len(best) > 1 else np.inf)


def _fingers_alone(skeleton: Skeleton, hand: Candidate, hints: NameHints) -> DigitLabels | None:
    """The fingers of a hand without a thumb, where names tell each of three or four and none is named as the thumb."""
    chains = list(hand.chains)
    said = [_said(skeleton, chain, hints) for chain in chains]
    if not 3 <= len(chains) <= 4 or None in said or "thumb" in said:
        return None
    tried: list[DigitLabels] = []
    for in_palm in _palm_bones(skeleton, hand.place, chains):
        knuckles = skeleton.heads[[chain[bones] for chain, bones in zip(chains, in_palm, strict=True)]]
        for order in ((line := _along_line(knuckles)), line[::-1]):
            names = [said[row] for row in order]
            cost = _misfit_of_fingers(np.vstack([hand.place, knuckles[order]]))
            cost += _proportion_cost(skeleton, _Split(hand, (), chains), in_palm)
            if tuple(names) == _finger_names(names):
                digits = {str(name): chains[row] for name, row in zip(names, order, strict=True)}
                palm_bones = {str(name): in_palm[row] for name, row in zip(names, order, strict=True)}
                # Names alone tell which end of the row is the index finger's.
                tried.append(DigitLabels(hand.wrist, hand.place, digits, palm_bones, cost, np.inf, NAME_COST))
    return min(tried, key=lambda labels: labels.cost, default=None)


def _with_margins(labels: DigitLabels, margin: float | None = None, order_margin: float | None = None) -> DigitLabels:
    return replace(
        labels,
        margin=labels.margin if margin is None else float(margin),
        order_margin=labels.order_margin if order_margin is None else float(order_margin),
    )


@dataclass(frozen=True, slots=True)
class _Split:
    """A candidate's chains as a thumb and fingers."""

    hand: Candidate
    thumb: tuple[int, ...]
    fingers: list[tuple[int, ...]]


def _tried(skeleton: Skeleton, split: _Split, hints: NameHints) -> Iterator[DigitLabels]:
    """The fingers in both orders, each with the bones in the palm that fit best."""
    options = _palm_bones(skeleton, split.hand.place, split.fingers)
    for turned in (1, -1) if len(split.fingers) > 1 else (1,):
        found = [_ordered(skeleton, split, in_palm, turned, hints) for in_palm in options]
        yield min(found, key=lambda labels: labels.cost)


def _ordered(skeleton: Skeleton, split: _Split, in_palm: tuple[int, ...], turned: int, hints: NameHints) -> DigitLabels:
    hand, thumb, fingers = split.hand, split.thumb, split.fingers
    knuckles = skeleton.heads[[chain[bones] for chain, bones in zip(fingers, in_palm, strict=True)]]
    order = _along_line(knuckles)[::turned]
    said = [_said(skeleton, fingers[row], hints) for row in order]
    names = _finger_names(said)
    places = np.vstack([hand.place, skeleton.heads[list(thumb[:2])], knuckles[order]])
    agree = [one == other for one, other in zip(["thumb", *names], [_said(skeleton, thumb, hints), *said], strict=True)]
    # A thumb of two bones may begin at its CMC or, more often, at its MCP.
    misfit = min(_misfit(places, len(names), first) for first in range(2 if len(thumb) == 2 else 1))
    cost = misfit + _proportion_cost(skeleton, split, in_palm)
    cost += NAME_COST * (1.0 - float(np.mean(agree))) if hints.digits else 0.0
    rows = list(zip(names, order, strict=True))
    return DigitLabels(
        hand.wrist,
        hand.place,
        {"thumb": thumb} | {name: fingers[row] for name, row in rows},
        {name: in_palm[row] for name, row in rows},
        cost,
    )


def _said(skeleton: Skeleton, chain: tuple[int, ...], hints: NameHints) -> str | None:
    """The digit that a chain's bones are named as, by its last bone that is named."""
    said = [hints.digits.get(skeleton.bones[bone].name) for bone in chain]
    return next((digit for digit in reversed(said) if digit), None)


def _finger_names(said: list[str | None]) -> tuple[str, ...]:
    """What fingers in this order are called: what they are named as, if that is in order, else by their number."""
    there = [DIGITS.index(digit) for digit in said if digit]
    if len(there) == len(said) and there == sorted(set(there)) and there[0] > 0:
        return tuple(DIGITS[digit] for digit in there)
    return FINGERS[len(said)]


def _palm_bones(skeleton: Skeleton, wrist: Floats, fingers: list[tuple[int, ...]]) -> set[tuple[int, ...]]:
    """How many of each finger's bones are in the palm: by where they begin, and so that all have as many phalanges.

    Fingers of as many bones are built alike.
    """
    nearness: dict[int, list[float]] = {}
    for chain in fingers:
        first, second = np.linalg.norm(skeleton.heads[list(chain[:2])] - wrist, axis=-1)
        nearness.setdefault(len(chain), []).append(float(first / max(second, 1e-12)))
    inside = {
        count: int(np.median(values) < METACARPAL_BEFORE.get(count, METACARPAL_BEFORE_MORE))
        for count, values in nearness.items()
    }
    seen = tuple(inside[len(chain)] for chain in fingers)
    phalanges = int(np.median([len(chain) - bones for chain, bones in zip(fingers, seen, strict=True)]))
    alike = tuple(len(chain) - phalanges for chain in fingers)
    return {seen, alike} if all(0 <= bones <= MOST_IN_PALM for bones in alike) else {seen}


def _along_line(points: Floats) -> list[int]:
    """The order of points (N, 3) along the line on which they lie best."""
    centred = points - points.mean(axis=0)
    line = np.linalg.svd(centred)[2][0]
    return [int(number) for number in np.argsort(centred @ line)]


@cache
def _mean_palm(fingers: int, first: int) -> Floats:
    """(3 + N, 3) of a mean hand, in palm lengths: wrist, the thumb's joints `first` (0 is CMC) and next, N knuckles."""
    frames = world_frames(adult("right"))[:, :3, 3]
    knuckles = frames[[JOINT_INDEX[name] for name in KNUCKLES]]
    share = np.linspace(0, 3, fingers) if fingers > 1 else np.array([1.5])
    spread = np.stack([np.interp(share, np.arange(4.0), column) for column in knuckles.T], axis=-1)
    thumb = frames[[JOINT_INDEX[name] for name in CHAIN_JOINTS["thumb"][first : first + 2]]]
    palm: Floats = np.vstack([frames[:1], thumb, spread])
    return palm / np.linalg.norm(knuckles.mean(axis=0) - frames[0])


def _misfit(places: Floats, fingers: int, first: int) -> float:
    """How far a palm (3 + N, 3) is from the mean one laid on it, mirrored or not: rms in palm lengths."""
    return _fit(places, _mean_palm(fingers, first), np.array([1.0, 1.0, 0.5, *[1.0] * fingers]))


def _misfit_of_fingers(places: Floats) -> float:
    """The same for a palm without a thumb: the wrist and N knuckles (1 + N, 3)."""
    mean = np.delete(_mean_palm(len(places) - 1, 0), (1, 2), axis=0)
    return _fit(places, mean, np.ones(len(places)))


def _fit(places: Floats, mean: Floats, weights: Floats) -> float:
    """How far points (N, 3) are from mean ones (N, 3) laid on them, mirrored or not, in the mean ones' unit."""
    weights = weights / weights.sum()
    seen, model = places - weights @ places, mean - weights @ mean
    u, stretch, vt = np.linalg.svd((weights[:, None] * seen).T @ model)
    size = float(stretch.sum() / (weights @ (model**2).sum(axis=-1)))
    if not size > 1e-12:
        return np.inf
    left = seen / size - model @ (u @ vt).T
    return float(np.sqrt(weights @ (left**2).sum(axis=-1)))


def _proportion_cost(skeleton: Skeleton, split: _Split, in_palm: tuple[int, ...]) -> float:
    """What lengths and numbers of bones say against a hand; toes are short, and a thumb has no more bones."""
    lengths, counts = [], []
    for chain, inside in zip(split.fingers, in_palm, strict=True):
        bones = list(chain[inside:])
        steps = np.linalg.norm(np.diff(skeleton.heads[bones], axis=0), axis=-1).sum()
        end = np.linalg.norm(skeleton.ends[bones[-1]] - skeleton.heads[bones[-1]]) if len(bones) < 4 else 0.0
        reach = np.linalg.norm(skeleton.heads[bones[0]] - split.hand.place)
        lengths.append((steps + end) / max(float(reach), 1e-12))
        counts.append(len(bones))
    apart = abs(float(np.log(max(np.median(lengths), 1e-9) / LENGTH)))
    return (
        LENGTH_COST * max(apart - LENGTH_FREE, 0.0)
        + COUNT_COST * (max(counts) - min(counts))
        + THUMB_COUNT_COST * max(len(split.thumb) - max(counts), 0)
    )
