"""Senders that serve a WebSocket or connect to one."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Self

from ...errors import StreamError
from .sender import OutgoingFrame
from .transport import Address, socket_error
from .websocket import SILENT_LOGGER, connect_websocket

if TYPE_CHECKING:
    from websockets.sync.server import ServerConnection


class WebSocketSender(ABC):
    """A Sender that serves a WebSocket: a client gets a greeting, then all further frames."""

    path = "/"
    greeting = ""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._clients: set[ServerConnection] = set()

    def __enter__(self) -> Self:
        from websockets.sync.server import serve

        address = f"TCP {self._address}"
        try:
            self._server = serve(
                self._accept, self._address.host, self._address.port, compression=None, logger=SILENT_LOGGER
            )
        except OSError as error:
            raise StreamError(socket_error(address, error)) from None
        threading.Thread(target=self._server.serve_forever, name="knuckle sender", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()

    @property
    def has_no_client(self) -> bool:
        """See Sender."""
        return not self._clients

    def _accept(self, connection: "ServerConnection") -> None:
        connection.send(self.greeting)
        self._clients.add(connection)
        try:
            for _ in connection:
                pass
        finally:
            self._clients.discard(connection)

    def send(self, outgoing: OutgoingFrame) -> None:
        """See Sender."""
        from websockets.exceptions import ConnectionClosed

        for message in self.messages(outgoing):
            for connection in list(self._clients):
                try:
                    connection.send(message)
                except ConnectionClosed:
                    self._clients.discard(connection)

    @abstractmethod
    def messages(self, outgoing: OutgoingFrame) -> Iterator[str]:
        """Return the messages of one frame."""


class WebSocketClientSender(ABC):
    """A Sender that connects to a WebSocket, as a web page does."""

    has_no_client = False
    path = "/"

    def __init__(self, address: Address) -> None:
        self._address = address
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self._connection = self._stack.enter_context(connect_websocket(f"ws://{self._address}{self.path}"))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def send(self, outgoing: OutgoingFrame) -> None:
        """See Sender."""
        from websockets.exceptions import ConnectionClosed

        try:
            for message in self.messages(outgoing):
                self._connection.send(message)
        except ConnectionClosed:
            raise StreamError(f"ws://{self._address} closed the connection") from None

    @abstractmethod
    def messages(self, outgoing: OutgoingFrame) -> Iterator[str]:
        """Return the messages of one frame."""
