"""What is to be solved: folders, globs and lists, hostile ones too; and how it is shared out."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knuckle.errors import KnuckleError, RecipeError
from knuckle.farm.bundles import MAX_BUNDLE, bundles_of, cost_of
from knuckle.farm.names import check_name
from knuckle.farm.take_orders import TakeOrder, read_orders
from knuckle.tests.pure.farm.samples import CAPTURE


@pytest.fixture
def folder(tmp_path):
    for name in ("day1/a.c3d", "day1/b.TRC", "day2/a.c3d", "day2/notes.txt", "out/takes/x/report.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"x" * 10)
    return tmp_path


def names(orders):
    return [order.name for order in orders]


def read(folder, *sources, recipe=None, rig=None):
    return read_orders([str(folder / source) for source in sources], recipe, rig, folder / "out")


def test_a_folder_is_searched_below_and_neither_notes_nor_the_output_are_captures(folder):
    assert names(read(folder, ".")) == ["day1/a", "day1/b", "day2/a"]


def test_relative_folders_other_runs_hidden_files_and_named_ones_are_left_out(folder, monkeypatch):
    monkeypatch.chdir(folder)
    for name in (
        ".git/a.c3d",
        "day1/.a.c3d",
        "other/farm.lock",
        "other/takes/y/report.json",
        "recipe.json",
        "body.glb",
    ):
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
        (folder / name).write_text("{}")
    (folder / "ada.json").write_text('{"format": "knuckle performer 4", "hands": {}}')
    orders = read_orders(["."], Path("recipe.json"), "body.glb", Path("out"))
    assert names(orders) == ["day1/a", "day1/b", "day2/a"]
    assert all(Path(order.capture).is_absolute() for order in orders)


def test_performers_that_differ_in_case_alone_are_reported(tmp_path):
    (tmp_path / "list.csv").write_text("capture,performer\na.c3d,Ada\nb.c3d,ada\n")
    with pytest.raises(RecipeError, match="performers 'Ada' and 'ada': expected names"):
        read(tmp_path, "list.csv")


@pytest.mark.parametrize("capture", [".", "/", "a\0.c3d"])
def test_a_capture_that_is_no_file_is_left_to_its_row(tmp_path, capture):
    (tmp_path / "list.json").write_text(json.dumps([{"capture": capture, "name": "x"}, {"capture": "b.c3d"}]))
    assert names(read(tmp_path, "list.json")) == ["x", "b"]


def test_a_glob_names_takes_from_its_fixed_part_on(folder):
    assert names(read(folder, "*/a.c3d")) == ["day1/a", "day2/a"]
    assert names(read(folder, "day1/*.c3d")) == ["a"]


def test_a_list_names_performer_rig_and_recipe_relative_to_itself(folder):
    (folder / "slow.json").write_text('{"smoothing": "whole", "subject": "Cy"}')
    (folder / "list.csv").write_text(
        "name, capture, performer, rig, recipe\n"
        "one, day1/a.c3d, Ada, body.blend, slow.json\n"
        "two, day2/a.c3d, ben.json, default,\n"
        "three, day1/b.TRC, , , slow.json\n",
        encoding="utf-8-sig",
    )
    one, two, three = read(folder, "list.csv", rig="other.blend")
    assert (one.name, one.performer, one.recipe["smoothing"]) == ("one", "Ada", "whole")
    assert one.recipe["rig"] == str(folder / "body.blend")
    assert (two.performer, two.performer_file, two.recipe["rig"]) == ("", str(folder / "ben.json"), "default")
    assert three.recipe is not one.recipe and "capture" not in one.recipe
    assert three.performer == "Cy", "the subject of a recipe is a performer"
    assert three.recipe["rig"] == str(Path.cwd() / "other.blend")
    rows = [{"capture": "day1/a.c3d", "name": "x"}, {"capture": "day2/a.c3d", "name": "y"}]
    (folder / "list.json").write_text(json.dumps(rows))
    assert names(read(folder, "list.json")) == ["x", "y"]


def test_a_capture_as_json_or_csv_is_no_list(tmp_path):
    (tmp_path / "table.csv").write_text("time,wrist.x,wrist.y,wrist.z\n")
    assert names(read_orders([str(CAPTURE), str(tmp_path / "table.csv")], None, None, tmp_path / "out")) == [
        "leap_finger_tap",
        "table",
    ]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("capture,name\n", "a list without takes"),
        ("capture,name\na.c3d\n", "line 2: expected 2 cells"),
        ("capture,name\na.c3d,b,c\n", "line 2: expected 2 cells"),
        ("capture,mane\na.c3d,x\n", "line 2: 'mane' is not known, expected capture, name"),
        ("capture,name\n,x\n", "line 2: names no capture"),
        ("capture,capture\na,b\n", "two columns have the same name"),
        ('capture,name\n"a.c3d,x\n', "not a CSV list"),
        ("capture,name\na.c3d,../../etc\n", "'../../etc' is no name for a take"),
        ("capture,name\na.c3d,/tmp/x\n", "'/tmp/x' is no name"),
        ("capture,name\na.c3d,\x00\n", "is no name for a take"),
        ("capture,name\na.c3d,x/take.json\n", "'x/take.json' is no name"),
        ("capture,name\na.c3d,COM1.x\n", "'COM1.x' is no name"),
    ],
)
def test_a_list_that_is_wrong_is_reported_in_one_sentence(tmp_path, content, sentence):
    (tmp_path / "list.csv").write_text(content)
    with pytest.raises(RecipeError) as reported:
        read(tmp_path, "list.csv")
    assert sentence in str(reported.value) and "\n" not in str(reported.value)


@pytest.mark.parametrize("content", ['[{"capture": 1}]', '["capture"]', '[{"capture": "a"}, 3]', '[{"capture": "a"'])
def test_a_list_as_json_that_is_wrong_is_reported_in_one_sentence(tmp_path, content):
    (tmp_path / "list.json").write_text(content)
    with pytest.raises(RecipeError, match=r"list\.json"):
        read(tmp_path, "list.json")


def test_folders_and_globs_without_captures_are_reported(tmp_path):
    for source in (".", "*.c3d"):
        with pytest.raises(RecipeError, match="no captures there, expected files that end in"):
            read(tmp_path, source)


@pytest.mark.parametrize("other", ["a.trc", "A.c3d"])
def test_two_takes_of_one_name_are_reported_before_anything_is_written(folder, other):
    (folder / "day1" / other).write_bytes(b"x")
    with pytest.raises(RecipeError, match=r"both would be written as '.*a', expected names that differ"):
        read(folder, ".")
    assert not (folder / "out" / "takes.csv").exists()


def test_a_recipe_of_a_newer_version_is_reported_and_in_a_list_it_is_one_row(folder):
    newer = folder / "newer.json"
    newer.write_text('{"teleport": true}')
    with pytest.raises(RecipeError, match="'teleport' is not known"):
        read(folder, ".", recipe=newer)
    (folder / "list.csv").write_text("capture,name,recipe\nday1/a.c3d,x,newer.json\nday2/a.c3d,y,\n")
    x, y = read(folder, "list.csv")
    assert "'teleport' is not known" in x.problem and not y.problem


@given(st.text("ab./\\ :~é\0\n\u202e\ud800", max_size=12))
def test_a_name_that_is_allowed_stays_below_its_folder(name):
    try:
        check_name(name, "here")
    except KnuckleError:
        return
    path = os.path.normpath("/".join(["/out", *name.split("/")]))
    assert path == f"/out/{name}" and "\\" not in name


orders_strategy = st.lists(
    st.tuples(st.integers(0, 10**8), st.sampled_from(["", "Ada", "Ben"])), min_size=1, max_size=200
)


@given(orders_strategy, st.integers(0, 8))
def test_bundles_hold_each_take_once_and_the_most_costly_come_first(sizes, workers):
    blank = TakeOrder("", "", 0)
    orders = [replace(blank, name=f"t{n}", size=size, performer=who) for n, (size, who) in enumerate(sizes)]
    bundles = bundles_of(orders, workers)
    assert sorted(order.name for bundle in bundles for order in bundle.orders) == sorted(order.name for order in orders)
    assert all({order.performer for order in bundle.orders} == {bundle.performer} for bundle in bundles)
    assert all(len(bundle.orders) <= MAX_BUNDLE for bundle in bundles)
    costs = [bundle.cost for bundle in bundles]
    assert costs == sorted(costs, reverse=True)
    # A list schedule, the longest first, ends at most a bundle's share late: no worker waits longer than that.
    ends = [0] * max(workers, 1)
    for cost in costs:
        ends[ends.index(min(ends))] += cost
    assert max(ends) - min(ends) <= max(costs)
    share = sum(map(cost_of, orders)) / (12 * max(workers, 1))
    assert all(bundle.cost <= share or len(bundle.orders) == 1 for bundle in bundles)
