"""Data paths of bones' channels, as curves have them: pose.bones["NAME"].location."""

from collections.abc import Collection, Iterable

import bpy

_PREFIX, _END = 'pose.bones["', '"].'


def bone_path(bone: str, channel: str = "") -> str:
    """Return the data path of a bone's channel; without a channel, the common prefix of all its paths."""
    return f"{_PREFIX}{bpy.utils.escape_identifier(bone)}{_END}{channel}"


def bone_and_channel(path: str) -> tuple[str, str]:
    """Return the bone of a data path and its channel; an empty name for other paths."""
    end = path.rfind(_END)
    if not path.startswith(_PREFIX) or end < 0:
        return "", path
    return bpy.utils.unescape_identifier(path[len(_PREFIX) : end]), path[end + len(_END) :]


def bones_with_paths(bones: Iterable[str], paths: Collection[str]) -> set[str]:
    """Return those of `bones` that have at least one of the data paths."""
    prefixes = {bone: bone_path(bone) for bone in bones}
    return {bone for bone, prefix in prefixes.items() if any(path.startswith(prefix) for path in paths)}
