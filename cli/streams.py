"""The commands for live devices: `devices`, `listen` and `stream`."""

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path

import numpy as np

from ..capture.devices.device_table import DEVICES
from ..capture.devices.raw_take import SUFFIX
from ..capture.devices.receiver import Receiver
from ..capture.frame import Frame
from ..capture.marker_labels import quoted
from ..capture.network.sender import Sender
from ..capture.network.transport import LOCAL, TICK, Address
from ..errors import StreamError
from ..pipeline.live import capture_player
from ..pipeline.take import Take
from .terminal import say

PRINT_INTERVAL_S = 1.0
"""s between lines that describe the stream."""


def add_address(parser: argparse.ArgumentParser, host_help: str) -> None:
    """Add the options for the device's address. host_help: help of --host."""
    parser.add_argument("--host", default=LOCAL, metavar="ADDRESS", help=host_help)
    parser.add_argument("--port", type=int, metavar="N", help="port; by default the device's usual one")


def add_listen(parser: argparse.ArgumentParser) -> None:
    """Add the options of `listen`."""
    parser.add_argument("device", choices=tuple(DEVICES), metavar="DEVICE", help="; ".join(DEVICES))
    add_address(parser, f"address to listen on ({LOCAL}; 0.0.0.0 admits other machines), or to connect to")
    parser.add_argument(
        "--sender", default="", metavar="ADDRESS", help="IP address of the only sender to follow; by default the first"
    )
    parser.add_argument(
        "--page-name",
        action="append",
        default=[],
        metavar="NAME",
        help="host name by which a headset opens the WebXR page, such as a tunnel's; may be repeated",
    )
    parser.add_argument("--seconds", type=float, metavar="S", help="duration in s; by default until Ctrl-C")
    parser.add_argument(
        "--record",
        type=Path,
        metavar=f"TAKE{SUFFIX}",
        help="write the packets to a new raw take; an existing file is not replaced",
    )
    parser.add_argument("--points", action="store_true", help="print every point, once a second")


def add_stream(parser: argparse.ArgumentParser) -> None:
    """Add the options of `stream`, except those for reading a capture."""
    parser.add_argument(
        "--as", dest="device", choices=tuple(DEVICES), required=True, metavar="DEVICE", help="device to imitate"
    )
    add_address(parser, "address to send to, or on which to wait for the receiver to connect")
    parser.add_argument(
        "--rate", type=float, metavar="N", help="frames per second; by default the capture's own frames"
    )
    parser.add_argument("--speed", type=float, default=1.0, metavar="X", help="speed relative to the capture")
    parser.add_argument("--repeat", action="store_true", help="repeat until Ctrl-C")


def address_of(options: argparse.Namespace) -> Address:
    """Return the address in the options, with the device's default port. Raises StreamError if it is not allowed."""
    address = Address(options.host, DEVICES[options.device].port if options.port is None else options.port)
    options.check_address(address)
    return address


def devices(_options: argparse.Namespace) -> None:
    """Print the supported devices."""
    width = max(map(len, DEVICES))
    for key, device in DEVICES.items():
        say(f"{key:<{width}}  {device.name}: {device.about}")
        say(f"{'':<{width}}  {'connects to' if device.connects else 'listens on'} port {device.port}")


def listen(options: argparse.Namespace) -> None:
    """Print the state of a device's stream every second, until the time is over or Ctrl-C is pressed."""
    if options.seconds is not None and not options.seconds > 0:
        raise StreamError(f"--seconds is {options.seconds:g}, expected more than 0")
    device = DEVICES[options.device]
    if options.page_name and not device.serves_page:
        raise StreamError(f"{device.name} opens no page that Knuckle serves, expected no --page-name")
    address = replace(address_of(options), page_names=tuple(options.page_name))
    receiver = Receiver(options.device, device, address, sender=_sender_of(options))
    if options.record is not None:
        if options.record.suffix != SUFFIX:
            raise StreamError(f"{options.record}: expected a name that ends in {SUFFIX}")
        if not options.record.resolve().parent.is_dir():
            raise StreamError(f"{options.record}: there is no folder {options.record.parent}")
        receiver.record(options.record, options.record.stem)
    receiver.start()
    end = time.monotonic() + (options.seconds if options.seconds is not None else float("inf"))
    try:
        while time.monotonic() < end:
            time.sleep(min(PRINT_INTERVAL_S, max(end - time.monotonic(), 0.0)))
            _print_state(receiver, options.points)
    except KeyboardInterrupt:
        print(file=sys.stderr)
    finally:
        recorder = receiver.recording
        receiver.stop()
    if recorder is not None:
        say(f"{recorder.path}: {recorder.packets} packets")
        if recorder.problem or not receiver.stats.packets:
            raise StreamError(recorder.problem or f"nothing was recorded: {receiver.state()}")


