"""What a rig says of how its bones may turn is obeyed: Blender's own constraints change nothing that is keyed."""

from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
from mathutils import Matrix, Quaternion

from knuckle.errors import RigError
from knuckle.hand import kinematics, proportions
from knuckle.hand.joints import CHAIN_JOINTS, DIGITS, SIDES, Side
from knuckle.hand.measured_hand import MeasuredHand
from knuckle.hand.model import HandModel
from knuckle.pipeline.job import SolveJob
from knuckle.pipeline.recipe import Recipe
from knuckle.rig.binding import bind
from knuckle.rig.bound_hand import bound_hand
from knuckle.rig.keys.hand_motion import KeyedHand
from knuckle.rig.keys.keyframes import key_hands
from knuckle.rig.keys.take_scene import TakeTiming, take_frames, write_take
from knuckle.rig.limits.bone_limits import angles_between
from knuckle.rig.limits.limit_constraints import CONSTRAINT_NAME
from knuckle.rig.limits.read_limits import read_limits
from knuckle.rig.limits.rig_limits import armature_limits
from knuckle.rig.rig_query import RigQuery
from knuckle.rig.rotation_channels import EULER_ORDERS
from knuckle.solvers.solver import limit_excess
from knuckle.tests.blender.making import Floats, find_hand, motion, rig, worst_direction

MODES: Any = ("QUATERNION", "AXIS_ANGLE", *EULER_ORDERS)
MOVING = [joint for digit in DIGITS for joint in CHAIN_JOINTS[digit][:3]]
FRAMES = 8


def limit(bone: Any, ranges: Floats, **more: Any) -> Any:
    """A Limit Rotation of a bone, (3, 2) degrees; NaN where an axis is free."""
    constraint = bone.constraints.new("LIMIT_ROTATION")
    constraint.owner_space = "LOCAL"
    for axis, (low, high) in zip("xyz", np.deg2rad(ranges), strict=True):
        setattr(constraint, f"use_limit_{axis}", bool(np.isfinite(low)))
        if np.isfinite(low):
            setattr(constraint, f"min_{axis}", low)
            setattr(constraint, f"max_{axis}", high)
    for name, value in more.items():
        setattr(constraint, name, value)
    return constraint


def local(bone: Any) -> Any:
    """Where an evaluated pose bone is, relative to its rest on its parent."""
    above = {"parent_matrix": bone.parent.matrix, "parent_matrix_local": bone.parent.bone.matrix_local}
    above = above if bone.parent else {}
    return bone.bone.convert_local_to_pose(bone.matrix, bone.bone.matrix_local, invert=True, **above)


def matrices(rotations: list[Any]) -> Floats:
    return np.array([np.array(rotation.to_3x3().normalized(), float) for rotation in rotations])


def solved(armature: bpy.types.Object, side: Side) -> tuple[HandModel, MeasuredHand]:
    """The hand within what the rig lets it do."""
    measured = MeasuredHand(proportions.adult(side), {})
    return measured.model, measured.with_rig_limits(armature_limits(armature, measured.model).limits)


def bake(armature: bpy.types.Object, hand: HandModel, seed: int = 0) -> kinematics.Pose:
    """Keys every joint at random inside its limits, half of the frames at one of them."""
    bones = find_hand(armature, hand.side).bones
    pose = motion(hand, FRAMES, seed)
    binding = bind(armature, hand.side, bones, hand, limits=read_limits(armature, bones.values()))
    key_hands(armature, [KeyedHand(binding, hand, pose)], np.arange(1.0, FRAMES + 1), "Take")
    return pose


