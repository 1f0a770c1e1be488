"""TRC, Qualisys TSV, Motive CSV and plain tables: values as they stand in the text, whatever the writer's habits."""

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from knuckle import capture
from knuckle.capture.markers import Floats
from knuckle.errors import CaptureError
from knuckle.tests.pure.capture.files import samples

NAN = [float("nan")] * 3


def written(folder: Path, name: str, data: bytes) -> Path:
    file = folder / name
    file.write_bytes(data)
    return file


def cell(file: Path, line: int, marker: int) -> list[float]:
    """x, y and z of a marker in a line of a table with frame and time in front, as their text says."""
    cells = file.read_text().splitlines()[line - 1].split("\t")[2 + 3 * marker :][:3]
    return [float(text) if text.strip() else float("nan") for text in cells]


@pytest.mark.parametrize(
    ("name", "shape", "metres", "rate"),
    [
        ("dataWithBlanksForMissingMarkers.trc", (464, 40), 0.001, 250.0),
        ("dataWithEformat.trc", (5, 14), 1.0, 119.88),
        ("exampleFormat.trc", (5, 3), 1.0, 100.0),
        ("futureMarkerPreviewData.trc", (73, 31), 1.0, 60.0),
        ("gait10dof18musc_walk_CRLF_line_ending.trc", (10, 41), 0.001, 60.0),
        ("init100.trc", (120, 22), 0.001, 120.0),
        ("std_walking2_markers.trc", (126, 44), 0.001, 25.0),
    ],
)
def test_trc_files_of_many_writers(shared: Path, name: str, shape: tuple[int, int], metres: float, rate: float) -> None:
    frames, markers = shape
    file = shared / "data/trc" / name
    read = capture.read(file, up="z")
    assert (len(read.times), len(read.names)) == shape
    assert read.rate == pytest.approx(rate, rel=0.002)
    text = file.read_text().splitlines()
    first = next(index for index in range(5, 12) if text[index].strip() and text[index].split()[0].isdigit()) + 1
    for frame in (0, frames // 2, frames - 1):
        for marker in (0, markers // 2, markers - 1):
            expected = np.array(cell(file, first + frame, marker)) * metres
            np.testing.assert_allclose(read.positions[frame, marker], expected, rtol=1e-12)


def test_trc_nan_spellings_and_blanks_are_gaps(shared: Path) -> None:
    read = capture.read(shared / "data/trc/exampleFormat.trc")
    assert (~read.seen).sum() == 2
    assert not read.seen[0, 0]
    assert not read.seen[2, 1]


@pytest.mark.parametrize(
    ("name", "up"),
    [
        ("dataWithBlanksForMissingMarkers.trc", "z"),
        ("gait10dof18musc_walk_CRLF_line_ending.trc", "y"),
        ("futureMarkerPreviewData.trc", "y"),
        ("init100.trc", "z"),
        ("std_walking2_markers.trc", "z"),
    ],
)
def test_trc_bodies_come_out_standing(shared: Path, name: str, up: str) -> None:
    """Which axis is up was read off the heights of the labels: heels and toes low, shoulders and head high."""
    file = shared / "data/trc" / name
    np.testing.assert_array_equal(capture.read(file).positions, capture.read(file, up=up).positions)


def test_trc_with_wrong_counts_follows_its_data(tmp_path: Path) -> None:
    text = samples.trc(frames=999).replace(b"\t3\tmm", b"\t7\tmm")
    read = capture.read(written(tmp_path, "hand.trc", text))
    assert read.positions.shape == (12, 3, 3)
    assert "the header says 999 frames, the data holds 12" in read.warnings
    assert "the header says 7 markers, the data holds 3" in read.warnings


def test_trc_with_doubled_tabs_and_carriage_returns(tmp_path: Path) -> None:
    lines = samples.trc().decode().splitlines()
    doubled = [
        *lines[:3],
        lines[3].replace("\t\t\t", "\t"),
        lines[4],
        *(line.replace("\t", "\t\t") for line in lines[6:]),
    ]
    read = capture.read(written(tmp_path, "hand.trc", "\r\n".join(doubled).encode()), up="z")
    np.testing.assert_allclose(read.positions, samples.path(), atol=1e-9)


def test_a_trc_named_csv_is_read_by_its_content(tmp_path: Path) -> None:
    assert capture.read(written(tmp_path, "hand.csv", samples.trc())).format == "TRC"


def test_times_rounded_to_milliseconds_are_put_back_on_the_grid(tmp_path: Path) -> None:
    text = samples.trc(samples.path(30), rate=60.0).decode().splitlines()
    for index in range(6, len(text)):
        cells = text[index].split("\t")
        cells[1] = f"{float(cells[1]):.3f}"
        text[index] = "\t".join(cells)
    read = capture.read(written(tmp_path, "hand.trc", "\n".join(text).encode()))
    np.testing.assert_allclose(read.times, np.arange(30) / 60, atol=1e-9)
    assert read.rate == pytest.approx(60.0)


def test_timestamps_beat_the_nominal_rate(tmp_path: Path) -> None:
    text = samples.trc(samples.path(30), rate=50.0).replace(b"50.00\t50.00", b"200.00\t200.00")
    read = capture.read(written(tmp_path, "hand.trc", text))
    assert read.rate == pytest.approx(50.0)
    assert read.duration == pytest.approx(29 / 50)


def test_frames_out_of_order_are_dropped_and_reported(tmp_path: Path) -> None:
    rows = samples.table().decode().splitlines()
    rows[5] = "1e9," + rows[5].split(",", 1)[1]
    rows[8] = rows[8].replace(rows[8].split(",")[0], rows[7].split(",")[0], 1)
    read = capture.read(written(tmp_path, "table.csv", "\n".join(rows).encode() + b"\n"))
    assert len(read.times) == 10
    assert any("2 of 12 frames were dropped" in warning for warning in read.warnings)


def test_qualisys_glove(shared: Path) -> None:
    file = shared / "data/captures/qualisys_glove.tsv"
    read = capture.read(file)
    assert (len(read.times), len(read.names), read.rate, read.unit) == (6000, 21, 100.0, "mm")
    assert read.names[:3] == ("hand_top", "hand_left", "hand_right")
    text = file.read_text().splitlines()[12:]
    for frame in (0, 2999, 5999):
        numbers = np.array([float(word or 0) for word in text[frame].split("\t")[2:65]]).reshape(21, 3)
        numbers[(numbers == 0).all(axis=1)] = np.nan
        np.testing.assert_allclose(read.positions[frame], numbers / 1000, rtol=1e-12)
    whole = np.array([[float(word or 0) for word in line.split("\t")[2:65]] for line in text]).reshape(6000, 21, 3)
    gaps = ((whole == 0) | np.isnan(whole)).all(axis=-1).sum()
    assert (~read.seen).sum() == gaps


def test_qualisys_zeros_and_blanks_are_gaps(tmp_path: Path) -> None:
    lines = samples.qualisys().decode().split("\r\n")
    lines[7] = lines[7].split("\t", 5)[0] + "\t0.01\t0.000\t0.000\t0.000\t1.0\t0.0\t2.0\t\t\t"
    read = capture.read(written(tmp_path, "hand.tsv", "\r\n".join(lines).encode()))
    np.testing.assert_allclose(read.positions[1], [NAN, [0.001, 0.0, 0.002], NAN])


def test_qualisys_without_frame_time_and_titles(tmp_path: Path) -> None:
    lines = samples.qualisys().decode().split("\r\n")
    bare = [*lines[:5], *(line.split("\t", 2)[2] for line in lines[6:] if line)]
    read = capture.read(written(tmp_path, "hand.tsv", "\n".join(bare).encode()))
    np.testing.assert_allclose(read.positions, samples.path(), atol=1e-9)
    assert read.rate == 100.0


def test_qualisys_keys_without_values(tmp_path: Path) -> None:
    text = samples.qualisys().replace(b"NO_OF_FRAMES\t12", b"NO_OF_FRAMES").replace(b"FREQUENCY\t100", b"FREQUENCY\t")
    assert capture.read(written(tmp_path, "hand.tsv", text)).rate == pytest.approx(100.0)


def test_motive_takes_the_measured_markers_and_nothing_else(tmp_path: Path) -> None:
    points = samples.path(markers=4)
    points[2, 1] = np.nan
    read = capture.read(written(tmp_path, "take.csv", samples.motive(points)))
    assert read.names == ("Hand:0", "Hand:1", "Hand:2", "Hand:3")
    np.testing.assert_allclose(read.positions, points[..., [0, 2, 1]] * [1, -1, 1], atol=1e-9)
    assert read.rate == pytest.approx(120.0)


def test_motive_with_a_time_code_and_centimetres(tmp_path: Path) -> None:
    """The layout of a version 1.24 export with time codes, as Motive 3 writes it."""
    text = (
        "Format Version,1.24,Capture Frame Rate,120.000000,Length Units,Centimeters\n\n"
        ',Type,,Marker,Marker,Marker,Marker,Marker,Marker\n,Name,,"A, left",A,A,B,B,B\n,ID,,"1","1","1","2","2","2"\n'
        ",,,Position,Position,Position,Position,Position,Position\nFrame,Time (Seconds),TimeCode,X,Y,Z,X,Y,Z\n"
        "0,0.000000,15:26:46:12.02,1,2,3,4,5,6\n1,0.008333,15:26:46:12.03,1,2,3,,,\n"
    ).replace('"A, left",A,A', '"A, left","A, left","A, left"')
    read = capture.read(written(tmp_path, "take.csv", text.encode()))
    assert read.names == ("A, left", "B")
    np.testing.assert_allclose(read.positions, [[[0.01, -0.03, 0.02], [0.04, -0.06, 0.05]], [[0.01, -0.03, 0.02], NAN]])


def test_motive_keeps_solved_markers_where_no_measured_ones_are(tmp_path: Path) -> None:
    text = samples.motive().replace(b",Marker,Marker,Marker", b"", 3)
    lines = text.decode().splitlines()
    kept = [",".join(line.split(",")[:13]) if index > 1 else line for index, line in enumerate(lines)]
    read = capture.read(written(tmp_path, "take.csv", "\n".join(kept).encode()))
    assert read.names == ("Hand:0",)
    np.testing.assert_allclose(read.positions, np.tile([8.0, -8.0, 8.0], (12, 1, 1)))


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_plain_table_with_columns_in_any_order(tmp_path: Path, separator: str) -> None:
    text = "\ufefftime,b.z,a.x,a.y,a.z,b.x,b.y\r\n0,6,1,2,3,4,5\r\n0.5,,1,2,nan,4,5\r\n".replace(",", separator)
    read = capture.read(written(tmp_path, "plain.txt", text.encode()))
    assert read.names == ("b", "a")
    np.testing.assert_allclose(read.positions, np.array([[[4, 5, 6], [1, 2, 3]], [NAN, NAN]]))
    assert (read.rate, read.unit) == (2.0, "m")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be"])
def test_zeros_that_a_power_failure_left_are_left_out(tmp_path: Path, encoding: str) -> None:
    mark = b"" if encoding == "utf-8" else "\ufeff".encode(encoding)
    whole = capture.read(written(tmp_path, "whole.csv", mark + samples.table().decode().encode(encoding)))
    padded = mark + samples.table().decode().encode(encoding) + bytes(5_000_000)
    path = written(tmp_path, "padded.csv", padded)
    np.testing.assert_array_equal(capture.read(path).positions, whole.positions)
    tracemalloc.start()
    try:
        capture.read(path)
        assert tracemalloc.get_traced_memory()[1] < 2.5 * len(padded), "no line is made of zeros"
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "latin-1"])
def test_labels_in_any_encoding(tmp_path: Path, encoding: str) -> None:
    text = samples.table().decode().replace("A.", "Zeigefinger_ä.")
    assert capture.read(written(tmp_path, "plain.csv", text.encode(encoding))).names[0] == "Zeigefinger_ä"


