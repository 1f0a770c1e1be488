"""What a take may touch: the keyed bones' own channels, an action of its own, and a track for the action that played.

All else is as it was, bit by bit.
"""

import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import bpy
import numpy as np
import pytest
from mathutils import Quaternion

from knuckle.hand import kinematics
from knuckle.rig.armature_hands import find_hands
from knuckle.rig.keys.take_scene import TakeTiming, write_take
from knuckle.tests.blender.making import forearm_bones, rig, take, worst_direction
from knuckle.tests.blender.rigs import RIGS, placed
from knuckle.tests.blender.snapshot import Snapshot, differences, snapshot

TAP = str(Path(__file__).parents[2] / "data" / "leap_finger_tap.json")
MODES = ("QUATERNION", "XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX", "AXIS_ANGLE")
Object = bpy.types.Object


def in_pose_mode_with_auto_key_shown_at_rest(armature: Object) -> None:
    posed(armature)
    bpy.context.scene.tool_settings.use_keyframe_insert_auto = True
    keying = bpy.context.scene.keying_sets.new(name="Mine")
    keying.paths.add(armature, 'pose.bones[0]["x"]')
    bpy.context.view_layer.objects.active = armature
    armature.select_set(True)
    bpy.ops.object.mode_set(mode="POSE")
    armature.data.pose_position = "REST"
    armature["mine"], armature.pose.bones[0]["x"] = {"a": 1}, [1.0, 2.0]


def animated_and_changed_since(armature: Object) -> None:
    """Strips and another object's action, a frame that is not whole, and on it changes that nobody keyed."""
    other = bpy.data.objects.new("Other", None)
    bpy.context.scene.collection.objects.link(other)
    lamp = bpy.data.lights.new("Lamp", "POINT")
    for frame in (1, 10):
        other.location, lamp.energy, other["own"] = (frame, 0.0, 0.0), frame, float(frame)
        for thing, path in ((other, "location"), (other, '["own"]'), (lamp, "energy")):
            thing.keyframe_insert(path, frame=frame)
    _strip_of_all_bones(armature)
    bpy.context.scene.frame_set(3, subframe=0.25)
    posed(armature)
    other.location, lamp.energy, other["own"] = (77.0, 0.0, 0.0), 77.0, 77.0


def on_a_small_turned_parent_in_all_rotation_modes_with_an_action(armature: Object) -> None:
    placed(armature, "a hundredth, turned")
    for number, bone in enumerate(armature.pose.bones):
        setattr(bone, "rotation_mode", MODES[number % len(MODES)])  # noqa: B010  # the stubs take each mode spelled out
    first = armature.pose.bones[0]
    first.location = (1.0, 2.0, 3.0)
    first.keyframe_insert("location", frame=4)
    second = armature.animation_data.action.slots.new(id_type="OBJECT", name="Another")
    armature.animation_data.action.layers[0].strips[0].channelbag(second, ensure=True).fcurves.new("location", index=0)


def mirrored_driven_and_locked(armature: Object) -> None:
    placed(armature, "mirrored")
    bones = [bone for hand in find_hands(armature) for bone in hand.bones.values()]
    driven, locked = armature.pose.bones[bones[4]], armature.pose.bones[bones[6]]
    driven.rotation_mode = "XYZ"
    driven.driver_add("rotation_euler", 0).driver.expression = "frame / 10"
    locked.lock_rotation = (False, True, False)
    armature.pose.bones[bones[7]].constraints.new("LIMIT_ROTATION").mute = True


def posed(armature: Object) -> None:
    rng = np.random.default_rng(0)
    for bone in armature.pose.bones:
        bone.rotation_mode = "QUATERNION"
        bone.rotation_quaternion = Quaternion(rng.normal(size=3).tolist(), 0.3)


def _strip_of_all_bones(armature: Object) -> None:
    for frame in (1, 10):
        for bone in armature.pose.bones:
            bone.location = (0.0, 0.001 * frame, 0.0)
            bone.keyframe_insert("location", frame=frame)
    animation = armature.animation_data
    action, slot = animation.action, animation.action_slot
    animation.action = None
    animation.nla_tracks.new().strips.new("Body", 1, action).action_slot = slot


SCENES = (
    in_pose_mode_with_auto_key_shown_at_rest,
    animated_and_changed_since,
    on_a_small_turned_parent_in_all_rotation_modes_with_an_action,
    mirrored_driven_and_locked,
)


def solved_onto(armature: Object, frames: int = 5) -> tuple[Snapshot, Snapshot]:
    """All that the file holds before and after a take of the hands that the armature has."""
    scene = bpy.context.scene
    sides = tuple(hand.side for hand in find_hands(armature))
    bpy.context.view_layer.update()
    before = snapshot()
    write_take(take(sides, frames=frames), armature, scene, scene.collection, TakeTiming())
    return before, snapshot()


