"""Fingertips that are pinned while a hand is dragged."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...hand.joints import CHAIN_JOINTS
from ...hand.kinematics import Pose, joint_position
from ...hand.model import HandModel
from ...solvers.pose_problem import Objective, middle_finger_length

Floats = NDArray[np.float64]

PIN_WEIGHT = 30.0
"""Weight of a pin, relative to the weight 1 of the goal."""
PIN_MET = 1e-6
"""Distance, as a fraction of the hand's length, within which a fingertip is at its pin."""


@dataclass(frozen=True, slots=True, eq=False)
class Pin:
    """The position at which a fingertip is held."""

    digit: str
    position: Floats
    """(3,) m in the world; for a pin to another digit, the vector from that digit's tip in the wrist's frame."""
    other: str | None = None


def pin_objective(hand: HandModel, pin: Pin) -> Objective:
    """Return the objective that holds a fingertip at its pin."""
    site = hand.site_index(CHAIN_JOINTS[pin.digit][-1])
    relative = hand.site_index(CHAIN_JOINTS[pin.other][-1]) if pin.other else None
    return Objective(site, pin.position, PIN_WEIGHT, relative)


def affected_pins(start: Pose, pins: Sequence[Pin], moving: set[str], whole: bool) -> Iterator[Pin]:
    """Return the pins that a drag of digits, or of the whole hand, could break, and those that are not met yet.

    The digits of other pins keep their angles exactly.
    """
    near = PIN_MET * middle_finger_length(start.hand)
    left, digits = list(pins), set(moving)
    while True:
        broken = [
            pin
            for pin in left
            if {pin.digit, pin.other} & digits or (whole and not pin.other) or _distance(start, pin) > near
        ]
        if not broken:
            return
        yield from broken
        left = [pin for pin in left if pin not in broken]
        digits |= {digit for pin in broken for digit in (pin.digit, pin.other) if digit}


def _distance(pose: Pose, pin: Pin) -> float:
    """Return the distance (m) of a fingertip from its pin."""
    tip = joint_position(pose, CHAIN_JOINTS[pin.digit][-1])[0]
    if pin.other:
        tip = (tip - joint_position(pose, CHAIN_JOINTS[pin.other][-1])[0]) @ pose.root[0, :3, :3]
    return float(np.linalg.norm(tip - pin.position))
