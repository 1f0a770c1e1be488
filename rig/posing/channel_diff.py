"""Compare the channels of pose bones before and after posing: only the bones that differ are keyed."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bpy.types import Object, PoseBone

TOLERANCE = 2e-6
"""rad and the armature's unit: largest difference that rounding makes in the channels of an unchanged bone."""
CHANNELS = ("location", "rotation_quaternion", "rotation_euler", "rotation_axis_angle", "scale")
Channels = tuple[tuple[float, ...], ...]
"""The values of CHANNELS."""


def channels_of(armature: "Object", bones: Iterable[str]) -> dict[str, Channels]:
    """Return bone -> its channels. Call it before posing; `moved_since` compares afterwards."""
    pose_bones = armature.pose.bones
    return {name: tuple(tuple(getattr(pose_bones[name], channel)) for channel in CHANNELS) for name in bones}


def moved_since(armature: "Object", before: Mapping[str, Channels]) -> tuple[list[str], list[str]]:
    """Return the bones whose channels differ from `before`, and those among them whose location differs."""
    present = channels_of(armature, before)
    moved = [name for name in before if any(map(_differ, present[name], before[name]))]
    return moved, [name for name in moved if _differ(present[name][0], before[name][0])]


def scaled_since(armature: "Object", before: Mapping[str, Channels]) -> list[str]:
    """Return the bones whose scale differs from `before`."""
    present = channels_of(armature, before)
    return [name for name in before if _differ(present[name][-1], before[name][-1])]


def restore_channels(armature: "Object", before: Mapping[str, Channels]) -> None:
    """Restore the channels of bones exactly, where the bones still exist."""
    for name, values in before.items():
        bone: PoseBone | None = armature.pose.bones.get(name)
        if bone is not None:
            for channel, value in zip(CHANNELS, values, strict=True):
                setattr(bone, channel, value)


def _differ(values: tuple[float, ...], other_values: tuple[float, ...]) -> bool:
    return any(abs(value - other) > TOLERANCE for value, other in zip(values, other_values, strict=True))
