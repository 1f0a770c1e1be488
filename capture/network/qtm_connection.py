"""Connections of QTM's real-time protocol: packets over TCP, with commands and answers, little-endian.

    u32 size, header included · u32 kind · content
    kinds: 0 error, 1 command or answer, 2 XML, 3 frame, 4 no more frames, 6 event

The server greets a client, which then sets the protocol version and requests the parameters and the frames.
"""

import socket
import struct
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Self

from ...errors import StreamError
from .sender import Outgoing
from .tcp import connected, listening
from .transport import LARGEST_PACKET, TICK, Address, Packets

ERROR, COMMAND, XML, FRAME, NO_FRAMES, EVENT = 0, 1, 2, 3, 4, 6
KINDS = 10
HEADER = struct.Struct("<II")
LONGEST = 1 << 22
"""Most bytes of a packet; the parameters of some skeletons have half a million."""
GREETING = b"QTM RT Interface connected"
VERSIONS = ("1.25", "1.24", "1.23", "1.22", "1.21", "1.20", "1.19")
"""In order of preference; there are no skeletons before 1.19."""
PARAMETERS = (b"GetParameters 3D", b"GetParameters Skeleton:global")
"""Requested separately, because the request for skeletons fails if there are none."""
STREAM = b"StreamFrames AllFrames 3D 3DNoLabels Skeleton:global Timecode"
PATIENCE = 4.0
"""Longest wait for an answer in s."""
AGAIN = 5.0
"""s between requests for the parameters, which may change; the answers also show that QTM is alive."""
SILENCE = 12.0
"""s without a packet after which the connection counts as lost."""


def message(kind: int, content: bytes = b"") -> bytes:
    """A QTM packet."""
    return HEADER.pack(HEADER.size + len(content), kind) + content


def command(text: bytes) -> bytes:
    """A packet with a command or an answer."""
    return message(COMMAND, text + b"\0")


def _messages(own: socket.socket, where: str) -> Iterator[bytes | None]:
    """The packets of a connection, None after a TICK without one. Raises StreamError if it ends or is not QTM's."""
    begun = bytearray()
    while True:
        try:
            said = own.recv(LARGEST_PACKET)
        except TimeoutError:
            yield None
            continue
        except OSError:
            said = b""
        if not said:
            raise StreamError(f"{where} hung up")
        begun += said
        # A packet that arrives in small pieces must not block the reader.
        yield None
        while len(begun) >= HEADER.size:
            size, kind = HEADER.unpack_from(begun)
            if not HEADER.size <= size <= LONGEST or kind >= KINDS:
                raise StreamError(f"what answers at {where} is not QTM: is it the port of QTM's real-time output?")
            if len(begun) < size:
                break
            packet = bytes(begun[:size])
            del begun[:size]
            yield packet


@dataclass(frozen=True, slots=True)
class QtmLink:
    """A Transport from QTM: all packets but greetings, answers and errors."""

    address: Address

    def packets(self) -> Packets:
        """See Transport."""
        with connected(self.address) as own:
            yield from _Talk(own, f"QTM at TCP {self.address}").packets()

    def said(self) -> str:
        """See Transport."""
        return f"asking QTM at TCP {self.address}"


class _Talk:
    """A session with QTM."""

    def __init__(self, own: socket.socket, where: str) -> None:
        self._own, self._where = own, where
        self._heard = _messages(own, where)

    def packets(self) -> Packets:
        greeting = yield from self._answer()
        if not greeting.startswith(GREETING):
            raise StreamError(f"{self._where} does not greet as QTM does: is it the right port?")
        yield from self._agree()
        self._ask()
        self._say(STREAM)
        asked = word = time.monotonic()
        streams, refused = False, ""
        for packet in self._heard:
            now, kind = time.monotonic(), -1 if packet is None else HEADER.unpack_from(packet)[1]
            word = word if packet is None else now
            streams = streams or kind in (FRAME, NO_FRAMES)
            if packet is not None and kind == ERROR:
                refused = _said(packet)
            yield packet if kind in (XML, FRAME, NO_FRAMES, EVENT) else None
            # Skeletons may be calibrated and markers named while QTM runs.
            if kind == EVENT or now - asked > AGAIN:
                self._ask()
                asked = now
            if now - word > SILENCE:
                raise StreamError(f"{self._where} has said nothing for {SILENCE:.0f} s")
            if refused and not streams and now - asked > PATIENCE:
                raise StreamError(f"{self._where} sends no frames: {refused}")

    def _agree(self) -> Packets:
        """Set the newest version of the protocol that QTM supports."""
        for version in VERSIONS:
            self._say(f"Version {version}".encode())
            answer = yield from self._answer()
            if answer.startswith(b"Version set to"):
                return
        raise StreamError(f"{self._where} is too old, expected one that knows version {VERSIONS[-1]} of its protocol")

    def _answer(self) -> Generator[None, None, bytes]:
        """Wait for the answer to a command, or its error."""
        end = time.monotonic() + PATIENCE
        for packet in self._heard:
            if packet is not None and HEADER.unpack_from(packet)[1] in (COMMAND, ERROR):
                return packet[HEADER.size :]
            if time.monotonic() > end:
                break
            yield None
        raise StreamError(f"{self._where} does not answer")

    def _ask(self) -> None:
        for question in PARAMETERS:
            self._say(question)

    def _say(self, text: bytes) -> None:
        try:
            self._own.sendall(command(text))
        except OSError:
            raise StreamError(f"{self._where} hung up") from None


