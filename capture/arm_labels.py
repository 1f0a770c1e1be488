"""Labels of an arm: what joints and markers at elbows, shoulders and hips are called."""

import re
from collections.abc import Collection, Iterable

from ..hand.joint_words import joint_in_label
from ..hand.joints import JOINTS, Side
from ..hand.marker_sets import side_in_name
from .marker_labels import wrist_and_elbow

ELBOW_WORDS = ("elb", "fore_?arm", "lower_?arm")
"""What a marker at the elbow is called; a forearm's joint is where it begins."""
BONE_END = r"[ _.-]?(end|nub)\b"
"""What follows in the name of a bone's other end, where the next bone begins: RightForeArmEnd is at the wrist."""
TRUNK_WORDS = (
    ("shldr", "up(per)?_?arm", r"(?<!fore)(?<!fore_)(?<!lower)(?<!lower_)arm$"),
    ("shoulder", "sho$", "clav", "collar"),
    ("up(per)?_?leg", "thigh", "asi$", "hip(?!s)"),
)
"""The same of markers on both sides of the trunk, the best first: shoulders, collar bones, hips."""


def is_called(label: str, word: str, side: Side) -> bool:
    """Whether a label means a place on a side, such as LeftForeArm, elbow.L or LELB."""
    text = label.lower()
    found = re.search(word, text)
    if found is None or re.match(BONE_END, text[found.end() :]):
        return False
    before = text[max(found.start() - 1, 0) : found.start()]
    return (side_in_name(label) or {"l": "left", "r": "right"}.get(before)) == side


def turned_wrist_and_elbow(labels: Iterable[str], names: Collection[str]) -> tuple[str, str] | None:
    """Return the labels of wrist and elbow of a hand, by whose rotations it is known how the forearm is turned.

    Devices name both alike, skeletons in their own words: LeftHand and LeftForeArm. None if one is not among names.
    """
    labels = list(labels)
    named = {label: joint_in_label(label) for label in labels if label in names}
    wrists = {label: joint[0] for label, joint in named.items() if joint is not None and joint[1] == JOINTS[0]}
    pairs = (
        (wrist, name)
        for wrist, side in wrists.items()
        for word in ELBOW_WORDS
        for name in names
        if side is not None and name.rpartition(":")[0] == wrist.rpartition(":")[0] and is_called(name, word, side)
    )
    return wrist_and_elbow(labels, names) or next(pairs, None)
