"""Find the hands in a video file: the camera page processes it in a browser without a window."""

import json
import secrets
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from subprocess import Popen

from ...errors import CaptureError, PacketError, StreamError
from ...hand.generators import Progress, Steps
from ..network.site import SiteFile
from ..network.transport import LOCAL, Address, Incoming
from ..network.websocket import WebSocketListener
from ..protocols.camera_page import JOB, VIDEO, site
from ..protocols.camera_video import MAX_FRAMES, CameraVideo, CameraVideoAssembly
from ..protocols.json_packet import decode_json
from .browser import find_browser, headless

VIDEO_SUFFIXES = (".mp4", ".m4v", ".mov", ".webm", ".mkv")
START_S = 90.0
"""s, maximum time until the browser has read the video's header."""
FRAME_S = 120.0
"""s, maximum time for a frame; without a graphics card a frame can take several seconds."""


def track_video(video: Path, browser: str = "") -> Steps[CameraVideo]:
    """Find the hands in each frame of a video.

    Raises CaptureError if the video cannot be read or shows no hand, StreamError if there is no browser.

    browser: its path or command; empty to search for one.
    """
    name = video.name
    page = site(f"/{secrets.token_urlsafe(16)}/", _job(video))
    # The queue must hold all messages of a video: Blender does not respond while it renders or loads.
    listener = WebSocketListener(Address(LOCAL, _free_port()), page, MAX_FRAMES + 2)
    program = find_browser(browser)
    yield Progress(0.0, "Starting the browser")
    packets = listener.packets()
    try:
        next(packets)
        with headless(program, listener.url()) as process:
            tracked = yield from _assemble(_watch(packets, process, program), name)
    finally:
        packets.close()
    if not tracked.hands:
        count = len(tracked.frames)
        frames = f"any of its {count} frames" if count > 1 else "its only frame"
        raise CaptureError(f"{name}: no hand is seen in {frames}")
    return tracked


def _job(video: Path) -> dict[str, SiteFile]:
    """Return the task for the page. Raises CaptureError if there is no such file."""
    if video.exists() and not video.is_file():
        raise CaptureError(f"{video.name}: a folder or a device, expected a video file")
    try:
        with video.open("rb") as file:
            size = file.seek(0, 2)
    except FileNotFoundError:
        raise CaptureError(f"{video.name}: no such file at {video}") from None
    except OSError as error:
        raise CaptureError(f"{video.name}: cannot be opened, {(error.strerror or str(error)).lower()}") from None
    if not size:
        raise CaptureError(f"{video.name}: the file is empty, expected a video")
    job = json.dumps({"video": video.name, "size": size}).encode("utf-8", errors="backslashreplace")
    return {JOB: SiteFile("application/json", job), VIDEO: SiteFile("application/octet-stream", video)}


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind((LOCAL, 0))
        return int(sock.getsockname()[1])


def _watch(packets: Iterator[Incoming | None], process: "Popen[bytes]", program: Path) -> Iterator[Incoming | None]:
    """Yield the packets. Raises StreamError if the browser ends, or sends nothing for too long."""
    last, timeout = time.monotonic(), START_S
    for incoming in packets:
        if incoming is not None:
            last, timeout = time.monotonic(), FRAME_S
        elif process.poll() is not None:
            raise StreamError(f"{program}: exited (status {process.returncode}), expected it to open a page")
        elif time.monotonic() - last > timeout:
            raise StreamError(f"{program}: nothing received from it for {timeout:.0f} s, expected landmarks of hands")
        yield incoming


def _assemble(packets: Iterator[Incoming | None], name: str) -> Steps[CameraVideo]:
    """Assemble the page's messages to the landmarks of the video. Raises CaptureError if the page cannot read it."""
    assembly = CameraVideoAssembly()
    for incoming in packets:
        if incoming is not None:
            try:
                tracked = assembly.feed(decode_json(incoming.content, "landmarks of a video"))
            except PacketError as error:
                raise StreamError(f"{name}: the browser sent an invalid message: {error}") from None
            incoming.keep()
            if tracked is not None:
                return tracked
            if assembly.problem:
                message = assembly.problem.rstrip(".").removeprefix(name).lstrip()
                raise CaptureError(f"{name}: {message}")
        description = f"Frame {assembly.received} of {assembly.expected}" if assembly.expected else "Reading the video"
        yield Progress(assembly.received / max(assembly.expected, 1), description)
    raise AssertionError("packets do not end")
