"""NatNet: what another client reads in our packets, what the link says, skeletons and markers."""

import socket
import struct
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from natnet.data_descriptions import DataDescriptions
from natnet.data_frame import DataFrame
from natnet.packet_buffer import PacketBuffer
from natnet.version import Version

from knuckle.errors import PacketError
from knuckle.hand.joints import JOINT_INDEX
from knuckle.streams.axes import to_y_up_points
from knuckle.streams.devices import DEVICES
from knuckle.streams.receiver import Receiver
from knuckle.streams.sender import Outgoing
from knuckle.streams.transport import Address
from knuckle.streams.wires.natnet import BONES, NatnetParser, NatnetSender
from knuckle.tests.pure.streams.moments import moments


def marked(moment: Outgoing) -> Outgoing:
    """A moment with markers, and without a hand that was solved."""
    names = ("LThumbTip", "LIndexTip", "lost")
    places = moment.hands["left"][[JOINT_INDEX["thumb-tip"], JOINT_INDEX["index-finger-tip"], 0], :3, 3].copy()
    places[2] = np.nan
    return replace(moment, names=names, markers=places, hands={})


def test_another_client_reads_the_same_bones_in_our_frames():
    (moment,) = moments(1)
    info, descriptions, frame = NatnetSender(Address()).packets(moment)
    del info
    version = Version(4, 1)
    told = DataDescriptions.read_from_buffer(PacketBuffer(descriptions[4:]), version)
    (skeleton,) = told.skeletons
    assert [body.name for body in skeleton.rigid_body_descriptions] == list(BONES)
    read = DataFrame.read_from_buffer(PacketBuffer(frame[4:]), version)
    (hands,) = read.skeletons
    for body, (side, joint) in zip(hands.rigid_bodies, BONES.values(), strict=True):
        place = to_y_up_points(moment.hands[side][JOINT_INDEX[joint], :3, 3])
        assert body.pos == pytest.approx(place, abs=1e-6) and body.tracking_valid


def test_in_motives_t_pose_the_backs_of_the_hands_look_up():
    """Bones that stand as the world does, written by hand: the left hand along +X, the right one along −X."""
    from knuckle.hand.rotations import to_matrix

    (moment,) = moments(1)
    info, descriptions, frame = NatnetSender(Address()).packets(moment)
    parser = NatnetParser()
    for packet in (info, descriptions):
        assert list(parser.feed(packet)) == []
    content = bytearray(frame)
    start = content.index(struct.pack("<i", 1 << 16 | 1))
    for number in range(len(BONES)):
        struct.pack_into("<4f", content, start + 38 * number + 16, 0.0, 0.0, 0.0, 1.0)
    (got,) = parser.feed(bytes(content))
    assert got.rotations is not None
    for side, first, out in (("left", 0, 1.0), ("right", 25, -1.0)):
        turned = to_matrix(got.rotations[first + JOINT_INDEX["index-finger-phalanx-proximal"]])
        assert turned[:, 1] == pytest.approx([out, 0.0, 0.0], abs=1e-6), side
        assert turned[:, 2] == pytest.approx([0.0, 0.0, 1.0], abs=1e-6), side


def test_markers_come_by_their_names_where_no_skeleton_has_fingers():
    moment = marked(moments(1)[0])
    parser = NatnetParser()
    frames = [frame for packet in NatnetSender(Address()).packets(moment) for frame in parser.feed(packet)]
    (frame,) = frames
    assert frame.names == ("Markers:LThumbTip", "Markers:LIndexTip", "Markers:lost")
    assert frame.positions[:2] == pytest.approx(moment.markers[:2], abs=1e-6)
    assert np.isnan(frame.positions[2]).all()


def test_a_recording_begins_with_what_tells_the_names():
    parser = NatnetParser()
    packets = [packet for moment in moments(3) for packet in NatnetSender(Address()).packets(moment)]
    for packet in packets:
        list(parser.feed(packet))
    again = NatnetParser()
    assert [list(again.feed(packet)) for packet in parser.context()] == [[], []]
    (frame,) = again.feed(packets[-1])
    assert frame.number == 2 and frame.time == pytest.approx(2 / 60)


def test_the_time_code_is_read_where_there_is_one():
    info, descriptions, frame = NatnetSender(Address()).packets(moments(1)[0])
    parser = NatnetParser()
    for packet in (info, descriptions):
        list(parser.feed(packet))
    end = struct.calcsize("<IId3QIIhI")
    coded = frame[:-end] + struct.pack("<I", 10 << 24 | 20 << 16 | 30 << 8 | 5) + frame[-end + 4 :]
    (got,) = parser.feed(coded)
    assert got.timecode == "10:20:30:05"


def test_an_old_server_is_refused_in_a_sentence():
    info = next(iter(NatnetSender(Address()).packets(moments(1)[0])))
    old = info[: 4 + 256 + 4] + bytes([2, 10, 0, 0]) + info[4 + 256 + 8 :]
    with pytest.raises(PacketError, match=r"NatNet 2\.10, expected 3\.0 or later"):
        list(NatnetParser().feed(old))


def wait_for(what: Callable[[], bool]) -> None:
    end = time.monotonic() + 15
    while not what():
        assert time.monotonic() < end, "it did not happen in 15 s"
        time.sleep(0.01)


def test_the_link_finds_a_server_and_says_where_there_is_none():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        address = Address("127.0.0.1", sock.getsockname()[1])
    receiver = Receiver("natnet", DEVICES["natnet"], address)
    receiver.start()
    wait_for(lambda: "does not answer: is Motive streaming there" in receiver.state())
    sent = moments(400)
    with DEVICES["natnet"].sender(address) as sender:
        for moment in sent:
            sender.send(moment)
            time.sleep(0.01)
            if receiver.tally.frames > 5:
                break
    frame = receiver.drain()[-1].frame
    assert len(frame.names) == 50 and frame.number is not None
    wrist = sent[frame.number].hands["left"][0, :3, 3]
    assert frame.positions[0] == pytest.approx(wrist, abs=1e-6)
    receiver.stop()
