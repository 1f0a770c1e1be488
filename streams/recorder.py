"""Packets to a raw take's file, by a thread of its own: neither the reader nor Blender waits for the disk."""

import os
import threading
import time
from collections import deque
from pathlib import Path
from typing import BinaryIO

from ..errors import StreamError
from .raw_take import Head, Packet, head_bytes, packet_bytes

EVERY = 0.25
"""s between two writes to the disk: a crash loses no more."""
MOST_WAITING = 256 * 2**20
"""Bytes that wait for a disk that does not answer, before the take is ended."""


class Recorder:
    """One raw take that is being written. Raises StreamError if its file cannot be made, or is there already."""

    def __init__(self, path: Path, head: Head) -> None:
        self.path = path
        self.problem = ""
        """Why the take ended early, a sentence; empty while all is well."""
        self.packets = 0
        self._waiting: deque[Packet] = deque()
        self._octets = 0
        self._stop = threading.Event()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file: BinaryIO = path.open("xb")
            self._file.write(head_bytes(head))
            self._file.flush()
        except OSError as error:
            raise StreamError(f"{path}: the take cannot be written ({error.strerror})") from None
        self._thread = threading.Thread(target=self._run, name="knuckle recorder", daemon=True)
        self._thread.start()

    def add(self, packet: Packet) -> None:
        """Takes a packet; called by the reader's thread."""
        if self.problem:
            return
        if self._octets > MOST_WAITING:
            self.problem = f"{self.path.name}: the disk does not keep up, the take ended after {packet.time:.1f} s"
            return
        self._octets += len(packet.content)
        self._waiting.append(packet)

    def close(self) -> None:
        """Writes what waits and closes the file."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        with self._file:
            while not self._stop.wait(EVERY):
                self._write()
            self._write()

    def _write(self) -> None:
        waiting = [self._waiting.popleft() for _ in range(len(self._waiting))]
        if not waiting:
            return
        self._octets -= sum(len(packet.content) for packet in waiting)
        try:
            self._file.write(b"".join(map(packet_bytes, waiting)))
            self._file.flush()
            os.fsync(self._file.fileno())
            self.packets += len(waiting)
        except OSError as error:
            self.problem = (
                f"{self.path.name}: nothing could be written after {waiting[0].time:.1f} s ({error.strerror}); "
                "what came before is kept"
            )


def free_path(folder: Path, name: str, suffix: str) -> Path:
    """A path in a folder that is not taken: 'Take 001', 'Take 002' … for a name 'Take'."""
    number = 1
    while (path := folder / f"{name} {number:03d}{suffix}").exists():
        number += 1
    return path


def now() -> str:
    """This moment as a take's head has it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
