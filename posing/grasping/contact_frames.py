"""Where in a hand an object lies: in front of the palm, between the pads of thumb and index finger, or on the web."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...hand import rotations as rot
from ...hand.joints import CHAIN_JOINTS, JOINT_INDEX, KNUCKLES
from ...hand.kinematics import Pose, joint_frames
from ...hand.model import HandModel
from . import grips
from .skin_samples import LINKS, Flesh

Floats = NDArray[np.float64]

SLICE = 0.022
"""Hand lengths: so far beside a place on a bone its skin is looked for."""


@dataclass(frozen=True, slots=True, eq=False)
class Seat:
    """In the wrist's frame: where an object's place comes to be, how its axis lies, whence the hand comes to it."""

    place: Floats
    """(3,) m"""
    axis: Floats
    """(3,) unit."""
    way: Floats
    """(3,) unit, at right angles to the axis: the hand comes on this way."""


@dataclass(frozen=True, slots=True)
class SkinSpot:
    """A place on the skin of a digit, as of a right hand."""

    digit: int
    link: int
    """0 is the phalanx nearest to the palm; of the thumb its metacarpal."""
    part: float
    """Of the phalanx' length, from its joint."""
    facing: tuple[float, float, float]
    """In the joint's frame: X to the little finger, Y along the bone, Z out of the back."""


THUMB_PAD = SkinSpot(0, 2, 0.46, (0.0, 0.0, -1.0))
INDEX_PAD = SkinSpot(1, 2, 0.44, (0.0, 0.0, -1.0))
MIDDLE_SIDE = SkinSpot(2, 2, 0.29, (-0.97, 0.0, 0.24))
WEB = SkinSpot(1, 0, 0.14, (-0.91, 0.0, 0.41))
"""The side of the index finger's knuckle, on which a pen lies."""


def length(hand: HandModel) -> float:
    """m, from the wrist to the tip of the middle finger, straight."""
    frames = _frames(hand, np.zeros(hand.dofs))
    chain = [JOINT_INDEX[joint] for joint in CHAIN_JOINTS["middle-finger"]]
    return float(np.linalg.norm(np.diff(frames[[0, *chain], :3, 3], axis=0), axis=1).sum())


def palm_seat(hand: HandModel, *, tilt: float, back: float, aside: float) -> Seat:
    """In front of the palm, which the hand comes with.

    The axis lies along the knuckles, tilted by `tilt` rad so that it leaves the hand at the ball of the little finger;
    `back`: so many hand lengths from the knuckles towards the wrist; `aside`: the part of the way from the index
    finger's knuckle to the little finger's.
    """
    frames = _frames(hand, np.zeros(hand.dofs))
    index, little = (frames[JOINT_INDEX[KNUCKLES[k]], :3, 3] for k in (0, -1))
    across = rot.unit_vector((little - index) * [1.0, 1.0, 0.0])
    turn = rot.about(np.array([0.0, 0.0, 1.0 if hand.side == "left" else -1.0]), tilt)
    place = (index + aside * (little - index)) * [1.0, 1.0, 0.0] - [0.0, back * length(hand), 0.0]
    return Seat(place, rot.rotate(turn, across), np.array([0.0, 0.0, -1.0]))


def pinch_seat(hand: HandModel, flesh: Flesh) -> Seat:
    """Between the pads of the thumb and the index finger; the axis goes through both."""
    frames = _frames(hand, grips.angles(hand, *grips.PINCHED))
    (thumb, _), (index, _) = (_skin(hand, flesh, frames, spot) for spot in (THUMB_PAD, INDEX_PAD))
    knuckles = frames[[joints[0] for joints in LINKS[1:3]], :3, 3].mean(axis=0)
    # The pads of a hand of other proportions may pass each other: how they face each other is then the bones' way.
    axis = rot.unit_vector(frames[LINKS[0][2], :3, 2] - frames[LINKS[1][2], :3, 2])
    way = 0.5 * (thumb + index) - knuckles
    return Seat(0.5 * (thumb + index), -axis, rot.unit_vector(way - (way @ axis) * axis))


def web_seat(hand: HandModel, flesh: Flesh, radius: float, aside: float = 0.0) -> Seat:
    """Between the pads of thumb and index finger and the side of the middle finger, and on the web; the axis of a bar
    of a radius (m) goes from there to what is written on."""
    frames = _frames(hand, grips.angles(hand, *grips.WRITING))
    places = [_skin(hand, flesh, frames, spot) for spot in (THUMB_PAD, INDEX_PAD, MIDDLE_SIDE)]
    # The web stays with the palm: the knuckle's frame is that of the straight finger.
    web, out = _skin(hand, flesh, _frames(hand, np.zeros(hand.dofs)), WEB)
    place = np.mean([skin + radius * facing for skin, facing in places], axis=0) - aside * places[-1][1]
    axis = rot.unit_vector(place - (web + (radius + 0.028 * length(hand)) * out))
    palm = frames[[joints[0] for joints in LINKS[1:]], :3, 3].mean(axis=0)
    way = place - 0.5 * palm
    return Seat(place, axis, rot.unit_vector(way - (way @ axis) * axis))


def _skin(hand: HandModel, flesh: Flesh, frames: Floats, spot: SkinSpot) -> tuple[Floats, Floats]:
    """(3,) m a place on the skin and (3,) how it faces, in the wrist's frame, with the joints at frames (J, 4, 4).

    Where there is no skin, on the bone.
    """
    joint = LINKS[spot.digit][spot.link]
    along = spot.part * float(np.linalg.norm(hand.rest[joint + 1, :3, 3]))
    facing = np.array(spot.facing) * [-1.0 if hand.side == "left" else 1.0, 1.0, 1.0]
    there = (flesh.digit == spot.digit) & (flesh.link == spot.link)
    local = flesh.local()[there]
    local = local[np.abs(local[:, 1] - along) < SLICE * length(hand)]
    place = np.array([0.0, along, 0.0])
    if len(local):
        place = place + max(0.0, float((local @ facing).max())) * facing
    return frames[joint, :3, :3] @ place + frames[joint, :3, 3], frames[joint, :3, :3] @ facing


def _frames(hand: HandModel, angles: Floats) -> Floats:
    frames: Floats = joint_frames(hand, Pose(hand, np.eye(4)[None], angles[None]))[0]
    return frames
