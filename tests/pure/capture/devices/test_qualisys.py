"""Qualisys: QTM's own client at our sender, our parser on its frames, hostile parameters, clocks that stick."""

import asyncio
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import qtm_rt
from qtm_rt.packet import QRTComponentType, QRTPacket

from knuckle.capture.devices.device_table import DEVICES
from knuckle.capture.devices.receiver import Receiver
from knuckle.capture.frame import Frame, joint_names
from knuckle.capture.network.qtm_connection import COMMAND, ERROR, FRAME, GREETING, HEADER, XML, command, message
from knuckle.capture.network.sender import OutgoingFrame
from knuckle.capture.network.transport import Address
from knuckle.capture.protocols.qtm_parameters import parse_parameters
from knuckle.capture.protocols.qualisys_realtime import BONES, QualisysParser, QualisysSender
from knuckle.errors import PacketError
from knuckle.hand import rotations as rot
from knuckle.hand.joints import JOINT_INDEX
from knuckle.tests.pure.capture.devices.moments import moments
from knuckle.tests.pure.capture.devices.sockets import following, wait_for


@contextmanager
def playing(address: Address, take: list[OutgoingFrame]) -> Iterator[None]:
    """Our sender, which sends a take over and over."""
    stop = threading.Event()
    with DEVICES["qualisys"].sender(address) as sender:

        def play() -> None:
            while not stop.is_set():
                for moment in take:
                    sender.send(moment)
                    time.sleep(0.003)

        thread = threading.Thread(target=play)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()


def marked(count: int) -> list[OutgoingFrame]:
    """Moments with three markers, of which one is lost."""
    result = []
    for moment in moments(count):
        places = moment.hands["left"][[JOINT_INDEX["thumb-tip"], JOINT_INDEX["index-finger-tip"], 0], :3, 3].copy()
        places[2] = np.nan
        result.append(replace(moment, names=("LThumbTip", "L<Index>&Tip", "lost"), markers=places))
    return result


def frames_of(*packets: bytes) -> list[Frame]:
    parser = QualisysParser()
    return [frame for packet in packets for frame in parser.feed(packet)]


def xml(body: str) -> bytes:
    return message(XML, f"<QTM_Parameters_Ver_1.25>{body}</QTM_Parameters_Ver_1.25>".encode() + b"\0")


def data(*components: tuple[int, bytes], stamp: int = 1000, number: int = 1) -> bytes:
    reported = b"".join(struct.pack("<II", 8 + len(content), kind) + content for kind, content in components)
    return message(FRAME, struct.pack("<qII", stamp, number, len(components)) + reported)


def markers(*places: tuple[float, float, float]) -> bytes:
    return struct.pack("<Ihh", len(places), 0, 0) + np.array(places, "<f4").tobytes()


async def _client(address: Address) -> tuple[bytes, list[QRTPacket]]:
    connection = await qtm_rt.connect(address.host, address.port)
    assert connection is not None
    assert b"little endian" in await connection.byte_order()
    reported = await connection.get_parameters(["3d", "skeleton:global"])
    came: list[QRTPacket] = []
    await connection.stream_frames(components=["3d", "skeleton:global"], on_packet=came.append)
    while len(came) < 5:
        await asyncio.sleep(0.01)
    await connection.stream_frames_stop()
    connection.disconnect()
    return reported, came


def test_qualisys_own_client_reads_our_sender(address: Address) -> None:
    take = marked(40)
    with playing(address, take):
        reported, came = asyncio.run(_client(address))
    assert reported.count(b"<Segment ") == len(BONES) + 1 and b"L&lt;Index&gt;&amp;Tip" in reported
    for packet in came:
        moment = take[packet.framenumber]
        assert packet.timestamp == round(1e6 * moment.time)
        _, points = packet.get_3d_markers()
        assert np.array(points[:2]) == pytest.approx(1000 * moment.markers[:2], abs=1e-3)
        assert np.isnan(points[2]).all()
        _, (segments,) = packet.get_skeletons()
        for (_, place, _), (side, joint) in zip(segments[1:], BONES.values(), strict=True):
            assert np.array(place) == pytest.approx(1000 * moment.hands[side][JOINT_INDEX[joint], :3, 3], abs=1e-3)


