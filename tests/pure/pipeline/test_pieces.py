"""A long take that is solved in pieces is the take that is solved at once: joints, evidence and report."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from knuckle import api, capture
from knuckle.errors import KnuckleError
from knuckle.files import temporary_folder
from knuckle.hand import proportions
from knuckle.hand.generators import run_to_end
from knuckle.hand.joints import JOINTS, Side
from knuckle.hand.kinematics import Pose, joint_frames
from knuckle.hand.poses import POSES, angles
from knuckle.pipeline.evidence.evidence import MEASURES
from knuckle.pipeline.hand_solving import PieceContext
from knuckle.pipeline.job import SolveJob
from knuckle.pipeline.pieces import long_solve, piece, pool
from knuckle.pipeline.pieces.long_solve import LongSolve, open_if_long
from knuckle.pipeline.pieces.piece import cut
from knuckle.pipeline.recipe import Recipe
from knuckle.pipeline.take import Take
from knuckle.take_files import SolveChoices, TakeFiles, solve_to_files

from ..capture.files import samples

FRAMES, RATE = 420, 120.0


def written_take(path: Path, sides: tuple[Side, ...] = ("left", "right")) -> Path:
    """Hands that go from pose to pose, with noise and gaps, as C3D."""
    rng = np.random.default_rng(5)
    columns, labels = [], list[str]()
    for side in sides:
        hand = proportions.build(proportions.adult(side))
        stops = np.array([angles(hand, str(name)) for name in rng.choice([*POSES], FRAMES // 30 + 2)])
        at = np.arange(FRAMES) / 30
        share = (at % 1)[:, None]
        motion = (1 - share) * stops[at.astype(int)] + share * stops[at.astype(int) + 1]
        root = np.tile(np.eye(4), (FRAMES, 1, 1))
        root[:, :3, 3] = [-0.2 if side == "left" else 0.2, 0.3, 1.1] + 0.05 * np.sin(at[:, None] + np.arange(3))
        columns.append(joint_frames(hand, Pose(hand, root, motion))[..., :3, 3])
        labels += [f"{side}:{joint}" for joint in hand.joints]
    points = 1000 * np.concatenate(columns, axis=1)
    points += rng.normal(0, 0.3, points.shape)
    for _ in range(12):
        first, marker = rng.integers(0, FRAMES - 20), rng.integers(0, points.shape[1])
        points[first : first + rng.integers(1, 20), marker] = np.nan
    return saved(path, points, labels)


def saved(path: Path, points: Any, labels: list[str]) -> Path:
    seen = np.isfinite(points).all(-1)
    values = np.concatenate([np.where(seen[..., None], points, 0), np.where(seen, 0.0, -1.0)[..., None]], axis=2)
    path.write_bytes(samples.C3D(values, labels, rate=RATE).bytes())
    return path


def take_with_hidden_digit(path: Path, digit: str, frames: NDArray[np.intp]) -> tuple[capture.Markers, Path]:
    """Write a right hand of which a digit is not seen in some frames; return what was there, and the path."""
    markers = capture.read(written_take(path, ("right",)))
    points = 1000 * markers.positions
    columns = np.array([name.split(":")[1].startswith(digit) for name in markers.names])
    points[np.ix_(frames, columns)] = np.nan
    return markers, saved(path, points, list(markers.names))


def in_pieces(recipe: Recipe, out: Path, length: int = 100, processes: int = 1) -> dict[str, Any]:
    """Joints, evidence and report of a take in pieces."""
    long = open_if_long(recipe, longer_than=0)
    assert long is not None
    with temporary_folder(out) as folder:
        job = LongSolve(recipe, long, folder, processes, length)
        assert run_to_end(job.steps())
        assert job.joined is not None
        job.joined.write_joints(out)
        evidence = job.joined.judged()
        report = job.joined.report
    with np.load(out, allow_pickle=False) as joints:
        return {"joints": dict(joints), "evidence": evidence, "report": report}


def assert_same(found: dict[str, Any], take: Take, tolerance: float = 1e-9) -> None:
    whole = api.joints(take)
    assert found["joints"].keys() == whole.keys()
    for name, array in whole.items():
        if array.dtype.kind == "f":
            np.testing.assert_allclose(found["joints"][name], array, rtol=0, atol=tolerance, err_msg=name)
        else:
            np.testing.assert_array_equal(found["joints"][name], array, err_msg=name)
    for ours, theirs in zip(found["evidence"].hands, take.evidence.hands, strict=True):
        for index, measure in enumerate(MEASURES):
            ours_of, theirs_of = ours.values[..., index], theirs.values[..., index]
            np.testing.assert_allclose(ours_of, theirs_of, atol=1e-4, err_msg=measure.name)
    reported = {key: value for key, value in found["report"].items() if key not in ("seconds", "pieces")}
    assert reported == {key: value for key, value in take.report.items() if key != "seconds"}


def test_in_pieces_is_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(piece, "CONTEXT_S", 0.5)
    recipe = Recipe(str(written_take(tmp_path / "take.c3d")))
    found = in_pieces(recipe, tmp_path / "out.npz")
    assert found["report"]["pieces"]["count"] == 4
    assert_same(found, api.solve(recipe))


def test_frames_mirror_place_and_rate_of_a_recipe_hold_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(piece, "CONTEXT_S", 0.5)
    path = written_take(tmp_path / "take.c3d", ("right",))
    moved = replace(Recipe("").transform, location=(1.0, 2.0, 3.0), scale=1.5)
    recipe = Recipe(str(path), start=20, end=380, mirror=True, fps=50.0, transform=moved)
    assert_same(in_pieces(recipe, tmp_path / "out.npz"), api.solve(recipe))


@pytest.mark.parametrize("frames", [7, 419])
def test_a_hand_is_the_same_however_many_frames_are_solved_at_once(frames: int, tmp_path: Path) -> None:
    recipe = Recipe(str(written_take(tmp_path / "take.c3d", ("right",))))
    job = SolveJob(recipe, piece=PieceContext(frames_per_step=frames))
    run_to_end(job.steps())
    assert job.take is not None
    assert np.array_equal(job.take.hands[0].pose.angles, api.solve(recipe).hands[0].pose.angles)


def test_worker_processes_give_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = Recipe(str(written_take(tmp_path / "take.c3d", ("right",))))
    one, two = (in_pieces(recipe, tmp_path / f"{count}.npz", 210, count) for count in (1, 2))
    assert_same(two, api.solve(recipe))
    assert one["report"]["hands"] == two["report"]["hands"]


class _OutOfOrder(pool.OwnProcess):
    """Solves pieces as processes do, without what the one before left."""

    max_unfinished = 3


def test_a_digit_hidden_for_longer_than_the_overlap_stays_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def workers_of(long: Any, _processes: int) -> Iterator[_OutOfOrder]:
        yield _OutOfOrder(long)

    monkeypatch.setattr(piece, "CONTEXT_S", 0.25)
    monkeypatch.setattr(long_solve, "workers_of", workers_of)
    _, path = take_with_hidden_digit(tmp_path / "take.c3d", "index", np.arange(60, 390))
    recipe = Recipe(str(path), cleaning=replace(Recipe("").cleaning, gap_limit=0.1))
    found = in_pieces(recipe, tmp_path / "out.npz")
    assert found["report"]["pieces"]["solved_again"] == 3
    assert_same(found, api.solve(recipe))


def test_a_digit_that_is_seen_between_the_measured_stretches_alone_is_solved_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The middle finger is seen in frames 200 to 260, which the performer is not measured on."""
    monkeypatch.setattr(long_solve, "measured_frames", lambda count: np.arange(min(count, 150)))
    markers, path = take_with_hidden_digit(tmp_path / "take.c3d", "middle", np.r_[0:200, 260:FRAMES])
    found = in_pieces(Recipe(str(path)), tmp_path / "out.npz")["joints"]
    tip = JOINTS.index("middle-finger-tip")
    off = (
        found["right_positions"][205:255, tip]
        - markers.positions[205:255, markers.names.index("right:middle-finger-tip")]
    )
    assert np.nanmedian(np.linalg.norm(off, axis=1)) < 0.002


