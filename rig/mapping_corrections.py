"""One-click corrections of a mapping: fill a digit, flip or rotate its curl plane, mirror the hand."""

from collections.abc import Iterable, Sequence
from collections.abc import Mapping as Table
from dataclasses import replace
from typing import TYPE_CHECKING

from ..errors import RigError
from ..hand import mirror
from ..hand.joints import CHAIN_JOINTS, DIGIT_JOINTS, Side
from .armature_hands import FoundHand
from .detection.digit_joints import STUB, bending_joints
from .mapping import Mapping, saved_mapping

if TYPE_CHECKING:
    from bpy.types import Bone, Object


def user_mapping(found: FoundHand) -> Mapping:
    """Return a found hand as a mapping that the user can correct and save."""
    return Mapping(found.side, dict(found.bones), found.carrier, curl_angles=dict(found.curl_angles))


def mapping_to_correct(armature: "Object", side: Side, found: FoundHand | None) -> Mapping:
    """Return the mapping to correct: the saved one without missing bones, else the found hand, else an empty one.

    A saved mapping that cannot be read is ignored, since the user is about to correct it.
    """
    try:
        saved = saved_mapping(armature, side)
    except RigError:
        saved = None
    if saved is None:
        return user_mapping(found) if found else Mapping(side, {})
    existing = armature.data.bones.keys()
    bones = {joint: bone for joint, bone in saved.bones.items() if bone in existing}
    return replace(saved, bones=bones, carrier=saved.carrier if saved.carrier in existing else None)


def with_curl_rotated(mapping: Mapping, digit: str, degrees: float) -> Mapping:
    """Return the mapping with a digit's curl plane rotated by degrees, wrapped to −180..180, from the detected one."""
    wrapped = 180.0 - (180.0 - degrees) % 360.0
    angles = {other_digit: angle for other_digit, angle in mapping.curl_angles.items() if other_digit != digit}
    return replace(mapping, curl_angles=angles | ({digit: wrapped} if wrapped else {}))


def with_curl_flipped(mapping: Mapping, digit: str) -> Mapping:
    """Return the mapping with a digit that curls in the opposite direction."""
    return with_curl_rotated(mapping, digit, mapping.curl_angles.get(digit, 0.0) + 180.0)


def mirrored_mapping(mapping: Mapping) -> Mapping:
    """Return the mapping for the other side: its palm faces the other way. Rotated curl planes stay where they are."""
    other_side = mirror.other_side(mapping.side)
    return replace(
        mapping,
        side=other_side,
        curl_angles={digit: angle if angle == 180 else -angle for digit, angle in mapping.curl_angles.items()},
    )


def check_unassigned(
    hands: Table[Side, FoundHand | Mapping],
    side: Side,
    bones: Iterable[str],
    remedy: str = "pick another bone, or mirror the hands",
) -> None:
    """Raise RigError if the other hand has one of these bones for `side`: the bone would be keyed twice."""
    for other_side, found in hands.items():
        joints = {bone: joint for joint, bone in found.bones.items()} if other_side != side else {}
        for bone in bones:
            if bone in joints:
                raise RigError(f"bone '{bone}' is {joints[bone]} of the {other_side} hand, {remedy}")


def with_digit(mapping: Mapping, digit: str, bones: Sequence[str], last_is_tip: bool) -> Mapping:
    """Return the mapping with a digit's joints assigned to a chain of bones, beginning with the first that bends.

    The digit's metacarpal bone in the palm stays; its other bones are replaced, and bones of the chain are removed
    from other joints. last_is_tip: the last bone only marks the tip.
    """
    others = {
        joint: bone for joint, bone in mapping.bones.items() if bone not in bones and joint not in CHAIN_JOINTS[digit]
    }
    bending = len(bones) - last_is_tip
    joints = (*bending_joints(digit, bending), *((DIGIT_JOINTS[digit][-1],) if bending < len(bones) else ()))
    return replace(mapping, bones=others | dict(zip(joints, bones, strict=False)))


def digit_chain(armature: "Object", first: str) -> tuple[tuple[str, ...], bool]:
    """Return a digit's bones from its first bone to its tip, at most four, and whether the last only marks the tip.

    The next bone is the visible child, directly or below hidden bones, whose head is nearest to the bone's tail.
    """
    chain = [armature.data.bones[first]]
    while len(chain) < 4 and (next_bone := _next_bone(armature, chain[-1])) is not None:
        chain.append(next_bone)
    last_is_tip = len(chain) > 2 and (len(chain) == 4 or chain[-1].length < STUB * chain[-2].length)
    return tuple(bone.name for bone in chain), last_is_tip


def _next_bone(armature: "Object", bone: "Bone") -> "Bone | None":
    queue, visible = list(bone.children), []
    while queue:
        child = queue.pop()
        if is_bone_visible(armature, child.name):
            visible.append(child)
        else:
            queue += child.children
    return min(visible, key=lambda child: (child.head_local - bone.tail_local).length, default=None)


def is_bone_visible(armature: "Object", name: str) -> bool:
    """Return whether a bone is visible in Pose Mode: not hidden, and in a visible bone collection, if in any."""
    bone, pose_bone = armature.data.bones[name], armature.pose.bones[name]
    # Since Blender 5, pose bones have a hide flag of their own.
    if getattr(pose_bone, "hide", bone.hide):
        return False
    return not bone.collections or any(collection.is_visible_effectively for collection in bone.collections)


def with_carrier(armature: "Object", mapping: Mapping) -> Mapping:
    """Return the mapping with its carrier: none if the wrist's bone is an ancestor of all digits, else their nearest
    common ancestor. An existing carrier that is an ancestor of all digits is kept.
    """
    bones = armature.data.bones
    firsts = [bones[name] for joint, name in mapping.bones.items() if joint != "wrist"]
    ancestors = [[ancestor.name for ancestor in bone.parent_recursive] for bone in firsts]
    common = [name for name in ancestors[0] if all(name in others for others in ancestors[1:])] if ancestors else []
    if mapping.bones.get("wrist") in common or not common or "wrist" not in mapping.bones:
        return replace(mapping, carrier=None)
    return mapping if mapping.carrier in common else replace(mapping, carrier=common[0])
