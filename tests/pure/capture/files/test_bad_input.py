"""Bad captures, each reported in one sentence: the file, where it is bad, what was found and what was expected."""

import json
import os
import struct
import sys
import tracemalloc
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from knuckle import capture
from knuckle.capture import formats
from knuckle.capture.cleaning import Cleaning, clean
from knuckle.capture.summary import summary
from knuckle.errors import CaptureError
from knuckle.tests.pure.capture.files import samples

Make = Callable[[], bytes]


def edited(make: Make, old: str, new: str, times: int = -1) -> Make:
    """The sample with some text replaced, which must be in it."""

    def build() -> bytes:
        data = make()
        assert old.encode() in data
        return data.replace(old.encode(), new.encode(), times)

    return build


def patched(make: Make, place: int, new: bytes) -> Make:
    """The sample with some bytes overwritten."""
    return lambda: make()[:place] + new + make()[place + len(new) :]


def cut(make: Make, size: int) -> Make:
    return lambda: make()[:size]


def unseen(make: Callable[[samples.Floats], bytes]) -> Make:
    return lambda: make(np.full((4, 2, 3), np.nan))


def lost_c3d() -> bytes:
    points = samples.c3d_points(samples.path())
    points[..., 3] = -1
    return samples.C3D(points, list("ABC")).bytes()


def c3d_with(**changes: object) -> Make:
    return lambda: samples.C3D(samples.c3d_points(samples.path()), list("ABC"), **changes).bytes()  # type: ignore[arg-type]


def line_of(make: Make, number: int, change: Callable[[str], str]) -> Make:
    """The sample with one line, counted from 1, changed."""

    def build() -> bytes:
        lines = make().decode().split("\n")
        lines[number - 1] = change(lines[number - 1])
        return "\n".join(lines).encode()

    return build


def text(content: str) -> Make:
    return content.encode


