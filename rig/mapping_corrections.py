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
from .mapping import Mapping, kept_mapping

if TYPE_CHECKING:
    from bpy.types import Bone, Object


def own_mapping(found: FoundHand) -> Mapping:
    """Return a found hand as the user's own mapping."""
    return Mapping(found.side, dict(found.bones), found.carrier, turns=dict(found.turns))


def to_correct(armature: "Object", side: Side, found: FoundHand | None) -> Mapping:
    """Return the mapping to correct: the saved one without missing bones, else the found hand, else an empty one.

    A saved mapping that cannot be read is ignored, since the user is about to correct it.
    """
    try:
        kept = kept_mapping(armature, side)
    except RigError:
        kept = None
    if kept is None:
        return own_mapping(found) if found else Mapping(side, {})
    there = armature.data.bones.keys()
    bones = {joint: bone for joint, bone in kept.bones.items() if bone in there}
    return replace(kept, bones=bones, carrier=kept.carrier if kept.carrier in there else None)


def turned(mapping: Mapping, digit: str, degrees: float) -> Mapping:
    """Return the mapping with a digit's curl plane rotated by degrees, wrapped to −180..180, from the detected one."""
    around = 180.0 - (180.0 - degrees) % 360.0
    turns = {other: turn for other, turn in mapping.turns.items() if other != digit}
    return replace(mapping, turns=turns | ({digit: around} if around else {}))


def flipped(mapping: Mapping, digit: str) -> Mapping:
    """Return the mapping with a digit that curls in the opposite direction."""
    return turned(mapping, digit, mapping.turns.get(digit, 0.0) + 180.0)


def mirrored(mapping: Mapping) -> Mapping:
    """Return the mapping for the other side: its palm faces the other way. Rotated curl planes stay where they are."""
    other = mirror.other_side(mapping.side)
    return replace(
        mapping, side=other, turns={digit: turn if turn == 180 else -turn for digit, turn in mapping.turns.items()}
    )


def check_free(
    hands: Table[Side, FoundHand | Mapping],
    side: Side,
    bones: Iterable[str],
    remedy: str = "pick another bone, or mirror the hands",
) -> None:
    """Raise RigError if one of the bones for a side belongs to the other hand: it would be keyed twice."""
    for other, found in hands.items():
        joints = {bone: joint for joint, bone in found.bones.items()} if other != side else {}
        for bone in bones:
            if bone in joints:
                raise RigError(f"bone '{bone}' is {joints[bone]} of the {other} hand, {remedy}")


def filled(mapping: Mapping, digit: str, bones: Sequence[str], ended: bool) -> Mapping:
    """Return the mapping with a digit's joints assigned to a chain of bones, beginning with the first that bends.

    ended: the last bone only marks the tip. The digit's metacarpal bone in the palm stays, all its other bones are
    replaced; bones of the chain are removed from other joints.
    """
    kept = {
        joint: bone for joint, bone in mapping.bones.items() if bone not in bones and joint not in CHAIN_JOINTS[digit]
    }
    bending = len(bones) - ended
    joints = (*bending_joints(digit, bending), *((DIGIT_JOINTS[digit][-1],) if bending < len(bones) else ()))
    return replace(mapping, bones=kept | dict(zip(joints, bones, strict=False)))


def outward(armature: "Object", first: str) -> tuple[tuple[str, ...], bool]:
    """Return a digit's bones from its first bone to its tip, at most four, and whether the last only marks the tip.

    Each next bone is a visible child, directly or below hidden bones; of several, the one whose head is nearest to the
    present bone's tail.
    """
    chain = [armature.data.bones[first]]
    while len(chain) < 4 and (following := _following(armature, chain[-1])) is not None:
        chain.append(following)
    ended = len(chain) > 2 and (len(chain) == 4 or chain[-1].length < STUB * chain[-2].length)
    return tuple(bone.name for bone in chain), ended


def _following(armature: "Object", bone: "Bone") -> "Bone | None":
    waiting, found = list(bone.children), []
    while waiting:
        child = waiting.pop()
        if is_shown(armature, child.name):
            found.append(child)
        else:
            waiting += child.children
    return min(found, key=lambda child: (child.head_local - bone.tail_local).length, default=None)


def is_shown(armature: "Object", name: str) -> bool:
    """Whether a bone is visible in Pose Mode: not hidden, and in a visible bone collection, if in any."""
    bone, posed = armature.data.bones[name], armature.pose.bones[name]
    # Since Blender 5, pose bones have a hide flag of their own.
    if getattr(posed, "hide", bone.hide):
        return False
    return not bone.collections or any(one.is_visible_effectively for one in bone.collections)


def with_carrier(armature: "Object", mapping: Mapping) -> Mapping:
    """Return the mapping with its carrier: none if the digits hang on the wrist's bone, else their nearest common
    ancestor. A present carrier that is an ancestor of all stays.
    """
    bones = armature.data.bones
    firsts = [bones[name] for joint, name in mapping.bones.items() if joint != "wrist"]
    above = [[other.name for other in bone.parent_recursive] for bone in firsts]
    shared = [name for name in above[0] if all(name in others for others in above[1:])] if above else []
    if mapping.bones.get("wrist") in shared or not shared or "wrist" not in mapping.bones:
        return replace(mapping, carrier=None)
    return mapping if mapping.carrier in shared else replace(mapping, carrier=shared[0])
