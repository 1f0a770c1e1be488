"""Measure the distances of a rig's fingertips from their pins, and move the hand so that they reach them."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import bpy
import numpy as np
from numpy.typing import NDArray

from ...errors import KnuckleError
from ...hand.joints import CHAIN_JOINTS, JOINT_INDEX, KNUCKLES, digit_of
from ...posing.dragging import WRIST, Pin
from ...posing.grasping.contact_frames import hand_length
from .dragging import RigDrag, hold_pins, move, restore_pose, start_rig_drag
from .following import HandArm
from .rig_hand import RigHand

Floats = NDArray[np.float64]

MET = 0.0025
"""Hand lengths, half a millimetre of an adult's: a fingertip within this distance of its pin has reached it."""
HELD_DISTANCE = 2 * MET
"""Hand lengths: a fingertip farther from its pin was moved away; a nearer one just did not reach it."""
ROUNDS = 4
"""Number of times that the palm is dragged. Each drag stops where pins and its own goal balance; the next goes on."""


def pin_distances(rig_hand: RigHand, pins: Iterable[Pin]) -> dict[str, float]:
    """Return digit -> m from its evaluated fingertip to its pin. Raises RigError if the hand no longer exists."""
    tips = _pinned_tips(rig_hand, pins)
    return {pin.digit: float(np.linalg.norm(tip - pin.position)) for pin, tip in tips}


def pins_at_fingertips(rig_hand: RigHand, pins: Iterable[Pin]) -> list[Pin]:
    """Return the pins of a hand. Pins whose fingertips were moved away move to them, so that the hand does not jump.

    Raises RigError if the hand no longer exists.
    """
    max_distance = HELD_DISTANCE * hand_length(rig_hand.hand)
    return [
        replace(pin, position=tip) if np.linalg.norm(tip - pin.position) > max_distance else pin
        for pin, tip in _pinned_tips(rig_hand, pins)
    ]


def reach_pins(hand_arm: HandArm, pins: Sequence[Pin], *, coupled: bool = True) -> RigDrag:
    """Move pinned fingertips to their pins, or as near as they get.

    Their digits move alone if that is enough; otherwise the palm moves too, as if it was dragged. Raises RigError if
    the hand no longer exists, and restores the pose.
    """
    knuckles = (joint for joint in KNUCKLES if digit_of(joint) in hand_arm.rig_hand.digits)
    dragged = start_rig_drag(hand_arm, next(knuckles, WRIST), pins, coupled=coupled)
    try:
        hold_pins(dragged)
        if _missed(hand_arm, pins) <= MET * hand_length(hand_arm.rig_hand.hand) or hand_arm.fixed:
            return dragged
        restore_pose(dragged)
        bpy.context.view_layer.update()
        dragged = start_rig_drag(hand_arm, WRIST, pins, coupled=coupled)
        _by_palm(dragged, pins)
    except KnuckleError:
        restore_pose(dragged)
        raise
    return dragged


def _by_palm(dragged: RigDrag, pins: Sequence[Pin]) -> None:
    hand_arm, goal, last, last_distance = dragged.hand_arm, dragged.position, None, np.inf
    for _ in range(ROUNDS):
        last = move(dragged, goal, last)
        distance = _missed(hand_arm, pins)
        goal = last.pose.root[0, :3, 3]
        if distance <= MET * hand_length(hand_arm.rig_hand.hand) or distance > 0.9 * last_distance:
            return
        last_distance = distance


def _missed(hand_arm: HandArm, pins: Sequence[Pin]) -> float:
    bpy.context.view_layer.update()
    return max(pin_distances(hand_arm.rig_hand, pins).values(), default=0.0)


def _pinned_tips(rig_hand: RigHand, pins: Iterable[Pin]) -> list[tuple[Pin, Floats]]:
    """Return each pin of a digit that the hand has, with its fingertip's current position (3,) in the pin's space."""
    frames = rig_hand.evaluated_frames()
    tips = {digit: frames[JOINT_INDEX[CHAIN_JOINTS[digit][-1]], :3, 3] for digit in rig_hand.digits}
    return [
        (pin, (tips[pin.digit] - tips[pin.other]) @ frames[0, :3, :3] if pin.other else tips[pin.digit])
        for pin in pins
        if pin.digit in tips and (pin.other is None or pin.other in tips)
    ]