BAD: list[tuple[str, Make, str]] = [
    # Any file
    ("empty.c3d", text(""), "empty.c3d: the file is empty (0 bytes), expected a capture"),
    ("blank.json", text(" \n\n\t"), "blank.json: the file is empty (4 bytes), expected a capture"),
    (
        "zeros.c3d",
        lambda: bytes(65536),
        "zeros.c3d: the file is empty (its first 65536 bytes are blank), expected a capture",
    ),
    (
        "notes.docx",
        text("Dear all,"),
        "notes.docx: the format is not known, expected C3D, WebXR handpose, TRC, "
        "Qualisys TSV, Motive CSV, BVH, JSON, raw take, table, FBX, glTF, USD",
    ),
    (
        "junk.trc",
        lambda: bytes(range(1, 256)) * 40,
        "junk.trc: the suffix is .trc, but the content does not start as TRC (PathFileType …) does",
    ),
    (
        "hand.tsv",
        text("hello\tworld\n"),
        "hand.tsv: the suffix is .tsv, but the content does not start as Qualisys TSV (NO_OF_FRAMES …) or table "
        "(time,wrist.x,wrist.y,wrist.z …) does",
    ),
    (
        "take.csv",
        text("a,b\n1,2\n"),
        "take.csv: the suffix is .csv, but the content does not start as Motive CSV (Format Version …) or table "
        "(time,wrist.x,wrist.y,wrist.z …) does",
    ),
    (
        "photo.bvh",
        lambda: b"\x89PNG\r\n\x1a\n" + bytes(99),
        "photo.bvh: the suffix is .bvh, but the content does not start as BVH (HIERARCHY …) does",
    ),
    # C3D
    ("short.c3d", cut(samples.c3d, 300), "short.c3d: 300 bytes, a C3D file has at least a header of 512"),
    (
        "header.c3d",
        cut(samples.c3d, 512),
        "header.c3d: the header puts the parameters at block 2, the file has 1 blocks",
    ),
    (
        "far.c3d",
        patched(samples.c3d, 0, b"\x3c"),
        "far.c3d: the header puts the parameters at block 60, the file has 3 blocks",
    ),
    (
        "cut.c3d",
        cut(samples.c3d, 1200),
        "cut.c3d: 12 frames of 3 points need 576 bytes, the file has 176 after its header",
    ),
    (
        "processor.c3d",
        patched(samples.c3d, 515, b"\x07"),
        "processor.c3d: processor type 7 in the parameter section, expected 84 (Intel), 85 (DEC) or 86 (MIPS)",
    ),
    (
        "frames.c3d",
        c3d_with(header_frames=60_000),
        "frames.c3d: 60000 frames of 3 points need 2880000 bytes, the file has 576 after its header",
    ),
    (
        "points.c3d",
        patched(samples.c3d, 2, b"\xff\xff"),
        "points.c3d: 12 frames of 65535 points need 12582720 bytes, the file has 576 after its header",
    ),
    (
        "none.c3d",
        lambda: samples.C3D(np.zeros((3, 0, 4)), ["A"]).bytes() + bytes(64),
        "none.c3d: the header names no points, expected at least one",
    ),
    (
        "backwards.c3d",
        patched(samples.c3d, 6, struct.pack("<2H", 50, 10)),
        "backwards.c3d: the header counts from frame 50 to 10, expected at least one frame",
    ),
    (
        "block.c3d",
        patched(samples.c3d, 16, struct.pack("<H", 99)),
        "block.c3d: the header puts the points at block 99, expected 2 to 3, the last",
    ),
    (
        "scale.c3d",
        lambda: samples.c3d().replace(struct.pack("<f", -0.1), struct.pack("<f", np.nan)),
        "scale.c3d: the scale of the points is nan, expected a number that is not 0",
    ),
    (
        "feet.c3d",
        c3d_with(units="feet"),
        "feet.c3d: the unit of length is 'feet', expected m, dm, cm, mm or inch, or a chosen unit",
    ),
    ("lost.c3d", lost_c3d, "lost.c3d: no marker has a position in any of the 12 frames, expected at least one"),
    (
        "section.c3d",
        patched(samples.c3d, 524, b"\xff\x7f"),
        "section.c3d: the parameter section is damaged at byte 516, "
        "the record there runs past the section's end at byte 1024",
    ),
    # TRC
    (
        "header.trc",
        text("PathFileType\t4\n"),
        "header.trc: no line with DataRate in the header, expected the names of its fields",
    ),
    (
        "labels.trc",
        edited(samples.trc, "Frame#", "Bild"),
        "labels.trc: no line that starts with Frame#, expected the labels of the markers",
    ),
    (
        "columns.trc",
        lambda: b"\n".join(
            line.rsplit(b"\t", 3)[0] if line[:1].isdigit() and b"mm" not in line else line
            for line in samples.trc().split(b"\n")
        ),
        "columns.trc, line 7: 8 columns, 3 markers need 11",
    ),
    (
        "half.trc",
        line_of(samples.trc, 9, lambda line: "\t".join(line.split("\t")[:4])),
        "half.trc, line 9: 4 columns, 3 markers need 11",
    ),
    (
        "word.trc",
        line_of(samples.trc, 8, lambda line: line.rsplit("\t", 1)[0] + "\tabc"),
        "word.trc, line 8, column 11: 'abc', expected a number or a blank",
    ),
    (
        "unit.trc",
        edited(samples.trc, "\tmm\t", "\tfurlongs\t"),
        "unit.trc: the unit of length is 'furlongs', expected m, dm, cm, mm or inch, or a chosen unit",
    ),
    (
        "rows.trc",
        lambda: b"\n".join(samples.trc().split(b"\n")[:6]),
        "rows.trc: no frames found, expected at least one",
    ),
    (
        "unseen.trc",
        unseen(samples.trc),
        "unseen.trc: no marker has a position in any of the 4 frames, expected at least one",
    ),
    (
        "nan.trc",
        lambda: samples.trc(np.full((4, 2, 3), np.nan)).replace(b"\t\t\t\n", b"\tNaN\tNaN\tNaN\n"),
        "nan.trc: no marker has a position in any of the 4 frames, expected at least one",
    ),
    # Qualisys
    (
        "names.tsv",
        edited(samples.qualisys, "MARKER_NAMES", "MARKER_TITLES"),
        "names.tsv: the header has no MARKER_NAMES, expected a name per marker",
    ),
    (
        "bodies.tsv",
        edited(samples.qualisys, "DATA_INCLUDED\t3D", "DATA_INCLUDED\t6D"),
        "bodies.tsv: the data included is '6D', expected 3D markers",
    ),
    (
        "less.tsv",
        edited(samples.qualisys, "m0\tm1\tm2", "m0\tm1\tm2\tm3"),
        "less.tsv, line 7: 11 columns, 4 markers need 14",
    ),
    (
        "more.tsv",
        edited(samples.qualisys, "m0\tm1\tm2\r", "m0\tm1\r"),
        "more.tsv, line 7: 11 columns, 2 markers need 8",
    ),
    ("binary.tsv", lambda: samples.qualisys()[:200] + bytes(range(256)) * 4, "binary.tsv, line"),
    (
        "zero.tsv",
        unseen(samples.qualisys),
        "zero.tsv: no marker has a position in any of the 4 frames, expected at least one",
    ),
    # Motive
    (
        "titles.csv",
        edited(samples.motive, "Frame,Time", "Bild,Zeit"),
        "titles.csv: no line that starts with Frame, expected the titles of the columns",
    ),
    (
        "bodies.csv",
        edited(samples.motive, "Marker,", "Bone,"),
        "bodies.csv, line 8: no columns of type Marker, expected exported markers",
    ),
    (
        "units.csv",
        edited(samples.motive, "Units,Meters", "Units,Parsecs"),
        "units.csv: the unit of length is 'Parsecs', expected m, dm, cm, mm or inch, or a chosen unit",
    ),
    ("word.csv", line_of(samples.motive, 10, lambda line: line[:-8] + "left"), "word.csv, line 10, column 22: "),
    # Plain tables
    ("missing.csv", text("time,A.x,A.y\n0,1,2\n"), "missing.csv, line 1: no column 'A.z', expected x, y and z"),
    (
        "picture.csv",
        text("time,A.x,A.y\n0,1,2\n"),
        "picture.csv, line 1: no column 'A.z', expected x, y and z: landmarks in a picture are read from MediaPipe "
        "JSON, with 'width' and 'height' of the picture beside 'frames'",
    ),
    (
        "pointer.csv",
        text("version https://git-lfs.github.com/spec/v1\noid sha256:22bb\nsize 75047961\n"),
        "pointer.csv: a Git LFS pointer, not the file itself, fetch it with 'git lfs pull'",
    ),
    (
        "twice.csv",
        text("time,A.x,A.y,A.y\n0,1,2,3\n"),
        "twice.csv, line 1: the column 'A.y' occurs twice, expected it once",
    ),
    ("alone.csv", text("time\n0\n1\n"), "alone.csv: no markers found, expected at least one"),
    (
        "times.csv",
        text("time,A.x,A.y,A.z\nnan,1,2,3\nnan,1,2,3\n"),
        "times.csv: none of the 2 frames has a time, expected seconds",
    ),
    # BVH
    (
        "hand.bvh",
        text("HIERARCHY\n"),
        "hand.bvh: no line MOTION after the hierarchy, expected the frames of the motion",
    ),
    (
        "joints.bvh",
        text("HIERARCHY\nMOTION\n"),
        "joints.bvh, line 2: MOTION before any joint, expected ROOT and its joints",
    ),
    (
        "crowd.bvh",
        lambda: b"HIERARCHY\n" + b"ROOT a\n{\n" * 5000,
        "crowd.bvh, line 8194: over 4096 joints, expected a skeleton with fewer",
    ),
    (
        "offset.bvh",
        edited(samples.bvh, "OFFSET 9.0 0.0", "OFFSET 9.0 x"),
        "offset.bvh, line 8: an offset of '9.0 x 0.0', expected three numbers",
    ),
    (
        "channel.bvh",
        edited(samples.bvh, "Xposition", "Wposition"),
        "channel.bvh, line 5: a channel 'Wposition', expected one such as Xposition or Zrotation",
    ),
    (
        "channels.bvh",
        edited(samples.bvh, "CHANNELS 6", "CHANNELS 7"),
        "channels.bvh, line 5: '7' channels stated, but 6 named, expected equal numbers",
    ),
    ("row.bvh", line_of(samples.bvh, 24, lambda line: line[:-4]), "row.bvh, line 24: 11 columns, 12 channels need 12"),
    (
        "time.bvh",
        edited(samples.bvh, "Frame Time: 0.0333333", "Frame Time: soon"),
        "time.bvh, line 23: a frame time of 'soon', expected seconds",
    ),
    (
        "end.bvh",
        text("HIERARCHY\nEnd Site\n"),
        "end.bvh, line 2: an end site outside of any joint, expected ROOT before it",
    ),
    (
        "words.bvh",
        edited(samples.bvh, "MOTION", "MOVEMENT"),
        "words.bvh, line 21: 'MOVEMENT', expected a joint, its OFFSET, its CHANNELS or a bracket",
    ),
    (
        "still.bvh",
        text("HIERARCHY\nROOT a\n{\n OFFSET 0 0 0\n CHANNELS 0\n}\nMOTION\nFrames: 1\nFrame Time: 1\n"),
        "still.bvh: no channels in the hierarchy, expected at least one",
    ),
    # JSON
    ("cut.json", cut(samples.webxr, 2000), "cut.json, line 1, column 2001: not JSON, "),
    ("bytes.json", lambda: b'{"frames": "\xff\xfe\xfa"}', "bytes.json: byte 12 is not UTF-8 text, expected JSON"),
    (
        "deep.json",
        lambda: b"[" * 100_000 + b"]" * 100_000,
        "deep.json: brackets are nested more than 64 deep, expected a recording of hands",
    ),
    (
        "other.json",
        text('{"name": "knuckle", "version": 3}'),
        "other.json: JSON without hands, expected Leap frames, 25 or 26 WebXR joints or 21 MediaPipe world landmarks",
    ),
    ("number.json", text("[" + "9" * 100_000 + "]"), "number.json: JSON without hands, "),
    ("empty.json", text('{"frames": []}'), "empty.json: JSON without hands, "),
    (
        "nohands.json",
        text('[{"timestamp": 5, "hands": [], "pointables": []}]'),
        "nohands.json: no hand in any of the 1 frames, expected at least one",
    ),
    (
        "rarely.json",
        lambda: json.dumps({"frames": [*json.loads(samples.mediapipe(1))["frames"], *[{"hands": []}] * 40]}).encode(),
        "rarely.json: no hand is seen in 5% of the 41 frames or more, expected at least one",
    ),
    (
        "crowd.json",
        lambda: b'[{"hands": [' + b",".join([str(samples.landmarks().tolist()).encode()] * 40) + b"]}]",
        "crowd.json, frame 1: 40 different hands, expected 16 at most",
    ),
    ("nan.json", lambda: samples.mediapipe().replace(b"0.", b"NaN, 0."), "nan.json, line 1, column "),
    # Handpose
    (
        "cut.handpose",
        cut(samples.handpose, 3000),
        "cut.handpose: 3000 bytes, expected 3404 for a handpose of two hands with 25 joints",
    ),
    (
        "long.handpose",
        lambda: samples.handpose() * 2,
        "long.handpose: 6808 bytes, expected 3404 for a handpose of two hands with 25 joints",
    ),
]


