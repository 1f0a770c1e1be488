"""Fit the hand that wore the markers of one or several takes."""

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ....errors import HandError
from ... import rotations as rot
from ...joints import CHAIN_JOINTS, DIGITS, JOINT_INDEX, Side, digit_of
from ...limits import DEFAULT_LIMITS, AngleLimits
from ...marker_sets import Spot
from ...model import AXES
from ...proportions import PALM_JOINTS, Proportions
from .chain import Shape
from .known import INDEPENDENT, LOOSER, MEAN, STARTS, mean_shape, owners, shape_prior, usual_limits, usual_poses
from .learning import Fitted, fitted, learnt
from .model import COLUMNS, DOFS, HAS, PALM, PosePrior, SkinMarkers, WornHand
from .posing import Beliefs, Poses, Seen, begun, costs, inverse, settled, without_prior

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

MOST_FRAMES, SHAPE_FRAMES, FIRST_FRAMES, TRIAL_FRAMES = 300, 120, 60, 40
"""Frames in the last rounds of a fit, in the middle rounds, in the first rounds, and in the choice of the markers'
bones."""
CANDIDATES = 1500
"""Frames among which these are chosen."""
LEAST_FRAMES = 20
FIRST_SPREAD = 0.003
"""m, initial standard deviation of every marker."""
CHANGE_LAG = 6
"""Frames apart at which poses are compared, to separate the joints' motion from the markers' noise."""
MIRROR = np.array([-1.0, 1.0, 1.0])
TIP = 3
"""Index of a digit's tip in its chain; only the last bone carries a marker there."""


def fit(takes: Floats | Sequence[Floats], rate: float, spots: dict[str, Spot], side: Side) -> WornHand:
    """Fit a hand with its markers to one or several takes.

    Each marker's digit follows from its label. Which of the bones at the labelled joint carries it, and where, is
    fitted.

    Args:
        takes: (F, M, 3) m each, NaN where a marker is not seen.
        rate: frames per second.
        spots: label -> where the marker sits by its label, for M markers.
        side: 'left' or 'right'.

    Raises:
        HandError: too few frames show half of the markers.
    """
    takes = [takes] if isinstance(takes, np.ndarray) else list(takes)
    if side == "left":
        takes = [take * MIRROR for take in takes]
    everything = np.concatenate(takes)
    chosen = informative(everything, MOST_FRAMES)
    if len(chosen) < LEAST_FRAMES:
        raise HandError(
            f"{side} hand: {len(chosen)} frames show half of its markers, a hand is fitted to {LEAST_FRAMES} or more"
        )
    seen = Seen.of(everything[chosen])
    digits, choices, tips = _told(spots)
    few = _spread(seen, TRIAL_FRAMES)
    bones = _chosen_bones(digits, choices, tips, few)
    prior = shape_prior(digits, bones, tips)
    first, some = _spread(seen, FIRST_FRAMES), _spread(seen, SHAPE_FRAMES)
    now = _begun(digits, bones, tips, first)
    for _ in range(FIRST_ROUNDS):
        now = learnt(fitted(now, first, prior, PASSES, 1e-3), first)
    now = _posed(now.beliefs, some)
    for _ in range(LAST_ROUNDS):
        now = learnt(fitted(now, some, prior, PASSES, 3e-4), some)
    now = learnt(_posed(now.beliefs, seen), seen)
    change = _change(now.beliefs, takes, rate)
    return _as_hand(now, change, spots, side)


FIRST_ROUNDS, LAST_ROUNDS, PASSES = 3, 2, 8


