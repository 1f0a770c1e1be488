"""The format of the tables of bone names, and their readers."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ...errors import RigError
from ...hand.joints import DIGITS, JOINT_INDEX, SIDES, Side

VERSION = 1
MAX_BYTES = 64 * 1024
LONGEST_NAME = 200
ARM_PARTS: tuple[Literal["fore"], Literal["upper"]] = ("fore", "upper")
"""The parts of an arm."""


@dataclass(frozen=True, slots=True)
class BoneNaming:
    """The names of a hand's bones in one family of rigs."""

    name: str
    """The family's name as shown to users."""
    sides: dict[Side, str]
    """Replacements of {side} in the names; '' for both if files hold one hand and do not name its side."""
    bones: dict[str, str]
    """joint -> bone name with {side}; joints that the family never has are left out."""

    def bone_names(self, side: Side) -> dict[str, str]:
        """Return joint -> bone name of one side."""
        return {joint: bone.replace("{side}", self.sides[side]) for joint, bone in self.bones.items()}


@dataclass(frozen=True, slots=True)
class NameWords:
    """Words that identify bones of unknown families. Each is the beginning of a token of the name, in lower case."""

    digits: dict[str, tuple[str, ...]]
    sides: dict[str, tuple[str, ...]]
    """side -> words; these must be whole tokens."""
    arms: dict[str, tuple[str, ...]]
    """upper or fore -> strings contained in a name's letters without separators; with $ only at the end, as Mixamo's
    upper arm is LeftArm."""
    ends: tuple[str, ...]
    """Words for bones that only mark the end of a digit."""
    others: tuple[str, ...]
    """Words for bones that are not part of a hand."""


def read_family(path: Path) -> BoneNaming:
    """Read a family from its JSON file. Raises RigError, naming the file, if it is invalid."""
    data = read_table(path)
    name, sides, bones = data.get("name"), data.get("sides"), data.get("bones")
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME:
        raise RigError(f"{path.name}: its name is {name!r}, expected the name of the family")
    if not isinstance(sides, dict) or set(sides) != set(SIDES) or not all(map(_is_name, sides.values())):
        raise RigError(f"{path.name}: sides is {sides!r:.80}, expected how 'left' and 'right' are spelled")
    if not isinstance(bones, dict) or not bones:
        raise RigError(f"{path.name}: bones is {bones!r:.80}, expected joints and the names of their bones")
    for joint, bone in bones.items():
        if joint not in JOINT_INDEX:
            raise RigError(f"{path.name}: there is no joint '{joint:.60}', expected WebXR's names")
        if not _is_name(bone) or not bone:
            raise RigError(f"{path.name}: the bone of {joint} is {bone!r:.80}, expected a name")
    if len(set(bones.values())) < len(bones):
        raise RigError(f"{path.name}: a bone is named for two joints, expected one for each")
    return BoneNaming(name, {side: sides[side] for side in SIDES}, bones)


def read_words(path: Path) -> NameWords:
    """Read the table of words. Raises RigError, naming the file, if it is invalid."""
    data = read_table(path)
    digits, sides, arms = data.get("digits"), data.get("sides"), data.get("arms")
    if not isinstance(digits, dict) or set(digits) != set(DIGITS):
        raise RigError(f"{path.name}: digits is {digits!r:.80}, expected words for {', '.join(DIGITS)}")
    if not isinstance(sides, dict) or set(sides) != set(SIDES):
        raise RigError(f"{path.name}: sides is {sides!r:.80}, expected words for left and right")
    if not isinstance(arms, dict) or set(arms) != set(ARM_PARTS):
        raise RigError(f"{path.name}: arms is {arms!r:.80}, expected words for upper and fore")
    return NameWords(
        {digit: _words(path, digits[digit]) for digit in DIGITS},
        {side: _words(path, sides[side]) for side in SIDES},
        {part: _words(path, arms[part]) for part in ARM_PARTS},
        _words(path, data.get("ends")),
        _words(path, data.get("others")),
    )


def read_table(path: Path) -> dict[str, Any]:
    """Read a table's JSON. Raises RigError for a file that is too large, not JSON, or of another version."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise RigError(f"{path.name}: larger than {MAX_BYTES // 1024} KiB, expected a table of bone names")
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RigError(f"{path.name}: cannot be read ({error.strerror})") from error
    except (ValueError, RecursionError) as error:
        raise RigError(f"{path.name}: not a JSON text") from error
    if not isinstance(data, dict) or data.get("version") != VERSION:
        found = data.get("version") if isinstance(data, dict) else type(data).__name__
        raise RigError(f"{path.name}: its version is {found!r:.40}, expected {VERSION}")
    return data


def _words(path: Path, words: Any) -> tuple[str, ...]:
    if not isinstance(words, list) or not words or not all(_is_name(word) and word for word in words):
        raise RigError(f"{path.name}: {words!r:.80} is not a list of words")
    return tuple(words)


def _is_name(name: Any) -> bool:
    return isinstance(name, str) and len(name) <= LONGEST_NAME
