"""The shell command's parts that need no Blender."""

import json

import numpy as np
import pytest

from knuckle import api
from knuckle.cli.commands import DEMO_CAPTURE, command_parser
from knuckle.cli.main import main
from knuckle.cli.options import recipe_of
from knuckle.solvers import SMOOTHING, SOLVER


def test_info_prints_what_is_in_a_capture(capsys):
    assert main(["info", str(DEMO_CAPTURE)]) == 0
    text = capsys.readouterr().out
    assert "89 frames" in text and "right:index-finger-tip" in text


def test_info_as_json(capsys):
    assert main(["info", str(DEMO_CAPTURE), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["frames"] == 89
    assert facts["unit"] == "mm"
    assert 50 < facts["rate"] < 60


def test_info_counts_no_hand_that_solve_refuses(tmp_path, capsys):
    """A skeleton of a body has two joints of each hand's middle finger, and one that stays with the palm."""
    labels = ("RightHand", "RightHandMiddle2", "RightHandMiddle3", "LeftHand", "LeftHandMiddle2", "LeftHandMiddle3")
    head = ",".join(f"{label}.{axis}" for label in labels for axis in "xyz")
    rows = [",".join(str(0.03 * column + 0.001 * row) for column in range(18)) for row in range(5)]
    file = tmp_path / "body.csv"
    file.write_text("\n".join([f"time,{head}", *(f"{row / 30},{text}" for row, text in enumerate(rows))]))
    assert main(["solve", str(file), "--out", str(tmp_path / "take.npz")]) == 1
    refused = capsys.readouterr().err.removeprefix("knuckle: ").strip()
    assert "three must be seen in one frame" in refused
    assert main(["info", str(file)]) == 0
    assert f"no hand: {refused}" in capsys.readouterr().out


def test_info_tells_of_a_size_that_no_person_has(capsys):
    assert main(["info", str(DEMO_CAPTURE), "--unit", "dm"]) == 0
    reported = capsys.readouterr().out
    assert (
        "no hand: right hand: 18.6 m long" in reported
        and "say in which unit the capture's lengths are (Unit, --unit)" in reported
    )


def test_calibrate_saves_what_solve_can_read(tmp_path, capsys):
    out = tmp_path / "me.json"
    assert main(["calibrate", str(DEMO_CAPTURE), "--out", str(out)]) == 0
    saved = json.loads(out.read_text())
    assert saved["format"] == "knuckle performer 4"
    assert 150 < saved["hands"]["right"]["size_mm"] < 210
    reported = capsys.readouterr().out
    assert "right hand:" in reported
    assert "middle-finger   48" in reported, "a line for each digit, its bones first"
    assert "note: the right hand is never still" in reported
    assert [path.name for path in tmp_path.iterdir()] == ["me.json"]


def test_joints_alone_are_those_of_the_take_and_conditions_hold(tmp_path, capsys):
    out, report = tmp_path / "take.npz", tmp_path / "take.json"
    arguments = ["solve", str(DEMO_CAPTURE), "--end", "20", "--out", str(out), "--report", str(report)]
    assert main([*arguments, "--fail-on", "tip_error_mm.max>0"]) == 3
    assert "the take was saved, but fails: tip_error_mm.max" in capsys.readouterr().err
    with np.load(out) as joints:
        for name, expected in api.joints(api.solve(DEMO_CAPTURE, end=20)).items():
            np.testing.assert_array_equal(joints[name], expected)
    assert json.loads(report.read_text())["frames"] == 20
    assert {path.name for path in tmp_path.iterdir()} == {"take.npz", "take.json"}


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["info"],
        ["solve", "x"],
        ["dance"],
        ["info", "x", "--unit", "foot"],
        ["calibrate", "x", "--start", "a", "--out", "b"],
    ],
)
def test_wrong_usage_exits_with_2(arguments, capsys):
    assert main(arguments) == 2
    assert "usage: knuckle" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["info", "missing.c3d"], "missing.c3d"),
        (["calibrate", str(DEMO_CAPTURE), "--out", "nowhere/me.json"], "nowhere/me.json: there is no folder nowhere"),
        (["calibrate", str(DEMO_CAPTURE), "--out", "me.txt"], "me.txt: expected a name that ends in .json"),
        (
            ["calibrate", str(DEMO_CAPTURE), "--out", "me.json", "--hand", "left"],
            "has a right hand, not the requested left one",
        ),
        (["calibrate", str(DEMO_CAPTURE), "--out", "me.json", "--markers", "no.json"], "no.json: cannot be read"),
        (["calibrate", str(DEMO_CAPTURE), "--out", "me.json", "--start", "0"], "start is 0"),
        (["calibrate", str(DEMO_CAPTURE), "--out", "me.json", "--still", "9-3"], "the frames are 9-3"),
        (["calibrate", str(DEMO_CAPTURE), "--out", "me.json", "--still", "1-30"], "its markers move by"),
        (["calibrate", str(DEMO_CAPTURE), "--out", "me.json", "--motion", "nowhere.c3d"], "nowhere.c3d"),
        (["calibrate", str(DEMO_CAPTURE), "--out", "me.json", "--motion", "1-", "--motion", "other.c3d"], "other.c3d"),
        (["calibrate", str(DEMO_CAPTURE), "--out", "me.json", "--radii", "11"], "joint radii '11', expected three"),
        (
            ["solve", str(DEMO_CAPTURE), "--out", "a.blend", "--set", "passes=many"],
            "passes is 'many', expected a",
        ),
        (
            ["solve", str(DEMO_CAPTURE), "--out", "a.blend", "--set", "colour=1"],
            "fabrik has no setting 'colour'",
        ),
        (["solve", str(DEMO_CAPTURE), "--out", "a.blend", "--set-smoothing", "calm=2"], "smoothing off has no setting"),
        (["solve", str(DEMO_CAPTURE), "--out", "a.blend", "--solver", "table", "--set", "passes=1"], "table has no"),
        (["solve", str(DEMO_CAPTURE), "--out", "a.npz", "--joints", "b.npz"], "expected one of them"),
        (["solve", str(DEMO_CAPTURE), "--out", "a.npz", "--evidence", "a.npz"], "both joints and evidence"),
        (["solve", str(DEMO_CAPTURE), "--out", "a.npz", "--rig", "body.blend"], "expected a .blend file to key"),
    ],
)
def test_a_problem_is_one_sentence_and_exits_with_1(arguments, sentence, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 1
    reported = capsys.readouterr()
    assert reported.out == ""
    assert reported.err.count("\n") == 1
    assert reported.err.startswith("knuckle: ") and sentence in reported.err
    assert list(tmp_path.iterdir()) == [], "nothing is half written"


def test_all_solvers_and_smoothings_and_their_settings_are_reported(capsys):
    assert main(["solvers"]) == 0
    reported = capsys.readouterr().out
    for registry in (SOLVER, SMOOTHING):
        for name in registry.kinds:
            assert f"{registry.what} {name}: " in reported
            for setting, (_, may_be) in registry.settings(name).items():
                assert f"    {setting}=" in reported and may_be.about in reported


def test_settings_are_those_of_the_recipe_with_the_typed_ones_over_them(tmp_path):
    path = tmp_path / "recipe.json"
    kept = {"settings": {"passes": 7, "sweeps": 3}, "smoothing": "whole", "smoothing_settings": {"calm": 2.0}}
    path.write_text(json.dumps({"capture": "a"} | kept))

    def chosen(*arguments):
        return recipe_of(command_parser().parse_args(["solve", "b", "--out", "c", "--recipe", str(path), *arguments]))

    def settings(*arguments):
        return chosen(*arguments).settings

    assert chosen().smoothing_settings == {"calm": 2.0}
    assert chosen("--set-smoothing", "calm=3").smoothing_settings == {"calm": 3.0}
    live = chosen("--smoothing", "live", "--set-smoothing", "lag=0")
    assert (live.smoothing, live.smoothing_settings) == ("live", {"lag": 0})

    assert settings() == {"passes": 7, "sweeps": 3}
    assert settings("--set", "passes=9", "--set", "tolerance=1e-4") == {"passes": 9, "sweeps": 3, "tolerance": 1e-4}
    assert settings("--solver", "table") == {}, "another solver has settings of its own"
    assert settings("--solver", "fabrik") == {"passes": 7, "sweeps": 3}


@pytest.mark.parametrize(
    ("kept", "typed", "driven"),
    [("wrist", ["--drive", "arm"], "arm"), ("arm", [], "arm"), ("arm", ["--drive", "fingers"], "fingers")],
)
def test_what_is_driven_is_the_recipes_unless_it_is_typed(tmp_path, kept, typed, driven):
    path = tmp_path / "recipe.json"
    path.write_text(json.dumps({"capture": "a", "drive": kept}))
    options = command_parser().parse_args(["solve", "b", "--out", "c", "--recipe", str(path), *typed])
    assert recipe_of(options).drive == driven


@pytest.mark.parametrize(
    ("kept", "typed", "what"),
    [
        ({}, [], ("directions", "hand")),
        ({"keep": "pinches"}, ["--keep-scale", "world"], ("pinches", "world")),
        ({"keep": "pinches", "keep_scale": "world"}, ["--keep", "fingertips"], ("fingertips", "world")),
    ],
)
def test_what_is_kept_is_the_recipes_unless_it_is_typed(tmp_path, kept, typed, what):
    path = tmp_path / "recipe.json"
    path.write_text(json.dumps({"capture": "a", **kept}))
    chosen = recipe_of(command_parser().parse_args(["solve", "b", "--out", "c", "--recipe", str(path), *typed]))
    assert (chosen.keep, chosen.keep_scale) == what


@pytest.mark.parametrize(
    ("kept", "typed", "how"), [("device", [], "device"), ("device", ["--angles", "solved"], "solved")]
)
def test_what_tells_the_angles_is_the_recipes_unless_it_is_typed(tmp_path, kept, typed, how):
    path = tmp_path / "recipe.json"
    path.write_text(json.dumps({"capture": "a", "angles": kept}))
    options = command_parser().parse_args(["solve", "b", "--out", "c", "--recipe", str(path), *typed])
    assert recipe_of(options).angles == how


def test_what_is_read_is_never_written_over(tmp_path, capsys):
    capture = tmp_path / "take.json"
    capture.write_bytes(DEMO_CAPTURE.read_bytes())
    assert main(["calibrate", str(capture), "--out", str(capture)]) == 1
    assert "is an input, expected another file to write to" in capsys.readouterr().err
    assert main(["calibrate", str(DEMO_CAPTURE), "--motion", f"{capture}:1-", "--out", str(capture)]) == 1
    assert "is an input, expected another file to write to" in capsys.readouterr().err
    assert capture.read_bytes() == DEMO_CAPTURE.read_bytes()
