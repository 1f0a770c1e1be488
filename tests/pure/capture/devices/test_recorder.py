"""A take whose disk is full, and one whose process is killed: what came before the last second is kept."""

import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

from knuckle import capture
from knuckle.capture.devices.device_table import DEVICES
from knuckle.capture.devices.raw_take import Packet, RawTakeHeader, packet_bytes, read_header, read_packets
from knuckle.capture.devices.raw_take_recorder import WRITE_INTERVAL_S, Recorder
from knuckle.capture.devices.stream_stats import RESTART_RUN
from knuckle.capture.network.transport import Address
from knuckle.capture.protocols.vmc import VmcSender
from knuckle.errors import StreamError

from .moments import moments
from .sockets import listening, wait_for

ROOT = Path(__file__).parents[4]
COMMAND = f"""
import sys
from importlib.util import module_from_spec, spec_from_file_location
spec = spec_from_file_location("knuckle", {str(ROOT / "__init__.py")!r}, submodule_search_locations=[{str(ROOT)!r}])
sys.modules["knuckle"] = module_from_spec(spec)
from knuckle.cli.main import main
sys.exit(main())
"""


@contextmanager
def room_for(bytes_received: int) -> Iterator[None]:
    """No file of this process may be longer, as if the disk were full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_received, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_is_reported_and_what_came_before_is_kept(address: Address, tmp_path: Path) -> None:
    """Every byte for which there was room, and none behind them when there is room again."""
    path, room, sent = tmp_path / "full.rawtake", 200_000, moments(200)
    with listening("quest", address) as receiver, DEVICES["quest"].sender(address) as sender:
        receiver.record(path)
        with room_for(room):
            for moment in sent:
                sender.send(moment)
                time.sleep(0.004)
            wait_for(lambda: receiver.recording is not None and receiver.recording.problem)
        for moment in moments(230)[200:]:
            sender.send(moment)
        wait_for(lambda: receiver.stats.packets == 920)
        time.sleep(2 * WRITE_INTERVAL_S)
        recorder = receiver.end_recording()
    assert recorder is not None and "nothing could be written after" in recorder.problem
    assert "File too large" in recorder.problem and "the take up to then is kept" in recorder.problem
    assert path.stat().st_size == room
    data = path.read_bytes()
    packets = list(read_packets(BytesIO(data), read_header(BytesIO(data), "full")[1]))
    assert len(data) - packets[-1].end < 1500, "no more is lost than a packet that is not whole"
    take = capture.read(path)
    numbers = np.round(take.times * 60).astype(int)
    assert numbers.tolist() == list(range(numbers[0], numbers[0] + len(numbers))) and len(numbers) > 40
    assert any("incomplete packet" in warning for warning in take.warnings)


def test_a_disk_that_is_full_from_the_beginning_leaves_no_file(tmp_path: Path) -> None:
    path = tmp_path / "none.rawtake"
    with room_for(10), pytest.raises(StreamError, match=r"the take cannot be written \(File too large\)"):
        Recorder(path, RawTakeHeader("quest"))
    assert not path.exists()


def test_a_disk_that_does_not_keep_up_ends_the_take_and_keeps_what_waits(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("knuckle.capture.devices.raw_take_recorder.MAX_QUEUED_BYTES", 10_000)
    recorder = Recorder(tmp_path / "slow.rawtake", RawTakeHeader("quest"))
    reported = [Packet(number / 100, bytes(1000)) for number in range(20)]
    for packet in reported:
        recorder.add(packet)
    recorder.close()
    assert recorder.problem == "slow.rawtake: the disk is too slow, the take ended after 0.1 s"
    assert recorder.packets == 11 and recorder.path.read_bytes().endswith(b"".join(map(packet_bytes, reported[:11])))


def test_who_cannot_wait_for_a_slow_disk_need_not_and_all_is_written(tmp_path: Path, monkeypatch) -> None:
    recorder, go_on, written = (
        Recorder(tmp_path / "a.rawtake", RawTakeHeader("vmc", "", "")),
        threading.Event(),
        os.fsync,
    )

    def slow(file: int) -> None:
        go_on.wait(20)
        written(file)

    monkeypatch.setattr(os, "fsync", slow)
    for number in range(3):
        recorder.add(Packet(float(number), b"packet"))
    recorder.close(0.01)
    assert recorder._thread.is_alive()
    go_on.set()
    recorder.close()
    assert recorder.packets == 3 and not recorder._thread.is_alive()


def test_a_process_that_is_killed_loses_a_second_at_most(address: Address, tmp_path: Path) -> None:
    """The shell command records, is sent 120 frames a second, and ends without a chance to write anything more."""
    path, rate, sent = tmp_path / "killed.rawtake", 120.0, moments(360, rate=120.0)
    listen = [sys.executable, "-c", COMMAND, "listen", "quest", "--port", str(address.port), "--record", str(path)]
    with subprocess.Popen(listen, stdout=subprocess.DEVNULL, cwd=ROOT.parent) as process:
        try:
            wait_for(path.exists)
            with DEVICES["quest"].sender(address) as sender:
                started = time.monotonic()
                for number, moment in enumerate(sent):
                    time.sleep(max(started + number / rate - time.monotonic(), 0.0))
                    sender.send(moment)
        finally:
            os.kill(process.pid, signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    times = capture.read(path).times
    assert times[-1] >= sent[-1].time - 1.0
    assert np.allclose(np.diff(times), 1 / rate, atol=1e-6)


def test_a_take_in_which_the_sender_begins_anew_has_all_its_frames_on_one_clock(tmp_path: Path) -> None:
    path, sender = tmp_path / "twice.rawtake", VmcSender(Address())
    recorder = Recorder(path, RawTakeHeader("vmc", "twice", "2026-01-01T00:00:00+00:00"))
    for number, moment in enumerate([*moments(100), *moments(200)]):
        for packet in sender.packets(moment):
            recorder.add(Packet(number / 60, packet))
    recorder.close()
    markers = capture.read(path)
    # The first few after it began anew are taken for late ones.
    assert 300 - RESTART_RUN <= len(markers.times) <= 300
    assert np.all(np.diff(markers.times) > 0)
    assert markers.times[-1] - markers.times[0] == pytest.approx(299 / 60, abs=0.05)
