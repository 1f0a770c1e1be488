"""The bend of a wrist, kept as it was captured where the capture shows the elbow.

A character's arms are not where the performer's were, so that a hand with its captured direction bends its wrist as no
person does. Against the forearm it bends as the performer's did: the hand is rotated by what takes the captured forearm
to the character's. An armature that is the capture also tells how the forearm is turned about itself, by its hand at
rest. Otherwise the forearm comes to the character's by the shortest way, so that the hand pronates no more than it did.
The shortest way depends on where the performer faced: if both elbows were captured, the performer is turned about the
vertical to face as the character does. Between opposite directions there is no shortest way, as from a forearm before
the chest to one held to the side; there it leads over the front, where a person's forearm goes.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...hand import rotations as rot
from ...hand.joints import Side
from .wrist_strain import ArmAbove

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Forearm:
    """A forearm in the world on F frames."""

    elbow: Floats
    """(F, 3) m."""
    wrist: Floats
    """(F, 3) m."""
    back: Floats | None
    """(F, 3) where the back of a hand at rest on it points; None if that is unknown."""


Forearms = Mapping[Side, Forearm]

UP = np.array([0.0, 0.0, 1.0])
BY_FRONT = 0.3
"""How far the way from forearm to forearm leads over the front, against the sum of both unit directions."""


def carried_forearm(above: ArmAbove, back: Floats, world: Floats, wrist_rest: Floats) -> Forearm:
    """Return a character's forearm.

    back: (3,) of the hand at rest, in the frame of the arm's bone `wrist`. world: T_world_armature (..., 4, 4).
    wrist_rest: the rest transform of that bone as its parents move it, (..., 4, 4) in armature space.
    """
    length = np.linalg.norm(above.joints[2] - above.joints[1])
    linear, place = world[..., :3, :3], world[..., :3, 3]
    turned, wrist = wrist_rest[..., :3, :3], wrist_rest[..., :3, 3]
    elbow = wrist - length * turned @ above.axis
    elbow, wrist = ((linear @ point[..., None])[..., 0] + place for point in (elbow, wrist))
    return Forearm(elbow, wrist, (linear @ (turned @ back)[..., None])[..., 0])


def to_forearms(captured: Forearms, character: Forearms) -> dict[Side, Floats]:
    """Return the rotations (F, 3, 3) of the world that take each captured forearm to the character's."""
    facing, front = _facing(captured, character)
    rotations = {}
    for side, own in captured.items():
        theirs = character[side]
        end = rot.unit_vectors(theirs.wrist - theirs.elbow)
        if own.back is not None and theirs.back is not None:
            frames = [rot.frame_from_yz(one.wrist - one.elbow, one.back) for one in (own, theirs)]
            rotations[side] = frames[1] @ np.swapaxes(frames[0], -1, -2)
            continue
        start = rot.unit_vectors((facing @ (own.wrist - own.elbow)[..., None])[..., 0])
        ahead = np.cross(UP, end if side == "right" else -end) if front is None else front
        between = start + end + BY_FRONT * ahead
        halves = rot.multiply(rot.shortest_rotation(between, end), rot.shortest_rotation(start, between))
        rotations[side] = rot.to_matrix(halves) @ facing
    return rotations


def _facing(captured: Forearms, character: Forearms) -> tuple[Floats, Floats | None]:
    """Return how to turn a performer of two hands so as to face as the character does, and to where it faces.

    The first are rotations (F, 3, 3) about the vertical, the second horizontal unit vectors (F, 3); None for one hand.
    """
    frames = len(next(iter(captured.values())).wrist)
    if len(captured) < 2:
        return np.broadcast_to(np.eye(3), (frames, 3, 3)), None
    own, theirs = (hands["right"].elbow - hands["left"].elbow for hands in (captured, character))
    angle = np.arctan2(theirs[:, 1], theirs[:, 0]) - np.arctan2(own[:, 1], own[:, 0])
    front = np.cross(UP, theirs)
    front /= np.maximum(np.linalg.norm(front, axis=-1, keepdims=True), 1e-12)
    return rot.to_matrix(rot.from_axis_angle(UP, angle)), front


def against_forearms(roots: Mapping[Side, Floats], captured: Forearms, character: Forearms) -> dict[Side, Floats]:
    """Return wrists (F, 4, 4) that bend against a character's forearms as captured ones did; they stay in place.

    roots: T_world_wrist (F, 4, 4) as captured.
    """
    bent = {}
    for side, rotations in to_forearms(captured, character).items():
        bent[side] = roots[side].copy()
        bent[side][:, :3, :3] = rotations @ roots[side][:, :3, :3]
    return bent


def seen_forearm(elbow: Floats | None, root: Floats) -> bool:
    """Whether a forearm was captured: the elbow (F, 3) is away from the wrist (F, 4, 4) in every frame."""
    return elbow is not None and bool((np.linalg.norm(root[:, :3, 3] - elbow, axis=-1) > 1e-4).all())
