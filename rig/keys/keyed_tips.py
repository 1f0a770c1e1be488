"""Fingertip positions of a rig as it will be keyed: its bones' limits may keep them from the solved pose."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...hand.joints import DIGIT_JOINTS, JOINT_INDEX
from ...hand.kinematics import Pose
from ..binding import RigBinding
from ..pose_transfer import bone_poses

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class KeyedTips:
    """Maps poses to the fingertip positions of a bound hand that is keyed with them."""

    binding: RigBinding
    points: Floats
    """(J, 3) rest positions of its joints in armature space, NaN for missing joints."""
    world: Floats
    """(4, 4) T_world_armature."""

    def __call__(self, pose: Pose) -> Floats:
        """Return fingertip positions (F, 5, 3) m in the wrist's frame, NaN for missing digits."""
        # A limit of the wrist moves the whole hand, so it makes no difference in the wrist's frame.
        limits = {joint: of_bone for joint, of_bone in self.binding.limits.items() if joint}
        binding = replace(self.binding, limits=limits)
        at_origin = Pose(pose.hand, np.broadcast_to(np.eye(4), pose.root.shape), pose.angles)
        bones, _, _ = bone_poses(binding, pose.hand, at_origin, self.world, {})
        rests = np.linalg.inv(binding.bone_rest())
        tips = np.full((len(pose), len(DIGIT_JOINTS), 3), np.nan)
        for row, joints in enumerate(DIGIT_JOINTS.values()):
            mapped = [index for joint in joints if self.binding.bones[index := JOINT_INDEX[joint]]]
            if mapped:
                last = mapped[-1]
                point = rests[last] @ np.append(self.points[JOINT_INDEX[joints[-1]]], 1.0)
                tips[:, row] = (bones[:, last] @ point)[:, :3]
        offsets: Floats = (tips - bones[:, :1, :3, 3]) @ self.world[:3, :3].T
        return offsets
