"""Evidence as bytes, for storage with a take in a Blender file; damaged or hostile bytes yield no evidence."""

import struct
import zlib

import numpy as np
from numpy.typing import NDArray

from ...hand.joints import SIDES
from .evidence import MEASURES, PARTS, Evidence, HandEvidence

Floats = NDArray[np.float64]

MAGIC = b"KNE1"
HEADER = struct.Struct("<4sBBBI")
"""Magic, which hands (bit 0 the left, bit 1 the right), parts, measures, frames."""
MAX_FRAMES = 500_000
"""Maximum frames of a take whose evidence is stored: more than an hour at 120 Hz."""


def pack(evidence: Evidence) -> bytes:
    """Return evidence as bytes: times in double precision, values in half; empty for a take of too many frames."""
    frames = len(evidence.times)
    if frames > MAX_FRAMES:
        return b""
    hands = sorted(evidence.hands, key=lambda hand: SIDES.index(hand.side))
    sides = sum(1 << SIDES.index(hand.side) for hand in hands)
    body = [evidence.times.astype("<f8").tobytes()]
    limit = float(np.finfo(np.float16).max)
    for hand in hands:
        # Each part and measure is stored separately, because equal neighbours compress well.
        halves = np.clip(hand.values, -limit, limit).astype("<f2")
        body.append(np.ascontiguousarray(halves.transpose(1, 2, 0)).tobytes())
    head = HEADER.pack(MAGIC, sides, len(PARTS), len(MEASURES), frames)
    return head + zlib.compress(b"".join(body), 6)


def unpack(data: object) -> Evidence | None:
    """Decode evidence from bytes; None for damaged or hostile bytes."""
    if not isinstance(data, bytes) or len(data) < HEADER.size:
        return None
    magic, sides, parts, measures, frames = HEADER.unpack_from(data)
    if (magic, parts, measures) != (MAGIC, len(PARTS), len(MEASURES)) or sides > 3 or frames > MAX_FRAMES:
        return None
    packed_sides = [side for bit, side in enumerate(SIDES) if sides >> bit & 1]
    per_hand = 2 * frames * parts * measures
    size = 8 * frames + per_hand * len(packed_sides)
    body = decompress(data[HEADER.size :], size)
    if body is None:
        return None
    times = np.frombuffer(body, "<f8", frames).astype(float)
    hands = []
    for number, side in enumerate(packed_sides):
        values = np.frombuffer(body, "<f2", frames * parts * measures, 8 * frames + number * per_hand)
        values = values.reshape(parts, measures, frames).transpose(2, 0, 1).astype(np.float32, order="C")
        values[np.isinf(values)] = np.nan
        hands.append(HandEvidence(side, values))
    return Evidence(times, tuple(hands))


def decompress(data: bytes, size: int) -> bytes | None:
    """Return decompressed data if it has exactly this size, otherwise None; at most this size is decompressed."""
    decoder = zlib.decompressobj()
    try:
        body = decoder.decompress(data, size + 1)
    except zlib.error:
        return None
    return body if len(body) == size and decoder.eof else None
