"""What strangers may send: names that cannot be shown, clocks that are none, pieces, counts and callers without end."""

import json
import math
import re
import socket
import struct
import threading
import time
from dataclasses import replace
from functools import partial

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from knuckle.capture.devices.device_table import DEVICES
from knuckle.capture.devices.receiver import Receiver
from knuckle.capture.frame import Frame
from knuckle.capture.network.natnet_connection import DESCRIPTIONS, FRAME, message
from knuckle.capture.network.qtm_connection import FRAME as QTM_FRAME
from knuckle.capture.network.qtm_connection import HEADER
from knuckle.capture.network.qtm_connection import message as of_qtm
from knuckle.capture.network.sender import UdpSender
from knuckle.capture.network.transport import MAX_PACKET_SIZE, Address
from knuckle.capture.network.websocket import MAX_REQUESTS
from knuckle.capture.protocols import camera_page
from knuckle.capture.protocols.natnet import NatnetSender
from knuckle.capture.protocols.qualisys_realtime import SENDER_SKELETON, QualisysSender
from knuckle.errors import PacketError, StreamError
from knuckle.tests.pure.capture.devices.moments import moments
from knuckle.tests.pure.capture.devices.sockets import following, listening, wait_for

ODD = ("\ud800", "a\0b", "\x1b[31mred\x07", "a:b", "\u202egnp", "n" * 200)
(MOMENT,) = moments(1)


def frames_of(device: str, packets: list[bytes]) -> list[Frame]:
    parser = DEVICES[device].parser()
    return [frame for packet in packets for frame in parser.feed(packet)]


def sent(device: str, time_s: float = 0.0) -> list[bytes]:
    sender = DEVICES[device].sender(Address())
    assert isinstance(sender, UdpSender)
    return list(sender.packets(replace(MOMENT, time=time_s)))


def rokoko(name: str) -> list[bytes]:
    document = json.loads(sent("rokoko")[0])
    document["scene"]["actors"][0]["name"] = name
    return [json.dumps(document).encode()]


def natnet(name: str) -> list[bytes]:
    """Two skeletons of one name."""
    info, descriptions, frame = NatnetSender(Address()).packets(MOMENT)
    called = name.replace("\0", "").encode("utf-8", "surrogatepass") + b"\0"
    (kind, _), bones = struct.unpack_from("<ii", descriptions, 8), descriptions[16:].partition(b"\0")[2][4:]
    reported = [called + struct.pack("<i", own) + bones for own in (1, 2)]
    described = struct.pack("<i", 2) + b"".join(struct.pack("<ii", kind, len(one)) + one for one in reported)
    # Behind the number there are three sections without anything in them.
    before, (_, size), bodies = frame[4:32], struct.unpack_from("<ii", frame, 32), frame[44:]
    both = b"".join(struct.pack("<i", own) + bodies[: size - 4] for own in (1, 2))
    content = before + struct.pack("<ii", 2, len(both)) + both + bodies[size - 4 :]
    return [info, message(DESCRIPTIONS, described), message(FRAME, content)]


def qualisys(name: str) -> list[bytes]:
    reported, frame = QualisysSender(Address()).packets(MOMENT)
    safe = name.encode("ascii", "xmlcharrefreplace") if name.isprintable() else b"&#x85;&#x202e;"
    text = reported[HEADER.size :].replace(SENDER_SKELETON.encode(), safe)
    one = text[text.index(b"<Skeleton ") : text.index(b"</Skeletons>")]
    return [of_qtm(2, text.replace(one, one + one)), of_qtm(QTM_FRAME, twice(frame[HEADER.size :]))]


def twice(frame: bytes) -> bytes:
    """A frame of QTM's with its skeleton two times; the component of markers before it is empty."""
    start = 16 + struct.unpack_from("<I", frame, 16)[0]
    size, kind, _ = struct.unpack_from("<III", frame, start)
    skeleton = frame[start + 12 : start + size]
    return frame[:start] + struct.pack("<III", size + len(skeleton), kind, 2) + skeleton + skeleton


@pytest.mark.parametrize("name", ODD, ids=range(len(ODD)))
@pytest.mark.parametrize(("packets", "hands"), [(rokoko, 2), (natnet, 4), (qualisys, 4)])
def test_names_of_performers_can_be_shown_and_kept_apart(packets, hands, name):
    (frame,) = frames_of(packets.__name__, packets(name))
    assert len(set(frame.names)) == len(frame.names) == 25 * hands
    for called in frame.names:
        assert called.isprintable() and called.count(":") == 1 and len(called.encode()) < 1200


@pytest.mark.parametrize("clock", [math.nan, math.inf, -math.inf, 1e38])
@pytest.mark.parametrize("device", ["vmc", "rokoko", "webxr", "landmarks", "natnet"])
def test_a_clock_that_tells_no_time_is_none(device, clock):
    if device == "natnet":
        packets = list(NatnetSender(Address()).packets(replace(MOMENT, time=clock)))
    elif device == "webxr":
        document = {"number": 1, "time": clock, "hands": {}}
        reported = json.loads(next(iter(DEVICES[device].sender(Address()).messages(MOMENT))))  # type: ignore[attr-defined]
        packets = [json.dumps(reported | document | {"hands": reported["hands"]}).encode()]
    else:
        packets = sent(device, clock)
    try:
        times = [frame.time for frame in frames_of(device, [*packets, *packets])]
    except PacketError:
        times = []
    assert not any(times)


def test_counts_of_nanoseconds_and_microseconds_that_tell_no_time_are_none():
    lines = [re.sub(rb"t=\d+", b"t=" + b"9" * 20, line) for line in sent("quest")]
    reported, frame = QualisysSender(Address()).packets(MOMENT)
    late = frame[: HEADER.size] + struct.pack("<q", 2**63 - 1) + frame[HEADER.size + 8 :]
    for frames in (frames_of("quest", lines), frames_of("qualisys", [reported, late])):
        assert frames and not any(frame.time for frame in frames)