def turns(armature: bpy.types.Object) -> dict[str, tuple[Floats, Floats]]:
    """Bone -> (F, 3, 3) as it is keyed and as it is evaluated."""
    seen: dict[str, list[tuple[Matrix, Matrix]]] = {joint: [] for joint in MOVING}
    for frame in range(1, FRAMES + 1):
        bpy.context.scene.frame_set(frame)
        posed = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
        for joint, pairs in seen.items():
            pairs.append((posed.pose.bones[joint].matrix_basis.copy(), local(posed.pose.bones[joint])))
    return {joint: (matrices([a for a, _ in pairs]), matrices([b for _, b in pairs])) for joint, pairs in seen.items()}


def worst_change(armature: bpy.types.Object) -> float:
    """Degrees between what is keyed and what Blender makes of it."""
    return max(float(np.degrees(angles_between(*pair).max())) for pair in turns(armature).values())


@pytest.mark.parametrize("legacy", [False, True], ids=["circle", "legacy"])
@pytest.mark.parametrize("mode", MODES)
def test_a_bone_may_turn_just_as_its_constraints_leave_it(mode: Any, legacy: bool) -> None:
    rng = np.random.default_rng(MODES.index(mode))
    armature = rig("right")
    bone = armature.pose.bones["index-finger-phalanx-proximal"]
    bone.rotation_mode = mode
    left = 0
    for _ in range(40):
        for constraint in list(bone.constraints):
            bone.constraints.remove(constraint)
        ranges = np.stack([-rng.uniform(0, 120, 3), rng.uniform(0, 120, 3)], axis=1)
        around = rng.random() < 0.3
        if around:
            ranges += rng.uniform(-200, 200, (3, 1))
        ranges[rng.random(3) < 0.3] = np.nan
        limit(bone, ranges, euler_order=rng.choice(["AUTO", *EULER_ORDERS]), use_legacy_behavior=legacy)
        (limits,) = read_limits(armature, [bone.name]).values() if np.isfinite(ranges).any() else (None,)
        wanted = Quaternion(rng.normal(size=3).tolist(), float(rng.uniform(0, 2.5)))
        bone.matrix_basis = wanted.to_matrix().to_4x4()
        bpy.context.view_layer.update()
        turn = matrices([wanted.to_matrix()])
        changed = np.degrees(angles_between(matrices([local(bone)]), turn)[0])
        if limits is None:
            continue
        held = limits.clipped(turn)
        assert (changed > 1e-3) == (np.degrees(angles_between(held, turn)[0]) > 1e-3), (
            f"{ranges} changes {changed} degrees"
        )
        left += changed <= 1e-3
        if around:
            # Blender takes apart what it has put together in another way, and holds it back again.
            continue
        bone.matrix_basis = Matrix(held[0].tolist()).to_4x4()
        bpy.context.view_layer.update()
        again = np.degrees(angles_between(matrices([local(bone)]), held)[0])
        assert again < 0.01, f"{ranges} in {limits.parts[0].order} change what is held by {again:.3f} degrees"
    assert left > 3


@pytest.mark.parametrize("legacy", [False, True], ids=["circle", "legacy"])
def test_a_range_beyond_half_a_turn_goes_on_behind_it_but_for_legacy_constraints(legacy: bool) -> None:
    armature = rig("right")
    bone = armature.pose.bones["index-finger-phalanx-proximal"]
    bone.rotation_mode = "XYZ"
    free = [np.nan, np.nan]
    limit(bone, np.array([[100.0, 200.0], free, free]), use_legacy_behavior=legacy)
    limits = read_limits(armature, [bone.name])[bone.name]
    for degrees, changes in ((-170, legacy), (150, False), (60, True)):
        bone.matrix_basis = Matrix.Rotation(np.deg2rad(degrees), 4, "X")
        bpy.context.view_layer.update()
        turn = matrices([bone.matrix_basis])
        for held in (matrices([local(bone)]), limits.clipped(turn)):
            assert (np.degrees(angles_between(held, turn)[0]) > 1.0) == changes


