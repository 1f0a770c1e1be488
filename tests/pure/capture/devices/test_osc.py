"""OSC as another library writes and reads it."""

import struct
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pythonosc.osc_bundle_builder import IMMEDIATELY, OscBundleBuilder
from pythonosc.osc_message_builder import OscMessageBuilder
from pythonosc.osc_packet import OscPacket

from knuckle.capture.protocols import osc
from knuckle.errors import PacketError

ADDRESSES = ("/a", "/VMC/Ext/T", "/VMC/Ext/Bone/Pos")
ALL = frozenset(address.encode() for address in ADDRESSES)

texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)
arguments = st.lists(st.integers(-(2**31), 2**31 - 1) | st.floats(width=32, allow_nan=False) | texts, max_size=10)
messages = st.lists(st.tuples(st.sampled_from(ADDRESSES), arguments), max_size=6)


def built(address: str, values: Iterable[object]):
    builder = OscMessageBuilder(address)
    for value in values:
        builder.add_arg(value)
    return builder.build()


@given(said=messages, deep=st.integers(1, osc.MAX_DEPTH))
def test_what_another_library_writes_is_read(said: list[tuple[str, list[osc.Argument]]], deep: int) -> None:
    builder = OscBundleBuilder(IMMEDIATELY)
    for address, values in said:
        builder.add_content(built(address, values))
    for _ in range(deep - 1):
        outer = OscBundleBuilder(IMMEDIATELY)
        outer.add_content(builder.build())
        builder = outer
    found = osc.decode(builder.build().dgram, ALL)
    assert [(one.address.decode(), list(one.arguments)) for one in found] == said


@given(said=messages)
def test_another_library_reads_what_is_written(said: list[tuple[str, list[osc.Argument]]]) -> None:
    packet = osc.encode_bundle(*(osc.encode_message(address.encode(), *values) for address, values in said))
    found = [timed.message for timed in OscPacket(packet).messages]
    assert [(one.address, one.params) for one in found] == said


def test_other_addresses_are_passed_over_and_other_types_end_the_arguments() -> None:
    packet = osc.encode_bundle(
        osc.encode_message(b"/b", 1.0),
        built("/a", [1, "x", 2.5, True, "never"]).dgram,
        built("/a", [2**40, 0.1]).dgram,
    )
    assert osc.decode(packet, ALL) == [
        osc.OscMessage(b"/a", (1, "x", 2.5)),
        osc.OscMessage(b"/a", (2**40, float(np.float32(0.1)))),
    ]


def nested(depth: int) -> bytes:
    packet = osc.encode_message(b"/a")
    for _ in range(depth):
        packet = osc.encode_bundle(packet)
    return packet


@pytest.mark.parametrize(
    ("packet", "what"),
    [
        (b"", "has no end"),
        (b"/a", "has no end"),
        (b"/a\0\0f\0\0\0", "type tags begin b'f' at byte 4"),
        (b"/a\0\0,ff\0\0\0\0\0", "need 4 more bytes"),
        (b"/a\0\0,s\0\0abcd", "a string at byte 8 has no end"),
        (osc.BUNDLE + b"\0", "ends before its time"),
        (osc.encode_bundle() + struct.pack(">i", -4), "an element of 4294967292 bytes at byte 20, where 0 are left"),
        (osc.encode_bundle() + struct.pack(">i", 0), "an element of 0 bytes"),
        (osc.encode_bundle() + struct.pack(">i", 3) + b"/a\0", "an element of 3 bytes"),
        (osc.encode_bundle() + b"\0\0", "an element of 0 bytes"),
        (nested(osc.MAX_DEPTH + 1), f"bundles are {osc.MAX_DEPTH + 1} deep"),
        (nested(1500), "deep"),
    ],
)
def test_what_is_malformed_is_refused(packet: bytes, what: str) -> None:
    with pytest.raises(PacketError, match=what):
        osc.decode(packet, ALL)
