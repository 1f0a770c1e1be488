"""Which bones of a pose stand otherwise than they did: those alone are what a person posed, and what is keyed."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bpy.types import Object, PoseBone

SAME = 2e-6
"""rad and the armature's unit: what rounding does to the channels of a bone that stays."""
CHANNELS = ("location", "rotation_quaternion", "rotation_euler", "rotation_axis_angle", "scale")
Channels = tuple[tuple[float, ...], ...]
"""The values of CHANNELS."""


def channels_of(armature: "Object", bones: Iterable[str]) -> dict[str, Channels]:
    """Bone -> how it stands. What moves bones asks this before, and `moved_since` after."""
    return {name: _channels(armature.pose.bones[name]) for name in bones}


def moved_since(armature: "Object", before: Mapping[str, Channels]) -> tuple[list[str], list[str]]:
    """The bones whose channels differ from what they were, and those of them that are in another place: what
    posing_keys.key_posed asks for."""
    now = channels_of(armature, before)
    moved = [name for name in before if any(map(_differ, now[name], before[name]))]
    return moved, [name for name in moved if _differ(now[name][0], before[name][0])]


def scaled_since(armature: "Object", before: Mapping[str, Channels]) -> list[str]:
    """The bones of which the scale differs from what it was."""
    now = channels_of(armature, before)
    return [name for name in before if _differ(now[name][-1], before[name][-1])]


def give_back(armature: "Object", before: Mapping[str, Channels]) -> None:
    """The bones exactly as they were, where they are still there."""
    for name, values in before.items():
        bone: PoseBone | None = armature.pose.bones.get(name)
        if bone is not None:
            for channel, value in zip(CHANNELS, values, strict=True):
                setattr(bone, channel, value)


def _differ(values: tuple[float, ...], others: tuple[float, ...]) -> bool:
    return any(abs(value - other) > SAME for value, other in zip(values, others, strict=True))


def _channels(bone: "PoseBone") -> Channels:
    return tuple(tuple(getattr(bone, channel)) for channel in CHANNELS)
