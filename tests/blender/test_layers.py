"""What an armature plays goes down below a take, and is seen as before."""

from collections.abc import Callable

import bpy
import numpy as np
import pytest

from knuckle.rig.keys.fcurves import curves_of
from knuckle.rig.keys.nla_layers import TAKE_PROPERTY, pull_up, push_down
from knuckle.tests.blender.making import rig

SPAN = (-50.0, 200.0)


def cycles(armature: bpy.types.Object) -> None:
    for curve in _curves(armature):
        curve.modifiers.new("CYCLES")


def slopes(armature: bpy.types.Object) -> None:
    for curve in _curves(armature):
        curve.extrapolation = "LINEAR"


def for_a_while(armature: bpy.types.Object) -> None:
    armature.animation_data.action_extrapolation = "NOTHING"


def half(armature: bpy.types.Object) -> None:
    armature.animation_data.action_influence = 0.5


def forward(armature: bpy.types.Object) -> None:
    armature.animation_data.action_extrapolation = "HOLD_FORWARD"


def cycles_for_a_while(armature: bpy.types.Object) -> None:
    cycles(armature)
    for_a_while(armature)


def cycles_forward(armature: bpy.types.Object) -> None:
    cycles(armature)
    forward(armature)


def slopes_for_a_while(armature: bpy.types.Object) -> None:
    slopes(armature)
    for_a_while(armature)


def slopes_forward(armature: bpy.types.Object) -> None:
    slopes(armature)
    forward(armature)


def a_part(armature: bpy.types.Object) -> None:
    action = armature.animation_data.action
    action.use_frame_range, action.frame_start, action.frame_end = True, 14.0, 16.0


def added(armature: bpy.types.Object) -> None:
    armature.animation_data.action_blend_type = "ADD"


def plain(_armature: bpy.types.Object) -> None:
    """Nothing beside its keys."""


def _curves(armature: bpy.types.Object) -> "list[bpy.types.FCurve]":
    return list(curves_of(armature.animation_data.action, armature.animation_data.action_slot))


def animated(*bones: str) -> bpy.types.Object:
    armature = rig("left", arm=True)
    for bone in bones:
        for frame, place in ((10, 0.0), (13.5, 0.3), (20, 1.0)):
            armature.pose.bones[bone].location = (place, 0.5 + place, 0.0)
            armature.pose.bones[bone].keyframe_insert("location", frame=frame)
    return armature


def seen(armature: bpy.types.Object) -> np.ndarray:
    """(F, 3) where a bone is, within the span."""
    places = []
    for frame in (-50, -3, 5, 10, 12, 17, 20, 21, 33, 95, 200):
        bpy.context.scene.frame_set(frame)
        posed = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
        places.append(posed.pose.bones["upper"].head[:])
    return np.array(places)


ALONE = (plain, cycles, slopes, half, a_part, added)
ENDING = (for_a_while, forward, cycles_for_a_while, cycles_forward, slopes_for_a_while, slopes_forward)


@pytest.mark.parametrize("kind", [*ALONE, *ENDING])
def test_what_is_pushed_down_is_seen_as_before(kind: Callable[[bpy.types.Object], None]) -> None:
    armature = animated("upper")
    # A strip below, without which what holds and what plays for a while look the same.
    first = armature.animation_data.action
    push_down(armature, (), SPAN)
    armature.pose.bones["upper"].location = (3.0, 3.0, 3.0)
    for frame in (10, 20):
        armature.pose.bones["upper"].location.x += 1.0
        armature.pose.bones["upper"].keyframe_insert("location", frame=frame)
    assert armature.animation_data.action != first
    kind(armature)
    before = seen(armature)
    strip = push_down(armature, (), SPAN)
    assert armature.animation_data.action is None and strip is not None
    assert seen(armature) == pytest.approx(before, abs=1e-5)
    pull_up(armature, strip)
    assert seen(armature) == pytest.approx(before, abs=1e-5)
    assert len(armature.animation_data.nla_tracks) == 1


def test_a_take_is_replaced_by_one_of_its_bones_and_lies_below_one_of_others() -> None:
    armature = animated("upper", "fore")
    take = armature.animation_data.action
    take[TAKE_PROPERTY] = True
    assert push_down(armature, {"upper", "fore", "wrist"}, SPAN) is None
    assert armature.animation_data.action == take
    strip = push_down(armature, {"fore", "wrist"}, SPAN)
    assert strip is not None and strip.action == take and armature.animation_data.action is None
