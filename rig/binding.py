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
from .detection.bone_ends import ends
from .keys.parent_motion import check_depth
from .limits.bone_limits import BoneLimits
from .rest_frames import rest_rotations, rest_world

if TYPE_CHECKING:
    from bpy.types import Bone, Object, PoseBone

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

NO_LIMITS: Mapping[str, BoneLimits] = MappingProxyType({})
NO_TURNS: Mapping[str, float] = MappingProxyType({})


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
    holders: Ints
    """(J,) the joint whose bone is this bone's nearest mapped ancestor in the armature, −1 if there is none."""
    placed: Bools
    """(J,) True where the bone's location is keyed as well, because no ancestor moves it into place."""
    inherits: Bools
    """(J,) True where the bone inherits its parent's rotation."""
    location_axes: Floats = field(default_factory=lambda: np.tile(np.eye(3), (len(JOINTS), 1, 1)))
    """(J, 3, 3) the axes of a bone's location channels in its rest frame; not the identity if Local Location is off."""
    carrier: str | None = None
    """The bone on which the digits hang, if the wrist's bone is a control that moves it."""
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


def is_armature(thing: "Object | None") -> "TypeGuard[Object]":
    """Whether an object is an armature."""
    return thing is not None and thing.type == "ARMATURE"


def joint_points(armature: "Object", bones: Mapping[str, str]) -> Floats:
    """Return rest positions (J, 3) in armature space of the joints of a mapping joint -> bone, NaN for unmapped ones.

    A tip without a bone is at the end of its digit's last bone, see detection/bone_ends.py.
    """
    points = np.full((len(JOINTS), 3), np.nan)
    for joint, name in bones.items():
        points[JOINT_INDEX[joint]] = armature.data.bones[name].head_local
    for joints in DIGIT_JOINTS.values():
        there = [armature.data.bones[bones[joint]] for joint in joints if joint in bones]
        if there and joints[-1] not in bones:
            heads = np.array([bone.head_local for bone in there])
            tails = np.array([bone.tail_local for bone in there])
            points[JOINT_INDEX[joints[-1]]] = ends(heads, tails, range(-1, len(there) - 1))[-1]
    return points


def posed_frames(armature: "Object", binding: RigBinding) -> Floats:
    """Return T_armature_joint = T_armature_bone · T_bone_joint (J, 4, 4) in the present pose, NaN for unmapped joints.

    A tip without a bone has the rotation of its digit's last bone and is at its end.
    """
    frames = np.full((len(JOINTS), 4, 4), np.nan)
    posed: dict[int, PoseBone | None] = {
        joint: armature.pose.bones.get(str(binding.bones[joint])) for joint in binding.mapped
    }
    there = {joint: bone for joint, bone in posed.items() if bone is not None}
    if there:
        in_bones = np.linalg.inv(binding.rest_to_bone[list(there)])
        frames[list(there)] = np.array([bone.matrix for bone in there.values()]) @ in_bones
    points = joint_points(armature, {JOINTS[joint]: bone.name for joint, bone in there.items()})
    for joints in DIGIT_JOINTS.values():
        *others, tip = (JOINT_INDEX[joint] for joint in joints)
        last, bone = next(((joint, posed[joint]) for joint in reversed(others) if posed.get(joint)), (tip, None))
        if bone is not None and posed.get(tip) is None:
            frames[tip] = frames[last]
            moved = np.array(bone.matrix) @ np.linalg.inv(np.array(bone.bone.matrix_local))
            frames[tip, :3, 3] = moved[:3, :3] @ points[tip] + moved[:3, 3]
    return frames


def world_points(armature: "Object", points: Floats) -> Floats:
    """Map points (..., 3) from armature space to the world, m."""
    world = np.array(armature.matrix_world)
    moved: Floats = points @ world[:3, :3].T + world[:3, 3]
    return moved


