"""Label chains as digits, by the labels with which the palm fits a mean hand's palm best.

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
"""Number of bones -> threshold: a finger's first bone is in the palm if its distance from the wrist is below this
fraction of the second bone's. Low for three bones, which are more likely three phalanges."""
METACARPAL_BEFORE_MORE = 0.65
MAX_IN_PALM = 2
"""A carpal and a metacarpal bone."""

FINGERS: dict[int, tuple[str, ...]] = {
    1: ("middle-finger",),
    2: ("index-finger", "middle-finger"),
    3: ("index-finger", "middle-finger", "pinky-finger"),
    4: DIGITS[1:],
}
"""Number of fingers -> their names. The outermost of three serves as the little finger."""

FINGER_LENGTH = 0.95
"""Length of a mean hand's finger from knuckle to tip, in distances from wrist to knuckle."""
FREE_LENGTH_LOG_RATIO = 0.5
"""Natural logarithm of the ratio up to which longer or shorter fingers cost nothing."""
NAME_COST = 0.05
"""The cost of contradicting names, just enough to decide if the geometry is ambiguous."""
LENGTH_COST, COUNT_COST, THUMB_COUNT_COST = 0.25, 0.02, 0.05


@dataclass(frozen=True, slots=True)
class DigitLabels:
    """A candidate's chains, labelled as digits."""

    wrist: int
    wrist_position: Floats
    """(3,) position of the wrist."""
    digits: dict[str, tuple[int, ...]]
    """digit -> its bones from the palm outwards, thumb first."""
    palm_bones: dict[str, int]
    """finger -> the number of its bones in the palm: 0 to 2."""
    cost: float
    """Deviation from a mean hand in palm lengths; 0 for the mean hand."""
    margin: float = 0.0
    """Additional cost of the second best choice of thumb."""
    order_margin: float = 0.0
    """Additional cost of the reverse order of the fingers."""


def label_digits(skeleton: Skeleton, candidate: Candidate, hints: NameHints) -> Iterator[DigitLabels]:
    """Yield the labels without a thumb, if there are any, then the best labels of all chains.

    Of more than four chains these are the best of five, and then of four.
    """
    fingers = _fingers_alone(skeleton, candidate, hints)
    if fingers is not None:
        yield fingers
    for size in (5, 4) if len(candidate.chains) > 4 else (len(candidate.chains),):
        sets = combinations(candidate.chains, size)
        if labellings := [labels for chains in sets if (labels := _best_labels(skeleton, candidate, chains, hints))]:
            yield min(labellings, key=lambda labels: labels.cost)


def _best_labels(
    skeleton: Skeleton, hand: Candidate, chains: Sequence[tuple[int, ...]], hints: NameHints
) -> DigitLabels | None:
    """Return the best labels of all chains. Each chain is tried as the thumb, with the fingers in both orders."""
    best: list[DigitLabels] = []
    for thumb, chain in enumerate(chains):
        fingers = [finger for number, finger in enumerate(chains) if number != thumb]
        labellings = sorted(_both_orders(skeleton, _Split(hand, chain, fingers), hints), key=lambda labels: labels.cost)
        if labellings:
            next_cost = labellings[1].cost if len(labellings) > 1 else np.inf
            best.append(_with_margins(labellings[0], order_margin=next_cost - labellings[0].cost))
    best.sort(key=lambda labels: labels.cost)
    if not best:
        return None
    return _with_margins(best[0], margin=best[1].cost - best[0].cost if len(best) > 1 else np.inf)


def _fingers_alone(skeleton: Skeleton, hand: Candidate, hints: NameHints) -> DigitLabels | None:
    """Return the labels of a hand without a thumb: three or four chains, all named, and none named as the thumb."""
    chains = list(hand.chains)
    named = [_named_digit(skeleton, chain, hints) for chain in chains]
    if not 3 <= len(chains) <= 4 or None in named or "thumb" in named:
        return None
    labellings: list[DigitLabels] = []
    for in_palm in _palm_bones(skeleton, hand.wrist_position, chains, hints):
        knuckles = skeleton.heads[[chain[bones] for chain, bones in zip(chains, in_palm, strict=True)]]
        for order in ((line := _along_line(knuckles)), line[::-1]):
            names = [named[row] for row in order]
            cost = _misfit_without_thumb(np.vstack([hand.wrist_position, knuckles[order]]))
            cost += _proportion_cost(skeleton, _Split(hand, (), chains), in_palm)
            if tuple(names) == _finger_names(names):
                digits = {str(name): chains[row] for name, row in zip(names, order, strict=True)}
                palm_bones = {str(name): in_palm[row] for name, row in zip(names, order, strict=True)}
                # Only the names show at which end of the row the index finger is.
                labellings.append(
                    DigitLabels(hand.wrist, hand.wrist_position, digits, palm_bones, cost, np.inf, NAME_COST)
                )
    return min(labellings, key=lambda labels: labels.cost, default=None)


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


