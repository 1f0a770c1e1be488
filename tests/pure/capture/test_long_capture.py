"""A capture that is read a few frames at a time gives what reading all of it at once does."""

import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from knuckle import capture
from knuckle.capture.files import trc as trc_rows
from knuckle.errors import CaptureError

from .files import stand_ins


def c3d(frames: int = 90) -> bytes:
    return stand_ins.c3d(frames, 9).bytes()


def trc(frames: int = 90) -> bytes:
    return stand_ins.trc(stand_ins.with_gaps(stand_ins.body(frames, 9)), 120.0)


FILES = {
    "floats.c3d": c3d(),
    "integers.c3d": replace(stand_ins.c3d(60, 26), processor=86, scale=1 / 12).bytes(),
    "y_up.trc": trc(),
    "crlf.trc": trc().replace(b"\n", b"\r\n"),
    "blank_lines.trc": trc().replace(b"\n50\t", b"\n\n\t\t\n50\t"),
    "cut_off.trc": trc()[:-100],
    "without_end.trc": trc()[:-1],
    "zeros.trc": trc() + bytes(5000),
}


@pytest.mark.parametrize("name", FILES)
def test_parts_are_those_of_the_whole(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(FILES[name])
    whole, long = capture.read(path), capture.open_long(path)
    assert long is not None
    assert (len(long), long.warnings) == (len(whole.times), whole.warnings)
    for rows in (np.arange(len(long)), np.arange(17, 40), np.array([0, 3, 4, 5, len(long) - 1])):
        part = long.markers(rows)
        assert (part.names, part.rate, part.unit) == (whole.names, whole.rate, whole.unit)
        np.testing.assert_array_equal(part.times, whole.times[rows])
        np.testing.assert_array_equal(part.positions, whole.positions[rows])


def test_a_file_that_is_read_in_parts_can_be_sent_to_another_process(tmp_path: Path) -> None:
    path = tmp_path / "take.trc"
    path.write_bytes(trc())
    sent = pickle.loads(pickle.dumps(capture.open_long(path)))
    np.testing.assert_array_equal(sent.markers(np.arange(5)).positions, capture.read(path).positions[:5])


def test_megabytes_between_two_rows_are_no_take(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They would be read at once."""
    monkeypatch.setattr(trc_rows, "MAX_LINE_LENGTH", 5000)
    path = tmp_path / "take.trc"
    path.write_bytes(trc().replace(b"\n50\t", b"\n" * 6000 + b"\n50\t"))
    with pytest.raises(CaptureError, match="without a frame, expected rows"):
        capture.open_long(path)


def test_unit_axis_and_rate_are_those_that_are_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "take.trc"
    path.write_bytes(trc())
    whole = capture.read(path, unit="m", up="x", rate=50.0)
    long = capture.open_long(path, unit="m", up="x", rate=50.0)
    assert long is not None
    part = long.select(slice(10, 20)).markers(np.arange(10))
    np.testing.assert_array_equal(part.positions, whole.positions[10:20])
    np.testing.assert_array_equal(part.times, whole.times[10:20])


def test_a_damaged_row_is_named_by_its_line_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "take.trc"
    lines = trc().split(b"\n")
    row = next(number for number, line in enumerate(lines) if line.startswith(b"50\t"))
    lines[row] = lines[row].replace(b"\t", b"\tx", 3)
    path.write_bytes(b"\n".join(lines))
    with pytest.raises(CaptureError, match=f"line {row + 1}, column") as reported:
        capture.open_long(path)
    with pytest.raises(CaptureError) as told_of_the_whole:
        capture.read(path)
    assert str(reported.value) == str(told_of_the_whole.value)


def test_a_file_that_becomes_shorter_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "take.c3d"
    path.write_bytes(c3d())
    long = capture.open_long(path)
    assert long is not None
    path.write_bytes(c3d()[:-2000])
    with pytest.raises(CaptureError, match="has become shorter"):
        long.markers(np.arange(len(long)))


def test_more_frames_than_a_take_has_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "take.c3d"
    file = stand_ins.c3d(30, 2)
    file.parameters.append(("POINT", "LONG_FRAMES", b"\x04\x00" + file.real(3e7)))
    path.write_bytes(file.bytes())
    with path.open("r+b") as sparse:
        sparse.truncate(path.stat().st_size + int(3e7) * 32)
    with pytest.raises(CaptureError, match="30000000 frames, expected 20000000 at most"):
        capture.open_long(path)


@pytest.mark.parametrize("name", ["floats.c3d", "y_up.trc"])
def test_a_capture_with_fewer_frames_than_asked_for_is_not_opened(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(FILES[name])
    assert capture.open_long(path, min_frames=90) is not None
    assert capture.open_long(path, min_frames=91) is None


@pytest.mark.parametrize(
    ("name", "content"),
    [("mac.trc", trc().replace(b"\n", b"\r")), ("table.csv", b"time,a.x,a.y,a.z\n0,1,2,3\n1,2,3,4\n")],
    ids=["mac", "table"],
)
def test_what_cannot_be_read_in_parts_is_read_at_once(name: str, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert capture.open_long(path) is None
    assert len(capture.read(path).times)
