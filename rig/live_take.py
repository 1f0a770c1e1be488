"""A live recording as keys: a take on top of whatever the armature plays."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..hand.forearm import WristForearm, resample_forearm
from ..hand.generators import Steps, part_of
from ..hand.joints import JOINTS
from ..hand.kinematics import Pose
from ..hand.pose_interpolation import interpolate_pose
from .keys.frame_times import scene_frames, scene_rate
from .keys.hand_motion import KeyedHand
from .keys.layered_keys import key_above_stepwise
from .keys.predicted_keys import mark_predicted
from .keys.take_report import TIMECODE_PROPERTY
from .posing.rig_hand import RigHand

if TYPE_CHECKING:
    from bpy.types import Object, Scene

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


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
    predicted: Mapping[str, Bools] = field(default_factory=dict)
    """Hand -> (F,) whether it was not seen in a frame, if known."""
    forearms: Mapping[str, WristForearm] = field(default_factory=dict)
    """Hand -> the performer's forearm in the F frames, if the device sent it."""
    timecode: str = ""
    """SMPTE timecode of the first frame, if the device sends it."""


def key_live(take: LiveTake, scene: "Scene", start: float) -> "Steps[None]":
    """Key a live take piece by piece, one action for each armature; its first frame falls on scene frame `start`.

    If the device is faster than the scene, each scene frame has a key; else each of the device's frames. If the
    generator is closed early, armatures with incomplete keys are left unchanged. Raises RigError as key_hands does.
    """
    times = np.maximum.accumulate(take.times)
    recorded = scene_frames(times, float(times[0]), start, scene_rate(scene))
    # Frames of the same moment become one key.
    rows = np.flatnonzero(np.diff(recorded, prepend=-np.inf) > 1e-6)
    recorded = recorded[rows]
    whole = np.arange(recorded[0], recorded[-1] + 1e-6)
    frames = whole if len(whole) < len(recorded) else recorded
    # A key between two frames is predicted if the frame before it is.
    before = rows[np.clip(np.searchsorted(recorded, frames + 1e-6) - 1, 0, len(rows) - 1)]
    armatures: dict[Object, list[KeyedHand]] = {}
    predicted: dict[Object, dict[str, Bools]] = {}
    for hand in take.rig_hands.keys() & take.poses.keys():
        rig_hand, pose = take.rig_hands[hand], take.poses[hand]
        armature = rig_hand.find_armature()
        if armature is not None:
            assert rig_hand.mover is not None, "apply_pose.make_driven_hand sets it"
            keyed = rig_hand.mover.keyed
            binding = replace(keyed.binding, armature=armature.name)
            displayed = Pose(pose.hand, pose.root[rows], pose.angles[rows])
            live_pose = displayed if frames is recorded else interpolate_pose(displayed, recorded, frames)
            forearm = take.forearms.get(hand)
            if forearm is not None:
                forearm = resample_forearm(forearm.select(rows), recorded, frames)
            captured = None if forearm is None else forearm.on(live_pose.root)
            armatures.setdefault(armature, []).append(
                replace(keyed, binding=binding, pose=live_pose, strains=[], captured=captured)
            )
            marks = take.predicted.get(hand, np.zeros(len(times), bool))[before]
            predicted.setdefault(armature, {})[binding.side] = np.repeat(marks[:, None], len(JOINTS), axis=1)
    for number, (armature, keyed_hands) in enumerate(armatures.items()):
        done, end = number / len(armatures), (number + 1) / len(armatures)
        work = key_above_stepwise(armature, keyed_hands, frames, take.name, scene)
        action = yield from part_of(done, end, f"Keying {armature.name}", work)
        mark_predicted(action, keyed_hands, frames, predicted[armature])
        if take.timecode:
            action[TIMECODE_PROPERTY] = take.timecode
