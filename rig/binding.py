"""Bindings: which bone of an armature is which joint of the hand, and the transform from joint to bone."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeGuard

import numpy as np
from numpy.typing import NDArray

from ..errors import RigError
from ..hand import rotations as rot
from ..hand.joints import DIGIT_JOINTS, JOINT_INDEX, JOINTS, Side
from ..hand.model import HandModel
from .detection.bone_ends import bone_ends
from .keys.parent_motion import check_depth
from .limits.bone_limits import BoneLimits
from .rest_frames import rest_rotations, rest_world

if TYPE_CHECKING:
    from bpy.types import Bone, Object, PoseBone

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

NO_LIMITS: Mapping[str, BoneLimits] = MappingProxyType({})
NO_ANGLES: Mapping[str, float] = MappingProxyType({})
MIN_REST_VOLUME = 0.5
"""Minimum determinant of a bone's matrix at rest: it is 1 up to rounding unless Blender could not compute it."""


@dataclass(frozen=True, slots=True, eq=False)
class RigBinding:
    """A hand of an armature. Holds names and numbers only, so it survives an undo or the loading of a file."""

    armature: str
    """The armature object's name."""
    side: Side
    bones: tuple[str | None, ...]
    """(J,) the bone of each joint, None where the rig has none."""
    rest: Floats
    """(J, 4, 4) T_armature_joint of the rig at rest, in the armature's own unit; the identity without a bone."""
    rest_to_bone: Floats
    """(J, 4, 4) T_joint_bone at rest."""
    mapped_parents: Ints
    """(J,) the joint whose bone is this bone's nearest mapped ancestor in the armature, −1 if there is none."""
    location_keyed: Bools
    """(J,) True where the bone's location is keyed as well, because no ancestor moves it into place."""
    inherits_rotation: Bools
    """(J,) True where the bone inherits its parent's rotation."""
    location_axes: Floats = field(default_factory=lambda: np.tile(np.eye(3), (len(JOINTS), 1, 1)))
    """(J, 3, 3) the axes of a bone's location channels in its rest frame; not the identity if Local Location is off."""
    carrier: str | None = None
    """The bone above the digits, if the wrist's bone is a control that moves it."""
    limits: Mapping[int, BoneLimits] = field(default_factory=dict)
    """joint -> rotation limits of its bone, if the rig has any and the bone is not placed by keys."""

    @property
    def mapped(self) -> tuple[int, ...]:
        """Joints that have a bone, parents first."""
        return tuple(joint for joint, bone in enumerate(self.bones) if bone)

    def bone_rest(self) -> Floats:
        """Return T_armature_bone at rest, (J, 4, 4)."""
        result: Floats = self.rest @ self.rest_to_bone
        return result


def is_armature(obj: "Object | None") -> "TypeGuard[Object]":
    """Return whether an object is an armature."""
    return obj is not None and obj.type == "ARMATURE"


def joint_points(armature: "Object", bones: Mapping[str, str]) -> Floats:
    """Return rest positions (J, 3) in armature space of the joints of a mapping joint -> bone, NaN for unmapped ones.

    A tip without a bone is at the end of its digit's last bone, see detection/bone_ends.py.
    """
    points = np.full((len(JOINTS), 3), np.nan)
    for joint, name in bones.items():
        points[JOINT_INDEX[joint]] = armature.data.bones[name].head_local
    for joints in DIGIT_JOINTS.values():
        mapped_bones = [armature.data.bones[bones[joint]] for joint in joints if joint in bones]
        if mapped_bones and joints[-1] not in bones:
            heads = np.array([bone.head_local for bone in mapped_bones])
            tails = np.array([bone.tail_local for bone in mapped_bones])
            points[JOINT_INDEX[joints[-1]]] = bone_ends(heads, tails, range(-1, len(mapped_bones) - 1))[-1]
    return points


