"""Follows a device for hours of simulated time, with recordings and saving, and notes what the process holds.

    python tools/benchmarks/endurance.py --hours 8 --write

Packets come through a real socket, as fast as they are read; only time.perf_counter, by which Knuckle tells when they
arrive, is simulated. Two hands close and open at RATE; Blender polls POLLS_PER_SECOND times a second and draws every
panel once a second. A take is recorded for TAKE of each PERIOD, keyed, and deleted with its file; after every other
take the scene is saved, and following is stopped and started again. --write puts a row for each NOTE_INTERVAL into
docs/reference/reliability.md. The exit status is 1 if a packet is lost or the usage grows.
"""

import argparse
import gc
import itertools
import resource
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import astuple, dataclass, fields
from pathlib import Path

import bpy

import knuckle
from knuckle.capture.network.transport import Address
from knuckle.capture.protocols.xsens import HEADER, XsensSender
from knuckle.operators.live_device import _tick
from knuckle.operators.live_loop import LiveRun
from knuckle.operators.session import SESSION
from knuckle.tests.pure.capture.devices.moments import moments
from knuckle.tests.pure.capture.devices.sockets import free_address, wait_for
from knuckle.tools.panel_drawing import draw_panels

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "reference" / "reliability.md"
DEVICE, RATE, POLLS_PER_SECOND = "xsens", 120, 12
"""The simulated device, and numbers of frames and of polls per second."""
CYCLE = 240
"""Frames after which the motion repeats."""
PERIOD, TAKE, NOTE_INTERVAL = 1800, 120, 600
"""s of simulated time."""
LOSS_SECONDS = 2.0
"""s after which a frame counts as lost."""
WARM_UP_SECONDS = 3600
"""s after which memory should no longer grow."""
GROWTH_MB = 20.0
"""Maximum growth of memory after the warm-up, MB."""


class Clock:
    """A clock that runs only when it is advanced."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        """Return the time in s."""
        return self.now


@dataclass(frozen=True, slots=True)
class Usage:
    """Memory and handles of the process."""

    hours: float
    frames: int
    """Number of frames received so far."""
    lost: int
    memory_mb: float
    threads: int
    open_files: int
    handlers: int
    """Number of Blender's handlers, of every kind."""
    draw_callbacks: int
    data_blocks: int
    cpu_minutes: float
    """CPU time of the process since it started."""


