"""The work of looking for hands grows as the bones do, not as their pairs; what lies in one place is found."""

import sys
from collections.abc import Callable
from dataclasses import replace
from types import FrameType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from knuckle.errors import RigError
from knuckle.rig.detection import Bone, detect
from knuckle.rig.detection.coincident_bones import AxisOrder

Floats = NDArray[np.float64]


def star(count: int) -> list[Bone]:
    """Bones that all hang on one."""
    rng = np.random.default_rng(0)
    heads = rng.normal(size=(count, 3))
    leaves = [Bone(f"b{row}", "root", (x, y, z), (x, y, z + 0.01)) for row, (x, y, z) in enumerate(heads.tolist())]
    return [Bone("root", None, (0, 0, 0), (0, 0, 1)), *leaves]


def chain(count: int) -> list[Bone]:
    """Bones that hang on each other."""
    return [
        Bone(f"c{row}", f"c{row - 1}" if row else None, (0, 0, 0.1 * row), (0, 0, 0.1 * row + 0.1))
        for row in range(count)
    ]


def in_one_place(count: int) -> list[Bone]:
    return [replace(bone, head=(0, 0, 0), tail=(0, 0, 1)) for bone in chain(count)]


def driven(make: Callable[[int], list[Bone]]) -> Callable[[int], list[Bone]]:
    def made(count: int) -> list[Bone]:
        return [replace(bone, driven=True) for bone in make(count)]

    return made


def calls(bones: list[Bone]) -> int:
    """How many functions, Python's and built in, are called to look for hands where there are none."""
    count = 0

    def called(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(called)
    try:
        with pytest.raises(RigError):
            detect(bones)
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("make", [star, chain, in_one_place, driven(star), driven(chain)])
def test_four_times_the_bones_are_at_most_five_times_the_work(make: Callable[[int], list[Bone]]) -> None:
    assert calls(make(600)) < 5 * calls(make(150))


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 1e-9, 0.1, 0.5, 1.0, 3.0]), st.booleans())
def test_what_lies_where_a_bone_does_is_what_comparing_each_with_each_finds(seed: int, near: float, grid: bool) -> None:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 30))
    places: Floats = rng.normal(size=(2, count, 3))
    if grid:  # distances that are `near` to the last bit
        places = np.round(places * 2) / 2
    numbers = rng.permutation(count)[: int(rng.integers(1, count + 1))]
    beside = AxisOrder(numbers, places[0], places[1])
    for bone in range(count):
        apart = np.abs(places[:, numbers] - places[:, [bone]]).max(axis=(0, 2))
        found = beside.find_near(places[0, bone], places[1, bone], near)
        assert sorted(found) == sorted(numbers[apart < near].tolist())
