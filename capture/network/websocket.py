"""WebSockets: a server for pages that send, and a client for programs that serve."""

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
from .tcp import MOST_CALLERS
from .transport import LARGEST_PACKET, TICK, Address, Packets, refusal

if TYPE_CHECKING:
    # Of what is imported with Knuckle this would take the longest; few need it.
    from websockets.http11 import Request, Response
    from websockets.sync.client import ClientConnection
    from websockets.sync.server import Server, ServerConnection

QUIET = logging.getLogger(__name__)
"""Callers that vanish or speak nonsense are no fault of ours, and no traceback for the console."""
QUIET.disabled = True
WAITING = 256
"""Messages that wait for the reader; of more, the oldest are dropped."""
OPENING = 2
"""s in which two must have come to terms."""


@contextmanager
def connected(where: str) -> "Iterator[ClientConnection]":
    """A connection to a WebSocket, ws://host:port/path. Raises StreamError, also for one that hangs up meanwhile."""
    from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidMessage
    from websockets.sync.client import connect

    try:
        with (
            connect(
                where, compression=None, max_size=LARGEST_PACKET, open_timeout=OPENING, close_timeout=1, proxy=None
            ) as own,
            # Alone, the first would tell the other end of an error where a generator is closed.
            closing(own),
        ):
            yield own
    except ConnectionClosed:
        raise StreamError(f"{where} hung up") from None
    except (InvalidHandshake, InvalidMessage):
        raise StreamError(f"what answers at {where} is no WebSocket: is it the right port?") from None
    except OSError as error:
        raise StreamError(refusal(where, error)) from None


@dataclass(frozen=True, slots=True)
class WebSocketClient:
    """A program that serves a WebSocket."""

    address: Address
    path: str = "/"
    greetings: Sequence[str] = ()
    """What is said first."""

    def packets(self) -> Packets:
        """See Transport."""
        with connected(f"ws://{self.address}{self.path}") as own:
            for greeting in self.greetings:
                own.send(greeting)
            while True:
                yield _next(own)

    def said(self) -> str:
        """See Transport."""
        return f"asking ws://{self.address}{self.path}"


def _next(connection: "ClientConnection") -> bytes | None:
    """A message, None where none came in time. Raises ConnectionClosed."""
    try:
        message = connection.recv(TICK)
    except TimeoutError:
        return None
    return message.encode() if isinstance(message, str) else message


@dataclass(frozen=True, slots=True)
class WebSocketListener:
    """A page's connection; the page itself is served at the same address, and only it may connect, and programs."""

    address: Address
    page: Callable[[], bytes]

    def packets(self) -> Packets:
        """See Transport."""
        from websockets.exceptions import ConnectionClosed

        came: queue.Queue[bytes] = queue.Queue(WAITING)

        def take(connection: "ServerConnection") -> None:
            # One whose network is lost, or who says what is none of the protocol's, is hung up and may call again.
            with suppress(ConnectionClosed):
                for message in connection:
                    _put(came, message.encode() if isinstance(message, str) else message)

        with _serving(self, take):
            while True:
                try:
                    yield came.get(timeout=TICK)
                except queue.Empty:
                    yield None

    def said(self) -> str:
        """See Transport."""
        return f"open http://{self.address}/ in the headset's browser"

    def answer(self, connection: "ServerConnection", request: "Request") -> "Response | None":
        """The page, for a browser that asks for it; a refusal for pages of others; None goes on to the WebSocket."""
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


def _put(came: "queue.Queue[bytes]", message: bytes) -> None:
    """Behind those that wait; the oldest make room, whoever else puts and takes meanwhile."""
    while True:
        try:
            came.put_nowait(message)
        except queue.Full:
            with suppress(queue.Empty):
                came.get_nowait()
        else:
            return


@contextmanager
def _serving(listener: WebSocketListener, take: "Callable[[ServerConnection], None]") -> "Iterator[Server]":
    from websockets.sync.server import serve

    where = f"TCP {listener.address}"
    try:
        server = serve(
            take,
            listener.address.host,
            listener.address.port,
            process_request=listener.answer,
            logger=QUIET,
            compression=None,
            max_size=LARGEST_PACKET,
            open_timeout=OPENING,
            close_timeout=1,
        )
    except OSError as error:
        raise StreamError(refusal(where, error)) from None
    server.handler = _of_few(server.handler)
    thread = threading.Thread(target=server.serve_forever, name="knuckle pages", daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()


def _of_few(serving: "Callable[[socket.socket, Any], None]") -> "Callable[[socket.socket, Any], None]":
    """The same for MOST_CALLERS at once: who comes while there are so many is hung up."""
    free = threading.Semaphore(MOST_CALLERS)

    def serve_if_free(caller: socket.socket, address: Any) -> None:
        taken = free.acquire(blocking=False)
        if not taken:
            # Nothing can be read from it any more, so that it is let go at once.
            with suppress(OSError):
                caller.shutdown(socket.SHUT_RDWR)
        try:
            serving(caller, address)
        finally:
            if taken:
                free.release()

    return serve_if_free