def test_counts_without_end_are_refused():
    reported, _ = QualisysSender(Address()).packets(MOMENT)
    components = struct.pack("<qII", 1, 1, 200_000) + struct.pack("<II", 8, 30) * 200_000
    with pytest.raises(PacketError, match="200000 components, expected 64 at most"):
        frames_of("qualisys", [reported, of_qtm(QTM_FRAME, components)])
    skeletons = struct.pack("<I", 500_000) + bytes(4 * 500_000)
    component = struct.pack("<II", 8 + len(skeletons), 18) + skeletons
    (frame,) = frames_of("qualisys", [reported, of_qtm(QTM_FRAME, struct.pack("<qII", 1, 1, 1) + component)])
    assert len(frame.names) == 50


def ended(receiver: Receiver) -> bool:
    return not receiver._thread.is_alive()


def test_who_sends_byte_by_byte_holds_nobody_up(address):
    """A packet that is never whole must not keep from ending."""
    with socket.create_server((address.host, address.port)) as port, following("qualisys", address) as receiver:
        caller, _ = port.accept()
        gone = threading.Event()

        def drip() -> None:
            caller.sendall(HEADER.pack(1 << 22, 3))
            while not gone.wait(0.02):
                caller.sendall(b"x")

        thread = threading.Thread(target=drip)
        thread.start()
        time.sleep(0.2)
        receiver.stop()
        wait_for(lambda: ended(receiver), 5)
        gone.set()
        thread.join()
        caller.close()


def test_pages_and_programs_that_say_nothing_leave_room_and_are_let_go(address):
    with following("webxr", address) as receiver:
        wait_for(lambda: reached(address))
        with connect(f"ws://{address}/") as heard:
            before = threading.active_count()
            silent = [socket.create_connection((address.host, address.port)) for _ in range(100)]
            time.sleep(0.5)
            assert threading.active_count() - before <= 3 * MAX_REQUESTS
            # Of those that are too many each is hung up.
            for one in silent[MAX_REQUESTS:]:
                one.settimeout(10)
                assert one.recv(1) == b""
            heard.send(json.dumps({"hands": {}}))
            wait_for(lambda: receiver.stats.packets == 1)
            for one in silent:
                one.close()


def reached(address: Address) -> bool:
    with socket.socket() as sock:
        return sock.connect_ex((address.host, address.port)) == 0


@pytest.mark.parametrize("pieces", [1, 50])
def test_messages_that_are_too_long_end_their_connection_and_no_other(address, pieces):
    with following("webxr", address) as receiver:
        wait_for(lambda: reached(address))
        with connect(f"ws://{address}/") as good:
            with pytest.raises(ConnectionClosed), connect(f"ws://{address}/") as bad:
                bad.send("x" * (2 * MAX_PACKET_SIZE // pieces) for _ in range(pieces))
                bad.recv(10)
            good.send(json.dumps({"hands": {}}))
            wait_for(lambda: receiver.stats.packets == 1)


@pytest.mark.parametrize(
    "host", ["", " ", "a..b", "x" * 64, "a." * 127, "a\0b", "a b", "::1", "\ud800", "a/b", "user@host", "münchen"]
)
def test_what_is_no_address_is_refused_before_anything_is_opened(host):
    """Of nothing at all the system takes all addresses of this machine."""
    with pytest.raises(StreamError, match=r"is not an address, expected one such as 127.0.0.1") as reported:
        Address(host, 9000)
    assert str(reported.value).isprintable() and len(str(reported.value)) < 120


@pytest.mark.parametrize("port", [-1, 65536, 10**9])
def test_what_is_no_port_is_refused(port):
    with pytest.raises(StreamError, match=f"{port} is not a port, expected a number from 1 to 65535"):
        Address("127.0.0.1", port)


def came(receiver: Receiver, packets: int) -> bool:
    return receiver.stats.packets == packets


def test_connections_that_are_torn_leave_no_trace_in_the_console(address, caplog):
    """As when a headset's network is lost, or what it says is none of the protocol's."""
    with following("webxr", address) as receiver:
        wait_for(lambda: reached(address))
        for number, torn in enumerate((b"", b"\x81\xff" + b"\xff" * 8, b"\x81\x82\0\0\0\0\xff\xfe"), 1):
            with connect(f"ws://{address}/", close_timeout=0.1) as page:
                page.send(json.dumps({"hands": {}}))
                wait_for(partial(came, receiver, number))
                if torn:
                    page.socket.sendall(torn)
                    with pytest.raises(ConnectionClosed):
                        page.recv(10)
                else:
                    page.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    page.socket.close()
    reported = [record for record in caplog.records if record.name == "websockets.server"]
    assert [record.message for record in reported if record.levelname == "ERROR"] == []


@pytest.mark.parametrize("device", DEVICES)
def test_a_name_that_nobody_has_is_reported(device, monkeypatch):
    monkeypatch.setattr(camera_page, "ASSETS", (camera_page.PAGE,))  # the models are not needed to say so
    with following(device, Address("no-such-host.invalid", 22223)) as receiver:
        wait_for(lambda: "is not a known host name" in receiver.state())
        assert receiver.failed and not ended(receiver)


def test_datagrams_of_any_size_are_taken_as_they_are(address):
    with listening("landmarks", address) as receiver, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        for size in (0, 1, 65_507):
            sock.sendto(b"[" * size, (address.host, address.port))
        wait_for(lambda: receiver.stats.malformed == 3)
        assert receiver.stats.bytes_received == 65_508
