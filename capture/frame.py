"""Frame: one moment of live data from any device, as named points with optional rotations."""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..hand.camera.picture_landmarks import PictureFrame
from ..hand.joints import JOINTS, Side
from .marker_labels import ELBOW

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """M named points at one moment: metres, right-handed, Z up, quaternions wxyz.

    Joints of a hand that the device solved are named by `joint_names`, markers by their labels.
    """

    names: tuple[str, ...]
    """(M,) unique. The same object as long as the names do not change: callers compare it by identity."""
    positions: Floats
    """(M, 3) in m, NaN in all three where not seen."""
    rotations: Floats | None = None
    """(M, 4) unit wxyz, world rotation of HandModel's joint frame (+Y along the bone, +Z out of the back of the hand);
    NaN where missing, None if the device sends no rotations."""
    time: float | None = None
    """s, by the device's own clock; None if it has none."""
    number: int | None = None
    """The device's own frame number, by which lost and late frames are recognised; None if it has none."""
    timecode: str = ""
    """SMPTE timecode, hh:mm:ss:ff; empty if the device sends none."""
    picture: PictureFrame | None = None
    """The hands detected in a camera's picture; None if the device does not send them."""


NAMES_CACHE_SIZE = 64
"""Maximum number of tuples of names in a cache. A device uses a few; a hostile one could send any number."""


@lru_cache(NAMES_CACHE_SIZE)
def intern_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the same object for equal names, as Frame requires."""
    return names


@lru_cache(NAMES_CACHE_SIZE)
def hand_joint_names(*hands: str) -> tuple[str, ...]:
    """Return names of the 25 joints of each hand, such as 'right:index-finger-tip' and 'left#2:wrist'."""
    return tuple(f"{hand}:{joint}" for hand in hands for joint in JOINTS)


def safe_label(text: str, longest: int) -> str:
    """Return a sender's name made safe for labels, messages and Blender: printable, without colons.

    longest: maximum number of characters.
    """
    return "".join(letter if letter.isprintable() and letter != ":" else "_" for letter in text.strip()[:longest])


@dataclass(frozen=True, slots=True, eq=False)
class SentForearm:
    """The forearm of a hand in a frame of a device that sends a body."""

    hand: str
    """The hand's name, such as 'right' or 'Anna left'."""
    elbow: Floats
    """(3,) m."""
    rotation: Floats
    """(4,) wxyz, world rotation of the joint frame of a wrist at rest on the forearm."""


def with_forearms(frame: Frame, forearms: "tuple[SentForearm, ...]") -> Frame:
    """Append the elbows of forearms to the points of a frame with rotations."""
    if not forearms or frame.rotations is None:
        return frame
    return replace(
        frame,
        names=intern_names((*frame.names, *(f"{forearm.hand}:{ELBOW}" for forearm in forearms))),
        positions=np.concatenate([frame.positions, [forearm.elbow for forearm in forearms]]),
        rotations=np.concatenate([frame.rotations, [forearm.rotation for forearm in forearms]]),
    )


def hand_name(side: Side, performer: str = "") -> str:
    """Return the name of a performer's hand: 'right', 'Anna left'."""
    return f"{performer} {side}" if performer else side


def joint_names(side: Side, performer: str = "") -> tuple[str, ...]:
    """Return the names (25,) of the joints of one hand."""
    return hand_joint_names(hand_name(side, performer))


def unseen_hand() -> tuple[Floats, Floats]:
    """Return positions (25, 3) and rotations (25, 4) of a hand without data, all NaN."""
    return np.full((len(JOINTS), 3), np.nan), np.full((len(JOINTS), 4), np.nan)


def concatenate_frames(hands: "tuple[Frame, ...]") -> Frame:
    """Concatenate several frames into one, with the time, number and timecode of the first."""
    first = hands[0]
    any_rotations = any(hand.rotations is not None for hand in hands)
    rotations = [np.full((len(hand.names), 4), np.nan) if hand.rotations is None else hand.rotations for hand in hands]
    return Frame(
        names=intern_names(tuple(name for hand in hands for name in hand.names)),
        positions=np.concatenate([hand.positions for hand in hands]),
        rotations=np.concatenate(rotations) if any_rotations else None,
        time=first.time,
        number=first.number,
        timecode=first.timecode,
    )