def test_what_qualisys_own_parser_reads_in_a_frame_we_read_too() -> None:
    """Markers with a residual, a timecode and a component of no use, between which the skeleton stands."""
    moment = marked(3)[2]
    parameters, frame = QualisysSender(Address()).packets(moment)
    own = QRTPacket(frame[8:])
    at = own.components[QRTComponentType.ComponentSkeleton]
    size = struct.unpack_from("<I", frame, 8 + at - 8)[0]
    skeleton = frame[8 + at :][: size - 8]
    code = struct.pack("<IiII", 1, 0, 0, 10 | 20 << 5 | 30 << 11 | 5 << 17)
    both = data((13, bytes(4)), (18, skeleton), (17, code), stamp=2_500_000, number=7)
    assert set(QRTPacket(both[8:]).components) == {
        QRTComponentType.ComponentAnalogSingle,
        QRTComponentType.ComponentSkeleton,
        QRTComponentType.ComponentTimecode,
    }
    (got,) = frames_of(parameters, both)
    assert (got.time, got.number, got.timecode) == (2.5, 7, "10:20:30:05")
    assert got.names == joint_names("left") + joint_names("right")
    wanted = np.concatenate([moment.hands[side][:, :3, 3] for side in ("left", "right")])
    # All 25 are sent: the metacarpals by InHand segments, the tips by end points.
    assert np.abs(got.positions - wanted).max() < 1e-5


def test_segments_of_the_t_pose_stand_as_hands_do() -> None:
    """QTM's T-pose, by hand: looking along +Y, segments as the world is; left hand along −X, backs of the hands up."""
    moment = moments(1)[0]
    parameters, frame = QualisysSender(Address()).packets(moment)
    content = bytearray(frame)
    start = content.index(struct.pack("<i3f4f", 1, 0, 0, 0, 0, 0, 0, 1))
    for number in range(len(BONES)):
        struct.pack_into("<4f", content, start + 32 * (number + 1) + 16, 0.0, 0.0, 0.0, 1.0)
    (got,) = frames_of(parameters, bytes(content))
    assert got.rotations is not None
    for first, out in ((0, -1.0), (25, 1.0)):
        turned = rot.to_matrix(got.rotations[first + JOINT_INDEX["middle-finger-phalanx-proximal"]])
        assert turned[:, 1] == pytest.approx([out, 0.0, 0.0], abs=1e-6)
        assert turned[:, 2] == pytest.approx([0.0, 0.0, 1.0], abs=1e-6)


def test_of_two_performers_the_second_has_its_name_and_one_out_of_view_is_not_seen() -> None:
    moment = moments(1)[0]
    parameters, frame = QualisysSender(Address()).packets(moment)
    text = parameters[8:-1].decode()
    one = text[text.index("<Skeleton ") : text.index("</Skeletons>")]
    two = one.replace('Name="Hands"', 'Name="Anna"') + one.replace('Name="Hands"', 'Name="Bo:b"')
    body = text.replace(one, two).removeprefix("<QTM_Parameters_Ver_1.25>").removesuffix("</QTM_Parameters_Ver_1.25>")
    own = QRTPacket(frame[8:])
    segments = frame[8 + own.components[QRTComponentType.ComponentSkeleton] + 4 :]
    (got,) = frames_of(xml(body), data((18, struct.pack("<I", 2) + struct.pack("<I", 0) + segments)))
    names = [name for hand_arm in ("", "Bo_b") for side in ("left", "right") for name in joint_names(side, hand_arm)]
    assert list(got.names) == names
    assert np.isnan(got.positions[:50]).all() and np.isfinite(got.positions[50:]).all()


