"""What a worker leaves behind: whole files or none, and done once."""

import json
import os
from dataclasses import replace

import numpy as np
import pytest

from knuckle import api, take_files
from knuckle.errors import KnuckleError
from knuckle.farm import tasks
from knuckle.farm.output_folder import LOCK
from knuckle.farm.take_orders import read_orders
from knuckle.farm.take_rows import RECORD, read_record
from knuckle.farm.tasks import WorkerError, measure_performer, solve_bundle
from knuckle.tests.full_disk import files_no_larger_than
from knuckle.tests.pure.farm.samples import CAPTURE, FRAMES, orders_of, recipe_file, settings


def states(rows):
    return [row.state for row in rows]


def stamps(folder):
    """File -> when it was written, and its inode, which a replaced file has not."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != LOCK]
    return {path: (path.stat().st_mtime_ns, path.stat().st_ino) for path in files}


def test_a_take_is_what_solving_it_alone_gives(tmp_path):
    (row,) = solve_bundle(orders_of(tmp_path), settings(tmp_path, "joints", "evidence", "report", "html"))
    take = api.solve(CAPTURE, end=FRAMES)
    folder = tmp_path / "out" / "takes" / "a00"
    with np.load(folder / "joints.npz") as joints:
        for name, expected in api.joints(take).items():
            np.testing.assert_array_equal(joints[name], expected)
    assert json.loads((folder / "report.json").read_text())["hands"] == json.loads(json.dumps(take.report["hands"]))
    assert (row.state, row.frames, row.hands, row.problems) == ("solved", FRAMES, "right", len(take.problems))
    assert row.max_mm == pytest.approx(np.nanmax(take.evidence.hands[0].of("tip_error")), abs=1e-3)
    assert sorted(row.files) == ["evidence.npz", "joints.npz", "report.html", "report.json"]


def test_what_is_there_is_not_solved_again_but_what_changed_is(tmp_path, monkeypatch):
    solved = []
    solve = take_files.solve_content

    def counted(recipe, *others):
        solved.append(recipe.capture)
        return solve(recipe, *others)

    monkeypatch.setattr(tasks, "solve_content", counted)
    first = solve_bundle(orders_of(tmp_path, 3), settings(tmp_path))
    before = stamps(tmp_path / "out")
    again = solve_bundle(orders_of(tmp_path), settings(tmp_path))
    assert (states(first), states(again), len(solved)) == (["solved"] * 3, ["unchanged"] * 3, 3)
    assert stamps(tmp_path / "out") == before
    assert [replace(row, state="solved") for row in again] == list(first)

    changed = tmp_path / "captures" / "a01.json"
    changed.write_bytes(changed.read_bytes() + b"\n")
    (tmp_path / "out" / "takes" / "a02" / "joints.npz").write_bytes(b"cut")
    assert states(solve_bundle(orders_of(tmp_path), settings(tmp_path))) == ["unchanged", "solved", "solved"]
    assert states(solve_bundle(orders_of(tmp_path, hand="right"), settings(tmp_path))) == ["solved"] * 3
    (tmp_path / "captures").rename(tmp_path / "moved")
    moved = read_orders([str(tmp_path / "moved")], recipe_file(tmp_path, hand="right"), None, tmp_path / "out")
    assert states(solve_bundle(moved, settings(tmp_path))) == ["unchanged"] * 3, "the place of a file does not count"


def test_files_of_the_same_inputs_stay_and_those_of_others_go(tmp_path):
    solve_bundle(orders_of(tmp_path), settings(tmp_path, "joints", "evidence"))
    (row,) = solve_bundle(orders_of(tmp_path), settings(tmp_path, "report"))
    folder = tmp_path / "out" / "takes" / "a00"
    assert set(row.files) == {"joints.npz", "evidence.npz", "report.json"}
    assert states(solve_bundle(orders_of(tmp_path), settings(tmp_path, "evidence"))) == ["unchanged"]
    solve_bundle(orders_of(tmp_path, hand="right"), settings(tmp_path, "report"))
    assert {path.name for path in folder.iterdir()} == {"report.json", RECORD}


@pytest.mark.parametrize(
    "record",
    ["", "{}", "[]", "3", '{"key": 1}', "NaN", '{"key": "x", "sizes": {"../../a": 1}, "row": {}}', "[" * 10_000],
)
def test_a_damaged_record_is_like_none(tmp_path, record):
    orders = orders_of(tmp_path)
    folder = tmp_path / "out" / "takes" / "a00"
    folder.mkdir(parents=True)
    (folder / RECORD).write_text(record)
    assert read_record(folder) is None
    if record == "{}":
        assert states(solve_bundle(orders, settings(tmp_path))) == ["solved"]


def test_a_killed_writer_leaves_nothing_half_written(tmp_path, monkeypatch):
    """Killed between any two steps of writing, a worker leaves files that are whole, and none that count as done."""
    orders = orders_of(tmp_path, hand="right")
    replaced: list[object] = []
    solve_bundle(orders_of(tmp_path, hand="auto"), settings(tmp_path))
    replace_file = type(tmp_path).replace

    class Killed(BaseException):
        """Nothing catches it, as nothing catches a signal."""

    def kill_at(step):
        def killing(path, target):
            if len(replaced) == step:
                raise Killed
            replaced.append(target)
            return replace_file(path, target)

        return killing

    folder = tmp_path / "out" / "takes" / "a00"
    for step in range(2):
        replaced.clear()
        monkeypatch.setattr(type(tmp_path), "replace", kill_at(step))
        with pytest.raises(Killed):
            solve_bundle(orders, settings(tmp_path))
        monkeypatch.undo()
        assert not (folder / RECORD).exists()
        with np.load(folder / "joints.npz") as joints:
            assert len(joints["times"]) == FRAMES
        json.loads((folder / "report.json").read_text())
    (folder / ".knuckle-123-00000000.npz").write_bytes(b"half of what a killed worker wrote")
    assert states(solve_bundle(orders, settings(tmp_path))) == ["solved"]
    assert {path.name for path in folder.iterdir()} == {"joints.npz", "report.json", RECORD}


def test_a_full_disk_is_one_row_and_leaves_no_file(tmp_path):
    orders = orders_of(tmp_path)
    with files_no_larger_than(2000):
        (row,) = solve_bundle(orders, settings(tmp_path))
    assert row.state == "failed" and "cannot be written" in row.problem and "\n" not in row.problem
    assert list((tmp_path / "out" / "takes" / "a00").iterdir()) == []


def test_what_cannot_be_read_is_one_row_and_stops_nobody(tmp_path):
    good, *_ = orders_of(tmp_path, 4)
    (tmp_path / "captures" / "a01.json").write_text("{")
    (tmp_path / "captures" / "a02.json").unlink()
    gone = replace(good, name="gone", capture=str(tmp_path / "gone.c3d"))
    reported = replace(good, name="reported", problem="no such recipe")
    nobody = replace(good, name="nobody", performer_file=str(tmp_path / "nobody.json"))
    rows = solve_bundle((orders_of(tmp_path)[1], gone, reported, nobody, good), settings(tmp_path))
    assert states(rows) == ["failed", "failed", "failed", "failed", "solved"]
    for row, sentence in zip(
        rows, ("a01.json", "gone.c3d: no such file", "no such recipe", "nobody.json"), strict=False
    ):
        assert sentence in row.problem and "\n" not in row.problem


def test_a_bug_is_one_row_and_its_traceback_is_kept(tmp_path, monkeypatch):
    orders = orders_of(tmp_path, 2)
    solve = take_files.solve_content
    monkeypatch.setattr(
        tasks, "solve_content", lambda recipe, *rest: 1 / 0 if "a00" in recipe.capture else solve(recipe, *rest)
    )
    bad, good = solve_bundle(orders, settings(tmp_path))
    assert (bad.state, good.state) == ("failed", "solved")
    assert "an error of Knuckle, ZeroDivisionError" in bad.problem
    assert "ZeroDivisionError" in (tmp_path / "out" / "takes" / "a00" / "error.txt").read_text()
    monkeypatch.undo()
    assert states(solve_bundle(orders, settings(tmp_path))) == ["solved", "unchanged"]
    assert not (tmp_path / "out" / "takes" / "a00" / "error.txt").exists()


def test_a_performer_is_measured_once_and_their_change_solves_their_takes_again(tmp_path):
    order = replace(orders_of(tmp_path)[0], performer="Ada")
    order = replace(order, recipe=order.recipe | {"end": None})
    assert measure_performer(order, settings(tmp_path)) == ""
    file = tmp_path / "out" / "performers" / "Ada" / "performer.json"
    before = stamps(file.parent)
    assert measure_performer(order, settings(tmp_path)) == ""
    assert stamps(file.parent) == before
    measured = replace(order, performer_file=str(file), recipe=order.recipe | {"end": FRAMES})
    (row,) = solve_bundle((measured,), settings(tmp_path))
    size = json.loads(file.read_text())["hands"]["right"]["size_mm"]
    report = json.loads((tmp_path / "out" / "takes" / "a00" / "report.json").read_text())
    assert row.performer == "Ada" and report["hands"]["right"]["hand_length_mm"] == pytest.approx(size, abs=0.06)
    assert states(solve_bundle((measured,), settings(tmp_path))) == ["unchanged"]
    file.write_text(file.read_text().replace(str(size), str(size + 1), 1))
    assert states(solve_bundle((measured,), settings(tmp_path))) == ["solved"]


def test_a_performer_who_cannot_be_measured_is_reported(tmp_path):
    order = replace(orders_of(tmp_path)[0], performer="Ada", capture=os.devnull + "x")
    assert "no such file" in measure_performer(order, settings(tmp_path))


def test_a_worker_of_another_version_is_reported(tmp_path):
    other = replace(settings(tmp_path), version="9.9.9")
    with pytest.raises(WorkerError, match=r"a worker has Knuckle .*, expected 9\.9\.9"):
        solve_bundle(orders_of(tmp_path), other)
    assert issubclass(WorkerError, KnuckleError)


def test_a_worker_of_an_earlier_run_gives_up_before_it_replaces_a_file(tmp_path):
    orders, earlier = orders_of(tmp_path), settings(tmp_path)
    solve_bundle(orders, settings(tmp_path))
    before = stamps(tmp_path / "out")
    (row,) = solve_bundle(orders_of(tmp_path, hand="right"), earlier)
    assert row.state == "failed" and "belongs to another run now" in row.problem
    assert stamps(tmp_path / "out") == before
