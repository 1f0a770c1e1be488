"""What a correction is made of: the pose that a person gave a hand, or the motion of another take."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ....errors import RigError
from ....hand.joints import DIGITS, JOINTS, Side, digit_of
from ....pipeline.corrections.correction import Correction, PoseDifference, TakenMotion
from ....pipeline.corrections.correction_json import MOST_SAMPLES
from ..fcurves import SAME_FRAME, curves_of
from .composing import compose
from .hand_of_take import HandOfTake, hand_of_take
from .hand_to_correct import HandToCorrect
from .take_clock import TakeClock

if TYPE_CHECKING:
    from bpy.types import Action, Object

Floats = NDArray[np.float64]

LEAST_TURN = 1e-3
"""rad: a joint that is turned by less is where it was."""


@dataclass(frozen=True, slots=True, eq=False)
class PosedHand:
    """How the pose of a hand differs from its take."""

    side: Side
    difference: PoseDifference


def posed_hands(
    armature: "Object", hands: Sequence[HandOfTake], corrections: Sequence[Correction], clock: TakeClock, frame: float
) -> list[PosedHand]:
    """Return how hands are posed otherwise than their take with its corrections on a scene frame, the current one.

    Raises RigError for a frame that is not in the take.
    """
    found = []
    for of in hands:
        if not of.frames[0] - SAME_FRAME < frame < of.frames[-1] + SAME_FRAME:
            raise RigError(
                f"frame {frame:g} is not in the take of armature '{armature.name}', which has {of.frames[0]:.0f} to "
                f"{of.frames[-1]:.0f}"
            )
        rotations = _composed_at(of, corrections, clock, frame)
        turns = {
            joint: of.hand.turn_between(joint, rotations[joint], of.shown[joint])
            for joint in of.hand.joints
            if joint in of.bones
        }
        moved = {JOINTS[joint]: turn for joint, turn in turns.items() if _angle(turn) > LEAST_TURN}
        if moved:
            found.append(PosedHand(of.hand.side, PoseDifference(moved)))
    return found


def _composed_at(of: HandOfTake, corrections: Sequence[Correction], clock: TakeClock, frame: float) -> Floats:
    """Return the rotations (J, 4) of a hand's bones on a scene frame, with corrections on them."""
    frames = of.frames[np.abs(of.frames - frame) > SAME_FRAME]
    now = replace(of, frames=np.sort(np.append(frames, frame)))
    counting = [each for each in corrections if each.hand == of.hand.side and not each.muted]
    composed = compose(now, counting, clock, now.frames == frame)
    at = composed.keys.rotations[now.frames[composed.rows] == frame]
    return np.asarray(at[0] if len(at) else of.rotations(np.array([frame]))[0])


def _angle(turn: Floats) -> float:
    """Return the angle of a quaternion (4,), rad."""
    return float(2 * np.arctan2(np.linalg.norm(turn[1:]), abs(turn[0])))


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of another take: times in s, and how many frames later the other shows the same."""

    start: float
    end: float
    later: float = 0.0
    digits: tuple[str, ...] = DIGITS


def motion_of(
    armature: "Object", hand: HandToCorrect, action: "Action", stretch: Stretch, clock: TakeClock
) -> TakenMotion:
    """Return the motion of a hand's digits in another action.

    clock: of the other action if it is of the same capture, whose frames may have another rate, else of the take that
    is corrected. Raises RigError if the action keys none of them there, for keys that are no numbers, and for
    too many frames.
    """
    slots = [[(curve.data_path, curve) for curve in curves_of(action, slot)] for slot in action.slots]
    taken = [hand_of_take(armature, hand, curves) for curves in slots]
    of = max(taken, key=lambda taken_hand: len(taken_hand.bones), default=None)
    moved = [] if of is None else [j for j in hand.joints if j in of.bones and digit_of(JOINTS[j]) in stretch.digits]
    if of is None or not moved:
        raise RigError(f"action '{action.name}' keys none of these digits of armature '{armature.name}'")
    ends = clock.frames([stretch.start, stretch.end]) + stretch.later
    frames = of.frames[of.rows_between(*ends)]
    if not len(frames):
        raise RigError(
            f"action '{action.name}' has keys from frame {of.frames[0]:.0f} to {of.frames[-1]:.0f}, expected some in "
            f"{ends[0]:.0f} to {ends[1]:.0f}"
        )
    if len(frames) > MOST_SAMPLES:
        raise RigError(f"{len(frames)} frames are to be taken, expected at most {MOST_SAMPLES}")
    relative = hand.relative_to_wrist(of.rotations(frames))
    return TakenMotion(
        clock.times(frames - stretch.later), {JOINTS[joint]: relative[:, joint] for joint in moved}, action.name
    )