@pytest.mark.parametrize("seed", range(5))
def test_constraints_at_random_change_nothing_that_is_baked(seed: int) -> None:
    rng = np.random.default_rng(seed)
    side = SIDES[seed % 2]
    armature = rig(side, arm=seed % 3 == 0, metacarpals=seed % 4 != 1, seed=seed)
    for joint in MOVING:
        bone = armature.pose.bones[joint]
        bone.rotation_mode = rng.choice(MODES)
        if rng.random() < 0.8:
            ranges = np.stack([-rng.uniform(0, 90, 3), rng.uniform(0, 90, 3)], axis=1)
            ranges[rng.random(3) < 0.3] = np.nan
            limit(bone, ranges, euler_order=rng.choice(["AUTO", *EULER_ORDERS]))
    own, measured = solved(armature, side)
    assert np.all(measured.model.limits[:, 0] <= measured.model.limits[:, 1])
    assert np.ptp(measured.model.limits) < np.ptp(own.limits) + 1e-9
    bake(armature, measured.model, seed)
    worst = worst_change(armature)
    assert worst < 0.1, f"constraints change {worst:.3f} degrees > 0.1"


@pytest.mark.parametrize("mode", ["QUATERNION", "AXIS_ANGLE", "XYZ", "ZXY"])
def test_locked_axes_do_not_turn(mode: Any) -> None:
    rng = np.random.default_rng(MODES.index(mode))
    armature = rig("left", seed=MODES.index(mode))
    locked = {}
    for number, joint in enumerate(MOVING):
        bone = armature.pose.bones[joint]
        bone.rotation_mode = mode
        bone.lock_rotations_4d = number % 2 == 0
        locked[joint] = rng.random(3) < 0.4
        bone.lock_rotation = locked[joint].tolist()
    _, measured = solved(armature, "left")
    bake(armature, measured.model)
    for frame in range(1, FRAMES + 1):
        bpy.context.scene.frame_set(frame)
        for joint, axes in locked.items():
            bone = armature.pose.bones[joint]
            turn = bone.matrix_basis.to_quaternion()
            # A lock of a quaternion's parts, or one of the Euler angles that Blender makes of it.
            four = bone.lock_rotations_4d and mode not in EULER_ORDERS
            # The Y of an axis is 1 at rest: locked, it says nothing.
            says = axes & ~np.array([False, four and mode == "AXIS_ANGLE", False])
            parts = [turn.x, turn.y, turn.z] if four else turn.to_euler(mode if mode in EULER_ORDERS else "XYZ")
            worst = np.abs(np.array(parts)[says]).max(initial=0.0)
            assert worst < 1e-4, f"{joint} turns by {np.degrees(worst):.3f} degrees about a locked axis"


def test_limits_of_inverse_kinematics_are_kept() -> None:
    rng = np.random.default_rng(3)
    armature = rig("right", seed=3)
    for joint in MOVING:
        bone = armature.pose.bones[joint]
        for axis in "xyz":
            setattr(bone, f"lock_ik_{axis}", bool(rng.random() < 0.2))
            setattr(bone, f"use_ik_limit_{axis}", bool(rng.random() < 0.7))
            setattr(bone, f"ik_min_{axis}", -float(rng.uniform(0, 1.5)))
            setattr(bone, f"ik_max_{axis}", float(rng.uniform(0, 1.5)))
    _, measured = solved(armature, "right")
    bake(armature, measured.model)
    for frame in range(1, FRAMES + 1):
        bpy.context.scene.frame_set(frame)
        for joint in MOVING:
            bone = armature.pose.bones[joint]
            swing, twist = bone.matrix_basis.to_quaternion().to_swing_twist("Y")
            twist = (twist + np.pi) % (2 * np.pi) - np.pi
            seen = {"x": 2 * np.arcsin(swing.x), "y": twist, "z": 2 * np.arcsin(swing.z)}
            for axis, angle in seen.items():
                if getattr(bone, f"lock_ik_{axis}"):
                    assert abs(angle) < 1e-4
                elif getattr(bone, f"use_ik_limit_{axis}"):
                    low, high = getattr(bone, f"ik_min_{axis}"), getattr(bone, f"ik_max_{axis}")
                    assert low - 1e-4 < angle < high + 1e-4, f"{joint} {axis}: {angle} outside {low}..{high}"