def _sender_of(options: argparse.Namespace) -> str:
    """Return the IP address of the only sender to follow, empty for the first that sends.

    Raises StreamError if the address is invalid or the device is not a sender that connects.
    """
    device = DEVICES[options.device]
    if options.sender and device.connects:
        raise StreamError(f"Knuckle connects to {device.name} (--host), expected no --sender")
    try:
        return str(ip_address(options.sender)) if options.sender else ""
    except ValueError:
        raise StreamError(f"{quoted(options.sender)} is not an IP address, expected one such as {LOCAL}") from None


def _wait_for_client(sender: Sender) -> None:
    """Wait until a client has connected, if the sender is a server."""
    if sender.has_no_client:
        say("waiting for a client to connect")
    while sender.has_no_client:
        time.sleep(TICK)


def _print_state(receiver: Receiver, points: bool) -> None:
    """Print a line about the last second, and a description of its last frame."""
    frames, stats = receiver.drain(), receiver.stats
    counts = f"{stats.packets} packets, {stats.frames} frames"
    problems = {"lost": stats.lost, "late": stats.late, "not understood": stats.malformed}
    problem_counts = ", ".join(f"{count} {name}" for name, count in problems.items() if count)
    figures = ", ".join(filter(None, [counts, problem_counts, f"jitter {1000 * stats.jitter():.1f} ms"]))
    say(f"{receiver.state()} ({figures})")
    senders = receiver.senders
    if senders.ignored_sender:
        say(f"  {senders.ignored_sender} sends, too: {senders.ignored_packets} packets were ignored (see --sender)")
    if stats.malformed:
        say(f"  not understood: {stats.problem}")
    if receiver.recording is not None and receiver.recording.problem:
        say(f"  {receiver.recording.problem}")
    if frames:
        say("\n".join(_frame_lines(frames[-1].frame, points)))


def _frame_lines(frame: Frame, points: bool) -> list[str]:
    """Return lines that describe a frame; `points` adds all positions."""
    visible = np.all(np.isfinite(frame.positions), axis=1)
    hands = dict.fromkeys(name.rpartition(":")[0] for name in frame.names)
    lines = [f"  timecode {frame.timecode}"] if frame.timecode else []
    for hand in hands:
        rows = [row for row, name in enumerate(frame.names) if name.rpartition(":")[0] == hand]
        rotation_count = 0 if frame.rotations is None else int(np.isfinite(frame.rotations[rows]).all(axis=1).sum())
        lines.append(
            f"  {hand or 'markers'}: {visible[rows].sum()} of {len(rows)} points seen, {rotation_count} rotations"
        )
    if points:
        lines += [
            f"    {name}: {', '.join(f'{value:.4f}' for value in position)} m"
            for name, position, is_seen in zip(frame.names, frame.positions, visible, strict=True)
            if is_seen
        ]
    return lines


def stream(options: argparse.Namespace, solve: Callable[[], Take]) -> None:
    """Solve a capture and send it as a device would, until its end or until Ctrl-C is pressed."""
    if not 0.01 <= options.speed <= 100:
        raise StreamError(f"--speed is {options.speed:g}, expected 0.01 to 100")
    frames = capture_player.frames_of_take(solve())
    address, device = address_of(options), DEVICES[options.device]
    say(f"{options.file}: {len(frames)} frames as {device.name} to {address}; Ctrl-C ends it")
    sent = 0
    try:
        with device.sender(address) as sender:
            _wait_for_client(sender)
            for frame in capture_player.play(frames, options.speed, options.repeat):
                sender.send(frame)
                sent += 1
    except KeyboardInterrupt:
        print(file=sys.stderr)
    say(f"{sent} frames sent")
