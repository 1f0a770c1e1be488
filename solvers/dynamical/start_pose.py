"""The start pose of a frame that is solved on its own: from its targets alone, so that no frame depends on another.

Position targets give angles as in the planar solvers: the digit's plane and, in it, the coupled bend in closed form.
Rotation targets give a joint's angles by its rotation relative to its parent. All other angles start neutral.
"""

from typing import Any

from ...hand.scalar_math import N, NumberFunctions
from .limb_kinematics import SiteTarget, rotated, transformed
from .limbs import LimbModel


def angles_from_rotations(
    m: NumberFunctions[N], limb: LimbModel, targets: list[SiteTarget[N]], neutral: list[float]
) -> list[N]:
    """Return angles (n,) within limits of the joints that have rotation targets, from the wrist outwards; the others
    neutral.

    A joint's rotation is Rz Ry Rx, or some of these: the Euler angles of its frame relative to its parent's.
    """
    frames: list[Any] = []
    angles: list[Any] = []
    for number, dof in enumerate(limb.dofs):
        frame = dof.root_frame or transformed(frames[dof.parent], dof.rest_rotation, dof.offset)
        last = _last_dof_of_joint(limb, number)
        angle: Any = neutral[number]
        for target in targets:
            site = limb.sites[target.site]
            if target.rotation is not None and site.dof == last and site.rest_rotation is None:
                euler = dof.sign * _euler_angle(m, dof.axis, frame, target.rotation)
                clipped = m.clip(euler, limb.low[number], limb.high[number])
                angle = m.where(target.rotation_weight > 0, clipped, angle)
        angles.append(angle)
        frames.append(rotated(m, frame, dof.axis, dof.sign, angle)[0])
    return angles


def _last_dof_of_joint(limb: LimbModel, number: int) -> int:
    """Return the last degree of freedom of the joint to which this one belongs."""
    while number + 1 < len(limb.dofs):
        following = limb.dofs[number + 1]
        if following.parent != number or following.rest_rotation is not None or any(following.offset):
            break
        number += 1
    return number


def _euler_angle(m: NumberFunctions[N], axis: int, frame: Any, rotation: Any) -> N:
    """Return the Euler angle about one axis of a frame that has already been rotated by the angles before it in Rz Ry
    Rx."""
    fx, fy, fz = frame[:3]
    x, y, z = rotation
    if axis == 2:
        return m.atan2(_dot(fy, x), _dot(fx, x))
    if axis == 1:
        return m.atan2(-_dot(fz, x), _dot(fx, x))
    return m.atan2(_dot(fz, y) - _dot(fy, z), _dot(fy, y) + _dot(fz, z))


def _dot(a: Any, b: Any) -> Any:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
