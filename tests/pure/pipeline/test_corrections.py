"""Corrections as data: their JSON, whatever it holds, and how much of them counts when."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knuckle.errors import RecipeError
from knuckle.hand import rotations as rot
from knuckle.pipeline.corrections.correction import (
    Change,
    Correction,
    HeldOnObject,
    HeldTouch,
    HiddenMarkers,
    ObjectPoint,
    OtherMethods,
    PoseDifference,
    PoseToHold,
    SwappedLabels,
    TakenMotion,
    TimeRange,
)
from knuckle.pipeline.corrections.correction_json import decode, encode, from_list, to_list
from knuckle.pipeline.corrections.touch_json import touch_from_dict

TURN = rot.from_axis_angle([0.6, 0.0, 0.8], 0.7)
CHANGES: dict[str, Change] = {
    "difference": PoseDifference({"thumb-phalanx-distal": TURN, "wrist": TURN}),
    "pose": PoseToHold("fist", ("thumb", "index-finger")),
    "motion": TakenMotion(np.array([1.0, 1.5]), {"thumb-phalanx-distal": np.stack([TURN, rot.IDENTITY])}, "Take"),
    "contact": HeldTouch(("thumb-phalanx-distal", "ring-finger-metacarpal"), (0.75, 0.5), np.array([0.0, -0.6, 0.8])),
    "object": HeldOnObject("Table", (ObjectPoint("thumb", np.array([0.5, -2.0, 3.0]), np.array([0.0, -0.6, 0.8])),)),
    "hide": HiddenMarkers(("RTIP", "RMCP")),
    "swap": SwappedLabels(("RTIP", "RMCP")),
    "solve": OtherMethods("cga", {}, "whole", {"calm": 2.0}),
}
TOUCH = {"bones": ["thumb-phalanx-distal", "index-finger-phalanx-distal"], "shares": [1, 1], "direction": [0, 0, 1]}
RANGE = {"start": 1.0, "end": 2.0}
POINT = {"digit": "thumb", "place": [1, 2, 3], "direction": [0, 0, 1]}
PLAIN = {"id": "a", "name": "A", "kind": "pose", "hand": "left", "pose": "fist", **RANGE}


@pytest.mark.parametrize("kind", CHANGES)
def test_a_correction_comes_back_from_json_as_it_was(kind):
    made = Correction("a", "Mend", "left", TimeRange(1.0, 2.5, 0.25, 0.5), CHANGES[kind], 0.75, ((1.0, 0.5), (2.0, 1)))
    (read,) = decode(encode((made,)), "file")
    assert (read.id, read.name, read.hand, read.range) == (made.id, made.name, made.hand, made.range)
    assert (read.factor, read.factor_keys, read.muted, read.locked) == (0.75, ((1.0, 0.5), (2.0, 1.0)), False, False)
    assert read.kind == kind and json.loads(encode((read,))) == json.loads(encode((made,)))
    if isinstance(read.change, PoseDifference):
        np.testing.assert_allclose(read.change.rotations["wrist"], TURN, atol=1e-6)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (
            {"kind": "grip"},
            "kind is 'grip', expected one of difference, pose, motion, contact, object, hide, ",
        ),
        ({"hand": "third"}, "hand is 'third', expected one of left, right"),
        ({"start": 3.0}, r"end is 2.0, expected 3 to 1e\+11"),
        ({"start": float("nan")}, r"start is nan, expected -1e\+11 to 1e\+11"),
        ({"end": True}, "end is True"),
        ({"blend_in": -1}, "blend_in is -1, expected 0 to"),
        ({"factor": 1.5}, "factor is 1.5, expected 0 to 1"),
        ({"factor_keys": [[1, 0], [1, 1]]}, "factor_keys must have increasing times"),
        ({"factor_keys": [["1", 0]]}, "factor_keys must be 1 x 2 numbers"),
        ({"muted": 1}, "muted is 1, expected true or false"),
        ({"name": ""}, "name is '', expected a text of 1 to 200 characters"),
        ({"colour": 1}, "'colour' is not known, expected id, name"),
        ({"pose": "fits"}, "there is no pose 'fits'"),
        ({"pose": {"label": 3}}, "not a hand pose"),
        ({"digits": []}, "digits is \\[\\], expected some of thumb"),
        ({"kind": "hide"}, "'pose' is not known"),
    ],
)
def test_what_is_not_understood_is_reported(wrong, sentence):
    with pytest.raises(RecipeError, match=f"c.json, correction 1: .*{sentence}"):
        from_list([PLAIN | wrong], "c.json")


@pytest.mark.parametrize(
    ("kind", "own", "sentence"),
    [
        ("difference", {"turns": {}}, "turns must be an object of joints"),
        ("difference", {"turns": {"elbow": [1, 0, 0, 0]}}, "turns must be an object of joints"),
        ("difference", {"turns": {"wrist": [0, 0, 0, 0]}}, "turns of wrist must be unit quaternions"),
        ("difference", {"turns": {"wrist": [1, 0, 0]}}, "turns of wrist must be 1 x 4 numbers"),
        ("motion", {"times": [], "rotations": {"wrist": []}}, "'times' must list 1 to 5000 times"),
        ("motion", {"times": [2, 1], "rotations": {"wrist": [[1, 0, 0, 0]] * 2}}, "its times must increase"),
        ("motion", {"times": [1], "rotations": {"wrist": [[1, 0, 0, 0]] * 2}}, "rotations of wrist must be 1 x 4"),
        (
            "contact",
            TOUCH | {"bones": ["thumb-tip", "index-finger-tip"]},
            r"bones is \['thumb-tip', .*, expected two of",
        ),
        ("contact", TOUCH | {"bones": ["thumb-phalanx-distal"] * 2}, "expected the last one of a digit, and one of"),
        ("contact", TOUCH | {"bones": [[], {}]}, r"bones is \[\[\], \{\}\], expected two of"),
        ("contact", TOUCH | {"shares": [True, 0]}, r"shares is \[True, 0\], expected 2 numbers"),
        ("contact", TOUCH | {"direction": [0, 0, 2]}, "direction is 2 long, expected a unit vector"),
        ("contact", TOUCH | {"direction": [0, float("nan"), 1]}, "direction is .*, expected 3 numbers"),
        ("hide", {"labels": []}, "labels is \\[\\], expected 1 to 1000 labels"),
        ("swap", {"labels": ["A", "A"]}, "swaps 'A' with itself, expected two labels"),
        ("solve", {"solver": "magic"}, "solver is 'magic', expected one of"),
        ("solve", {"solver": "cga", "settings": []}, "settings must be objects"),
    ],
)
def test_what_is_not_understood_of_a_kind_is_reported(kind, own, sentence):
    data = {name: value for name, value in PLAIN.items() if name != "pose"} | {"kind": kind} | own
    with pytest.raises(RecipeError, match=sentence):
        from_list([data], "c.json")


def test_corrections_are_a_list_and_each_has_an_id_of_its_own():
    with pytest.raises(RecipeError, match="corrections are dict, expected a list of at most 1000"):
        from_list({}, "c.json")
    with pytest.raises(RecipeError, match="corrections are 1001 of them"):
        from_list([PLAIN] * 1001, "c.json")
    with pytest.raises(RecipeError, match="correction 2: another correction has its id 'a'"):
        from_list([PLAIN, PLAIN], "c.json")
    assert from_list(None, "c.json") == ()


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)


@given(st.sampled_from(sorted(CHANGES)), st.data())
def test_any_json_in_any_field_is_read_or_reported(kind, data):
    """Reading what was read and written again gives the same."""
    (reported,) = to_list((Correction("a", "A", "right", TimeRange(1.0, 2.0), CHANGES[kind]),))
    reported[data.draw(st.sampled_from(sorted(reported)))] = data.draw(JSON)
    try:
        read = from_list([reported], "c.json")
    except RecipeError as error:
        assert str(error).startswith("c.json, correction 1")
    else:
        again = from_list(to_list(read), "c.json")
        assert to_list(again) == to_list(read)


@given(st.floats(0, 2), st.floats(0, 2), st.floats(0, 1))
def test_it_counts_in_its_range_alone_and_begins_and_ends_without_a_step(blend_in, blend_out, factor):
    span = TimeRange(1.0, 3.0, blend_in, blend_out)
    made = Correction("a", "A", "right", span, CHANGES["pose"], factor)
    times = np.linspace(0, 4, 4001)
    weights = made.weights(times)
    assert not weights[(times < 1 - 1e-4) | (times > 3 + 1e-4)].any()
    assert ((weights >= 0) & (weights <= factor)).all()
    inside = (times >= 1 + blend_in) & (times <= 3 - blend_out)
    np.testing.assert_allclose(weights[inside], factor)
    for blend, end in ((blend_in, 1.0), (blend_out, 3.0)):
        if blend > 0.05:
            near = np.abs(times - end) < 0.01
            assert np.abs(np.diff(weights[near])).max() < 1.6 * 0.001 / blend


@pytest.mark.parametrize("data", ["x", ["bones"], 7, None])
def test_a_contact_that_is_no_object_is_reported(data):
    with pytest.raises(RecipeError, match=r"contact: found .*, expected an object"):
        touch_from_dict(data, "contact")


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"object": 3}, "object is 3, expected a text of 1 to 255 characters"),
        ({"object": ""}, "object is '', expected a text"),
        ({"points": {}}, "points is {}, expected 1 to 5 of a digit, a place and a direction"),
        ({"points": []}, r"points is \[\], expected 1 to 5"),
        ({"points": [7]}, "point 1: found 7, expected an object with digit, place and direction"),
        ({"points": [POINT | {"weight": 1}]}, "point 1: found {.*, expected an object with digit"),
        ({"points": [POINT | {"digit": "wrist"}]}, "point 1: digit is 'wrist', expected one of thumb"),
        ({"points": [POINT | {"place": [1, 2]}]}, r"point 1: place is \[1, 2\], expected 3 numbers"),
        ({"points": [POINT | {"place": [1, 2, float("inf")]}]}, "point 1: place is .*, expected 3 numbers"),
        ({"points": [POINT | {"direction": [0, 0, 2]}]}, "point 1: direction is 2 long, expected a unit vector"),
        ({"points": [POINT, POINT]}, "points are of thumb, thumb, expected each digit once"),
    ],
)
def test_what_holds_on_no_object_is_reported(wrong, sentence):
    plain = {name: PLAIN[name] for name in ("id", "name", "hand")} | RANGE
    with pytest.raises(RecipeError, match=f"c.json, correction 1.*{sentence}"):
        from_list([plain | {"kind": "object", "object": "Table", "points": [POINT]} | wrong], "c.json")