def informative(positions: Floats, many: int) -> Ints:
    """Select frames (N,) of positions (F, M, 3) that show many markers and differ most in the distances between them.

    Farthest-point sampling (Gonzalez 1985).
    """
    shown = np.isfinite(positions).all(axis=-1).mean(axis=1)
    candidates = np.flatnonzero((shown >= np.median(shown)) & (shown >= 0.5))
    if len(candidates) > CANDIDATES:
        candidates = candidates[np.linspace(0, len(candidates) - 1, CANDIDATES).astype(int)]
    if len(candidates) <= many:
        return candidates
    first, second = np.triu_indices(positions.shape[1], 1)
    apart = np.linalg.norm(positions[candidates][:, first] - positions[candidates][:, second], axis=-1)
    known = np.isfinite(apart)
    middle = np.where(known, apart, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    apart = np.where(known, apart - middle, 0.0)
    picked = [int(np.argmin(np.einsum("fp,fp->f", apart, apart)))]
    nearest = np.full(len(candidates), np.inf)
    for _ in range(many - 1):
        away = apart - apart[picked[-1]]
        nearest = np.minimum(nearest, np.einsum("fp,fp->f", away, away))
        picked.append(int(nearest.argmax()))
    chosen: Ints = candidates[np.sort(picked)]
    return chosen


def _spread(seen: Seen, many: int) -> Seen:
    """Select so many frames, evenly spaced."""
    return seen.select(np.unique(np.linspace(0, len(seen) - 1, min(many, len(seen))).astype(int)))


def _told(spots: dict[str, Spot]) -> tuple[Ints, list[tuple[int, ...]], Bools]:
    """Return each marker's digit (M,), the bones that may carry it (or PALM), and whether it is on a nail (M,)."""
    digits: list[int] = []
    choices: list[tuple[int, ...]] = []
    tips: list[bool] = []
    for spot in spots.values():
        digit = digit_of(spot.joint)
        chain = CHAIN_JOINTS[digit] if digit else ()
        if digit is None or spot.joint not in chain:
            digits.append(PALM)
            choices.append((PALM,))
            tips.append(False)
            continue
        joint = chain.index(spot.joint)
        digits.append(DIGITS.index(digit))
        tips.append(joint == TIP)
        if joint == TIP:
            choices.append((TIP - 1,))
        else:
            choices.append((joint,) if any(spot.offset) else (joint - 1, joint))
    return np.array(digits, np.int64), choices, np.array(tips, bool)


def _chosen_bones(digits: Ints, choices: list[tuple[int, ...]], tips: Bools, seen: Seen) -> Ints:
    """Choose the bones (M,) with which each digit fits its markers best.

    Markers that turn out to be on the palm get PALM in `digits`. Digits share only the palm, so they are tried in
    parallel: the k-th trial has the k-th option of each.
    """
    outwards = [sorted(np.flatnonzero(digits == digit), key=lambda m: choices[m]) for digit in range(len(DIGITS))]
    ways = [
        [way for way in itertools.product(*(choices[m] for m in mine)) if list(way) == sorted(way)] for mine in outwards
    ]
    trials = max(map(len, ways))
    best, least = np.zeros(len(digits), int), np.full(len(DIGITS), np.inf)
    original = digits.copy()
    for trial in range(trials):
        tried_digits, bones = original.copy(), np.zeros(len(digits), int)
        for digit, own in enumerate(ways):
            mine, way = outwards[digit], np.array(own[min(trial, len(own) - 1)], int)
            bones[mine] = np.maximum(way, 0)
            tried_digits[mine] = np.where(way == PALM, PALM, digit)
        cost = _digit_costs(original, tried_digits, bones, tips, seen)
        for digit, own in enumerate(ways):
            if trial < len(own) and cost[digit] < least[digit]:
                mine = outwards[digit]
                least[digit], best[mine] = cost[digit], bones[mine]
                digits[mine] = tried_digits[mine]
    return best


def _digit_costs(whose: Ints, digits: Ints, bones: Ints, tips: Bools, seen: Seen) -> Floats:
    """Cost (5,) of each digit's markers with these bones, after a short fit."""
    prior = shape_prior(digits, bones, tips)
    one = fitted(_begun(digits, bones, tips, seen), seen, prior, TRIAL_PASSES)
    expected = prior.off(one.beliefs.shape) ** 2
    owner = owners(whose)
    unusual = one.poses.angles - one.beliefs.mean
    held = (unusual @ one.beliefs.precision) * unusual
    result = np.zeros(len(DIGITS))
    for digit in range(len(DIGITS)):
        mine = replace(one.beliefs, sharpness=one.beliefs.sharpness * (whose == digit)[:, None])
        result[digit] = costs(without_prior(mine), one.poses, seen).sum()
        result[digit] += held[:, COLUMNS[digit][HAS[digit]]].sum()
        result[digit] += max(len(seen) / INDEPENDENT, 1.0) * expected[owner == digit].sum()
    return result


TRIAL_PASSES = 8


def _begun(digits: Ints, bones: Ints, tips: Bools, seen: Seen) -> Fitted:
    """Start from a mean hand with markers on these bones, placed on the digits' markers.

    Palm markers get the positions at which they are then seen.
    """
    shape = mean_shape(digits, bones, tips)
    mean, precision = usual_poses()
    limits = usual_limits() + LOOSER * np.array([-1.0, 1.0])
    on_digit = digits != PALM
    sharpness = np.full((len(digits), 3), 1 / FIRST_SPREAD) * on_digit[:, None]
    beliefs = Beliefs(shape, sharpness, mean, precision, limits)
    poses, _ = settled(beliefs, begun(beliefs, STARTS, seen, on_digit), seen, BEGINNING)
    local = (seen.positions - poses.places[:, None]) @ poses.turns
    offsets = shape.offsets.copy()
    for m in np.flatnonzero(~on_digit & seen.known.any(axis=0)):
        offsets[m] = np.median(local[seen.known[:, m], m], axis=0)
    shape = replace(shape, offsets=offsets)
    beliefs = replace(beliefs, shape=shape, sharpness=np.full_like(sharpness, 1 / FIRST_SPREAD))
    return Fitted(beliefs, poses)


BEGINNING = 6


def _posed(beliefs: Beliefs, seen: Seen, passes: int = 10) -> Fitted:
    starts = np.concatenate([beliefs.mean[None], STARTS])
    poses = begun(beliefs, starts, seen, np.ones(len(beliefs.sharpness), bool))
    return Fitted(beliefs, settled(beliefs, poses, seen, passes)[0])


def _change(beliefs: Beliefs, takes: list[Floats], rate: float) -> Floats:
    """Covariance of the joints' motion (D, D) rad²/s, from pose differences.

    It is the covariance of differences over CHANGE_LAG frames less that of differences between neighbouring frames,
    which contain the same noise of the markers.
    """
    far, near = np.zeros((2, DOFS, DOFS))
    budget = 0
    for take in sorted(takes, key=len, reverse=True):
        if len(take) <= CHANGE_LAG + 1 or budget > CHANGE_FRAMES:
            continue
        part = take[:CHANGE_FRAMES]
        angles = _posed(beliefs, Seen.of(part)).poses.angles
        apart = angles[CHANGE_LAG:] - angles[:-CHANGE_LAG]
        beside = angles[1 : 1 - CHANGE_LAG] - angles[:-CHANGE_LAG]
        far += apart.T @ apart
        near += beside.T @ beside
        budget += len(angles) - CHANGE_LAG
    change = (far - near) / max(budget, 1) / (CHANGE_LAG - 1) * rate
    values, vectors = np.linalg.eigh((change + change.T) / 2)
    held: Floats = (vectors * np.maximum(values, LEAST_CHANGE**2 * rate)) @ vectors.T
    return held


CHANGE_FRAMES = 1200
LEAST_CHANGE = np.deg2rad(0.1)
"""rad per frame, a lower bound of every joint's motion."""


def _as_hand(now: Fitted, change: Floats, spots: dict[str, Spot], side: Side) -> WornHand:
    beliefs = now.beliefs
    right = proportions(beliefs.shape)
    poses = PosePrior(beliefs.mean, inverse(beliefs.precision), change)
    shape = beliefs.shape
    markers = SkinMarkers(tuple(spots), shape.digits, shape.bones, shape.offsets, shape.slides, 1 / beliefs.sharpness)
    return WornHand(right if side == "right" else right.mirrored(), markers, poses, _limits(now.poses))


def proportions(shape: Shape) -> Proportions:
    """Proportions of a right hand; the metacarpal bases are those of a mean hand of the same size."""
    palm = MEAN.palm * shape.size
    for row, digit in enumerate(DIGITS):
        palm[PALM_JOINTS.index(CHAIN_JOINTS[digit][0])] = shape.palm[row]
    return Proportions("right", palm, shape.lengths, rot.from_matrix(shape.bases))


def _limits(poses: Poses) -> AngleLimits:
    """Limits in degrees where the hand exceeded the usual ones."""
    low, high = np.rad2deg(np.quantile(poses.angles, [0.002, 0.998], axis=0))
    found: AngleLimits = {}
    keys = sorted(DEFAULT_LIMITS, key=lambda key: (JOINT_INDEX[key[0]], ORDER.index(key[1])))
    most = float(np.rad2deg(LOOSER))
    for (joint, movement), least, last in zip(keys, low, high, strict=True):
        first, end = DEFAULT_LIMITS[joint, movement]
        lowest, highest = max(least - ROOM, first - most), min(last + ROOM, end + most)
        own = (float(round(min(first, lowest))), float(round(max(end, highest))))
        if own != (first, end):
            found[joint, movement] = own
    return found


ORDER = tuple(AXES)
ROOM = 10
"""Degrees beyond the observed range."""
