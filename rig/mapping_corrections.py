"""What a person does to a mapping in one click: picks bones, fills a digit, flips and turns how it curls, mirrors."""

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
    """A found hand as a mapping of the person's own."""
    return Mapping(found.side, dict(found.bones), found.carrier, turns=dict(found.turns))


def to_correct(armature: "Object", side: Side, found: FoundHand | None) -> Mapping:
    """What a correction begins with: the kept mapping without bones that are gone, else what was found, else nothing.

    A kept mapping that cannot be read gives way as well: the person is correcting it.
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
    """The mapping with a digit's curl plane turned so far from what the geometry says, as an angle in −180..180."""
    around = 180.0 - (180.0 - degrees) % 360.0
    turns = {other: turn for other, turn in mapping.turns.items() if other != digit}
    return replace(mapping, turns=turns | ({digit: around} if around else {}))


def flipped(mapping: Mapping, digit: str) -> Mapping:
    """The mapping with a digit that curls the other way."""
    return turned(mapping, digit, mapping.turns.get(digit, 0.0) + 180.0)


def mirrored(mapping: Mapping) -> Mapping:
    """The mapping as the other hand's: its palm faces the other way. What was turned keeps its planes."""
    other = mirror.other(mapping.side)
    return replace(
        mapping, side=other, turns={digit: turn if turn == 180 else -turn for digit, turn in mapping.turns.items()}
    )


def check_free(
    hands: Table[Side, FoundHand | Mapping],
    side: Side,
    bones: Iterable[str],
    remedy: str = "pick another bone, or mirror the hands",
) -> None:
    """Raises RigError for a bone to take for a side that is the other hand's: it would be keyed twice."""
    for other, found in hands.items():
        joints = {bone: joint for joint, bone in found.bones.items()} if other != side else {}
        for bone in bones:
            if bone in joints:
                raise RigError(f"bone '{bone}' is {joints[bone]} of the {other} hand, {remedy}")


def filled(mapping: Mapping, digit: str, bones: Sequence[str], ended: bool) -> Mapping:
    """The mapping with a digit made of a chain of bones, the first that bends first; `ended`: its last marks the tip.

    A digit's bone in the palm stays, all its other bones are replaced; a bone that was another joint's moves.
    """
    kept = {
        joint: bone for joint, bone in mapping.bones.items() if bone not in bones and joint not in CHAIN_JOINTS[digit]
    }
    bending = len(bones) - ended
    joints = (*bending_joints(digit, bending), *((DIGIT_JOINTS[digit][-1],) if bending < len(bones) else ()))
    return replace(mapping, bones=kept | dict(zip(joints, bones, strict=False)))


def outward(armature: "Object", first: str) -> tuple[tuple[str, ...], bool]:
    """The bones of a digit from its first one to its tip, at most four, and whether the last one only marks the tip.

    Followed is the visible bone that hangs on the last one, on a hidden bone that does, and of several the one that
    begins nearest to where the last one ends.
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
    """Whether a bone is not hidden in Pose Mode, and in a collection that is shown, if it is in any."""
    bone, posed = armature.data.bones[name], armature.pose.bones[name]
    # Blender 5 hides bones of Pose Mode by themselves.
    if getattr(posed, "hide", bone.hide):
        return False
    return not bone.collections or any(one.is_visible_effectively for one in bone.collections)


def with_carrier(armature: "Object", mapping: Mapping) -> Mapping:
    """The mapping with the bone that carries its digits: none where that is the wrist's own, else the last bone above
    all of them. A carrier that they hang on stays.
    """
    bones = armature.data.bones
    firsts = [bones[name] for joint, name in mapping.bones.items() if joint != "wrist"]
    above = [[other.name for other in bone.parent_recursive] for bone in firsts]
    shared = [name for name in above[0] if all(name in others for others in above[1:])] if above else []
    if mapping.bones.get("wrist") in shared or not shared or "wrist" not in mapping.bones:
        return replace(mapping, carrier=None)
    return mapping if mapping.carrier in shared else replace(mapping, carrier=shared[0])
