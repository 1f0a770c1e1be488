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
from .sender import OutgoingFrame
from .tcp import connect, listen
from .transport import MAX_PACKET_SIZE, TICK, Address, Incoming, Packets

ERROR, COMMAND, XML, FRAME, NO_FRAMES, EVENT = 0, 1, 2, 3, 4, 6
KINDS = 10
HEADER = struct.Struct("<II")
MAX_SIZE = 1 << 22
"""Maximum bytes of a packet; the parameters of some skeletons have half a million."""
GREETING = b"QTM RT Interface connected"
VERSIONS = ("1.25", "1.24", "1.23", "1.22", "1.21", "1.20", "1.19")
"""Protocol versions in order of preference; there are no skeletons before 1.19."""
PARAMETERS = (b"GetParameters 3D", b"GetParameters Skeleton:global")
"""Requested separately, because the request for skeletons fails if there are none."""
STREAM = b"StreamFrames AllFrames 3D 3DNoLabels Skeleton:global Timecode"
ANSWER_TIMEOUT_S = 4.0
"""Maximum wait for an answer in s."""
PARAMETERS_INTERVAL_S = 5.0
"""s between requests for the parameters, which may change. The answers also show that QTM still runs."""
SILENCE_TIMEOUT_S = 12.0
"""s without a packet after which the connection counts as lost."""


def message(kind: int, content: bytes = b"") -> bytes:
    """Return a QTM packet."""
    return HEADER.pack(HEADER.size + len(content), kind) + content


def command(text: bytes) -> bytes:
    """Return a packet with a command or an answer."""
    return message(COMMAND, text + b"\0")


def _messages(sock: socket.socket, peer: str) -> Iterator[bytes | None]:
    """Yield the packets of a connection, None after a TICK without one.

    Raises StreamError if it ends or is not QTM's.
    """
    buffer = bytearray()
    while True:
        try:
            data = sock.recv(MAX_PACKET_SIZE)
        except TimeoutError:
            yield None
            continue
        except OSError:
            data = b""
        if not data:
            raise StreamError(f"{peer} closed the connection")
        buffer += data
        # The reader must not be blocked by a packet that arrives in small pieces.
        yield None
        while len(buffer) >= HEADER.size:
            size, kind = HEADER.unpack_from(buffer)
            if not HEADER.size <= size <= MAX_SIZE or kind >= KINDS:
                raise StreamError(f"what answers at {peer} is not QTM: is it the port of QTM's real-time output?")
            if len(buffer) < size:
                break
            packet = bytes(buffer[:size])
            del buffer[:size]
            yield packet


@dataclass(frozen=True, slots=True)
class QtmClient:
    """A Transport from QTM. It yields all packets except greetings, answers and errors."""

    address: Address

    def packets(self) -> Packets:
        """See Transport."""
        with connect(self.address) as sock:
            yield from _QtmSession(sock, f"QTM at TCP {self.address}").packets()

    def status(self) -> str:
        """See Transport."""
        return f"asking QTM at TCP {self.address}"


class _QtmSession:
    """A session with QTM."""

    def __init__(self, sock: socket.socket, peer: str) -> None:
        self._socket, self._peer = sock, peer
        self._messages = _messages(sock, peer)

    def packets(self) -> Packets:
        greeting = yield from self._answer()
        if not greeting.startswith(GREETING):
            raise StreamError(f"{self._peer} does not send QTM's greeting: is it the right port?")
        yield from self._set_version()
        self._request_parameters()
        self._send(STREAM)
        last_request = last_received = time.monotonic()
        is_streaming, error_text = False, ""
        for packet in self._messages:
            now, kind = time.monotonic(), -1 if packet is None else HEADER.unpack_from(packet)[1]
            last_received = last_received if packet is None else now
            is_streaming = is_streaming or kind in (FRAME, NO_FRAMES)
            if packet is not None and kind == ERROR:
                error_text = _error_text(packet)
            yield Incoming(packet) if packet is not None and kind in (XML, FRAME, NO_FRAMES, EVENT) else None
            # Skeletons may be calibrated and markers named while QTM runs.
            if kind == EVENT or now - last_request > PARAMETERS_INTERVAL_S:
                self._request_parameters()
                last_request = now
            if now - last_received > SILENCE_TIMEOUT_S:
                raise StreamError(f"{self._peer} has sent nothing for {SILENCE_TIMEOUT_S:.0f} s")
            if error_text and not is_streaming and now - last_request > ANSWER_TIMEOUT_S:
                raise StreamError(f"{self._peer} sends no frames: {error_text}")

    def _set_version(self) -> Packets:
        """Set the protocol's version to the newest that QTM supports."""
        for version in VERSIONS:
            self._send(f"Version {version}".encode())
            answer = yield from self._answer()
            if answer.startswith(b"Version set to"):
                return
        raise StreamError(
            f"{self._peer} is too old, expected a QTM that supports version {VERSIONS[-1]} of its protocol"
        )

    def _answer(self) -> Generator[None, None, bytes]:
        """Return the answer to a command, or the text of its error. Raises StreamError if none arrives."""
        end = time.monotonic() + ANSWER_TIMEOUT_S
        for packet in self._messages:
            if packet is not None and HEADER.unpack_from(packet)[1] in (COMMAND, ERROR):
                return packet[HEADER.size :]
            if time.monotonic() > end:
                break
            yield None
        raise StreamError(f"{self._peer} does not answer")

    def _request_parameters(self) -> None:
        for request in PARAMETERS:
            self._send(request)

    def _send(self, text: bytes) -> None:
        try:
            self._socket.sendall(command(text))
        except OSError:
            raise StreamError(f"{self._peer} closed the connection") from None


