"""Which chain is which digit: the labels with which the palm fits a mean hand's palm best.

The palm hardly changes when digits bend: the wrist, the thumb's base and the knuckles distinguish the digits of a fist
as well as of an open hand. The fit may mirror, so it does not decide between left and right.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ...hand.joints import CHAIN_JOINTS, DIGITS, JOINT_INDEX, KNUCKLES
from ...hand.proportions import adult, rest_frames_in_wrist
from .chains import Candidate
from .name_hints import NameHints
from .skeleton import Skeleton

Floats = NDArray[np.float64]

METACARPAL_BEFORE = {2: 0.0, 3: 0.4, 4: 0.58}
"""Number of bones -> threshold: a finger's first bone is in the palm if its distance from the wrist is below this share
of its second bone's. Low for three bones, which are more likely three phalanges."""
METACARPAL_BEFORE_MORE = 0.65
MOST_IN_PALM = 2
"""A carpal and a metacarpal bone."""

FINGERS: dict[int, tuple[str, ...]] = {
    1: ("middle-finger",),
    2: ("index-finger", "middle-finger"),
    3: ("index-finger", "middle-finger", "pinky-finger"),
    4: DIGITS[1:],
}
"""Number of fingers -> their names; the outermost of three acts as a little finger."""

LENGTH = 0.95
"""Length of a mean hand's finger from knuckle to tip, in distances from wrist to knuckle."""
LENGTH_FREE = 0.5
"""Natural logarithm of the ratio up to which longer or shorter fingers cost nothing."""
NAME_COST = 0.05
"""The cost of contradicting names: just enough to decide where the geometry is ambiguous."""
LENGTH_COST, COUNT_COST, THUMB_COUNT_COST = 0.25, 0.02, 0.05


@dataclass(frozen=True, slots=True)
class DigitLabels:
    """A candidate's chains, labelled as digits."""

    wrist: int
    place: Floats
    """(3,) position of the wrist."""
    digits: dict[str, tuple[int, ...]]
    """digit -> its bones from the palm outwards, thumb first."""
    palm_bones: dict[str, int]
    """finger -> the number of its bones in the palm: 0 to 2."""
    cost: float
    """Deviation from a mean hand, in palm lengths; 0 for the mean hand."""
    margin: float = 0.0
    """How much more the next best choice of thumb costs."""
    order_margin: float = 0.0
    """How much more the reverse order of the fingers costs."""


def label(skeleton: Skeleton, candidate: Candidate, hints: NameHints) -> Iterator[DigitLabels]:
    """Yield the best labels of a candidate's chains: of all chains, or of the best five and then the best four."""
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
    """Return the best labels of all these chains: each is tried as the thumb, with the fingers in both orders."""
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
    """Return the labels of a hand without a thumb: three or four chains, all named, and none named as the thumb."""
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
                # Only the names say at which end of the row the index finger is.
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
    """A candidate's chains, split into a thumb and fingers."""

    hand: Candidate
    thumb: tuple[int, ...]
    fingers: list[tuple[int, ...]]


def _tried(skeleton: Skeleton, split: _Split, hints: NameHints) -> Iterator[DigitLabels]:
    """Yield labels with the fingers in both orders, each with the best choice of bones in the palm."""
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
    """Return the digit by which a chain's outermost named bone is named."""
    said = [hints.digits.get(skeleton.bones[bone].name) for bone in chain]
    return next((digit for digit in reversed(said) if digit), None)


def _finger_names(said: list[str | None]) -> tuple[str, ...]:
    """Return the fingers in this order: as their bones are named, if that is in order, else by number of fingers."""
    there = [DIGITS.index(digit) for digit in said if digit]
    if len(there) == len(said) and there == sorted(set(there)) and there[0] > 0:
        return tuple(DIGITS[digit] for digit in there)
    return FINGERS[len(said)]


def _palm_bones(skeleton: Skeleton, wrist: Floats, fingers: list[tuple[int, ...]]) -> set[tuple[int, ...]]:
    """Return candidates for the number of each finger's bones in the palm.

    One by where the bones begin, with the same number for fingers of equally many bones; one so that all fingers have
    equally many phalanges.
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
    """Return the order of points (N, 3) along their best-fitting line."""
    centred = points - points.mean(axis=0)
    line = np.linalg.svd(centred)[2][0]
    return [int(number) for number in np.argsort(centred @ line)]


@cache
def _mean_palm(fingers: int, first: int) -> Floats:
    """Return a mean hand's wrist, thumb joints `first` (0 is CMC) and next, and N knuckles: (3 + N, 3) palm lengths."""
    frames = rest_frames_in_wrist(adult("right"))[:, :3, 3]
    knuckles = frames[[JOINT_INDEX[name] for name in KNUCKLES]]
    share = np.linspace(0, 3, fingers) if fingers > 1 else np.array([1.5])
    spread = np.stack([np.interp(share, np.arange(4.0), column) for column in knuckles.T], axis=-1)
    thumb = frames[[JOINT_INDEX[name] for name in CHAIN_JOINTS["thumb"][first : first + 2]]]
    palm: Floats = np.vstack([frames[:1], thumb, spread])
    return palm / np.linalg.norm(knuckles.mean(axis=0) - frames[0])


def _misfit(places: Floats, fingers: int, first: int) -> float:
    """Return the rms distance of a palm (3 + N, 3) from the fitted mean palm, mirrored or not, in palm lengths."""
    return _fit(places, _mean_palm(fingers, first), np.array([1.0, 1.0, 0.5, *[1.0] * fingers]))


def _misfit_of_fingers(places: Floats) -> float:
    """Return the same for a palm without a thumb: wrist and N knuckles (1 + N, 3)."""
    mean = np.delete(_mean_palm(len(places) - 1, 0), (1, 2), axis=0)
    return _fit(places, mean, np.ones(len(places)))


def _fit(places: Floats, mean: Floats, weights: Floats) -> float:
    """Return the rms distance of points (N, 3) from mean points (N, 3) by a similarity fit, in the unit of the mean.

    The fit may mirror.
    """
    weights = weights / weights.sum()
    seen, model = places - weights @ places, mean - weights @ mean
    u, stretch, vt = np.linalg.svd((weights[:, None] * seen).T @ model)
    size = float(stretch.sum() / (weights @ (model**2).sum(axis=-1)))
    if not size > 1e-12:
        return np.inf
    left = seen / size - model @ (u @ vt).T
    return float(np.sqrt(weights @ (left**2).sum(axis=-1)))


def _proportion_cost(skeleton: Skeleton, split: _Split, in_palm: tuple[int, ...]) -> float:
    """Return the cost of lengths and numbers of bones unlike a hand's: toes are short, a thumb has no extra bones."""
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
