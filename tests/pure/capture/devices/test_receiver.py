"""A device that is listened to: what comes, what is reported when nothing does, what is recorded."""

import socket
import time
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

from knuckle import capture
from knuckle.capture.devices.device_table import DEVICES
from knuckle.capture.devices.raw_take import read_header, read_packets
from knuckle.capture.devices.raw_take_recorder import free_path
from knuckle.capture.devices.receiver import Receiver, TimedFrame
from knuckle.capture.frame import Frame
from knuckle.capture.network.transport import Address
from knuckle.errors import CaptureError, StreamError

from .moments import moments
from .sockets import following, listening, wait_for

PACKETS = 4
"""That the sender needs for one moment of two hands."""


@pytest.fixture
def receiver(address: Address) -> Iterator[Receiver]:
    with listening("quest", address, pre_roll=5.0) as receiver:
        yield receiver


def send(address: Address, count: int = 30) -> None:
    with DEVICES["quest"].sender(address) as sender:
        for moment in moments(count):
            sender.send(moment)
            time.sleep(0.001)


def come(receiver: Receiver, count: int) -> list[TimedFrame]:
    got: list[TimedFrame] = []

    def enough() -> bool:
        got.extend(receiver.drain())
        return len(got) >= count

    wait_for(enough)
    return got


def test_frames_come_in_their_order(receiver: Receiver, address: Address) -> None:
    send(address)
    got = come(receiver, 30)
    numbers = [arrived.frame.number for arrived in got if len(arrived.frame.names) == 50]
    assert numbers == list(range(1, 30))
    assert "frames a second" in receiver.state()
    assert receiver.stats.lost == receiver.stats.malformed == receiver.stats.overrun == 0


def test_newest_frames_win_when_nobody_takes_them(receiver: Receiver, address: Address) -> None:
    send(address, 100)
    wait_for(lambda: receiver.stats.packets == 100 * PACKETS)
    got = receiver.drain()
    assert len(got) == 64
    assert got[-1].frame.number == 99
    assert receiver.stats.overrun == receiver.stats.frames - 64


def test_a_port_in_use_is_reported_and_taken_once_it_is_free(address: Address) -> None:
    taken = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    taken.bind((address.host, address.port))
    with following("quest", address) as receiver:
        wait_for(lambda: "in use by another program" in receiver.state())
        taken.close()
        wait_for(lambda: receiver.is_open)
        send(address, 3)
        come(receiver, 2)


def test_a_sender_that_begins_anew_is_followed(receiver: Receiver, address: Address) -> None:
    """Its count begins at 0 again; a few frames later it is believed."""
    send(address, 30)
    come(receiver, 30)
    send(address, 30)
    # Not so many frames but all packets: a busy machine's receiver is behind its sender.
    wait_for(lambda: receiver.stats.packets == 60 * PACKETS)
    assert receiver.drain()[-1].frame.number == 29
    assert 0 < receiver.stats.late < 6


