"""C3D against two other readers, against files written here, and against the files' own notes."""

from pathlib import Path

import numpy as np
import pytest

from knuckle import capture
from knuckle.errors import CaptureError
from knuckle.tests.pure.capture.files import samples

SIX = {
    "sample_01": ["Eb015pi", "Eb015pr", "Eb015si", "Eb015sr", "Eb015vi", "Eb015vr"],
    "sample_02": ["dec_int", "dec_real", "pc_int", "pc_real", "sgi_int", "sgi_real"],
}
OTHERS = [
    "sample_08/EB015PI.c3d",
    "sample_08/TESTAPI.c3d",
    "sample_08/TESTBPI.c3d",
    "sample_08/TESTCPI.c3d",
    "sample_08/TESTDPI.c3d",
    "sample_28/dynamic.C3D",
    "sample_28/standing.C3D",
    "sample_28/type1.C3D",
    "sample_33/bigparlove.c3d",
]
FILES = [f"{folder}/{name}.c3d" for folder, names in SIX.items() for name in names] + OTHERS


def worst_mm(a: samples.Floats, b: samples.Floats) -> float:
    return float(np.nanmax(np.linalg.norm(a - b, axis=-1)) * 1000)


# ezc3d reads no MIPS files, and in sample_28 it passes over the analog words, so that points come out of analog data.
@pytest.mark.parametrize("name", [name for name in FILES if not any(part in name for part in ("sgi", "15s", "_28"))])
def test_positions_are_those_of_ezc3d(shared: Path, name: str) -> None:
    assert_as_by_ezc3d(shared / "data/c3d" / name)


def test_the_glove_is_as_ezc3d_reads_it(shared: Path) -> None:
    assert_as_by_ezc3d(shared / "data/captures/two_hands_glove.c3d")


def assert_as_by_ezc3d(file: Path) -> None:
    other = pytest.importorskip("ezc3d").c3d(str(file))
    expected = other["data"]["points"][:3].transpose(2, 1, 0) / 1000
    lost = (other["data"]["meta_points"]["residuals"][0].T < 0) | (expected == 0).all(axis=-1)
    expected[lost] = np.nan
    markers = capture.read(file, unit="mm", up="z")
    assert markers.positions.shape == expected.shape
    assert (markers.seen == np.isfinite(expected).all(axis=-1)).all()
    assert worst_mm(markers.positions, expected) < 1e-3


# py-c3d raises KeyError on the two groups of the same name in sample_33, and TypeError on the glove.
@pytest.mark.parametrize("name", FILES[:-1])
@pytest.mark.filterwarnings("ignore")
def test_positions_are_those_of_py_c3d(shared: Path, name: str) -> None:
    c3d = pytest.importorskip("c3d")
    file = shared / "data/c3d" / name
    with file.open("rb") as handle:
        frames = np.array([points for _, points, _ in c3d.Reader(handle).read_frames()])
    expected = frames[..., :3].astype(np.float64) / 1000
    expected[(frames[..., 3] < 0) | (expected == 0).all(axis=-1)] = np.nan
    markers = capture.read(file, unit="mm", up="z")
    assert markers.positions.shape == expected.shape
    assert (markers.seen == np.isfinite(expected).all(axis=-1)).all()
    assert worst_mm(markers.positions, expected) < 1e-3


@pytest.mark.parametrize(("folder", "limit_mm"), [("sample_01", 0.1), ("sample_02", 0.282)])
def test_the_six_byte_orders_and_number_types_decode_alike(shared: Path, folder: str, limit_mm: float) -> None:
    """The readme of sample_02 gives a scale of 0.28 mm: an integer is off by one count of it along an axis at most."""
    read = [capture.read(shared / "data/c3d" / folder / f"{name}.c3d") for name in SIX[folder]]
    for markers in read[1:]:
        assert markers.names == read[0].names
        assert (markers.seen == read[0].seen).all()
        assert np.nanmax(np.abs(markers.positions - read[0].positions)) * 1000 <= limit_mm


def test_moved_blocks_make_no_difference(shared: Path) -> None:
    first, *moved = (capture.read(shared / "data/c3d" / name) for name in OTHERS[:5])
    for markers in moved:
        np.testing.assert_array_equal(markers.positions, first.positions)


def test_the_glove_is_upright_though_its_file_says_otherwise(shared: Path) -> None:
    markers = capture.read(shared / "data/captures/two_hands_glove.c3d")
    height = dict(zip(markers.names, np.nanmean(markers.positions, axis=0)[:, 2], strict=True))
    assert height["Human4:HEAD"] > 1.4 > height["Human4:PELV"] > 0.5 > height["Human4:LFOO"] > 0
    assert (len(markers.times), markers.rate, markers.unit) == (969, 60.0, "mm")
    assert "Human4:LIFT" in markers.names
    assert any("up is taken as Z" in warning for warning in markers.warnings)


def test_a_damaged_parameter_section_is_reported_in_one_sentence(shared: Path) -> None:
    with pytest.raises(CaptureError, match=r"^bad_parameter_section\.c3d: the parameter section is damaged at byte"):
        capture.read(shared / "data/c3d/sample_18/bad_parameter_section.c3d")