def posed_frames(armature: "Object", binding: RigBinding) -> Floats:
    """Return T_armature_joint = T_armature_bone · T_bone_joint (J, 4, 4) in the current pose, NaN for unmapped joints.

    A tip without a bone has the rotation of its digit's last bone and is at its end.
    """
    frames = np.full((len(JOINTS), 4, 4), np.nan)
    pose_bones: dict[int, PoseBone | None] = {
        joint: armature.pose.bones.get(str(binding.bones[joint])) for joint in binding.mapped
    }
    existing = {joint: bone for joint, bone in pose_bones.items() if bone is not None}
    if existing:
        bone_to_joint = np.linalg.inv(binding.rest_to_bone[list(existing)])
        frames[list(existing)] = np.array([bone.matrix for bone in existing.values()]) @ bone_to_joint
    points = joint_points(armature, {JOINTS[joint]: bone.name for joint, bone in existing.items()})
    for joints in DIGIT_JOINTS.values():
        *others, tip = (JOINT_INDEX[joint] for joint in joints)
        last, bone = next(
            ((joint, pose_bones[joint]) for joint in reversed(others) if pose_bones.get(joint)), (tip, None)
        )
        if bone is not None and pose_bones.get(tip) is None:
            frames[tip] = frames[last]
            deformation = np.array(bone.matrix) @ np.linalg.inv(np.array(bone.bone.matrix_local))
            frames[tip, :3, 3] = deformation[:3, :3] @ points[tip] + deformation[:3, 3]
    return frames


def points_to_world(armature: "Object", points: Floats) -> Floats:
    """Map points (..., 3) from armature space to the world, m."""
    world = np.array(armature.matrix_world)
    mapped: Floats = points @ world[:3, :3].T + world[:3, 3]
    return mapped


def bind(
    armature: "Object",
    side: Side,
    bones: Mapping[str, str],
    hand: HandModel,
    carrier: str | None = None,
    *,
    limits: Mapping[str, BoneLimits] = NO_LIMITS,
    curl_angles: Mapping[str, float] = NO_ANGLES,
) -> RigBinding:
    """Bind a hand of `armature` by a mapping joint -> bone.

    hand: decides the roll of digits that are straight at rest. carrier: see RigBinding. limits: bone -> its rotation
    limits; a bone that rotates about a single axis decides the roll of its digit. curl_angles: digit -> degrees, see
    `mapping.Mapping`.
    Raises RigError for a missing bone, for one without length and for an armature that is scaled flat.
    """
    check_depth(armature.name, np.array(armature.matrix_world, float))
    rest_bones = _expected_bones(armature, bones)
    rest, rest_to_bone = np.tile(np.eye(4), (2, len(JOINTS), 1, 1))
    limited = {JOINT_INDEX[joint]: limits[name] for joint, name in bones.items() if name in limits}
    rotations = _rest_rotations(armature, bones, hand, limited, curl_angles)
    for joint, bone in rest_bones.items():
        index = JOINT_INDEX[joint]
        rest[index, :3, :3] = rotations[index]
        rest[index, :3, 3] = bone.head_local
        rest_to_bone[index] = np.linalg.inv(rest[index]) @ np.array(bone.matrix_local)
    mapped_parents = _mapped_parents(bones, rest_bones, carrier)
    location_keyed = _location_keyed(
        rest_bones,
        mapped_parents,
        float(np.ptp(rest[:, :3, 3], axis=0).max()),
        armature.data.bones.get(carrier) if carrier else None,
    )
    return RigBinding(
        armature=armature.name,
        side=side,
        bones=tuple(bones.get(joint) for joint in JOINTS),
        rest=rest,
        rest_to_bone=rest_to_bone,
        mapped_parents=mapped_parents,
        location_keyed=location_keyed,
        inherits_rotation=np.array(
            [joint not in rest_bones or rest_bones[joint].use_inherit_rotation for joint in JOINTS]
        ),
        location_axes=_location_axes(rest_bones),
        carrier=carrier,
        limits={joint: bone_limits for joint, bone_limits in limited.items() if not location_keyed[joint]},
    )


def _expected_bones(armature: "Object", bones: Mapping[str, str]) -> "dict[str, Bone]":
    """Return joint -> bone. Raises RigError for a missing bone and for one without a direction at rest."""
    for joint, name in bones.items():
        if name not in armature.data.bones:
            raise RigError(f"armature '{armature.name}' has no bone '{name}' for {joint}, detect the hand again")
        if not abs(armature.data.bones[name].matrix_local.determinant()) > MIN_REST_VOLUME:
            raise RigError(
                f"armature '{armature.name}': bone '{name}' for {joint} has no direction at rest, which happens "
                "below a bone that is a thousand kilometres long: shorten its parents in Edit Mode"
            )
    return {joint: armature.data.bones[name] for joint, name in bones.items()}


