"""What a take moves on a character: the fingers alone, the hand with its wrist, or also the arm."""

import bpy
import numpy as np
import pytest
from mathutils import Quaternion
from numpy.typing import NDArray

from knuckle.errors import RigError
from knuckle.hand import proportions
from knuckle.hand.joints import JOINT_INDEX
from knuckle.hand.kinematics import Pose
from knuckle.pipeline.recipe import DriveChoice
from knuckle.rig.armature_hands import find_hands
from knuckle.rig.keys.fcurves import curves_on
from knuckle.rig.keys.take_scene import TakeTiming, bind_hands, write_take
from knuckle.rig.live_take import LiveTake, key_live
from knuckle.rig.posing import apply_pose
from knuckle.rig.posing.rig_hand import RigHand
from knuckle.tests.blender.making import evaluated, find_hand, motion, rig, take
from knuckle.tests.blender.rigs import RIGS

Floats = NDArray[np.float64]
Object = bpy.types.Object
FRAMES = 6
UPPER = {"default": "upperarm01.L", "metarig": "upper_arm.L"}
LONE = {"WebXR, left", "WebXR, right"}


def solved_onto(armature: Object, drive: DriveChoice) -> set[str]:
    """Key a take of the armature's hands; the bones that have keys."""
    scene = bpy.context.scene
    scene.render.fps = 6
    sides = tuple(hand.side for hand in find_hands(armature))
    write_take(take(sides, frames=FRAMES, rate=6.0, drive=drive), armature, scene, scene.collection, TakeTiming())
    return {curve.data_path.split('"')[1] for curve in curves_on(armature)}


def poses_of(armature: Object, bones: set[str]) -> Floats:
    """(F, B, 4, 4) where Blender has bones in armature space on each frame."""
    frames = []
    for frame in range(1, FRAMES + 1):
        bpy.context.scene.frame_set(frame)
        posed = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
        frames.append([np.array(posed.pose.bones[name].matrix) for name in sorted(bones)])
    return np.array(frames)


def bases_of(armature: Object, bones: set[str]) -> Floats:
    """(F, B, 4, 4) how bones are turned against their rest on each frame."""
    frames = []
    for frame in range(1, FRAMES + 1):
        bpy.context.scene.frame_set(frame)
        frames.append([np.array(armature.pose.bones[name].matrix_basis) for name in sorted(bones)])
    return np.array(frames)


def bent(armature: Object) -> None:
    """Pose the wrists and all that carries them but the forearms, as a person does who stands."""
    rng = np.random.default_rng(3)
    for hand in find_hands(armature):
        wrist = armature.pose.bones[hand.carrier or hand.bones["wrist"]]
        for bone in {wrist, armature.pose.bones[hand.bones["wrist"]], *wrist.parent_recursive[3:]}:
            bone.rotation_mode = "QUATERNION"
            bone.rotation_quaternion = Quaternion(rng.normal(size=3).tolist(), 0.2)
    bpy.context.view_layer.update()


@pytest.mark.parametrize("name", [name for name in RIGS if "named" not in name])
def test_auto_drives_the_fingers_of_a_body_and_the_wrist_of_a_lone_hand(name: str) -> None:
    armature, _ = RIGS[name]()
    wrists = {hand.bones["wrist"] for hand in find_hands(armature)}
    keyed = solved_onto(armature, "auto")
    assert keyed >= wrists if name in LONE else keyed.isdisjoint(wrists)


@pytest.mark.parametrize("name", ["MakeHuman", "Rigify metarig", "Rigify generated"])
def test_fingers_leave_wrist_and_arm_where_the_character_has_them(name: str) -> None:
    armature, _ = RIGS[name]()
    bent(armature)
    fingers = {bone for hand in find_hands(armature) for joint, bone in hand.bones.items() if joint != "wrist"}
    others = {
        bone.name
        for bone in armature.data.bones
        if bone.name not in fingers and not any(parent.name in fingers for parent in bone.parent_recursive)
    }
    if name == "Rigify generated":  # other bones follow its fingers by constraints
        others = {hand.carrier or "" for hand in find_hands(armature)} | {"DEF-forearm.L", "hand_ik.L", "spine_fk"}
    before = poses_of(armature, others)
    assert solved_onto(armature, "fingers") <= fingers
    assert np.abs(poses_of(armature, others) - before).max() < 1e-6
    assert np.ptp(bases_of(armature, fingers), axis=0).max() > 0.5, "the fingers close"