def hinged(armature: bpy.types.Object, side: Side, leaning: float) -> None:
    """Rolls the bones of every digit so that X is `leaning` degrees beside the axis on which it curls, and lets the
    joints beyond the first turn about X alone."""
    hand = proportions.build(proportions.adult(side))
    binding = bind(armature, side, find_hand(armature, side).bones, hand)
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    for joint in MOVING:
        index = hand.joints.index(joint)
        bone = armature.data.edit_bones[joint]
        bone.align_roll(binding.rest[index, :3, 2])
        bone.roll += np.deg2rad(leaning)
    bpy.ops.object.mode_set(mode="OBJECT")
    for digit in DIGITS:
        for joint in CHAIN_JOINTS[digit][1:3]:
            limit(armature.pose.bones[joint], np.array([[-120, 30], [0, 0], [0, 0]]))


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("leaning", [-15.0, 0.0, 25.0])
def test_the_axis_of_a_hinge_is_the_one_on_which_a_finger_curls(leaning: float, side: Side) -> None:
    # A finger that is bent at rest is bent on its hinges.
    armature = rig(side, straight=leaning != 0)
    hinged(armature, side, leaning)
    _, measured = solved(armature, side)
    hand = measured.model
    pose = bake(armature, hand)
    frames = kinematics.joint_frames(hand, pose)
    low, high = np.degrees(hand.limits.T)
    flexions = [hand.dof(CHAIN_JOINTS[digit][k], "flexion") for digit in DIGITS[1:] for k in (1, 2)]
    assert min(high[flexions] - low[flexions]) > 65
    assert worst_change(armature) < 0.1
    for frame in range(FRAMES):
        bpy.context.scene.frame_set(frame + 1)
        worst = worst_direction(armature, frames[frame])
        assert worst < 5, f"frame {frame + 1}: {worst:.2f} degrees > 5"


def test_hinges_roll_an_armature_of_any_scale_alike() -> None:
    armature = rig("left", straight=True)
    hinged(armature, "left", 25.0)
    hand, found = proportions.build(proportions.adult("left")), find_hand(armature, "left")
    rolled = []
    for scale in (0.01, 1.0, 100.0):
        armature.scale = (scale, scale, scale)
        bpy.context.view_layer.update()
        rolled.append(bound_hand(armature, found, hand).rest)
    np.testing.assert_allclose(rolled, [rolled[1]] * 3, atol=1e-5)
    assert np.abs(rolled[1] - bind(armature, "left", found.bones, hand).rest).max() > 0.1, "the hinges count"


def test_limits_without_any_pose_of_a_hand_are_reported_in_one_sentence() -> None:
    armature = rig("right", seed=1)
    hinged(armature, "right", 0.0)
    bone = armature.pose.bones["index-finger-phalanx-intermediate"]
    bone.constraints[0].min_x, bone.constraints[0].max_x = np.deg2rad(60), np.deg2rad(90)
    hand = proportions.build(proportions.adult("right"))
    with pytest.raises(RigError, match=r"bone 'index-finger-phalanx-intermediate' keep it \d+ degrees"):
        armature_limits(armature, hand)
    bone.constraints[0].min_x = np.deg2rad(100)
    with pytest.raises(RigError, match=r"limits X to 100..90 degrees, expected the lower limit first"):
        armature_limits(armature, hand)


