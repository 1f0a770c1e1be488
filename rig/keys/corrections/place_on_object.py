"""Choose the points of an object at which parts of a hand stay, from their positions in the take."""

import numpy as np
from numpy.typing import NDArray

from ....hand import rotations as rot
from ....hand.generators import Steps
from ....hand.jacobians import ROOT_DOFS
from ....hand.joints import CHAIN_JOINTS, DIGITS, JOINT_INDEX
from ....hand.kinematics import joint_frames
from ....pipeline.contacts.hold_on_surface import LAST_BONE, touching_point
from ....pipeline.contacts.place_on_surface import (
    direction_to_surface,
    frames_to_try,
    reachable_position,
    slide_to_surface,
)
from ....pipeline.corrections.correction import HeldOnObject, ObjectPoint
from ....solvers.pose_problem import angles_of
from .hand_by_object import HandByObject, hand_by_object
from .hand_of_take import HandOfTake
from .held_on_object import no_skin
from .keyed_wrist import HandKeys
from .object_motion import PlayedFrames
from .palm_on_object import check_placed, chosen_palm, digits_with_skin, palm_transform, resting_at

Floats = NDArray[np.float64]


def chosen_on_object(
    take_hand: HandOfTake,
    name: str,
    digits: tuple[str, ...],
    keys: HandKeys,
    frames: Floats,
    *,
    palm: bool = False,
    played: PlayedFrames | None = None,
) -> Steps[HeldOnObject]:
    """Return the contact that holds tips of digits, and the palm if requested, on an object, with the hand as keyed.

    frames: (F,) scene frames; played: those evaluated before; new ones are added. Each tip is held at a point of the
    surface that is nearest to its pad on the middle frame and that it reaches on all frames; with a palm, starting from
    the palm's rest. Raises RigError as PlayedFrames.motion does, for a digit without skin, and as chosen_palm and
    check_placed do.
    """
    if palm:
        check_placed(take_hand)
    played = played or PlayedFrames()
    motion = yield from played.motion(take_hand.hand.binding, name, frames, take_hand.wrist.chain)
    if not palm:
        by = hand_by_object(take_hand, motion, keys, digits)
        return HeldOnObject(name, tuple(_point(by, digit, take_hand) for digit in digits))
    by = hand_by_object(take_hand, motion, keys, digits_with_skin(take_hand), palm=True)
    palm_place = chosen_palm(take_hand, by, name)
    rest = palm_transform(by, palm_place)
    laid = resting_at(by, np.tile(rest, (len(frames), 1, 1)), rest)
    return HeldOnObject(name, tuple(_point(laid, digit, take_hand) for digit in digits), palm_place)


def _point(by: HandByObject, digit: str, take_hand: HandOfTake) -> ObjectPoint:
    beside, middle, last = by.beside, by.motion.middle, JOINT_INDEX[CHAIN_JOINTS[digit][LAST_BONE]]
    free = angles_of(by.pose.hand, [digit])
    free = free[np.isin(by.pose.hand.axis_joint[free - ROOT_DOFS], list(take_hand.bones))]
    own = (beside.skin.digit == DIGITS.index(digit)) & (beside.skin.link == LAST_BONE)
    # A bone's +Z is out of the back of the hand.
    pads = np.flatnonzero(own & (by.locals[:, 2] <= 0.0))
    if not len(pads):
        raise no_skin(digit)
    near = beside.distances(np.array([middle]), by.pose.angles[[middle]])[0, pads]
    pad, rows = int(pads[near.argmin()]), frames_to_try(len(by.pose))
    slid = slide_to_surface(by.pose, beside, free, pad, rows)
    at = int(np.flatnonzero(rows == middle)[0])
    inwards = direction_to_surface(beside, pad, slid, at, middle)
    bone = joint_frames(slid.hand, slid)[at, last, :3, :3] @ rot.to_matrix(by.beyond[last])
    direction = bone.T @ inwards
    pad = touching_point(beside.skin, by.locals, digit, direction)
    position = reachable_position(by.pose, beside, free, pad, rows)
    return ObjectPoint(digit, by.motion.on_object(position), direction)
