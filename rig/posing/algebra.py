"""Traces of the solvers' geometric algebra for a rig's hand, cached while its pose stays."""

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
from .following import HandArm, standing_arm
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
class _Answer:
    """The last traces."""

    of: Hashable
    traces: tuple[Trace, ...]


class TraceCache:
    """The last traces of one hand. Holds names and numbers only, and may be forgotten at any time."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Compute them again next time."""
        self._hand: tuple[RigHand, HandArm] | None = None
        self._tracer: Tracer | None = None
        self._answer: _Answer | None = None

    def traces(
        self,
        armature: "Object",
        known: DetectedHands,
        side: Side,
        parts: Collection[str],
        targets: Mapping[str, Floats] | None = None,
    ) -> tuple[Trace, ...]:
        """Return the traces of a hand's pose as Blender evaluated it last.

        Args:
            armature: the armature.
            known: its detected hands.
            side: which of them.
            parts: some of PARTS; the traces are in the order of PARTS.
            targets: digit -> (3,) m in the world, its tip's target in the drag that made the pose.

        Raises:
            RigError, HandError: the hand cannot be posed or solved.
        """
        hand_arm = self._taken(armature, known, side)
        pose, seen = hand_arm.rig_hand.read_pose(), hand_arm.rig_hand.seen_frames()[:, :3, 3]
        goals = targets or {}
        elbow = standing_arm(hand_arm) if "arm" in parts else None
        content = [pose.root.tobytes(), seen.tobytes(), *(place.tobytes() for place in goals.values())]
        content += [place.tobytes() for place in (elbow or ())[1:]]
        of = (id(hand_arm), tuple(sorted(parts)), tuple(goals), *content)
        if self._answer is None or self._answer.of != of:
            rigid_pose = with_rigid_palm(pose, seen)
            shown = [
                part for part in PARTS if part in parts and (part not in DIGITS or part in hand_arm.rig_hand.digits)
            ]
            made = [self._trace(rigid_pose, seen, part, goals.get(part)) for part in shown if part != "arm"]
            if elbow is not None:
                made.insert(
                    0, _arm(*elbow, rigid_pose, next((part for part in shown if part in DIGITS), "middle-finger"))
                )
            self._answer = _Answer(of, tuple(made))
        return self._answer.traces

    def _taken(self, armature: "Object", known: DetectedHands, side: Side) -> HandArm:
        """Return the hand with its arm, which is searched only if the hand is another one than before."""
        rig_hand = posable_hand(armature, side, known)
        if self._hand is None or self._hand[0] is not rig_hand:
            hand_arm = posable_hand_arm(armature, side, known)
            # An arm in IK is drawn too.
            self._hand = rig_hand, replace(hand_arm, arm=hand_arm.arm or arm_following(armature, known.hands[side]))
            self._tracer = None
        return self._hand[1]

    def _trace(self, rigid_pose: Pose, seen: Floats, part: str, goal: Floats | None) -> Trace:
        if part == "palm":
            return trace_palm(rigid_pose.hand, rigid_pose)
        hand, tracer = rigid_pose.hand, self._tracer
        if tracer is None or not np.allclose(hand.rest, tracer.hand.rest, rtol=0.0, atol=ROUNDING):
            tracer = self._tracer = Tracer(hand)
        return tracer.digit(Pose(tracer.hand, rigid_pose.root, rigid_pose.angles), part, goal, seen)


def _arm(arm: arms.Arm, shoulder: Floats, elbow: Floats, pose: Pose, digit: str) -> Trace:
    frames = kinematics.joint_frames(pose.hand, pose)[0]
    end = frames[pose.hand.joints.index(CHAIN_JOINTS[digit][-1]), :3, 3]
    return trace_arm(arm, shoulder, elbow, pose.root[0, :3, 3], end)