class Endurance:
    """The device, the run that follows it, and what was counted."""

    def __init__(self, clock: Clock, folder: Path) -> None:
        self.clock, self.folder, self.address = clock, folder, free_address()
        closing, sender = moments(CYCLE // 2, RATE), XsensSender(Address("127.0.0.1", self.address.port))
        self._cycle = itertools.cycle([list(sender.packets(moment)) for moment in (*closing, *closing[::-1])])
        self._sent = self._frames = self._lost = 0
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

    @property
    def run(self) -> LiveRun:
        """The run that follows the device."""
        assert SESSION.live.run is not None
        return SESSION.live.run

    def start(self) -> None:
        """Follow the device."""
        settings = bpy.context.scene.knuckle_live
        settings.device, settings.port, settings.folder = DEVICE, self.address.port, str(self.folder)
        bpy.ops.knuckle.live_start()
        wait_for(lambda: self.run.receiver.is_open)

    def stop(self) -> None:
        """Stop following, and add up what was received."""
        stats = self.run.receiver.stats
        self._frames += stats.frames
        self._lost += stats.lost + stats.late + stats.malformed + stats.overrun
        bpy.ops.knuckle.live_stop()

    def poll(self, second: bool) -> None:
        """Let the device send until Blender's next poll, and let Blender poll. second: whether panels are drawn."""
        stats = self.run.receiver.stats
        expected = stats.frames + RATE // POLLS_PER_SECOND
        for packets in itertools.islice(self._cycle, RATE // POLLS_PER_SECOND):
            self.clock.now += 1 / RATE
            self._sent += 1
            for packet in packets:
                magic, _, part, count, _, *rest = HEADER.unpack_from(packet)
                head = HEADER.pack(magic, self._sent, part, count, 1000 * self._sent // RATE, *rest)
                self._socket.sendto(head + packet[HEADER.size :], (self.address.host, self.address.port))
        end = time.monotonic() + LOSS_SECONDS
        while stats.frames < expected and time.monotonic() < end:
            time.sleep(1e-4)
        _tick()
        if second:
            wrong = draw_panels()
            if wrong:
                raise SystemExit(wrong)

    def record(self) -> None:
        """Begin or end a take; one that has ended is deleted, so that only what is forgotten can grow."""
        bpy.ops.knuckle.live_record()
        if self.run.receiver.recording is None:
            for path in self.folder.glob("*.rawtake"):
                path.unlink()
            for armature in [obj for obj in bpy.data.objects if obj.type == "ARMATURE"]:
                armature.animation_data_clear()
            bpy.data.batch_remove(list(bpy.data.actions))
            bpy.context.scene.knuckle_live.takes.clear()

    def usage(self, seconds: int) -> Usage:
        """Return the current memory and handles of the process."""
        gc.collect()
        stats = self.run.receiver.stats
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        handlers = [getattr(bpy.app.handlers, name) for name in dir(bpy.app.handlers)]
        return Usage(
            round(seconds / 3600, 2),
            self._frames + stats.frames,
            self._lost + stats.lost + stats.late + stats.malformed + stats.overrun,
            round(pages * resource.getpagesize() / 1e6, 1),
            threading.active_count(),
            len(list(Path("/proc/self/fd").iterdir())),
            sum(len(handler_list) for handler_list in handlers if isinstance(handler_list, list)),
            sum(map(len, SESSION.draw_handlers.values())),
            sum(map(len, collections())),
            round(time.process_time() / 60, 1),
        )


def collections() -> list[bpy.types.bpy_prop_collection]:
    """Return all collections of data-blocks."""
    members = (getattr(bpy.data, prop.identifier) for prop in bpy.data.bl_rna.properties if prop.type == "COLLECTION")
    return list(members)


def follow(hours: float, folder: Path) -> Iterator[Usage]:
    """Follow the device for `hours`; yield the usage every NOTE_INTERVAL s."""
    clock = Clock()
    time.perf_counter = clock  # type: ignore[assignment]
    run = Endurance(clock, folder)
    run.start()
    for second in range(1, int(3600 * hours) + 1):
        for number in range(POLLS_PER_SECOND):
            run.poll(second=number == 0)
        if second % PERIOD in (PERIOD // 2, PERIOD // 2 + TAKE):
            run.record()
        if second % (2 * PERIOD) == PERIOD:
            bpy.ops.wm.save_as_mainfile(filepath=str(folder / "endured.blend"))
            run.stop()
            run.start()
        if second % NOTE_INTERVAL == 0:
            yield run.usage(second)
    run.stop()


def growth(rows: list[Usage]) -> str:
    """Return which figure grew, or how many frames were lost; empty if none."""
    settled = [row for row in rows if row.hours * 3600 >= WARM_UP_SECONDS] or rows
    first, last = settled[0], settled[-1]
    if last.lost:
        return f"{last.lost} frames were lost"
    if last.memory_mb - first.memory_mb > GROWTH_MB:
        return f"memory grew from {first.memory_mb} to {last.memory_mb} MB"
    for name in ("threads", "open_files", "handlers", "draw_callbacks", "data_blocks"):
        if getattr(last, name) > getattr(first, name):
            return f"{name} grew from {getattr(first, name)} to {getattr(last, name)}"
    return ""


def main() -> int:
    """See above."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hours", type=float, default=8.0)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    bpy.ops.wm.read_factory_settings(use_empty=True)
    knuckle.register()
    names, rows = [field.name.replace("_", " ") for field in fields(Usage)], []
    print("\t".join(names))
    try:
        with tempfile.TemporaryDirectory() as folder:
            for row in follow(arguments.hours, Path(folder)):
                rows.append(row)
                print("\t".join(map(str, astuple(row))), flush=True)
    finally:
        knuckle.unregister()
    if arguments.write:
        from standard_page import fill, table

        fill(PAGE, {"endurance": table(names, [map(str, astuple(row)) for row in rows])})
    fault = growth(rows)
    if fault:
        print(f"endurance: {fault}")
    return 1 if fault else 0


if __name__ == "__main__":
    sys.exit(main())
