"""The rest frames of a rig's joints, from the positions of its joints and never from the roll of its bones.

Frames are those of HandModel: +Y along the bone to the next joint, +Z out of the back of the hand, +X right-handed.
Only the joints' positions are needed; what they leave open (the roll of a straight finger) comes from a hand model
fitted to the palm.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..hand import rotations as rot
from ..hand.joints import CHAIN_JOINTS, DIGIT_JOINTS, DIGITS, JOINT_INDEX, KNUCKLES
from ..hand.model import HandModel

Floats = NDArray[np.float64]

PALM = [JOINT_INDEX[name] for name in ("wrist", *KNUCKLES)]
THUMB = [JOINT_INDEX[name] for name in DIGIT_JOINTS["thumb"]]
MIN_CURL_SINE = np.sin(np.deg2rad(10.0))
"""Sine; with less than 10 degrees of bend at rest, the plane of a finger is accidental."""
MIN_THUMB_CURL_SINE = np.sin(np.deg2rad(30.0))
"""Sine for a thumb, which is rarely bent in its curl plane at rest: Rigify's is bent by 19 degrees in a plane 45
degrees off the one given by its bone rolls and by the hand model."""
CURL_PLANE_COSINE = 0.5
"""Cosine; in a plane further than 60 degrees from the one the palm suggests, a finger is bent sideways, not curled."""
HINGE_COSINE = np.cos(np.deg2rad(40.0))
"""Cosine; an axis further than 40 degrees from the one across the finger is not its flexion axis."""


def rest_world(hand: HandModel) -> Floats:
    """Return T_wrist_joint of a hand with all angles zero, (J, 4, 4)."""
    world = np.empty_like(hand.rest)
    for joint, parent in enumerate(hand.parents):
        world[joint] = hand.rest[joint] if parent < 0 else world[parent] @ hand.rest[joint]
    return world


def rest_rotations(
    hand: HandModel,
    points: Floats,
    hinges: Mapping[int, Floats] | None = None,
    curl_angles: Mapping[str, float] | None = None,
) -> Floats:
    """Return the rest rotations (J, 3, 3) of a rig's joint frames, from its joints (J, 3), NaN for missing ones.

    The hand model is fitted to the palm; each of its bones is then rotated onto the rig's bone by the smallest angle,
    and a digit that is bent at rest is rolled into the plane of its bend. hinges: joint -> its only free axis (3,), of
    either sign, which determines the curl plane better. curl_angles: digit -> degrees by which the user rotated its
    curl plane about its bones, in the sense of HandModel's twist; 180 flips it.
    """
    model = rest_world(hand)
    known = np.atleast_1d(np.isfinite(points).all(axis=-1))
    palm = [joint for joint in PALM if known[joint]]
    if len(palm) < 3:
        # With a mitten's single knuckle, the thumb's base fixes the rotation about the line from wrist to knuckle.
        palm += [joint for joint in THUMB if known[joint]][:1]
    palm_rotation = rot.fit_rigid(model[palm, :3, 3], points[palm], np.ones(len(palm)))[:3, :3]
    rotations = palm_rotation @ model[:, :3, :3]
    for digit in DIGITS:
        joints = [JOINT_INDEX[name] for name in DIGIT_JOINTS[digit] if known[JOINT_INDEX[name]]]
        for joint, following in pairwise(joints):
            rotations[joint] = _rotated_onto(rotations[joint], points[following] - points[joint])
        if len(joints) > 1:
            rotations[joints[-1]] = _rotated_onto(rotations[joints[-1]], points[joints[-1]] - points[joints[-2]])
        moving = [joint for joint in joints if hand.joints[joint] in CHAIN_JOINTS[digit]]
        rotations[moving] = _rolled_to_bend(
            rotations[moving], MIN_THUMB_CURL_SINE if digit == "thumb" else MIN_CURL_SINE
        )
        if hinges:
            rotations[moving] = _rolled_to_hinges(rotations[moving], [hinges.get(joint) for joint in moving])
        if curl_angles and digit in curl_angles:
            rotations[moving] = rotations[moving] @ _twist_rotation(hand, curl_angles[digit])
    return rotations


def _twist_rotation(hand: HandModel, degrees: float) -> Floats:
    """Return a rotation (3, 3) about Y in a joint's frame, in the sense of HandModel's twist."""
    sense = 1.0 if hand.side == "right" else -1.0
    rotation: Floats = rot.to_matrix(rot.from_axis_angle(np.array([0.0, sense, 0.0]), np.deg2rad(degrees)))
    return rotation


def _rotated_onto(rotation: Floats, direction: Floats) -> Floats:
    """Return a frame (3, 3) rotated by the smallest angle so that its Y points along a vector (3,)."""
    length = np.linalg.norm(direction)
    if length < 1e-9:
        return rotation
    y, target = rotation[:, 1], direction / length
    axis = np.cross(y, target)
    sine = np.linalg.norm(axis)
    # For opposite directions any perpendicular axis is right; X, because it curls the finger.
    axis = axis / sine if sine > 1e-9 else rotation[:, 0]
    rotation_onto = rot.from_axis_angle(axis, np.arctan2(sine, y @ target))
    rotated: Floats = rot.to_matrix(rotation_onto) @ rotation
    return rotated


def _rolled_to_bend(rotations: Floats, least_sine: float) -> Floats:
    """Return the frames of a digit (N, 3, 3), rolled about their bones so that X is normal to the plane of its bend.

    Unchanged if the sine of the bend is below `seen`.
    """
    if len(rotations) < 3:
        return rotations
    directions = rotations[:, :, 1]
    curl_axis = np.cross(directions[:-1], directions[1:]).sum(axis=0)
    bend = np.linalg.norm(curl_axis)
    # Flexion is about −X.
    x = -curl_axis / max(bend, 1e-12)
    if bend < least_sine or (rotations[:, :, 0] @ x).min() < CURL_PLANE_COSINE:
        return rotations
    return rot.frame_from_yz(directions, np.cross(x, directions))


def _rolled_to_hinges(rotations: Floats, hinges: Sequence[Floats | None]) -> Floats:
    """Return the frames of a digit (N, 3, 3), rolled so that X is along each joint's hinge.

    A joint without a hinge takes that of the next joint outwards that has one, else that of the last.
    """
    trusted = [
        row
        for row, hinge in enumerate(hinges)
        if hinge is not None and abs(rotations[row, :, 0] @ hinge) > HINGE_COSINE
    ]
    if not trusted:
        return rotations
    rolled = rotations.copy()
    for row, rotation in enumerate(rotations):
        hinge = hinges[next((trusted_row for trusted_row in trusted if trusted_row >= row), trusted[-1])]
        x = hinge * np.sign(rotation[:, 0] @ hinge)
        rolled[row] = rot.frame_from_yz(rotation[:, 1], np.cross(x, rotation[:, 1]))
    return rolled
