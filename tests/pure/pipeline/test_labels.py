"""Captures without helpful labels, from the markers to the named hand."""

import json
from dataclasses import replace

import numpy as np
import pytest

from knuckle import capture
from knuckle.cli.commands import DEMO_CAPTURE
from knuckle.cli.main import main
from knuckle.errors import MarkerMapError
from knuckle.hand.generators import Progress, run_to_end
from knuckle.hand.joints import SIDES, TIPS
from knuckle.hand.labelling.shape_model import LAYOUTS
from knuckle.hand.marker_sets import suggest
from knuckle.pipeline import assignment as assigning
from knuckle.pipeline import calibration, job
from knuckle.pipeline.calibration_choices import CalibrationChoices
from knuckle.pipeline.labelling import DOUBTFUL_CONFIDENCE, LabelledMarkers, describe_labels, label_by_shape
from knuckle.pipeline.recipe import Recipe, read_json
from knuckle.tests.pure.hand.labelling.spoiled import made


@pytest.fixture(scope="module")
def tap():
    return capture.read(DEMO_CAPTURE)


def nameless(markers):
    """The capture as a system writes it whose user has labelled nothing, its columns in another order."""
    order = np.random.default_rng(4).permutation(len(markers.names))
    unnamed = replace(
        markers,
        names=tuple(f"Unlabeled {number}" for number in range(len(order))),
        positions=markers.positions[:, order],
        predicted=markers.predicted[:, order],
    )
    return unnamed, {f"Unlabeled {number}": markers.names[column] for number, column in enumerate(order)}


def test_markers_without_names_are_those_of_the_capture_that_has_them(tap):
    unnamed, truth = nameless(tap)
    recipe = Recipe(str(DEMO_CAPTURE))
    labels = assigning.label_markers(recipe, unnamed)
    assert labels.facts["by"] == "shape"
    (hand,) = labels.facts["hands_found"]
    assert hand["side"] == "right"
    for name, entry in hand["markers"].items():
        assert [truth[each["label"]] for each in entry["from"]] == [name]
        at = labels.markers.names.index(name)
        np.testing.assert_array_equal(labels.markers.positions[:, at], tap.positions[:, tap.names.index(name)])
    reported = assigning.assign_hands(recipe, labels.markers).hands
    assert reported == assigning.assign_hands(recipe, tap).hands
    assert any("labelled by shape and motion" in warning for warning in labels.markers.warnings)
    assert any("worn on the skin" in warning for warning in labels.markers.warnings)


@pytest.mark.parametrize(("chosen", "expected"), [("auto", True), ("joints", False), ("skin", False)])
def test_where_markers_found_by_shape_are_worn_is_reported_if_it_was_not_chosen(tap, monkeypatch, chosen, expected):
    def found(*_):
        yield Progress(0.5, "Looking")
        return LabelledMarkers(tap)

    monkeypatch.setattr(assigning, "label_by_shape", found)
    notes = assigning.label_markers(Recipe("x", labels="shape", markers_on=chosen), tap).markers.warnings
    assert any("worn on the skin" in note for note in notes) == expected


@pytest.mark.parametrize(("slide", "noise", "expected"), [(0.0, 0.0, False), (0.0, 2e-3, False), (8e-3, 2e-4, True)])
def test_markers_found_by_shape_that_part_while_fingers_bend_are_on_the_skin(tap, monkeypatch, slide, noise, expected):
    rng = np.random.default_rng(5)
    positions = tap.positions + rng.normal(scale=noise, size=tap.positions.shape)
    column = tap.names.index("right:index-finger-phalanx-intermediate")
    along = positions[:, column] - positions[:, tap.names.index("right:index-finger-phalanx-proximal")]
    way = np.sin(np.linspace(0, 2 * np.pi, len(positions))) / 2
    positions[:, column] += slide * way[:, None] * along / np.linalg.norm(along, axis=-1, keepdims=True)
    moved = replace(tap, positions=positions, rotations=None)

    def found(*_):
        yield Progress(0.5, "Looking")
        return LabelledMarkers(moved, groups=suggest(moved.names).groups)

    monkeypatch.setattr(assigning, "label_by_shape", found)
    markers = assigning.label_markers(Recipe("x", labels="shape"), moved).markers
    assert assigning.assign_hands(Recipe("x"), markers).on_skin == expected
    assert not assigning.assign_hands(Recipe("x", markers_on="joints"), markers).on_skin


