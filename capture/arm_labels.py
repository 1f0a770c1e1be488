"""Names of joints and markers at elbows, shoulders and hips."""

import re
from collections.abc import Collection, Iterable

from ..hand.joint_words import joint_in_label
from ..hand.joints import JOINTS, Side
from ..hand.marker_sets import side_in_name
from .marker_labels import wrist_and_elbow

ELBOW_WORDS = ("elb", "fore_?arm", "lower_?arm")
"""Words for a marker at the elbow. They include the forearm, whose joint is at its start."""
BONE_END = r"[ _.-]?(end|nub)\b"
"""Suffix of the far end of a bone, where the next one starts: RightForeArmEnd is at the wrist."""
TRUNK_WORDS = (
    ("shldr", "up(per)?_?arm", r"(?<!fore)(?<!fore_)(?<!lower)(?<!lower_)arm$"),
    ("shoulder", "sho$", "clav", "collar"),
    ("up(per)?_?leg", "thigh", "asi$", "hip(?!s)"),
)
"""Label patterns of markers on both sides of the trunk, the best first: shoulders, collar bones, hips."""


def is_called(label: str, word: str, side: Side) -> bool:
    """Return whether a label names a part of the body on one side, such as LeftForeArm, elbow.L or LELB.

    word: a regular expression, such as one of ELBOW_WORDS.
    """
    text = label.lower()
    match = re.search(word, text)
    if match is None or re.match(BONE_END, text[match.end() :]):
        return False
    preceding = text[max(match.start() - 1, 0) : match.start()]
    return (side_in_name(label) or {"l": "left", "r": "right"}.get(preceding)) == side


def forearm_rotation_labels(labels: Iterable[str], names: Collection[str]) -> tuple[str, str] | None:
    """Return the labels of a hand's wrist and elbow, whose rotations determine the forearm's twist; None if not found.

    Devices use the names of `elbow_label`, skeletons their own words, such as LeftHand and LeftForeArm.

    labels: those of the hand. names: all labels of the capture.
    """
    labels = list(labels)
    hand_joints = {label: joint_in_label(label) for label in labels if label in names}
    wrists = {label: joint[0] for label, joint in hand_joints.items() if joint is not None and joint[1] == JOINTS[0]}
    pairs = (
        (wrist, name)
        for wrist, side in wrists.items()
        for word in ELBOW_WORDS
        for name in names
        if side is not None and name.rpartition(":")[0] == wrist.rpartition(":")[0] and is_called(name, word, side)
    )
    return wrist_and_elbow(labels, names) or next(pairs, None)