def test_another_protocol_is_reported(receiver: Receiver, address: Address) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.sendto(b"\x00\x01hello\xff", (address.host, address.port))
    wait_for(lambda: receiver.stats.malformed == 1)
    assert receiver.state().startswith("the packets are not those of Quest Hand Tracking Streamer: byte 7 is not ASCII")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_reader_that_ended_by_a_fault_does_not_say_that_it_listens(
    receiver: Receiver, address: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    def faulty(_packet: bytes) -> list[Frame]:
        raise RuntimeError

    monkeypatch.setattr(receiver._parser, "feed", faulty)
    send(address, 1)
    wait_for(lambda: receiver.failed and "receiving stopped after an internal error" in receiver.state())


def test_a_host_that_is_not_here_is_reported() -> None:
    with following("quest", Address("203.0.113.7", 9123)) as receiver:
        wait_for(lambda: "is not an address of this machine" in receiver.state())


def test_a_raw_take_is_what_was_sent(receiver: Receiver, address: Address, tmp_path: Path) -> None:
    """To the float, with what came before the recording began, and with the device's own times."""
    send(address, 10)
    got = come(receiver, 10)
    path = free_path(tmp_path, "Tap", ".rawtake")
    receiver.record(path, "Tap")
    send(address, 2)  # numbers 0 and 1 again: late, and left out
    wait_for(lambda: receiver.stats.late > 0)
    recorder = receiver.end_recording()
    assert recorder is not None and not recorder.problem
    markers = capture.read(path)
    whole = [arrived.frame for arrived in got if len(arrived.frame.names) == 50]
    assert markers.positions.shape == (len(got), 42, 3)
    sent = [[dict(zip(frame.names, frame.positions, strict=True))[name] for name in markers.names] for frame in whole]
    assert np.array_equal(markers.positions[-len(whole) :], sent)
    assert np.allclose(np.diff(markers.times[-len(whole) :]), 1 / 60, atol=1e-6)
    assert any("arrived too late" in warning for warning in markers.warnings)


def test_a_take_that_ends_in_the_midst_of_a_packet_is_read_up_to_there(
    receiver: Receiver, address: Address, tmp_path: Path
) -> None:
    receiver.record(tmp_path / "a.rawtake")
    send(address, 5)
    come(receiver, 5)
    receiver.end_recording()
    data = (tmp_path / "a.rawtake").read_bytes()
    start = read_header(BytesIO(data), "a")[1]
    count = len(list(read_packets(BytesIO(data), start)))
    assert count == 20
    assert len(list(read_packets(BytesIO(data[:-7]), start))) == count - 1
    (tmp_path / "b.rawtake").write_bytes(data[:-7])
    assert any("incomplete packet" in warning for warning in capture.read(tmp_path / "b.rawtake").warnings)


def test_what_is_no_raw_take_is_refused_in_a_sentence(tmp_path: Path) -> None:
    for content, said in (
        (b"KNUCKLE RAW TAKE 1\n{]\n", "its header cannot be read"),
        (b'KNUCKLE RAW TAKE 1\n{"device": "toaster"}\n', "recorded from 'toaster', expected one of"),
        (b'KNUCKLE RAW TAKE 1\n{"device": "quest"}\n', "no frame of a hand in 0 packets"),
    ):
        (tmp_path / "x.rawtake").write_bytes(content)
        with pytest.raises(CaptureError, match=f"x.rawtake: {said}"):
            capture.read(tmp_path / "x.rawtake")


def test_a_take_that_names_other_points_all_the_time_is_refused_in_a_sentence(
    receiver: Receiver, address: Address, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small file may else ask for more than there is memory for."""
    receiver.record(tmp_path / "wide.rawtake")
    send(address, 10)
    come(receiver, 10)
    receiver.end_recording()
    monkeypatch.setattr("knuckle.capture.devices.raw_take_reader.MAX_SAMPLES", 300)
    with pytest.raises(CaptureError, match=r"wide.rawtake: \d+ frames of 42 points, expected 300 positions at most"):
        capture.read(tmp_path / "wide.rawtake")


def test_a_take_is_not_written_over(receiver: Receiver, tmp_path: Path) -> None:
    path = tmp_path / "a.rawtake"
    path.write_bytes(b"mine")
    with pytest.raises(StreamError, match="cannot be written"):
        receiver.record(path)
    assert path.read_bytes() == b"mine"
    assert free_path(tmp_path, "a", ".rawtake").name == "a 001.rawtake"
    assert free_path(tmp_path, '../b: "c"?\n', ".rawtake") == tmp_path / "_b_ _c___ 001.rawtake"
    assert free_path(tmp_path, " . ", ".rawtake").name == "Take 001.rawtake"


@pytest.mark.parametrize("name", ["x" * 300, "ä" * 200, "a" * 100_000, "\ud800", "\0"])
def test_a_take_of_any_name_is_written_and_read(
    receiver: Receiver, address: Address, tmp_path: Path, name: str
) -> None:
    path = free_path(tmp_path, name, ".rawtake")
    receiver.record(path, name)
    send(address, 5)
    wait_for(lambda: receiver.stats.packets == 5 * PACKETS)
    receiver.end_recording()
    assert len(capture.read(path).times) > 3
    assert free_path(tmp_path, name, ".rawtake") != path, "another number"


@pytest.mark.parametrize("folder", ["f" * 300, "nul\0", "caf\udce9"])
def test_a_folder_that_cannot_be_is_reported(receiver: Receiver, tmp_path: Path, folder: str) -> None:
    with pytest.raises(StreamError, match="the take cannot be written"):
        receiver.record(free_path(tmp_path / folder, "Take", ".rawtake"))


def test_a_recording_begins_with_no_more_than_its_pre_roll_though_nothing_came_meanwhile(
    address: Address, tmp_path: Path
) -> None:
    with listening("quest", address, pre_roll=0.3) as receiver:
        send(address)
        come(receiver, 30)
        time.sleep(0.4)
        receiver.record(tmp_path / "first.rawtake")
        send(address, 5)
        wait_for(lambda: receiver.stats.packets == 35 * PACKETS)
        receiver.end_recording()
        # What the take before has is pre-roll of the next one as well.
        receiver.record(tmp_path / "second.rawtake")
        receiver.end_recording()
    assert len(capture.read(tmp_path / "first.rawtake").times) <= 5
    assert len(capture.read(tmp_path / "second.rawtake").times) >= 4


def test_while_a_take_is_recorded_more_may_wait_and_all_can_be_had(address: Address, tmp_path: Path) -> None:
    with listening("quest", address) as receiver:
        receiver.record(tmp_path / "take.rawtake")
        send(address, 200)
        wait_for(lambda: receiver.stats.packets == 200 * PACKETS)
        first, rest = receiver.drain(50), receiver.drain()
    assert len(first) == 50 and receiver.stats.overrun == 0
    whole = [one.frame.number for one in [*first, *rest] if len(one.frame.names) == 50]
    assert whole == list(range(1, 200))