def _said(packet: bytes) -> str:
    """The text of an error packet."""
    words = packet[HEADER.size :].rstrip(b"\0").decode("ascii", "replace")[:200]
    return "".join(letter if letter.isprintable() else "?" for letter in words)


class QtmServer(ABC):
    """A Sender that imitates QTM: it answers clients, and sends frames to those that requested them."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._clients: set[socket.socket] = set()
        self._streaming: set[socket.socket] = set()
        self._moment: Outgoing | None = None
        # Two threads send to the same client.
        self._speaking = threading.Lock()

    def __enter__(self) -> Self:
        self._port = listening(self._address)
        self._port.settimeout(TICK)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._meet, name="knuckle sender", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._port.close()
        for client in list(self._clients):
            self._let_go(client)

    @property
    def waits(self) -> bool:
        """See Sender."""
        return not self._clients

    def send(self, moment: Outgoing) -> None:
        """See Sender."""
        first, self._moment = self._moment is None, moment
        frame = self.frame(moment)
        for client in list(self._streaming):
            # The parameters can be requested from the first frame on.
            self._say(client, message(EVENT, bytes([_STARTED])) + frame if first else frame)

    def _meet(self) -> None:
        while not self._stop.is_set():
            with suppress(OSError):
                client, _ = self._port.accept()
                client.settimeout(TICK)
                self._clients.add(client)
                threading.Thread(target=self._serve, args=(client,), name="knuckle sender", daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        self._say(client, command(GREETING))
        try:
            for packet in _messages(client, "a client"):
                if self._stop.is_set():
                    break
                if packet is not None and HEADER.unpack_from(packet)[1] == COMMAND:
                    words = packet[HEADER.size :].rstrip(b"\0").decode("ascii", "replace")
                    self._say(client, self._answer(client, words.lower().split()))
        except StreamError:
            # The client disconnected.
            pass
        self._let_go(client)

    def _answer(self, client: socket.socket, words: list[str]) -> bytes:
        moment = self._moment
        answer = _ANSWERS.get(" ".join(words), message(ERROR, b"Command not supported.\0"))
        match words:
            case ["version", wanted]:
                known = wanted in VERSIONS
                answer = command(b"Version set to " + wanted.encode()) if known else message(ERROR, b"Not supported\0")
            case ["getstate"]:
                answer = message(EVENT, bytes([_STARTED if moment else _CONNECTED]))
            case ["getparameters", *_]:
                told = moment and self.parameters(moment)
                answer = message(XML, told + b"\0") if told else message(ERROR, b"Parameters not available\0")
            case ["getcurrentframe", *_]:
                answer = self.frame(moment) if moment else message(NO_FRAMES)
            case ["streamframes", "stop"]:
                self._streaming.discard(client)
                answer = b""
            case ["streamframes", *_]:
                self._streaming.add(client)
                answer = b"" if moment else message(NO_FRAMES)
        return answer

    def _say(self, client: socket.socket, what: bytes) -> None:
        try:
            with self._speaking:
                client.sendall(what)
        except OSError:
            # The client is gone or does not read; after an incomplete packet nothing more can be sent.
            self._let_go(client)

    def _let_go(self, client: socket.socket) -> None:
        self._streaming.discard(client)
        self._clients.discard(client)
        client.close()

    @abstractmethod
    def parameters(self, moment: Outgoing) -> bytes:
        """The XML that describes the markers and skeletons of the frames."""

    @abstractmethod
    def frame(self, moment: Outgoing) -> bytes:
        """The packet of one frame."""


_ANSWERS = {
    "version": command(b"Version is " + VERSIONS[0].encode()),
    "qtmversion": command(b"QTM Version is 2024.1 (Knuckle)"),
    "byteorder": command(b"Byte order is little endian"),
}
_CONNECTED, _STARTED = 1, 8
"""Events: connected, and real-time from a file started."""
