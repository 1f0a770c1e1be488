"""Hands dragged and pinned by Blender's operators: to a place, keyed, refused in one sentence."""

from typing import Any

import bpy
import numpy as np
import pytest

from knuckle.hand.joints import CHAIN_JOINTS, DIGITS, JOINT_INDEX
from knuckle.operators.pin_properties import pin_of, pins_of, pins_on
from knuckle.posing.dragging import DRAG_SOLVERS, NEAREST
from knuckle.rig import detection_cache
from knuckle.rig.posing.handles import POINTS, grab_points
from knuckle.rig.posing.posable_cache import posable_hand_arm
from knuckle.tests.blender.making import Floats
from knuckle.tests.blender.test_held import channels, default

pytestmark = pytest.mark.usefixtures("extension")

TIPS = {digit: joints[-1] for digit, joints in CHAIN_JOINTS.items()}
drags: Any = bpy.ops


@pytest.fixture
def armature(extension: None) -> bpy.types.Object:
    armature = default()
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="POSE")
    bend(armature, "index-finger-phalanx-proximal", "index-finger-phalanx-intermediate", "thumb-phalanx-distal")
    return armature


def bend(armature: bpy.types.Object, *joints: str) -> None:
    for joint in joints:
        bone = armature.pose.bones[joint]
        bone.rotation_mode = "XYZ"
        bone.rotation_euler.x = -0.5
    bpy.context.view_layer.update()


def place(armature: bpy.types.Object, joint: str) -> Floats:
    """(3,) m"""
    bpy.context.view_layer.update()
    found: Floats = posable_hand_arm(armature, "right").rig_hand.evaluated_frames()[JOINT_INDEX[joint], :3, 3]
    return found


def drag(joint: str, goal: Floats) -> set[str]:
    done: set[str] = drags.knuckle.drag_hand(side="right", joint=joint, goal=goal.tolist())
    bpy.context.view_layer.update()
    return done


def apart(armature: bpy.types.Object, joint: str, goal: Floats) -> float:
    """mm"""
    return 1000 * float(np.linalg.norm(place(armature, joint) - goal))


def box(place: Floats, size: float = 0.02) -> bpy.types.Object:
    bpy.ops.object.mode_set(mode="OBJECT")
    armature = bpy.context.view_layer.objects.active
    bpy.ops.mesh.primitive_cube_add(size=size, location=place.tolist())
    made: bpy.types.Object = bpy.context.view_layer.objects.active
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="POSE")
    return made


def test_a_fingertip_is_dragged_to_a_place(armature: bpy.types.Object) -> None:
    goal = place(armature, TIPS["index-finger"]) + [0.003, -0.01, -0.01]
    assert drag(TIPS["index-finger"], goal) == {"FINISHED"}
    assert apart(armature, TIPS["index-finger"], goal) < 0.5
    assert armature.animation_data is None


def test_a_hand_of_a_file_that_is_opened_again_is_dragged(armature: bpy.types.Object) -> None:
    joint = TIPS["index-finger"]
    assert drag(joint, place(armature, joint) + [0.0, -0.01, -0.01]) == {"FINISHED"}
    bpy.ops.wm.read_homefile(use_empty=True)
    again = default()
    bpy.context.view_layer.objects.active = again
    bpy.ops.object.mode_set(mode="POSE")
    assert drag(joint, place(again, joint) + [0.0, -0.01, -0.01]) == {"FINISHED"}


def test_what_moves_nothing_leaves_nothing_to_undo(armature: bpy.types.Object) -> None:
    before = channels(armature)
    assert drag("wrist", place(armature, "wrist")) == {"CANCELLED"}
    assert np.array_equal(channels(armature), before)


def test_auto_keying_keys_the_bones_that_moved_and_no_others(armature: bpy.types.Object) -> None:
    bpy.context.scene.tool_settings.use_keyframe_insert_auto = True
    edit = bpy.context.preferences.edit
    before = edit.use_keyframe_insert_available
    edit.use_keyframe_insert_available = False
    try:
        drag(TIPS["index-finger"], place(armature, TIPS["index-finger"]) + [0.0, -0.01, -0.01])
    finally:
        edit.use_keyframe_insert_available = before
    (bag,) = armature.animation_data.action.layers[0].strips[0].channelbags
    assert {curve.group.name for curve in bag.fcurves} == set(CHAIN_JOINTS["index-finger"][:3])


