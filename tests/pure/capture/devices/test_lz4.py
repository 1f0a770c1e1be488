"""LZ4 frames as the reference implementation writes them."""

import json
import struct
from contextlib import suppress

import lz4.block
import lz4.frame
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knuckle.capture.protocols.lz4 import MAGIC, decompress
from knuckle.errors import PacketError

MOST = 1 << 20
TEXTS = [
    b"",
    b"a",
    b"a" * 100_000,
    bytes(range(256)) * 700,
    json.dumps([{"x": i / 7, "name": f"bone {i % 13}"} for i in range(3000)]).encode(),
    struct.pack("<20000I", *((i * 2654435761) % 2**32 for i in range(20_000))),
]


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
@pytest.mark.parametrize("level", [0, 9, 12])
@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize("extras", [False, True], ids=["bare", "lengths and checksums"])
def test_what_the_reference_packs_is_unpacked(text: bytes, level: int, linked: bool, extras: bool) -> None:
    packed = lz4.frame.compress(
        text,
        compression_level=level,
        block_size=lz4.frame.BLOCKSIZE_MAX64KB,
        block_linked=linked,
        store_size=extras,
        content_checksum=extras,
        block_checksum=extras,
    )
    assert decompress(packed, MOST) == text


@given(st.lists(st.binary(max_size=40), max_size=40), st.lists(st.integers(0, 39), max_size=60))
def test_texts_that_repeat_themselves_are_unpacked(pieces: list[bytes], order: list[int]) -> None:
    text = b"".join(pieces[i % len(pieces)] for i in order) if pieces else b""
    assert decompress(lz4.frame.compress(text), MOST) == text


@given(st.binary(max_size=300), st.binary(max_size=300))
def test_blocks_are_read_as_the_reference_reads_them(begin: bytes, block: bytes) -> None:
    """Any bytes as a block: unpacked alike, or refused by both."""
    frame = MAGIC + b"\x40\x40\0" + struct.pack("<I", len(block)) + block + bytes(4)
    try:
        wanted = lz4.block.decompress(block, uncompressed_size=4096) if block else b""
    except lz4.block.LZ4BlockError:
        return
    if block:
        assert decompress(frame, 4096) == wanted


@given(st.sampled_from([lz4.frame.compress(text) for text in TEXTS]), st.data())
def test_damaged_frames_are_refused_or_read(packed: bytes, data: st.DataObject) -> None:
    damaged = bytearray(packed[: data.draw(st.integers(0, len(packed)))])
    for _ in range(data.draw(st.integers(0, 3)) if damaged else 0):
        damaged[data.draw(st.integers(0, min(len(damaged), 400) - 1))] = data.draw(st.integers(0, 255))
    with suppress(PacketError):
        assert len(decompress(bytes(damaged), MOST)) <= MOST


def test_more_than_may_be_is_refused_before_it_is_there() -> None:
    packed = lz4.frame.compress(b"a" * 10_000_000)
    assert len(packed) < 65_536
    with pytest.raises(PacketError, match="more than 1048576 bytes"):
        decompress(packed, MOST)
    plain = MAGIC + b"\x40\x40\0" + struct.pack("<I", 0x80000000 | 100) + bytes(100) + bytes(4)
    with pytest.raises(PacketError, match="more than 99 bytes"):
        decompress(plain, 99)


@pytest.mark.parametrize(
    ("frame", "what"),
    [
        (b"{}", "expected an LZ4 frame"),
        (MAGIC, "is truncated"),
        (MAGIC + b"\x80\x40\0" + bytes(4), "the flags 0x80"),
        (MAGIC + b"\x41\x40\0" + bytes(8), "without a dictionary"),
        (MAGIC + b"\x60\x40\0" + struct.pack("<I", 5) + b"\x10a\x02\0\0" + bytes(4), "match is 2 bytes back"),
        (MAGIC + b"\x60\x40\0" + struct.pack("<I", 5) + b"\x10a\0\0\0" + bytes(4), "match is 0 bytes back"),
    ],
)
def test_what_is_no_frame_is_refused(frame: bytes, what: str) -> None:
    with pytest.raises(PacketError, match=what):
        decompress(frame, MOST)
