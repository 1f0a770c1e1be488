"""A device's reader: a thread that takes packets from a transport, parses them, and keeps the newest frames."""

import threading
import time
from collections import deque
from dataclasses import dataclass, replace
from pathlib import Path

from ...errors import PacketError, StreamError
from ..frame import Frame
from ..network.transport import Address
from .device import Device
from .device_clock import DeviceClock
from .raw_take import Packet, RawTakeHeader
from .raw_take_recorder import Recorder, now
from .stream_stats import StreamStats

MOST_WAITING = 64
"""Frames that wait to be taken; the newest win."""
MOST_RECORDED = 1200
"""The same while a take is recorded, which is to have them all."""
SILENT = 3.0
"""s without a packet after which it is said."""
AGAIN = (0.5, 1.0, 2.0, 5.0)
"""s before a lost connection is tried again, the last for all further ones."""
HANG_UP = 1.0
"""s for which the end of the thread is waited for: where a host is looked for it may take longer."""
PRE_ROLL_OCTETS = 32 * 2**20
"""The most bytes that are kept for a recording's pre-roll."""


@dataclass(frozen=True, slots=True, eq=False)
class TimedFrame:
    """A frame, and when its packet came, s on time.perf_counter's clock."""

    frame: Frame
    """Its time is a Clock's."""
    at: float


class Receiver:
    """One device that is listened to. `start` and `stop` may be called once each."""

    def __init__(self, device: str, kind: Device, address: Address, pre_roll: float = 0.0) -> None:
        """device: the kind's key in DEVICES; pre_roll: s of packets that a recording begins with."""
        self.tally = StreamStats()
        self._clock = DeviceClock()
        self._name, self._device, self._parser = device, kind, kind.parser()
        self._transport = kind.open(address)
        self._inbox: deque[TimedFrame] = deque(maxlen=MOST_WAITING)
        self._pre_roll, self._before, self._before_octets = pre_roll, deque[tuple[float, bytes]](), 0
        self._recorder: Recorder | None = None
        self._recorded_from = 0.0
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._trouble = ""
        self._tried = 0
        """How often a connection was sought since something came."""
        self._last_packet = self._began = time.perf_counter()
        self._thread = threading.Thread(target=self._run, name=f"knuckle {device}", daemon=True)

    def start(self) -> None:
        """Begins to listen."""
        self._began = self._last_packet = time.perf_counter()
        self._thread.start()

    def stop(self) -> None:
        """Hangs up, and ends a recording. A thread that is just trying to connect ends by itself, later."""
        self._stop.set()
        self._thread.join(HANG_UP)
        self.end_recording()

    def drain(self, most: int = MOST_RECORDED) -> list[TimedFrame]:
        """The frames that came since the last time, oldest first, `most` of them; the others wait on."""
        return [self._inbox.popleft() for _ in range(min(most, len(self._inbox)))]

    def record(self, path: Path, name: str = "") -> None:
        """Begins to write what comes to a raw take, with the last pre_roll s. Raises StreamError."""
        recorder = Recorder(path, RawTakeHeader(self._name, name, now()))
        with self._lock:
            self._forget(time.perf_counter())
            began = self._before[0][0] if self._before else time.perf_counter()
            for packet in self._parser.context():
                recorder.add(Packet(0.0, packet))
            for at, packet in self._before:
                recorder.add(Packet(at - began, packet))
            self._recorder, self._recorded_from = recorder, began
            self._inbox = deque(self._inbox, MOST_RECORDED)

    def end_recording(self, longest: float | None = None) -> Recorder | None:
        """Ends a recording and returns it, None where there was none; the disk is waited for as in Recorder.close."""
        with self._lock:
            recorder, self._recorder = self._recorder, None
            self._inbox = deque(self._inbox, MOST_WAITING)
        if recorder is not None:
            recorder.close(longest)
        return recorder

    @property
    def recording(self) -> Recorder | None:
        """What is being recorded."""
        return self._recorder

    @property
    def trouble(self) -> bool:
        """Whether there is no connection; `state` tells why."""
        return bool(self._trouble)

    def state(self) -> str:
        """How it stands, in words for the person."""
        if self._trouble:
            return self._trouble
        moment = time.perf_counter()
        silent, tally = moment - self._last_packet, self.tally
        if silent > SILENT:
            advice = ". Is the sender on, does it send to this address and port, and does a firewall let it through?"
            return f"{self._transport.said()}: nothing has come for {silent:.0f} s{'' if tally.frames else advice}"
        if tally.frames:
            return f"{tally.rate(moment):.0f} frames a second"
        if tally.malformed:
            return f"what comes is not {self._device.name}: {tally.problem}"
        if tally.packets:
            return f"{tally.packets} packets came and none had a hand in it: are hands switched on in the sender?"
        return self._transport.said()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self._listen()
            except StreamError as error:
                self._trouble = f"{error}; trying again"
                self._stop.wait(AGAIN[min(self._tried, len(AGAIN) - 1)])
                self._tried += 1
            except Exception:
                self._trouble = "nothing is read any more after a fault of Knuckle's, which the console tells"
                raise

    def _listen(self) -> None:
        """Reads until it is stopped."""
        packets = self._transport.packets()
        self.tally.anew()
        try:
            for packet in packets:
                self._trouble = ""
                if self._stop.is_set():
                    return
                if packet is not None:
                    self._tried = 0
                    self._take(packet, time.perf_counter())
                    # Counted once it can be had: who waits for the count finds its frames.
                    self.tally.packets += 1
                    self.tally.octets += len(packet)
        finally:
            packets.close()

    def _take(self, packet: bytes, at: float) -> None:
        self._last_packet = at
        with self._lock:
            self._keep(packet, at)
            try:
                frames = list(self._parser.feed(packet))
            except PacketError as error:
                self.tally.malformed += 1
                self.tally.problem = str(error)
                return
            for frame in frames:
                if self.tally.comes(frame, at):
                    self.tally.overrun += len(self._inbox) == self._inbox.maxlen
                    self._inbox.append(TimedFrame(replace(frame, time=self._clock.moment(frame.time, at)), at))

    def _keep(self, packet: bytes, at: float) -> None:
        """For a recording, and for one that may begin."""
        if self._recorder is not None:
            self._recorder.add(Packet(at - self._recorded_from, packet))
        if self._pre_roll:
            self._before.append((at, packet))
            self._before_octets += len(packet)
            self._forget(at)

    def _forget(self, now: float) -> None:
        """What no recording that begins now would begin with."""
        while self._before and (now - self._before[0][0] > self._pre_roll or self._before_octets > PRE_ROLL_OCTETS):
            self._before_octets -= len(self._before.popleft()[1])
