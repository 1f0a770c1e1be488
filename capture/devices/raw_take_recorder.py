"""Packets to a raw take's file, by a thread of its own: neither the reader nor Blender waits for the disk."""

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
"""s between two writes to the disk: a crash loses no more."""
MOST_WAITING = 256 * 2**20
"""Bytes that wait for a disk that does not answer, before the take is ended."""


class Recorder:
    """One raw take that is being written. Raises StreamError if its file cannot be made, or is there already."""

    def __init__(self, path: Path, head: RawTakeHeader) -> None:
        self.path = path
        self.problem = ""
        """Why the take ended early, a sentence; empty while all is well."""
        self.packets = 0
        self._waiting: deque[Packet] = deque()
        # Bytes, each counted by one thread alone.
        self._added = self._taken = 0
        self._stop = threading.Event()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # Without a buffer of its own, so that what could not be written is not tried again later.
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
        """Takes a packet; called by the reader's thread."""
        if self.problem:
            return
        if self._added - self._taken > MOST_WAITING:
            self.problem = f"{self.path.name}: the disk does not keep up, the take ended after {packet.time:.1f} s"
            return
        self._added += len(packet.content)
        self._waiting.append(packet)

    def close(self, longest: float | None = None) -> None:
        """Writes what waits and closes the file; waits for that no longer than `longest` s, where it is given."""
        self._stop.set()
        self._thread.join(longest)

    def _run(self) -> None:
        with self._file:
            ended = False
            while not ended:
                ended = self._stop.wait(EVERY) or bool(self.problem)
                ended = not self._write() or ended

    def _write(self) -> bool:
        """What waits; whether more may follow: behind a packet that was not written whole nothing would be read."""
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
    """All of it, or as much as there is room for. Raises OSError."""
    while data:
        data = data[file.write(data) or 0 :]


def _refused(path: Path, error: OSError) -> StreamError:
    return StreamError(f"{path}: the take cannot be written ({error.strerror})")


def free_path(folder: Path, name: str, suffix: str) -> Path:
    """A path in a folder that is not taken: 'Take 001', 'Take 002' … for a name 'Take'.

    What a name of a file may not hold, on any system, is an underscore.
    """
    name, number = re.sub(r'[<>:"/\\|?*\x00-\x1f]', "_", name).strip(" .") or "Take", 1
    while (path := folder / f"{name} {number:03d}{suffix}").exists():
        number += 1
    return path


def now() -> str:
    """This moment as a take's head has it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
