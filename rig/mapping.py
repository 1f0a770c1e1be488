"""The user's own mapping of a hand: validated, saved on the armature, and shared as a JSON preset.

It is saved as JSON in a custom property of the armature object, one for each side, so that it is part of the .blend
file and can be overridden in a library override. Blender drops a property that the library of an override lacks, so the
scene stores a copy under the override's name.
"""

import json
from collections.abc import Mapping as Table
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import RigError
from ..files import write_json
from ..hand.joints import DIGITS, JOINT_INDEX, SIDES, Side, digit_of
from .blend_text import is_storable

if TYPE_CHECKING:
    from bpy.types import Object, Scene

VERSION = 2
READABLE_VERSIONS = (1, 2)
"""Versions that can be read; version 1 has no rotations of curl planes."""
MAX_BYTES = 64 * 1024
LONGEST_NAME = 255
NO_MAPPING = ""
"""Stored in an override to hide the mapping saved in its library."""
_KINDS = {list: "a list", str: "a text", bool: "true or false", int: "a number", float: "a number"}
"""Names of JSON values that are not objects, for error messages."""
PROPERTIES: dict[Side, str] = {side: f"knuckle_mapping_{side}" for side in SIDES}
"""The custom property of an armature for each side."""


@dataclass(frozen=True, slots=True)
class Mapping:
    """Which bone of an armature is which joint of a hand; it may be incomplete (`check_whole`).

    Raises RigError for an invalid side, joint, bone name or rotation, and for a bone mapped to two joints.
    """

    side: Side
    bones: Table[str, str]
    """joint -> bone"""
    carrier: str | None = None
    """The digits' parent bone, if the wrist's bone is a control that moves it."""
    where: str = field(default="the mapping", compare=False)
    """The beginning of error messages."""
    curl_angles: Table[str, float] = field(default_factory=dict)
    """digit -> degrees, −180..180, by which its curl plane is rotated about its bones, in the sense of HandModel's
    twist; 180 flips the direction in which it curls."""

    def __post_init__(self) -> None:
        _check(self)

    @property
    def digits(self) -> tuple[str, ...]:
        """Digits that have a bone, thumb first."""
        mapped = {digit_of(joint) for joint in self.bones}
        return tuple(digit for digit in DIGITS if digit in mapped)


def _check(mapping: Mapping) -> None:
    if mapping.side not in SIDES:
        raise RigError(f"{mapping.where}: its side is {mapping.side!r:.40}, expected 'left' or 'right'")
    owner: dict[str, str] = {}
    for joint, bone in mapping.bones.items():
        if joint not in JOINT_INDEX:
            raise RigError(f"{mapping.where}: there is no joint {joint!r:.60}, expected WebXR's names such as 'wrist'")
        if not _is_name(bone):
            raise RigError(f"{mapping.where}: the bone of {joint} is {bone!r:.60}, expected the name of a bone")
        if bone in owner:
            raise RigError(
                f"{mapping.where}: bone '{bone}' is both {owner[bone]} and {joint}, expected another bone for one"
            )
        owner[bone] = joint
    if mapping.carrier is not None and not _is_name(mapping.carrier):
        raise RigError(f"{mapping.where}: its carrier is {mapping.carrier!r:.60}, expected the name of a bone")
    for digit, angle in mapping.curl_angles.items():
        if digit not in DIGITS or not _is_angle(angle):
            raise RigError(
                f"{mapping.where}: the turn of {digit!r:.40} is {angle!r:.40}, expected a digit of "
                f"{', '.join(DIGITS)} and degrees between -180 and 180"
            )


def check_whole(mapping: Mapping) -> None:
    """Raise RigError for a mapping without a wrist or without any digit."""
    if "wrist" not in mapping.bones or not mapping.digits:
        raise RigError(f"{mapping.where}: it has {len(mapping.bones)} bones, expected a wrist and at least one digit")


def _is_name(bone: Any) -> bool:
    return isinstance(bone, str) and 0 < len(bone) <= LONGEST_NAME and is_storable(bone)


