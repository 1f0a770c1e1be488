"""Whether the rest pose of an armature is one of arms at rest, or a moment of a recording."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...capture.marker_labels import ELBOW
from ...hand.joints import JOINTS
from .source_hands import SourceHand

if TYPE_CHECKING:
    from bpy.types import Object

MAX_ASYMMETRY = 0.1
"""Most by which distances of one arm differ from those of the other, as a share of the forearm, at rest: performers'
skeletons differ by some per cent, and a palm that turns by 30 degrees moves its knuckles by a tenth of the forearm."""


def arms_rest(armature: "Object", hands: Sequence[SourceHand]) -> bool:
    """Return whether both hands rest on their forearms in an armature's rest pose: whether they mirror each other.

    Files without a mesh may have their first frame as rest pose, in which no performer's arms are alike.
    """
    if len({hand.side for hand in hands}) < 2:
        return False
    arms = [{joint.joint: joint.bone for joint in hand.joints if not any(joint.offset)} for hand in hands[:2]]
    common = [joint for joint in arms[0] if joint in arms[1]]
    if not {ELBOW, JOINTS[0]}.issubset(common):
        return False
    bones = armature.data.bones
    left, right = (np.array([bones[arm[joint]].head_local for joint in common]) for arm in arms)
    forearm = np.linalg.norm(left[common.index(ELBOW)] - left[common.index(JOINTS[0])])
    across = _distances(left, right)
    apart = max(np.abs(across - across.T).max(), np.abs(_distances(left, left) - _distances(right, right)).max())
    return bool(apart < MAX_ASYMMETRY * forearm)


def _distances(points: NDArray[np.float64], others: NDArray[np.float64]) -> NDArray[np.float64]:
    distances: NDArray[np.float64] = np.linalg.norm(points[:, None] - others[None], axis=-1)
    return distances