@pytest.mark.parametrize("capture_name", ["armature:Rig", "dance.fbx", "dance.glb", "dance.usdc"])
def test_what_blender_reads_is_left_to_it(capture_name: str) -> None:
    assert open_if_long(Recipe(capture_name), longer_than=0) is None


def test_pieces_overlap_by_the_longest_gap_that_is_filled_from_both_sides() -> None:
    wide = replace(Recipe("take.c3d"), cleaning=replace(Recipe("take.c3d").cleaning, gap_limit=5.0))
    prepared: Any = SimpleNamespace(performer=SimpleNamespace(hands={}))
    assert (piece.overlap_s(Recipe("take.c3d"), prepared), piece.overlap_s(wide, prepared)) == (3.0, 10.0)


@pytest.mark.parametrize("frames", [1, 99, 100, 1234])
def test_pieces_cover_a_take_once_and_overlap(frames: int) -> None:
    pieces = cut(frames, 20, 100)
    kept = [row for each in pieces for row in range(each.first, each.stop)]
    assert kept == list(range(frames))
    for before, after in pairwise(pieces):
        assert before.next_start == after.start == max(0, after.first - 20)
        assert before.end == min(frames, before.stop + 20)


def test_a_long_take_is_written_as_a_short_one_and_leaves_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written_take(tmp_path / "take.c3d", ("right",))
    suffixes = ("npz", "e.npz", "html", "json")
    files = [TakeFiles(*(tmp_path / f"{kind}.{suffix}" for suffix in suffixes)) for kind in "ab"]
    run_to_end(solve_to_files(Recipe(str(path)), files[0], SolveChoices("take", html=True)))
    monkeypatch.setattr("knuckle.take_files.open_if_long", lambda recipe: open_if_long(recipe, longer_than=0))
    run_to_end(solve_to_files(Recipe(str(path)), files[1], SolveChoices("take", html=True)))
    for short, long in ((files[0].joints, files[1].joints), (files[0].evidence, files[1].evidence)):
        assert short is not None and long is not None
        with np.load(short) as ours, np.load(long) as theirs:
            assert sorted(ours.files) == sorted(theirs.files)
            for name in ours.files:
                np.testing.assert_array_equal(ours[name], theirs[name], err_msg=name)
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted(
        ["take.c3d", *(f"{kind}.{suffix}" for kind in "ab" for suffix in suffixes)]
    )


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda path: path.write_bytes(path.read_bytes()[:-20_000]), "has become shorter"),
        (lambda path: path.unlink(), "take.c3d: cannot be read any more"),
    ],
)
def test_a_piece_that_cannot_be_read_ends_the_solve_and_leaves_nothing(
    damage: Callable[[Path], object], sentence: str, tmp_path: Path
) -> None:
    path = written_take(tmp_path / "take.c3d", ("right",))
    recipe = Recipe(str(path))
    long = open_if_long(recipe, longer_than=0)
    assert long is not None
    with pytest.raises(KnuckleError, match=sentence), temporary_folder(tmp_path / "out.npz") as folder:
        job = LongSolve(recipe, long, folder, 1, 100)
        steps = job.steps()
        while next(steps).description != "Solving 4 pieces":
            pass
        damage(path)
        run_to_end(steps)
    assert {each.name for each in tmp_path.iterdir()} <= {"take.c3d"}


