"""Positions of an object in a hand: in front of the palm, between the pads of thumb and index finger, or on the web."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...hand import rotations as rot
from ...hand.joints import CHAIN_JOINTS, JOINT_INDEX, KNUCKLES
from ...hand.kinematics import Pose, joint_frames
from ...hand.model import HandModel
from . import grips
from .skin_samples import LINKS, SkinPoints

Floats = NDArray[np.float64]

SPOT_HALF_LENGTH = 0.022
"""Hand lengths along the bone to either side of a spot within which its skin is searched."""


@dataclass(frozen=True, slots=True, eq=False)
class Seat:
    """A pose for an object in the wrist's frame, and the hand's direction of approach."""

    position: Floats
    """(3,) m"""
    axis: Floats
    """(3,) unit vector, the object's axis."""
    approach: Floats
    """(3,) unit vector perpendicular to the axis: the direction in which the hand approaches."""


@dataclass(frozen=True, slots=True)
class SkinSpot:
    """A spot on the skin of a digit, for a right hand."""

    digit: int
    link: int
    """0 is the phalanx nearest to the palm, or the thumb's metacarpal."""
    part: float
    """Fraction of the phalanx's length, from its joint."""
    facing: tuple[float, float, float]
    """Outward direction in the joint's frame: X to the little finger, Y along the bone, Z out of the back."""


THUMB_PAD = SkinSpot(0, 2, 0.46, (0.0, 0.0, -1.0))
INDEX_PAD = SkinSpot(1, 2, 0.44, (0.0, 0.0, -1.0))
MIDDLE_SIDE = SkinSpot(2, 2, 0.29, (-0.97, 0.0, 0.24))
WEB = SkinSpot(1, 0, 0.14, (-0.91, 0.0, 0.41))
"""The side of the index finger's knuckle, on which a pen lies."""


def hand_length(hand: HandModel) -> float:
    """Return the hand's length in m: from the wrist to the tip of the straight middle finger."""
    frames = _frames(hand, np.zeros(hand.dofs))
    chain = [JOINT_INDEX[joint] for joint in CHAIN_JOINTS["middle-finger"]]
    return float(np.linalg.norm(np.diff(frames[[0, *chain], :3, 3], axis=0), axis=1).sum())


def palm_seat(hand: HandModel, *, tilt: float, back: float, aside: float) -> Seat:
    """Return the seat in front of the palm, with which the hand approaches.

    The axis lies along the knuckles. tilt: rad by which it is tilted towards the ball of the little finger. back: hand
    lengths from the knuckles towards the wrist. aside: fraction of the distance from the index finger's knuckle to the
    little finger's.
    """
    frames = _frames(hand, np.zeros(hand.dofs))
    index, little = (frames[JOINT_INDEX[KNUCKLES[k]], :3, 3] for k in (0, -1))
    across = rot.unit_vector((little - index) * [1.0, 1.0, 0.0])
    rotation = rot.from_axis_angle(np.array([0.0, 0.0, 1.0 if hand.side == "left" else -1.0]), tilt)
    position = (index + aside * (little - index)) * [1.0, 1.0, 0.0] - [0.0, back * hand_length(hand), 0.0]
    return Seat(position, rot.rotate(rotation, across), np.array([0.0, 0.0, -1.0]))


def pinch_seat(hand: HandModel, flesh: SkinPoints) -> Seat:
    """Return the seat between the pads of thumb and index finger; its axis passes through both."""
    frames = _frames(hand, grips.angles(hand, *grips.PINCHED))
    (thumb, _), (index, _) = (_skin(hand, flesh, frames, spot) for spot in (THUMB_PAD, INDEX_PAD))
    knuckles = frames[[joints[0] for joints in LINKS[1:3]], :3, 3].mean(axis=0)
    # With other proportions the pads may pass each other, so the axis is taken from the bones' orientations.
    axis = rot.unit_vector(frames[LINKS[0][2], :3, 2] - frames[LINKS[1][2], :3, 2])
    direction = 0.5 * (thumb + index) - knuckles
    return Seat(0.5 * (thumb + index), -axis, rot.unit_vector(direction - (direction @ axis) * axis))


def web_seat(hand: HandModel, flesh: SkinPoints, radius: float, aside: float = 0.0) -> Seat:
    """Return the seat of a pen: on the web, between thumb and index finger pads and the side of the middle finger.

    The axis points to the pen's tip. radius: the pen's, m. aside: m by which the pen is shifted to the middle finger.
    """
    frames = _frames(hand, grips.angles(hand, *grips.WRITING))
    spots = [_skin(hand, flesh, frames, spot) for spot in (THUMB_PAD, INDEX_PAD, MIDDLE_SIDE)]
    # The web moves with the palm, so the knuckle's frame is that of the straight finger.
    web, out = _skin(hand, flesh, _frames(hand, np.zeros(hand.dofs)), WEB)
    position = np.mean([skin + radius * facing for skin, facing in spots], axis=0) - aside * spots[-1][1]
    axis = rot.unit_vector(position - (web + (radius + 0.028 * hand_length(hand)) * out))
    palm = frames[[joints[0] for joints in LINKS[1:]], :3, 3].mean(axis=0)
    direction = position - 0.5 * palm
    return Seat(position, axis, rot.unit_vector(direction - (direction @ axis) * axis))


def _skin(hand: HandModel, flesh: SkinPoints, frames: Floats, spot: SkinSpot) -> tuple[Floats, Floats]:
    """Return a spot's position (3,) m and outward direction (3,) in the wrist's frame, with joints at frames (J, 4, 4).

    Without skin there, the position is on the bone.
    """
    joint = LINKS[spot.digit][spot.link]
    along = spot.part * float(np.linalg.norm(hand.rest[joint + 1, :3, 3]))
    facing = np.array(spot.facing) * [-1.0 if hand.side == "left" else 1.0, 1.0, 1.0]
    on_phalanx = (flesh.digit == spot.digit) & (flesh.link == spot.link)
    local = flesh.local()[on_phalanx]
    local = local[np.abs(local[:, 1] - along) < SPOT_HALF_LENGTH * hand_length(hand)]
    position = np.array([0.0, along, 0.0])
    if len(local):
        position = position + max(0.0, float((local @ facing).max())) * facing
    return frames[joint, :3, :3] @ position + frames[joint, :3, 3], frames[joint, :3, :3] @ facing


def _frames(hand: HandModel, angles: Floats) -> Floats:
    frames: Floats = joint_frames(hand, Pose(hand, np.eye(4)[None], angles[None]))[0]
    return frames
