"""Distinguish rest poses in which arms are at rest from rest poses that are a moment of a recording."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...capture.marker_labels import ELBOW
from ...hand import rotations as rot
from ...hand.elbow_axis import hand_frames, resting_back
from ...hand.forearm import arms_rest_alike
from ...hand.joints import JOINTS, KNUCKLES
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
    return arms_rest_alike(left, right)


def elbows_by_axes(
    hands: Sequence[SourceHand], points: Floats, rotations: Floats, uppers: Floats
) -> Iterator[tuple[int, Floats]]:
    """Yield each elbow's index among the joints of hands, and the rotation (F, 4) of the wrist of a hand at rest.

    NaN where the elbow does not show it. points: (F, M, 3) m and rotations: (F, M, 4) wxyz of the joints in the world.
    uppers: T_world_bone (F, A, 4, 4) of the upper arms of the elbows that have one.
    """
    arms, first = iter(np.moveaxis(uppers, 1, 0)), 0
    for hand in hands:
        index = {joint.joint: first + row for row, joint in enumerate(hand.joints)}
        first += len(hand.joints)
        if ELBOW not in index:
            continue
        upper = next(arms) if hand.joints[index[ELBOW] - first].upper else None
        yield index[ELBOW], _wrist_at_rest(hand, index, points, rotations, upper)


def _wrist_at_rest(
    hand: SourceHand, index: dict[str, int], points: Floats, rotations: Floats, upper: Floats | None
) -> Floats:
    """Return the rotation (F, 4) of the wrist of one hand, see elbows_by_axes."""
    wrist, elbow = index.get(JOINTS[0]), index[ELBOW]
    fingers = [joint for joint in KNUCKLES if joint in index]
    if wrist is None or upper is None or len(fingers) < 2:
        return np.full((len(points), 4), np.nan)
    back = resting_back(upper[:, :3, :3], np.stack([upper[:, :3, 3], points[:, elbow], points[:, wrist]], 1), hand.side)
    if back is None:
        return np.full((len(points), 4), np.nan)
    resting = rot.frame_from_yz(points[:, wrist] - points[:, elbow], back)
    moved = hand_frames(points[:, [wrist, index[fingers[0]], index[fingers[-1]]]], hand.side)
    return rot.multiply(rot.from_matrix(resting @ np.swapaxes(moved, -1, -2)), rotations[:, wrist])
