"""Distinguish rest poses in which arms are at rest from rest poses that are a moment of a recording."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...capture.marker_labels import ELBOW
from ...hand.forearm import arms_rest_alike
from ...hand.joints import JOINTS
from .source_hands import SourceHand

if TYPE_CHECKING:
    from bpy.types import Object


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
