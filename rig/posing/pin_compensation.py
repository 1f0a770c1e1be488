"""Pose a rig's hand by its angles while pinned fingertips stay, since their digits compensate."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...hand.joints import CHAIN_JOINTS, JOINT_INDEX, digit_of
from ...hand.kinematics import Pose
from ...posing.dragging import WRIST, DragStep, Pin, start_drag
from .posable_model import fitted_to_evaluated
from .rig_hand import HandState, RigHand

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class PinnedHand:
    """A hand with pinned fingertips before its angles change."""

    rig_hand: RigHand
    """The hand with a model fitted to the bones, so that its fingertips are those of the rig."""
    state: HandState
    pins: tuple[Pin, ...]
    driven: str | None
    """The digit that is posed, which takes its pin along; None for the whole hand, whose pinned digits stay."""
    coupled: bool
    """Whether a finger's last joint follows its middle one."""


def pinned_hand(
    rig_hand: RigHand, state: HandState, pins: Sequence[Pin], driven: str | None, *, coupled: bool
) -> PinnedHand:
    """Return a hand with the pins that apply while it is posed. Raises RigError if the hand no longer exists."""
    present_pins = [
        pin for pin in pins if pin.digit in rig_hand.digits and (pin.other is None or pin.other in rig_hand.digits)
    ]
    fitted_hand, fitted_state = fitted_to_evaluated(rig_hand, state)
    return PinnedHand(
        fitted_hand,
        fitted_state,
        tuple(pin for pin in present_pins if pin.other or pin.digit != driven),
        driven,
        coupled,
    )


def pose_pinned(pinned: PinnedHand, pose: Pose, joints: Collection[int]) -> frozenset[int]:
    """Pose the bones of joints by a pose of one frame, and those of the digits that compensate for it.

    Returns the joints that were posed. Raises RigError if the hand no longer exists.
    """
    hand, before = pinned.rig_hand.hand, pinned.state.pose.angles
    staying = set() if pinned.driven else {pin.digit for pin in pinned.pins}
    stays = np.isin(hand.axis_joint, _joints(staying))
    start = Pose(hand, pose.root, np.where(stays, before, pose.angles))
    compensating = _compensating_digits(pinned, start)
    active_pins = [pin for pin in pinned.pins if {pin.digit, pin.other} & compensating]
    drag = replace(start_drag(start, WRIST, active_pins, coupled=pinned.coupled), digits=tuple(compensating))
    posed = pinned.rig_hand.only(set(joints) - set(_joints(staying)) | set(_joints(compensating)))
    posed.write(HandState(drag.hold_pins(start.root[0], DragStep(start)).pose, pinned.state.beyond))
    return frozenset(posed.posed_joints)


def _compensating_digits(pinned: PinnedHand, start: Pose) -> set[str]:
    """Return the digits whose pins would break. Of two digits pinned together, it is the one that is not posed."""
    changed = np.abs(start.angles - pinned.state.pose.angles)[0] > 0
    moved = {digit for digit in CHAIN_JOINTS if np.any(changed & np.isin(start.hand.axis_joint, _carriers(digit)))}
    result: set[str] = set()
    while True:
        broken = [pin for pin in pinned.pins if {pin.digit, pin.other} & (moved | result)]
        more = {pin.other if pin.other and pin.digit == pinned.driven else pin.digit for pin in broken}
        if more <= result:
            return result
        result |= more


def _carriers(digit: str) -> list[int]:
    """Return the joints that move a digit's tip, including its metacarpal."""
    return [index for joint, index in JOINT_INDEX.items() if digit_of(joint) == digit]


def _joints(digits: Collection[str]) -> list[int]:
    return [JOINT_INDEX[joint] for digit in digits for joint in CHAIN_JOINTS[digit]]
