"""The private folder of a browser: whose it is, and what is left of a process that was killed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from knuckle.capture.devices import browser_folder as folders
from knuckle.capture.devices.browser_folder import browser_folder, sweep
from knuckle.tests.pure.capture.devices.sockets import wait_for

BROWSER = Path("/usr/bin/chromium")
HOLDS = """
import sys, time
from pathlib import Path
from knuckle.capture.devices.browser_folder import browser_folder
with browser_folder(Path(sys.argv[1]), "http://127.0.0.1/") as folder:
    print(folder.start.parent, flush=True)
    time.sleep(60)
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the folders are made."""
    monkeypatch.setattr(folders, "_parent_folder", lambda browser: tmp_path)
    return tmp_path


def test_it_leads_to_the_address_and_is_gone_at_the_end(place: Path) -> None:
    with browser_folder(BROWSER, 'http://127.0.0.1:8766/a"&b/') as folder:
        assert "0;url=http://127.0.0.1:8766/a&quot;&amp;b/" in folder.start.read_text()
        assert folder.start.parent.parent == place and not folder.profile.exists()
        sweep(place)
        assert folder.start.is_file(), "one that is used is not swept"
    assert list(place.iterdir()) == []


def test_what_a_killed_process_left_is_swept_with_its_browser(place: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(place)}
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(BROWSER)], stdout=subprocess.PIPE, text=True, env=environment
    )
    assert holder.stdout is not None
    left = Path(holder.stdout.readline().strip())
    sleeps = [sys.executable, "-c", "import time; time.sleep(60)"]
    ours = subprocess.Popen([*sleeps, f"--user-data-dir={left}/profile"])
    stranger = subprocess.Popen([*sleeps, f"--user-data-dir={left}er/profile"])
    try:
        sweep(place)
        assert left.is_dir() and ours.poll() is None, "its process lives"
        holder.kill()
        holder.wait()
        with browser_folder(BROWSER, "http://127.0.0.1/") as folder:
            assert list(place.iterdir()) == [folder.start.parent]
        wait_for(lambda: ours.poll() is not None)
        assert stranger.poll() is None
    finally:
        for process in (holder, ours, stranger):
            process.kill()
            process.wait()
        holder.stdout.close()


def test_what_others_made_under_such_a_name_is_left_alone(
    place: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "used").touch()
    (place / "knuckle-browser-link").symlink_to(elsewhere)
    (place / "knuckle-browser-file").touch()
    (place / "knuckle-browser-made").mkdir()  # at this moment, by another process
    (place / "something").mkdir()
    sweep(place)
    assert (elsewhere / "used").exists() and len(list(place.iterdir())) == 4


def test_a_snap_is_given_a_folder_that_it_sees(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    common = tmp_path / "snap" / "chromium" / "common"
    common.mkdir(parents=True)
    with browser_folder(Path("/snap/bin/chromium"), "http://127.0.0.1/") as folder:
        assert folder.profile.parent.parent == common
