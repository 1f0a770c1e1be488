"""Names of a hand's joints and digits.

The 25 joints are those of the WebXR Hand Input module and of OpenXR's XR_EXT_hand_tracking, which are also the joints
of the hand in FABRIK-CGA section 3.4.1.
"""

from typing import Literal

Side = Literal["left", "right"]
SIDES: tuple[Side, Side] = ("left", "right")

DIGITS = ("thumb", "index-finger", "middle-finger", "ring-finger", "pinky-finger")

_FINGER_PARTS = ("metacarpal", "phalanx-proximal", "phalanx-intermediate", "phalanx-distal", "tip")
_THUMB_PARTS = ("metacarpal", "phalanx-proximal", "phalanx-distal", "tip")

DIGIT_JOINTS: dict[str, tuple[str, ...]] = {
    digit: tuple(f"{digit}-{part}" for part in (_THUMB_PARTS if digit == "thumb" else _FINGER_PARTS))
    for digit in DIGITS
}
"""The joints of each digit from the wrist outwards: 4 for the thumb, 5 for a finger."""

CHAIN_JOINTS: dict[str, tuple[str, str, str, str]] = {
    digit: (joints[-4], joints[-3], joints[-2], joints[-1]) for digit, joints in DIGIT_JOINTS.items()
}
"""The last four joints of each digit: MCP, PIP, DIP, tip; for the thumb CMC, MCP, IP, tip."""

JOINTS: tuple[str, ...] = ("wrist", *(joint for joints in DIGIT_JOINTS.values() for joint in joints))
"""The 25 joints in WebXR's order, parents before children."""

JOINT_INDEX: dict[str, int] = {name: index for index, name in enumerate(JOINTS)}

PARENTS: tuple[int, ...] = tuple(
    -1 if name == "wrist" else 0 if name.endswith("metacarpal") else index - 1 for index, name in enumerate(JOINTS)
)
"""(J,) the index of each joint's parent; −1 for the wrist."""

BENDING_JOINTS: frozenset[str] = frozenset(joint for joints in CHAIN_JOINTS.values() for joint in joints[1:])
"""The joints that move when a digit bends: the last three of each chain, with the tip."""

KNUCKLES = tuple(f"{digit}-phalanx-proximal" for digit in DIGITS[1:])
"""The MCP joints of the four fingers, from the index outwards."""

TIPS = tuple(f"{digit}-tip" for digit in DIGITS)


def digit_label(digit: str) -> str:
    """Return a digit's name for use in a sentence, such as "little finger"."""
    return digit.replace("pinky", "little").replace("-", " ")


def digit_title(digit: str) -> str:
    """Return the name of a digit or the palm for use as a heading, such as "Little"."""
    return digit_label(digit).removesuffix(" finger").capitalize()


def digit_of(joint: str) -> str | None:
    """Return the digit that a joint belongs to, None for the wrist."""
    return next((digit for digit in DIGITS if joint.startswith(digit + "-")), None)
