"""Units, axes, clocks and the summary: what all formats share."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from knuckle import capture
from knuckle.capture.conventions import UPS, to_z_up, unit_from
from knuckle.capture.marker_labels import unique
from knuckle.capture.recording import Recording, to_markers
from knuckle.capture.summary import as_text, summary
from knuckle.capture.timestamps import clean_timestamps
from knuckle.errors import CaptureError
from knuckle.tests.pure.capture.files import samples


@pytest.mark.parametrize("up", UPS)
def test_every_up_axis_is_turned_to_z_by_a_rotation(up: str) -> None:
    matrix = to_z_up(np.eye(3), up).T
    assert np.linalg.det(matrix) == pytest.approx(1.0)
    np.testing.assert_array_equal(matrix @ matrix.T, np.eye(3))
    axis = np.eye(3)["xyz".index(up[-1])] * (-1 if up[0] == "-" else 1)
    np.testing.assert_array_equal(to_z_up(axis, up), [0, 0, 1])


def test_y_up_is_turned_as_agreed() -> None:
    np.testing.assert_array_equal(to_z_up(np.array([1.0, 2.0, 3.0]), "y"), [1, -3, 2])


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("mm", "mm"),
        (" MM ", "mm"),
        ("Meters", "m"),
        ("mete", "m"),
        ("Centimeters", "cm"),
        ("decimetre", "dm"),
        ("millimetres", "mm"),
        ("inches", "inch"),
        ("Inch", "inch"),
        ("in", "inch"),
        ("feet", None),
        ("", None),
        ("me", None),
    ],
)
def test_units_by_their_spelling(text: str, unit: str | None) -> None:
    assert unit_from(text) == unit


@pytest.mark.parametrize(("unit", "metres"), [("m", 1.0), ("dm", 0.1), ("cm", 0.01), ("mm", 0.001), ("inch", 0.0254)])
def test_unit_and_up_override_what_the_file_says(tmp_path: Path, unit: str, metres: float) -> None:
    file = tmp_path / "hand.tsv"
    file.write_bytes(samples.qualisys())
    markers = capture.read(file, unit=unit, up="-y")
    np.testing.assert_allclose(
        markers.positions, samples.path()[..., [0, 2, 1]] * [1, 1, -1] * 1000 * metres, atol=1e-9
    )
    assert markers.unit == unit


@pytest.mark.parametrize(("size", "unit"), [(0.2, "m"), (1.8, "m"), (20.0, "cm"), (200.0, "mm"), (1800.0, "mm")])
def test_without_a_unit_the_size_of_the_cloud_tells_it(size: float, unit: str) -> None:
    cloud = np.random.default_rng(0).uniform(0, size / np.sqrt(3), (10, 50, 3))
    markers = to_markers(Recording("test", tuple(map(str, range(50))), cloud), "test")
    assert markers.unit == unit
    assert "no unit of length in the file" in markers.warnings[0]


def test_positions_that_no_place_can_have_are_gaps() -> None:
    positions = np.ones((4, 2, 3))
    positions[1, 0, 1], positions[2, 0, 0], positions[3, 1, 2] = np.inf, 1e300, np.nan
    markers = to_markers(Recording("test", ("a", "b"), positions, unit="m", up="z"), "test")
    assert (~markers.seen).nonzero()[0].tolist() == [1, 2, 3]
    assert np.isnan(markers.positions[1, 0]).all()
    assert any("1 positions more than 100 km" in warning for warning in markers.warnings)


def test_one_wild_time_costs_one_frame() -> None:
    times = np.arange(10.0)
    times[4] = 1e9
    clock = clean_timestamps(times, None, 10, "test")
    assert clock.frames.tolist() == [0, 1, 2, 3, 5, 6, 7, 8, 9]
    assert "1 of 10 frames were dropped" in clock.warnings[0]


def test_repeated_and_backward_times_are_dropped() -> None:
    clock = clean_timestamps(np.array([0.0, 0.1, 0.1, 0.2, 0.15, 0.3, np.nan]), None, 7, "test")
    assert (np.diff(clock.times) > 0).all()
    assert len(clock.frames) == 4
    assert "3 of 7 frames were dropped" in clock.warnings[0]


def test_the_rate_is_that_of_frames_that_follow_each_other() -> None:
    """A clock of whole milliseconds at 60 Hz, every tenth frame lost."""
    times = np.floor(np.delete(np.arange(600), np.arange(5, 600, 10)) / 60 * 1000) / 1000
    assert clean_timestamps(times, None, len(times), "test").rate == pytest.approx(60.0, rel=0.005)


def test_a_jump_of_the_clock_is_one_step_and_reported() -> None:
    times = np.linspace(0.0, 19 / 50, 20)
    times[12:] += 1e9
    clock = clean_timestamps(times, None, 20, "test")
    np.testing.assert_allclose(clock.times, np.arange(20) / 50, atol=1e-6)
    assert clock.rate == pytest.approx(50.0, rel=1e-6)
    assert clock.warnings == (
        "the clock jumps 1 times, first by 1e+09 s after 0.22 s: the next frame is taken as 0.02 s later",
    )


def test_two_frames_a_jump_apart_have_the_nominal_rate() -> None:
    assert clean_timestamps(np.array([0.0, 1e9]), 120.0, 2, "test").rate == pytest.approx(120.0, rel=1e-6)


def test_a_pause_of_minutes_is_no_jump() -> None:
    times = np.array([0.0, 0.01, 600.0, 600.01])
    np.testing.assert_array_equal(clean_timestamps(times, None, 4, "test").times, times)


@pytest.mark.parametrize(("rate", "expected"), [(None, 60.0), (240.0, 240.0)])
def test_a_rate_that_no_device_reaches_is_replaced_and_reported(rate: float | None, expected: float) -> None:
    clock = clean_timestamps(np.linspace(0.0, 8e-13, 51)[:50], rate, 50, "test")
    assert clock.rate == expected
    np.testing.assert_allclose(np.diff(clock.times), 1 / expected)
    assert len(clock.warnings) == 1 and "which no device reaches" in clock.warnings[0]


def test_without_times_and_rate_a_rate_is_assumed_and_reported() -> None:
    clock = clean_timestamps(None, None, 5, "test")
    assert clock.rate == 60.0
    assert "taken as 60 Hz" in clock.warnings[0]


def test_labels_become_unique_also_beside_labels_that_look_so() -> None:
    assert unique(["a", "a", "a#2", "a", "b"]) == ("a", "a#2", "a#2#2", "a#3", "b")


def test_markers_that_contradict_themselves_are_refused() -> None:
    good = capture.Markers(("a",), np.array([0.0, 1.0]), np.zeros((2, 1, 3)), "test", 1.0, "m")
    assert not good.predicted.any()
    for change in (
        {"names": ("a", "b")},
        {"times": np.array([0.0, 0.0])},
        {"times": np.array([0.0, np.nan])},
        {"predicted": np.zeros((3, 1), bool)},
        {"names": ("a", "a"), "positions": np.zeros((2, 2, 3)), "predicted": np.zeros((0, 0), bool)},
    ):
        with pytest.raises(CaptureError, match=r"^test: "):
            replace(good, **change)


def test_some_of_the_frames_can_be_selected() -> None:
    markers = capture.Markers(("a",), np.arange(5.0), np.zeros((5, 1, 3)), "test", 1.0, "m")
    assert markers.select(slice(1, 4)).times.tolist() == [1, 2, 3]


def test_the_summary_counts_gaps(tmp_path: Path) -> None:
    points = samples.path(100, 3)
    points[10:20, 1] = points[50:51, 1] = points[:, 2] = np.nan
    file = tmp_path / "hand.tsv"
    file.write_bytes(samples.qualisys(points))
    facts = json.loads(json.dumps(summary(capture.read(file))))
    assert (facts["source"], facts["format"], facts["unit"]) == ("hand.tsv", "Qualisys TSV", "mm")
    assert (facts["frames"], facts["rate"], facts["duration"]) == (100, 100.0, 0.99)
    assert [label["gaps"] for label in facts["labels"]] == [0, 2, 1]
    assert [label["longest_gap_frames"] for label in facts["labels"]] == [0, 10, 100]
    assert [label["longest_gap_s"] for label in facts["labels"]] == [0.0, 0.1, 1.0]
    assert [label["seen_percent"] for label in facts["labels"]] == [100.0, 89.0, 0.0]
    text = as_text(facts)
    assert "hand.tsv: Qualisys TSV" in text
    assert "100 frames, 0.990 s at 100 Hz, in mm" in text
    assert re.search(r"^ *m1 +89\.00% +2 +10 frames, 0\.100 s$", text, re.MULTILINE)
    assert re.search(r"^ *m0 +100\.00% +0 +-$", text, re.MULTILINE)


@pytest.mark.parametrize("name", samples.ALL)
def test_every_sample_is_read_without_loss(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.write_bytes(samples.ALL[name]())
    markers = capture.read(file)
    assert markers.seen.all()
    assert markers.source == name
    assert not markers.positions.flags.writeable
