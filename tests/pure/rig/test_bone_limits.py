"""Limits of bones: ranges that are merged allow what they allowed one by one."""

import numpy as np
import pytest

from knuckle.hand import rotations as rot
from knuckle.rig.limits.bone_limits import AxisRanges, BoneLimits, Floats, angles_between, locked_ranges, merged
from knuckle.rig.rotation_channels import EULER_ORDERS, from_eulers, smallest_eulers


def of_random(rng: np.random.Generator) -> AxisRanges:
    """Ranges that hold the rest, each free, locked or somewhere between."""
    low, high = -rng.uniform(0.0, 1.2, 3), rng.uniform(0.0, 1.2, 3)
    free, locked = rng.random((2, 3)) < 0.3
    low, high = np.where(locked, 0.0, low), np.where(locked, 0.0, high)
    return AxisRanges.between("XYZ", np.where(free, -np.inf, low), np.where(free, np.inf, high))


def some_rotations(rng: np.random.Generator, count: int) -> Floats:
    """(count, 3, 3)"""
    return from_eulers(rng.uniform(-1.5, 1.5, (count, 3)), "XYZ")


@pytest.mark.parametrize("seed", range(20))
def test_what_merged_ranges_hold_each_of_them_holds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    parts = [of_random(rng) for _ in range(3)]
    few = merged(parts)
    held = BoneLimits("bone", few).clipped(some_rotations(rng, 50))
    for part in (*parts, *few):
        angles = smallest_eulers(held, part.order)
        assert (np.abs(angles - part.middle) <= part.half + 1e-6).all()
    inside = from_eulers(0.99 * smallest_eulers(held, "XYZ"), "XYZ")
    assert angles_between(BoneLimits("bone", few).clipped(inside), inside).max() < 1e-9, "what each allows stays"


def test_a_range_that_lies_in_another_says_all() -> None:
    hinge = AxisRanges.between("XYZ", [-1.5, 0.0, 0.0], [0.2, 0.0, 0.0])
    (one,) = merged([hinge, locked_ranges("XYZ", [False, True, True])])
    np.testing.assert_allclose(one.middle, hinge.middle)
    np.testing.assert_allclose(one.half, hinge.half)
    assert len(merged([hinge, locked_ranges("XZY", [False, True, True])])) == 2, "taken apart in another way"
    other = AxisRanges.between("XYZ", [-0.5, 0.0, 0.0], [1.0, 0.0, 0.0])
    assert len(merged([hinge, other])) == 2, "neither lies in the other"


@pytest.mark.parametrize("order", EULER_ORDERS)
def test_rotations_of_euler_angles_turn_about_the_axes_in_their_order(order: str) -> None:
    angles = np.random.default_rng(1).uniform(-3.0, 3.0, (20, 3))
    whole = np.tile(rot.IDENTITY, (20, 1))
    for axis in ("XYZ".index(letter) for letter in order):
        whole = rot.multiply(rot.from_axis_angle(np.eye(3)[axis], angles[:, axis]), whole)
    np.testing.assert_allclose(from_eulers(angles, order), rot.to_matrix(whole), atol=1e-12)


def test_each_component_of_a_quaternion_is_clipped_alone() -> None:
    rng = np.random.default_rng(3)
    asked = rng.normal(size=(50, 4)) * [2.0, 1.0, 1.0, 1.0]
    asked = rot.unit_vectors(asked * np.sign(asked[:, :1]))
    half = np.array([0.3, 0.5, 0.0])
    held = rot.from_matrix(AxisRanges.between("QUATERNION", -half, half).clipped(rot.to_matrix(asked)))
    expected = np.clip(asked[:, 1:], -np.sin(half / 2), np.sin(half / 2))
    np.testing.assert_allclose(held[:, 1:] * np.sign(held[:, :1]), expected, atol=1e-9)
