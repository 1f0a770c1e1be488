"""Touching a point: its cases and places against plain geometry and against clifford."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from knuckle.errors import SolverError
from knuckle.hand import rotations as rot
from knuckle.posing.following import REACHED, Shell, touch
from knuckle.posing.following.touching import aimed_frames, spheres

Floats = NDArray[np.float64]
ARM = Shell(0.15, 0.55)
HAND = 0.18
UP = np.array([0.0, 0.0, 1.0])


def one(shell: Shell, last: float, goal: list[float], wanted: Floats = UP) -> tuple[str, Floats, Floats]:
    found = touch(shell, last, np.zeros(3), np.array([goal]), wanted[None])
    return found.cases[0], found.before[0], found.end[0]


@pytest.mark.parametrize(
    ("far", "case"), [(0.2, "inside"), (0.5, "circle"), (0.73, "tangent"), (0.8, "outside"), (0.0, "inside")]
)
def test_the_cases_of_the_paper(far: float, case: str) -> None:
    assert one(ARM, HAND, [far, 0.0, 0.0])[0] == case


@pytest.mark.parametrize(("shell", "last"), [(Shell(0.5, 0.55), 0.1), (Shell(0.0, 0.1), 0.4)])
def test_a_target_too_near_is_reported_and_gone_towards(shell: Shell, last: float) -> None:
    case, before, end = one(shell, last, [0.05, 0.0, 0.0])
    assert case == "near"
    nearest = max(shell.least - last, last - shell.most)
    np.testing.assert_allclose(end, [nearest, 0.0, 0.0], atol=1e-12)
    assert shell.least - 1e-12 <= np.linalg.norm(before) <= shell.most + 1e-12


@given(st.integers(0, 10**6))
def test_the_joint_before_is_on_its_sphere_in_reach_and_nearest_to_where_it_is_wanted(seed: int) -> None:
    rng = np.random.default_rng(seed)
    base, goal, wanted = rng.normal(size=(3, 3)) * [[2.0], [0.5], [0.5]]
    found = touch(ARM, HAND, base, (base + goal)[None], (base + wanted)[None])
    before, end, far = found.before[0] - base, found.end[0] - base, np.linalg.norm(goal)
    assert abs(np.linalg.norm(before - end) - HAND) < 1e-9
    assert ARM.least - 1e-9 <= np.linalg.norm(before) <= ARM.most + 1e-9
    assert (found.cases[0] in REACHED) == bool(far <= ARM.most + HAND)
    if found.cases[0] not in REACHED:
        np.testing.assert_allclose(end, goal / far * (ARM.most + HAND), atol=1e-9)
        assert found.distances[0] == pytest.approx(far - ARM.most - HAND)
        return
    np.testing.assert_allclose(end, goal, atol=1e-9)
    ways = rng.normal(size=(4000, 3))
    others = goal + HAND * ways / np.linalg.norm(ways, axis=1, keepdims=True)
    reach = np.linalg.norm(others, axis=1)
    others = others[(reach >= ARM.least) & (reach <= ARM.most)]
    if len(others):
        assert np.linalg.norm(before - wanted) <= np.linalg.norm(others - wanted, axis=1).min() + 1e-9


def test_the_circle_of_solutions_is_the_one_of_clifford() -> None:
    oracle = pytest.importorskip("knuckle.tests.pure.solvers.cga.oracle")
    goal = np.array([[0.4, 0.3, -0.1]])
    found = spheres(ARM, np.array([HAND]), goal)
    theirs = oracle.sphere(np.zeros(3), ARM.most) ^ oracle.sphere(goal[0], HAND)
    ours = type(found.outer)._make(x[0] for x in found.outer)
    assert oracle.difference(ours, theirs) < 1e-12
    before = touch(ARM, HAND, np.zeros(3), goal, 2 * goal).before[0]
    assert np.abs((oracle.up(before) | theirs).value).max() < 1e-12, "a point of a standard circle"


def test_on_the_target_with_no_direction_there_is_an_answer() -> None:
    for wanted in (np.zeros(3), UP):
        case, before, end = one(ARM, 0.0, [0.0, 0.0, 0.0], wanted)
        assert case == "near"
        assert np.linalg.norm(before) == pytest.approx(ARM.least)
        np.testing.assert_allclose(end, before)


def test_what_is_not_finite_is_unknown_and_spoils_no_other() -> None:
    goals = np.array([[0.3, 0.0, 0.0], [np.nan, 0.0, 0.0], [0.3, 0.0, 0.0]])
    found = touch(ARM, HAND, np.zeros(3), goals, np.tile(UP, (3, 1)))
    assert found.cases == ("inside", "unknown", "inside")
    assert np.isnan(found.before[1]).all() and np.isnan(found.distances[1])
    np.testing.assert_array_equal(found.before[0], found.before[2])


def test_the_hand_is_turned_no_more_than_it_must() -> None:
    rng = np.random.default_rng(3)
    frames = np.tile(np.eye(4), (20, 1, 1))
    q = rng.normal(size=(20, 4))
    frames[:, :3, :3] = rot.to_matrix(q / np.linalg.norm(q, axis=1, keepdims=True))
    tip, goals = np.array([0.02, 0.17, -0.05]), 0.3 * rng.normal(size=(20, 3))
    tip *= HAND / np.linalg.norm(tip)
    found = touch(ARM, HAND, np.zeros(3), goals, goals - frames[:, :3, :3] @ tip)
    after = aimed_frames(frames, tip, found)
    ends = after[:, :3, :3] @ tip + after[:, :3, 3]
    np.testing.assert_allclose(ends, found.end, atol=1e-9)
    turned = rot.from_matrix(after[:, :3, :3] @ np.swapaxes(frames[:, :3, :3], 1, 2))
    least = np.arccos(np.clip(np.einsum("fi,fi->f", ends - after[:, :3, 3], frames[:, :3, :3] @ tip) / HAND**2, -1, 1))
    np.testing.assert_allclose(2 * np.arccos(np.clip(turned[:, 0], -1, 1)), least, atol=1e-6)


@pytest.mark.parametrize("ends", [(0.3, 0.2), (-0.1, 0.2), (0.0, np.inf), (np.nan, 0.2)])
def test_a_reach_that_is_none_is_refused(ends: tuple[float, float]) -> None:
    with pytest.raises(SolverError, match="reach"):
        Shell(*ends)