@pytest.mark.parametrize("name", ["MakeHuman", "Rigify generated"])
def test_fingers_bend_against_the_wrist_as_they_do_with_it(name: str) -> None:
    armature, _ = RIGS[name]()
    fingers = {bone for hand in find_hands(armature) for joint, bone in hand.bones.items() if joint != "wrist"}
    solved_onto(armature, "wrist")
    with_wrist = bases_of(armature, fingers)
    bent(armature)
    solved_onto(armature, "fingers")
    apart = np.abs(bases_of(armature, fingers) - with_wrist)[..., :3, :3].max()
    assert apart < 2e-6, f"{apart:.1e} > 2e-6"


def test_fingers_that_do_not_hang_on_the_wrist_are_reported_and_auto_takes_the_wrist() -> None:
    armature = rig("left", flat=True)
    assert bind_hands(armature, take(("left",), frames=2, drive="auto"))[0].wrist
    with pytest.raises(RigError, match="follow its wrist, so the fingers cannot move without"):
        bind_hands(armature, take(("left",), frames=2, drive="fingers"))


def shown_live(armature: Object, drive: DriveChoice) -> tuple[Pose, Floats, RigHand]:
    """A pose of a device on a left hand: the pose, where the bones are in the world (J, 4, 4), and the hand."""
    hand = proportions.build(proportions.adult("left"))
    found = find_hand(armature, "left")
    pose = motion(hand, 1, corners=False)
    shoulder, wrist = (
        evaluated(armature, {"wrist": name})[0, :3, 3] for name in (UPPER[armature.name], found.bones["wrist"])
    )
    pose.root[0, :3, 3] = shoulder + 0.8 * (wrist - shoulder) + [0.0, -0.05, 0.05]
    rig_hand = apply_pose.make_driven_hand(armature, found, hand, limited=False, drive=drive)
    for _ in range(2):
        apply_pose.pose_hands([apply_pose.RigHandPose(rig_hand, pose)])
        bpy.context.view_layer.update()
    return pose, evaluated(armature, found.bones), rig_hand


@pytest.mark.parametrize("name", ["MakeHuman", "Rigify metarig"])
def test_live_drives_the_same(name: str) -> None:
    armature, _ = RIGS[name]()
    bent(armature)
    names = {bone.name for bone in armature.data.bones}
    at_first = poses_of(armature, names)[0]
    found = find_hand(armature, "left")
    before = evaluated(armature, found.bones)
    pose, after, rig_hand = shown_live(armature, "auto")
    wrist, tip = JOINT_INDEX["wrist"], JOINT_INDEX["index-finger-phalanx-distal"]
    assert np.abs(after[wrist] - before[wrist]).max() < 1e-6 and np.abs(after[tip] - before[tip]).max() > 0.01
    rig_hand.restore_pose()
    pose, after, rig_hand = shown_live(armature, "arm")
    off = np.linalg.norm(after[wrist, :3, 3] - pose.root[0, :3, 3])
    assert off < 1e-4, f"the wrist is {1000 * off:.2f} mm off"
    for _ in key_live(
        LiveTake("Live", np.arange(3) / 24, {"left": three(pose)}, {"left": rig_hand}), bpy.context.scene, 1
    ):
        pass
    bpy.context.scene.frame_set(2)
    assert np.linalg.norm(evaluated(armature, found.bones)[wrist, :3, 3] - pose.root[0, :3, 3]) < 1e-4
    armature.animation_data.action = None
    rig_hand.restore_pose()
    assert np.abs(poses_of(armature, names)[0] - at_first).max() < 1e-6


def three(pose: Pose) -> Pose:
    """Three frames of the same pose."""
    return Pose(pose.hand, np.repeat(pose.root, 3, axis=0), np.repeat(pose.angles, 3, axis=0))


@pytest.mark.parametrize(("gap", "driven"), [(0.0, False), (0.15, True)])
def test_a_hand_that_is_apart_from_its_arm_is_placed_by_keys(gap: float, driven: bool) -> None:
    armature = rig("left", arm=True)
    bpy.ops.object.mode_set(mode="EDIT")
    armature.data.edit_bones["fore"].tail.y -= gap
    bpy.ops.object.mode_set(mode="OBJECT")
    (keyed,) = bind_hands(armature, take(("left",), frames=2, drive="auto"))
    assert keyed.wrist == driven