@pytest.mark.parametrize(("name", "make", "sentence"), BAD, ids=[name for name, _, _ in BAD])
def test_bad_files_are_reported_in_one_sentence(tmp_path: Path, name: str, make: Make, sentence: str) -> None:
    file = tmp_path / name
    file.write_bytes(make())
    with warnings.catch_warnings(), pytest.raises(CaptureError) as reported:
        warnings.simplefilter("error")
        capture.read(file)
    assert str(reported.value).startswith(sentence)
    assert str(reported.value).isprintable()
    assert len(str(reported.value)) < 250


def reported(file: Path, **options: Any) -> str:
    with pytest.raises(CaptureError) as error:
        capture.read(file, **options)
    return str(error.value)


def test_paths_without_a_readable_file_are_reported(tmp_path: Path) -> None:
    missing = tmp_path / "none.c3d"
    assert reported(missing) == f"none.c3d: no such file at {missing}"
    (tmp_path / "folder.trc").mkdir()
    assert reported(tmp_path / "folder.trc") == "folder.trc: a folder or a device, expected a capture file"
    assert reported(tmp_path / ("x" * 300)).endswith("cannot be opened, file name too long")
    assert reported(Path("/dev/null/hand.c3d")).endswith("cannot be opened, not a directory")
    assert reported(Path("/dev/zero")) == "zero: a folder or a device, expected a capture file"
    assert "cannot be opened" in reported(Path("a\0b.c3d"))


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser can read every file")
def test_a_file_that_may_not_be_read_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "secret.c3d"
    file.write_bytes(samples.c3d())
    file.chmod(0)
    assert reported(file) == "secret.c3d: cannot be opened, permission denied"