def bind(
    armature: "Object",
    side: Side,
    bones: Mapping[str, str],
    hand: HandModel,
    carrier: str | None = None,
    *,
    limits: Mapping[str, BoneLimits] = NO_LIMITS,
    turns: Mapping[str, float] = NO_TURNS,
) -> RigBinding:
    """Bind a hand of `armature` by a mapping joint -> bone.

    hand: decides the roll of digits that are straight at rest. carrier: see RigBinding. limits: bone -> its rotation
    limits; a bone that rotates about a single axis decides the roll of its digit. turns: digit -> degrees, see
    `mapping.Mapping`.
    Raises RigError for a missing bone and for an armature that is scaled flat.
    """
    check_depth(armature.name, np.array(armature.matrix_world, float))
    for joint, name in bones.items():
        if name not in armature.data.bones:
            raise RigError(f"armature '{armature.name}' has no bone '{name}' for {joint}, detect the hand again")
    rest_bones = {joint: armature.data.bones[name] for joint, name in bones.items()}
    rest, rest_to_bone = np.tile(np.eye(4), (2, len(JOINTS), 1, 1))
    limited = {JOINT_INDEX[joint]: limits[name] for joint, name in bones.items() if name in limits}
    rotations = _rest_rotations(armature, bones, hand, limited, turns)
    for joint, bone in rest_bones.items():
        index = JOINT_INDEX[joint]
        rest[index, :3, :3] = rotations[index]
        rest[index, :3, 3] = bone.head_local
        rest_to_bone[index] = np.linalg.inv(rest[index]) @ np.array(bone.matrix_local)
    holders = _holders(bones, rest_bones, carrier)
    placed = _placed(rest_bones, holders, _hand_size(rest), armature.data.bones.get(carrier) if carrier else None)
    return RigBinding(
        armature=armature.name,
        side=side,
        bones=tuple(bones.get(joint) for joint in JOINTS),
        rest=rest,
        rest_to_bone=rest_to_bone,
        holders=holders,
        placed=placed,
        inherits=np.array([joint not in rest_bones or rest_bones[joint].use_inherit_rotation for joint in JOINTS]),
        location_axes=_location_axes(rest_bones),
        carrier=carrier,
        limits={joint: of_bone for joint, of_bone in limited.items() if not placed[joint]},
    )


def _rest_rotations(
    armature: "Object",
    bones: Mapping[str, str],
    hand: HandModel,
    limits: Mapping[int, BoneLimits],
    turns: Mapping[str, float],
) -> Floats:
    """Return the rest rotations of the joints in armature space, (J, 3, 3).

    Frames are built in the world, where a mirrored or non-uniformly scaled armature has the hand that the user sees,
    and mapped back by their Y and Z directions: unlike directions, a rotation matrix cannot be mirrored.
    """
    turned = np.array(armature.matrix_world)[:3, :3]
    hinges: dict[int, Floats] = {}
    for joint, of_bone in limits.items():
        axis = of_bone.hinge()
        if axis is not None:
            seen = turned @ np.array(armature.data.bones[of_bone.bone].matrix_local)[:3, :3] @ axis
            hinges[joint] = seen / np.linalg.norm(seen)
    world = rest_rotations(hand, world_points(armature, joint_points(armature, bones)), hinges, turns)
    return rot.transformed(np.linalg.inv(turned), world)


def _holders(bones: Mapping[str, str], rest_bones: "Mapping[str, Bone]", carrier: str | None) -> Ints:
    joints = {name: JOINT_INDEX[joint] for joint, name in bones.items()}
    if carrier is not None and "wrist" in bones:
        joints[carrier] = JOINT_INDEX["wrist"]
    holders = np.full(len(JOINTS), -1)
    for joint, bone in rest_bones.items():
        above = (joints[parent.name] for parent in bone.parent_recursive if parent.name in joints)
        holders[JOINT_INDEX[joint]] = next(above, -1)
    return holders


def _hand_size(rest: Floats) -> float:
    heads = rest[:, :3, 3]
    return float(np.ptp(heads, axis=0).max())


def _placed(rest_bones: "Mapping[str, Bone]", holders: Ints, size: float, carrier: "Bone | None") -> Bools:
    """Return (J,) which bones need keys for their location: unconnected ones without a mapped ancestor.

    A wrist at the end of an arm is left there.
    """
    placed = np.zeros(len(JOINTS), bool)
    for joint, bone in rest_bones.items():
        index = JOINT_INDEX[joint]
        placed[index] = not bone.use_connect and holders[index] < 0
    if placed[0] and (arm := (carrier or rest_bones["wrist"]).parent):
        gap = float((arm.tail_local - rest_bones["wrist"].head_local).length)
        placed[0] = gap > 0.05 * size and len(arm.parent_recursive) < 2
    return placed


def _location_axes(rest_bones: "Mapping[str, Bone]") -> Floats:
    """Return RigBinding.location_axes: with Local Location off, a bone moves along its parent's or armature's axes."""
    axes = np.tile(np.eye(3), (len(JOINTS), 1, 1))
    for joint, bone in rest_bones.items():
        if not bone.use_local_location:
            along = np.array(bone.parent.matrix_local)[:3, :3] if bone.parent else np.eye(3)
            axes[JOINT_INDEX[joint]] = np.array(bone.matrix_local)[:3, :3].T @ along
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
        holders=np.array(hand.parents),
        placed=np.array([parent < 0 for parent in hand.parents]),
        inherits=np.ones(len(hand.joints), bool),
    )
