"""An arm from a rig's rest: its bones, posed, end where the arm's wrist does."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knuckle.solvers import arm as arms
from knuckle.solvers.arm import from_rest
from knuckle.solvers.tree import SkeletonError

Rotation = pytest.importorskip("scipy.spatial.transform").Rotation
few = settings(deadline=None, max_examples=10)
seeds = st.integers(0, 2**32 - 1)
DOWN, BACK = np.array([0.0, 0, -1]), np.array([0.0, 1, 0])


def rig(random, bent):
    """Shoulder, elbow and wrist of a rig in any place, bent by `bent` rad at rest any way, and its hand."""
    whole = Rotation.random(rng=random)
    onwards = Rotation.from_rotvec([bent, 0, 0]).apply([0, 0.25, 0])
    places = np.cumsum([random.normal(size=3), whole.apply([0, 0.3, 0]), whole.apply(onwards)], axis=0)
    return places, Rotation.random(rng=random).as_matrix(), whole


@few
@given(seeds, st.sampled_from([0.0, 0.02, 0.4, 1.5]))
def test_the_bones_of_a_rig_bring_its_wrist_to_the_target_turned_by_no_more_than_the_arm(seed, bent):
    random = np.random.default_rng(seed)
    places, hand, _ = rig(random, bent)
    fitted = from_rest(places, hand, random.normal(size=3), random.normal(size=3))
    goal = np.tile(np.eye(4), (5, 1, 1))
    way = random.normal(size=(5, 3))
    goal[:, :3, 3] = places[0] + 0.4 * way / np.linalg.norm(way, axis=1, keepdims=True)
    goal[:, :3, :3] = Rotation.random(5, rng=random).as_matrix()
    pose, _ = arms.solve(fitted.arm, goal, fitted.base)
    posed = arms.frames(fitted.arm, pose, fitted.base)
    moves = posed @ np.linalg.inv(fitted.rest)
    heads = np.concatenate([places, np.ones((3, 1))], 1)
    # Each bone is moved as a whole: where it ends, the next begins, and the hand is where it is asked for.
    for k in range(2):
        ends, begins = moves[:, k] @ heads[k + 1], moves[:, k + 1] @ heads[k + 1]
        assert np.abs(ends - begins).max() < 1e-9
    assert np.abs((moves[:, 0] @ heads[0])[:, :3] - places[0]).max() < 1e-12
    hands = moves[:, 2, :3, :3] @ hand
    assert np.abs((moves[:, 2] @ heads[2])[:, :3] - goal[:, :3, 3]).max() < 1e-9
    assert np.abs(hands - goal[:, :3, :3]).max() < 1e-9


def test_a_bent_rest_tells_the_elbows_axis_and_a_straight_one_is_told_by_its_back():
    random = np.random.default_rng(3)
    places, hand, whole = rig(random, 0.4)
    assert from_rest(places, hand, BACK, DOWN).base[:3, 0] == pytest.approx(whole.apply([1, 0, 0]))
    straight, hand, whole = rig(random, 0.0)
    back = whole.apply([0, 0.3, -1])
    assert from_rest(straight, hand, back, DOWN).base[:3, 0] == pytest.approx(whole.apply([1, 0, 0]))


def test_the_elbow_points_to_the_pole():
    """A rig in T pose whose wrist is brought before its chest: the elbow hangs below the line from the shoulder."""
    places = np.array([[0.2, 0, 1.4], [0.5, 0.01, 1.4], [0.75, 0, 1.4]])
    fitted = from_rest(places, np.eye(3), BACK, DOWN)
    goal = np.eye(4)[None].copy()
    goal[0, :3, 3] = [0.2, -0.4, 1.4]
    pose, _ = arms.solve(fitted.arm, goal, fitted.base)
    elbow = arms.frames(fitted.arm, pose, fitted.base)[0, 1, :3, 3]
    assert elbow[0] == pytest.approx(0.2, abs=1e-9)
    assert elbow[2] < 1.3


@pytest.mark.parametrize(
    ("places", "back", "sentence"),
    [
        (np.zeros((3, 3)), BACK, "0 and 0 m, expected more than 0"),
        (np.array([[0, 0, 0], [0.3, 0, 0], [np.nan, 0, 0]]), BACK, "0.3 and nan m"),
        (np.array([[0, 0, 0], [0, 0.3, 0], [0, 0.5, 0]]), BACK, "it is straight and parallel to"),
        (np.array([[0, 0, 0], [0, 0.3, 0], [0, 0.5, 0]]), 0 * BACK, "it is straight and parallel to"),
    ],
)
def test_a_rest_that_is_no_arm_is_reported_in_a_sentence(places, back, sentence):
    with pytest.raises(SkeletonError, match=sentence):
        from_rest(places, np.eye(3), back, DOWN)
