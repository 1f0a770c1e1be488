"""WebSocket transports: a server for web pages, and a client for programs that serve a WebSocket."""

import logging
import queue
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from ipaddress import ip_address
from itertools import count
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ...errors import StreamError
from ..marker_labels import quoted
from .connection_slots import ConnectionSlots
from .site import ServedSite
from .transport import MAX_PACKET_SIZE, TICK, Address, Incoming, Packets, socket_error

if TYPE_CHECKING:
    # Imported where it is used, since the import is slow and rarely needed.
    from websockets.http11 import Request, Response
    from websockets.sync.client import ClientConnection
    from websockets.sync.server import Server, ServerConnection

SILENT_LOGGER = logging.getLogger(__name__)
"""Disabled, since clients that vanish or send malformed data would leave tracebacks in the console."""
SILENT_LOGGER.disabled = True
QUEUE_LENGTH = 256
"""Length of the queue of messages; when it is full, the oldest are dropped."""
HANDSHAKE_TIMEOUT_S = 2
"""Maximum time for a handshake with a program in s."""
REQUEST_TIMEOUT_S = 10
"""Maximum time in s from a browser's connection to its request, which takes seconds on a busy computer. A browser that
is disconnected shows an error and does not retry."""
MAX_REQUESTS = 32
"""Maximum number of simultaneous connections that are not WebSockets. A browser requests six files at once, and on a
busy computer closed connections are noticed late; a page does not start if one of its files is missing."""
MAX_ANSWERS = 200
"""Maximum number of answers on a connection: Knuckle would wait for a page that does not read them."""


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
            # Otherwise, closing a generator inside would report an error to the server.
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
            yield None
            while True:
                yield _receive(connection)

    def status(self) -> str:
        """See Transport."""
        return f"asking ws://{self.address}{self.path}"


def _receive(connection: "ClientConnection") -> Incoming | None:
    """Return a message, None if none arrived in time. Raises ConnectionClosed."""
    try:
        return Incoming(_as_bytes(connection.recv(TICK)))
    except TimeoutError:
        return None


def _as_bytes(message: str | bytes) -> bytes:
    return message.encode() if isinstance(message, str) else message


@dataclass(frozen=True, slots=True)
class WebSocketListener:
    """A Transport from a web page, which is served at the same address; pages of other sites are refused.

    Since another site may point its own host name to this machine (DNS rebinding), requests must name an IP address,
    localhost or one of the address's page_names.
    """

    address: Address
    site: ServedSite
    queue_length: int = QUEUE_LENGTH
    """Maximum number of messages in the queue; beyond it, the oldest are dropped."""

    def packets(self) -> Packets:
        """See Transport."""
        from websockets.exceptions import ConnectionClosed

        messages: queue.Queue[Incoming] = queue.Queue(self.queue_length)
        requests, slots = ConnectionSlots[socket.socket](MAX_REQUESTS), ConnectionSlots[socket.socket]()

        def receive(connection: "ServerConnection") -> None:
            sender, client = str(connection.remote_address[0]), connection.socket
            requests.release(client)
            _admit(slots, client, sender)
            hang_up, keep = partial(_shut_down, client), partial(slots.keep, client)
            answer = partial(_answer, connection, count())
            # A client that loses its network or breaks the protocol is disconnected, and may connect again.
            try:
                with suppress(ConnectionClosed):
                    for message in connection:
                        _enqueue(messages, Incoming(_as_bytes(message), sender, hang_up, keep, answer))
            finally:
                slots.release(client)

        with _serve(self, receive, requests):
            yield None
            while True:
                try:
                    yield messages.get(timeout=TICK)
                except queue.Empty:
                    yield None

    def status(self) -> str:
        """See Transport."""
        return f"open {self.url()} {self.site.location_phrase}"

    def url(self) -> str:
        """Return the address of the page."""
        return f"http://{self.address}{self.site.folder}"

    def answer(self, connection: "ServerConnection", request: "Request") -> "Response | None":
        """Respond with a file, or refuse another site's page; None proceeds to the WebSocket handshake."""
        from websockets.datastructures import Headers
        from websockets.http11 import Response

        host = request.headers.get("Host", "")
        if not self._serves(host):
            return connection.respond(
                403,
                f"{quoted(host)} is not a name of this page: open it by its address, or add the name to "
                "Host Names (knuckle listen --page-name) if it is that of your tunnel\n",
            )
        if "Upgrade" not in request.headers:
            response = self.site.answer(request.path, request.headers.get("Range", ""))
            length = {"Content-Length": str(len(response.body)), "Connection": "close"}
            return Response(response.status, response.phrase, Headers(response.headers | length), response.body)
        origin = request.headers.get("Origin")
        if request.path != self.site.folder or (origin and urlsplit(origin).netloc != host):
            return connection.respond(403, "Only the page that is served here may connect\n")
        return None

    def _serves(self, host: str) -> bool:
        """Return whether the Host of a request is an IP address, localhost, or one of the user's page names."""
        try:
            name = (urlsplit(f"//{host}").hostname or "").removesuffix(".")
        except ValueError:
            return False
        if name in ("localhost", self.address.host.lower(), *map(str.lower, self.address.page_names)):
            return True
        with suppress(ValueError):
            ip_address(name)
            return True
        return False


def _answer(connection: "ServerConnection", answers: "count[int]", text: str) -> None:
    """Send text to a page, from any thread; disconnect the page after MAX_ANSWERS answers."""
    from websockets.exceptions import ConnectionClosed

    if next(answers) >= MAX_ANSWERS:
        _shut_down(connection.socket)
        return
    with suppress(ConnectionClosed):
        connection.send(text)


def _admit(slots: ConnectionSlots[socket.socket], client: socket.socket, sender: str) -> None:
    """Give a client a slot, and disconnect the client that loses it; without a free slot, disconnect the new client.

    The handler of a disconnected client finds nothing to read, and returns at once.
    """
    disconnected = slots.admit(client, sender)
    if disconnected is not None:
        _shut_down(disconnected)


def _shut_down(client: socket.socket) -> None:
    """End a connection, from any thread."""
    with suppress(OSError):
        client.shutdown(socket.SHUT_RDWR)


def _enqueue(messages: "queue.Queue[Incoming]", message: Incoming) -> None:
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
def _serve(
    listener: WebSocketListener, receive: "Callable[[ServerConnection], None]", requests: ConnectionSlots[socket.socket]
) -> "Iterator[Server]":
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
            open_timeout=REQUEST_TIMEOUT_S,
            close_timeout=1,
        )
    except OSError as error:
        raise StreamError(socket_error(f"TCP {listener.address}", error)) from None
    handler = server.handler

    def handle(client: socket.socket, address: Any) -> None:
        _admit(requests, client, str(address[0]))
        try:
            handler(client, address)
        finally:
            requests.release(client)

    server.handler = handle
    thread = threading.Thread(target=server.serve_forever, name="knuckle pages", daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
