"""Bones that the user has renamed: Blender renames them in the played action, but not in a take's base."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from ..bone_paths import bone_and_channel, bone_path

if TYPE_CHECKING:
    from bpy.types import FCurve, Object


def renamed_bones(armature: "Object", curves: "Iterable[FCurve]", played: "Iterable[FCurve]") -> dict[str, str]:
    """Return the new names of bones in curves, by the curves that the armature plays: old name -> new.

    Only missing bones can have been renamed, and only to names that no curve had before. The result is empty unless
    both are equally many and each new name has at least the channels of the old one, since curves may have been deleted
    or added meanwhile.
    """
    before, current, bones = _channels(curves), _channels(played), armature.pose.bones
    missing = {bone: channels for bone, channels in before.items() if bone not in bones}
    new = {bone: channels for bone, channels in current.items() if bone not in before and bone in bones}
    if len(missing) != len(new) or not all(old <= new[bone] for old, bone in zip(missing.values(), new, strict=True)):
        return {}
    return dict(zip(missing, new, strict=True))


def with_new_names(curves: "Iterable[FCurve]", renamed: Mapping[str, str]) -> "Iterator[tuple[str, FCurve]]":
    """Yield curves, each with its data path under the new name of its bone."""
    for curve in curves:
        bone, channel = bone_and_channel(curve.data_path)
        if bone in renamed:
            yield bone_path(renamed[bone], channel), curve
        else:
            yield curve.data_path, curve


def _channels(curves: "Iterable[FCurve]") -> dict[str, set[tuple[str, int]]]:
    """Return bone -> its channels, in the order of the curves."""
    found: dict[str, set[tuple[str, int]]] = {}
    for curve in curves:
        bone, channel = bone_and_channel(curve.data_path)
        if bone:
            found.setdefault(bone, set()).add((channel, curve.array_index))
    return found