def test_a_last_line_that_is_cut_off_is_left_out_and_reported(tmp_path: Path) -> None:
    read = capture.read(written(tmp_path, "table.csv", samples.table()[:-35]))
    assert len(read.times) == 11
    assert any("line (13) is truncated" in warning for warning in read.warnings)


TABLE_LABELS = ("thumb_tip", "index_tip", "wrist", "index_mcp", "pinky_mcp")


def table_points() -> Floats:
    """(F, M, 3) m, F = 6: a hand that moves by 2 mm a frame."""
    rest = np.array([[-0.05, 0.09, 0.01], [-0.03, 0.17, 0.0], [0, 0, 0.01], [-0.03, 0.09, 0.0], [0.03, 0.08, 0.0]])
    points: Floats = rest[None] + 0.002 * np.arange(6)[:, None, None] + [0.1, 0.2, 1.0]
    return points


def titled(form: str, labels: tuple[str, ...] = TABLE_LABELS, separator: str = ",") -> str:
    """A row of titles; `form` holds n for the label, a for the axis and A for it in upper case."""
    return separator.join(form.format(n=label, a=axis, A=axis.upper()) for label in labels for axis in "xyz")


def table_rows(scale: float, lead: str = "", separator: str = ",", end: str = "") -> list[str]:
    """A line for each frame; `lead` holds i for the frame's number, from 0."""
    return [
        lead.format(i=i, t=i / 50) + separator.join(f"{value:.5f}" for value in scale * row.ravel()) + end
        for i, row in enumerate(table_points())
    ]


