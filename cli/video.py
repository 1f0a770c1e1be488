"""The command for videos: `track`."""

import argparse
from pathlib import Path

from ..capture.devices.video_tracking import track_video
from ..capture.protocols.camera_video import CameraVideo
from ..files import expect_writable, written_whole
from .options import add_force
from .output import progress_bar, run_with_progress
from .terminal import exiting_on_signals, expect_replaceable, say


def add_track(parser: argparse.ArgumentParser) -> None:
    """Add the options of `track`."""
    parser.description = (
        "Find the hands in each frame of a video, and write their landmarks as a capture. Chromium, Chrome or Edge "
        "does this without a window, on a local page; no picture leaves this computer."
    )
    parser.add_argument("video", type=Path, metavar="VIDEO", help="a video: MP4, MOV, WebM or MKV")
    parser.add_argument("--out", type=Path, required=True, metavar="TAKE.json", help="the capture to write")
    parser.add_argument(
        "--browser", default="", metavar="PROGRAM", help="Chromium, Chrome or Edge; by default the first that is found"
    )
    add_force(parser)


def track(options: argparse.Namespace) -> None:
    """Find the hands in a video, and write them as a capture."""
    expect_writable(options.out, ".json", unlike=[options.video])
    expect_replaceable([options.out], options.force)
    tracked = _run_tracking(options)
    with written_whole(options.out) as file:
        file.write_bytes(tracked.as_json())
    count = len(tracked.frames)
    rate = f"at {tracked.rate:g} Hz" if tracked.rate is not None else "at a rate that varies"
    frames = f"{count} frame{'s' * (count != 1)} {rate}" if count > 1 else "1 frame"
    say(f"{options.out}: {frames}, a hand in {tracked.hands}")


def _run_tracking(options: argparse.Namespace) -> CameraVideo:
    work = track_video(options.video, options.browser)
    try:
        with exiting_on_signals(), progress_bar() as update_progress:
            return run_with_progress(work, update_progress)
    finally:
        # Ends the browser in any case.
        work.close()