@pytest.mark.parametrize(("width", "reported"), [(5.0, True), (20.0, False)])
@pytest.mark.parametrize("flexion", [0.0, 39.0, 61.0])
def test_a_bone_that_hardly_bends_is_reported_however_far_it_is_bent(
    flexion: float, width: float, reported: bool
) -> None:
    armature = rig("right", straight=True)
    hinged(armature, "right", 0.0)
    bone = armature.pose.bones["index-finger-phalanx-intermediate"]
    bone.constraints[0].min_x, bone.constraints[0].max_x = np.deg2rad([-flexion - width, -flexion])
    read = armature_limits(armature, proportions.build(proportions.adult("right")))
    assert any(bone.name in note and "hardly bends" in note for note in read.notes) == reported
    assert read.limits[bone.name, "flexion"] == pytest.approx((flexion, flexion + width), abs=0.2)


def test_a_stiff_bone_keeps_a_rest_that_no_hand_has() -> None:
    armature, first = rig("right", straight=True), "index-finger-phalanx-proximal"
    bpy.ops.object.mode_set(mode="EDIT")
    bones = armature.data.edit_bones
    knuckle = bones[first].head.copy()
    aside = Matrix.Translation(knuckle) @ Matrix.Rotation(np.deg2rad(45), 4, "Z") @ Matrix.Translation(-knuckle)
    for joint in CHAIN_JOINTS["index-finger"]:
        bones[joint].transform(aside)
    bpy.ops.object.mode_set(mode="OBJECT")
    limit(armature.pose.bones[first], np.zeros((3, 2)))
    hand = proportions.build(proportions.adult("right"))
    low, high = armature_limits(armature, hand).limits[first, "abduction"]
    outside = np.degrees(hand.limits[hand.dof(first, "abduction")])
    assert high - low < 5.0
    assert low > outside[1] + 10.0 or high < outside[0] - 10.0


def test_constraints_that_do_not_act_are_not_obeyed_and_other_spaces_are_reported() -> None:
    armature = rig("right")
    stiff = np.zeros((3, 2))
    pip, dip, mcp = (armature.pose.bones[joint] for joint in (*CHAIN_JOINTS["index-finger"][1:3], MOVING[3]))
    limit(pip, stiff, mute=True)
    limit(dip, stiff, influence=0.0)
    limit(mcp, stiff, owner_space="WORLD")
    hand = proportions.build(proportions.adult("right"))
    reported = armature_limits(armature, hand)
    assert reported.limits == {} and reported.bones == 0
    assert [note for note in reported.notes if f"'{mcp.name}'" in note and "a space other than" in note]
    pip.constraints[0].mute = False
    assert set(armature_limits(armature, hand).limits) == {(pip.name, "flexion")}


@pytest.mark.usefixtures("extension")
def test_suggested_limits_change_no_pose_of_a_hand_hold_back_others_and_are_taken_away_again() -> None:
    armature = rig("left", arm=True, seed=4)
    own = armature.pose.bones["pinky-finger-phalanx-distal"]
    limit(own, np.array([[-80, 80]] * 3)).name = "Rigger's"
    chosen = bpy.context.scene.knuckle
    chosen.rig, chosen.armature = "ARMATURE", armature
    assert bpy.ops.knuckle.add_limits() == {"FINISHED"}
    named = {bone.name for bone in armature.pose.bones if CONSTRAINT_NAME in bone.constraints}
    assert named == set(MOVING) - {own.name}
    hand = proportions.build(proportions.adult("left"))
    pose = motion(hand, FRAMES, 4)
    binding = bind(armature, "left", find_hand(armature, "left").bones, hand)
    key_hands(armature, [KeyedHand(binding, hand, pose)], np.arange(1.0, FRAMES + 1), "Take")
    changes = {joint: np.degrees(angles_between(*pair).max()) for joint, pair in turns(armature).items()}
    del changes[own.name]
    assert max(changes.values()) < 0.1, changes
    # Read again they are limits of the rig, and leave the hand nearly all that it had.
    _, measured = solved(armature, "left")
    frames = kinematics.joint_frames(measured.model, bake(armature, measured.model))
    for frame in range(FRAMES):
        bpy.context.scene.frame_set(frame + 1)
        assert worst_direction(armature, frames[frame]) < 5
    armature.animation_data_clear()
    bent_back = Matrix.Rotation(np.pi / 2, 4, binding.rest_to_bone[hand.joints.index(MOVING[4]), 0, :3].tolist())
    bone = armature.pose.bones[MOVING[4]]
    bone.rotation_mode, bone.matrix_basis = "QUATERNION", bent_back
    bpy.context.view_layer.update()
    assert np.degrees(angles_between(matrices([local(bone)]), matrices([bent_back]))[0]) > 45
    assert bpy.ops.knuckle.remove_limits() == {"FINISHED"}
    assert [con.name for pose_bone in armature.pose.bones for con in pose_bone.constraints] == ["Rigger's"]
    assert bpy.ops.knuckle.remove_limits() == {"CANCELLED"}


