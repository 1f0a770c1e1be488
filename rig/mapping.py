"""The person's own mapping of a hand: checked, kept on the armature, and shared as a JSON preset.

It is kept as JSON in a custom property of the armature object, one for each side, so that it is saved with the file,
can be overridden in a library override, and a damaged one says so. Where an override's library has no such property
the scene keeps it as well, by the override's name.
"""

import json
from collections.abc import Mapping as Table
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import RigError
from ..files import write_json
from ..hand.joints import DIGITS, JOINT_INDEX, SIDES, Side, digit_of
from .blend_text import is_kept_whole

if TYPE_CHECKING:
    from bpy.types import Object, Scene

VERSION = 2
READ = (1, 2)
"""Version 1 knows no turns."""
MOST_BYTES = 64 * 1024
LONGEST_NAME = 255
FORGOTTEN = ""
"""In place of a mapping that the library of an override keeps."""
_KINDS = {list: "a list", str: "a text", bool: "true or false", int: "a number", float: "a number"}
"""What JSON that is no object is called."""
PROPERTIES: dict[Side, str] = {side: f"knuckle_mapping_{side}" for side in SIDES}
"""The custom property of an armature for each side."""


@dataclass(frozen=True, slots=True)
class Mapping:
    """Which bone of an armature is which joint of a hand, as yet perhaps of some joints only (`check_whole`).

    Raises RigError for what is no side, joint, name or turn, and for a bone of two joints.
    """

    side: Side
    bones: Table[str, str]
    """joint -> bone"""
    carrier: str | None = None
    """The bone that carries the digits where a control of the wrist is keyed."""
    where: str = field(default="the mapping", compare=False)
    """What errors begin with."""
    turns: Table[str, float] = field(default_factory=dict)
    """digit -> degrees, −180..180, by which the plane in which it curls is turned about its bones, in the sense of
    HandModel's twist: 180 where it curls the other way."""

    def __post_init__(self) -> None:
        _check(self)

    @property
    def digits(self) -> tuple[str, ...]:
        """The digits that have a bone, thumb first."""
        have = {digit_of(joint) for joint in self.bones}
        return tuple(digit for digit in DIGITS if digit in have)


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
    for digit, turn in mapping.turns.items():
        if digit not in DIGITS or not _is_turn(turn):
            raise RigError(
                f"{mapping.where}: the turn of {digit!r:.40} is {turn!r:.40}, expected a digit of "
                f"{', '.join(DIGITS)} and degrees between -180 and 180"
            )


def check_whole(mapping: Mapping) -> None:
    """Raises RigError for a mapping without a wrist or without any digit: too little to be a hand."""
    if "wrist" not in mapping.bones or not mapping.digits:
        raise RigError(f"{mapping.where}: it has {len(mapping.bones)} bones, expected a wrist and at least one digit")


def _is_name(bone: Any) -> bool:
    return isinstance(bone, str) and 0 < len(bone) <= LONGEST_NAME and is_kept_whole(bone)


def _is_turn(turn: Any) -> bool:
    return isinstance(turn, int | float) and not isinstance(turn, bool) and -180 <= turn <= 180


def to_dict(mapping: Mapping) -> dict[str, Any]:
    """A mapping as JSON holds it."""
    carrier = {"carrier": mapping.carrier} if mapping.carrier else {}
    turns = {"turns": dict(mapping.turns)} if mapping.turns else {}
    return {"version": VERSION, "side": mapping.side, "bones": dict(mapping.bones), **carrier, **turns}


def from_dict(data: Any, where: str) -> Mapping:
    """The inverse of to_dict. Raises RigError naming `where` and what is wrong with it."""
    if not isinstance(data, dict):
        raise RigError(
            f"{where}: it is {_KINDS.get(type(data), 'null')}, expected an object: a mapping saved by Knuckle"
        )
    if isinstance(data.get("version"), bool) or data.get("version") not in READ:
        raise RigError(
            f"{where}: its version is {data.get('version')!r:.40}, expected 1 or 2: a mapping saved by Knuckle"
        )
    bones = data.get("bones")
    if not isinstance(bones, dict) or len(bones) > len(JOINT_INDEX):
        raise RigError(f"{where}: bones is {bones!r:.60}, expected at most {len(JOINT_INDEX)} joints with their bones")
    turns = data.get("turns", {})
    if not isinstance(turns, dict):
        raise RigError(f"{where}: turns is {turns!r:.60}, expected digits with their degrees")
    return Mapping(data.get("side", ""), bones, data.get("carrier"), where, turns)


