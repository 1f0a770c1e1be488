"""Lines over TCP: another reader of the headset's protocol, callers that come and go, lines in pieces."""

import contextlib
import socket
import time
from collections.abc import Iterator
from functools import partial

import numpy as np
import pytest
from hand_tracking_sdk.transport import TCPServerConfig, TCPServerLineReceiver

from knuckle.capture.devices.device_table import DEVICES
from knuckle.capture.devices.receiver import Receiver, TimedFrame
from knuckle.capture.network import connection_slots
from knuckle.capture.network.connection_slots import MAX_CLIENTS
from knuckle.capture.network.transport import Address
from knuckle.capture.protocols.quest import QuestTcpSender
from knuckle.errors import StreamError

from .moments import moments
from .sockets import listening, wait_for

PERFORMER, STRANGER = "127.0.0.1", "127.0.0.2"


@pytest.fixture
def receiver(address: Address) -> Iterator[Receiver]:
    with listening("quest-tcp", address) as receiver:
        yield receiver


def test_another_reader_gets_the_lines_that_we_send(address: Address) -> None:
    (moment,) = moments(1)
    with (
        TCPServerLineReceiver(TCPServerConfig(host=address.host, port=address.port)) as other,
        DEVICES["quest-tcp"].sender(address) as sender,
    ):
        sender.send(moment)
        lines = [other.recv_line() for _ in range(4)]
    heads = [line.split(" |")[0] for line in lines]
    assert heads == ["Left wrist", "Left landmarks", "Right wrist", "Right landmarks"]


def test_a_sender_that_hangs_up_may_call_again(receiver: Receiver, address: Address) -> None:
    for _ in range(2):
        got: list[TimedFrame] = []
        with DEVICES["quest-tcp"].sender(address) as sender:
            for moment in moments(20):
                sender.send(moment)

        def last(got: list[TimedFrame] = got) -> bool:
            got.extend(receiver.drain())
            return bool(got) and got[-1].frame.number == 19 and len(got[-1].frame.names) == 50

        wait_for(last)
        wanted = moments(20)[-1].hands["left"][0, :3, 3]
        assert np.allclose(got[-1].frame.positions[0], wanted, atol=1e-6)
    assert receiver.stats.malformed == 0


def test_lines_in_pieces_are_put_together_and_endless_ones_let_go(receiver: Receiver, address: Address) -> None:
    line = b"Left wrist:, 0, 0, 0, 0, 0, 0, 1\r\nLeft landmarks:, " + b", ".join([b"0.01"] * 63) + b"\n"
    with socket.create_connection((address.host, address.port)) as caller:
        for piece in (line[:20], line[20:50], line[50:]):
            caller.sendall(piece)
            time.sleep(0.02)
        wait_for(lambda: receiver.stats.frames == 1)
    with socket.create_connection((address.host, address.port)) as endless, pytest.raises(OSError):
        for _ in range(1000):
            endless.sendall(b"x" * 65_536)
    assert receiver.stats.packets == 2


def test_of_many_callers_the_oldest_is_hung_up(
    receiver: Receiver, address: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_slots, "IDLE_S", 0.0)
    callers = [socket.create_connection((address.host, address.port)) for _ in range(9)]
    callers[0].settimeout(5)
    assert callers[0].recv(1) == b""
    callers[-1].sendall(b"hello\n")
    wait_for(lambda: receiver.stats.malformed == 1)
    for caller in callers:
        caller.close()


def test_a_web_page_cannot_post_hands(receiver: Receiver, address: Address) -> None:
    """A browser sends any page's POST to any port of this machine; its body may hold valid lines."""
    lines = b"".join(line for moment in moments(60) for line in QuestTcpSender(address).packets(moment))
    request = b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: text/plain\r\n\r\n" + lines
    with socket.create_connection((address.host, address.port), timeout=5) as page:
        page.sendall(request)
        wait_for(lambda: receiver.stats.malformed == 1)
        with contextlib.suppress(ConnectionResetError):
            assert page.recv(1) == b"", "the connection is closed"
    assert receiver.stats.packets == 1 and receiver.stats.frames == 0 and not receiver.drain()


def test_who_is_silent_longest_gives_up_the_place(
    receiver: Receiver, address: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_slots, "IDLE_S", 0.0)
    first, *others = [socket.create_connection((address.host, address.port), timeout=5) for _ in range(MAX_CLIENTS)]
    wrist = b"Left wrist:, 0, 0, 0, 0, 0, 0, 1\n"
    first.sendall(wrist)
    wait_for(lambda: receiver.stats.packets == 1)
    newcomer = socket.create_connection((address.host, address.port), timeout=5)
    assert others[0].recv(1) == b""
    first.sendall(wrist)
    newcomer.sendall(wrist)
    wait_for(lambda: receiver.stats.packets == 3)
    for caller in (first, newcomer, *others):
        caller.close()


def heard(receiver: Receiver, packets: int) -> bool:
    return receiver.stats.packets == packets


def test_who_moves_keeps_the_place_however_many_call(receiver: Receiver, address: Address) -> None:
    """Many connections fit between two frames of a headset, each younger than the performer's."""
    with contextlib.ExitStack() as opened, socket.create_connection((address.host, address.port)) as performer:
        for number, moment in enumerate(moments(20), start=1):
            performer.sendall(b"".join(QuestTcpSender(address).packets(moment)))
            wait_for(partial(heard, receiver, 4 * number))
            for _ in range(2 * MAX_CLIENTS):
                opened.enter_context(socket.create_connection((address.host, address.port)))
    assert receiver.stats.frames >= 19


def connection_from(source: str, address: Address) -> socket.socket:
    return socket.create_connection((address.host, address.port), timeout=5, source_address=(source, 0))


@pytest.mark.parametrize("chosen", ["", PERFORMER])
@pytest.mark.parametrize("strangers", [[STRANGER] * MAX_CLIENTS, [f"127.0.0.{last}" for last in range(2, 10)]])
def test_strangers_who_keep_all_places_busy_keep_no_performer_out(
    address: Address, monkeypatch: pytest.MonkeyPatch, strangers: list[str], chosen: str
) -> None:
    """They send hands throughout; the performer comes last."""
    monkeypatch.setattr(connection_slots, "IDLE_S", 0.3)
    frames = [b"".join(QuestTcpSender(address).packets(moment)) for moment in moments(20)]
    with listening("quest-tcp", address, sender=chosen) as receiver, contextlib.ExitStack() as opened:
        busy = [opened.enter_context(connection_from(source, address)) for source in strangers]
        for frame in frames:
            for stranger in busy:
                stranger.sendall(frame)
            time.sleep(0.03)
        performer = opened.enter_context(connection_from(PERFORMER, address))
        performer.sendall(frames[0])
        who = receiver.senders
        wait_for(lambda: PERFORMER in (who.followed, who.ignored_sender))
        assert who.followed == (chosen or strangers[0])


def test_a_sender_that_nobody_hears_is_reported(address: Address) -> None:
    with pytest.raises(StreamError, match="refuses the connection"), DEVICES["quest-tcp"].sender(address):
        pass
