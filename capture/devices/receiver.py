"""Receiver: a thread that reads packets from a transport, parses them and queues the newest frames."""

import threading
import time
from collections import deque
from dataclasses import dataclass, replace
from pathlib import Path

from ...errors import PacketError, StreamError
from ..frame import Frame
from ..network.transport import Address, Incoming
from .device import Device
from .device_clock import DeviceClock
from .raw_take import Packet, RawTakeHeader
from .raw_take_recorder import Recorder, utc_now
from .sender_choice import SenderChoice
from .stream_stats import StreamStats

QUEUE_LENGTH = 64
"""Length of the queue of frames; when it is full, the oldest are dropped."""
RECORDING_QUEUE_LENGTH = 20_000
"""Length of the queue during a recording, in which no frame should be dropped: 83 s at 240 Hz."""
SILENCE_S = 3.0
"""s without a packet after which `state` reports the silence."""
RETRY_DELAYS_S = (0.5, 1.0, 2.0, 5.0)
"""s before each attempt to reconnect; the last one repeats."""
STOP_TIMEOUT_S = 1.0
"""Maximum wait for the thread to end in s; it may take longer while it resolves a host name."""
MAX_PRE_ROLL_BYTES = 32 * 2**20
"""Maximum bytes of packets stored for a recording's pre-roll."""


@dataclass(frozen=True, slots=True, eq=False)
class TimedFrame:
    """A frame and the arrival time of its packet."""

    frame: Frame
    """The frame, with a time on DeviceClock."""
    arrival: float
    """s on the clock of time.perf_counter."""


