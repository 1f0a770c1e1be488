"""The bend of a wrist, kept as it was captured where the capture shows the elbow.

A character's arms are not in the performer's pose, so a hand with its captured direction may bend the wrist as no
person can. To bend the wrist as the performer did, the hand is rotated by the rotation from the captured forearm to the
character's. If the capture is an armature, its hand at rest or the axis of its elbow also determines the forearm's
rotation about itself. Otherwise the shortest rotation to the character's forearm is used, so that the hand pronates no
more than before. The shortest rotation depends on where the performer faced: if both arms were captured, the performer
is first rotated about the vertical to face as the character does. The line between the shoulders, or else between the
hips, shows the direction; the elbows are used only if the capture has neither, because a single arm reaching ahead
rotates their line. Between opposite directions the shortest rotation is undetermined, as from a forearm before the
chest to one held to the side. It then passes through the front, as a person's forearm does.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ...hand import rotations as rot
from ...hand.forearm import Forearm
from ...hand.joints import Side
from .wrist_strain import ArmAbove

Floats = NDArray[np.float64]


Forearms = Mapping[Side, Forearm]

UP = np.array([0.0, 0.0, 1.0])
FRONT_WEIGHT = 0.3
"""Weight of the front, relative to the sum of both unit directions, in the rotation from one forearm to the other."""


def carried_forearm(above: ArmAbove, back: Floats, world: Floats, wrist_rest: Floats, shoulder_rest: Floats) -> Forearm:
    """Return a character's forearm.

    back: (3,) of the hand at rest, in the frame of the arm's bone `wrist`. world: T_world_armature (..., 4, 4).
    wrist_rest, shoulder_rest: the rest transforms of that bone and of the upper arm as their parents move them,
    (..., 4, 4) in armature space.
    """
    length = np.linalg.norm(above.joints[2] - above.joints[1])
    linear, position = world[..., :3, :3], world[..., :3, 3]
    turned, wrist = wrist_rest[..., :3, :3], wrist_rest[..., :3, 3]
    elbow = wrist - length * turned @ above.axis
    points = (elbow, wrist, shoulder_rest[..., :3, 3])
    elbow, wrist, shoulder = ((linear @ point[..., None])[..., 0] + position for point in points)
    return Forearm(elbow, wrist, (linear @ (turned @ back)[..., None])[..., 0], shoulder)


def to_forearms(captured: Forearms, character: Forearms) -> dict[Side, Floats]:
    """Return the rotations (F, 3, 3) of the world that take each captured forearm to the character's.

    For a forearm with a weight, it is this fraction of the rotation.
    """
    facing, front = _facing(captured, character)
    rotations = {}
    for side, own in captured.items():
        theirs = character[side]
        end = rot.unit_vectors(theirs.wrist - theirs.elbow)
        if own.back is not None and theirs.back is not None:
            frames = [rot.frame_from_yz(one.wrist - one.elbow, one.back) for one in (own, theirs)]
            rotations[side] = _weighted(frames[1] @ np.swapaxes(frames[0], -1, -2), own.weight)
            continue
        start = rot.unit_vectors((facing @ (own.wrist - own.elbow)[..., None])[..., 0])
        ahead = np.cross(UP, end if side == "right" else -end) if front is None else front
        between = start + end + FRONT_WEIGHT * ahead
        halves = rot.multiply(rot.shortest_rotation(between, end), rot.shortest_rotation(start, between))
        rotations[side] = _weighted(rot.to_matrix(halves) @ facing, own.weight)
    return rotations


def _weighted(rotations: Floats, weight: Floats | None) -> Floats:
    """Return fractions (F,) 0..1 of rotations (F, 3, 3); None returns them unchanged."""
    if weight is None or (weight == 1.0).all():
        return rotations
    return rot.to_matrix(rot.slerp(rot.IDENTITY, rot.from_matrix(rotations), weight[:, None]))


def _facing(captured: Forearms, character: Forearms) -> tuple[Floats, Floats | None]:
    """Return the rotation that makes a performer with two hands face in the character's direction, and that direction.

    The first are rotations (F, 3, 3) about the vertical, the second horizontal unit vectors (F, 3); None for one hand.
    """
    frames = len(next(iter(captured.values())).wrist)
    if len(captured) < 2:
        return np.broadcast_to(np.eye(3), (frames, 3, 3)), None
    own, theirs = (_across(hands) for hands in (captured, character))
    angle = np.arctan2(theirs[:, 1], theirs[:, 0]) - np.arctan2(own[:, 1], own[:, 0])
    front = np.cross(UP, theirs)
    front /= np.maximum(np.linalg.norm(front, axis=-1, keepdims=True), 1e-12)
    return rot.to_matrix(rot.from_axis_angle(UP, angle)), front


def _across(hands: Forearms) -> Floats:
    """Return the vector (F, 3) m from the left to the right side of the body of two hands."""
    left, right = hands["left"], hands["right"]
    if left.trunk is not None and right.trunk is not None:
        return right.trunk - left.trunk
    return right.elbow - left.elbow


def against_forearms(roots: Mapping[Side, Floats], captured: Forearms, character: Forearms) -> dict[Side, Floats]:
    """Return wrists (F, 4, 4) that bend against a character's forearms as the captured ones did, at unchanged
    positions.

    roots: T_world_wrist (F, 4, 4) as captured.
    """
    rotated_roots = {}
    for side, rotations in to_forearms(captured, character).items():
        rotated_roots[side] = roots[side].copy()
        rotated_roots[side][:, :3, :3] = rotations @ roots[side][:, :3, :3]
    return rotated_roots
