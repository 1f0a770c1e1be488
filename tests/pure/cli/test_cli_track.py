"""`knuckle track` without a browser, and with a program that plays one."""

import json
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from knuckle import capture
from knuckle.capture.devices import browser, video_tracking
from knuckle.capture.protocols import camera_page
from knuckle.cli.main import main

PLAYS_A_BROWSER = """#!{python}
import json, os, re, stat, sys, urllib.parse, urllib.request
from websockets.sync.client import connect

start = urllib.request.url2pathname(urllib.parse.urlparse(sys.argv[-1]).path)
assert stat.S_IMODE(os.stat(os.path.dirname(start)).st_mode) == 0o700, "others can read the address"
url, token = re.search(r"(http://127.0.0.1:\\d+/([\\w-]{{22}})/)", open(start).read()).groups()
assert not any(token in argument for argument in sys.argv)
job = json.load(urllib.request.urlopen(url + "job.json"))
asked = urllib.request.Request(url + "video", headers={{"Range": "bytes=0-9"}})
content = urllib.request.urlopen(asked).read().decode()
assert (job["video"], content) == ("wave.mp4", "not a vide"), (job, content)
with connect(url.replace("http", "ws")) as page:
    for message in json.loads({messages!r}):
        page.send(json.dumps(message))
    page.recv(timeout=20)
"""
HAND = {"handedness": "Left", "score": 0.9, "landmarks": [[0.5, 0.5, 0]] * 21}
HAND["world_landmarks"] = [[0.01 * index, 0.002 * index**2, 0.0] for index in range(21)]
HEAD = {"kind": "video", "source": "wave.mp4", "width": 640, "height": 480, "rate": 10, "frames": 3}
END = {"kind": "end"}
Track = Callable[..., int]


def frames(*hands: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"kind": "frame", "time_s": index / 10, "hands": each} for index, each in enumerate(hands)]


@pytest.fixture
def video(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(camera_page, "ASSETS", (tmp_path,))
    path = tmp_path / "wave.mp4"
    path.write_bytes(b"not a video, and nobody looks")
    return path


@pytest.fixture
def plays(tmp_path: Path) -> Callable[[list[dict[str, Any]]], str]:
    """A program that plays a browser whose page sends these messages."""

    def made(messages: list[dict[str, Any]]) -> str:
        path = tmp_path / "chromium"
        path.write_text(PLAYS_A_BROWSER.format(python=sys.executable, messages=json.dumps(messages)))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return str(path)

    return made


def test_the_landmarks_are_written_and_read_as_a_capture(video, plays, tmp_path, capsys):
    out = tmp_path / "take.json"
    program = plays([HEAD, *frames([HAND], [], [HAND]), END])
    assert main(["track", str(video), "--out", str(out), "--browser", program]) == 0
    assert f"{out}: 3 frames at 10 Hz, a hand in 2" in capsys.readouterr().out
    assert capture.read(out).times == pytest.approx([0.0, 0.1, 0.2])
    assert main(["track", str(video), "--out", str(out), "--browser", program]) == 1
    assert "exists, expected a new name, or --force" in capsys.readouterr().err


@pytest.mark.parametrize(
    "case",
    [
        ([HEAD, *frames([], [], []), END], "wave.mp4: no hand is seen in any of its 3 frames"),
        ([{"kind": "stopped", "problem": "wave.mp4 is no video."}], "wave.mp4: is no video\n"),
        ([HEAD, *frames([HAND]), END], "the browser sent an invalid message: 1 frames of 'wave.mp4' received"),
        ([{"kind": "dance"}, END], "the end of a video that has not started"),
    ],
)
def test_what_goes_wrong_on_the_page_is_reported_and_nothing_written(video, plays, tmp_path, capsys, case):
    messages, reported = case
    out = tmp_path / "take.json"
    assert main(["track", str(video), "--out", str(out), "--browser", plays(messages)]) == 1
    assert reported in capsys.readouterr().err
    assert not out.exists() and not list(tmp_path.glob(".knuckle*"))


@pytest.mark.parametrize(
    ("name", "reported"),
    [("gone.mp4", "no such file"), (".", "a folder or a device"), ("empty.mp4", "the file is empty, expected a video")],
)
def test_what_is_no_video_is_reported_before_a_browser_starts(video, tmp_path, capsys, name, reported):
    (tmp_path / "empty.mp4").write_bytes(b"")
    assert main(["track", str(tmp_path / name), "--out", str(tmp_path / "take.json"), "--browser", "nothing"]) == 1
    assert reported in capsys.readouterr().err


def test_without_a_browser_one_sentence_says_what_to_install(video, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(browser, "_candidates", lambda: iter(()))
    assert main(["track", str(video), "--out", str(tmp_path / "take.json")]) == 1
    assert "no Chromium, Chrome or Edge was found: install one" in capsys.readouterr().err
    assert main(["track", str(video), "--out", str(tmp_path / "take.json"), "--browser", "no-such"]) == 1
    assert "no-such: no such program" in capsys.readouterr().err


def test_a_browser_that_ends_or_says_nothing_is_given_up(video, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(video_tracking, "START_S", 0.3)
    assert main(["track", str(video), "--out", str(tmp_path / "take.json"), "--browser", "false"]) == 1
    assert "exited (status 1)" in capsys.readouterr().err
    sleeps = tmp_path / "sleeps"
    sleeps.write_text("#!/bin/sh\necho $$ > $(dirname $0)/pid\nexec sleep 60\n")
    sleeps.chmod(0o755)
    assert main(["track", str(video), "--out", str(tmp_path / "take.json"), "--browser", str(sleeps)]) == 1
    assert "nothing received from it for" in capsys.readouterr().err
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
