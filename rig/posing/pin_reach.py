"""Distances of a rig's fingertips from their pins, and moving the hand so that they reach them."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import bpy
import numpy as np
from numpy.typing import NDArray

from ...errors import KnuckleError
from ...hand.joints import CHAIN_JOINTS, JOINT_INDEX, KNUCKLES, digit_of
from ...posing.dragging import WRIST, Pin
from ...posing.grasping.contact_frames import hand_length
from .dragging import RigDrag, begin, hold_pins, move, put_back
from .following import HandArm
from .rig_hand import RigHand

Floats = NDArray[np.float64]

MET = 0.0025
"""Hand lengths, half a millimetre of an adult's: a fingertip so near to its pin is at it."""
HELD = 2 * MET
"""Hand lengths: a fingertip that is farther from its pin was moved away; a nearer one was just not reached."""
ROUNDS = 4
"""Times that the palm is dragged on from where it came: each time it stops where pins and its own goal balance."""


def pin_distances(rig_hand: RigHand, pins: Iterable[Pin]) -> dict[str, float]:
    """Return digit -> m from its evaluated fingertip to its pin. Raises RigError where the hand is gone."""
    places = _places(rig_hand, pins)
    return {pin.digit: float(np.linalg.norm(place - pin.position)) for pin, place in places}


def pins_at_fingertips(rig_hand: RigHand, pins: Iterable[Pin]) -> list[Pin]:
    """Return the pins of a hand, moved to their fingertips where these are away, so that the hand does not jump.

    Raises RigError where the hand is gone.
    """
    most = HELD * hand_length(rig_hand.hand)
    return [
        replace(pin, position=place) if np.linalg.norm(place - pin.position) > most else pin
        for pin, place in _places(rig_hand, pins)
    ]


def reach_pins(hand_arm: HandArm, pins: Sequence[Pin], *, coupled: bool = True) -> RigDrag:
    """Move pinned fingertips to their pins, or as near as they come.

    Their digits move alone if that is enough; otherwise the palm moves too, as if it was dragged. Raises RigError where
    the hand is gone, and restores the pose.
    """
    knuckles = (joint for joint in KNUCKLES if digit_of(joint) in hand_arm.rig_hand.digits)
    dragged = begin(hand_arm, next(knuckles, WRIST), pins, coupled=coupled)
    try:
        hold_pins(dragged)
        if _missed(hand_arm, pins) <= MET * hand_length(hand_arm.rig_hand.hand) or hand_arm.fixed:
            return dragged
        put_back(dragged)
        bpy.context.view_layer.update()
        dragged = begin(hand_arm, WRIST, pins, coupled=coupled)
        _by_palm(dragged, pins)
    except KnuckleError:
        put_back(dragged)
        raise
    return dragged


def _by_palm(dragged: RigDrag, pins: Sequence[Pin]) -> None:
    hand_arm, goal, last, before = dragged.hand_arm, dragged.position, None, np.inf
    for _ in range(ROUNDS):
        last = move(dragged, goal, last)
        now = _missed(hand_arm, pins)
        goal = last.pose.root[0, :3, 3]
        if now <= MET * hand_length(hand_arm.rig_hand.hand) or now > 0.9 * before:
            return
        before = now


def _missed(hand_arm: HandArm, pins: Sequence[Pin]) -> float:
    bpy.context.view_layer.update()
    return max(pin_distances(hand_arm.rig_hand, pins).values(), default=0.0)


def _places(rig_hand: RigHand, pins: Iterable[Pin]) -> list[tuple[Pin, Floats]]:
    """Return each pin of a digit that the hand has, with its fingertip's present position (3,) in the pin's space."""
    frames = rig_hand.seen_frames()
    tips = {digit: frames[JOINT_INDEX[CHAIN_JOINTS[digit][-1]], :3, 3] for digit in rig_hand.digits}
    return [
        (pin, (tips[pin.digit] - tips[pin.other]) @ frames[0, :3, :3] if pin.other else tips[pin.digit])
        for pin in pins
        if pin.digit in tips and (pin.other is None or pin.other in tips)
    ]