def _is_angle(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and -180 <= value <= 180


def to_dict(mapping: Mapping) -> dict[str, Any]:
    """Return a mapping as JSON data."""
    carrier = {"carrier": mapping.carrier} if mapping.carrier else {}
    angles = {"turns": dict(mapping.curl_angles)} if mapping.curl_angles else {}
    return {"version": VERSION, "side": mapping.side, "bones": dict(mapping.bones), **carrier, **angles}


def from_dict(data: Any, where: str) -> Mapping:
    """Return the mapping of JSON data, the inverse of to_dict. Raises RigError, naming `where`, for invalid data."""
    if not isinstance(data, dict):
        raise RigError(
            f"{where}: it is {_KINDS.get(type(data), 'null')}, expected an object: a mapping saved by Knuckle"
        )
    if isinstance(data.get("version"), bool) or data.get("version") not in READABLE_VERSIONS:
        raise RigError(
            f"{where}: its version is {data.get('version')!r:.40}, expected 1 or 2: a mapping saved by Knuckle"
        )
    bones = data.get("bones")
    if not isinstance(bones, dict) or len(bones) > len(JOINT_INDEX):
        raise RigError(f"{where}: bones is {bones!r:.60}, expected at most {len(JOINT_INDEX)} joints with their bones")
    angles = data.get("turns", {})
    if not isinstance(angles, dict):
        raise RigError(f"{where}: turns is {angles!r:.60}, expected digits with their degrees")
    return Mapping(data.get("side", ""), bones, data.get("carrier"), where, angles)


def check_bones(armature: "Object", mapping: Mapping) -> None:
    """Raise RigError if an armature lacks a bone of a mapping."""
    for joint, bone in [*mapping.bones.items(), ("the carrier", mapping.carrier)]:
        if bone is not None and bone not in armature.data.bones:
            raise RigError(
                f"{mapping.where}: armature '{armature.name}' has no bone '{bone}' for {joint}, pick another bone"
            )


def save_mapping(armature: "Object", mapping: Mapping) -> None:
    """Save a mapping on an armature, where find_hands reads it.

    Raises RigError for a missing bone, and then changes nothing.
    """
    check_bones(armature, mapping)
    _save_text(armature, mapping.side, json.dumps(to_dict(mapping), ensure_ascii=False))


def saved_mappings(armature: "Object") -> dict[Side, Mapping]:
    """Return the mappings saved on an armature, complete or not. Raises RigError for damaged ones and missing bones."""
    mappings: dict[Side, Mapping] = {}
    for side in SIDES:
        mapping = saved_mapping(armature, side)
        if mapping is not None:
            check_bones(armature, mapping)
            mappings[side] = mapping
    return mappings


def saved_mapping(armature: "Object", side: Side) -> Mapping | None:
    """Return the mapping saved for a side, None if there is none. Raises RigError for a damaged one."""
    text = saved_text(armature, side)
    if text == NO_MAPPING:
        return None
    where = f"armature '{armature.name}', its own mapping of the {side} hand"
    mapping = from_dict(_parsed(text, where, "forget it and detect again"), where)
    if mapping.side != side:
        raise RigError(f"{where}: its side is {mapping.side}, forget it and detect again")
    return mapping


def forget_mapping(armature: "Object", side: Side) -> None:
    """Delete a saved mapping, so that the hand is detected again."""
    if armature.override_library:
        # A property deleted from an override comes back from its library when the file is loaded again.
        if saved_text(armature, side) != NO_MAPPING:
            _save_text(armature, side, NO_MAPPING)
    elif armature.get(PROPERTIES[side]) is not None:
        del armature[PROPERTIES[side]]


def saved_text(armature: "Object", side: Side) -> Any:
    """Return the raw text saved for a side; NO_MAPPING for none."""
    text = armature.get(PROPERTIES[side])
    if text is not None:
        return text
    copies = [_scene_texts(scene, side) for scene in armature.users_scene] if armature.override_library else []
    return next((texts[armature.name] for texts in copies if armature.name in texts), NO_MAPPING)


def _save_text(armature: "Object", side: Side, text: str) -> None:
    """Save a text on an armature, and for a library override in its scenes as well.

    Blender saves a property of an override only if its library has that property.
    """
    name = PROPERTIES[side]
    armature[name] = text
    armature.property_overridable_library_set(f'["{name}"]', True)
    if armature.override_library:
        for scene in armature.users_scene:
            if scene.is_editable:
                scene[name] = json.dumps(_scene_texts(scene, side) | {armature.name: text})


def _scene_texts(scene: "Scene", side: Side) -> dict[str, Any]:
    """Return the texts that a scene stores for its library overrides by name; none if they are damaged."""
    try:
        texts = json.loads(scene.get(PROPERTIES[side], "{}"))
    except (TypeError, ValueError, RecursionError):
        return {}
    return texts if isinstance(texts, dict) else {}


def with_bone(mapping: Mapping, joint: str, bone: str | None) -> Mapping:
    """Return the mapping with a bone assigned to a joint, None to unassign; the bone is removed from any other joint.

    Raises RigError for an unknown joint.
    """
    bones = {other_joint: name for other_joint, name in mapping.bones.items() if other_joint != joint and name != bone}
    if bone is not None:
        bones[joint] = bone
    return replace(mapping, bones=bones)


def write_preset(path: Path, mapping: Mapping) -> None:
    """Save a mapping as a preset file. Raises FileError if it cannot be written."""
    write_json(path, to_dict(mapping))


def read_preset(path: Path) -> Mapping:
    """Read a mapping from a preset file. Raises RigError, naming the file, if it is invalid."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise RigError(f"{path}: larger than {MAX_BYTES // 1024} KiB, expected a mapping saved by Knuckle")
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise RigError(f"{path}: cannot be read ({error.strerror})") from error
    except ValueError as error:
        raise RigError(f"{path}: not a text, expected a mapping saved by Knuckle") from error
    mapping = from_dict(_parsed(text, str(path), "expected a mapping saved by Knuckle"), str(path))
    check_whole(mapping)
    return mapping


def _parsed(text: Any, where: str, remedy: str) -> Any:
    if not isinstance(text, str) or len(text) > MAX_BYTES:
        raise RigError(f"{where}: {type(text).__name__} of another size than a mapping has, {remedy}")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RigError(f"{where}: not JSON, {remedy}") from error
