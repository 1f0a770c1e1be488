"""Marker labels: making them unique, quoting them in messages, and parsing them as joints of a hand or an elbow."""

import re
from collections.abc import Collection, Iterable, Sequence

from ..hand.joints import JOINTS

OPENXR_JOINTS: tuple[str, ...] = ("palm", *JOINTS)
"""(26,) joints in the order of OpenXR's XR_EXT_hand_tracking."""

ELBOW = "elbow"
"""Label of the start of the forearm, which is not a joint of a hand, but determines the bend of the wrist. Its
rotation, if any, is that of the wrist of a hand at rest on the forearm."""

_DIGITS = {"thumb": "thumb", "index": "index-finger", "middle": "middle-finger", "ring": "ring-finger"}
_DIGITS |= {"pinky": "pinky-finger", "little": "pinky-finger"}
_SEGMENTS = ("metacarpal", "proximal", "intermediate", "distal", "tip")


def unique(labels: Iterable[str]) -> tuple[str, ...]:
    """Return unique labels: the second of the same spelling gets the suffix `#2`, the third `#3`."""
    used: set[str] = set()
    count: dict[str, int] = {}
    names = []
    for label in labels:
        name = label
        while name in used:
            count[label] = count.get(label, 1) + 1
            name = f"{label}#{count[label]}"
        used.add(name)
        names.append(name)
    return tuple(names)


def duplicate_warning(labels: Sequence[str]) -> tuple[str, ...]:
    """Return a warning if labels occur more than once."""
    repeated = len(labels) - len(set(labels))
    return (f"{repeated} labels occur more than once and were numbered, as in '#2'",) if repeated else ()


def quoted(text: str) -> str:
    """Return text from a file, quoted for a message: printable and at most 40 characters long."""
    text = "".join(character if character.isprintable() else "?" for character in text[:80]).strip()
    return f"'{text[:37]}...'" if len(text) > 40 else f"'{text}'"


def parse_joint(text: str) -> str | None:
    """Return the joint that a name means, in OPENXR_JOINTS' spelling; None if it means none.

    Examples: XR_HAND_JOINT_INDEX_TIP_EXT, index_finger_tip, indexTip.
    """
    if text in OPENXR_JOINTS:
        return text
    if len(text) > 60:
        return None
    words = re.findall(r"[a-z]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", text).lower())
    if "wrist" in words or "palm" in words:
        return "wrist" if "wrist" in words else "palm"
    digit = next((_DIGITS[word] for word in words if word in _DIGITS), None)
    segment = next((word for word in words if word in _SEGMENTS), None)
    if digit is None or segment is None:
        return None
    joint = f"{digit}-{segment}" if segment in {"metacarpal", "tip"} else f"{digit}-phalanx-{segment}"
    return joint if joint in JOINTS else None


def wrist_and_elbow(labels: Iterable[str], names: Collection[str]) -> tuple[str, str] | None:
    """Return the labels of a hand's wrist and elbow; None unless both are in the capture, as from body trackers.

    labels: those of the hand. names: all labels of the capture.
    """
    pairs = ((label, elbow_label(label)) for label in labels if label in names)
    return next(((wrist, elbow) for wrist, elbow in pairs if elbow is not None and elbow in names), None)


def elbow_label(label: str) -> str | None:
    """Return the label of a hand's elbow from that of its wrist; None for other labels.

    For example, 'Anna left:elbow' from 'Anna left:wrist'.
    """
    hand, colon, joint = label.rpartition(":")
    return f"{hand}:{ELBOW}" if colon and joint == JOINTS[0] else None
