"""How deep skin is in skin: against distances on a grid, the hand's mesh, and poses that do not touch themselves."""

import numpy as np
import pytest

from knuckle.hand import kinematics, poses, proportions
from knuckle.hand.flesh import Flesh
from knuckle.hand.joints import CHAIN_JOINTS, DIGITS, JOINT_INDEX, SIDES, Side
from knuckle.hand.kinematics import Pose
from knuckle.hand.mesh.surface import surface
from knuckle.hand.model import HandModel
from knuckle.pipeline.evidence.evidence import PARTS
from knuckle.pipeline.evidence.skin_depth import depths
from knuckle.posing.grasping.skin_samples import skin_points

THUMB, INDEX, MIDDLE, PALM = (PARTS.index(part) for part in ("thumb", "index-finger", "middle-finger", "palm"))


def built(side: Side = "right", size: float = 0.185) -> HandModel:
    adult = proportions.adult(side)
    return proportions.build(adult.scaled(size / adult.size))


def depth_of(hand: HandModel, angles: np.ndarray) -> np.ndarray:
    joints = kinematics.joint_frames(hand, Pose.at_origin(hand, angles))[..., :3, 3]
    return depths(Flesh.of(hand), joints)


@pytest.mark.parametrize("side", SIDES)
def test_named_poses_are_not_in_themselves(side: Side) -> None:
    """They were made so that skin touches and does no more."""
    hand = built(side)
    found = depth_of(hand, np.stack([poses.angles(hand, name) for name in poses.names_in_group("everyday")]))
    assert found.shape == (len(found), len(PARTS)) and found.max() < 1.0


def test_depth_is_that_of_the_skin() -> None:
    """The index finger bends through the thumb: the mesh says how deep, by vertices below the other digit's surface."""
    hand = built()
    angles = np.tile(poses.angles(hand, "pinch"), (5, 1))
    for movement, turn in (("phalanx-proximal", 5.0), ("phalanx-intermediate", 3.0)):
        angles[:, hand.dof(f"index-finger-{movement}", "flexion")] += np.deg2rad(np.linspace(0, turn, 5))
    found = depth_of(hand, angles)
    truth = np.array([mesh_depth(hand, row) for row in angles])
    assert truth[-1] > 3.5, "the pose is deep in itself"
    assert found[:, INDEX] == pytest.approx(truth, abs=2.0)
    assert (np.diff(found[:, INDEX]) > 0).all()
    assert found[:, INDEX] == pytest.approx(found[:, THUMB], abs=1e-3), "each is as deep in the other"


def mesh_depth(hand: HandModel, angles: np.ndarray) -> float:
    """The depth in mm of the thumb's mesh in the index finger's."""
    skin = surface(proportions.adult("right"))
    bind = kinematics.joint_frames(hand, Pose.at_origin(hand, np.zeros((1, hand.dofs))))[0]
    points = skin_points(skin.vertices, skin.weights, bind, dual_quaternions=False)
    placed = points.posed(kinematics.joint_frames(hand, Pose.at_origin(hand, angles[None])))[0]
    corners = placed[skin.quads]
    faces = np.cross(corners[:, 2] - corners[:, 0], corners[:, 3] - corners[:, 1])
    normals = np.zeros_like(placed)
    for corner in range(4):
        np.add.at(normals, skin.quads[:, corner], faces)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    thumb, index = np.flatnonzero(points.digit == 0), np.flatnonzero(points.digit == 1)
    apart = placed[thumb][:, None] - placed[index][None]
    nearest = np.linalg.norm(apart, axis=-1).argmin(axis=1)
    below = -np.einsum("ni,ni->n", apart[np.arange(len(thumb)), nearest], normals[index][nearest])
    beside = np.linalg.norm(apart[np.arange(len(thumb)), nearest], axis=1)
    return 1000 * float(np.where(beside < 0.012, below, 0.0).max())


def test_a_finger_that_is_bent_through_the_palm_is_in_it() -> None:
    hand = built()
    fist = poses.angles(hand, "fist")
    through = fist.copy()
    for joint in CHAIN_JOINTS["middle-finger"][:2]:
        through[hand.dof(joint, "flexion")] += np.deg2rad(14)
    found = depth_of(hand, np.stack([fist, through]))
    assert found[0, PALM] < 1.0 < found[1, PALM]
    tip = JOINT_INDEX["middle-finger-tip"]
    moved = [kinematics.joint_frames(hand, Pose.at_origin(hand, a[None]))[0, tip, :3, 3] for a in (fist, through)]
    assert found[1, PALM] < 1000 * np.linalg.norm(moved[1] - moved[0]) + 1.0, "no deeper than it went"


def test_depth_grows_with_the_hand_and_is_the_same_on_both_sides() -> None:
    shape = poses.angles(built(), "fist")
    shape[built().dof("thumb-phalanx-distal", "flexion")] += 0.5
    shape[built().dof("index-finger-phalanx-proximal", "flexion")] += 0.4
    small, large = (depth_of(built("right", size), shape[None]) for size in (0.15, 0.225))
    assert large.max() > 1.0
    assert large == pytest.approx(1.5 * small, abs=0.02)
    assert depth_of(built("left"), shape[None]) == pytest.approx(depth_of(built(), shape[None]), abs=1e-3)


def test_straight_fingers_side_by_side_are_in_nothing() -> None:
    assert depth_of(built(), np.zeros((3, built().dofs))).max() == 0.0
    assert len(DIGITS) == 5
