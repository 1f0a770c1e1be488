"""The private folder of a browser that Knuckle runs: its profile, and the page that it starts with.

A folder belongs to the process that holds a lock on its file `used`. The system releases the lock when the process
ends, for any reason. Folders without a lock are left over from ended processes, and are removed.
"""

import html
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

if sys.platform != "win32":
    import fcntl

PREFIX = "knuckle-browser-"
USED = "used"
START = (
    '<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer"><title>Knuckle</title>'
    '<meta http-equiv="refresh" content="0;url={}">\n'
)


@dataclass(frozen=True, slots=True)
class BrowserFolder:
    """The profile and the start page of a browser."""

    profile: Path
    """The folder of the browser's profile."""
    start: Path
    """A page that redirects the browser to the address, which must not appear in a command line: other users could read
    it."""


@contextmanager
def browser_folder(browser: Path, url: str) -> Iterator[BrowserFolder]:
    """Provide a folder that only this user can read, for a browser that will open `url`; remove it at exit.

    Folders left over from killed processes are removed first, and their browsers ended.
    """
    parent = _parent_folder(browser)
    sweep(parent)
    with tempfile.TemporaryDirectory(prefix=PREFIX, dir=parent, ignore_cleanup_errors=True) as name:
        folder = BrowserFolder(Path(name, "profile"), Path(name, "start.html"))
        folder.start.write_text(START.format(html.escape(url)), encoding="utf-8")
        with _hold_lock(Path(name)):
            yield folder


def _parent_folder(browser: Path) -> Path:
    """Return the folder in which to create the browser's. A snap can access neither /tmp nor hidden folders."""
    if browser.is_relative_to("/snap"):
        common = Path.home() / "snap" / browser.name / "common"
        if common.is_dir():
            return common
    return Path(tempfile.gettempdir())


@contextmanager
def _hold_lock(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder. On Windows an open file cannot be removed, which serves as a lock."""
    used = folder / USED
    if sys.platform == "win32":
        with used.open("wb"):
            yield
        return
    new = used.with_suffix(".new")
    with new.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        new.rename(used)  # no other process finds it without its lock
        yield


def sweep(parent: Path) -> None:
    """Remove this user's folders that are left over, and end the browsers that still use them."""
    for folder in parent.glob(f"{PREFIX}*"):
        with suppress(OSError):  # of other users, or removed meanwhile
            if _is_ours(folder) and _is_left_over(folder):
                _end_browsers(folder)
                shutil.rmtree(folder, ignore_errors=True)


def _is_ours(folder: Path) -> bool:
    status = folder.lstat()
    return stat.S_ISDIR(status.st_mode) and (sys.platform == "win32" or status.st_uid == os.getuid())


def _is_left_over(folder: Path) -> bool:
    """Return whether no process holds a folder.

    Raises OSError if that is unknown, as for a folder that is being created, which has no file `used` yet.
    """
    used = folder / USED
    if sys.platform == "win32":
        used.unlink()
        return True
    with used.open("rb") as file, suppress(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


def _end_browsers(folder: Path) -> None:
    """End the processes whose command line names a folder; on Windows they end by themselves, see data/camera."""
    if sys.platform == "win32":
        return
    try:
        running = subprocess.run(["ps", "-axwwo", "pid=,args="], check=False, capture_output=True)
    except FileNotFoundError:
        return
    for line in os.fsdecode(running.stdout).splitlines():
        pid, _, arguments = line.strip().partition(" ")
        if f"--user-data-dir={folder}{os.sep}" in arguments:
            with suppress(OSError):
                os.kill(int(pid), signal.SIGKILL)
