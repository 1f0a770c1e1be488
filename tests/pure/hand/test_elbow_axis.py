"""A hand's rest on its forearm, found from the elbow's bends on arms whose rest pose is not known."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from knuckle.hand import rotations as rot
from knuckle.hand.elbow_axis import back_at_rest, hand_frames, wrist_at_rest
from knuckle.hand.joints import JOINTS, KNUCKLES, SIDES, Side

FRAMES = 30
TO_THE_SIDE = {"left": np.array([1.0, 0.0, 0.0]), "right": np.array([-1.0, 0.0, 0.0])}
"""Where an arm points that is held to the side, of a person who faces -Y."""
UP = np.array([0.0, 0.0, 1.0])


def arms(side: Side, bends: np.ndarray, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The upper arm's rotations from an arm held to the side, the arm's points, and the back of the resting hand.

    The elbow bends to the front.
    """
    random = np.random.default_rng(seed)
    upper = Rotation.from_rotvec(np.cumsum(random.normal(scale=0.2, size=(FRAMES, 3)), axis=0))
    along = TO_THE_SIDE[side]
    front = np.array([0.0, -1.0, 0.0])
    forearm = upper.apply(np.cos(bends)[:, None] * along + np.sin(bends)[:, None] * front)
    shoulder = np.cumsum(random.normal(scale=0.01, size=(FRAMES, 3)), axis=0)
    elbow = shoulder + 0.3 * upper.apply(along)
    return upper.as_matrix(), np.stack([shoulder, elbow, elbow + 0.25 * forearm], axis=1), upper.apply(UP)


@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("side", SIDES)
def test_the_back_is_where_the_elbow_bends_about_whatever_the_bones_are_at_rest(
    side: Side, seed: int, mirrored: bool
) -> None:
    upper, arm, back = arms(side, np.linspace(0.0, 2.0, FRAMES), seed)
    of_bone = Rotation.random(random_state=seed).as_matrix() @ np.diag([-1.0 if mirrored else 1.0, 1.0, 1.0])
    found = back_at_rest(upper @ of_bone, arm, side)
    assert found is not None and np.abs(found - back).max() < 1e-9, "straight arms have it from bent ones"


@pytest.mark.parametrize("scale", [0.01, 100.0])
def test_a_scaled_armature_shows_the_same(scale: float) -> None:
    upper, arm, back = arms("left", np.linspace(0.0, 2.0, FRAMES))
    found = back_at_rest(scale * upper, scale * arm, "left")
    assert found is not None and np.abs(found - back).max() < 1e-9
    rolled = Rotation.from_rotvec(np.linspace(0.0, 2 * np.pi, FRAMES)[:, None] * [1.0, 0.0, 0.0]).as_matrix()
    assert back_at_rest(scale * upper @ rolled, scale * arm, "left") is None


def test_frames_without_an_arm_are_left_out() -> None:
    upper, arm, back = arms("left", np.linspace(0.0, 2.0, FRAMES))
    arm[3, 2], arm[5, 0] = arm[3, 1], np.nan
    found = back_at_rest(upper, arm, "left")
    lost = np.isin(np.arange(FRAMES), [3, 5])
    assert found is not None and np.isnan(found[lost]).all() and np.abs(found - back)[~lost].max() < 1e-9
    assert back_at_rest(upper, np.full_like(arm, np.nan), "left") is None
    knuckles = {KNUCKLES[0]: arm[:, 2] + back + [0.1, 0.0, 0.0], KNUCKLES[-1]: arm[:, 2] - back + [0.1, 0.0, 0.0]}
    wrist = np.tile([1.0, 0.0, 0.0, 0.0], (FRAMES, 1))
    rotations = wrist_at_rest(upper, arm, {JOINTS[0]: arm[:, 2], **knuckles}, wrist, "left")
    assert rotations is not None and np.array_equal(np.isnan(rotations).all(axis=-1), lost)
    assert np.isfinite(rotations[~lost]).all()


def test_a_single_frame_in_which_the_elbow_straightens_shows_nothing() -> None:
    bends = np.full(FRAMES, 1.5)
    bends[4] = 0.5
    upper, arm, _ = arms("left", bends)
    assert back_at_rest(upper, arm, "left") is None


@pytest.mark.parametrize("bend", [0.0, 0.2, 1.5])
def test_elbows_that_hardly_bend_and_straighten_show_nothing(bend: float) -> None:
    upper, arm, _ = arms("left", np.linspace(bend, bend + 0.2, FRAMES))
    assert back_at_rest(upper, arm, "left") is None


def test_an_upper_arm_that_does_not_turn_with_its_elbow_shows_nothing() -> None:
    """As of skeletons whose bones only point from joint to joint."""
    upper, arm, _ = arms("left", np.linspace(0.5, 1.5, FRAMES))
    along = rot.unit_vectors(arm[:, 1] - arm[:, 0])
    rolled = Rotation.from_rotvec(np.linspace(0.0, 2 * np.pi, FRAMES)[:, None] * along).as_matrix()
    assert back_at_rest(rolled @ upper, arm, "left") is None


@pytest.mark.parametrize("side", SIDES)
def test_a_hands_frame_points_along_it_and_out_of_its_back(side: Side) -> None:
    turned = Rotation.random(4, random_state=1)
    little = {"left": [-0.03, 0.09, 0.0], "right": [0.03, 0.09, 0.0]}[side]
    points = np.array([[0.0, 0.0, 0.0], np.multiply(little, [-1.0, 1.0, 1.0]), little])
    hand = np.einsum("fij,pj->fpi", turned.as_matrix(), points)
    assert np.abs(hand_frames(hand, side) - turned.as_matrix()).max() < 1e-9
