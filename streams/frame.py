"""Frame: what every device's packets are read into: named points, and turns where the device has them."""

from dataclasses import dataclass

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


def joint_names(side: Side, performer: str = "") -> tuple[str, ...]:
    """(25,) what the joints of a solved hand are called: 'right:index-finger-tip', 'Anna left:wrist'."""
    owner = f"{performer} {side}" if performer else side
    return tuple(f"{owner}:{joint}" for joint in JOINTS)


def together(hands: "tuple[Frame, ...]") -> Frame:
    """One frame of the points of several, with the first one's time. Names are made anew: keep what comes out of it."""
    first = hands[0]
    turned = any(hand.rotations is not None for hand in hands)
    turns = [np.full((len(h.names), 4), np.nan) if h.rotations is None else h.rotations for h in hands]
    return Frame(
        names=tuple(name for hand in hands for name in hand.names),
        positions=np.concatenate([hand.positions for hand in hands]),
        rotations=np.concatenate(turns) if turned else None,
        time=first.time,
        number=first.number,
        timecode=first.timecode,
    )
