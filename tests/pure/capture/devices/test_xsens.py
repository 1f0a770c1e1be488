"""MVN's packets: what a reader of others makes of ours, and what datagrams that are lost do."""

import struct

import numpy as np
import pytest

from knuckle.capture.frame import Frame
from knuckle.capture.network.transport import Address
from knuckle.capture.protocols.xsens import XsensParser, XsensSender
from knuckle.errors import PacketError
from knuckle.hand.joints import JOINT_INDEX
from knuckle.hand.rotations import from_axis_angle, multiply, to_matrix
from knuckle.tests.pure.capture.devices.moments import moments


def packets(count: int) -> list[list[bytes]]:
    sender = XsensSender(Address())
    return [list(sender.packets(moment)) for moment in moments(count)]


def parsed(parser: XsensParser, sent: list[bytes]) -> list[Frame]:
    return [frame for packet in sent for frame in parser.feed(packet)]


def test_datagrams_are_put_together_in_any_order():
    parser = XsensParser()
    for sent in packets(4):
        assert len(sent) == 2 and max(map(len, sent)) <= 2040
        assert len(parsed(parser, sent[::-1])) == 1


def test_a_sample_with_a_lost_datagram_never_comes_and_the_next_does():
    parser, sent = XsensParser(), packets(3)
    assert parsed(parser, [sent[0][0]]) == []
    (frame,) = parsed(parser, sent[1])
    assert frame.number == 1


def test_a_second_character_is_a_performer_of_their_own():
    parser = XsensParser()
    names: set[str] = set()
    for sent in packets(4):
        second = [packet[:16] + bytes([1]) + packet[17:] for packet in sent]
        for frame in parsed(parser, [*sent, *second]):
            names = {name.partition(":")[0] for name in frame.names}
    assert names == {"left", "right", "Performer 2 left", "Performer 2 right"}


@pytest.mark.parametrize("height", [0.0, -1.0], ids=["standing", "lying"])
def test_centimetres_are_told_by_the_size_of_a_hand(height):
    sent = packets(1)[0]
    (metres,) = parsed(XsensParser(), sent)
    whole = np.frombuffer(b"".join(packet[24:] for packet in sent), np.dtype([("i", ">i4"), ("v", ">f4", 7)])).copy()
    whole["v"][:, :3] = 100 * (whole["v"][:, :3] + np.array([0.0, 0.0, height], np.float32))
    scaled, done = [], 0
    for packet in sent:
        count = packet[11]
        scaled.append(packet[:24] + whole[done : done + count].tobytes())
        done += count
    (centimetres,) = parsed(XsensParser(), scaled)
    lowered = metres.positions + [0.0, 0.0, height]
    assert np.allclose(centimetres.positions, lowered, atol=1e-5, equal_nan=True)


def test_in_the_t_pose_bones_point_aside_and_the_backs_of_the_hands_up():
    """MVN's T-pose, written by hand: all segments stand as the world does, the left hand points along +Y."""
    items = np.zeros(63, np.dtype([("i", ">i4"), ("p", ">f4", 3), ("q", ">f4", 4)]))
    items["q"], items["p"] = [1, 0, 0, 0], [0, 0, 1.4]
    for first, way in ((23, 1.0), (43, -1.0)):
        # The index finger's MC, PP, MP, DP: 4 cm apart, a bit ahead of the carpus.
        items["p"][first] = [0, way * 0.7, 1.4]
        for number in range(4):
            items["p"][first + 4 + number] = [0.02, way * (0.72 + 0.04 * number), 1.4]
    header = struct.pack(">6sIBBIBBBBHH", b"MXTP02", 1, 0x80, 63, 0, 0, 23, 0, 40, 0, 63 * 32)
    (frame,) = parsed(XsensParser(), [header + items.tobytes()])
    assert frame.rotations is not None
    near, far = (JOINT_INDEX[f"index-finger-phalanx-{part}"] for part in ("proximal", "intermediate"))
    for first, x in ((0, 1.0), (25, -1.0)):
        along = frame.positions[first + far] - frame.positions[first + near]
        assert along == pytest.approx([0.04 * x, 0.0, 0.0], abs=1e-6), "left is +X in Blender"
        turned = to_matrix(frame.rotations[first + near])
        assert turned[:, 1] == pytest.approx([x, 0.0, 0.0], abs=1e-6)
        assert turned[:, 2] == pytest.approx([0.0, 0.0, 1.0], abs=1e-6)
        ahead = frame.positions[first + near] - frame.positions[first]
        assert ahead[1] == pytest.approx(-0.02, abs=1e-6), "ahead is -Y in Blender"


def test_a_damaged_forearm_or_another_body_leaves_the_hands_as_they_are():
    sender, item = XsensSender(Address()), 32
    (whole,) = parsed(XsensParser(), list(sender.packets(moments(1, arms=True)[0])))
    (hands,) = parsed(XsensParser(), list(sender.packets(moments(1)[0])))
    assert whole.names == (*hands.names, "left:elbow", "right:elbow")
    for bad in (np.nan, 0.0, 3e38):
        first, *others = sender.packets(moments(1, arms=True)[0])
        damaged = bytearray(first)
        for segment in (9, 13):
            struct.pack_into(">7f", damaged, 24 + segment * item + 4, *[bad] * 7)
        (frame,) = parsed(XsensParser(), [bytes(damaged), *others])
        assert frame.names == hands.names
        assert np.array_equal(frame.positions, hands.positions, equal_nan=True)


def test_what_a_forearm_is_turned_about_itself_is_the_hands():
    """MVN's left forearm points along its own +Y."""
    first, *others = XsensSender(Address()).packets(moments(1, arms=True)[0])
    turned, place = bytearray(first), 24 + 13 * 32 + 16
    sent = np.array(struct.unpack_from(">4f", first, place))
    about_itself = multiply(sent, from_axis_angle(np.array([0.0, 1.0, 0.0]), 1.4))
    struct.pack_into(">4f", turned, place, *about_itself)
    whole, other = (parsed(XsensParser(), [bytes(packet), *others])[0] for packet in (first, turned))
    elbow = whole.names.index("left:elbow")
    assert np.abs(sent @ about_itself) < 0.8 and whole.rotations is not None and other.rotations is not None
    assert abs(whole.rotations[elbow] @ other.rotations[elbow]) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(
    ("packet", "said"),
    [
        (b"MXTP02", "6 bytes"),
        (b"HELLO!" + bytes(18), "begins with b'HELL'"),
        (b"MXTP02" + bytes([0, 0, 0, 1, 0x80, 9]) + bytes(12), "9 segments in 0 bytes"),
    ],
)
def test_what_is_no_packet_of_mvn_is_reported(packet, said):
    with pytest.raises(PacketError, match=said):
        parsed(XsensParser(), [packet])


def test_other_messages_of_mvn_are_passed_over():
    assert parsed(XsensParser(), [b"MXTP12" + bytes(60)]) == []