def _rest_rotations(
    armature: "Object",
    bones: Mapping[str, str],
    hand: HandModel,
    limits: Mapping[int, BoneLimits],
    curl_angles: Mapping[str, float],
) -> Floats:
    """Return the rest rotations of the joints in armature space, (J, 3, 3).

    Frames are built in the world, where a mirrored or non-uniformly scaled armature has the hand that the user sees,
    and mapped back by their Y and Z directions: unlike directions, a rotation matrix cannot be mirrored.
    """
    linear = np.array(armature.matrix_world)[:3, :3]
    hinges: dict[int, Floats] = {}
    for joint, bone_limits in limits.items():
        axis = bone_limits.hinge()
        if axis is not None:
            direction = linear @ np.array(armature.data.bones[bone_limits.bone].matrix_local)[:3, :3] @ axis
            hinges[joint] = direction / np.linalg.norm(direction)
    world = rest_rotations(hand, points_to_world(armature, joint_points(armature, bones)), hinges, curl_angles)
    return rot.transform_frames(np.linalg.inv(linear), world)


def _mapped_parents(bones: Mapping[str, str], rest_bones: "Mapping[str, Bone]", carrier: str | None) -> Ints:
    joints = {name: JOINT_INDEX[joint] for joint, name in bones.items()}
    if carrier is not None and "wrist" in bones:
        joints[carrier] = JOINT_INDEX["wrist"]
    mapped_parents = np.full(len(JOINTS), -1)
    for joint, bone in rest_bones.items():
        ancestors = (joints[parent.name] for parent in bone.parent_recursive if parent.name in joints)
        mapped_parents[JOINT_INDEX[joint]] = next(ancestors, -1)
    return mapped_parents


def _location_keyed(
    rest_bones: "Mapping[str, Bone]", mapped_parents: Ints, size: float, carrier: "Bone | None"
) -> Bools:
    """Return (J,) which bones need keys for their location: unconnected ones without a mapped ancestor.

    A wrist at the end of an arm stays there.
    """
    location_keyed = np.zeros(len(JOINTS), bool)
    for joint, bone in rest_bones.items():
        index = JOINT_INDEX[joint]
        location_keyed[index] = not bone.use_connect and mapped_parents[index] < 0
    if location_keyed[0] and (arm := (carrier or rest_bones["wrist"]).parent):
        gap = float((arm.tail_local - rest_bones["wrist"].head_local).length)
        location_keyed[0] = gap > 0.05 * size and len(arm.parent_recursive) < 2
    return location_keyed


def location_axes_of(bone: "Bone") -> Floats:
    """Return the axes (3, 3) of a bone's location in its rest frame, as columns.

    With Local Location off, it moves along the axes of its parent, or of the armature.
    """
    if bone.use_local_location:
        return np.eye(3)
    basis = np.array(bone.parent.matrix_local)[:3, :3] if bone.parent else np.eye(3)
    axes: Floats = np.array(bone.matrix_local, float)[:3, :3].T @ basis
    return axes


def _location_axes(rest_bones: "Mapping[str, Bone]") -> Floats:
    """Return RigBinding.location_axes."""
    axes = np.tile(np.eye(3), (len(JOINTS), 1, 1))
    for joint, bone in rest_bones.items():
        axes[JOINT_INDEX[joint]] = location_axes_of(bone)
    return axes


def default_binding(armature: "Object", hand: HandModel) -> RigBinding:
    """Return the binding of a hand built by add_hand, whose bone frames are the joint frames."""
    world = rest_world(hand)
    return RigBinding(
        armature=armature.name,
        side=hand.side,
        bones=hand.joints,
        rest=world,
        rest_to_bone=np.tile(np.eye(4), (len(hand.joints), 1, 1)),
        mapped_parents=np.array(hand.parents),
        location_keyed=np.array([parent < 0 for parent in hand.parents]),
        inherits_rotation=np.ones(len(hand.joints), bool),
    )