def _error_text(packet: bytes) -> str:
    """Return the text of an error packet."""
    words = packet[HEADER.size :].rstrip(b"\0").decode("ascii", "replace")[:200]
    return "".join(letter if letter.isprintable() else "?" for letter in words)


class QtmServer(ABC):
    """A Sender that imitates QTM: it answers clients, and sends frames to those that requested them."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._clients: set[socket.socket] = set()
        self._streaming: set[socket.socket] = set()
        self._last_outgoing: OutgoingFrame | None = None
        # Held while sending, since two threads may send to the same client.
        self._send_lock = threading.Lock()

    def __enter__(self) -> Self:
        self._listener = listen(self._address)
        self._listener.settimeout(TICK)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._accept, name="knuckle sender", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._listener.close()
        for client in list(self._clients):
            self._disconnect(client)

    @property
    def has_no_client(self) -> bool:
        """See Sender."""
        return not self._clients

    def send(self, outgoing: OutgoingFrame) -> None:
        """See Sender."""
        is_first, self._last_outgoing = self._last_outgoing is None, outgoing
        frame = self.frame(outgoing)
        for client in list(self._streaming):
            # The parameters can be requested from the first frame on.
            self._send(client, message(EVENT, bytes([_STARTED])) + frame if is_first else frame)

    def _accept(self) -> None:
        while not self._stop.is_set():
            with suppress(OSError):
                client, _ = self._listener.accept()
                client.settimeout(TICK)
                self._clients.add(client)
                threading.Thread(target=self._serve, args=(client,), name="knuckle sender", daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        self._send(client, command(GREETING))
        try:
            for packet in _messages(client, "a client"):
                if self._stop.is_set():
                    break
                if packet is not None and HEADER.unpack_from(packet)[1] == COMMAND:
                    words = packet[HEADER.size :].rstrip(b"\0").decode("ascii", "replace")
                    self._send(client, self._answer(client, words.lower().split()))
        except StreamError:
            # The client disconnected.
            pass
        self._disconnect(client)

    def _answer(self, client: socket.socket, words: list[str]) -> bytes:
        outgoing = self._last_outgoing
        answer = _ANSWERS.get(" ".join(words), message(ERROR, b"Command not supported.\0"))
        match words:
            case ["version", version]:
                answer = message(ERROR, b"Not supported\0")
                if version in VERSIONS:
                    answer = command(b"Version set to " + version.encode())
            case ["getstate"]:
                answer = message(EVENT, bytes([_STARTED if outgoing else _CONNECTED]))
            case ["getparameters", *_]:
                xml = outgoing and self.parameters(outgoing)
                answer = message(XML, xml + b"\0") if xml else message(ERROR, b"Parameters not available\0")
            case ["getcurrentframe", *_]:
                answer = self.frame(outgoing) if outgoing else message(NO_FRAMES)
            case ["streamframes", "stop"]:
                self._streaming.discard(client)
                answer = b""
            case ["streamframes", *_]:
                self._streaming.add(client)
                answer = b"" if outgoing else message(NO_FRAMES)
        return answer

    def _send(self, client: socket.socket, packet: bytes) -> None:
        try:
            with self._send_lock:
                client.sendall(packet)
        except OSError:
            # The client is gone or does not read; after an incomplete packet nothing more can be sent.
            self._disconnect(client)

    def _disconnect(self, client: socket.socket) -> None:
        self._streaming.discard(client)
        self._clients.discard(client)
        client.close()

    @abstractmethod
    def parameters(self, outgoing: OutgoingFrame) -> bytes:
        """Return the XML that describes the markers and skeletons of the frames."""

    @abstractmethod
    def frame(self, outgoing: OutgoingFrame) -> bytes:
        """Return the packet of one frame."""


_ANSWERS = {
    "version": command(b"Version is " + VERSIONS[0].encode()),
    "qtmversion": command(b"QTM Version is 2024.1 (Knuckle)"),
    "byteorder": command(b"Byte order is little endian"),
}
_CONNECTED, _STARTED = 1, 8
"""Events: connected, and started real-time output from a file."""
