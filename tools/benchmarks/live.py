"""How long live solving takes from packet to evaluated pose: two hands, sent by another process over a real socket.

    python tools/benchmarks/live.py [--seconds 60] [--rate 120] [--device xsens] [--looks 'at once'] [--write]

Times are counted from when the sender was to send, by the clock that both processes share: what the system, the
reader's thread and Python's lock take is in them. Blender without a window has no event loop: it looks as often as who
runs it wants to. With one it sleeps in between. `chrt -f 20` has it run before all else on a machine that is not quiet.
"""

import argparse
import importlib.util
import os
import resource
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RIGS = ROOT.parent / "shared" / "data" / "rigs"
IDLE = {"at once": 0.0005, "as with a window": 0.005}
"""s between two looks; with a window Blender's event loop sleeps so long when there is nothing to do."""
READY = 0.002
"""s between two looks until both hands are there."""
WARM = 2.0
"""s that are not counted: hands are measured, and memory comes to what it stays at."""
CYCLE = 240
"""Moments after which the sender's hands are where they began."""


@dataclass(frozen=True, slots=True)
class Result:
    """What one run came to."""

    rig: str
    looks: str
    """A key of IDLE."""
    latencies: list[float]
    """s from when the shown packet was to be sent to the evaluated pose, of each look at which a frame was shown."""
    busy: list[float]
    """s of the main thread's own time, of the same."""
    frames: int
    lost: int
    """Frames that the sender counted and that never came, came late or were not understood."""
    overrun: int
    """Frames that came and were not taken in time."""
    memory: tuple[float, float]
    """MB resident after WARM and at the end."""


def load() -> None:
    """The checkout as the package `knuckle`."""
    spec = importlib.util.spec_from_file_location(
        "knuckle", ROOT / "__init__.py", submodule_search_locations=[str(ROOT)]
    )
    assert spec and spec.loader
    sys.modules["knuckle"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules["knuckle"])


def send(device: str, port: int, rate: float) -> None:
    """The other process: hands that wander, close and open again, until it is ended."""
    from knuckle.capture.devices.device_table import DEVICES
    from knuckle.capture.network.transport import Address
    from knuckle.tests.pure.capture.devices.moments import moments

    closing = moments(CYCLE // 2, rate)
    cycle = [*closing, *closing[::-1]]
    with DEVICES[device].sender(Address("127.0.0.1", port)) as sender:
        began, number = time.perf_counter(), 0
        print(began, flush=True)
        while True:
            time.sleep(max(0.0, began + number / rate - time.perf_counter()))
            one = cycle[number % CYCLE]
            sender.send(type(one)(number, number / rate, one.names, one.markers, one.hands))
            number += 1


@contextmanager
def sending(device: str, port: int, rate: float) -> Iterator[float]:
    """The other process, while it runs: when it began, s on the clock of time.perf_counter."""
    command = [sys.executable, __file__, "--send", "--device", device, "--port", str(port), "--rate", str(rate)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield float(process.stdout.readline())
    finally:
        process.terminate()
        process.wait()


def resident() -> float:
    """MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def follow(rig: str, looks: str, options: argparse.Namespace) -> Result:
    """One run in this Blender."""
    import bpy

    from knuckle.operators.live import setup_of
    from knuckle.operators.live_loop import LiveRun

    scene: Any = bpy.context.scene
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        port = int(sock.getsockname()[1])
    scene.knuckle_live.device = options.device
    scene.knuckle_live.port = port
    run = LiveRun(setup_of(bpy.context), scene)
    tally, latencies, busy, newest = run.receiver.stats, [], [], 0
    drain = run.receiver.drain

    def noted(most: int) -> Any:
        nonlocal newest
        came = drain(most)
        newest = came[-1].frame.number if came else newest
        return came

    run.receiver.drain = noted

    def so_far() -> tuple[int, int, int, float]:
        return tally.frames, tally.lost + tally.late + tally.malformed, tally.overrun, resident()

    try:
        with sending(options.device, port, options.rate) as began:
            while len(run.displayed_hands) < 2:
                run.step()
                time.sleep(READY)
            _for(WARM, run.step, IDLE[looks])
            tally.latencies.clear()
            before = so_far()

            def look() -> None:
                own = time.thread_time()
                run.step()
                if tally.latencies:
                    tally.latencies.clear()
                    busy.append(time.thread_time() - own)
                    latencies.append(time.perf_counter() - began - newest / options.rate)

            _for(options.seconds, look, IDLE[looks])
            after = so_far()
    finally:
        run.stop(put_back=False)
    frames, lost, overrun, _ = (b - a for a, b in zip(before, after, strict=True))
    return Result(rig, looks, latencies, busy, int(frames), int(lost), int(overrun), (before[3], after[3]))


def _for(seconds: float, look: Any, idle: float) -> None:
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        look()
        time.sleep(idle)


def runs(options: argparse.Namespace) -> Iterator[Result]:
    """On the default hand, and on MakeHuman's rig where it is beside the checkout."""
    import bpy

    rig = RIGS / "makehuman_default.blend"
    for looks in options.looks:
        bpy.ops.wm.read_factory_settings(use_empty=True)
        yield follow("new hands", looks, options)
        if rig.exists():
            bpy.ops.wm.open_mainfile(filepath=str(rig))
            scene: Any = bpy.context.scene
            scene.knuckle.rig = "ARMATURE"
            scene.knuckle.armature = next(obj for obj in scene.objects if obj.type == "ARMATURE")
            yield follow("MakeHuman", looks, options)


def row(result: Result) -> list[str]:
    """A run's figures."""

    def both(values: list[float]) -> str:
        ordered = sorted(values)
        return f"{1e3 * statistics.median(ordered):.1f} / {1e3 * ordered[int(0.99 * (len(ordered) - 1))]:.1f}"

    return [
        result.rig,
        result.looks,
        str(result.frames),
        both(result.latencies),
        both(result.busy),
        str(result.lost),
        str(result.overrun),
        f"{result.memory[0]:.0f} / {result.memory[1]:.0f}",
    ]


HEAD = [
    "drives",
    "looks",
    "frames",
    "ms packet to pose, median / p99",
    "ms of CPU a look, median / p99",
    "lost on the way",
    "not taken in time",
    "MB at begin / end",
]


def main() -> None:
    """Runs, prints, and with --write fills docs/explanation/live.md."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--rate", type=float, default=120.0)
    parser.add_argument("--device", default="xsens")
    parser.add_argument("--looks", choices=tuple(IDLE), nargs="+", default=list(IDLE))
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--send", action="store_true")
    parser.add_argument("--port", type=int)
    options = parser.parse_args()
    load()
    if options.send:
        send(options.device, options.port, options.rate)
        return
    from standard_page import fill, table
    from standard_runs import machine

    import knuckle

    knuckle.register()
    try:
        results = list(runs(options))
    finally:
        knuckle.unregister()
    said = (
        f"Two hands, {options.rate:g} frames a second as {options.device} for {options.seconds:g} s, on {machine()}; "
        f"load {Path('/proc/loadavg').read_text().split()[1]} on {os.cpu_count()} cores"
        f"{', before all else' if os.sched_getscheduler(0) == os.SCHED_FIFO else ''}."
    )
    text = table(HEAD, map(row, results)) + f"\n\n{said}"
    print(text)
    if options.write:
        fill(ROOT / "docs" / "explanation" / "live.md", {"latency": text})


if __name__ == "__main__":
    main()
