"""Assignment of a digit's bones to its joints."""

import numpy as np

from ...hand.joints import CHAIN_JOINTS, DIGIT_JOINTS
from ...hand.thumb_chain import from_cmc
from .digit_labels import DigitLabels
from .name_hints import NameHints
from .skeleton import COINCIDENT, Skeleton

STUB = 0.3
"""A last bone shorter than this fraction of the previous one only marks the tip, if fingers have MIN_FINGER_LENGTH."""
MIN_FINGER_LENGTH = 0.85
"""Minimum length of a finger up to its last bone, in distances from wrist to knuckle. An exporter cut shorter ones."""


def joints_of(skeleton: Skeleton, labels: DigitLabels, hints: NameHints) -> dict[str, int]:
    """Return joint -> bone of a hand, without bones beyond the tip."""
    bones = {"wrist": labels.wrist}
    fingers = _finger_bones(labels)
    has_tips = fingers > 3
    stubs = _length_to_last_head(skeleton, labels) > MIN_FINGER_LENGTH
    for digit, chain in labels.digits.items():
        remaining = list(chain)
        if digit == "thumb":
            end_bones = max(fingers - 3, int(has_tips or _is_end(skeleton, remaining, hints, stubs)))
            remaining = list(from_cmc(remaining, end_bones))
        elif labels.palm_bones[digit]:
            palm_bone = remaining[labels.palm_bones[digit] - 1]
            remaining = remaining[labels.palm_bones[digit] :]
            if not _carries_other_fingers(skeleton, palm_bone, labels, digit):
                bones[DIGIT_JOINTS[digit][0]] = palm_bone
        bones |= dict(
            zip(_chain_joints(digit, remaining, _is_end(skeleton, remaining, hints, stubs)), remaining, strict=False)
        )
        tip = DIGIT_JOINTS[digit][-1]
        if tip not in bones and (marker := _tip_marker(skeleton, remaining[-1])) is not None:
            bones[tip] = marker
    return bones


def _carries_other_fingers(skeleton: Skeleton, bone: int, labels: DigitLabels, digit: str) -> bool:
    """Return whether a bone in the palm carries other fingers, in which case it is not a metacarpal. A thumb may be its
    child.
    """
    other_roots = [chain[0] for name, chain in labels.digits.items() if name not in ("thumb", digit)]
    return any(bone in skeleton.ancestors(root) for root in other_roots)


def _tip_marker(skeleton: Skeleton, last: int) -> int | None:
    """Return a bone at the tail of a digit's last bone, which only marks the tip; None if there is none."""
    tolerance = COINCIDENT * float(np.linalg.norm(skeleton.tails[last] - skeleton.heads[last]))
    markers = [
        bone
        for bone in skeleton.rig_children(last)
        if not skeleton.bones[bone].driven and np.linalg.norm(skeleton.heads[bone] - skeleton.tails[last]) < tolerance
    ]
    return markers[0] if markers else None


def _finger_bones(labels: DigitLabels) -> int:
    """Return the median number of a finger's bones outside the palm, including a tip bone."""
    counts = [len(chain) - labels.palm_bones[digit] for digit, chain in labels.digits.items() if digit != "thumb"]
    return int(np.median(counts))


def _length_to_last_head(skeleton: Skeleton, labels: DigitLabels) -> float:
    """Return the median length of a finger from knuckle to last head, in distances from wrist to knuckle."""
    lengths = []
    for digit, inside in labels.palm_bones.items():
        heads = skeleton.heads[list(labels.digits[digit][inside:])]
        palm = float(np.linalg.norm(heads[0] - labels.wrist_position))
        lengths.append(float(np.linalg.norm(np.diff(heads, axis=0), axis=-1).sum()) / max(palm, 1e-12))
    return float(np.median(lengths))


def _chain_joints(digit: str, chain: list[int], has_end: bool) -> tuple[str, ...]:
    """Return the joints of the bones outside the palm, with the tip last if it has a bone."""
    tip = CHAIN_JOINTS[digit][-1]
    bending = len(chain) - (len(chain) > 3 or has_end)
    joints = bending_joints(digit, bending)
    return (*joints, tip) if bending < len(chain) else joints


def bending_joints(digit: str, bones: int) -> tuple[str, ...]:
    """Return the joints of a digit with this many bones that bend; at most three."""
    first, second, third, _ = CHAIN_JOINTS[digit]
    # A thumb of two bones has no metacarpal; a finger of two has no third phalanx.
    joints = (second, third) if digit == "thumb" and bones < 3 else (first, second, third)
    return joints[:bones]


def _is_end(skeleton: Skeleton, chain: list[int], hints: NameHints, stubs: bool) -> bool:
    """Return whether a chain's last bone only marks the tip, by its name or, if `stubs`, by its length."""
    last, before = chain[-1], chain[-2]
    if len(chain) > 2 and skeleton.bones[last].name in hints.ends:
        return True
    length = np.linalg.norm(skeleton.ends[last] - skeleton.heads[last])
    return stubs and bool(length < STUB * np.linalg.norm(skeleton.heads[last] - skeleton.heads[before]))