def test_options_that_are_not_known_are_reported(tmp_path: Path) -> None:
    file = tmp_path / "hand.c3d"
    file.write_bytes(samples.c3d())
    assert reported(file, unit="foot") == "hand.c3d: the unit 'foot' is not known, expected auto, m, dm, cm, mm, inch"
    assert reported(file, up="up") == "hand.c3d: the up axis 'up' is not known, expected auto, x, y, z, -x, -y, -z"


def test_a_unit_that_is_not_known_can_be_given(tmp_path: Path) -> None:
    file = tmp_path / "feet.c3d"
    file.write_bytes(c3d_with(units="feet")())
    assert capture.read(file, unit="cm").unit == "cm"


@pytest.mark.parametrize("name", [name for name in samples.ALL if name != "hand.handpose"])
def test_a_single_frame_is_a_capture(tmp_path: Path, name: str) -> None:
    makes: dict[str, Make] = {
        "hand.c3d": lambda: samples.C3D(samples.c3d_points(samples.path(1)), list("ABC")).bytes(),
        "integers.c3d": lambda: samples.C3D(samples.c3d_points(samples.path(1)), list("ABC"), 85, 0.1).bytes(),
        "hand.trc": lambda: samples.trc(samples.path(1)),
        "hand.tsv": lambda: samples.qualisys(samples.path(1)),
        "motive.csv": lambda: samples.motive(samples.path(1)),
        "table.csv": lambda: samples.table(samples.path(1)),
        "hand.bvh": lambda: b"\n".join(samples.bvh().split(b"\n")[:24]),
        "webxr.json": lambda: samples.webxr(1),
        "mediapipe.json": lambda: samples.mediapipe(1),
        "leap.json": lambda: samples.leap(1),
        "packed.json": lambda: samples.leap(1, packed=True),
    }
    file = tmp_path / name
    file.write_bytes(makes[name]())
    markers = capture.read(file)
    assert len(markers.times) == 1
    assert markers.rate > 0


