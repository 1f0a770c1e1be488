"""Performer files, of this version and of the one before."""

import json
import re

import numpy as np
import pytest

from knuckle.errors import KnuckleError
from knuckle.hand.calibration.joint_radii import radii_by_size
from knuckle.hand.marker_sets import Spot
from knuckle.hand.measured_hand import NO_RHO, MeasuredHand
from knuckle.hand.measurements import Measurement
from knuckle.hand.model import Movement
from knuckle.hand.proportions import adult
from knuckle.hand.proportions_json import to_json
from knuckle.pipeline.performer import FORMAT, FORMAT_VERSION, Performer, from_dict, to_dict

DISTAL: tuple[str, Movement] = ("index-finger-phalanx-distal", "flexion")


def someone():
    measures = (
        Measurement("bone", "thumb-metacarpal", "mean over still frames 1 to 30", 46.2, 0.3, frames=30),
        Measurement("rho", "ring-finger", "not measured: no markers"),
        Measurement("rho", "index-finger", "slope", 0.6, 0.02, 1.5, 300),
    )
    hand = MeasuredHand(
        adult("left"),
        {"A": Spot("wrist", (0.0, 0.01, 0.02)), "B": Spot("index-finger-tip")},
        rho=(None, 0.6, None, 0.75, None),
        radii=radii_by_size(adult("left")) * 1.1,
        limits={DISTAL: (0.0, 42.0)},
        measurements=measures,
    )
    return Performer("a.c3d", {"left": hand}, {"still": "a.c3d, frames 1 to 30"}, ("one note",))


def test_a_performer_comes_back_as_it_was():
    there = someone()
    back = from_dict(json.loads(json.dumps(to_dict(there))), "file")
    one, other = back.hands["left"], there.hands["left"]
    assert (back.capture, back.clips, back.notes) == (there.capture, there.clips, there.notes)
    assert (one.rho, one.limits, one.measurements, one.spots) == (
        other.rho,
        other.limits,
        other.measurements,
        other.spots,
    )
    assert np.abs(one.radii - other.radii).max() < 1e-6
    assert np.abs(one.proportions.palm - other.proportions.palm).max() < 1e-6


def test_a_file_of_the_first_version_is_read():
    """It held lengths, directions and markers: what it lacks is as usual."""
    old = {
        "format": "knuckle performer 1",
        "capture": "old.c3d",
        "hands": {"right": to_json(adult("right"))},
        "markers": {"right": {"A": "wrist"}},
    }
    hand = from_dict(old, "old.json").hands["right"]
    assert (hand.rho, hand.limits, hand.measurements, hand.spots) == (NO_RHO, {}, (), {"A": Spot("wrist")})
    assert np.abs(hand.radii - radii_by_size(adult("right"))).max() < 1e-6


def changed(change):
    data = json.loads(json.dumps(to_dict(someone())))
    change(data, data["hands"]["left"])
    return data


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            lambda data, _: data.update(format=f"{FORMAT} {FORMAT_VERSION + 1}"),
            f"of version {FORMAT_VERSION + 1}, this Knuckle reads performers up to",
        ),
        (lambda data, _: data.update(format="recipe"), "not a performer file, its format is 'recipe'"),
        (
            lambda data, _: data.update(format=f"knuckle performer {'9' * 5000}"),
            "not a performer file, its format is 'knuckle performer 9999",
        ),
        (lambda data, _: data.update(format=None), "not a performer file, its format is None"),
        (lambda data, _: data.update(hand={}), "'hand' is not known, expected format, capture"),
        (lambda _, hand: hand.update(rhos={}), "me.json, left: 'rhos' is not known, expected size_mm"),
        (lambda data, _: data["hands"].update(middle={}), "hands: 'middle' is not known, expected left, right"),
        (lambda _, hand: hand["rho"].update(index=0.5), "left, rho: 'index' is not known, expected thumb"),
        (
            lambda _, hand: hand["rho"].update({"index-finger": 0}),
            "rho of index-finger is 0, expected a number above 0",
        ),
        (lambda _, hand: hand["rho"].update({"index-finger": float("nan")}), "rho of index-finger is nan"),
        (lambda _, hand: hand["rho"].update({"index-finger": True}), "rho of index-finger is True"),
        (lambda _, hand: hand.update(rho=[0.5]), "'rho' is [0.5], expected names and values"),
        (lambda _, hand: hand["radii_mm"].update(thumb=[1, 2]), "radii_mm of thumb is [1, 2], expected three numbers"),
        (lambda _, hand: hand["radii_mm"].update(thumb=[1, 2, -3]), "expected three numbers from 0 to 100"),
        (
            lambda _, hand: hand["limits_deg"].update(elbow=[0, 1]),
            "limits_deg names 'elbow', expected a movement such as",
        ),
        (lambda _, hand: hand["limits_deg"].update({" ".join(DISTAL): [0]}), "is [0], expected two numbers"),
        (lambda _, hand: hand["limits_deg"].update({" ".join(DISTAL): [50, 0]}), "limited to 50..0 degrees"),
        (
            lambda _, hand: hand.update(measures=[{"kind": "bone"}]),
            "expected kind (bone, palm, rho, radius, marker), of, how",
        ),
        (lambda _, hand: hand.update(measures=[3]), "a measure is 3"),
        (lambda _, hand: hand.update(measures={}), "'measures' is {}, expected a list"),
        (lambda data, _: data.update(notes="x"), "'notes' is 'x', expected a list of sentences"),
        (lambda data, _: data.update(clips=[]), "'clips' is [], expected names and texts"),
        (lambda data, _: data.update(hands={}), "holds neither a left nor a right hand"),
        (lambda data, _: data["hands"].update(left=3), "directions_wxyz of thumb is None"),
    ],
)
def test_a_file_that_is_broken_is_reported_in_one_sentence(change, sentence):
    data = {"hands": {"left": {}}} | changed(change)
    with pytest.raises(KnuckleError, match=re.escape(sentence)) as reported:
        from_dict(data, "me.json")
    assert "\n" not in str(reported.value)