def test_flat_segments_of_older_versions_are_read() -> None:
    names = ["LeftHand", *(f"LeftHandIndex{n}" for n in (1, 2, 3))]
    segments = "".join(f'<Segment Name="{name}" ID="{n}" Parent_ID="1"/>' for n, name in enumerate(names, 1))
    content = struct.pack("<II", 1, 4) + b"".join(struct.pack("<i7f", n, n, 0, 0, 0, 0, 0, 1) for n in range(1, 5))
    (got,) = frames_of(xml(f'<Skeletons><Skeleton Name="A">{segments}</Skeleton></Skeletons>'), data((18, content)))
    assert got.names == joint_names("left")
    assert got.positions[JOINT_INDEX["index-finger-phalanx-proximal"]] == pytest.approx([0.002, 0, 0])
    assert np.isfinite(got.positions[:, 0]).sum() == 4


@pytest.mark.parametrize(("up", "wanted"), [("+Z", (1, 2, 3)), ("+Y", (1, -3, 2)), ("-Y", (1, 3, -2))])
def test_what_the_project_calls_up_is_up(up: str, wanted: tuple[float, float, float]) -> None:
    reported = xml(f"<The_3D><AxisUpwards>{up}</AxisUpwards><Label><Name>a</Name></Label></The_3D>")
    (got,) = frames_of(reported, data((1, markers((1000, 2000, 3000)))))
    assert got.names == ("a",) and got.positions[0] == pytest.approx(wanted)


def test_markers_without_labels_come_by_their_numbers() -> None:
    content = struct.pack("<Ihh", 2, 0, 0) + struct.pack("<3fi3fi", 1, 2, 3, 12, 4, 5, 6, 9)
    (got,) = frames_of(xml("<The_3D></The_3D>"), data((2, content)))
    assert got.names == ("unlabelled 12", "unlabelled 9")
    assert got.positions == pytest.approx(np.array([[1, 2, 3], [4, 5, 6]]) / 1000)


def test_another_number_of_markers_than_labels_is_reported() -> None:
    reported = xml("<The_3D><Label><Name>a</Name></Label></The_3D>")
    with pytest.raises(PacketError, match="2 markers in a frame, expected one for each of 1 labels"):
        frames_of(reported, data((1, markers((1, 2, 3), (4, 5, 6)))))


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        (message(XML, b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>\0'), "type definition"),
        (xml("<a>" * 10_000 + "</a>" * 10_000), "nested deeper"),
        (xml("<The_3D>" + "<Label><Name>a</Name></Label>" * 5000 + "</The_3D>"), "more than 4096"),
        (xml("<The_3D><Label>"), "cannot be parsed as XML"),
        (xml("<The_3D " + " ".join(f'a{number}=">"' for number in range(20_000)) + "/>"), "a tag of over 65536 bytes"),
        (xml(f"<!-- {'x' * 200_000} -->"), "a tag of over 65536 bytes"),
        (xml('<Skeletons><Skeleton Name="a"><Segment Name="b" ID="nan"/></Skeleton></Skeletons>'), "not a number"),
    ],
)
def test_hostile_parameters_are_refused_in_a_sentence(parameters: bytes, said: str) -> None:
    with pytest.raises(PacketError, match=said):
        frames_of(parameters)


def test_parameters_of_any_size_are_read() -> None:
    """Also where the pieces that are parsed at a time end within a tag or a name."""
    names = [f"Märker {number}" for number in range(4000)]
    labels = "".join(f"<Label><Name>{name}</Name></Label>" for name in names)
    read = parse_parameters(f"<QTM_Parameters_Ver_1.25><The_3D>{labels}</The_3D></QTM_Parameters_Ver_1.25>".encode())
    assert read.labels == names