@pytest.mark.parametrize("name", ["dynamic.C3D", "standing.C3D"])
def test_a_missing_rate_and_labels_that_repeat_are_reported(shared: Path, name: str) -> None:
    markers = capture.read(shared / "data/c3d/sample_28" / name)
    said = " ".join(markers.warnings)
    assert "POINT:RATE is missing" in said
    assert "occur more than once" in said
    assert markers.rate == 100.0
    assert len(set(markers.names)) == len(markers.names)
    assert any(name.endswith("#2") for name in markers.names)


@pytest.mark.parametrize("processor", [84, 85, 86])
@pytest.mark.parametrize("scale", [-0.1, 0.1])
def test_what_was_written_is_read(tmp_path: Path, processor: int, scale: float) -> None:
    points = samples.c3d_points(samples.path(frames=20, markers=4))
    points[3, 1, 3] = -1
    points[5, 2] = [0, 0, 0, -1]
    points[6, 2] = [0, 0, 0, 0]
    file = tmp_path / "hand.c3d"
    file.write_bytes(samples.C3D(points, list("ABCD"), processor, scale, rate=50.0, analog=6).bytes())
    markers = capture.read(file)
    expected = points[..., :3] / 1000
    expected[3, 1] = expected[5, 2] = expected[6, 2] = np.nan
    np.testing.assert_allclose(markers.positions, expected, atol=1e-8 if scale < 0 else 0.05e-3 + 1e-9)
    assert (markers.names, markers.rate, markers.unit) == (("A", "B", "C", "D"), 50.0, "mm")


def test_labels_beyond_255_continue_in_the_next_parameter(tmp_path: Path) -> None:
    labels = [f"M{index:03}" for index in range(600)]
    file = tmp_path / "many.c3d"
    file.write_bytes(samples.C3D(samples.c3d_points(samples.path(3, 600)), labels).bytes())
    assert capture.read(file).names == tuple(labels)


def test_labels_that_are_missing_or_repeat_become_unique(tmp_path: Path) -> None:
    file = tmp_path / "labels.c3d"
    file.write_bytes(samples.C3D(samples.c3d_points(samples.path(3, 5)), ["A", "B", "A", "A"]).bytes())
    assert capture.read(file).names == ("A", "B", "A#2", "A#3", "point_5")


@pytest.mark.parametrize(
    ("units", "metres"), [("mm", 0.001), ("cm", 0.01), ("m", 1.0), ("mete", 1.0), ("millimet", 1e-3)]
)
def test_units_are_understood_also_when_cut_off(tmp_path: Path, units: str, metres: float) -> None:
    points = samples.c3d_points(samples.path())
    file = tmp_path / "units.c3d"
    file.write_bytes(samples.C3D(points, list("ABC"), units=units).bytes())
    np.testing.assert_allclose(capture.read(file).positions, points[..., :3] * metres, rtol=1e-6)


@pytest.mark.parametrize("said_by", ["TRIAL", "POINT"])
def test_more_than_65535_frames_are_read(tmp_path: Path, said_by: str) -> None:
    frames = 70_000
    points = np.ones((frames, 1, 4))
    points[:, 0, 0] = np.arange(frames) % 1000
    sample = samples.C3D(points, ["A"])
    if said_by == "TRIAL":
        low_high = [np.array([value % 65536, value // 65536], "<u2").tobytes() for value in (1, frames)]
        for name, words in zip(("ACTUAL_START_FIELD", "ACTUAL_END_FIELD"), low_high, strict=True):
            sample.parameters.append(("TRIAL", name, b"\x02\x01\x02" + words))
    else:
        sample.parameters.append(("POINT", "FRAMES", b"\x04\x00" + sample.real(frames)))
    file = tmp_path / "long.c3d"
    file.write_bytes(sample.bytes())
    markers = capture.read(file)
    assert len(markers.times) == frames
    assert markers.positions[-1, 0, 0] == pytest.approx(0.999)


@pytest.mark.parametrize(("screen", "expected"), [("+Z", [1, 2, 3]), ("+Y", [1, -3, 2]), ("-Y", [1, 3, -2])])
def test_the_up_axis_of_the_screen_is_turned_to_z(tmp_path: Path, screen: str, expected: list[float]) -> None:
    sample = samples.C3D(np.array([[[1000.0, 2000.0, 3000.0, 0.0]]]), ["A"])
    sample.parameters.append(("POINT", "Y_SCREEN", sample.strings([screen])))
    file = tmp_path / "up.c3d"
    file.write_bytes(sample.bytes())
    np.testing.assert_allclose(capture.read(file).positions[0, 0], expected, rtol=1e-6)


def test_numbers_of_frames_that_differ_are_reported_and_the_greatest_that_fits_is_read(tmp_path: Path) -> None:
    sample = samples.C3D(samples.c3d_points(samples.path(40)), list("ABC"))
    sample.parameters.append(("POINT", "FRAMES", sample.integer(30_000)))
    file = tmp_path / "frames.c3d"
    file.write_bytes(sample.bytes())
    markers = capture.read(file)
    assert len(markers.times) == 40
    assert any("different numbers of frames (40, 30000)" in warning for warning in markers.warnings)
