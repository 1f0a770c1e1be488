"""What poses a hand at once keys the bones that it moved, as auto-keying has it, and no others."""

from typing import Any

import bpy
import numpy as np
import pytest

from knuckle.hand import proportions
from knuckle.rig.keys.take_scene import new_hand
from knuckle.rig.posing.channel_diff import TOLERANCE
from knuckle.tests.blender.making import Floats
from knuckle.tests.blender.test_posing_drag import armature, bend

__all__ = ["armature"]
pytestmark = pytest.mark.usefixtures("extension")

operators: Any = bpy.ops
Object = bpy.types.Object
BENT = "index-finger-phalanx-proximal"
FIST = ("apply_hand_pose", {"pose": "fist"})


@pytest.fixture(autouse=True)
def auto_keying(plain_keying: Any) -> None:
    bpy.context.scene.tool_settings.use_keyframe_insert_auto = True


def keyed(armature: Object) -> dict[str, set[str]]:
    """Bone -> its channels that have keys, which are taken away."""
    found: dict[str, set[str]] = {}
    action = armature.animation_data and armature.animation_data.action
    for bag in (
        [bag for layer in action.layers for strip in layer.strips for bag in strip.channelbags] if action else ()
    ):
        for curve in bag.fcurves:
            _, bone, channel = curve.data_path.split('"')
            found.setdefault(bone, set()).add(channel.rpartition(".")[2])
    armature.animation_data_clear()
    return found


def bases(armature: Object) -> dict[str, Floats]:
    return {bone.name: np.array(bone.matrix_basis) for bone in armature.pose.bones}


def done(name: str, **how: Any) -> None:
    assert getattr(operators.knuckle, name)(**{"side": "right", **how}) == {"FINISHED"}


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("pose_reset", {}),
        ("pose_relax", {"factor": 0.0}),
        ("pose_relax", {"factor": 1.0}),
        ("apply_hand_pose", {"pose": "fist", "factor": 0.0}),
        FIST,
    ],
)
def test_what_moves_nothing_keys_nothing(armature: Object, name: str, how: dict[str, Any]) -> None:
    if how.get("factor") != 0.0:
        done(name, **how)
    keyed(armature)
    done(name, **how)
    assert not keyed(armature)


@pytest.mark.parametrize(("name", "how"), [("pose_reset", {}), ("pose_relax", {"factor": 1.0}), FIST])
def test_of_a_hand_that_stands_so_but_for_one_bone_that_is_keyed(
    armature: Object, name: str, how: dict[str, Any]
) -> None:
    done(name, **how)
    keyed(armature)
    stood = bases(armature)
    bend(armature, BENT)
    done(name, **how)
    np.testing.assert_allclose(bases(armature)[BENT], stood[BENT], atol=1e-5)
    assert keyed(armature) == {BENT: {"rotation_euler"}}


def test_a_part_of_a_pose_keys_all_that_it_moves(armature: Object) -> None:
    before = bases(armature)
    done("apply_hand_pose", pose="point", factor=0.5)
    moved = {name for name, now in bases(armature).items() if np.abs(now - before[name]).max() > TOLERANCE}
    assert len(moved) > 5
    assert set(keyed(armature)) == moved


def test_reset_keys_the_place_and_the_scale_of_what_was_placed_and_scaled_alone(armature: Object) -> None:
    done("pose_reset")
    keyed(armature)
    bones = armature.pose.bones
    bones[BENT].lock_location = (False, False, False)
    bones[BENT].location.x = 0.01
    bones["thumb-phalanx-distal"].scale = (1.0, 1.2, 1.0)
    done("pose_reset")
    assert keyed(armature) == {
        BENT: {"rotation_euler", "location"},
        "thumb-phalanx-distal": {"rotation_euler", "scale"},
    }


def test_mirrored_a_hand_has_keys_of_what_that_moved(armature: Object) -> None:
    model = proportions.adult("left")
    left = new_hand(model, proportions.build(model), bpy.context.scene.collection)[0]
    left.select_set(True)
    before = bases(left)
    operators.knuckle.pose_mirror(direction="TO_LEFT")
    moved = {name for name, now in bases(left).items() if np.abs(now - before[name]).max() > TOLERANCE}
    assert moved == {BENT, "index-finger-phalanx-intermediate", "thumb-phalanx-distal"}
    assert set(keyed(left)) == moved
    assert not keyed(armature)
    operators.knuckle.pose_mirror(direction="TO_LEFT")
    assert not keyed(left)