@pytest.mark.parametrize("name", samples.ALL)
@pytest.mark.parametrize("wrong", [".c3d", ".trc", ".csv", ".tsv", ".bvh", ".json", ".dat", ""])
def test_a_wrong_suffix_does_not_matter(tmp_path: Path, name: str, wrong: str) -> None:
    right, other = tmp_path / name, tmp_path / f"capture{wrong}"
    right.write_bytes(samples.ALL[name]())
    other.write_bytes(right.read_bytes())
    np.testing.assert_array_equal(capture.read(other).positions, capture.read(right).positions)


def peak(file: Path) -> int:
    """Bytes in use at most while a bad file is read."""
    tracemalloc.start()
    try:
        capture.read(file)
    except CaptureError:
        pass
    finally:
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    return most


def wide_trc() -> bytes:
    """Many labels and very short rows."""
    labels = "\t\t\t".join(f"m{index}" for index in range(20_000))
    return samples.trc().split(b"Frame#")[0] + f"Frame#\tTime\t{labels}\n\n".encode() + b"1\t0\t1\t1\t1\n" * 20_000


def empty_frames() -> bytes:
    return b'{"frames":[' + samples.mediapipe(1)[24:-2] + b",{}" * 300_000 + b"]}"


def still_joints() -> bytes:
    """Many joints without channels and many short rows."""
    joints = b"JOINT a\n{\nOFFSET 1 1 1\nCHANNELS 0\n}\n" * 4000
    head = (
        b"HIERARCHY\nROOT r\n{\nOFFSET 0 0 0\nCHANNELS 1 Xrotation\n"
        + joints
        + b"}\nMOTION\nFrames: 9\nFrame Time: 1\n"
    )
    return head + b"0\n" * 100_000


