"""Armatures of known motion: fingers that curl about known axes, with a key for each angle."""

from collections.abc import Sequence

import bpy
from mathutils import Quaternion

from knuckle.hand.joints import CHAIN_JOINTS, DIGITS
from knuckle.rig.keys.fcurves import curves_on


def curl(armature: bpy.types.Object, frames: Sequence[float], angles: Sequence[float]) -> None:
    """Flex all finger joints of an armature of making.rig by an angle in rad on each frame, linearly between.

    The axis is normal to the plane of the finger's bend at rest.
    """
    for digit in DIGITS[1:]:
        bones = [armature.pose.bones[joint] for joint in CHAIN_JOINTS[digit][:3]]
        first, middle, last = (bone.bone.head_local for bone in bones)
        axis = (middle - first).cross(last - middle).normalized()
        for bone in bones:
            for frame, angle in zip(frames, angles, strict=True):
                local = bone.bone.matrix_local.to_3x3().inverted() @ axis
                bone.rotation_quaternion = Quaternion(local, angle)
                bone.keyframe_insert("rotation_quaternion", frame=frame)
    for curve in curves_on(armature):
        for key in curve.keyframe_points:
            key.interpolation = "LINEAR"