VICON_HEAD = [
    "Trajectories",
    "50",
    ",," + ",".join(f"Anna:{label},," for label in TABLE_LABELS),
    "Frame,Sub Frame," + "X,Y,Z," * 4 + "X,Y,Z",
    ",," + ",".join(["mm"] * 15),
]
TABLES = {
    "dashes": ([titled("{n}-{A}")], table_rows(1000), 60, "mm"),
    "underscores": (["Frame," + titled("{n}_{a}")], table_rows(1, "{i},"), 60, "m"),
    "dots": (["Time (s)," + titled("{n}.{A}")], table_rows(100, "{t},"), 50, "cm"),
    "blanks": (["time_ms," + titled("{n} {A}")], table_rows(1000, "{i}0,"), 100, "mm"),
    "colons": ([titled("{n}:{A}", separator="\t")], table_rows(1, separator="\t"), 60, "m"),
    "axis first": (["t," + titled("{a}_{n}")], table_rows(1, "{t},"), 50, "m"),
    "units": (["frame," + titled("{n}_{a} [cm]")], table_rows(100, "{i},"), 60, "cm"),
    "Vicon": (VICON_HEAD, table_rows(1000, "{i},0,"), 50, "mm"),
    "Vicon with devices": (
        ["Devices", "1000", "Frame,Sub Frame,Fx,Fy,Fz", "1,0,5,6,7", "", *VICON_HEAD],
        table_rows(1000, "{i},0,"),
        50,
        "mm",
    ),
    "rows of labels and axes": (
        ["," + titled("{n}"), "," + titled("{a}"), "frame" + "," * 15],
        table_rows(1, "{i},"),
        60,
        "m",
    ),
    "numbered axes below the labels": (
        [
            "Recorded,by,hand",
            "Frame#,Time," + ",".join(f"{label},," for label in TABLE_LABELS),
            ",," + ",".join(f"X{number},Y{number},Z{number}" for number in range(1, 6)),
        ],
        table_rows(1000, "{i},{t},"),
        50,
        "mm",
    ),
    "a comment above the axes": (
        ["# made by a script", "," + titled("{n}"), "," + titled("{a}")],
        table_rows(1, "{i},"),
        60,
        "m",
    ),
    "an index": ([",time," + titled("{n}_{a}") + ",hand"], table_rows(1, "{i},{t},", end=",Right"), 50, "m"),
    "decimal commas": (
        ["Zeit;" + titled("{n}_{a}", separator=";")],
        [row.replace(".", ",") for row in table_rows(1000, "{t};", ";")],
        50,
        "mm",
    ),
    "comments": (["# fps: 90", titled("{n}.{a}")], table_rows(1), 90, "m"),
    "white space": ([titled("{n}_{a}", separator=" ")], table_rows(1, separator=" "), 60, "m"),
    "milliseconds without a unit": (["timestamp," + titled("{n}.{a}")], table_rows(1, "{i}0,"), 100, "m"),
}