class Receiver:
    """Receives from one device. `start` and `stop` may be called once each."""

    def __init__(
        self, device: str, device_type: Device, address: Address, pre_roll: float = 0.0, sender: str = ""
    ) -> None:
        """Prepare to receive from a device.

        Args:
            device: key of `device_type` in DEVICES.
            device_type: the device.
            address: where to listen, or what to connect to.
            pre_roll: s of earlier packets with which a recording starts.
            sender: IP address of the only sender to follow; empty for the first.
        """
        self.stats, self.senders = StreamStats(), SenderChoice(sender)
        self._clock = DeviceClock()
        self._name, self._device, self._parser = device, device_type, device_type.parser()
        self._transport = device_type.open(address)
        self._frame_queue: deque[TimedFrame] = deque(maxlen=QUEUE_LENGTH)
        self._pre_roll, self._pre_roll_packets, self._pre_roll_bytes = pre_roll, deque[tuple[float, bytes]](), 0
        self._recorder: Recorder | None = None
        self._recording_start = 0.0
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._failure = ""
        self._is_open = False
        self._failed_attempts = 0
        """Failed attempts to connect since the last packet."""
        self._last_packet = time.perf_counter()
        self._thread = threading.Thread(target=self._run, name=f"knuckle {device}", daemon=True)

    def start(self) -> None:
        """Start receiving."""
        self._last_packet = time.perf_counter()
        self._thread.start()

    def stop(self) -> None:
        """Close the connection and end a recording. A thread that is still trying to connect ends later."""
        self._stop.set()
        self._thread.join(STOP_TIMEOUT_S)
        self.end_recording()

    def drain(self, max_frames: int = RECORDING_QUEUE_LENGTH) -> list[TimedFrame]:
        """Take up to `max_frames` frames from the queue, oldest first."""
        return [self._frame_queue.popleft() for _ in range(min(max_frames, len(self._frame_queue)))]

    def take_captures(self) -> list[tuple[str, bytes]]:
        """Take the whole captures that were received, such as those of a video: see Parser."""
        with self._lock:
            return self._parser.take_captures()

    def record(self, path: Path, name: str = "") -> None:
        """Start recording a raw take, beginning with the last pre_roll s. Raises StreamError as Recorder does."""
        recorder = Recorder(path, RawTakeHeader(self._name, name, utc_now()))
        with self._lock:
            self._trim_pre_roll(time.perf_counter())
            start = self._pre_roll_packets[0][0] if self._pre_roll_packets else time.perf_counter()
            for packet in self._parser.context():
                recorder.add(Packet(0.0, packet))
            for arrival, packet in self._pre_roll_packets:
                recorder.add(Packet(arrival - start, packet))
            self._recorder, self._recording_start = recorder, start
            self._frame_queue = deque(self._frame_queue, RECORDING_QUEUE_LENGTH)

    def end_recording(self, timeout: float | None = None, unread: list[TimedFrame] | None = None) -> Recorder | None:
        """End the recording and return its recorder, None if there was none.

        timeout: see Recorder.close. unread: gets the frames in the queue, the last that are in the raw take.
        """
        with self._lock:
            recorder, self._recorder = self._recorder, None
            if unread is not None:
                unread += self._frame_queue
                self._frame_queue.clear()
            self._frame_queue = deque(self._frame_queue, QUEUE_LENGTH)
        if recorder is not None:
            recorder.close(timeout)
        return recorder

    @property
    def recording(self) -> Recorder | None:
        """The recorder of the recording in progress."""
        return self._recorder

    @property
    def is_open(self) -> bool:
        """Whether the socket is open: packets that are sent now are received."""
        return self._is_open

    @property
    def failed(self) -> bool:
        """Whether the connection failed; `state` says why."""
        return bool(self._failure)

    def state(self) -> str:
        """Return the state of the connection, as a sentence for the user."""
        if self._failure:
            return self._failure
        now, stats = time.perf_counter(), self.stats
        silence = now - self._last_packet
        if silence > SILENCE_S:
            advice = ". Is the sender on, does it send to this address and port, and does a firewall let it through?"
            return f"{self._transport.status()}: nothing received for {silence:.0f} s{'' if stats.frames else advice}"
        if stats.frames or self._parser.note():
            rate_text = f"{stats.rate(now):.0f} frames a second"
            text = f"{rate_text} from {self.senders.followed}" if self.senders.ignored_sender else rate_text
            return self._parser.note() or text
        if stats.malformed:
            return f"the packets are not those of {self._device.name}: {stats.problem}"
        if stats.packets:
            return f"{stats.packets} packets received, none with a hand: are hands switched on in the sender?"
        return self._transport.status()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self._read_packets()
            except StreamError as error:
                self._failure = f"{error}; trying again"
                self._stop.wait(RETRY_DELAYS_S[min(self._failed_attempts, len(RETRY_DELAYS_S) - 1)])
                self._failed_attempts += 1
            except Exception:
                self._failure = "receiving stopped after an internal error, which the console shows"
                raise

    def _read_packets(self) -> None:
        """Read packets until `stop` is called."""
        packets = self._transport.packets()
        self.stats.reset()
        try:
            for incoming in packets:
                self._failure, self._is_open = "", True
                if self._stop.is_set():
                    return
                now = time.perf_counter()
                if incoming is not None and self.senders.accepts(incoming.sender, now):
                    self._failed_attempts = 0
                    self._handle(incoming, now)
                    # Counted last: when the count increases, the packet's frames are in the queue.
                    self.stats.packets += 1
                    self.stats.bytes_received += len(incoming.content)
        finally:
            self._is_open = False
            packets.close()

    def _handle(self, incoming: Incoming, arrival: float) -> None:
        self._last_packet = arrival
        with self._lock:
            try:
                frames = list(self._parser.feed(incoming.content))
            except PacketError as error:
                self._record(incoming.content, arrival)
                self.stats.malformed += 1
                self.stats.problem = str(error)
                incoming.hang_up()
                return
            if reply := self._parser.answer():
                incoming.answer(reply)
                return
            self._record(incoming.content, arrival)
            incoming.keep()
            if self.senders.note_packet(incoming.sender, arrival):
                # Another device has other frame numbers.
                self.stats.reset()
            for frame in frames:
                if self.stats.add(frame, arrival):
                    self.stats.overrun += len(self._frame_queue) == self._frame_queue.maxlen
                    time_s = self._clock.frame_time(frame.time, arrival)
                    self._frame_queue.append(TimedFrame(replace(frame, time=time_s), arrival))

    def _record(self, packet: bytes, arrival: float) -> None:
        """Pass a packet to the recorder and keep it for the pre-roll of the next recording."""
        if not packet:
            return
        if self._recorder is not None:
            self._recorder.add(Packet(arrival - self._recording_start, packet))
        if self._pre_roll:
            self._pre_roll_packets.append((arrival, packet))
            self._pre_roll_bytes += len(packet)
            self._trim_pre_roll(arrival)

    def _trim_pre_roll(self, now: float) -> None:
        """Drop packets that are too old, or too many, for the pre-roll."""
        packets = self._pre_roll_packets
        while packets and (now - packets[0][0] > self._pre_roll or self._pre_roll_bytes > MAX_PRE_ROLL_BYTES):
            self._pre_roll_bytes -= len(packets.popleft()[1])
