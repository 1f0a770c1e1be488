"""Distinguish rest poses in which arms are at rest from rest poses that are a moment of a recording."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...capture.marker_labels import ELBOW
from ...hand.elbow_axis import wrist_at_rest
from ...hand.forearm import arms_are_symmetric
from ...hand.joints import JOINTS
from .source_hands import SourceHand

if TYPE_CHECKING:
    from bpy.types import Object

Floats = NDArray[np.float64]


def arms_rest(armature: "Object", hands: Sequence[SourceHand]) -> bool:
    """Return whether both hands rest on their forearms in an armature's rest pose; False without two such arms."""
    if len({hand.side for hand in hands}) < 2:
        return False
    arms = [{joint.joint: joint.bone for joint in hand.joints if not any(joint.offset)} for hand in hands[:2]]
    common = [joint for joint in (ELBOW, *JOINTS) if all(joint in arm for arm in arms)]
    if common[:2] != [ELBOW, JOINTS[0]]:
        return False
    bones = armature.data.bones
    left, right = (np.array([bones[arm[joint]].head_local for joint in common]) for arm in arms)
    return arms_are_symmetric(left, right)


def elbows_by_axes(
    hands: Sequence[SourceHand], points: Floats, rotations: Floats, uppers: Floats
) -> Iterator[tuple[int, Floats | float]]:
    """Yield each elbow's index among the joints of hands, and the rotation (F, 4) of the wrist of a hand at rest.

    NaN where the elbow does not show it. points: (F, M, 3) m and rotations: (F, M, 4) wxyz of the joints in the world.
    uppers: T_world_bone (F, A, 4, 4) of the upper arm of each elbow.
    """
    arms, first = iter(np.moveaxis(uppers, 1, 0)), 0
    for hand in hands:
        index = {joint.joint: first + row for row, joint in enumerate(hand.joints)}
        first += len(hand.joints)
        if ELBOW not in index:
            continue
        upper, elbow, wrist = next(arms), index[ELBOW], index[JOINTS[0]]
        positions = {joint: points[:, row] for joint, row in index.items()}
        arm = np.stack([upper[:, :3, 3], positions[ELBOW], positions[JOINTS[0]]], axis=1)
        found = wrist_at_rest(upper[:, :3, :3], arm, positions, rotations[:, wrist], hand.side)
        yield elbow, np.nan if found is None else found