def long_records() -> bytes:
    """Parameters that each claim to be as large as a parameter can be."""
    record = struct.pack("bb", 1, 1) + b"A" + struct.pack("<hbB", 6, -1, 3) + b"\xff\xff\xff"
    section = struct.pack("4B", 1, 0x50, 255, 84) + record * 20_000
    return samples.c3d()[:512] + section.ljust(400 * 512, b"\0")


BOMBS: dict[str, Make] = {
    "frames.c3d": c3d_with(header_frames=65_000),
    "points.c3d": patched(samples.c3d, 2, b"\xff\xff"),
    "records.c3d": long_records,
    "wide.trc": wide_trc,
    "count.trc": edited(samples.trc, "\t12\t3\t", "\t99999999999\t99999999999\t"),
    "count.tsv": edited(samples.qualisys, "FRAMES\t12", "FRAMES\t999999999999"),
    "frames.bvh": edited(samples.bvh, "Frames: 3", "Frames: 99999999999"),
    "still.bvh": still_joints,
    "empty.json": empty_frames,
    "deep.json": lambda: b"[" * 500_000,
    "lists.json": lambda: b"[" + b"[]," * 300_000 + b"[]]",
    "hands.json": lambda: b'{"hands":[' + b"{}," * 300_000 + b"{}]}",
    "digits.json": lambda: b"[" + b"9" * 1_000_000 + b"]",
    "tabs.trc": lambda: samples.trc() + b"\t" * 1_000_000,
    "lines.csv": lambda: samples.table() + b"\n" * 1_000_000,
}


