"""NatNet: what another client reads in our packets, what the link says, skeletons and markers."""

import socket
import struct
import time
from dataclasses import replace

import numpy as np
import pytest
from natnet.data_descriptions import DataDescriptions
from natnet.data_frame import DataFrame
from natnet.packet_buffer import PacketBuffer
from natnet.version import Version

from knuckle import capture
from knuckle.capture.devices.device_table import DEVICES
from knuckle.capture.devices.raw_take import Packet, RawTakeHeader
from knuckle.capture.devices.raw_take_recorder import Recorder, utc_now
from knuckle.capture.network import natnet_connection
from knuckle.capture.network.sender import OutgoingFrame
from knuckle.capture.network.transport import Address, multicast_socket
from knuckle.capture.protocols.device_axes import to_y_up_points
from knuckle.capture.protocols.natnet import BONES, NatnetParser, NatnetSender
from knuckle.capture.summary import as_text, summary
from knuckle.errors import PacketError
from knuckle.hand.joints import JOINT_INDEX
from knuckle.tests.pure.capture.devices.moments import moments
from knuckle.tests.pure.capture.devices.sockets import following, free_address, wait_for


def marked(moment: OutgoingFrame) -> OutgoingFrame:
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
    reported = DataDescriptions.read_from_buffer(PacketBuffer(descriptions[4:]), version)
    (skeleton,) = reported.skeletons
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


def test_what_a_forearm_is_turned_about_itself_is_the_hands():
    """Motive's arms are along its X in the T-pose."""
    from knuckle.hand.rotations import from_axis_angle, multiply

    info, descriptions, frame = NatnetSender(Address()).packets(moments(1, arms=True)[0])
    turned = bytearray(frame)
    # The bones of the arms follow those of the hands, the left forearm second.
    place = frame.index(struct.pack("<i", 1 << 16 | 1)) + 38 * (len(BONES) + 1) + 16
    x, y, z, w = struct.unpack_from("<4f", frame, place)
    w, x, y, z = multiply(np.array([w, x, y, z]), from_axis_angle(np.array([1.0, 0.0, 0.0]), 1.4))
    struct.pack_into("<4f", turned, place, x, y, z, w)
    elbows = []
    for sent in (frame, bytes(turned)):
        parser = NatnetParser()
        *_, got = (each for packet in (info, descriptions, sent) for each in parser.feed(packet))
        assert got.rotations is not None
        elbows.append(got.rotations[got.names.index("left:elbow")])
    assert bytes(turned) != frame and abs(elbows[0] @ elbows[1]) == pytest.approx(1.0, abs=1e-6)


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


def test_frames_before_the_names_are_named_too_when_a_take_is_read(tmp_path):
    """A server goes on sending frames until it has answered."""
    takes = {}
    for late in (0, 30):
        sender = NatnetSender(Address())
        info, descriptions, _ = sender.packets(moments(1)[0])
        frames = [list(sender.packets(moment))[-1] for moment in moments(40)]
        recorder = Recorder(tmp_path / f"late_{late}.rawtake", RawTakeHeader("natnet", "late", utc_now()))
        packets = [info, *frames[:late], descriptions, *frames[late:]]
        for number, packet in enumerate(packets):
            recorder.add(Packet(number / 60, packet))
        recorder.close()
        takes[late] = capture.read(tmp_path / f"late_{late}.rawtake")
    assert takes[0].names == takes[30].names and len(takes[30].times) == 40
    assert np.array_equal(takes[0].positions, takes[30].positions)


def test_the_time_code_is_read_where_there_is_one_and_kept_in_a_take(tmp_path):
    info, descriptions, frame = NatnetSender(Address()).packets(moments(1)[0])
    parser = NatnetParser()
    for packet in (info, descriptions):
        list(parser.feed(packet))
    end = struct.calcsize("<IId3QIIhI")
    coded = frame[:-end] + struct.pack("<I", 10 << 24 | 20 << 16 | 30 << 8 | 5) + frame[-end + 4 :]
    (got,) = parser.feed(coded)
    assert got.timecode == "10:20:30:05"
    recorder = Recorder(tmp_path / "coded.rawtake", RawTakeHeader("natnet", "coded", utc_now()))
    for packet in (info, descriptions, coded):
        recorder.add(Packet(0.0, packet))
    recorder.close()
    facts = summary(capture.read(tmp_path / "coded.rawtake"))
    assert facts["timecode"] == "10:20:30:05"
    assert "timecode 10:20:30:05" in as_text(facts)


