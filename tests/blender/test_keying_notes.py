"""What is said of a take that an armature's settings do not let play as it was solved."""

from collections.abc import Callable
from typing import Any

import bpy
import numpy as np
import pytest
from numpy.typing import NDArray

from knuckle.rig.keys.take_report import report_of
from knuckle.rig.keys.take_scene import TakeTiming, write_take
from knuckle.tests.blender.making import evaluated, rig, take

Object = bpy.types.Object


def as_it_is(armature: Object) -> None:
    armature.animation_data_create()


def at_rest(armature: Object) -> None:
    armature.data.pose_position = "REST"


def over_a_strip(**settings: Any) -> Callable[[Object], None]:
    """An armature with a strip of one of its fingers, its action laid over it as it is set."""

    def put(armature: Object) -> None:
        bone = armature.pose.bones["index-finger-phalanx-proximal"]
        bone.rotation_quaternion = (0.7, 0.7, 0.1, 0.1)
        bone.keyframe_insert("rotation_quaternion", frame=1)
        animation = armature.animation_data
        action, slot, animation.action = animation.action, animation.action_slot, None
        track = animation.nla_tracks.new()
        track.strips.new("Finger", 1, action).action_slot = slot
        for name, value in settings.items():
            setattr(track if name in ("is_solo", "mute") else animation, name, value)

    return put


def without_strips(armature: Object) -> None:
    animation = armature.animation_data_create()
    animation.nla_tracks.new()
    animation.action_influence, animation.action_blend_type = 0.3, "ADD"


def shown(settings: Callable[[Object], None]) -> tuple[NDArray[np.float64], list[str]]:
    """(J, 4, 4) how an armature with these settings stands in a take, and what is said of it."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene, armature = bpy.context.scene, rig("right")
    settings(armature)
    write_take(take(("right",), frames=10), armature, scene, scene.collection, TakeTiming())
    report = report_of(armature)
    assert report is not None
    scene.frame_set(6)
    return evaluated(armature), report["warnings"]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (as_it_is, ""),
        (without_strips, ""),
        (over_a_strip(), ""),
        (over_a_strip(mute=True, action_influence=0.3), ""),
        (over_a_strip(use_nla=False, action_blend_type="ADD"), ""),
        (at_rest, "shown in Rest Position, choose Pose Position"),
        (over_a_strip(is_solo=True), "is solo and plays alone, switch that off"),
        (over_a_strip(mute=True, is_solo=True), "is solo and plays alone, switch that off"),
        (over_a_strip(action_influence=0.3), "has Influence 0.3 over the strips of its NLA, set it to 1"),
        (over_a_strip(action_blend_type="ADD"), "over the strips of its NLA with Blend Add, choose Replace"),
        (over_a_strip(action_blend_type="COMBINE"), "over the strips of its NLA with Blend Combine, choose Replace"),
    ],
)
def test_a_take_that_does_not_show_as_solved_is_reported_and_one_that_does_is_not(
    settings: Callable[[Object], None], said: str
) -> None:
    plain, _ = shown(as_it_is)
    stands, warnings = shown(settings)
    assert bool(said) == (np.nanmax(np.abs(stands - plain)) > 1e-4)
    assert len(warnings) == bool(said)
    assert said in "".join(warnings)


def test_it_is_reported_for_a_hand_of_knuckles_own_that_is_keyed_once_more() -> None:
    scene, solved = bpy.context.scene, take(frames=5)
    (_, right) = write_take(solved, None, scene, scene.collection, TakeTiming())
    right.data.pose_position = "REST"
    reported = "armature 'Right Hand' does not show the take as solved: it is shown in Rest Position"
    for armature in write_take(solved, None, scene, scene.collection, TakeTiming()):
        report = report_of(armature)
        assert report is not None
        assert len(report["warnings"]) == 1
        assert report["warnings"][0].startswith(reported)