def test_drivers_stay_and_are_reported() -> None:
    armature = rig("right")
    bone = armature.pose.bones[MOVING[4]]
    bone["curl"] = 0.5
    driver = bone.driver_add("rotation_quaternion", 1).driver
    driver.expression = "0.1"
    hand = proportions.build(proportions.adult("right"))
    assert any(bone.name in note and "driver" in note for note in armature_limits(armature, hand).notes)
    bake(armature, hand)
    assert bone["curl"] == 0.5
    assert [curve.driver.expression for curve in armature.animation_data.drivers] == ["0.1"]


def limit_fingers(armature: bpy.types.Object, side: Side) -> dict[str, str]:
    """Limits a rig's hand as riggers do: every bone bends about X, only the first of a digit leans aside too."""
    found = find_hand(armature, side)
    hand = proportions.build(proportions.adult(side))
    binding = bind(armature, side, found.bones, hand, found.carrier)
    for digit in DIGITS:
        for number, joint in enumerate(CHAIN_JOINTS[digit][:3]):
            # Flexion is about the joint's −X.
            curls = -binding.rest_to_bone[hand.joints.index(joint), :3, :3][0]
            ranges = np.array(
                [[-15.0, 95.0] if curls[0] > 0 else [-95.0, 15.0], [0, 0], [-15, 15] if number == 0 else [0, 0]]
            )
            limit(armature.pose.bones[found.bones[joint]], ranges)
    return found.bones


@pytest.mark.parametrize("name", ["makehuman_default", "makehuman_game_engine", "rigify_metarig"])
def test_a_capture_of_two_hands_is_baked_inside_the_limits_of_a_rig(name: str, shared: Path) -> None:
    bpy.ops.wm.open_mainfile(filepath=str(shared / "data" / "rigs" / f"{name}.blend"))
    armature = next(obj for obj in bpy.context.scene.objects if obj.type == "ARMATURE")
    bones = [bone for side in SIDES for bone in limit_fingers(armature, side).values()]
    glove = Recipe(str(shared / "data" / "captures" / "two_hands_glove.c3d"), start=200, end=260)
    job = SolveJob(glove, RigQuery.of(armature))
    for _ in job.steps():
        pass
    assert job.take is not None
    assert [job.take.report["hands"][side]["limited_bones"] for side in SIDES] == [15, 15]
    frames = take_frames(job.take, bpy.context.scene, TakeTiming())
    write_take(job.take, armature, bpy.context.scene, bpy.context.scene.collection, TakeTiming())
    for hand in job.take.hands:
        assert limit_excess(hand.hand, hand.pose.angles).max() < 1e-9
    worst = 0.0
    for frame in frames[::12]:
        bpy.context.scene.frame_set(int(frame), subframe=float(frame % 1))
        posed = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
        pairs = [(posed.pose.bones[bone].matrix_basis, local(posed.pose.bones[bone])) for bone in bones]
        worst = max(worst, np.degrees(angles_between(*(matrices(list(of)) for of in zip(*pairs, strict=True))).max()))
    assert worst < 0.1, f"constraints change {worst:.3f} degrees > 0.1"