def test_a_worker_that_ends_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        max_unfinished = 1

        def submit(self, *_arguments: Any) -> Any:
            broken: Future[Any] = Future()
            broken.set_exception(BrokenProcessPool())
            return broken

    @contextmanager
    def workers_of(_long: Any, _processes: int) -> Iterator[Broken]:
        yield Broken()

    monkeypatch.setattr(long_solve, "workers_of", workers_of)
    with pytest.raises(KnuckleError, match="a worker process ended"):
        in_pieces(Recipe(str(written_take(tmp_path / "take.c3d", ("right",)))), tmp_path / "out.npz")


def test_a_rate_of_less_than_a_frame_for_each_piece_is_solved_at_once(tmp_path: Path) -> None:
    recipe = Recipe(str(written_take(tmp_path / "take.c3d", ("right",))))
    assert open_if_long(replace(recipe, fps=0.5), longer_than=0) is None
    assert open_if_long(replace(recipe, fps=1.0), longer_than=0) is not None


@pytest.mark.parametrize("choices", [{"labels": "shape"}, {"align": "rest"}, {"rig": "body.blend"}])
def test_what_needs_the_whole_take_is_solved_at_once(choices: dict[str, Any], tmp_path: Path) -> None:
    assert open_if_long(Recipe(str(written_take(tmp_path / "take.c3d")), **choices), longer_than=0) is None
