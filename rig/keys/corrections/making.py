"""Make a correction from the user's pose of a hand, or from the motion of another take."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ....errors import RigError
from ....hand.joints import DIGITS, JOINTS, Side, digit_of
from ....pipeline.corrections.correction import Correction, PoseDifference, TakenMotion
from ....pipeline.corrections.correction_json import MAX_SAMPLES
from ..fcurves import FRAME_TOLERANCE, curves_of
from .composing import compose
from .hand_of_take import HandOfTake, hand_of_take
from .hand_to_correct import HandToCorrect
from .take_clock import TakeClock

if TYPE_CHECKING:
    from bpy.types import Action, Object

Floats = NDArray[np.float64]

MIN_ROTATION = 1e-3
"""rad; a joint that is rotated by less counts as unchanged."""


@dataclass(frozen=True, slots=True, eq=False)
class PosedHand:
    """The difference between the pose of a hand and its take."""

    side: Side
    difference: PoseDifference


def posed_hands(
    armature: "Object", hands: Sequence[HandOfTake], corrections: Sequence[Correction], clock: TakeClock, frame: float
) -> list[PosedHand]:
    """Return the differences between hands' poses and their take with its corrections on the current scene frame.

    Raises RigError for a frame that is not in the take.
    """
    posed = []
    for take_hand in hands:
        if not take_hand.frames[0] - FRAME_TOLERANCE < frame < take_hand.frames[-1] + FRAME_TOLERANCE:
            raise RigError(
                f"frame {frame:g} is not in the take of armature '{armature.name}', which has "
                f"{take_hand.frames[0]:.0f} to {take_hand.frames[-1]:.0f}"
            )
        rotations = _composed_at(take_hand, corrections, clock, frame)
        rotations_between = {
            joint: take_hand.hand.rotation_between(joint, rotations[joint], take_hand.displayed[joint])
            for joint in take_hand.hand.joints
            if joint in take_hand.bones
        }
        moved = {
            JOINTS[joint]: rotation for joint, rotation in rotations_between.items() if _angle(rotation) > MIN_ROTATION
        }
        if moved:
            posed.append(PosedHand(take_hand.hand.side, PoseDifference(moved)))
    return posed


def _composed_at(take_hand: HandOfTake, corrections: Sequence[Correction], clock: TakeClock, frame: float) -> Floats:
    """Return the rotations (J, 4) of a hand's bones on a scene frame, with corrections on them."""
    frames = take_hand.frames[np.abs(take_hand.frames - frame) > FRAME_TOLERANCE]
    take_at_frame = replace(take_hand, frames=np.sort(np.append(frames, frame)))
    counting = [
        correction for correction in corrections if correction.hand == take_hand.hand.side and not correction.muted
    ]
    composed = compose(take_at_frame, counting, clock, take_at_frame.frames == frame)
    rotations = composed.keys.rotations[take_at_frame.frames[composed.rows] == frame]
    return np.asarray(rotations[0] if len(rotations) else take_hand.rotations(np.array([frame]))[0])


def _angle(rotation: Floats) -> float:
    """Return the angle of a quaternion (4,), rad."""
    return float(2 * np.arctan2(np.linalg.norm(rotation[1:]), abs(rotation[0])))


@dataclass(frozen=True, slots=True)
class SourceRange:
    """A time range of another action, in s, and how many frames later that action shows the same motion."""

    start: float
    end: float
    frame_offset: float = 0.0
    digits: tuple[str, ...] = DIGITS


def motion_of(
    armature: "Object", hand: HandToCorrect, action: "Action", source_range: SourceRange, clock: TakeClock
) -> TakenMotion:
    """Return the motion of a hand's digits in another action.

    clock: that of the other action if it is a take of the same capture, whose frame rate may differ; else that of the
    corrected take. Raises RigError if the action keys none of the digits in the range, for keys that are not finite,
    and for too many frames.
    """
    slots = [[(curve.data_path, curve) for curve in curves_of(action, slot)] for slot in action.slots]
    candidates = [hand_of_take(armature, hand, curves) for curves in slots]
    source_hand = max(candidates, key=lambda candidate: len(candidate.bones), default=None)
    moved = (
        []
        if source_hand is None
        else [j for j in hand.joints if j in source_hand.bones and digit_of(JOINTS[j]) in source_range.digits]
    )
    if source_hand is None or not moved:
        raise RigError(f"action '{action.name}' keys none of these digits of armature '{armature.name}'")
    frame_range = clock.frames([source_range.start, source_range.end]) + source_range.frame_offset
    frames = source_hand.frames[source_hand.rows_between(*frame_range)]
    if not len(frames):
        raise RigError(
            f"action '{action.name}' has keys from frame {source_hand.frames[0]:.0f} to "
            f"{source_hand.frames[-1]:.0f}, expected some in {frame_range[0]:.0f} to {frame_range[1]:.0f}"
        )
    if len(frames) > MAX_SAMPLES:
        raise RigError(f"the range has {len(frames)} frames, expected at most {MAX_SAMPLES}")
    relative = hand.relative_to_wrist(source_hand.rotations(frames))
    return TakenMotion(
        clock.times(frames - source_range.frame_offset),
        {JOINTS[joint]: relative[:, joint] for joint in moved},
        action.name,
    )