def test_labelling_by_shape_tells_all_the_time_what_it_does_and_comes_to_the_same(tap):
    unnamed, _ = nameless(tap)
    recipe = Recipe(str(DEMO_CAPTURE))
    work, said = assigning.label_markers_stepwise(recipe, unnamed), []
    with pytest.raises(StopIteration) as end:
        while True:
            said.append(next(work).description)
    at_once = assigning.label_markers(recipe, unnamed)
    assert end.value.value.facts == at_once.facts
    np.testing.assert_array_equal(end.value.value.markers.positions, at_once.markers.positions)
    wanted = {f"Looking for a {side} hand with the set '{layout.name}'" for side in SIDES for layout in LAYOUTS}
    assert wanted <= set(said)
    assert next(assigning.label_markers_stepwise(Recipe("x"), tap), None) is None, "names that tell need no looking"


def test_names_that_tell_are_taken_unless_shape_is_asked_for(tap):
    assert assigning.label_markers(Recipe("x"), tap).markers is tap
    assert assigning.label_markers(Recipe("x", labels="shape"), tap).facts["by"] == "shape"


def test_a_capture_without_a_hand_is_refused_with_what_was_tried(tap):
    unnamed, _ = nameless(tap)
    three = replace(
        unnamed, names=unnamed.names[:3], positions=unnamed.positions[:, :3], predicted=unnamed.predicted[:, :3]
    )
    with pytest.raises(MarkerMapError, match=r"none of the 3 labels.*no hand was found by the shape"):
        assigning.label_markers(Recipe("x"), three)
    with pytest.raises(MarkerMapError, match="none of the 26 labels"):
        assigning.assign_hands(
            Recipe("x", labels="names"), assigning.label_markers(Recipe("x", labels="names"), unnamed).markers
        )


def some_of(markers, kept):
    columns = [column for column, name in enumerate(markers.names) if kept(name)]
    return replace(
        markers,
        names=tuple(markers.names[column] for column in columns),
        positions=markers.positions[:, columns],
        predicted=markers.predicted[:, columns],
    )


def test_a_performer_is_known_by_fewer_markers_than_were_measured(tap):
    """Wrist, two knuckles and tips of the 25 that the file has."""
    known = calibration.run(Recipe(str(DEMO_CAPTURE)), CalibrationChoices(fit=False)).hands
    ends = ("wrist", "tip", "index-finger-phalanx-proximal", "pinky-finger-phalanx-proximal")
    unnamed, truth = nameless(some_of(tap, lambda name: name.endswith(ends)))
    assert len(truth) == 8
    (hand,) = run_to_end(label_by_shape(unnamed, known)).facts["hands_found"]
    assert hand["side"] == "right"
    assert {truth[each["label"]]: name for name, entry in hand["markers"].items() for each in entry["from"]} == {
        name: name for name in truth.values()
    }
    with pytest.raises(MarkerMapError, match="only the performer's right hand was looked for"):
        run_to_end(label_by_shape(some_of(unnamed, lambda name: name in unnamed.names[:4]), known))


def test_info_tells_what_was_found_and_its_map_is_one_that_can_be_read_again(tmp_path, capsys):
    saved = tmp_path / "map.json"
    assert main(["info", str(DEMO_CAPTURE), "--labels", "shape", "--save-markers", str(saved)]) == 0
    assert "right hand with 25 markers, by shape" in capsys.readouterr().out
    assert main(["info", str(DEMO_CAPTURE), "--labels", "shape"]) == 0
    recipe = Recipe(str(DEMO_CAPTURE), labels="shape", markers=read_json(saved))
    labels = assigning.label_markers(recipe, assigning.read(recipe))
    assert len(assigning.assign_hands(recipe, labels.markers).hands["right"]) == 25


def test_a_hand_in_a_wrong_unit_is_reported_and_keeps_its_map(tmp_path, capsys):
    maps = {}
    for unit in ("mm", "m"):
        saved = tmp_path / f"{unit}.json"
        assert main(["info", str(DEMO_CAPTURE), "--unit", unit, "--save-markers", str(saved)]) == 0
        maps[unit] = read_json(saved)
    assert "no hand: right hand: " in capsys.readouterr().out
    assert maps["m"] == maps["mm"] and len(maps["m"]["right"]) == 25