@pytest.mark.parametrize("name", BOMBS)
def test_memory_is_bounded_by_the_size_of_the_file(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.write_bytes(BOMBS[name]())
    limit = 5_000_000 + 60 * file.stat().st_size
    used = peak(file)
    assert used < limit, f"{used / 1e6:.0f} MB > {limit / 1e6:.0f} MB for a file of {file.stat().st_size / 1e6:.1f} MB"


def mutated(data: bytes, rng: np.random.Generator) -> bytes:
    """The file with some bits flipped, bytes replaced, a stretch lost, doubled or moved, or its end cut off."""
    changed = bytearray(data)
    for _ in range(int(rng.integers(1, 6))):
        if not changed:
            break
        at, length = int(rng.integers(len(changed))), int(rng.integers(1, 40))
        kind = int(rng.integers(7))
        if kind == 0:
            changed[at] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            changed[at] = int(rng.choice([0, 255, 127, 128, *b' \t\n,;.:-+eE0919{}[]"nNaA']))
        elif kind == 2:
            del changed[at : at + length]
        elif kind == 3:
            changed[at:at] = changed[at : at + length]
        elif kind == 4:
            changed[at : at + length] = rng.bytes(length)
        elif kind == 5:
            changed[at:at] = [b"1e308", b"-1e-320", b"nan", b"inf", b"\t\t", b"null", b"{}", b"[]", b"9" * 30][
                int(rng.integers(9))
            ]
        else:
            del changed[at:]
    return bytes(changed)


@pytest.mark.parametrize("name", samples.ALL)
def test_damaged_files_give_markers_or_one_sentence(tmp_path: Path, name: str) -> None:
    whole = samples.ALL[name]()
    rng = np.random.default_rng(sum(name.encode()))
    file = tmp_path / name
    read = 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(250):
            file.write_bytes(mutated(whole, rng))
            try:
                markers = capture.read(file)
            except CaptureError as error:
                assert str(error).startswith(f"{name}")
                assert str(error).isprintable()
                assert len(str(error)) < 250
            else:
                read += 1
                clean(markers, Cleaning(cutoff=6.0))
                json.dumps(summary(markers), allow_nan=False)
    assert 0 < read < 250


RAW_TAKE = b'KNUCKLE RAW TAKE 2\n{"device": "quest"}\n'


@pytest.mark.parametrize("head", [*(make() for make in samples.ALL.values()), RAW_TAKE], ids=[*samples.ALL, "raw take"])
def test_a_file_of_terabytes_is_refused_before_it_is_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, head: bytes
) -> None:
    """The file is sparse: it takes no room on the disk, and reading all of it would never end."""
    small = tuple(replace(each, max_size=2**20) for each in formats.FORMATS)
    monkeypatch.setattr(formats, "FORMATS", small)
    with (tmp_path / "large").open("wb") as file:
        file.write(head)
        file.truncate(2**40)
    tracemalloc.start()
    try:
        assert reported(tmp_path / "large").startswith("large: larger than 1 MiB, the most for ")
        assert tracemalloc.get_traced_memory()[1] < 4 * 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.skipif(sys.platform != "linux", reason="this system's names of files are Unicode")
@pytest.mark.parametrize("name", [b"caf\xe9.json", b"caf\xe9/hand.json"])
def test_a_name_of_other_bytes_than_utf_8_is_reported(tmp_path: Path, name: bytes) -> None:
    """Archives of other systems unpack to such names, which Blender's names and reports reject."""
    path = tmp_path / os.fsdecode(name)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(samples.c3d())
    message = reported(path)
    assert "the path is not UTF-8" in message
    assert message.encode()


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("hand.csv", lambda: b"time,a.x,a.y,a.z\n" + b"\n" * 5_000_000, "has over 4000000 lines"),
        ("hand.trc", lambda: b"PathFileType\t4\r" + b"\r" * 5_000_000, "has over 4000000 lines"),
        ("hand.bvh", lambda: b"HIERARCHY\n" + b"ROOT a { " * 2_000_000, "line 2: 18000000 characters"),
        ("hand.json", lambda: b"[" + b"{}," * 7_000_000, "has over 12000000 values"),
        ("hand.handpose", lambda: b'{"joints":[' + b"1," * 13_000_000, "has over 12000000 values"),
    ],
    ids=["csv", "trc", "bvh", "json", "handpose"],
)
def test_what_would_take_many_times_its_size_in_memory_is_reported(
    tmp_path: Path, name: str, content: Make, problem: str
) -> None:
    """A file of 250 MiB of such took seven gigabytes, and over a minute."""
    path = tmp_path / name
    path.write_bytes(content())
    tracemalloc.start()
    try:
        assert problem in reported(path)
        assert tracemalloc.get_traced_memory()[1] < 5 * path.stat().st_size + 2**20
    finally:
        tracemalloc.stop()
