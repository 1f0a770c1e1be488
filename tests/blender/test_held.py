"""A hand of a rig taken hold of: what is shown on it is what is read of it, and what a person posed stays."""

import bpy
import numpy as np
import pytest

from knuckle.errors import RigError
from knuckle.hand import kinematics, poses, proportions
from knuckle.hand.joints import CHAIN_JOINTS, JOINT_INDEX
from knuckle.hand.kinematics import Pose
from knuckle.rig.armature_hands import find_hands
from knuckle.rig.keys.take_scene import new_hand
from knuckle.rig.posing.posable_hand import make_rig_hand
from knuckle.rig.posing.rig_hand import HandState, RigHand
from knuckle.tests.blender import rigs
from knuckle.tests.blender.making import Floats, motion

RIGS = {name: opened for name, opened in rigs.RIGS.items() if not name.startswith("named as")}


def default() -> bpy.types.Object:
    measures = proportions.adult("right")
    return new_hand(measures, proportions.build(measures), bpy.context.scene.collection)[0]


@pytest.fixture(params=["Knuckle's own", *RIGS])
def armature(request: pytest.FixtureRequest) -> bpy.types.Object:
    if request.param not in RIGS:
        return default()
    return RIGS[request.param]()[0]


def held_hands(armature: bpy.types.Object) -> list[RigHand]:
    return [make_rig_hand(armature, found) for found in find_hands(armature)]


def updated(held: RigHand) -> HandState:
    bpy.context.view_layer.update()
    return held.read()


def channels(armature: bpy.types.Object) -> Floats:
    return np.array([bone.matrix_basis for bone in armature.pose.bones])


def bone_tips(held: RigHand) -> dict[str, Floats]:
    """digit -> (3,) m where the tail of its last bone, or the head of its tip's, is in the world."""
    armature = held.find_armature()
    assert armature is not None
    found = next(found for found in find_hands(armature) if found.side == held.hand.side)
    places = {}
    for digit in held.digits:
        *_, last, tip = CHAIN_JOINTS[digit]
        bone = armature.pose.bones[found.bones.get(tip, found.bones[last])]
        places[digit] = np.array(armature.matrix_world @ (bone.head if tip in found.bones else bone.tail))
    return places


@pytest.mark.parametrize("name", ["fist", "spread", "ok"])
def test_what_is_shown_is_what_is_read(armature: bpy.types.Object, name: str) -> None:
    for held in held_hands(armature):
        asked = Pose(held.hand, held.read().pose.root, poses.angles(held.hand, name)[None])
        held.write(HandState(asked))
        read = updated(held).pose
        np.testing.assert_allclose(read.root, asked.root, atol=2e-6)
        has = [dof for dof, joint in enumerate(held.hand.axis_joint) if held.binding.bones[joint]]
        np.testing.assert_allclose(np.rad2deg(read.angles[0, has]), np.rad2deg(asked.angles[0, has]), atol=0.05)


def test_its_model_is_as_large_as_the_rig(armature: bpy.types.Object) -> None:
    for held in held_hands(armature):
        root = held.read().pose.root
        for pose in motion(held.hand, 4).angles:
            held.write(HandState(Pose(held.hand, root, pose[None])))
            read = updated(held).pose
            frames = kinematics.joint_frames(held.hand, read)[0]
            for digit, place in bone_tips(held).items():
                off = np.linalg.norm(frames[JOINT_INDEX[CHAIN_JOINTS[digit][-1]], :3, 3] - place)
                assert off < 2e-4, f"{held.hand.side} {digit}: {1e3 * off:.2f} mm > 0.2 mm"


def test_what_a_person_posed_as_no_hand_moves_stays(armature: bpy.types.Object) -> None:
    rng = np.random.default_rng(1)
    for held in held_hands(armature):
        for joint in held.binding.mapped:
            bone = armature.pose.bones[str(held.binding.bones[joint])]
            bone.rotation_mode = "QUATERNION"
            bone.rotation_quaternion = [1.0, *(0.1 * rng.normal(size=3))]
        stands = updated(held)
        before = np.array([bone.matrix for bone in armature.pose.bones])
        held.write(stands)
        bpy.context.view_layer.update()
        np.testing.assert_allclose([np.array(bone.matrix) for bone in armature.pose.bones], before, atol=1e-5)


def test_only_the_bones_of_the_joints_asked_for_move(armature: bpy.types.Object) -> None:
    for held in held_hands(armature):
        stands, before = updated(held), channels(armature)
        fist = Pose(held.hand, stands.pose.root, poses.angles(held.hand, "fist")[None])
        index = [JOINT_INDEX[joint] for joint in CHAIN_JOINTS["index-finger"]]
        held.only(index).write(HandState(fist, stands.beyond))
        own = {held.binding.bones[joint] for joint in index}
        moved = np.any(np.abs(channels(armature) - before) > 1e-6, axis=(1, 2))
        names = {bone.name for bone, moves in zip(armature.pose.bones, moved, strict=True) if moves}
        assert names and names <= own


def test_a_hand_that_is_gone_is_reported() -> None:
    armature = default()
    (held,) = held_hands(armature)
    bpy.data.objects.remove(armature)
    with pytest.raises(RigError, match="gone"):
        held.read()
