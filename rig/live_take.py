"""A live recording as keys: a take on top of whatever the armature plays."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..errors import KnuckleError
from ..hand.kinematics import Pose
from .keys.frame_times import scene_frames, scene_rate
from .keys.keyframes import KeyedHand, key_hands
from .keys.nla_layers import TAKE_PROPERTY, pull_up, push_down
from .keys.take_report import TIMECODE_PROPERTY
from .posing.rig_hand import RigHand

if TYPE_CHECKING:
    from bpy.types import Action, Object, Scene

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class LiveTake:
    """The poses shown between the start and the end of a live recording."""

    name: str
    times: Floats
    """(F,) s, at least one."""
    poses: Mapping[str, Pose]
    """Hand -> its poses in the F frames, in world space."""
    rig_hands: Mapping[str, RigHand]
    """Hand -> the rig's hand that it drove."""
    timecode: str = ""
    """SMPTE timecode of the first frame, if the device sends it."""


def key_live(take: LiveTake, scene: "Scene", start: float) -> "tuple[Action, ...]":
    """Key a live take, one action for each armature; its first frame falls on scene frame `start`.

    Raises RigError as key_hands does.
    """
    times = np.maximum.accumulate(take.times)
    frames = scene_frames(times, float(times[0]), start, scene_rate(scene))
    # Frames of the same moment become one key.
    rows = np.flatnonzero(np.diff(frames, prepend=-np.inf) > 1e-6)
    armatures: dict[Object, list[KeyedHand]] = {}
    for hand in take.rig_hands.keys() & take.poses.keys():
        rig_hand, pose = take.rig_hands[hand], take.poses[hand]
        armature = rig_hand.find_armature()
        if armature is not None:
            binding = replace(rig_hand.binding, armature=armature.name)
            live_pose = Pose(pose.hand, pose.root[rows], pose.angles[rows])
            armatures.setdefault(armature, []).append(KeyedHand(binding, rig_hand.hand, live_pose))
    span = min(frames[0], scene.frame_start), max(frames[-1], scene.frame_end)
    actions = []
    for armature, keyed in armatures.items():
        bones = {str(bone) for each in keyed for bone in each.binding.bones if bone}
        strip = push_down(armature, bones, span)
        try:
            action = key_hands(armature, keyed, frames[rows], take.name)
        except KnuckleError:
            pull_up(armature, strip)
            raise
        action[TAKE_PROPERTY] = True
        if take.timecode:
            action[TIMECODE_PROPERTY] = take.timecode
        actions.append(action)
    return tuple(actions)
