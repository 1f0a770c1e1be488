"""Recipes: every choice in one JSON."""

import json
import re

import pytest

from knuckle.capture.cleaning import Cleaning
from knuckle.errors import RecipeError
from knuckle.pipeline.recipe import Recipe, from_dict, read_json, to_dict
from knuckle.solvers import SMOOTHINGS, make, make_smoothing
from knuckle.solvers.settings import settings_of


def test_a_recipe_comes_back_from_json_as_it_was():
    recipe = Recipe(
        "a.c3d",
        unit="cm",
        start=3,
        end=9,
        hand="left",
        markers={"left": {"A": "wrist"}},
        fps=23.976,
        cleaning=Cleaning(gap_limit=0.5, fragments=False, spikes=False, cutoff=6.0),
        settings={"passes": 10},
        smoothing="whole",
        smoothing_settings={"calm": 2.0},
    )
    assert from_dict(json.loads(json.dumps(to_dict(recipe))), "file") == recipe


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ([], "r.json: found list, expected an object with names and values"),
        ({}, "r.json: there is no 'capture'"),
        ({"capture": "a", "colour": 1}, "r.json: 'colour' is not known, expected capture"),
        ({"capture": 3}, "r.json: 'capture' is 3, which has the wrong type"),
        ({"capture": "a", "start": 1.5}, "r.json: 'start' is 1.5"),
        ({"capture": "a", "start": True}, "r.json: 'start' is True"),
        ({"capture": "a", "start": 0}, "start is 0, the first frame of a capture is 1"),
        ({"capture": "a", "start": 5, "end": 4}, "end is 4, before start at 5"),
        ({"capture": "a", "end": 0}, "end is 0, the first frame of a capture is 1"),
        ({"capture": "a", "hand": "third"}, "r.json: 'hand' is 'third'"),
        ({"capture": "a", "unit": "foot"}, "unit is 'foot', expected one of auto, m, dm, cm, mm, inch"),
        ({"capture": "a", "fps": 0}, "fps is 0, expected more than 0"),
        ({"capture": "a", "cleaning": 3}, "r.json: 'cleaning' is 3"),
        ({"capture": "a", "cleaning": {"gap": 3}}, "r.json, cleaning: 'gap' is not known"),
        ({"capture": "a", "cleaning": {"spikes": 1}}, "r.json, cleaning: 'spikes' is 1"),
    ],
)
def test_what_is_not_understood_is_reported(data, sentence):
    with pytest.raises(RecipeError, match=sentence):
        from_dict(data, "r.json")


@pytest.mark.parametrize(
    ("name", "settings", "sentence"),
    [
        ("magic", {}, "solver is 'magic', expected one of"),
        ("fabrik", {"speed": 1}, "solver fabrik has no setting 'speed'"),
        ("fabrik", {"passes": -1}, "solver fabrik: passes is -1, expected a whole number from 1 to 1000"),
        ("fabrik", {"sweeps": 2.5}, "solver fabrik: sweeps is 2.5, expected a whole number from 0 to 1000"),
        ("fabrik", {"tolerance": float("inf")}, "solver fabrik: tolerance is inf, expected a number from 1e-09"),
        ("fabrik", {"tolerance": float("nan")}, "solver fabrik: tolerance is nan"),
        ("fabrik", {"tolerance": "small"}, "solver fabrik: tolerance is 'small'"),
    ],
)
def test_a_solver_that_cannot_be_made_is_reported(name, settings, sentence):
    with pytest.raises(RecipeError, match=sentence):
        make(name, settings)


@pytest.mark.parametrize(
    ("name", "settings", "sentence"),
    [
        ("magic", {}, "smoothing is 'magic', expected one of off, live, whole"),
        ("off", {"calm": 1.0}, "smoothing off has no setting 'calm', it has none"),
        ("whole", {"speed": 1}, "smoothing whole has no setting 'speed', expected one of calm"),
        ("whole", {"calm": 0}, "smoothing whole: calm is 0, expected a number from 0.1 to 10"),
        ("live", {"lag": 1.0}, "smoothing live: lag is 1.0, expected a whole number from 0 to 1"),
    ],
)
def test_a_smoothing_that_cannot_be_made_is_reported(name, settings, sentence):
    with pytest.raises(RecipeError, match=sentence):
        make_smoothing(name, settings)


@pytest.mark.parametrize("name", SMOOTHINGS)
def test_every_smoothing_can_be_made_of_its_own_defaults(name):
    defaults = {key: default for key, (default, _) in settings_of(SMOOTHINGS[name]).items()}
    assert make_smoothing(name, defaults) == make_smoothing(name, {})


def test_files_that_are_no_settings_are_reported(tmp_path):
    with pytest.raises(RecipeError, match="cannot be read"):
        read_json(tmp_path / "missing.json")
    with pytest.raises(RecipeError, match="a folder or a device"):
        read_json(tmp_path)
    with pytest.raises(RecipeError, match="/dev/zero: a folder or a device"):
        read_json("/dev/zero")
    with (tmp_path / "large.json").open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(RecipeError, match="larger than 16 MiB"):
        read_json(tmp_path / "large.json")
    for content, sentence in (
        (b"{\n'a'", "line 2: not JSON"),
        (b"\xff\xfe\x00", "not a JSON text"),
        (b"[" * 99999, "not"),
        (b"1" * 5000, "not a JSON text"),
        (b'{"size_mm": 99999999999999999999}', "not a JSON text"),
        (b'{"\\ud800": 1}', "contains half a character"),
    ):
        path = tmp_path / "bad.json"
        path.write_bytes(content)
        with pytest.raises(RecipeError, match=sentence):
            read_json(path)


@pytest.mark.parametrize(
    ("field", "sentence"),
    [
        ({"arm": True}, 'r.json: "arm": true is of an early version, expected "drive": "arm"'),
        ({"arm": False}, 'r.json: "arm": false is of an early version, expected "drive": "wrist"'),
        ({"drive": "targets"}, 'expected "angles": "solved"'),
        ({"drive": "joints"}, 'expected "angles": "device"'),
        ({"drive": "elbow"}, "'drive' is 'elbow', which has the wrong type"),
    ],
)
def test_fields_of_early_recipes_are_told_by_their_new_names(field, sentence):
    with pytest.raises(RecipeError, match=re.escape(sentence)):
        from_dict({"capture": "a.c3d", **field}, "r.json")
