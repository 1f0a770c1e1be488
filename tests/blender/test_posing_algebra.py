"""The algebra over rigs: what is shown lies where the bones are; nothing listens while off, nothing is changed."""

import bpy
import numpy as np
import pytest
from numpy.typing import NDArray

from knuckle.hand import proportions
from knuckle.hand.joints import CHAIN_JOINTS, DIGITS, JOINT_INDEX
from knuckle.posing.algebra_shapes import Shape, Trace, Tracer, with_rigid_palm
from knuckle.rig import detection_cache
from knuckle.rig.binding import posed_frames
from knuckle.rig.keys.take_scene import new_hand
from knuckle.rig.posing.algebra import PARTS, TraceCache
from knuckle.rig.posing.dragging import move, start_rig_drag
from knuckle.rig.posing.posable_cache import posable_hand_arm
from knuckle.tests.blender import rigs
from knuckle.tests.blender.snapshot import snapshot

Floats = NDArray[np.float64]
MM = 1e-3


@pytest.fixture(params=["Knuckle's own", "MakeHuman"])
def armature(request: pytest.FixtureRequest) -> bpy.types.Object:
    if request.param != "MakeHuman":
        measures = proportions.adult("right")
        armature, _ = new_hand(measures, proportions.build(measures), bpy.context.scene.collection)
    else:
        armature = rigs.RIGS["MakeHuman"]()[0]
        armature.pose.bones["finger3-2.R"].rotation_mode = "XYZ"
        armature.pose.bones["finger3-2.R"].rotation_euler.x = 0.4
    bpy.context.view_layer.objects.active = armature
    bpy.context.view_layer.update()
    return armature


def named(trace: Trace, name: str, kind: str = "point") -> Shape:
    return next(shape for shape in trace.shapes if shape.name == name and shape.kind == kind)


def test_what_is_shown_of_each_digit_lies_where_the_bones_are(armature: bpy.types.Object) -> None:
    known = detection_cache.detect(armature)
    traces = TraceCache().traces(armature, known, "right", DIGITS)
    assert [trace.part for trace in traces] == list(DIGITS)
    frames = posed_frames(armature, known.bindings["right"])
    world = np.array(armature.matrix_world)
    for trace in traces:
        first, *_, tip = ((world @ frames[JOINT_INDEX[joint], :, 3])[:3] for joint in CHAIN_JOINTS[trace.part])
        assert np.linalg.norm(named(trace, "P₁").centre - first) < 0.5 * MM, trace.part
        off = np.linalg.norm(named(trace, "T").centre - tip)
        assert off < 0.5 * MM, f"{trace.part}: {off / MM:.2f} mm"


def test_what_is_shown_of_a_digit_that_cga_drags_is_how_it_bends(armature: bpy.types.Object) -> None:
    known = detection_cache.detect(armature)
    of = start_rig_drag(posable_hand_arm(armature, "right", known), "index-finger-tip", solver="cga")
    way = of.hand_arm.rig_hand.evaluated_frames()[0, :3, :3] @ [0.002, -0.02, -0.025]
    course = move(of, of.position + 0.5 * way)
    course = move(of, of.position + way, course)
    bpy.context.view_layer.update()
    goals = of.drag.tip_targets(course)
    (trace,) = TraceCache().traces(armature, known, "right", ["index-finger"], goals)
    assert np.linalg.norm(named(trace, "T").centre - goals["index-finger"]) < 1e-6
    held = posable_hand_arm(armature, "right", known).rig_hand
    stands = with_rigid_palm(held.read_pose(), held.evaluated_frames()[:, :3, 3])
    drawn = Tracer(stands.hand).solved(stands, "index-finger", goals["index-finger"])
    assert np.rad2deg(np.abs(drawn.angles - stands.angles).max()) < 0.1


def test_a_hollow_palm_is_shown_where_its_bones_are(armature: bpy.types.Object) -> None:
    known, algebra = detection_cache.detect(armature), TraceCache()
    algebra.traces(armature, known, "right", ("palm", "pinky-finger"))
    name = known.hands["right"].bones["pinky-finger-metacarpal"]
    bone = armature.pose.bones[name]
    bone.rotation_mode = "XYZ"
    bone.rotation_euler = (0.25, 0.1, 0.2)
    bpy.context.view_layer.update()
    traces = {trace.part: trace for trace in algebra.traces(armature, known, "right", ("palm", "pinky-finger"))}
    frames = np.array(armature.matrix_world) @ posed_frames(armature, known.bindings["right"])
    knuckle, *_, tip = (frames[JOINT_INDEX[joint], :3, 3] for joint in CHAIN_JOINTS["pinky-finger"])
    assert np.linalg.norm(named(traces["pinky-finger"], "P₁").centre - knuckle) < 0.1 * MM
    assert np.linalg.norm(named(traces["pinky-finger"], "T").centre - tip) < 0.1 * MM
    assert np.linalg.norm(named(traces["palm"], "Q").centre - knuckle) < 0.1 * MM


