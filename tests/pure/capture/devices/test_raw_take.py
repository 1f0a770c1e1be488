"""Records of a raw take: what damage to a time, a length or a file's end costs."""

import struct
import tracemalloc
import zlib
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

from knuckle import capture
from knuckle.capture.devices import raw_take_reader
from knuckle.capture.devices.device_table import DEVICES
from knuckle.capture.devices.raw_take import (
    MAGIC,
    MAGIC_1,
    RECORD,
    Packet,
    RawTakeHeader,
    header_bytes,
    packet_bytes,
    read_header,
    read_packets,
)
from knuckle.capture.network.transport import Address
from knuckle.capture.protocols.quest import QuestSender
from knuckle.errors import CaptureError

from .moments import moments

HEADER = header_bytes(RawTakeHeader("quest"))


def packets_sent(count: int) -> list[Packet]:
    """The packets of a headset without a clock of its own, so that frames have the times of arrival."""
    sender = QuestSender(Address())
    return [
        Packet(index / 60, b":".join([line.split(b" |")[0], line.partition(b":")[2]]))
        for index, moment in enumerate(moments(count))
        for line in sender.packets(moment)
    ]


def record_1(packet: Packet) -> bytes:
    """A record of format 1, whose CRC is that of the content alone."""
    return struct.pack("<IdI", len(packet.content), packet.time, zlib.crc32(packet.content)) + packet.content


def file_1(packets: list[Packet]) -> bytes:
    return HEADER.replace(MAGIC, MAGIC_1) + b"".join(map(record_1, packets))


def contents(data: bytes) -> list[bytes]:
    file = BytesIO(data)
    return [packet.content for packet in read_packets(file, read_header(file, "test")[1])]


def test_both_formats_are_read_alike(tmp_path: Path) -> None:
    sent = packets_sent(10)
    for name, data in (("1", file_1(sent)), ("2", HEADER + b"".join(map(packet_bytes, sent)))):
        (tmp_path / f"{name}.rawtake").write_bytes(data)
    first, second = capture.read(tmp_path / "1.rawtake"), capture.read(tmp_path / "2.rawtake")
    np.testing.assert_array_equal(first.positions, second.positions)
    np.testing.assert_array_equal(first.times, second.times)


@pytest.mark.parametrize("byte", range(RECORD.size))
def test_any_damage_to_a_record_ends_the_take_before_it(byte: int) -> None:
    sent = packets_sent(3)
    records = [packet_bytes(packet) for packet in sent]
    damaged = bytearray(records[4])
    damaged[byte] ^= 0x40
    data = HEADER + b"".join(records[:4]) + bytes(damaged) + b"".join(records[5:])
    assert contents(data) == [packet.content for packet in sent[:4]]


@pytest.mark.parametrize("time", [float("inf"), float("nan"), -1.0, 1e300, 1e9])
def test_a_time_that_format_1_did_not_protect_costs_no_frame(tmp_path: Path, time: float) -> None:
    sent = packets_sent(20)
    path = tmp_path / "old.rawtake"
    path.write_bytes(file_1(sent))
    undamaged = capture.read(path)
    sent[30] = Packet(time, sent[30].content)
    path.write_bytes(file_1(sent))
    take = capture.read(path)
    np.testing.assert_array_equal(take.positions, undamaged.positions)
    np.testing.assert_allclose(take.times, undamaged.times, atol=0.02)


@pytest.mark.parametrize("magic", [MAGIC, MAGIC_1])
def test_zeros_after_the_last_packet_are_no_packets(magic: bytes) -> None:
    """As a file system leaves them after a power failure."""
    assert contents(HEADER.replace(MAGIC, magic) + bytes(10_000)) == []


def test_a_take_is_read_packet_by_packet_whatever_its_size(tmp_path: Path) -> None:
    """A file may be given any size without being written: what was not has no blocks on the disk."""
    path = tmp_path / "sparse.rawtake"
    path.write_bytes(HEADER + b"".join(map(packet_bytes, packets_sent(20))))
    whole = capture.read(path)
    with path.open("r+b") as file:
        file.truncate(3_900_000_000)
    tracemalloc.start()
    sparse = capture.read(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_array_equal(sparse.positions, whole.positions)
    assert peak < 10e6


def test_a_take_of_too_many_frames_is_refused_before_they_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "long.rawtake"
    path.write_bytes(HEADER + b"".join(map(packet_bytes, packets_sent(40))))
    for bound, most in (("MAX_FRAMES", 20), ("MAX_POSITIONS", 1000)):
        with monkeypatch.context() as patch:
            patch.setattr(raw_take_reader, bound, most)
            with pytest.raises(CaptureError, match=rf"over 2\d frames, expected .*{most}"):
                capture.read(path)
    assert len(capture.read(path).times) > 20


def test_packets_that_arrived_at_one_moment_have_a_rate_that_is_reported(tmp_path: Path) -> None:
    sent = [Packet(0.0, packet.content) for packet in packets_sent(20)]
    path = tmp_path / "burst.rawtake"
    path.write_bytes(HEADER + b"".join(map(packet_bytes, sent)))
    take = capture.read(path)
    assert take.rate == 60.0 and any("which no device reaches" in warning for warning in take.warnings)


def test_all_devices_are_known_to_the_header() -> None:
    assert all(
        read_header(BytesIO(header_bytes(RawTakeHeader(device))), "test")[0].device == device for device in DEVICES
    )
