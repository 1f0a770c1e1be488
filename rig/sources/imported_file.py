"""Read scene files as captures. A Blender in a separate process imports them."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import bpy

from ...capture.recording import Recording
from ...capture.scene_files import check_scene_file
from ...errors import CaptureError
from ...hand.generators import Progress, Steps
from .recording_file import read_recording

IMPORT_SCRIPT = Path(__file__).with_name("import_process.py")
TIMEOUT_SECONDS = 1800.0
"""s after which an import is aborted."""
POLL_SECONDS = 0.02
USUAL_SECONDS = 5.0
"""s, the usual duration of an import, from which its progress is estimated."""


def read_scene_file(path: Path, animation: str = "") -> Steps[Recording]:
    """Import a scene file in steps, and return the motion of its hands in the file's world space.

    animation: the name of one of the file's animations; empty for the one that Blender plays.
    Closing the generator ends the import. Raises CaptureError if the file cannot be imported or has no animated hand.
    """
    check_scene_file(path)
    with tempfile.TemporaryDirectory(prefix="knuckle-") as folder:
        result = Path(folder) / "recording.npz"
        started = time.monotonic()
        with _running(_command(path.resolve(), result, animation)) as process:
            while process.poll() is None:
                elapsed = time.monotonic() - started
                if elapsed > TIMEOUT_SECONDS:
                    raise CaptureError(
                        f"{path.name}: Blender did not finish importing it within {TIMEOUT_SECONDS / 60:.0f} minutes"
                    )
                yield Progress(elapsed / (elapsed + USUAL_SECONDS), f"Importing {path.name}")
                time.sleep(POLL_SECONDS)
        if not result.is_file():
            raise CaptureError(
                f"{path.name}: Blender stopped while importing it (exit status {process.returncode}), "
                "export it again from the program that made it"
            )
        return read_recording(result)


def _command(path: Path, result: Path, animation: str) -> list[str]:
    arguments = [str(path), str(result), animation]
    if bpy.app.binary_path:
        options = ["--background", "--factory-startup", "--disable-autoexec", "--offline-mode"]
        return [
            bpy.app.binary_path,
            *options,
            "--python-exit-code",
            "1",
            "--python",
            str(IMPORT_SCRIPT),
            "--",
            *arguments,
        ]
    return [sys.executable, "-P", str(IMPORT_SCRIPT), *arguments]


@contextmanager
def _running(command: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """Run a command without a window, and kill it if the body ends first."""
    flags = getattr(subprocess, "CREATE_NO_WINDOW", 0)
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        creationflags=flags,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