def test_a_limit_that_is_set_is_shown(armature: bpy.types.Object) -> None:
    known, algebra = detection_cache.detect(armature), TraceCache()

    def ranges() -> list[float]:
        (trace,) = algebra.traces(armature, known, "right", {"index-finger"})
        return [
            float(np.linalg.norm(shape.points[-1] - shape.points[0])) for shape in trace.shapes if shape.kind == "arc"
        ]

    before = ranges()
    bone = armature.pose.bones[known.hands["right"].bones["index-finger-phalanx-intermediate"]]
    limit = next((con for con in bone.constraints if con.type == "LIMIT_ROTATION"), None)
    limit = limit or bone.constraints.new("LIMIT_ROTATION")
    limit.owner_space = "LOCAL"
    for axis in "xyz":
        setattr(limit, f"use_limit_{axis}", True)
        setattr(limit, f"min_{axis}", -0.1)
        setattr(limit, f"max_{axis}", 0.1)
    bpy.context.view_layer.update()
    assert detection_cache.cached(armature) is known, "what is known of its hands is the same"
    assert np.abs(np.array(ranges()) - before).max() > 1 * MM


def test_an_arm_is_shown_where_there_is_one(armature: bpy.types.Object) -> None:
    traces = TraceCache().traces(armature, detection_cache.detect(armature), "right", PARTS)
    armed = "lowerarm01.R" in armature.pose.bones
    assert (traces[0].part == "arm") == armed
    assert "palm" in [trace.part for trace in traces]
    if armed:
        elbow = np.array(armature.matrix_world @ armature.pose.bones["lowerarm01.R"].head)
        circle = named(traces[0], "C", "circle")
        assert abs(np.linalg.norm(elbow - circle.centre) - circle.radius) < 0.1 * MM


def test_a_pose_that_stays_is_not_worked_out_again_and_a_drag_is_shown(armature: bpy.types.Object) -> None:
    known, algebra = detection_cache.detect(armature), TraceCache()
    first = algebra.traces(armature, known, "right", {"index-finger"})
    assert algebra.traces(armature, known, "right", {"index-finger"}) is first
    goal = named(first[0], "T").centre + [0.0, 0.0, 0.004]
    (dragged,) = algebra.traces(armature, known, "right", {"index-finger"}, {"index-finger": goal})
    np.testing.assert_allclose(named(dragged, "T").centre, goal, atol=1e-9)
    assert algebra.traces(armature, known, "right", {"index-finger"})[0].part == "index-finger"
    bone = armature.pose.bones[known.hands["right"].bones["index-finger-phalanx-proximal"]]
    bone.rotation_mode = "XYZ"
    bone.rotation_euler.x -= 0.2
    bpy.context.view_layer.update()
    moved = algebra.traces(armature, known, "right", {"index-finger"})
    assert np.linalg.norm(named(moved[0], "T").centre - named(first[0], "T").centre) > 1 * MM


@pytest.mark.usefixtures("extension")
def test_nothing_listens_while_it_is_off_and_nothing_in_the_file_is_changed(armature: bpy.types.Object) -> None:
    from knuckle.panels import algebra_overlay

    known = detection_cache.detect(armature)
    before = snapshot()
    shown = bpy.context.window_manager.knuckle_algebra
    assert not shown.show
    assert not algebra_overlay.is_drawn()
    shown.show = True
    assert algebra_overlay.is_drawn()
    algebra_overlay.traces(armature, known, "right", PARTS)
    assert snapshot() == before
    bpy.ops.wm.read_homefile(use_empty=True)
    assert bpy.context.window_manager.knuckle_algebra.show == algebra_overlay.is_drawn(), "as it was, whatever the file"
    bpy.context.window_manager.knuckle_algebra.show = False
    assert not algebra_overlay.is_drawn()


def test_it_is_off_once_the_extension_is(extension: None) -> None:
    from knuckle.operators.session import SESSION
    from knuckle.panels import algebra_overlay

    bpy.context.window_manager.knuckle_algebra.show = True
    algebra_overlay.unregister()
    assert not algebra_overlay.is_drawn()
    assert not SESSION.algebra_shown


def test_an_arm_in_ik_is_shown_where_its_bones_are() -> None:
    armature = rigs.RIGS["Rigify generated"]()[0]
    armature.pose.bones["hand_ik.R"].location = (0.1, -0.05, 0.12)
    bpy.context.view_layer.update()
    known = detection_cache.detect(armature)
    (trace,) = TraceCache().traces(armature, known, "right", ["arm"])
    for name, bone in (("P₀", "DEF-upper_arm.R"), ("P₁", "DEF-forearm.R"), ("P₂", "DEF-hand.R")):
        off = np.linalg.norm(
            named(trace, name).centre - np.array(armature.matrix_world @ armature.pose.bones[bone].head)
        )
        assert off < 0.5 * MM, f"{name}: {off / MM:.2f} mm"
