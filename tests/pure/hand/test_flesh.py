"""The flesh of a hand: nearest points against a grid, thickness against the hand's mesh, digits that are missing."""

import numpy as np
import pytest

from knuckle.hand import kinematics, proportions
from knuckle.hand.flesh import PALM, Flesh, nearest_on_segments, radii_of_skin, usual_radii
from knuckle.hand.joints import CHAIN_JOINTS, JOINT_INDEX
from knuckle.hand.kinematics import Pose
from knuckle.hand.mesh.surface import surface


def test_the_nearest_points_of_segments_are_those_of_a_fine_grid() -> None:
    rng = np.random.default_rng(3)
    ends = rng.uniform(-1, 1, (4, 60, 3)).astype(np.float32)
    ends[3, :10] = ends[2, :10] + 2 * (ends[1, :10] - ends[0, :10])  # parallel
    ends[1, 10:20] = ends[0, 10:20]  # points
    along = nearest_on_segments(*ends)
    found = [ends[k] + share[:, None] * (ends[k + 1] - ends[k]) for k, share in zip((0, 2), along, strict=True)]
    distance = np.linalg.norm(found[0] - found[1], axis=1)
    share = np.linspace(0, 1, 201)[:, None, None]
    first, second = (ends[k] + share * (ends[k + 1] - ends[k]) for k in (0, 2))
    for row in range(60):
        apart = np.linalg.norm(first[:, None, row] - second[None, :, row], axis=-1).min()
        assert distance[row] == pytest.approx(apart, abs=0.02), row


def test_thickness_is_that_of_the_mesh() -> None:
    """Half the thickness of Knuckle's own skin, by its vertices: the usual within a fifth, and larger where fatter."""
    measures = proportions.adult("right")
    hand, skin = proportions.build(measures), surface(measures)
    joints = kinematics.joint_frames(hand, Pose.at_origin(hand, np.zeros((1, hand.dofs))))[0, :, :3, 3]
    heaviest = skin.weights.argmax(axis=1)
    found = radii_of_skin(joints, skin.vertices, heaviest)
    assert np.isnan(found[0, 0]), "the thumb begins inside its ball"
    assert found.ravel()[1:] == pytest.approx(usual_radii(measures.size).ravel()[1:], rel=0.2)
    bones = joints[[JOINT_INDEX[joint] for joint in CHAIN_JOINTS["index-finger"]]]
    own = np.isin(heaviest, [JOINT_INDEX[joint] for joint in CHAIN_JOINTS["index-finger"][:3]])
    along = (bones[3] - bones[0]) / np.linalg.norm(bones[3] - bones[0])
    fatter = skin.vertices.copy()
    offsets = fatter[own] - bones[0]
    fatter[own] += 0.5 * (offsets - (offsets @ along)[:, None] * along)
    assert radii_of_skin(joints, fatter, heaviest)[1] == pytest.approx(1.5 * found[1], rel=1e-6)
    assert radii_of_skin(joints, fatter, heaviest)[2] == pytest.approx(found[2])


def test_a_digit_without_skin_has_the_usual_thickness() -> None:
    hand = proportions.build(proportions.adult("left"))
    radii = np.full((5, 4), np.nan)
    radii[1] = 0.02
    usual, thick = Flesh.of(hand), Flesh.of(hand, radii)
    assert (thick.radii[3:6] == 0.02).all()
    assert thick.radii[:3] == pytest.approx(usual.radii[:3])
    assert (thick.overlaps >= usual.overlaps).all()


def test_digits_that_a_hand_lacks_touch_nothing() -> None:
    hand = proportions.build(proportions.adult("right"))
    flesh = Flesh.of(hand, digits=("thumb", "middle-finger"))
    assert set(flesh.parts.ravel().tolist()) == {0, 2, PALM}
    assert Flesh.of(hand, digits=("middle-finger",)).parts.shape[0] == 2
