"""Choose which bone of its digit carries each marker: those with which the digit explains its markers best."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...joints import CHAIN_JOINTS, DIGITS, digit_of
from ...marker_sets import Spot
from .initial_fit import initial_fit
from .pose_fit import VisibleMarkers, costs, without_prior
from .priors import parameter_digits, prior_weight, shape_prior
from .shape_fit import fit_shape
from .skin_fit import COLUMNS, HAS, PALM

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

TIP = 3
"""Index of a digit's tip in its chain; only the last bone carries a marker there."""
TRIAL_ITERATIONS = 8


@dataclass(frozen=True, slots=True, eq=False)
class BoneOptions:
    """The bones that may carry each of M markers, by their labels."""

    spots: tuple[Spot, ...]
    """(M,) spot of each marker on the hand, as its label says."""
    digits: Ints
    """(M,) row in DIGITS; PALM for a marker of the palm."""
    bones: tuple[tuple[int, ...], ...]
    """(M,) indices of the bones; PALM among them for a marker that may ride on the palm."""
    tips: Bools
    """(M,) whether the marker is on a nail."""

    def outwards(self, digit: int) -> Ints:
        """Return the indices (N,) of a digit's markers, from the palm to the tip."""
        markers = sorted(np.flatnonzero(self.digits == digit), key=lambda m: self.bones[m])
        return np.array(markers, np.int64)

    def combinations(self, digit: int) -> list[tuple[int, ...]]:
        """Return the possible bones (N,) of a digit's markers: a marker farther out is never on a bone farther in."""
        combinations = itertools.product(*(self.bones[m] for m in self.outwards(digit)))
        return [combination for combination in combinations if list(combination) == sorted(combination)]


@dataclass(frozen=True, slots=True, eq=False)
class MarkerBones:
    """The bones that carry M markers."""

    digits: Ints
    """(M,) row in DIGITS, PALM for the palm."""
    bones: Ints
    """(M,) index of the bone in the digit; 0 on the palm."""


def bone_options(spots: Sequence[Spot]) -> BoneOptions:
    """Return the bones that may carry markers at (M,) spots."""
    digits: list[int] = []
    options: list[tuple[int, ...]] = []
    tips: list[bool] = []
    for spot in spots:
        digit = digit_of(spot.joint)
        chain = CHAIN_JOINTS[digit] if digit else ()
        if digit is None or spot.joint not in chain:
            digits.append(PALM)
            options.append((PALM,))
            tips.append(False)
            continue
        joint = chain.index(spot.joint)
        digits.append(DIGITS.index(digit))
        tips.append(joint == TIP)
        if joint == TIP:
            options.append((TIP - 1,))
        else:
            options.append((joint,) if any(spot.offset) else (joint - 1, joint))
    return BoneOptions(tuple(spots), np.array(digits, np.int64), tuple(options), np.array(tips, bool))


def choose_bones(hands: Sequence[BoneOptions], seen: Sequence[VisibleMarkers]) -> list[MarkerBones]:
    """Choose the bones of one person's hands with which each digit fits its markers best.

    A digit that wears the same markers on all hands wears them on the same bones: those that explain all hands best.
    """
    trial_results = [_trial_costs(options, visible) for options, visible in zip(hands, seen, strict=True)]
    chosen = [MarkerBones(options.digits.copy(), np.zeros(len(options.digits), np.int64)) for options in hands]
    for digit in range(len(DIGITS)):
        spots_of_hands = [[options.spots[m] for m in options.outwards(digit)] for options in hands]
        combinations = [options.combinations(digit) for options in hands]
        costs = [own[: len(choices), digit] for own, choices in zip(trial_results, combinations, strict=True)]
        if all(own == spots_of_hands[0] for own in spots_of_hands):
            costs = [np.sum(costs, axis=0)] * len(hands)
        for options, choices, cost, result in zip(hands, combinations, costs, chosen, strict=True):
            markers, bones = options.outwards(digit), np.array(choices[int(np.argmin(cost))], np.int64)
            result.bones[markers] = np.maximum(bones, 0)
            result.digits[markers] = np.where(bones == PALM, PALM, digit)
    return chosen


def _trial_costs(options: BoneOptions, seen: VisibleMarkers) -> Floats:
    """Cost (K, 5) of each digit's markers with each of its combinations of bones; infinite beyond its last one.

    Digits share only the palm, so they are tried in parallel: the k-th trial has the k-th combination of each.
    """
    combinations = [options.combinations(digit) for digit in range(len(DIGITS))]
    result = np.full((max(map(len, combinations)), len(DIGITS)), np.inf)
    for trial, row in enumerate(result):
        digits, bones = options.digits.copy(), np.zeros(len(options.digits), np.int64)
        for digit, own in enumerate(combinations):
            markers, combination = options.outwards(digit), np.array(own[min(trial, len(own) - 1)], np.int64)
            bones[markers] = np.maximum(combination, 0)
            digits[markers] = np.where(combination == PALM, PALM, digit)
        has_trial = np.array([trial < len(own) for own in combinations])
        row[has_trial] = _digit_costs(options, MarkerBones(digits, bones), seen)[has_trial]
    return result


def _digit_costs(options: BoneOptions, carried: MarkerBones, seen: VisibleMarkers) -> Floats:
    """Cost (5,) of each digit's markers with these bones, after a short fit."""
    prior = shape_prior(carried.digits, carried.bones, options.tips)
    start = initial_fit(carried.digits, carried.bones, options.tips, seen)
    state = fit_shape(start, seen, prior, TRIAL_ITERATIONS)
    expected = prior.residuals(state.pose_model.shape) ** 2
    owner = parameter_digits(options.digits)
    deviation = state.poses.angles - state.pose_model.mean
    prior_cost = (deviation @ state.pose_model.precision) * deviation
    result = np.zeros(len(DIGITS))
    for digit in range(len(DIGITS)):
        is_on_digit = (options.digits == digit)[:, None]
        restricted = replace(state.pose_model, sharpness=state.pose_model.sharpness * is_on_digit)
        result[digit] = costs(without_prior(restricted), state.poses, seen).sum()
        result[digit] += prior_cost[:, COLUMNS[digit][HAS[digit]]].sum()
        result[digit] += prior_weight(len(seen)) * expected[owner == digit].sum()
    return result
