"""Hands that no person has are reported, those of people are not."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from knuckle.errors import KnuckleError
from knuckle.hand.joints import SIDES
from knuckle.hand.proportions import adult
from knuckle.pipeline.job import run
from knuckle.pipeline.plausibility import implausible_lengths
from knuckle.pipeline.recipe import Recipe
from knuckle.pipeline.report import rate_warning


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("length", [0.11, 0.15, 0.23])
def test_children_and_adults_are_plausible(side, length):
    assert not implausible_lengths(adult(side, length), "mm")


def test_a_tenth_of_a_hand_and_a_hand_in_inches_are_reported_with_the_unit_that_makes_them_a_persons():
    reported = implausible_lengths(adult("right", 0.0183), "mm")
    assert (
        "the right hand is 18 mm long" in reported
        and "taken as mm, it would be 183 mm in cm (Unit, --unit cm)" in reported
    )
    assert "it would be 188 mm in inch (Unit, --unit inch)" in implausible_lengths(adult("left", 0.074), "cm")


def test_where_no_unit_makes_a_persons_hand_the_size_in_each_is_reported():
    reported = implausible_lengths(adult("right", 0.279), "mm")
    assert "279 m in m, 27.9 m in dm, 2.79 m in cm, 7.09 m in inch): are the labels right?" in reported
    assert "0.56 mm in cm, 0.056 mm in mm" in implausible_lengths(adult("right", 0.056), "m")


def test_a_bone_of_another_finger_is_reported():
    hand = adult("right")
    phalanges = hand.phalanges.copy()
    phalanges[4, 2] = 0.07
    assert "little finger's distal bone is 70 mm long" in implausible_lengths(replace(hand, phalanges=phalanges), "m")


def test_knuckles_that_coincide_are_reported():
    hand = adult("left")
    palm = hand.palm.copy()
    palm[-1] = palm[2] + 1e-9
    assert "breadth across the knuckles is 0 mm" in implausible_lengths(replace(hand, palm=palm), "m")


@pytest.mark.parametrize("spread", [0.02, 0.05, 0.08])
@pytest.mark.parametrize("seed", range(4))
def test_noise_is_not_solved_without_a_word(tmp_path: Path, spread: float, seed: int) -> None:
    """A handpose of random joints, `spread` m about the wrist."""
    matrices = np.tile(np.eye(4).ravel(), (50, 1))
    matrices[:, 12:15] = np.random.default_rng(seed).normal(0.0, spread, (50, 3))
    matrices[[0, 25], 12:15] = 0.0
    path = tmp_path / "noise.handpose"
    np.concatenate([[25.0], matrices.ravel(), np.ones(50)]).astype("<f4").tofile(path)
    try:
        report = run(Recipe(str(path))).report
    except KnuckleError:
        return
    doubts = ("--unit", "are the labels right?", "are its labels right")
    assert any(doubt in warning for warning in report["warnings"] for doubt in doubts)


def test_unusual_rates_are_reported():
    assert "0.5 Hz is an unusual rate" in rate_warning({"rate": 0.5, "frames": 20})
    assert "4000 Hz" in rate_warning({"rate": 4000.0, "frames": 20})
    assert not rate_warning({"rate": 1.0, "frames": 1}) and not rate_warning({"rate": 119.88, "frames": 20})