def test_an_old_server_is_refused_in_a_sentence():
    info = next(iter(NatnetSender(Address()).packets(moments(1)[0])))
    old = info[: 4 + 256 + 4] + bytes([2, 10, 0, 0]) + info[4 + 256 + 8 :]
    with pytest.raises(PacketError, match=r"NatNet 2\.10, expected 3\.0 or later"):
        list(NatnetParser().feed(old))


def test_the_link_finds_a_server_and_says_where_there_is_none(monkeypatch, address):
    monkeypatch.setattr(natnet_connection, "ANSWER_TIMEOUT_S", 0.5)
    with following("natnet", address) as receiver:
        wait_for(lambda: "does not answer: is Motive streaming there" in receiver.state())
        sent = moments(400)
        with DEVICES["natnet"].sender(address) as sender:
            for moment in sent:
                sender.send(moment)
                time.sleep(0.01)
                if receiver.stats.frames > 5:
                    break
        frame = receiver.drain()[-1].frame
        assert len(frame.names) == 50 and frame.number is not None
        wrist = sent[frame.number].hands["left"][0, :3, 3]
        assert frame.positions[0] == pytest.approx(wrist, abs=1e-6)


def test_a_server_that_begins_anew_is_greeted_anew(monkeypatch, address):
    """One that was begun anew knows no client, and one by its name is found as well."""
    monkeypatch.setattr(natnet_connection, "SILENCE_TIMEOUT_S", 0.3)
    address, sent = replace(address, host="localhost"), moments(400)
    with following("natnet", address) as receiver:
        for _ in range(2):
            before = receiver.stats.frames
            with DEVICES["natnet"].sender(address) as sender:
                for moment in sent:
                    sender.send(moment)
                    time.sleep(0.01)
                    if receiver.stats.frames > before + 5:
                        break
            assert receiver.stats.frames > before + 5


class Multicasting(NatnetSender):
    """As Motive set to multicast: the server's info says so, and frames go to a group, from another port."""

    def __init__(self, address: Address, group: Address, reported: bool) -> None:
        super().__init__(address)
        self.group, self.reported = group, reported

    def __enter__(self):
        self.data = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.data.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("127.0.0.1"))
        self.data.bind(("127.0.0.1", 0))
        return super().__enter__()

    def __exit__(self, *of: object) -> None:
        super().__exit__(*of)
        self.data.close()

    def info(self) -> bytes:
        group = socket.inet_aton(self.group.host) if self.reported else bytes(4)
        return super().info()[: -struct.calcsize("<HB4s")] + struct.pack("<HB4s", self.group.port, 1, group)

    def send(self, moment: OutgoingFrame) -> None:
        self._last_outgoing = moment
        self.data.sendto(self.frame(moment), (self.group.host, self.group.port))


@pytest.mark.parametrize(("host", "reported"), [("239.255.42.99", False), ("239.255.42.98", True)])
def test_frames_that_go_to_a_group_all_come(host, reported, address):
    """120 a second, while another hears the group too; what others send to the group is not the server's."""
    group, sent = replace(free_address(), host=host), moments(240)
    stranger = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    stranger.bind(("127.0.0.2", 0))
    stranger.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("127.0.0.1"))
    with Multicasting(address, group, reported) as sender, multicast_socket(group, "127.0.0.1") as other, stranger:
        sender.send(sent[0])
        with following("natnet", address) as receiver:
            wait_for(lambda: receiver.stats.packets >= 2)
            started = time.monotonic()
            for number, moment in enumerate(sent[1:121]):
                time.sleep(max(started + number / 120 - time.monotonic(), 0.0))
                sender.send(moment)
                stranger.sendto(sender.frame(sent[200]), (group.host, group.port))
            wait_for(lambda: receiver.stats.frames >= 120)
            other.settimeout(1)
            assert other.recv(65_536)[:2] == struct.pack("<H", natnet_connection.FRAME)
    got = receiver.drain()
    assert [arrived.frame.number for arrived in got] == list(range(121 - len(got), 121))
    assert receiver.stats.frames == 120 and receiver.stats.lost == receiver.stats.malformed == 0
