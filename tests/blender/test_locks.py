"""What is locked stays, as it does for Blender's own tools."""

from typing import Any

import bpy
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mathutils import Quaternion

from knuckle.rig import rotation_channels
from knuckle.rig.posing import bone_locks
from knuckle.tests.blender.test_held import default

pytestmark = pytest.mark.usefixtures("extension")

MODES = ("QUATERNION", "AXIS_ANGLE", "XYZ", "ZXY")
NAMES = ("location", "scale", "rotation_quaternion", "rotation_euler", "rotation_axis_angle")


def bones() -> tuple[bpy.types.Object, bpy.types.PoseBone, bpy.types.PoseBone]:
    """Two that Blender's own limits do not hold, selected."""
    armature = default()
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="POSE")
    first, second = (
        armature.pose.bones["index-finger-phalanx-proximal"],
        armature.pose.bones["ring-finger-phalanx-proximal"],
    )
    return armature, first, second


@pytest.fixture
def bone() -> bpy.types.PoseBone:
    """One for all examples, each of which sets all of it."""
    return bones()[1]


def posed(bone: Any, mode: str, locked: list[bool], four: bool) -> None:
    for constraint in list(bone.constraints):
        bone.constraints.remove(constraint)
    bone.rotation_mode = mode
    bone.lock_rotation, bone.lock_location, bone.lock_scale = locked[:3], locked[:3], locked[:3]
    bone.lock_rotation_w, bone.lock_rotations_4d = locked[3], four
    bone.location, bone.scale = (0.1, -0.2, 0.3), (1.1, 0.9, 1.2)
    turn = Quaternion((0.8, 0.3, -0.4, 0.33)).normalized()
    bone.rotation_quaternion = turn
    bone.rotation_euler = turn.to_euler(mode if len(mode) == 3 else "XYZ")
    axis, angle = turn.to_axis_angle()
    bone.rotation_axis_angle = (angle, *axis)


def now(bone: Any) -> dict[str, Any]:
    return {name: np.array(getattr(bone, name)) for name in NAMES}


@pytest.mark.parametrize("mode", MODES)
def test_put_to_rest_what_is_locked_stays_as_blender_leaves_it(mode: str) -> None:
    armature, bone, other = bones()
    for number in range(8):
        locked = [bool(number & 1), bool(number & 2), bool(number & 4), False]
        for each in (bone, other):
            posed(each, mode, locked, False)
        bone_locks.to_rest(bone)
        for each in armature.pose.bones:
            holder: Any = each if hasattr(each, "select") else each.bone
            holder.select = each == other
        armature.data.bones.active = other.bone
        assert bpy.ops.pose.transforms_clear() == {"FINISHED"}
        for name in ("location", "scale"):
            assert now(bone)[name] == pytest.approx(now(other)[name], abs=1e-6), (name, locked)
        assert bone.matrix_basis.to_quaternion().rotation_difference(
            other.matrix_basis.to_quaternion()
        ).angle == pytest.approx(0.0, abs=1e-3), locked


@pytest.mark.parametrize("mode", ["QUATERNION", "AXIS_ANGLE"])
@given(
    st.lists(st.booleans(), min_size=4, max_size=4),
    st.lists(st.floats(-1, 1), min_size=4, max_size=4).filter(lambda q: bool(np.linalg.norm(q) > 0.1)),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_locked_parts_of_a_quaternion_stay_and_it_stays_one_long(
    bone: Any, mode: str, locked: list[bool], to: list[float]
) -> None:
    posed(bone, mode, locked, True)
    before = bone.matrix_basis.to_quaternion()
    values = rotation_channels.nearest_values(
        np.array(to) / np.linalg.norm(to), mode, np.array(getattr(bone, rotation_channels.channel(mode)))
    )
    setattr(bone, rotation_channels.channel(mode), bone_locks.with_locked_channels(bone, values))
    after = bone.matrix_basis.to_quaternion()
    after = after if after.dot(before) >= 0 else -after
    assert after.magnitude == pytest.approx(1.0, abs=1e-5)
    held = [locked[3], locked[0], locked[1] and mode == "QUATERNION", locked[2]]
    if any(held):
        same = [a == pytest.approx(b, abs=1e-5) for a, b, part in zip(after, before, held, strict=True) if part]
        # The same turn has two signs.
        other = [-a == pytest.approx(b, abs=1e-5) for a, b, part in zip(after, before, held, strict=True) if part]
        assert all(same) or all(other)
    else:
        assert np.abs(np.dot(after, to) / np.linalg.norm(to)) == pytest.approx(1.0, abs=1e-5)


def test_without_locks_values_go_through() -> None:
    _, bone, _ = bones()
    for mode in MODES:
        posed(bone, mode, [False] * 4, True)
        values = np.arange(1.0, 4.0 if mode in rotation_channels.EULER_ORDERS else 5.0)
        assert bone_locks.with_locked_channels(bone, values) is values