def _both_orders(skeleton: Skeleton, split: _Split, hints: NameHints) -> Iterator[DigitLabels]:
    """Yield labels with the fingers in both orders, each with the best choice of bones in the palm."""
    options = _palm_bones(skeleton, split.hand.wrist_position, split.fingers, hints)
    for direction in (1, -1) if len(split.fingers) > 1 else (1,):
        labellings = [_labels_in_order(skeleton, split, in_palm, direction, hints) for in_palm in options]
        yield min(labellings, key=lambda labels: labels.cost)


def _labels_in_order(
    skeleton: Skeleton, split: _Split, in_palm: tuple[int, ...], direction: int, hints: NameHints
) -> DigitLabels:
    hand, thumb, fingers = split.hand, split.thumb, split.fingers
    knuckles = skeleton.heads[[chain[bones] for chain, bones in zip(fingers, in_palm, strict=True)]]
    order = _along_line(knuckles)[::direction]
    named = [_named_digit(skeleton, fingers[row], hints) for row in order]
    names = _finger_names(named)
    points = np.vstack([hand.wrist_position, skeleton.heads[list(thumb[:2])], knuckles[order]])
    agree = [
        name == named_digit
        for name, named_digit in zip(["thumb", *names], [_named_digit(skeleton, thumb, hints), *named], strict=True)
    ]
    # A thumb of two bones may begin at its CMC or, more often, at its MCP.
    misfit = min(_misfit(points, len(names), first) for first in range(2 if len(thumb) == 2 else 1))
    cost = misfit + _proportion_cost(skeleton, split, in_palm)
    cost += NAME_COST * (1.0 - float(np.mean(agree))) if hints.digits else 0.0
    rows = list(zip(names, order, strict=True))
    return DigitLabels(
        hand.wrist,
        hand.wrist_position,
        {"thumb": thumb} | {name: fingers[row] for name, row in rows},
        {name: in_palm[row] for name, row in rows},
        cost,
    )


def _named_digit(skeleton: Skeleton, chain: tuple[int, ...], hints: NameHints) -> str | None:
    """Return the digit that the name of a chain's most distal named bone suggests."""
    named = [hints.digits.get(skeleton.bones[bone].name) for bone in chain]
    return next((digit for digit in reversed(named) if digit), None)


def _finger_names(named: list[str | None]) -> tuple[str, ...]:
    """Return the fingers by the names of their bones if these are in order, else by the number of fingers."""
    numbers = [DIGITS.index(digit) for digit in named if digit]
    if len(numbers) == len(named) and numbers == sorted(set(numbers)) and numbers[0] > 0:
        return tuple(DIGITS[digit] for digit in numbers)
    return FINGERS[len(named)]


def _palm_bones(
    skeleton: Skeleton, wrist: Floats, fingers: list[tuple[int, ...]], hints: NameHints
) -> set[tuple[int, ...]]:
    """Return candidates for the numbers of palm bones, a number for each finger.

    One follows from the positions of the bones' heads, with the same number for fingers that have equally many bones.
    The other gives all fingers equally many phalanges. End bones, which some exporters add to some fingers, are not
    counted.
    """
    sizes = [len(chain) - (len(chain) > 2 and skeleton.bones[chain[-1]].name in hints.ends) for chain in fingers]
    nearness: dict[int, list[float]] = {}
    for chain, size in zip(fingers, sizes, strict=True):
        first, second = np.linalg.norm(skeleton.heads[list(chain[:2])] - wrist, axis=-1)
        nearness.setdefault(size, []).append(float(first / max(second, 1e-12)))
    inside = {
        size: int(np.median(values) < METACARPAL_BEFORE.get(size, METACARPAL_BEFORE_MORE))
        for size, values in nearness.items()
    }
    by_position = tuple(inside[size] for size in sizes)
    phalanges = int(np.median([size - bones for size, bones in zip(sizes, by_position, strict=True)]))
    by_phalanges = tuple(size - phalanges for size in sizes)
    return {by_position, by_phalanges} if all(0 <= bones <= MAX_IN_PALM for bones in by_phalanges) else {by_position}