def check_bones(armature: "Object", mapping: Mapping) -> None:
    """Raises RigError for a bone that an armature does not have."""
    for joint, bone in [*mapping.bones.items(), ("the carrier", mapping.carrier)]:
        if bone is not None and bone not in armature.data.bones:
            raise RigError(
                f"{mapping.where}: armature '{armature.name}' has no bone '{bone}' for {joint}, pick another bone"
            )


def save_mapping(armature: "Object", mapping: Mapping) -> None:
    """Keeps a mapping on an armature, from where find_hands takes it.

    Raises RigError for a bone that is not there, and then nothing has changed.
    """
    check_bones(armature, mapping)
    _keep(armature, mapping.side, json.dumps(to_dict(mapping), ensure_ascii=False))


def saved_mapping(armature: "Object") -> dict[Side, Mapping]:
    """The mappings kept on an armature, whole or begun. Raises RigError for a damaged one, or one of bones gone."""
    found: dict[Side, Mapping] = {}
    for side in SIDES:
        mapping = kept_mapping(armature, side)
        if mapping is not None:
            check_bones(armature, mapping)
            found[side] = mapping
    return found


def kept_mapping(armature: "Object", side: Side) -> Mapping | None:
    """What an armature keeps for a side, as it is, None if nothing. Raises RigError for one that is damaged."""
    text = kept_text(armature, side)
    if text == FORGOTTEN:
        return None
    where = f"armature '{armature.name}', its own mapping of the {side} hand"
    mapping = from_dict(_decoded(text, where, "forget it and detect again"), where)
    if mapping.side != side:
        raise RigError(f"{where}: its side is {mapping.side}, forget it and detect again")
    return mapping


def forget_mapping(armature: "Object", side: Side) -> None:
    """Goes back to what is found by itself."""
    if armature.override_library:
        # What is taken from an override comes back from its library with the next loading.
        if kept_text(armature, side) != FORGOTTEN:
            _keep(armature, side, FORGOTTEN)
    elif armature.get(PROPERTIES[side]) is not None:
        del armature[PROPERTIES[side]]


def kept_text(armature: "Object", side: Side) -> Any:
    """What an armature keeps for a side, not yet understood; FORGOTTEN for nothing."""
    text = armature.get(PROPERTIES[side])
    if text is not None:
        return text
    tables = [_copies(scene, side) for scene in armature.users_scene] if armature.override_library else []
    return next((table[armature.name] for table in tables if armature.name in table), FORGOTTEN)


def _keep(armature: "Object", side: Side, text: str) -> None:
    """Keeps a text on an armature; of a library override in its scenes as well.

    Blender saves a property of an override only if its library has that property.
    """
    name = PROPERTIES[side]
    armature[name] = text
    armature.property_overridable_library_set(f'["{name}"]', True)
    if armature.override_library:
        for scene in armature.users_scene:
            if scene.is_editable:
                scene[name] = json.dumps(_copies(scene, side) | {armature.name: text})


def _copies(scene: "Scene", side: Side) -> dict[str, Any]:
    """What a scene keeps in place of its library overrides: an override's name -> text; damaged it is nothing."""
    try:
        kept = json.loads(scene.get(PROPERTIES[side], "{}"))
    except (TypeError, ValueError, RecursionError):
        return {}
    return kept if isinstance(kept, dict) else {}


def picked(mapping: Mapping, joint: str, bone: str | None) -> Mapping:
    """The mapping with a bone picked for a joint, None to take its bone away; a bone that had another joint moves.

    Raises RigError for an unknown joint.
    """
    bones = {own: name for own, name in mapping.bones.items() if own != joint and name != bone}
    if bone is not None:
        bones[joint] = bone
    return replace(mapping, bones=bones)


def write_preset(path: Path, mapping: Mapping) -> None:
    """Saves a mapping as a file that can be shared. Raises FileError if it cannot be written."""
    write_json(path, to_dict(mapping))


def read_preset(path: Path) -> Mapping:
    """A mapping from a preset's file. Raises RigError naming the file and what is wrong with it."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise RigError(f"{path}: larger than {MOST_BYTES // 1024} KiB, expected a mapping saved by Knuckle")
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise RigError(f"{path}: cannot be read ({error.strerror})") from error
    except ValueError as error:
        raise RigError(f"{path}: not a text, expected a mapping saved by Knuckle") from error
    mapping = from_dict(_decoded(text, str(path), "expected a mapping saved by Knuckle"), str(path))
    check_whole(mapping)
    return mapping


def _decoded(text: Any, where: str, remedy: str) -> Any:
    if not isinstance(text, str) or len(text) > MOST_BYTES:
        raise RigError(f"{where}: {type(text).__name__} of another size than a mapping has, {remedy}")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RigError(f"{where}: not JSON, {remedy}") from error