def test_pins_stay_while_the_palm_is_dragged(armature: bpy.types.Object) -> None:
    tips = {digit: place(armature, TIPS[digit]) for digit in ("thumb", "index-finger")}
    for digit in tips:
        assert drags.knuckle.pin_fingertip(side="right", digit=digit, to="WORLD") == {"FINISHED"}
    drag("wrist", place(armature, "wrist") + [0.0, 0.01, 0.01])
    assert max(apart(armature, TIPS[digit], tip) for digit, tip in tips.items()) < 0.5
    goal = tips["index-finger"] + [0.0, -0.005, 0.005]
    drag(TIPS["index-finger"], goal)
    np.testing.assert_allclose(pin_of(armature, "right", "index-finger").place, goal, atol=5e-4)
    drags.knuckle.unpin_fingertip(side="right", digit="thumb")
    assert [pin.digit for pin in pins_on(armature)] == ["index-finger"]
    drags.knuckle.unpin_all()
    assert len(pins_on(armature)) == 0


def test_a_pin_on_a_surface_goes_along_with_it_as_it_is_deformed(armature: bpy.types.Object) -> None:
    tip = place(armature, TIPS["index-finger"])
    cube = box(tip - [0.0, 0.0, 0.0102])
    modifier: Any = cube.modifiers.new("Wave", "DISPLACE")
    modifier.strength, modifier.mid_level, modifier.direction = 0.0, 0.0, "Z"
    bpy.context.view_layer.update()
    assert drags.knuckle.pin_fingertip(side="right", digit="index-finger") == {"FINISHED"}
    pin = pin_of(armature, "right", "index-finger")
    assert (pin.kind, pin.target) == ("OBJECT", cube)
    cube.location.y -= 0.004
    modifier.strength = 0.002
    bpy.context.view_layer.update()
    goal = tip + [0.0, -0.004, 0.002]
    np.testing.assert_allclose(pins_of(armature, "right")[0].position, goal, atol=1e-5)
    assert drags.knuckle.reach_pins() == {"FINISHED"}
    assert apart(armature, TIPS["index-finger"], goal) < 0.5


def test_nothing_to_touch_pins_to_the_world_and_a_finger_to_the_nearest(armature: bpy.types.Object) -> None:
    drags.knuckle.pin_fingertip(side="right", digit="ring-finger")
    assert pin_of(armature, "right", "ring-finger").kind == "WORLD"
    drags.knuckle.pin_fingertip(side="right", digit="ring-finger", to="DIGIT")
    pin = pin_of(armature, "right", "ring-finger")
    assert (pin.kind, pin.other) == ("DIGIT", "middle-finger")
    gap = place(armature, TIPS["ring-finger"]) - place(armature, TIPS["middle-finger"])
    drag(TIPS["middle-finger"], place(armature, TIPS["middle-finger"]) + [0.0, -0.02, -0.02])
    now = place(armature, TIPS["ring-finger"]) - place(armature, TIPS["middle-finger"])
    assert 1000 * np.linalg.norm(now - gap) < 0.5
    drags.knuckle.pin_fingertip(side="right", digit="ring-finger", toggle=True)
    assert not pins_on(armature)


@pytest.mark.parametrize("solver", DRAG_SOLVERS)
def test_each_solver_that_the_scene_chooses_brings_the_tip_there(armature: bpy.types.Object, solver: str) -> None:
    assert bpy.context.scene.knuckle_posing.solver == NEAREST
    bpy.context.scene.knuckle_posing.solver = solver
    goal = place(armature, TIPS["index-finger"]) + [0.003, -0.01, -0.01]
    assert drag(TIPS["index-finger"], goal) == {"FINISHED"}
    assert apart(armature, TIPS["index-finger"], goal) < 0.5


def test_the_solver_of_the_operator_comes_before_the_scenes_and_is_not_kept(armature: bpy.types.Object) -> None:
    goal, before = place(armature, TIPS["index-finger"]) + [0.0, -0.02, -0.02], channels(armature)
    ends = []
    for solver in ({}, {"solver": "cga"}, {}):
        drags.knuckle.drag_hand(side="right", joint=TIPS["index-finger"], goal=goal.tolist(), **solver)
        ends.append(channels(armature))
        for bone, matrix in zip(armature.pose.bones, before, strict=True):
            bone.matrix_basis = matrix.T
        bpy.context.view_layer.update()
    np.testing.assert_allclose(ends[0], ends[2], atol=1e-6)
    assert np.abs(ends[0] - ends[1]).max() > 0.01


