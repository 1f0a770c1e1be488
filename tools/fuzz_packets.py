"""Feeds corrupted packets to the device parsers and reports the results.

    python tools/fuzz_packets.py [DEVICE ...] [--packets N] [--seed S] [--takes TAKE.rawtake ...]
    python tools/fuzz_packets.py --seconds 3600           # or: make fuzz OF=packets FOR=3600

The packets are those that each device's sender sends for closing hands, and those of raw takes. They are mutated: bits
flipped, cut, repeated, spliced with others, reordered, and lengths and numbers set to the extremes of their types.
A parser may return frames or raise PacketError. Anything else is reported with the seed and the packet; then the exit
status is 1.
"""

import argparse
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from knuckle.capture.conventions import MAX_COORDINATE_M
from knuckle.capture.devices.device_table import DEVICES
from knuckle.capture.devices.raw_take import read_header, read_packets
from knuckle.capture.frame import Frame
from knuckle.capture.network.transport import MAX_PACKET_SIZE, Address
from knuckle.capture.timestamps import MAX_TIME_S
from knuckle.errors import PacketError
from knuckle.tests.pure.capture.devices.moments import moments
from knuckle.tools.mutations import mutated

MAX_POINTS = 4096
"""Maximum number of points in a frame."""
COUNTS = [0, 1, 1, 1, 2, 4]
"""Numbers of mutations of a packet, equally likely."""
WARM_UP_FRACTION = 0.2
"""Fraction of the packets after which a parser has filled its tables, so that memory should no longer grow."""


@dataclass(slots=True)
class Tally:
    """Results for the packets of a device."""

    packets: int = 0
    frames: int = 0
    refused: int = 0
    slowest: float = 0.0
    """s, maximum for one packet."""
    spent: float = 0.0
    """s in the parser."""
    faults: Counter[str] = field(default_factory=Counter)


def mutated_packets(dice: random.Random, seeds: list[bytes]) -> Iterator[bytes]:
    """Yield mutated packets, in runs as sent or in random order; some are intact, so that parsers keep valid state."""
    while True:
        start = dice.randrange(len(seeds))
        for number in range(dice.choice([1, 4, 16])):
            packet = seeds[(start + number) % len(seeds)] if dice.random() < 0.7 else dice.choice(seeds)
            yield mutated(dice, packet, seeds, COUNTS)[:MAX_PACKET_SIZE]


def check(frame: Frame) -> None:
    """Raise AssertionError for an invalid frame."""
    count = len(frame.names)
    assert frame.time is None or abs(frame.time) < MAX_TIME_S, f"{frame.time} s"
    assert all(name.isprintable() for name in frame.names), "a name that cannot be shown"
    assert count == len(set(frame.names)) <= MAX_POINTS, f"{count} names, {len(set(frame.names))} of them different"
    assert frame.positions.shape == (count, 3), frame.positions.shape
    # A joint lies within reach of a transmitted position.
    assert not (np.abs(frame.positions) > 100 * MAX_COORDINATE_M).any(), "a position is far away"
    assert (np.isnan(frame.positions).all(axis=1) | np.isfinite(frame.positions).all(axis=1)).all(), "half a place"
    if frame.rotations is not None:
        length = np.linalg.norm(frame.rotations, axis=1)
        assert (np.isnan(length) | (np.abs(length - 1) < 1e-6)).all(), "a turn is no unit quaternion"


def fuzz(device: str, seeds: list[bytes], packets: int, seed: int) -> Tally:
    """Feed mutated packets to one parser."""
    parser, tally = DEVICES[device].parser(), Tally()
    stream = mutated_packets(random.Random(seed), seeds)
    before = 0
    for number in range(packets):
        if number == int(packets * WARM_UP_FRACTION):
            before = memory()
        packet = next(stream)
        started = time.process_time()
        try:
            frames = list(parser.feed(packet))
        except PacketError:
            tally.refused += 1
            frames = []
        except Exception:
            fault = traceback.format_exc().strip()
            if not tally.faults[fault]:
                print(f"{device}, seed {seed}, packet {number}: {packet[:2000].hex()}\n{fault}", file=sys.stderr)
            tally.faults[fault] += 1
            continue
        spent = time.process_time() - started
        tally.slowest, tally.spent = max(tally.slowest, spent), tally.spent + spent
        tally.packets, tally.frames = tally.packets + 1, tally.frames + len(frames)
        for frame in frames[-1:]:
            try:
                check(frame)
            except AssertionError as error:
                if not tally.faults[str(error)]:
                    print(f"{device}, seed {seed}, packet {number}: {error}: {packet[:2000].hex()}", file=sys.stderr)
                tally.faults[str(error)] += 1
    grown = (memory() - before) / 2**20
    print(
        f"{device}: {packets} packets, {tally.packets / max(tally.spent, 1e-9):.0f} a second, {tally.frames} frames, "
        f"{tally.refused} refused, {sum(tally.faults.values())} faults; {1000 * tally.slowest:.1f} ms the slowest, "
        f"{grown:+.1f} MiB after the first {WARM_UP_FRACTION:.0%}",
        flush=True,
    )
    return tally


def memory() -> int:
    """Return the resident memory of this process in bytes."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096


def seeds_of(device: str, takes: list[Path]) -> list[bytes]:
    """Return packets from the device's own sender and from raw takes of the device."""
    sender = DEVICES[device].sender(Address())
    # Datagrams, or messages of a WebSocket
    send = getattr(sender, "packets", None) or getattr(sender, "messages", None)
    messages = [packet for moment in moments(8) for packet in send(moment)] if send else []
    packets = [packet.encode() if isinstance(packet, str) else bytes(packet) for packet in messages]
    for path in takes:
        with path.open("rb") as file:
            head, start = read_header(file, str(path))
            packets += [packet.content for packet in read_packets(file, start)] if head.device == device else []
    if not packets:
        print(f"{device}: its sender's packets are known to a connection only, expected a raw take", file=sys.stderr)
    return [packet for packet in packets if packet]


def main() -> int:
    """Fuzz the named devices, or all."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("devices", nargs="*", metavar="DEVICE", help=", ".join(DEVICES))
    options.add_argument("--packets", type=int, default=100_000)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--seconds", type=float, default=0.0, help="continue with further seeds for this time")
    options.add_argument("--takes", type=Path, nargs="*", default=[])
    arguments = options.parse_args()
    packets = {device: seeds_of(device, arguments.takes) for device in arguments.devices or DEVICES}
    faults, seed, end = 0, arguments.seed, time.monotonic() + arguments.seconds
    while seed == arguments.seed or time.monotonic() < end:
        for device, seeds in packets.items():
            if seeds:
                faults += sum(fuzz(device, seeds, arguments.packets, seed).faults.values())
        seed += 1
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