def swapped(markers, one, other, rows):
    pair = [markers.names.index(one), markers.names.index(other)]
    positions = markers.positions.copy()
    positions[rows, pair] = positions[rows, pair[::-1]]
    return replace(markers, positions=positions)


def test_swaps_of_named_markers_are_put_right_and_counted(tap):
    spoiled = swapped(tap, "right:index-finger-tip", "right:middle-finger-tip", slice(20, 41))
    spoiled = swapped(spoiled, "right:ring-finger-phalanx-distal", "right:pinky-finger-tip", slice(50, 58))
    labels = assigning.label_markers(Recipe("x"), spoiled)
    np.testing.assert_array_equal(labels.markers.positions, tap.positions)
    assert labels.facts["swaps"] == {"mended": 2, "doubtful": 0}
    assert any("in frames 21-41" in warning for warning in labels.markers.warnings)


def test_real_captures_as_they_are_have_no_swaps(shared):
    for file in ("two_hands_glove.c3d", "qualisys_glove.tsv", "mediapipe_video.json"):
        markers = capture.read(shared / "data/captures" / file)
        assert assigning.label_markers(Recipe("x"), markers).markers is markers


def test_a_swap_that_no_distance_tells_of_is_left_as_it_is_and_reported():
    """Two markers alone that cross: their ways say so, but nothing else does."""
    times = np.arange(80) / 100
    way = np.stack([0.5 * times, 0 * times, 0 * times], axis=1)
    paths = np.stack([way, way + [0.0, 0.02, 0.0], way * [-1, 1, 1] + [0.3, 0.5, 0]], axis=1)
    names = ("right:index-finger-tip", "right:middle-finger-tip", "right:wrist")
    clear = capture.Markers(names, times, paths, "made", 100.0, "m")
    labels = assigning.label_markers(Recipe("x"), swapped(clear, *names[:2], slice(30, 50)))
    assert labels.facts["swaps"] == {"mended": 0, "doubtful": 1}
    assert any("left as it is" in warning for warning in labels.markers.warnings)


def test_what_was_told_by_shape_is_reported_to_people_with_each_marker_in_doubt(tap):
    facts = run_to_end(label_by_shape(nameless(tap)[0])).facts
    (hand,) = facts["hands_found"]
    first, *doubts = describe_labels(facts)
    assert first == f"Right, by shape: {hand['sure']:.0%} sure"
    doubtful = {name for name, entry in hand["markers"].items() if entry["confidence"] < DOUBTFUL_CONFIDENCE}
    assert {line.split(": ")[0] for line in doubts} == doubtful
    some = next(iter(hand["markers"]))
    hand["markers"][some]["confidence"] = 0.6
    assert f"{some}: 60% sure" in describe_labels(facts)
    assert describe_labels({"by": "names"}) == []


@pytest.mark.parametrize("options", [(), ("--labels", "shape"), ("--hand", "left", "--labels", "shape")])
def test_info_tells_of_fingertips_alone_and_saves_what_a_map_begins_with(tmp_path, capsys, options):
    times, places, _ = made(3, "right", 4)
    file, saved, order = tmp_path / "tips.csv", tmp_path / "map.json", (5, 3, 7, 4, 6)
    titles = ",".join(f"m{index}.{axis}" for index in order for axis in "xyz")
    rows = np.column_stack([times, places[:, list(order)].reshape(len(times), -1)])
    np.savetxt(file, rows, delimiter=",", header=f"time,{titles}", comments="", fmt="%.9g")
    assert main(["info", str(file), *options, "--save-markers", str(saved)]) == 0
    reported = capsys.readouterr().out
    assert "5 labels" in reported
    assert "too few markers to solve" in reported and "add three markers" in reported
    hand = "left" if "left" in options else "hand"
    tips = {f"m{index}": tip for index, tip in zip(range(3, 8), TIPS, strict=True)}
    (own,) = [named for called, named in json.loads(saved.read_text()).items() if called == hand]
    assert len(own) >= 3 and own.items() <= tips.items()
    assert main(["info", str(file), *options, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)["markers"]["tips"][hand]
    assert {label: fact["joint"] for label, fact in facts.items()} == own
    assert all(0.98 < fact["confidence"] <= 1 for fact in facts.values())
    with pytest.raises(MarkerMapError, match="move like fingertips"):
        job.run(Recipe(str(file), labels="shape"))
