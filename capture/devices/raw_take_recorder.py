"""Writing raw takes in a separate thread, so that neither the receiver nor Blender waits for the disk."""

import os
import re
import threading
import time
from collections import deque
from io import FileIO
from pathlib import Path

from ...errors import StreamError
from .raw_take import Packet, RawTakeHeader, head_bytes, packet_bytes

EVERY = 0.25
"""s between writes to the disk: the most that a crash loses."""
MOST_WAITING = 256 * 2**20
"""Bytes waiting to be written at which a take is ended because the disk is too slow."""


class Recorder:
    """Writes one raw take. Raises StreamError if the file exists or cannot be created."""

    def __init__(self, path: Path, head: RawTakeHeader) -> None:
        self.path = path
        self.problem = ""
        """Why the take ended early, as a sentence; empty if it did not."""
        self.packets = 0
        self._waiting: deque[Packet] = deque()
        # Bytes queued and bytes written, each counted by one thread only.
        self._added = self._taken = 0
        self._stop = threading.Event()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # Unbuffered, so that data that could not be written are not retried on close.
            self._file = path.open("xb", buffering=0)
        except OSError as error:
            raise _refused(path, error) from None
        try:
            _write_all(self._file, head_bytes(head))
        except OSError as error:
            self._file.close()
            path.unlink()
            raise _refused(path, error) from None
        self._thread = threading.Thread(target=self._run, name="knuckle recorder", daemon=True)
        self._thread.start()

    def add(self, packet: Packet) -> None:
        """Queue a packet; called by the receiver's thread."""
        if self.problem:
            return
        if self._added - self._taken > MOST_WAITING:
            self.problem = f"{self.path.name}: the disk does not keep up, the take ended after {packet.time:.1f} s"
            return
        self._added += len(packet.content)
        self._waiting.append(packet)

    def close(self, longest: float | None = None) -> None:
        """Write the queued packets and close the file, waiting at most `longest` s for it if given."""
        self._stop.set()
        self._thread.join(longest)

    def _run(self) -> None:
        with self._file:
            ended = False
            while not ended:
                ended = self._stop.wait(EVERY) or bool(self.problem)
                ended = not self._write() or ended

    def _write(self) -> bool:
        """Write the queued packets. False after a failure: nothing after an incomplete packet could be read back."""
        waiting = [self._waiting.popleft() for _ in range(len(self._waiting))]
        if not waiting:
            return True
        self._taken += sum(len(packet.content) for packet in waiting)
        try:
            _write_all(self._file, b"".join(map(packet_bytes, waiting)))
            os.fsync(self._file.fileno())
        except OSError as error:
            self.problem = (
                f"{self.path.name}: nothing could be written after {waiting[0].time:.1f} s ({error.strerror}); "
                "what came before is kept"
            )
            return False
        self.packets += len(waiting)
        return True


def _write_all(file: FileIO, data: bytes) -> None:
    """Write all data, or as much as the disk has room for. Raises OSError."""
    while data:
        data = data[file.write(data) or 0 :]


def _refused(path: Path, error: OSError) -> StreamError:
    return StreamError(f"{path}: the take cannot be written ({error.strerror})")


def free_path(folder: Path, name: str, suffix: str) -> Path:
    """An unused path in a folder: 'Take 001', 'Take 002' … for the name 'Take'.

    Characters that a file's name may not contain on some system become underscores.
    """
    name, number = re.sub(r'[<>:"/\\|?*\x00-\x1f]', "_", name).strip(" .") or "Take", 1
    while (path := folder / f"{name} {number:03d}{suffix}").exists():
        number += 1
    return path


def now() -> str:
    """The current time as in a take's header, ISO 8601, UTC."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
