"""Receiver: a thread that reads packets from a transport, parses them and queues the newest frames."""

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
"""Length of the queue of frames; when it is full, the oldest are dropped."""
MOST_RECORDED = 1200
"""The same while a take is recorded, which should have them all."""
SILENT = 3.0
"""s without a packet after which the state reports it."""
AGAIN = (0.5, 1.0, 2.0, 5.0)
"""s before each attempt to reconnect; the last holds for all further ones."""
HANG_UP = 1.0
"""Longest wait for the thread to end in s; it may take longer while it resolves a host name."""
PRE_ROLL_OCTETS = 32 * 2**20
"""Most bytes kept for a recording's pre-roll."""


@dataclass(frozen=True, slots=True, eq=False)
class TimedFrame:
    """A frame and its packet's arrival time."""

    frame: Frame
    """Its time is DeviceClock's."""
    at: float
    """s on the clock of time.perf_counter."""


class Receiver:
    """Receives from one device. `start` and `stop` may be called once each."""

    def __init__(self, device: str, kind: Device, address: Address, pre_roll: float = 0.0) -> None:
        """device: key in DEVICES of `kind`; pre_roll: s of earlier packets that a recording starts with."""
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
        """Failed attempts to connect since the last packet."""
        self._last_packet = self._began = time.perf_counter()
        self._thread = threading.Thread(target=self._run, name=f"knuckle {device}", daemon=True)

    def start(self) -> None:
        """Start receiving."""
        self._began = self._last_packet = time.perf_counter()
        self._thread.start()

    def stop(self) -> None:
        """Close the connection and end a recording. A thread that is still trying to connect ends later by itself."""
        self._stop.set()
        self._thread.join(HANG_UP)
        self.end_recording()

    def drain(self, most: int = MOST_RECORDED) -> list[TimedFrame]:
        """Take up to `most` frames from the queue, oldest first."""
        return [self._inbox.popleft() for _ in range(min(most, len(self._inbox)))]

    def record(self, path: Path, name: str = "") -> None:
        """Start recording a raw take, beginning with the last pre_roll s. Raises StreamError as Recorder does."""
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
        """End the recording and return its recorder, None if there was none. `longest` is that of Recorder.close."""
        with self._lock:
            recorder, self._recorder = self._recorder, None
            self._inbox = deque(self._inbox, MOST_WAITING)
        if recorder is not None:
            recorder.close(longest)
        return recorder

    @property
    def recording(self) -> Recorder | None:
        """The recorder of the recording in progress."""
        return self._recorder

    @property
    def trouble(self) -> bool:
        """Whether the connection failed; `state` says why."""
        return bool(self._trouble)

    def state(self) -> str:
        """The state of the connection, as a sentence for the user."""
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
        """Read packets until `stop` is called."""
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
                    # Counted last: whoever waits for the count finds the packet's frames queued.
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
        """Pass a packet to the recorder and keep it for the pre-roll of the next recording."""
        if self._recorder is not None:
            self._recorder.add(Packet(at - self._recorded_from, packet))
        if self._pre_roll:
            self._before.append((at, packet))
            self._before_octets += len(packet)
            self._forget(at)

    def _forget(self, now: float) -> None:
        """Drop packets that are too old, or too many, for the pre-roll."""
        while self._before and (now - self._before[0][0] > self._pre_roll or self._before_octets > PRE_ROLL_OCTETS):
            self._before_octets -= len(self._before.popleft()[1])
