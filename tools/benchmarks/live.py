"""Measure the latency of live solving, from packet to evaluated pose, with two hands sent by another process.

    python tools/benchmarks/live.py [--seconds 60] [--rate 120] [--device xsens] [--polling 'at once'] [--write]

Latency is counted from the time at which a packet was due to be sent, on a clock that both processes share, and
includes the operating system, the receiver's thread and Python's interpreter lock. Blender without a window has no
event loop, so this script polls instead, either at once or with the pauses of Blender's event loop. On a busy machine,
run it with real-time priority: `chrt -f 20`.
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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RIGS = ROOT.parent / "shared" / "data" / "rigs"
POLLING_SECONDS = {"at once": 0.0005, "as with a window": 0.005}
"""Pause between two polls; the second is how long Blender's event loop sleeps if there is nothing to do."""
START_POLLING_SECONDS = 0.002
"""Pause between two polls until both hands are displayed."""
WARM_UP_SECONDS = 2.0
"""Time that is not measured, in which hands are measured and memory reaches its final size."""
CYCLE_FRAMES = 240
"""Frames after which the sent motion repeats."""


@dataclass(frozen=True, slots=True)
class Result:
    """Measurements of one run."""

    rig: str
    polling: str
    """A key of POLLING_SECONDS."""
    latencies: list[float]
    """s from the time at which a packet was due to its evaluated pose, of each poll that displayed a frame."""
    cpu_seconds: list[float]
    """CPU time of the main thread in the same polls."""
    frames: int
    lost: int
    """Frames that were sent, but did not arrive, arrived late or were malformed."""
    overrun: int
    """Frames that arrived, but were dropped because they were not read in time."""
    memory: tuple[float, float]
    """MB resident after the warm-up and at the end."""


def load() -> None:
    """Import this checkout as the package `knuckle`."""
    spec = importlib.util.spec_from_file_location(
        "knuckle", ROOT / "__init__.py", submodule_search_locations=[str(ROOT)]
    )
    assert spec and spec.loader
    sys.modules["knuckle"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules["knuckle"])


def send(device: str, port: int, rate: float) -> None:
    """Send hands that move about, close and open, until the process is terminated."""
    from knuckle.capture.devices.device_table import DEVICES
    from knuckle.capture.network.transport import Address
    from knuckle.tests.pure.capture.devices.moments import moments

    closing = moments(CYCLE_FRAMES // 2, rate)
    cycle = [*closing, *closing[::-1]]
    with DEVICES[device].sender(Address("127.0.0.1", port)) as sender:
        start, number = time.perf_counter(), 0
        print(start, flush=True)
        while True:
            time.sleep(max(0.0, start + number / rate - time.perf_counter()))
            moment = cycle[number % CYCLE_FRAMES]
            sender.send(type(moment)(number, number / rate, moment.names, moment.markers, moment.hands))
            number += 1


@contextmanager
def sending(device: str, port: int, rate: float) -> Iterator[float]:
    """Run `send` in another process. Yields its start time in s of time.perf_counter."""
    command = [sys.executable, __file__, "--send", "--device", device, "--port", str(port), "--rate", str(rate)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield float(process.stdout.readline())
    finally:
        process.terminate()
        process.wait()


def resident_megabytes() -> float:
    """Return the resident memory of this process in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def measure(rig: str, polling: str, options: argparse.Namespace) -> Result:
    """Measure live solving in this Blender while another process sends."""
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
    stats, latencies, cpu_seconds, newest = run.receiver.stats, [], [], 0
    drain = run.receiver.drain

    def drain_and_note_newest(max_frames: int) -> Any:
        nonlocal newest
        received = drain(max_frames)
        newest = received[-1].frame.number if received else newest
        return received

    run.receiver.drain = drain_and_note_newest

    def counters() -> tuple[int, int, int, float]:
        return stats.frames, stats.lost + stats.late + stats.malformed, stats.overrun, resident_megabytes()

    try:
        with sending(options.device, port, options.rate) as start:
            while len(run.displayed_hands) < 2:
                run.step()
                time.sleep(START_POLLING_SECONDS)
            _repeat(run.step, WARM_UP_SECONDS, POLLING_SECONDS[polling])
            stats.latencies.clear()
            before = counters()

            def poll() -> None:
                cpu_start = time.thread_time()
                run.step()
                if stats.latencies:
                    stats.latencies.clear()
                    cpu_seconds.append(time.thread_time() - cpu_start)
                    latencies.append(time.perf_counter() - start - newest / options.rate)

            _repeat(poll, options.seconds, POLLING_SECONDS[polling])
            after = counters()
    finally:
        run.stop(put_back=False)
    frames, lost, overrun, _ = (b - a for a, b in zip(before, after, strict=True))
    return Result(rig, polling, latencies, cpu_seconds, int(frames), int(lost), int(overrun), (before[3], after[3]))


def _repeat(poll: Callable[[], object], seconds: float, pause: float) -> None:
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        poll()
        time.sleep(pause)


def runs(options: argparse.Namespace) -> Iterator[Result]:
    """Measure with the default hand, and with MakeHuman's rig if it is beside the checkout."""
    import bpy

    rig = RIGS / "makehuman_default.blend"
    for polling in options.polling:
        bpy.ops.wm.read_factory_settings(use_empty=True)
        yield measure("new hands", polling, options)
        if rig.exists():
            bpy.ops.wm.open_mainfile(filepath=str(rig))
            scene: Any = bpy.context.scene
            scene.knuckle.rig = "ARMATURE"
            scene.knuckle.armature = next(obj for obj in scene.objects if obj.type == "ARMATURE")
            yield measure("MakeHuman", polling, options)


def row(result: Result) -> list[str]:
    """Return a run's row of the table."""

    def median_and_p99(values: list[float]) -> str:
        ordered = sorted(values)
        return f"{1e3 * statistics.median(ordered):.1f} / {1e3 * ordered[int(0.99 * (len(ordered) - 1))]:.1f}"

    return [
        result.rig,
        result.polling,
        str(result.frames),
        median_and_p99(result.latencies),
        median_and_p99(result.cpu_seconds),
        str(result.lost),
        str(result.overrun),
        f"{result.memory[0]:.0f} / {result.memory[1]:.0f}",
    ]


HEAD = [
    "drives",
    "polling",
    "frames",
    "latency, median / p99 ms",
    "CPU time per frame, median / p99 ms",
    "lost",
    "not read in time",
    "memory at start / end, MB",
]


def main() -> None:
    """Measure and print the table; with --write, also write it to docs/explanation/live.md."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--rate", type=float, default=120.0)
    parser.add_argument("--device", default="xsens")
    parser.add_argument("--polling", choices=tuple(POLLING_SECONDS), nargs="+", default=list(POLLING_SECONDS))
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
    conditions = (
        f"Two hands, {options.rate:g} frames per second as {options.device} for {options.seconds:g} s, on {machine()}; "
        f"load {Path('/proc/loadavg').read_text().split()[1]} on {os.cpu_count()} cores"
        f"{', with real-time priority' if os.sched_getscheduler(0) == os.SCHED_FIFO else ''}."
    )
    text = table(HEAD, map(row, results)) + f"\n\n{conditions}"
    print(text)
    if options.write:
        fill(ROOT / "docs" / "explanation" / "live.md", {"latency": text})


if __name__ == "__main__":
    main()
