"""A solve that takes over what the one before it found is the solve that found it anew, to the bit."""

import os
import shutil
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from knuckle.cli.commands import DEMO_CAPTURE
from knuckle.hand.generators import run_to_end
from knuckle.pipeline import job as job_module
from knuckle.pipeline.corrections.correction import Correction, HiddenMarkers, OtherMethods, TimeRange
from knuckle.pipeline.corrections.correction_json import to_list
from knuckle.pipeline.job import SolveJob
from knuckle.pipeline.kept_solve import FINDING_FIELDS, SOLVING_FIELDS, SolvedCapture, finding_key
from knuckle.pipeline.recipe import Recipe
from knuckle.pipeline.take import Take


def ran(recipe: Recipe, cached: SolvedCapture | None = None) -> tuple[Take, SolvedCapture]:
    job = SolveJob(recipe, cached=cached)
    run_to_end(job.steps())
    assert job.take is not None and job.cached is not None
    return job.take, job.cached


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    """A file of its own, as a person may change it."""
    return Path(shutil.copy(DEMO_CAPTURE, tmp_path / "tap.json"))


def mends(take: Take) -> list[dict[str, Any]]:
    hand, start = take.hands[0], float(take.times[0])
    tip = next(label for label in hand.labels if "index" in label and "tip" in label)
    span = TimeRange(start + 0.5, start + 0.9, 0.1, 0.1)
    hidden = Correction("a", "Hidden", hand.side, span, HiddenMarkers((tip,)))
    other = Correction("b", "Other", hand.side, TimeRange(start + 1.1, start + 1.4), OtherMethods("whole-hand"))
    return to_list((hidden, other))


def assert_same(one: Take, other: Take) -> None:
    for ours, theirs in zip(one.hands, other.hands, strict=True):
        np.testing.assert_array_equal(ours.pose.angles, theirs.pose.angles)
        np.testing.assert_array_equal(ours.pose.root, theirs.pose.root)
        np.testing.assert_array_equal(ours.predicted, theirs.predicted)
    for mine, other_evidence in zip(one.evidence.hands, other.evidence.hands, strict=True):
        np.testing.assert_array_equal(mine.values, other_evidence.values)
    assert one.problems == other.problems and one.recipe == other.recipe
    assert {**one.report, "seconds": None} == {**other.report, "seconds": None}


@pytest.mark.parametrize("choices", [{"mends": True}, {"solver": "cga"}, {"smoothing": "live"}, {"fps": 24.0}])
def test_what_is_kept_gives_the_take_that_is_found_anew(capture: Path, choices: dict[str, Any]) -> None:
    first, cached = ran(Recipe(str(capture)))
    before = first.hands[0].pose.angles.copy()
    given = {"corrections": mends(first)} if choices.get("mends") else choices
    recipe = Recipe(str(capture), **given)
    again, kept_again = ran(recipe, cached)
    assert kept_again.found is cached.found, "it was found once"
    assert (kept_again.solved is cached.solved) == ("corrections" in given), "and solved once, unless by other means"
    assert_same(again, ran(recipe)[0])
    if "corrections" in given:
        # One more, one less, and the other way round.
        for some in (given["corrections"][:1], given["corrections"], given["corrections"][::-1], []):
            recipe = Recipe(str(capture), corrections=some)
            again, kept_again = ran(recipe, kept_again)
            assert_same(again, ran(recipe)[0])
    np.testing.assert_array_equal(first.hands[0].pose.angles, before, "what was kept has not changed")


@pytest.mark.parametrize("change", ["file", "copied over", "start", "length"])
def test_what_was_found_otherwise_is_found_anew(capture: Path, change: str) -> None:
    _, cached = ran(Recipe(str(capture)))
    changes: dict[str, dict[str, Any]] = {"start": {"start": 5}, "length": {"hand_length": 0.2}}
    given = changes.get(change, {})
    if change == "file":
        capture.write_text(capture.read_text() + "\n")
    if change == "copied over":
        # Another file of the same size with the same times, as an archive is unpacked and a folder synchronised.
        before = capture.stat()
        unpacked = capture.with_name("other.json")
        unpacked.write_bytes(capture.read_bytes().replace(b"0", b"1", 1))
        os.utime(unpacked, ns=(before.st_atime_ns, before.st_mtime_ns))
        unpacked.replace(capture)
        assert capture.stat().st_size == before.st_size and capture.stat().st_mtime_ns == before.st_mtime_ns
    _, other = ran(Recipe(str(capture), **given), cached)
    assert other.found is not cached.found


@pytest.mark.parametrize("suffix", [".gltf", ".usd", ".usda", ".usdc"])
def test_a_capture_that_may_be_in_several_files_is_found_anew(tmp_path: Path, suffix: str) -> None:
    for name, is_kept in ((f"take{suffix}", False), (f"take{suffix.upper()}", False), ("take.fbx", True)):
        path = tmp_path / name
        path.touch()
        assert bool(finding_key(Recipe(str(path)))) == is_kept


def test_finding_hands_reads_no_choice_but_those_that_keep_them_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    read, names = set[str](), {field.name for field in fields(Recipe)}

    class Watched(Recipe):
        __slots__ = ()

        def __getattribute__(self, name: str) -> Any:
            read.add(name)
            return super().__getattribute__(name)

    # The key reads all of them, as JSON.
    monkeypatch.setattr(job_module, "finding_key", lambda _recipe: "")
    recipe = Watched(str(DEMO_CAPTURE))
    read.clear()
    run_to_end(SolveJob(recipe)._find_hands(recipe))
    assert "capture" in read and read & names <= {*FINDING_FIELDS}
    assert {*FINDING_FIELDS, *SOLVING_FIELDS} <= names
