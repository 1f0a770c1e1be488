"""What was shown live, as keys: a take over whatever the armature plays."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import bpy
import numpy as np
from numpy.typing import NDArray

from ..hand.kinematics import Pose
from .keyframes import KeyedHand, key_hands
from .layers import TAKE, push_down
from .posing import PosedHand
from .timing import scene_frames, scene_rate

if TYPE_CHECKING:
    from bpy.types import Action, Object, Scene

Floats = NDArray[np.float64]

TIMECODE = "knuckle_timecode"
"""The property of an action that holds the timecode of its first key."""


@dataclass(frozen=True, slots=True, eq=False)
class LiveTake:
    """What was shown of hands, from when it was begun until it was ended."""

    name: str
    kept: Sequence[tuple[float, Mapping[str, Pose]]]
    """(s, hand -> as it was shown) of each frame, in their order; at least one."""
    posed: Mapping[str, PosedHand]
    """Hand -> what it drove."""
    place: Floats
    """(4, 4) T_scene_device."""
    timecode: str = ""
    """SMPTE timecode of the first frame, where the device sends it."""


def key_live(take: LiveTake, scene: "Scene", start: float) -> "tuple[Action, ...]":
    """Keys a take, one action for each armature; its first frame falls on the scene's frame `start`.

    A hand that came later stands till then as it came. Raises RigError as key_hands does.
    """
    times = np.maximum.accumulate([time for time, _ in take.kept])
    frames = scene_frames(times, float(times[0]), start, scene_rate(scene))
    # Two frames of one moment are one key.
    rows = np.flatnonzero(np.diff(frames, prepend=-np.inf) > 1e-6)
    armatures: dict[str, list[KeyedHand]] = {}
    for hand, drives in take.posed.items():
        poses = [shown.get(hand) for _, shown in take.kept]
        if any(pose is not None for pose in poses):
            taken = _together([poses[row] for row in rows], take.place)
            armatures.setdefault(drives.binding.armature, []).append(KeyedHand(drives.binding, drives.hand, taken))
    actions = []
    for armature_name, keyed in armatures.items():
        armature: Object | None = bpy.data.objects.get(armature_name)
        if armature is None:
            continue
        push_down(armature)
        action = key_hands(armature, keyed, frames[rows], take.name)
        action[TAKE] = True
        if take.timecode:
            action[TIMECODE] = take.timecode
        actions.append(action)
    return tuple(actions)


def _together(poses: Sequence[Pose | None], place: Floats) -> Pose:
    """One pose of all frames; those before the first are as the first."""
    first = next(pose for pose in poses if pose is not None)
    filled: list[Pose] = []
    for pose in poses:
        filled.append(pose or (filled[-1] if filled else first))
    # Measured again in the midst of a take, a hand has other lengths and the same angles.
    roots, angles = np.concatenate([p.root for p in filled]), np.concatenate([p.angles for p in filled])
    return Pose(filled[-1].hand, place @ roots, angles)
