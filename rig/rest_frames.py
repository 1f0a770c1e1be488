"""The joint frames of a rig at rest, from where its joints are and never from the roll of its bones.

A frame is HandModel's: +Y along the bone to the next joint, +Z out of the back of the hand, +X right-handed. All
that is needed of a rig is the position of its joints; what it does not show (how a straight finger is rolled)
comes from a hand model laid over its palm.
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
CURL_SEEN = np.sin(np.deg2rad(10.0))
"""Below 10 degrees of bend the plane of a finger at rest says more about the modeller's hand than about the bone."""
THUMB_CURL_SEEN = np.sin(np.deg2rad(30.0))
"""The same for a thumb, whose bones stand askew at rest: Rigify's is bent by 19 degrees, 45 degrees beside the plane in
which its own bones are rolled to bend, and which the hand model suggests."""
CURL_TRUSTED = 0.5
"""A curl plane further than 60 degrees from what the palm suggests is a finger bent aside, not a curl."""
HINGE_TRUSTED = np.cos(np.deg2rad(40.0))
"""An axis further than 40 degrees from the one across the finger is not that on which it curls."""


def rest_world(hand: HandModel) -> Floats:
    """(J, 4, 4) T_wrist_joint of a hand with all angles zero."""
    world = np.empty_like(hand.rest)
    for joint, parent in enumerate(hand.parents):
        world[joint] = hand.rest[joint] if parent < 0 else world[parent] @ hand.rest[joint]
    return world


def rest_rotations(
    hand: HandModel,
    points: Floats,
    hinges: Mapping[int, Floats] | None = None,
    turns: Mapping[str, float] | None = None,
) -> Floats:
    """(J, 3, 3) the rotations of a rig's joint frames at rest, from its joints (J, 3), NaN where it has none.

    The hand model is laid over the palm; then each of its bones is swung onto the rig's bone by the shortest turn,
    and a digit that is bent at rest is rolled into the plane of that bend. hinges: joint -> the only axis (3,), of
    either sense, about which the rig lets it turn, which says better how its digit curls. turns: digit -> degrees by
    which its person turned the plane in which it curls about its bones, 180 to flip it, in the sense of HandModel's
    twist.
    """
    model = rest_world(hand)
    seen = np.atleast_1d(np.isfinite(points).all(axis=-1))
    palm = [joint for joint in PALM if seen[joint]]
    if len(palm) < 3:
        # A mitten's one knuckle leaves the turn about it to where the thumb begins.
        palm += [joint for joint in THUMB if seen[joint]][:1]
    palm_turn = rot.fit_rigid(model[palm, :3, 3], points[palm], np.ones(len(palm)))[:3, :3]
    rotations = palm_turn @ model[:, :3, :3]
    for digit in DIGITS:
        joints = [JOINT_INDEX[name] for name in DIGIT_JOINTS[digit] if seen[JOINT_INDEX[name]]]
        for joint, following in pairwise(joints):
            rotations[joint] = _swung(rotations[joint], points[following] - points[joint])
        if len(joints) > 1:
            rotations[joints[-1]] = _swung(rotations[joints[-1]], points[joints[-1]] - points[joints[-2]])
        moving = [joint for joint in joints if hand.joints[joint] in CHAIN_JOINTS[digit]]
        rotations[moving] = _rolled_into_curl(rotations[moving], THUMB_CURL_SEEN if digit == "thumb" else CURL_SEEN)
        if hinges:
            rotations[moving] = _rolled_to_hinges(rotations[moving], [hinges.get(joint) for joint in moving])
        if turns and digit in turns:
            rotations[moving] = rotations[moving] @ _twist(hand, turns[digit])
    return rotations


def _twist(hand: HandModel, degrees: float) -> Floats:
    """(3, 3) in a joint's frame."""
    sense = 1.0 if hand.side == "right" else -1.0
    turned: Floats = rot.to_matrix(rot.about(np.array([0.0, sense, 0.0]), np.deg2rad(degrees)))
    return turned


def _swung(rotation: Floats, along: Floats) -> Floats:
    """A frame (3, 3) turned by the shortest way so that its Y points along a vector (3,)."""
    length = np.linalg.norm(along)
    if length < 1e-9:
        return rotation
    y, target = rotation[:, 1], along / length
    axis = np.cross(y, target)
    sine = np.linalg.norm(axis)
    # Against each other, any axis across will do: the frame's own X curls the finger.
    axis = axis / sine if sine > 1e-9 else rotation[:, 0]
    turn = rot.about(axis, np.arctan2(sine, y @ target))
    swung: Floats = rot.to_matrix(turn) @ rotation
    return swung


def _rolled_into_curl(rotations: Floats, seen: float) -> Floats:
    """The frames of a digit (N, 3, 3), rolled about their bones so that X is across the plane in which it is bent.

    As they were where it bends by less than `seen`, a sine.
    """
    if len(rotations) < 3:
        return rotations
    along = rotations[:, :, 1]
    curl_axis = np.cross(along[:-1], along[1:]).sum(axis=0)
    bend = np.linalg.norm(curl_axis)
    # Flexion is about −X.
    x = -curl_axis / max(bend, 1e-12)
    if bend < seen or (rotations[:, :, 0] @ x).min() < CURL_TRUSTED:
        return rotations
    return rot.basis(along, np.cross(x, along))


def _rolled_to_hinges(rotations: Floats, hinges: Sequence[Floats | None]) -> Floats:
    """The frames of a digit (N, 3, 3), rolled so that X is along each joint's hinge, or the nearest joint's.

    A joint without a hinge takes that of the next joint outwards, which it carries.
    """
    trusted = [
        row
        for row, hinge in enumerate(hinges)
        if hinge is not None and abs(rotations[row, :, 0] @ hinge) > HINGE_TRUSTED
    ]
    if not trusted:
        return rotations
    rolled = rotations.copy()
    for row, rotation in enumerate(rotations):
        hinge = hinges[next((other for other in trusted if other >= row), trusted[-1])]
        x = hinge * np.sign(rotation[:, 0] @ hinge)
        rolled[row] = rot.basis(rotation[:, 1], np.cross(x, rotation[:, 1]))
    return rolled