def _along_line(points: Floats) -> list[int]:
    """Return the order of points (N, 3) along their best-fitting line."""
    centred = points - points.mean(axis=0)
    line = np.linalg.svd(centred)[2][0]
    return [int(number) for number in np.argsort(centred @ line)]


@cache
def _mean_palm(fingers: int, first: int) -> Floats:
    """Return a mean palm (3 + N, 3) in palm lengths: wrist, thumb joints `first` (0 is CMC) and next, N knuckles."""
    frames = rest_frames_in_wrist(adult("right"))[:, :3, 3]
    knuckles = frames[[JOINT_INDEX[name] for name in KNUCKLES]]
    share = np.linspace(0, 3, fingers) if fingers > 1 else np.array([1.5])
    spread = np.stack([np.interp(share, np.arange(4.0), column) for column in knuckles.T], axis=-1)
    thumb = frames[[JOINT_INDEX[name] for name in CHAIN_JOINTS["thumb"][first : first + 2]]]
    palm: Floats = np.vstack([frames[:1], thumb, spread])
    return palm / np.linalg.norm(knuckles.mean(axis=0) - frames[0])


def _misfit(points: Floats, fingers: int, first: int) -> float:
    """Return the rms distance of a palm (3 + N, 3) from the fitted mean palm, mirrored or not, in palm lengths."""
    return _fit_error(points, _mean_palm(fingers, first), np.array([1.0, 1.0, 0.5, *[1.0] * fingers]))


def _misfit_without_thumb(points: Floats) -> float:
    """Return the same for a palm without a thumb: wrist and N knuckles (1 + N, 3)."""
    mean = np.delete(_mean_palm(len(points) - 1, 0), (1, 2), axis=0)
    return _fit_error(points, mean, np.ones(len(points)))


def _fit_error(points: Floats, mean: Floats, weights: Floats) -> float:
    """Return the rms distance of points (N, 3) from mean points (N, 3) by a similarity fit, in the unit of the mean.

    The fit may mirror.
    """
    weights = weights / weights.sum()
    centred, model = points - weights @ points, mean - weights @ mean
    u, stretch, vt = np.linalg.svd((weights[:, None] * centred).T @ model)
    size = float(stretch.sum() / (weights @ (model**2).sum(axis=-1)))
    if not size > 1e-12:
        return np.inf
    residuals = centred / size - model @ (u @ vt).T
    return float(np.sqrt(weights @ (residuals**2).sum(axis=-1)))


def _proportion_cost(skeleton: Skeleton, split: _Split, in_palm: tuple[int, ...]) -> float:
    """Return the cost of lengths and numbers of bones that differ from a hand's.

    For example, toes are short, and a thumb has no extra bones.
    """
    lengths, counts = [], []
    for chain, palm_bones in zip(split.fingers, in_palm, strict=True):
        bones = list(chain[palm_bones:])
        steps = np.linalg.norm(np.diff(skeleton.heads[bones], axis=0), axis=-1).sum()
        end = np.linalg.norm(skeleton.ends[bones[-1]] - skeleton.heads[bones[-1]]) if len(bones) < 4 else 0.0
        palm = np.linalg.norm(skeleton.heads[bones[0]] - split.hand.wrist_position)
        lengths.append((steps + end) / max(float(palm), 1e-12))
        counts.append(len(bones))
    log_ratio = abs(float(np.log(max(np.median(lengths), 1e-9) / FINGER_LENGTH)))
    return (
        LENGTH_COST * max(log_ratio - FREE_LENGTH_LOG_RATIO, 0.0)
        + COUNT_COST * (max(counts) - min(counts))
        + THUMB_COUNT_COST * max(len(split.thumb) - max(counts), 0)
    )