def keyed_bones(armature: Object) -> set[str]:
    """The bones of its hands, and those that pronate with them."""
    return {bone for hand in find_hands(armature) for bone in hand.bones.values()} | forearm_bones(armature)


def untouched(armature: Object, before: Snapshot, after: Snapshot) -> dict[str, tuple[Any, Any]]:
    """What differs and may not: all but the take's action, that it is played, and the keyed bones' own channels."""
    bones = "|".join(map(re.escape, keyed_bones(armature)))
    where = f"objects/{armature.name}."
    played = r"\.(action(_slot(_handle)?)?|last_slot_identifier)" if before.get(f"{where}animation_data", 1) else ".*"
    channels = rf"pose\.bones\[({bones})\]\.(rotation_\w+|location|matrix_basis)"
    may = re.compile(rf"actions/clap|{re.escape(where)}(animation_data({played})?|{channels})$")
    return {place: pair for place, pair in differences(before, after).items() if not may.match(place)}


@pytest.mark.parametrize(
    ("name", "scene"),
    [(name, scene) for name in ("MakeHuman", "WebXR, left") for scene in SCENES]
    + [("Rigify generated", SCENES[0]), ("MakeHuman for games", SCENES[2]), ("Rigify metarig", SCENES[1])],
)
def test_a_take_touches_nothing_but_its_bones_and_its_action(name: str, scene: Callable[[Object], None]) -> None:
    armature, _ = RIGS[name]()
    scene(armature)
    before, after = solved_onto(armature)
    changed = untouched(armature, before, after)
    tracks = f"objects/{armature.name}.animation_data.nla_tracks"
    pushed = {place for place in changed if place.startswith(tracks)}
    assert bool(pushed) == (scene is on_a_small_turned_parent_in_all_rotation_modes_with_an_action)
    assert {place: pair for place, pair in changed.items() if place not in pushed} == {}
    played = armature.animation_data.action
    assert played.name == "clap"
    curves = played.layers[0].strips[0].channelbags[0].fcurves
    assert {curve.group.name for curve in curves} <= keyed_bones(armature)


def test_an_armature_that_is_shown_at_rest_is_keyed_for_when_it_is_posed() -> None:
    armature = rig("left", arm=True)
    for name, turn in (("upper", 0.7), ("fore", -0.9)):
        armature.pose.bones[name].rotation_quaternion = Quaternion((1.0, 2.0, 0.5), turn)
    armature.data.pose_position = "REST"
    bpy.context.view_layer.update()
    solved = take(("left",), frames=5)
    scene = bpy.context.scene
    scene.render.fps = 60
    write_take(solved, armature, scene, scene.collection, TakeTiming())
    assert armature.data.pose_position == "REST"
    armature.data.pose_position = "POSE"
    scene.frame_set(3)
    frames = kinematics.joint_frames(solved.hands[0].hand, solved.hands[0].pose)
    worst = worst_direction(armature, frames[2])
    assert worst < 0.05, f"{worst:.3f} degrees > 0.05"


def chosen_for(armature: Object) -> Any:
    """The panel's settings for a take of the bundled capture onto an armature."""
    chosen = bpy.context.scene.knuckle
    bpy.ops.knuckle.import_capture(filepath=TAP)
    chosen.rig, chosen.armature = "ARMATURE", armature
    return chosen


@pytest.mark.usefixtures("extension")
@pytest.mark.parametrize("scene", SCENES[:3])
def test_undo_of_a_solve_gives_everything_back(scene: Callable[[Object], None]) -> None:
    armature = rig("right", arm=True)
    chosen_for(armature)
    scene(armature)
    bpy.context.view_layer.update()
    bpy.ops.ed.undo_push(message="Before")
    before = snapshot()
    assert bpy.ops.knuckle.solve() == {"FINISHED"}
    assert differences(before, snapshot())
    bpy.ops.ed.undo_push(message="Solve")
    bpy.ops.ed.undo()
    assert differences(before, snapshot()) == {}
    assert bpy.context.scene.knuckle.armature.name == "Rig"


@pytest.mark.usefixtures("extension")
def test_a_solve_that_is_left_before_its_end_has_changed_nothing() -> None:
    armature = rig("right", arm=True)
    chosen_for(armature)
    animated_and_changed_since(armature)
    bpy.context.view_layer.update()
    before = snapshot()
    operator: Any = SimpleNamespace(report=lambda *_: None)
    kind: Any = bpy.types.KNUCKLE_OT_solve
    for _ in kind.steps(operator, bpy.context):
        assert differences(before, snapshot()) == {}
