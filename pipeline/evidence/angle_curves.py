"""The joint angles of a take in few columns, for drawing and for storage with the take in a Blender file."""

import json
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...hand.joints import SIDES, Side
from ...hand.kinematics import Pose
from ...hand.model import HandModel
from .columns import column_starts, highest, lowest
from .packing import decompress

Floats = NDArray[np.float64]

MAX_COLUMNS = 600
"""Maximum number of columns of a plot."""
MAGIC = b"KNA1"
HEADER = struct.Struct("<4sHH")
"""Magic number, size of the names in bytes, number of columns."""
MAX_ANGLES = 64
"""Maximum number of angles of a hand."""
MAX_NAME = 100
"""Maximum number of characters stored of an angle's name."""


@dataclass(frozen=True, slots=True, eq=False)
class AngleCurves:
    """The D angles of one hand in C columns, in degrees."""

    side: Side
    names: tuple[str, ...]
    """(D,) such as "thumb-phalanx-distal flexion"."""
    low: Floats
    """(C, D), NaN where unknown."""
    high: Floats
    """(C, D)"""

    @classmethod
    def of(cls, pose: Pose) -> "AngleCurves":
        """Return the curves of all angles of a pose that can change."""
        return cls.of_angles(pose.hand, pose.angles)

    @classmethod
    def of_angles(cls, hand: HandModel, angles: Floats) -> "AngleCurves":
        """Return the curves of those of a hand's angles (F, D) in rad that can change."""
        free = np.flatnonzero(hand.limits[:, 1] > hand.limits[:, 0])
        degrees, starts = np.degrees(angles[:, free]), column_starts(len(angles), MAX_COLUMNS)
        names = tuple(hand.dof_name(int(dof)) for dof in free)
        return cls(hand.side, names, lowest(degrees, starts), highest(degrees, starts))


def pack_angles(curves: Sequence[AngleCurves]) -> bytes:
    """Return curves of hands with the same columns as bytes, values in half precision."""
    names = json.dumps({hand.side: list(hand.names) for hand in curves}).encode()
    halves = [np.stack([hand.low, hand.high]).astype("<f2").transpose(0, 2, 1).tobytes() for hand in curves]
    columns = len(curves[0].low) if curves else 0
    return HEADER.pack(MAGIC, len(names), columns) + names + zlib.compress(b"".join(halves), 6)


def unpack_angles(data: object) -> tuple[AngleCurves, ...]:
    """Decode curves from bytes; empty for damaged or hostile bytes."""
    if not isinstance(data, bytes) or len(data) < HEADER.size:
        return ()
    magic, length, columns = HEADER.unpack_from(data)
    names = _names(data[HEADER.size : HEADER.size + length]) if magic == MAGIC and columns <= MAX_COLUMNS else {}
    counts = [2 * columns * len(of_hand) for of_hand in names.values()]
    body = decompress(data[HEADER.size + length :], 2 * sum(counts))
    if not names or body is None:
        return ()
    values = np.frombuffer(body, "<f2").astype(float)
    values[~np.isfinite(values)] = np.nan
    curves, offset = [], 0
    for (side, of_hand), count in zip(names.items(), counts, strict=True):
        low, high = values[offset : offset + count].reshape(2, len(of_hand), columns).transpose(0, 2, 1)
        curves.append(AngleCurves(side, of_hand, low, high))
        offset += count
    return tuple(curves)


def _names(data: bytes) -> dict[Side, tuple[str, ...]]:
    """Return the names of the angles of each hand, none if they are damaged."""
    try:
        angle_names = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(angle_names, dict) or not {*angle_names} <= {*SIDES}:
        return {}
    if not all(isinstance(names, list) and 0 < len(names) <= MAX_ANGLES for names in angle_names.values()):
        return {}
    return {side: tuple(str(name)[:MAX_NAME] for name in names) for side, names in angle_names.items()}
