"""What the solvers make in the algebra for a rig's hand as it stands or is dragged, remembered while it stays so."""

from collections.abc import Collection, Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..hand import kinematics
from ..hand.joints import CHAIN_JOINTS, DIGITS, Side
from ..hand.kinematics import Pose
from ..posing.trace import Trace, Tracer, Watched, trace_arm, trace_palm
from ..solvers import arm as arms
from .following import Follower, follower, standing_arm
from .held import read, seen_frames
from .known_hands import KnownHands

if TYPE_CHECKING:
    from bpy.types import Object

Floats = NDArray[np.float64]

PARTS = ("arm", "palm", *DIGITS)
"""What can be shown."""


@dataclass(frozen=True, slots=True, eq=False)
class _Taken:
    """A hand that is looked at."""

    known: KnownHands
    side: Side
    size: float
    who: Follower
    tracer: Tracer


@dataclass(frozen=True, slots=True, eq=False)
class _Answer:
    """What was shown last, and of what."""

    of: Hashable
    traces: tuple[Trace, ...]


class AlgebraOf:
    """The traces of one hand at a time. Holds names and numbers only, and may be forgotten at any time."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """It is worked out anew when it is asked for next."""
        self._taken: _Taken | None = None
        self._answer: _Answer | None = None

    def traces(self, armature: "Object", known: KnownHands, side: Side, parts: Collection[str]) -> tuple[Trace, ...]:
        """What the solvers make of a known hand as Blender evaluated it last, for some of PARTS, in their order.

        Raises RigError and HandError for a hand that cannot be taken hold of or solved.
        """
        taken = self._hand(armature, known, side)
        pose, seen = read(taken.who.held), seen_frames(taken.who.held)[:, :3, 3]
        goals = Watched.goals if (Watched.armature, Watched.side) == (armature.name, side) else {}
        elbow = standing_arm(taken.who) if "arm" in parts else None
        told = [pose.root.tobytes(), seen.tobytes(), *(place.tobytes() for place in goals.values())]
        told += [place.tobytes() for place in (elbow or ())[1:]]
        of = (id(taken), tuple(sorted(parts)), tuple(goals), *told)
        if self._answer is None or self._answer.of != of:
            shown = [part for part in PARTS if part in parts and (part not in DIGITS or part in taken.who.held.digits)]
            made = [_trace(taken, pose, seen, part, goals.get(part)) for part in shown if part != "arm"]
            if elbow is not None:
                made.insert(0, _arm(*elbow, pose, next((part for part in shown if part in DIGITS), "middle-finger")))
            self._answer = _Answer(of, tuple(made))
        return self._answer.traces

    def _hand(self, armature: "Object", known: KnownHands, side: Side) -> _Taken:
        """The hand is taken hold of anew where the rig, its mapping or its size has changed."""
        size = float(f"{np.linalg.det(np.array(armature.matrix_world)[:3, :3]):.6g}")
        taken = self._taken
        if taken is None or taken.known is not known or (taken.side, taken.size) != (side, size):
            who = follower(armature, known.hands[side])
            taken = self._taken = _Taken(known, side, size, who, Tracer(who.held.hand))
        return taken


def _trace(taken: _Taken, pose: Pose, seen: Floats, part: str, goal: Floats | None) -> Trace:
    hand = taken.who.held.hand
    stands = Pose(hand, pose.root, pose.angles)
    return trace_palm(hand, stands) if part == "palm" else taken.tracer.digit(stands, part, goal, seen)


def _arm(arm: arms.Arm, shoulder: Floats, elbow: Floats, pose: Pose, digit: str) -> Trace:
    frames = kinematics.joint_frames(pose.hand, pose)[0]
    end = frames[pose.hand.joints.index(CHAIN_JOINTS[digit][-1]), :3, 3]
    return trace_arm(arm, shoulder, elbow, pose.root[0, :3, 3], end)
