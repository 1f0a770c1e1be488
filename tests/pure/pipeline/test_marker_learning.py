"""Marker sets that are learnt from a labelled take, and label others."""

import json
from dataclasses import replace

import numpy as np
import pytest

from knuckle import capture
from knuckle.capture.markers import Markers
from knuckle.cli.main import main
from knuckle.errors import MarkerMapError
from knuckle.hand.joints import SIDES
from knuckle.hand.labelling.shape_model import SKIN_LAYOUTS
from knuckle.hand.marker_sets import from_json, to_json
from knuckle.pipeline import assignment
from knuckle.pipeline.marker_learning import learn_markers
from knuckle.pipeline.recipe import Recipe
from knuckle.tests.pure.hand.labelling.spoiled import made_with

LABELS = tuple(SKIN_LAYOUTS[0].spots)
SPOTS = tuple(SKIN_LAYOUTS[0].spots.values())


def take(side, seed, names=LABELS):
    """A made hand with markers on the skin."""
    times, positions, _ = made_with(SPOTS, side, seed)
    return Markers(names, times, positions, "made", 50.0, "m")


def unlabelled(markers):
    order = np.random.default_rng(2).permutation(len(markers.names))
    names = tuple(f"Unlabeled {number}" for number in range(len(order)))
    shuffled = replace(
        markers, names=names, positions=markers.positions[:, order], predicted=markers.predicted[:, order]
    )
    return shuffled, {name: markers.names[column] for name, column in zip(names, order, strict=True)}


@pytest.fixture(scope="module")
def learnt():
    """A map that was learnt from a labelled take of a right hand."""

    def reader(_recipe):
        yield from ()
        return take("right", 8)

    groups, notes = learn_markers(Recipe("made"), reader)
    assert notes == ()
    return to_json(groups)


def test_a_learnt_marker_sits_where_it_was_made(learnt):
    spots = from_json(learnt, "learnt")["right"]
    assert tuple(spots) == LABELS
    for label, made in zip(LABELS, SPOTS, strict=True):
        if made.joint != "wrist" and not label.startswith("thumb"):
            assert spots[label].joint == made.joint
            assert np.linalg.norm(np.subtract(spots[label].offset, made.offset)) < 0.012, label


@pytest.mark.parametrize("side", SIDES)
def test_an_unlabelled_take_of_another_hand_is_labelled_by_a_learnt_set(learnt, side):
    markers, truth = unlabelled(take(side, 11))
    recipe = Recipe("made", markers=learnt)
    labels = assignment.label_markers(recipe, markers)
    (hand,) = labels.facts["hands_found"]
    assert hand["side"] == side
    for name, entry in hand["markers"].items():
        assert {truth[each["label"]] for each in entry["from"]} == {name.removeprefix(f"{side}:")}
    found = assignment.assign_hands(recipe, labels.markers).hands
    assert list(found) == [side]
    assert list(found[side]) == [f"{side}:{label}" for label in LABELS]


def test_labels_that_are_there_are_believed(learnt):
    labels = assignment.label_markers(Recipe("made", markers=learnt), take("right", 12))
    assert labels.facts["by"] == "names"
    assert labels.markers.names == LABELS


def test_a_take_of_another_set_is_refused(learnt):
    markers, _ = unlabelled(take("right", 11))
    markers = replace(
        markers, names=markers.names[:6], positions=markers.positions[:, :6], predicted=markers.predicted[:, :6]
    )
    with pytest.raises(MarkerMapError, match="no hand was found"):
        assignment.label_markers(Recipe("made", markers=learnt), markers)


def test_the_shell_learns_from_one_performer_and_labels_another(shared, tmp_path, capsys):
    takes = shared / "data" / "sig18"
    out = tmp_path / "set.json"
    assert main(["labels", "learn", str(takes / "user1" / "capture2_13_right.trc"), "--out", str(out)]) == 0
    assert "right hand: learnt where its 19 markers sit" in capsys.readouterr().out
    assert main(["labels", "learn", str(takes / "user1" / "capture2_13_right.trc"), "--out", str(out)]) == 1
    original = capture.read(takes / "user2" / "capture4_13_left.trc")
    markers, truth = unlabelled(original)
    labels = assignment.label_markers(Recipe("take", markers=json.loads(out.read_text())), markers)
    (hand,) = labels.facts["hands_found"]
    assert hand["side"] == "left"
    pieces = [(name, each) for name, entry in hand["markers"].items() for each in entry["from"]]
    assert np.mean([truth[each["label"]] == name.removeprefix("left:") for name, each in pieces]) > 0.98
