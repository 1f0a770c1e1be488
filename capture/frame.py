"""Frame: what every device's packets are read into: named points, and turns where the device has them."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..hand.joints import JOINTS, Side

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """M named points at one moment, in one convention: metres, right-handed, Z up, quaternions wxyz.

    A point of a hand that the device has solved is called as `joint_names` does; a marker by its own label.
    """

    names: tuple[str, ...]
    """(M,) each once. The same object for as long as the names stay, so that who uses them can tell."""
    positions: Floats
    """(M, 3) m, NaN in all three where not seen."""
    rotations: Floats | None = None
    """(M, 4) unit wxyz of the joint in the world, in HandModel's frame of it (+Y along the bone, +Z out of the back of
    the hand), NaN where the device does not tell; None where it tells none."""
    time: float | None = None
    """s by the device's own clock; None where it has none."""
    number: int | None = None
    """The device's own count of frames, by which lost and late ones are told; None where it does not count."""
    timecode: str = ""
    """SMPTE timecode, hh:mm:ss:ff, where the device sends it."""


KEPT = 64
"""Sets of names that are kept, the last used: a device has a few, a hostile one any number."""


@lru_cache(KEPT)
def interned(names: tuple[str, ...]) -> tuple[str, ...]:
    """The same object for the same names, as Frame asks for."""
    return names


@lru_cache(KEPT)
def names_of(*hands: str) -> tuple[str, ...]:
    """(25 each,) the names of the joints of hands, by what the hands are: 'right:index-finger-tip', 'left#2:wrist'."""
    return tuple(f"{hand}:{joint}" for hand in hands for joint in JOINTS)


def label(text: str, longest: int) -> str:
    """What a sender calls a thing, as it may stand before a joint's name, in a sentence, and in Blender."""
    return "".join(letter if letter.isprintable() and letter != ":" else "_" for letter in text.strip()[:longest])


def hand_of(side: Side, performer: str = "") -> str:
    """What a hand is called: 'right', 'Anna left'."""
    return f"{performer} {side}" if performer else side


def joint_names(side: Side, performer: str = "") -> tuple[str, ...]:
    """(25,) what the joints of one hand are called."""
    return names_of(hand_of(side, performer))


def unseen() -> tuple[Floats, Floats]:
    """(25, 3) m and (25, 4): the joints of a hand of which nothing is told yet."""
    return np.full((len(JOINTS), 3), np.nan), np.full((len(JOINTS), 4), np.nan)


def together(hands: "tuple[Frame, ...]") -> Frame:
    """One frame of the points of several, with the first one's time."""
    first = hands[0]
    turned = any(hand.rotations is not None for hand in hands)
    turns = [np.full((len(h.names), 4), np.nan) if h.rotations is None else h.rotations for h in hands]
    return Frame(
        names=interned(tuple(name for hand in hands for name in hand.names)),
        positions=np.concatenate([hand.positions for hand in hands]),
        rotations=np.concatenate(turns) if turned else None,
        time=first.time,
        number=first.number,
        timecode=first.timecode,
    )
