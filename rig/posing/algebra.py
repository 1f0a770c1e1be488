"""Traces of the solvers' geometric algebra for a rig's hand, cached as long as its pose does not change."""

from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...hand import kinematics
from ...hand.joints import CHAIN_JOINTS, DIGITS, Side
from ...hand.kinematics import Pose
from ...posing.algebra_shapes import Trace, Tracer, trace_arm, trace_palm, with_rigid_palm
from ...solvers import arm as arms
from ..detection_cache import DetectedHands
from ..keys.arm_keys import arm_following
from .following import HandArm, current_arm
from .posable_cache import posable_hand, posable_hand_arm
from .rig_hand import RigHand

if TYPE_CHECKING:
    from bpy.types import Object

Floats = NDArray[np.float64]

PARTS = ("arm", "palm", *DIGITS)
"""Parts of a hand that have traces."""
ROUNDING = 1e-5
"""Largest difference between the rest frames of equal palms, in m and elements of rotation matrices."""


@dataclass(frozen=True, slots=True, eq=False)
class _CachedTraces:
    """The last traces, and a key of the inputs that they were computed from."""

    key: Hashable
    traces: tuple[Trace, ...]


class TraceCache:
    """Caches the last traces of one hand. It holds only names and numbers, and may be emptied at any time."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Empty the cache: the traces are computed again on the next call."""
        self._hand: tuple[RigHand, HandArm] | None = None
        self._tracer: Tracer | None = None
        self._cached: _CachedTraces | None = None

    def traces(
        self,
        armature: "Object",
        known: DetectedHands,
        side: Side,
        parts: Collection[str],
        targets: Mapping[str, Floats] | None = None,
    ) -> tuple[Trace, ...]:
        """Return the traces of a hand in the pose that Blender evaluated last.

        Args:
            armature: the armature.
            known: its detected hands.
            side: the side of the hand.
            parts: some of PARTS. The traces are returned in the order of PARTS.
            targets: digit -> (3,) m in the world, the target of its tip in the drag that made the pose.

        Raises:
            RigError, HandError: the hand cannot be posed or solved.
        """
        hand_arm = self._cached_hand_arm(armature, known, side)
        pose, positions = hand_arm.rig_hand.read_pose(), hand_arm.rig_hand.evaluated_frames()[:, :3, 3]
        goals = targets or {}
        arm = current_arm(hand_arm) if "arm" in parts else None
        content = [pose.root.tobytes(), positions.tobytes(), *(position.tobytes() for position in goals.values())]
        content += [position.tobytes() for position in (arm or ())[1:]]
        key = (id(hand_arm), tuple(sorted(parts)), tuple(goals), *content)
        if self._cached is None or self._cached.key != key:
            rigid_pose = with_rigid_palm(pose, positions)
            drawn_parts = [
                part for part in PARTS if part in parts and (part not in DIGITS or part in hand_arm.rig_hand.digits)
            ]
            traces = [
                self._trace(rigid_pose, positions, part, goals.get(part)) for part in drawn_parts if part != "arm"
            ]
            if arm is not None:
                traces.insert(
                    0,
                    _trace_arm(
                        *arm, rigid_pose, next((part for part in drawn_parts if part in DIGITS), "middle-finger")
                    ),
                )
            self._cached = _CachedTraces(key, tuple(traces))
        return self._cached.traces

    def _cached_hand_arm(self, armature: "Object", known: DetectedHands, side: Side) -> HandArm:
        """Return the hand with its arm. The arm is searched for only if the hand has changed."""
        rig_hand = posable_hand(armature, side, known)
        if self._hand is None or self._hand[0] is not rig_hand:
            hand_arm = posable_hand_arm(armature, side, known)
            # An arm in IK is drawn too.
            self._hand = rig_hand, replace(hand_arm, arm=hand_arm.arm or arm_following(armature, known.hands[side]))
            self._tracer = None
        return self._hand[1]

    def _trace(self, rigid_pose: Pose, positions: Floats, part: str, goal: Floats | None) -> Trace:
        if part == "palm":
            return trace_palm(rigid_pose.hand, rigid_pose)
        hand, tracer = rigid_pose.hand, self._tracer
        if tracer is None or not np.allclose(hand.rest, tracer.hand.rest, rtol=0.0, atol=ROUNDING):
            tracer = self._tracer = Tracer(hand)
        return tracer.digit(Pose(tracer.hand, rigid_pose.root, rigid_pose.angles), part, goal, positions)


def _trace_arm(arm: arms.Arm, shoulder: Floats, elbow: Floats, pose: Pose, digit: str) -> Trace:
    frames = kinematics.joint_frames(pose.hand, pose)[0]
    end = frames[pose.hand.joints.index(CHAIN_JOINTS[digit][-1]), :3, 3]
    return trace_arm(arm, shoulder, elbow, pose.root[0, :3, 3], end)
