"""Write raw takes in a separate thread: neither the receiver nor Blender waits for the disk."""

import os
import re
import threading
import time
from collections import deque
from io import FileIO
from pathlib import Path

from ...errors import StreamError
from .raw_take import Packet, RawTakeHeader, header_bytes, packet_bytes

WRITE_INTERVAL_S = 0.25
"""s between writes to the disk; at most this much is lost in a crash."""
MAX_QUEUED_BYTES = 256 * 2**20
"""Maximum bytes waiting to be written; beyond it the take ends because the disk is too slow."""

MAX_NAME_BYTES = 200
"""Maximum bytes of a take's name in its file's name, of the 255 that file systems allow."""


class Recorder:
    """Writes one raw take. Raises StreamError if the file exists or cannot be created."""

    def __init__(self, path: Path, header: RawTakeHeader) -> None:
        self.path = path
        self.problem = ""
        """Why the take ended early, as a sentence; empty if it did not."""
        self.packets = 0
        self._queue: deque[Packet] = deque()
        # Bytes queued and bytes written, each counted by one thread only.
        self._queued_bytes = self._dequeued_bytes = 0
        self._stop = threading.Event()
        try:
            # A path that is not UTF-8 could not be shown in a message, and formats.read refuses it.
            str(path).encode()
            path.parent.mkdir(parents=True, exist_ok=True)
            # Unbuffered: data that could not be written are not retried on close.
            self._file = path.open("xb", buffering=0)
        except (OSError, ValueError) as error:
            raise _write_error(path, error) from None
        try:
            _write_all(self._file, header_bytes(header))
        except OSError as error:
            self._file.close()
            path.unlink()
            raise _write_error(path, error) from None
        self._thread = threading.Thread(target=self._run, name="knuckle recorder", daemon=True)
        self._thread.start()

    def add(self, packet: Packet) -> None:
        """Queue a packet; called by the receiver's thread."""
        if self.problem:
            return
        if self._queued_bytes - self._dequeued_bytes > MAX_QUEUED_BYTES:
            self.problem = f"{self.path.name}: the disk is too slow, the take ended after {packet.time:.1f} s"
            return
        self._queued_bytes += len(packet.content)
        self._queue.append(packet)

    def close(self, timeout: float | None = None) -> None:
        """Write the queued packets and close the file. timeout: maximum wait in s; None waits until it is closed."""
        self._stop.set()
        self._thread.join(timeout)

    def _run(self) -> None:
        with self._file:
            ended = False
            while not ended:
                ended = self._stop.wait(WRITE_INTERVAL_S) or bool(self.problem)
                ended = not self._write() or ended

    def _write(self) -> bool:
        """Write the queued packets. Return whether it succeeded; packets after an incomplete one could not be read."""
        packets = [self._queue.popleft() for _ in range(len(self._queue))]
        if not packets:
            return True
        self._dequeued_bytes += sum(len(packet.content) for packet in packets)
        try:
            _write_all(self._file, b"".join(map(packet_bytes, packets)))
            os.fsync(self._file.fileno())
        except OSError as error:
            self.problem = (
                f"{self.path.name}: nothing could be written after {packets[0].time:.1f} s ({error.strerror}); "
                "the take up to then is kept"
            )
            return False
        self.packets += len(packets)
        return True


def _write_all(file: FileIO, data: bytes) -> None:
    """Write all data, or as much as the disk has room for. Raises OSError."""
    while data:
        data = data[file.write(data) or 0 :]


def _write_error(path: Path, error: OSError | ValueError) -> StreamError:
    return StreamError(f"{path}: the take cannot be written ({getattr(error, 'strerror', None) or error})")


def free_path(folder: Path, name: str, suffix: str) -> Path:
    """Return an unused path in a folder: 'Take 001', 'Take 002' … for the name 'Take'.

    Characters that a file's name may not contain on some system become underscores, and long names are truncated.
    Raises StreamError if the folder cannot be read.
    """
    short = name.encode("utf-8", "replace")[:MAX_NAME_BYTES].decode("utf-8", "ignore")
    name, number = re.sub(r'[<>:"/\\|?*\x00-\x1f]', "_", short).strip(" .") or "Take", 1
    try:
        while (path := folder / f"{name} {number:03d}{suffix}").exists():
            number += 1
    except (OSError, ValueError) as error:
        raise _write_error(folder, error) from None
    return path


def utc_now() -> str:
    """Return the current time as in a take's header, ISO 8601, UTC."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
