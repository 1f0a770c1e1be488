"""A browser without a window: finding Chromium, Chrome or Edge, and running it with its own profile."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from ...errors import StreamError
from .browser_folder import browser_folder

COMMANDS = (
    *("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"),
    *("microsoft-edge", "microsoft-edge-stable", "msedge"),
)
MAC = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
)
WINDOWS = (
    "Google/Chrome/Application/chrome.exe",
    "Chromium/Application/chrome.exe",
    "Microsoft/Edge/Application/msedge.exe",
)
"""Paths relative to Windows' folders of programs."""
FLAGS = (
    "--headless=new",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--metrics-recording-only",
    "--no-pings",
    "--mute-audio",
    # Do not slow down pages in the background.
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    # Render in software if there is no graphics card.
    "--enable-unsafe-swiftshader",
)
END_S = 5.0
"""s, maximum time for a browser to exit before it is killed."""


def find_browser(browser: str = "") -> Path:
    """Return the browser with the given path or command, or, if empty, the first that is installed.

    Raises StreamError if there is none.
    """
    if browser:
        program = shutil.which(browser)
        if program is None:
            raise StreamError(f"{browser}: no such program, expected the path of Chromium, Chrome or Edge")
        return Path(program)
    for candidate in _candidates():
        if candidate.is_file() and os.access(candidate, os.X_OK):
            return candidate
    raise StreamError(
        "no Chromium, Chrome or Edge was found: install one, name it by --browser, or press Start for the device "
        "Camera in Blender and drop the video on the page, in any browser"
    )


def _candidates() -> Iterator[Path]:
    if sys.platform != "win32":  # on Windows it would find a program in the video's folder before an installed one
        yield from (Path(program) for program in map(shutil.which, COMMANDS) if program)
    if sys.platform == "darwin":
        yield from (root / path.lstrip("/") for path in MAC for root in (Path("/"), Path.home()))
    if sys.platform == "win32":
        folders = [os.environ.get(name) for name in ("ProgramFiles", "ProgramFiles(x86)", "LocalAppData")]
        yield from (Path(folder) / path for path in WINDOWS for folder in folders if folder)


@contextmanager
def headless(browser: Path, url: str, flags: Sequence[str] = ()) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a browser on a page, without a window; end it, and remove its profile, at exit. Raises StreamError."""
    # Chromium's sandbox does not run as root.
    root_flags = ("--no-sandbox",) if hasattr(os, "geteuid") and os.geteuid() == 0 else ()
    with browser_folder(browser, url) as folder:
        page = (f"--user-data-dir={folder.profile}", folder.start.as_uri())
        command = [str(browser), *FLAGS, *root_flags, *flags, *page]
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        try:
            # In a separate session, Ctrl-C in the shell reaches only Knuckle, which ends the browser with all its
            # processes.
            process = subprocess.Popen(command, start_new_session=True, **quiet)  # type: ignore[call-overload]
        except OSError as error:
            raise StreamError(f"{browser}: cannot be started ({error.strerror})") from None
        try:
            yield process
        finally:
            _end(process)


def _end(process: "subprocess.Popen[bytes]") -> None:
    if sys.platform == "win32":
        subprocess.run(["taskkill", "/T", "/F", "/PID", str(process.pid)], check=False, capture_output=True)
        with suppress(subprocess.TimeoutExpired):
            process.wait(END_S)
        return
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError, PermissionError):  # PermissionError if all have ended, on macOS
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(END_S)
