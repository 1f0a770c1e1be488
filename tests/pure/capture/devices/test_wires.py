"""Laws of every device: what is sent is what comes, and nothing that comes does harm."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knuckle.capture.devices.device_table import DEVICES
from knuckle.capture.frame import Frame, joint_names
from knuckle.capture.network.sender import UdpSender
from knuckle.capture.network.tcp import LineSender
from knuckle.capture.network.transport import Address
from knuckle.capture.network.websocket_sender import WebSocketClientSender, WebSocketSender
from knuckle.capture.protocols.natnet import NatnetSender
from knuckle.capture.protocols.qualisys_realtime import QualisysSender
from knuckle.errors import PacketError
from knuckle.hand import rotations as rot

from .moments import moments

EACH = pytest.mark.parametrize("device", DEVICES)
BODIES = ("vmc", "rokoko", "xsens", "natnet")
"""Devices that send forearms."""


def sent(device: str, many: int = 12) -> list[bytes]:
    """The datagrams in which a device sends some moments."""
    sender = DEVICES[device].sender(Address())
    if isinstance(sender, WebSocketSender | WebSocketClientSender):
        return [message.encode() for moment in moments(many, arms=True) for message in sender.messages(moment)]
    assert isinstance(sender, UdpSender | LineSender | NatnetSender | QualisysSender)
    return [packet for moment in moments(many, arms=True) for packet in sender.packets(moment)]


def parsed(device: str, packets: list[bytes]) -> list[Frame]:
    parser = DEVICES[device].parser()
    return [frame for packet in packets for frame in parser.feed(packet)]


@EACH
def test_joints_come_as_they_were_sent(device: str) -> None:
    frames = parsed(device, sent(device))
    wanted = moments(12)
    assert len(frames) >= len(wanted) - 1
    last, frame = wanted[-1], frames[-1]
    for side, joints in last.hands.items():
        names = joint_names(side)
        rows = [frame.names.index(name) for name in names if name in frame.names]
        there = [names.index(frame.names[row]) for row in rows]
        seen = np.isfinite(frame.positions[rows]).all(axis=1)
        assert seen.sum() >= 16, f"{side}: {seen.sum()} joints"
        apart = np.linalg.norm(frame.positions[rows] - joints[there, :3, 3], axis=1)[seen]
        assert apart.max() < 1e-4, f"{side}: {1000 * apart.max():.2f} mm"


@EACH
def test_forearms_come_as_they_were_sent_where_the_device_has_a_body(device: str) -> None:
    frame, last = parsed(device, sent(device))[-1], moments(12, arms=True)[-1]
    assert any(name.endswith(":elbow") for name in frame.names) == (device in BODIES)
    for side, forearm in last.forearms.items() if device in BODIES else ():
        row = frame.names.index(f"{side}:elbow")
        assert frame.positions[row] == pytest.approx(forearm[:3, 3], abs=1e-5)
        assert frame.rotations is not None
        assert abs(frame.rotations[row] @ rot.from_matrix(forearm[:3, :3])) == pytest.approx(1.0, abs=1e-6)


@EACH
def test_names_stay_the_same_object(device: str) -> None:
    assert len({id(frame.names) for frame in parsed(device, sent(device))[3:]}) == 1


@EACH
@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_no_packet_does_harm(device: str, data: st.DataObject) -> None:
    """Mutated packets in any order are frames or PacketErrors."""
    packets = sent(device, 3)
    parser = DEVICES[device].parser()
    for _ in range(4):
        packet = bytearray(data.draw(st.sampled_from(packets)))
        for _ in range(data.draw(st.integers(0, 4))):
            place = data.draw(st.integers(0, max(len(packet) - 1, 0)))
            packet[place : place + data.draw(st.integers(0, 8))] = data.draw(st.binary(max_size=12))
        try:
            frames = list(parser.feed(bytes(packet)))
        except PacketError:
            continue
        for frame in frames:
            assert frame.positions.shape == (len(frame.names), 3)
            assert not np.isinf(frame.positions).any()


@EACH
def test_any_packets_leave_memory_flat(device: str) -> None:
    """Names, performers and frames that never come again are not kept for ever."""
    packets, parser = sent(device, 3), DEVICES[device].parser()
    dice = np.random.default_rng(5)

    def some() -> None:
        for _ in range(400):
            packet = bytearray(packets[dice.integers(len(packets))])
            for place in dice.integers(0, len(packet), 3):
                packet[place] = dice.integers(256)
            try:
                list(parser.feed(bytes(packet)))
            except PacketError:
                continue

    some()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    some()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 200_000, f"{grown} bytes more"