@pytest.mark.parametrize("solver", DRAG_SOLVERS)
def test_pinned_tips_stay_with_each_solver(armature: bpy.types.Object, solver: str) -> None:
    bpy.context.scene.knuckle_posing.solver = solver
    tips = {digit: place(armature, TIPS[digit]) for digit in ("thumb", "index-finger")}
    for digit in tips:
        drags.knuckle.pin_fingertip(side="right", digit=digit, to="WORLD")
    assert drag("wrist", place(armature, "wrist") + [0.0, 0.01, 0.01]) == {"FINISHED"}
    assert max(apart(armature, TIPS[digit], tip) for digit, tip in tips.items()) < 0.5


def test_the_dip_is_locked_as_the_scene_says(armature: bpy.types.Object) -> None:
    bent = []
    for lock in (True, False):
        bpy.context.scene.knuckle_posing.dip_lock = lock
        before = channels(armature)
        drag(TIPS["index-finger"], place(armature, TIPS["index-finger"]) + [0.0, -0.01, 0.0])
        bent.append(armature.pose.bones["index-finger-phalanx-distal"].matrix_basis.to_euler().x)
        for bone, matrix in zip(armature.pose.bones, before, strict=True):
            bone.matrix_basis = matrix.T
        bpy.context.view_layer.update()
    assert abs(bent[0] - bent[1]) > 0.02


def test_grab_points_are_where_bones_are_and_hidden_ones_have_none(armature: bpy.types.Object) -> None:
    binding = detection_cache.detect(armature).bindings["right"]
    points = grab_points(armature, binding)
    assert set(points) == set(POINTS)
    np.testing.assert_allclose(points[TIPS["thumb"]], place(armature, TIPS["thumb"]), atol=1e-6)
    for joint in CHAIN_JOINTS["ring-finger"]:
        bone = armature.pose.bones[joint]
        (bone if hasattr(bone, "hide") else bone.bone).hide = True
    left = grab_points(armature, binding)
    assert set(points) - set(left) == set(CHAIN_JOINTS["ring-finger"][1::2])


def test_what_cannot_be_dragged_is_reported_in_a_sentence(armature: bpy.types.Object) -> None:
    with pytest.raises(RuntimeError, match="no left hand"):
        drags.knuckle.drag_hand(side="left", joint="wrist", goal=(0, 0, 0))
    with pytest.raises(RuntimeError, match="No armature 'Gone'"):
        drags.knuckle.drag_hand(armature="Gone", side="right", joint="wrist", goal=(0, 0, 0))
    armature.data.pose_position = "REST"
    with pytest.raises(RuntimeError, match="in Rest Position"):
        drags.knuckle.drag_hand(side="right", joint="wrist", goal=(0, 0, 0))
    armature.data.pose_position = "POSE"
    armature.scale.x = 0.0
    with pytest.raises(RuntimeError, match="scaled to zero"):
        drags.knuckle.drag_hand(side="right", joint="wrist", goal=(0, 0, 0))
    bpy.ops.object.mode_set(mode="OBJECT")
    with pytest.raises(RuntimeError, match="Pose Mode"):
        drags.knuckle.drag_hand(side="right", joint="wrist", goal=(0, 0, 0))


def test_every_digit_of_a_moved_turned_and_scaled_armature_is_dragged(armature: bpy.types.Object) -> None:
    armature.matrix_world = [[0, -0.3, 0, 1], [0.3, 0, 0, 2], [0, 0, 0.3, 3], [0, 0, 0, 1]]
    bpy.context.view_layer.update()
    bent = [joint for joints in CHAIN_JOINTS.values() for joint in joints[:2]]
    bend(armature, *bent)
    goals = {digit: place(armature, TIPS[digit]) for digit in DIGITS}
    for joint in bent:
        armature.pose.bones[joint].rotation_euler.x = -0.2
    for digit, goal in goals.items():
        drag(TIPS[digit], goal)
        off = apart(armature, TIPS[digit], goal)
        assert off < 0.5, f"{digit} {off:.2f} mm > 0.5 mm"
