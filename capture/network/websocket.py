"""WebSocket transports: a server for web pages that send, and a client for programs that serve."""

import logging
import queue
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ...errors import StreamError
from .tcp import MAX_CLIENTS
from .transport import MAX_PACKET_SIZE, TICK, Address, Packets, socket_error

if TYPE_CHECKING:
    # Imported only where it is used, because it takes long and few need it.
    from websockets.http11 import Request, Response
    from websockets.sync.client import ClientConnection
    from websockets.sync.server import Server, ServerConnection

SILENT_LOGGER = logging.getLogger(__name__)
"""Disabled, so that clients that vanish or send malformed data leave no traceback in the console."""
SILENT_LOGGER.disabled = True
QUEUE_LENGTH = 256
"""Length of the queue of messages; when it is full, the oldest are dropped."""
HANDSHAKE_TIMEOUT_S = 2
"""Longest time for a handshake in s."""


@contextmanager
def connect_websocket(url: str) -> "Iterator[ClientConnection]":
    """Connect to a WebSocket, ws://host:port/path. Raises StreamError, also if the connection is closed later."""
    from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidMessage
    from websockets.sync.client import connect

    try:
        with (
            connect(
                url,
                compression=None,
                max_size=MAX_PACKET_SIZE,
                open_timeout=HANDSHAKE_TIMEOUT_S,
                close_timeout=1,
                proxy=None,
            ) as connection,
            # Without it, closing a generator inside would report an error to the other end.
            closing(connection),
        ):
            yield connection
    except ConnectionClosed:
        raise StreamError(f"{url} closed the connection") from None
    except (InvalidHandshake, InvalidMessage):
        raise StreamError(f"what answers at {url} is not a WebSocket: is it the right port?") from None
    except OSError as error:
        raise StreamError(socket_error(url, error)) from None


@dataclass(frozen=True, slots=True)
class WebSocketClient:
    """A Transport from a program that serves a WebSocket."""

    address: Address
    path: str = "/"
    greetings: Sequence[str] = ()
    """Messages sent on connecting."""

    def packets(self) -> Packets:
        """See Transport."""
        with connect_websocket(f"ws://{self.address}{self.path}") as connection:
            for greeting in self.greetings:
                connection.send(greeting)
            while True:
                yield _receive(connection)

    def status(self) -> str:
        """See Transport."""
        return f"asking ws://{self.address}{self.path}"


def _receive(connection: "ClientConnection") -> bytes | None:
    """A message, None if none arrived in time. Raises ConnectionClosed."""
    try:
        message = connection.recv(TICK)
    except TimeoutError:
        return None
    return message.encode() if isinstance(message, str) else message


@dataclass(frozen=True, slots=True)
class WebSocketListener:
    """A Transport from a web page, which is served at the same address; other sites' pages are refused."""

    address: Address
    page: Callable[[], bytes]

    def packets(self) -> Packets:
        """See Transport."""
        from websockets.exceptions import ConnectionClosed

        messages: queue.Queue[bytes] = queue.Queue(QUEUE_LENGTH)

        def receive(connection: "ServerConnection") -> None:
            # A client that loses its network or breaks the protocol is disconnected, and may connect again.
            with suppress(ConnectionClosed):
                for message in connection:
                    _enqueue(messages, message.encode() if isinstance(message, str) else message)

        with _serve(self, receive):
            while True:
                try:
                    yield messages.get(timeout=TICK)
                except queue.Empty:
                    yield None

    def status(self) -> str:
        """See Transport."""
        return f"open http://{self.address}/ in the headset's browser"

    def answer(self, connection: "ServerConnection", request: "Request") -> "Response | None":
        """Respond with the page, or refuse another site's page; None proceeds to the WebSocket handshake."""
        from websockets.datastructures import Headers
        from websockets.http11 import Response

        if "Upgrade" not in request.headers:
            found = request.path == "/"
            body = self.page() if found else b"There is only /"
            kind = "text/html; charset=utf-8" if found else "text/plain"
            headers = Headers({"Content-Type": kind, "Content-Length": str(len(body)), "Connection": "close"})
            return Response(200 if found else 404, "OK" if found else "Not Found", headers, body)
        origin = request.headers.get("Origin")
        if origin and urlsplit(origin).netloc != request.headers.get("Host"):
            return connection.respond(403, "Only the page that is served here may connect\n")
        return None


def _enqueue(messages: "queue.Queue[bytes]", message: bytes) -> None:
    """Queue a message, dropping the oldest if the queue is full. Safe with several producers and consumers."""
    while True:
        try:
            messages.put_nowait(message)
        except queue.Full:
            with suppress(queue.Empty):
                messages.get_nowait()
        else:
            return


@contextmanager
def _serve(listener: WebSocketListener, receive: "Callable[[ServerConnection], None]") -> "Iterator[Server]":
    from websockets.sync.server import serve

    try:
        server = serve(
            receive,
            listener.address.host,
            listener.address.port,
            process_request=listener.answer,
            logger=SILENT_LOGGER,
            compression=None,
            max_size=MAX_PACKET_SIZE,
            open_timeout=HANDSHAKE_TIMEOUT_S,
            close_timeout=1,
        )
    except OSError as error:
        raise StreamError(socket_error(f"TCP {listener.address}", error)) from None
    server.handler = _limit_clients(server.handler)
    thread = threading.Thread(target=server.serve_forever, name="knuckle pages", daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()


def _limit_clients(handler: "Callable[[socket.socket, Any], None]") -> "Callable[[socket.socket, Any], None]":
    """Limit a connection handler to MAX_CLIENTS clients at a time; further ones are disconnected."""
    slots = threading.Semaphore(MAX_CLIENTS)

    def limited(client: socket.socket, address: Any) -> None:
        admitted = slots.acquire(blocking=False)
        if not admitted:
            # The handler then finds nothing to read and returns at once.
            with suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)
        try:
            handler(client, address)
        finally:
            if admitted:
                slots.release()

    return limited