@pytest.mark.parametrize("kind", TABLES)
def test_tables_of_many_writers_hold_the_same_hand(tmp_path: Path, kind: str) -> None:
    head, rows, rate, unit = TABLES[kind]
    read = capture.read(written(tmp_path, "hand.csv", "\n".join([*head, *rows, ""]).encode()))
    assert tuple(name.rpartition(":")[2] for name in read.names) == TABLE_LABELS
    np.testing.assert_allclose(read.positions, table_points(), atol=1e-5)
    assert read.rate == pytest.approx(rate) and read.unit == unit


def test_what_was_read_is_reported(tmp_path: Path) -> None:
    text = "\n".join(["Frame," + titled("{n}_{a}") + ",error,score", *table_rows(1000, "{i},", end=",1,2"), ""])
    reported = " ".join(capture.read(written(tmp_path, "hand.csv", text.encode())).warnings)
    assert (
        "read 5 markers from columns 2 to 16 ('thumb_tip' is the first), no times; left out 'error', 'score'"
        in reported
    )
    assert "taken as mm" in reported and "taken as 60 Hz, give the rate" in reported


def test_a_table_with_rows_for_each_finger_is_reported(tmp_path: Path) -> None:
    rows = table_rows(1, "{t},")
    reported = capture.read(
        written(tmp_path, "hand.csv", "\n".join(["time," + titled("{n}.{a}"), *rows, *rows]).encode())
    )
    assert (
        "each time occurs 2 times" in reported.warnings[0] and "expected a row for each frame" in reported.warnings[0]
    )


