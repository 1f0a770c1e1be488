"""Senders that serve a WebSocket or connect to one."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Self

from ...errors import StreamError
from .sender import Outgoing
from .transport import Address, refusal
from .websocket import QUIET, connected

if TYPE_CHECKING:
    from websockets.sync.server import ServerConnection


class WebSocketSender(ABC):
    """A Sender that serves a WebSocket: clients get a greeting and all frames from then on."""

    path = "/"
    greeting = ""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._connected: set[ServerConnection] = set()

    def __enter__(self) -> Self:
        from websockets.sync.server import serve

        where = f"TCP {self._address}"
        try:
            self._server = serve(self._meet, self._address.host, self._address.port, compression=None, logger=QUIET)
        except OSError as error:
            raise StreamError(refusal(where, error)) from None
        threading.Thread(target=self._server.serve_forever, name="knuckle sender", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()

    @property
    def waits(self) -> bool:
        """See Sender."""
        return not self._connected

    def _meet(self, connection: "ServerConnection") -> None:
        connection.send(self.greeting)
        self._connected.add(connection)
        try:
            for _ in connection:
                pass
        finally:
            self._connected.discard(connection)

    def send(self, moment: Outgoing) -> None:
        """See Sender."""
        from websockets.exceptions import ConnectionClosed

        for message in self.messages(moment):
            for connection in list(self._connected):
                try:
                    connection.send(message)
                except ConnectionClosed:
                    self._connected.discard(connection)

    @abstractmethod
    def messages(self, moment: Outgoing) -> Iterator[str]:
        """The messages of one frame."""


class WebSocketCaller(ABC):
    """A Sender that connects to a WebSocket, as a web page does."""

    waits = False
    path = "/"

    def __init__(self, address: Address) -> None:
        self._address = address
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self._own = self._stack.enter_context(connected(f"ws://{self._address}{self.path}"))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def send(self, moment: Outgoing) -> None:
        """See Sender."""
        from websockets.exceptions import ConnectionClosed

        try:
            for message in self.messages(moment):
                self._own.send(message)
        except ConnectionClosed:
            raise StreamError(f"ws://{self._address} hung up") from None

    @abstractmethod
    def messages(self, moment: Outgoing) -> Iterator[str]:
        """The messages of one frame."""