def test_a_count_and_a_clock_that_stick_lose_no_frame() -> None:
    reported = xml("<The_3D><Label><Name>a</Name></Label></The_3D>")
    frame = (1, markers((1, 2, 3)))
    stuck = frames_of(reported, *(data(frame, stamp=1000 * n, number=1) for n in range(1, 6)))
    assert [got.number for got in stuck] == [1, None, None, None, None]
    assert [got.time for got in stuck] == pytest.approx([0.001, 0.002, 0.003, 0.004, 0.005])
    dead = frames_of(reported, *(data(frame, stamp=0, number=0) for _ in range(5)))
    assert [(got.time, got.number) for got in dead[1:]] == [(None, None)] * 4
    from knuckle.capture.devices.stream_stats import StreamStats

    for frames in (stuck, dead):
        stats = StreamStats()
        assert all(stats.add(got, 0.01 * n) for n, got in enumerate(frames))


def test_a_recording_begins_with_what_tells_the_names() -> None:
    parser = QualisysParser()
    packets = [packet for moment in marked(3) for packet in QualisysSender(Address()).packets(moment)]
    for packet in packets:
        list(parser.feed(packet))
    again = QualisysParser()
    for packet in parser.context():
        assert list(again.feed(packet)) == []
    (frame,) = again.feed(packets[-1])
    assert frame.number == 2 and len(frame.names) == 50


def come(receiver: Receiver, frames: int) -> bool:
    return receiver.stats.frames >= frames


def test_the_link_follows_a_sender_that_ends_and_begins_again(address: Address) -> None:
    with following("qualisys", address) as receiver:
        wait_for(lambda: "refuses the connection" in receiver.state())
        for _ in range(2):
            take = marked(40)
            with playing(address, take):
                wanted = receiver.stats.frames + 10
                wait_for(partial(come, receiver, wanted))
                frame = receiver.drain()[-1].frame
                assert len(frame.names) == 50 and receiver.stats.malformed == 0
            wait_for(lambda: "closed the connection" in receiver.state() or "refuses" in receiver.state())


@contextmanager
def answering(address: Address, *answers: bytes) -> Iterator[list[bytes]]:
    """A server that greets with the first of the answers, and then has one for each command that it gets."""
    heard: list[bytes] = []
    with socket.create_server((address.host, address.port)) as port:

        def meet() -> None:
            client, _ = port.accept()
            with client:
                client.settimeout(5)
                client.sendall(answers[0])
                for answer in answers[1:]:
                    said = client.recv(HEADER.size)
                    heard.append(client.recv(HEADER.unpack(said)[0] - HEADER.size))
                    client.sendall(answer)
                time.sleep(0.5)

        thread = threading.Thread(target=meet, daemon=True)
        thread.start()
        yield heard
        thread.join()


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ([b"HTTP/1.1 400 Bad Request\r\n\r\n"], "is not QTM: is it the port"),
        ([command(b"Welcome")], "does not send QTM's greeting"),
        (
            [command(GREETING), *[message(ERROR, b"Version NOT supported\0")] * 7],
            "is too old, expected a QTM that supports",
        ),
    ],
)
def test_what_is_no_qtm_or_too_old_is_reported(address: Address, answers: list[bytes], said: str) -> None:
    with answering(address, *answers), following("qualisys", address) as receiver:
        wait_for(lambda: said in receiver.state())


def test_an_older_version_is_agreed_on(address: Address) -> None:
    no, yes = message(ERROR, b"Version NOT supported\0"), message(COMMAND, b"Version set to 1.23\0")
    with answering(address, command(GREETING), no, no, yes, b"", b"", b"") as heard, following("qualisys", address):
        wait_for(lambda: len(heard) == 6)
    assert heard[:3] == [b"Version 1.25\0", b"Version 1.24\0", b"Version 1.23\0"]
    assert heard[3:5] == [b"GetParameters 3D\0", b"GetParameters Skeleton:global\0"]
    assert heard[5].startswith(b"StreamFrames AllFrames 3D ")
