"""Devices that speak WebSocket, on real sockets: who connects, who hangs up, who may not."""

import http.server
import socket
import threading
import time
import urllib.error
import urllib.request
from contextlib import ExitStack
from dataclasses import replace
from functools import partial

import pytest
from websockets.exceptions import InvalidStatus
from websockets.frames import CloseCode
from websockets.sync.client import connect
from websockets.sync.server import ServerConnection, serve
from websockets.typing import Origin

from knuckle.capture.devices.device_table import DEVICES
from knuckle.capture.devices.receiver import Receiver, TimedFrame
from knuckle.capture.network import connection_slots
from knuckle.capture.network.connection_slots import MAX_CLIENTS
from knuckle.capture.network.transport import Address
from knuckle.capture.protocols import leap_service
from knuckle.tests.pure.capture.devices.moments import moments
from knuckle.tests.pure.capture.devices.sockets import following, wait_for


def test_the_page_is_served_and_sends_hands(address):
    with following("webxr", address) as receiver:
        wait_for(lambda: answers(address))
        with urllib.request.urlopen(f"http://{address}/") as page:
            text = page.read().decode()
            assert page.headers["Content-Type"].startswith("text/html") and "hand-tracking" in text
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(f"http://{address}/../etc/passwd")
        got: list[TimedFrame] = []
        with DEVICES["webxr"].sender(address) as sender:
            for moment in moments(20):
                sender.send(moment)
            wait_for(partial(all_come, receiver, got, 20))
        assert [arrived.frame.number for arrived in got] == list(range(20))


def all_come(receiver: Receiver, got: list[TimedFrame], count: int) -> bool:
    got += receiver.drain()
    return len(got) == count


def more_packets(receiver: Receiver, before: int) -> bool:
    return receiver.stats.packets > before


def answers(address: Address) -> bool:
    with socket.socket() as sock:
        return sock.connect_ex((address.host, address.port)) == 0


def test_a_service_is_told_goodbye_and_no_error(address):
    heard: list[object] = []

    def meet(connection: ServerConnection) -> None:
        heard.extend(connection)
        heard.append(connection.protocol.close_code)

    with serve(meet, address.host, address.port) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with following("leap", address):
            wait_for(lambda: len(heard) == len(leap_service.GREETINGS))
        wait_for(lambda: heard)
    assert heard == [*leap_service.GREETINGS, CloseCode.NORMAL_CLOSURE]


@pytest.mark.parametrize(("device", "threads"), [("webxr", 2), ("leap", 1)])
def test_who_vanishes_or_speaks_nonsense_leaves_no_traceback(address, device, threads, caplog):
    """A headset that falls asleep says no goodbye."""
    idle = threading.active_count() + threads
    with following("webxr", address) if device == "webxr" else DEVICES["leap"].sender(address):
        wait_for(lambda: answers(address))
        with socket.create_connection((address.host, address.port)) as nonsense:
            nonsense.sendall(b"hello\r\n\r\n")
        with connect(f"ws://{address}/") as caller:
            caller.socket.shutdown(socket.SHUT_RDWR)
        wait_for(lambda: threading.active_count() <= idle)
    assert not caplog.records


def test_pages_of_others_may_not_connect(address):
    with following("webxr", address):
        wait_for(lambda: answers(address))
        with pytest.raises(InvalidStatus, match="403"):
            connect(f"ws://{address}/", origin=Origin("http://elsewhere.example")).__enter__()
        with connect(f"ws://{address}/", origin=Origin(f"http://{address}")):
            pass


@pytest.mark.parametrize(
    ("host", "is_served"),
    [
        ("127.0.0.1:8765", True),
        ("[::1]:8765", True),
        ("192.168.1.20", True),
        ("localhost:8765", True),
        ("LOCALHOST.", True),
        ("hands.example.net", True),
        ("hands.example.net:443", True),
        ("rebound.example.org:8765", False),
        ("127.0.0.1.rebound.example.org", False),
        ("localhost.rebound.example.org", False),
        ("", False),
        ("[::1", False),
    ],
)
def test_a_name_that_a_site_points_here_is_not_served(address, host, is_served):
    """A site can have its own name resolved to this machine after its page is loaded; Origin and Host then agree."""
    with following("webxr", replace(address, page_names=("Hands.example.net",))):
        wait_for(lambda: answers(address))
        for upgrade in ("", f"Upgrade: websocket\r\nConnection: Upgrade\r\nOrigin: http://{host}\r\n"):
            with socket.create_connection((address.host, address.port), timeout=5) as page:
                handshake = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
                page.sendall(f"GET / HTTP/1.1\r\nHost: {host}\r\n{upgrade and upgrade + handshake}\r\n".encode())
                status = page.recv(12).decode()
            assert status == ("HTTP/1.1 403" if not is_served else "HTTP/1.1 101" if upgrade else "HTTP/1.1 200")


def test_a_page_gets_all_files_that_it_asks_for_at_once(address):
    with following("webxr", address), ExitStack() as opened:
        wait_for(lambda: answers(address))
        asking = [socket.create_connection((address.host, address.port), timeout=5) for _ in range(2 * MAX_CLIENTS)]
        for client in map(opened.enter_context, asking):
            client.sendall(f"GET / HTTP/1.1\r\nHost: {address}\r\n".encode())
        for client in asking:
            client.sendall(b"\r\n")
        assert [client.recv(12) for client in asking] == [b"HTTP/1.1 200"] * len(asking)


def test_idle_sockets_keep_nobody_out(address, monkeypatch):
    monkeypatch.setattr(connection_slots, "IDLE_S", 0.3)
    with following("webxr", address) as receiver, ExitStack() as opened:
        wait_for(lambda: answers(address))
        for _ in range(MAX_CLIENTS):
            opened.enter_context(connect(f"ws://{address}/", close_timeout=0.1))
        time.sleep(0.4)
        with DEVICES["webxr"].sender(address) as sender:
            for moment in moments(5):
                sender.send(moment)
            wait_for(lambda: receiver.stats.frames == 5)


def test_who_sends_keeps_the_place(address):
    with following("webxr", address) as receiver, ExitStack() as opened:
        wait_for(lambda: answers(address))
        with DEVICES["webxr"].sender(address) as sender:
            for moment in moments(30):
                sender.send(moment)
                opened.callback(socket.create_connection((address.host, address.port)).close)
            wait_for(lambda: receiver.stats.frames == 30)


def test_a_service_that_hangs_up_is_reported_and_met_again(address):
    with following("leap", address) as receiver:
        wait_for(lambda: "refuses the connection" in receiver.state())
        for _ in range(2):
            got: list[TimedFrame] = []
            with DEVICES["leap"].sender(address) as sender:
                greeted = receiver.stats.packets
                wait_for(partial(more_packets, receiver, greeted))
                for moment in moments(5):
                    sender.send(moment)
                wait_for(partial(all_come, receiver, got, 5))
            wait_for(
                lambda: "closed the connection" in receiver.state() or "refuses the connection" in receiver.state()
            )


class _Plain(http.server.BaseHTTPRequestHandler):
    """A web server, and no WebSocket."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Says nothing."""


def test_what_is_no_websocket_is_reported(address):
    with http.server.ThreadingHTTPServer((address.host, address.port), _Plain) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with following("leap", address) as receiver:
            wait_for(lambda: "is not a WebSocket" in receiver.state())
        server.shutdown()
