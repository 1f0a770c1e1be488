"""Whether an armature rests with its arms at rest."""

import bpy
import pytest
from mathutils import Quaternion, Vector

from knuckle.rig.sources.arms_at_rest import arms_rest
from knuckle.rig.sources.source_hands import source_hands
from knuckle.tests.blender.rigs import RIGS


def rests(armature: bpy.types.Object) -> bool:
    return arms_rest(armature, source_hands(armature, tails_known=True))


@pytest.mark.parametrize("turned", [(), ("L",), ("L", "R")])
def test_arms_rest_where_they_mirror_each_other(turned: tuple[str, ...]) -> None:
    armature, _ = RIGS["MakeHuman"]()
    assert rests(armature)
    for side in turned:
        # One palm alone turned over, and both turned to the same side: no skeleton was made so.
        armature.pose.bones[f"lowerarm02.{side}"].rotation_mode = "QUATERNION"
        armature.pose.bones[f"lowerarm02.{side}"].rotation_quaternion = Quaternion(Vector((0.0, 1.0, 0.0)), 0.8)
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="POSE")
    bpy.ops.pose.armature_apply()
    bpy.ops.object.mode_set(mode="OBJECT")
    assert rests(armature) == (not turned)


def test_of_one_hand_it_is_not_known() -> None:
    armature, _ = RIGS["MakeHuman"]()
    assert not arms_rest(armature, source_hands(armature, tails_known=True)[:1])