@pytest.mark.parametrize("axis", range(3))
def test_landmarks_in_a_picture_are_no_hand_that_is_flat(tmp_path: Path, axis: int) -> None:
    """A curled hand whose depth is a thousandth of the truth, as that of landmarks in pixels, is refused."""
    points = np.random.default_rng(1).normal(0.0, 60.0, (5, 9, 3))
    points[..., axis] *= 1e-3
    head = "time," + ",".join(f"m{column}.{name}" for column in range(9) for name in "xyz")
    rows = [",".join(map(str, [index / 30, *frame.ravel()])) for index, frame in enumerate(points)]
    with pytest.raises(CaptureError, match=f"the same {'xyz'[axis]}, expected positions in space: landmarks"):
        capture.read(written(tmp_path, "flat.csv", "\n".join([head, *rows]).encode()))
    points[..., axis] *= 20
    rows = [",".join(map(str, [index / 30, *frame.ravel()])) for index, frame in enumerate(points)]
    assert len(capture.read(written(tmp_path, "thin.csv", "\n".join([head, *rows]).encode())).names) == 9


def test_the_rate_that_is_given_takes_precedence(tmp_path: Path) -> None:
    for head, lead in ((titled("{n}_{a}"), ""), ("time," + titled("{n}.{a}"), "{t},")):
        path = written(tmp_path, "hand.csv", "\n".join([head, *table_rows(1, lead), ""]).encode())
        read = capture.read(path, rate=120.0)
        np.testing.assert_allclose(read.times, np.arange(6) / 120)
        assert read.rate == 120 and not any("rate" in warning for warning in read.warnings)


def test_columns_that_are_no_positions_are_left_out(tmp_path: Path) -> None:
    labels = (*TABLE_LABELS, "wrist_rot", "wrist_vel")
    rows = [f"{row},9,9,9,8,8,8" for row in table_rows(1)]
    read = capture.read(written(tmp_path, "hand.csv", "\n".join([titled("{n}_{a}", labels), *rows, ""]).encode()))
    assert read.names == TABLE_LABELS


def test_a_comma_between_quotes_is_no_separator(tmp_path: Path) -> None:
    """FreeMoCap writes the cameras' times of a frame as a dictionary."""
    head = "timestamp,cameras," + ",".join(f"{name}_{axis}" for name in "ab" for axis in "xyz")
    rows = [f"{time},\"{{'one': 1.5, 'two': 2.5}}\",0.1,0.2,0.3,0.4,0.5,0.6" for time in (0.0, 0.02)]
    read = capture.read(written(tmp_path, "frames.csv", "\n".join([head, *rows, ""]).encode()), unit="m")
    assert read.names == ("a", "b")
    np.testing.assert_array_equal(read.positions[1], [[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]])


