"""What no marker determined is seen in the types of the keys and in markers of the action."""

from dataclasses import replace

import bpy
import numpy as np
import pytest

from knuckle.hand.joints import JOINT_INDEX
from knuckle.rig.blend_file import new_scene_with_take
from knuckle.tests.blender.making import take

pytestmark = pytest.mark.usefixtures("extension")

BONE = "ring-finger-phalanx-intermediate"
HIDDEN = slice(10, 25)
"""Frames of the take in which the ring finger's middle joint is not determined."""


def hidden(rows: slice, **recipe):
    """A take of a right hand whose ring finger is predicted in some frames."""
    made = take(("right",), **recipe)
    predicted = made.hands[0].predicted.copy()
    predicted[rows, JOINT_INDEX[BONE]] = True
    return replace(made, hands=(replace(made.hands[0], predicted=predicted),))


def types(armature, bone):
    """The types of the keys of a bone, by curve."""
    bags = [bag for layer in armature.animation_data.action.layers for s in layer.strips for bag in s.channelbags]
    curves = [curve for bag in bags for curve in bag.fcurves if f'"{bone}"' in curve.data_path]
    assert curves
    return [[point.type for point in curve.keyframe_points] for curve in curves]


def markers(armature):
    return [(marker.name, marker.frame) for marker in armature.animation_data.action.pose_markers]


def test_keys_of_predicted_frames_are_of_another_type():
    made = hidden(HIDDEN)
    new_scene_with_take(made)
    armature = bpy.data.objects["Right Hand"]
    expected = np.full(len(made.times), "KEYFRAME", object)
    expected[HIDDEN] = "JITTER"
    for kinds in types(armature, BONE):
        assert kinds == expected.tolist()
    for kinds in types(armature, "index-finger-phalanx-intermediate"):
        assert set(kinds) == {"KEYFRAME"}


def test_stretches_are_markers_of_the_action_and_not_of_the_scene():
    new_scene_with_take(hidden(HIDDEN))
    assert markers(bpy.data.objects["Right Hand"]) == [("Right Predicted, 15 frames", 11)]
    assert len(bpy.context.scene.timeline_markers) == 0


def test_markers_are_bounded():
    new_scene_with_take(hidden(slice(0, 600, 2), frames=600))
    assert len(markers(bpy.data.objects["Right Hand"])) == 200


def test_a_single_predicted_frame_of_a_long_take_is_the_only_one():
    new_scene_with_take(hidden(slice(4000, 4001), frames=4100))
    for kinds in types(bpy.data.objects["Right Hand"], BONE):
        assert [row for row, kind in enumerate(kinds) if kind == "JITTER"] == [4000]
