"""How far a wrist bends: the published ends of its range, the same for both hands and at any pronation."""

from typing import Literal

import numpy as np
import pytest

from knuckle.hand import rotations as rot
from knuckle.hand.wrist_range import MARGIN, wrist_bend

Side = Literal["left", "right"]
# The direction of the bend in a right hand's forearm: Z out of the back, X towards the little finger.
BENDS = {"flexion": (0, 0, -1, 80), "extension": (0, 0, 1, 70), "radial": (-1, 0, 0, 20), "ulnar": (1, 0, 0, 30)}


def forearm_of(bend: str, degrees: float, side: Side, pronation: float = 0.0) -> np.ndarray:
    """The forearm's direction in the frame of a hand that is bent so, after the forearm has turned it."""
    x, y, z, _ = BENDS[bend]
    towards = np.array([x if side == "right" else -x, y, z], float)
    axis = np.cross([0.0, 1.0, 0.0], towards)
    hand = rot.to_matrix(rot.from_axis_angle(axis, np.deg2rad(degrees)))
    turned = rot.to_matrix(rot.from_axis_angle(np.array([0.0, 1.0, 0.0]), pronation))
    forearm: np.ndarray = (turned @ hand).T @ np.array([0.0, 1.0, 0.0])
    return forearm


@pytest.mark.parametrize("bend", BENDS)
@pytest.mark.parametrize("side", ["left", "right"])
def test_beyond_is_what_exceeds_the_published_range_and_the_margin(bend: str, side: Side) -> None:
    most = BENDS[bend][3] + np.rad2deg(MARGIN)
    for degrees in (0.0, 5.0, most - 0.1, most + 0.1, most + 25.0, 179.0):
        for pronation in (0.0, 2.0):
            found, beyond = wrist_bend(forearm_of(bend, degrees, side, pronation), side)
            assert np.rad2deg(found) == pytest.approx(degrees, abs=1e-6)
            assert np.rad2deg(beyond) == pytest.approx(max(degrees - most, 0.0), abs=1e-6)


def test_between_two_ends_the_range_lies_between_theirs() -> None:
    rng = np.random.default_rng(1)
    forearms = rng.normal(size=(500, 3))
    forearms /= np.linalg.norm(forearms, axis=1, keepdims=True)
    bend, beyond = wrist_bend(forearms, "right")
    most = np.rad2deg(bend - beyond)[beyond > 0]
    assert (most >= 20 + np.rad2deg(MARGIN) - 1e-9).all() and (most <= 80 + np.rad2deg(MARGIN) + 1e-9).all()
    mirrored = wrist_bend(forearms * [-1, 1, 1], "left")
    assert np.array_equal(mirrored[1], beyond)


def test_a_hand_folded_back_onto_its_forearm_is_beyond() -> None:
    bend, beyond = wrist_bend(np.array([0.0, -1.0, 0.0]), "left")
    assert np.rad2deg(bend) == pytest.approx(180.0)
    assert np.rad2deg(beyond) > 75