@pytest.mark.parametrize("form", ["{n}_{a}", "{n}{a}", "{n}{A}"])
@pytest.mark.parametrize("other", ["_r", "v", "rot", "_quat"])
def test_axes_of_rotations_and_velocities_that_are_glued_to_a_letter_are_left_out(
    tmp_path: Path, form: str, other: str
) -> None:
    case = str.upper if "A" in form else str.lower
    labels, more = (case("palm"), case("elbow")), [case(f"palm{other}{axis}") for axis in "xyz"]
    head = ",".join([titled(form, TABLE_LABELS), titled(form, labels), *more])
    rows = [f"{row},1,2,3,4,5,6,9,9,9" for row in table_rows(1)]
    read = capture.read(written(tmp_path, "hand.csv", "\n".join([head, *rows, ""]).encode()))
    assert read.names == (*TABLE_LABELS, *labels)
    assert any(f"left out '{more[0]}'" in note for note in read.warnings)


def test_a_title_that_occurs_thrice_is_no_marker(tmp_path: Path) -> None:
    head = f"{titled('{n}_{a}')},index,index,index"
    rows = [f"{row},1,2,3" for row in table_rows(1)]
    assert capture.read(written(tmp_path, "hand.csv", "\n".join([head, *rows, ""]).encode())).names == TABLE_LABELS


@pytest.mark.parametrize("form", ["{n}_{a}", "{n}.{A}", "{n} {a}", "{a}_{n}"])
def test_labels_of_one_letter_are_labels(tmp_path: Path, form: str) -> None:
    labels = ("P", "Q", "T", "r", "m")
    text = "\n".join([titled(form, labels), *table_rows(1), ""])
    assert capture.read(written(tmp_path, "hand.csv", text.encode())).names == labels


@pytest.mark.parametrize("form", ["{n}{A}", "{n}{a}"])
def test_labels_and_axes_of_one_case(tmp_path: Path, form: str) -> None:
    labels = ("IP", "RS", "MP1", "elbow", "CMC") if "A" in form else ("ip", "rs", "mp1", "elbow", "cmc")
    text = "\n".join(["matrix," + titled(form, labels) + ",indexx,INDEXY", *table_rows(1, "5,", end=",7,8"), ""])
    read = capture.read(written(tmp_path, "hand.csv", text.encode()))
    assert read.names == labels
    np.testing.assert_allclose(read.positions, table_points(), atol=1e-5)


def test_a_marker_at_zero_in_some_frames_was_not_seen(tmp_path: Path) -> None:
    points = table_points()
    points[2, 1] = 0.0
    points[:, 2] = 0.0
    rows = [",".join(f"{value:.5f}" for value in row.ravel()) for row in points]
    read = capture.read(written(tmp_path, "hand.csv", "\n".join([titled("{n}_{a}"), *rows, ""]).encode()))
    assert np.argwhere(~read.seen).tolist() == [[2, 1]]


def test_frames_in_which_no_marker_is_seen_are_no_titles(tmp_path: Path) -> None:
    blank = [f"{frame / 120:.6f}" + "," * (3 * len(TABLE_LABELS)) for frame in range(50)]
    rows = [f"{(50 + frame) / 120:.6f},{row}" for frame, row in enumerate(table_rows(1))]
    text = "\n".join(["time," + titled("{n}.{a}"), *blank, *rows, ""])
    read = capture.read(written(tmp_path, "late.csv", text.encode()))
    assert len(read.times) == 50 + len(rows)
    assert not read.seen[:50].any() and read.seen[50:].all()


def test_a_marker_without_one_of_its_axes_is_left_out(tmp_path: Path) -> None:
    text = samples.table().replace(b"B.y", b"B.w")
    read = capture.read(written(tmp_path, "table.csv", text))
    assert read.names == ("A", "C") and any("left out 'B.x', 'B.w', 'B.z'" in warning for warning in read.warnings)


@pytest.mark.parametrize("text", ["a,b,c\n1,2,3\n", "name;age;size\nx;1;2\ny;2;3\n", "x,y\n1,2\n3,4\n"])
def test_other_tables_are_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(CaptureError, match="does not start as"):
        capture.read(written(tmp_path, "other.csv", text.encode()))
