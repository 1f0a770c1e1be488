"""A rig's hand posed by its angles while pinned fingertips stay: their digits make up for what the others do."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...hand.joints import CHAIN_JOINTS, JOINT_INDEX, digit_of
from ...hand.kinematics import Pose
from ...posing.dragging import WRIST, DragStep, Pin, drag
from .posable_model import bent
from .rig_hand import HandState, RigHand

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Pinned:
    """A hand with pinned fingertips, before its angles are changed."""

    held: RigHand
    """Bent as it stood, so that its fingertips are those of the rig."""
    stands: HandState
    pins: tuple[Pin, ...]
    driven: str | None
    """The digit that is posed, whose pin goes along with it; None where the whole hand is: then digits that are pinned
    stay and the others are posed."""
    coupled: bool
    """Whether a finger's last joint goes with the one before it."""


def take_pinned(held: RigHand, stands: HandState, pins: Sequence[Pin], driven: str | None, *, coupled: bool) -> Pinned:
    """A hand as it stands, with the pins that hold while it is posed. Raises RigError where it is gone."""
    there = [pin for pin in pins if pin.digit in held.digits and (pin.other is None or pin.other in held.digits)]
    taken, stood = bent(held, stands)
    return Pinned(taken, stood, tuple(pin for pin in there if pin.other or pin.digit != driven), driven, coupled)


def pose_pinned(pinned: Pinned, pose: Pose, joints: Collection[int]) -> frozenset[int]:
    """Poses the bones of these joints as a pose of one frame has them, and those of the digits that make up for it; all
    whose joints were posed. Raises RigError where the hand is gone."""
    hand, before = pinned.held.hand, pinned.stands.pose.angles
    staying = set() if pinned.driven else {pin.digit for pin in pinned.pins}
    stays = np.isin(hand.axis_joint, _joints(staying))
    begun = Pose(hand, pose.root, np.where(stays, before, pose.angles))
    making_up = _made_up_by(pinned, begun)
    asked = [pin for pin in pinned.pins if {pin.digit, pin.other} & making_up]
    of = replace(drag(begun, WRIST, asked, coupled=pinned.coupled), digits=tuple(making_up))
    posed = pinned.held.only(set(joints) - set(_joints(staying)) | set(_joints(making_up)))
    posed.write(HandState(of.hold_pins(begun.root[0], DragStep(begun)).pose, pinned.stands.beyond))
    return frozenset(posed.posed)


def _made_up_by(pinned: Pinned, begun: Pose) -> set[str]:
    """The digits whose pins would not hold: of two that are pinned to each other the one that is not posed itself."""
    turned = np.abs(begun.angles - pinned.stands.pose.angles)[0] > 0
    moved = {digit for digit in CHAIN_JOINTS if np.any(turned & np.isin(begun.hand.axis_joint, _carriers(digit)))}
    result: set[str] = set()
    while True:
        broken = [pin for pin in pinned.pins if {pin.digit, pin.other} & (moved | result)]
        more = {pin.other if pin.other and pin.digit == pinned.driven else pin.digit for pin in broken}
        if more <= result:
            return result
        result |= more


def _carriers(digit: str) -> list[int]:
    """The joints that move a digit's tip, its metacarpal as well."""
    return [index for joint, index in JOINT_INDEX.items() if digit_of(joint) == digit]


def _joints(digits: Collection[str]) -> list[int]:
    return [JOINT_INDEX[joint] for digit in digits for joint in CHAIN_JOINTS[digit]]
