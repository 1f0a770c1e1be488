"""The keys and clicks of Assign Markers, without a window: what each does to the assignment, and the map that stays."""

import json
from types import SimpleNamespace
from typing import Any

import bpy
import numpy as np
import pytest

from knuckle.capture.markers import Markers
from knuckle.hand.marker_assignment import STEPS, start_assignment
from knuckle.hand.marker_sets import Spot
from knuckle.operators import assign_markers
from knuckle.operators.assign_markers import KNUCKLE_OT_assign_markers, first_side, guessed_map
from knuckle.operators.session import SESSION, AssigningMarkers
from knuckle.rig.markers_object import CAPTURE_PROPERTY, add_markers


class Operator:
    """The operator's functions with a record of its reports, as Blender makes no operator without running it."""

    modal: Any = KNUCKLE_OT_assign_markers.modal
    cancel: Any = KNUCKLE_OT_assign_markers.cancel
    _click: Any = KNUCKLE_OT_assign_markers._click
    _finish: Any = KNUCKLE_OT_assign_markers._finish
    _show: Any = KNUCKLE_OT_assign_markers._show

    def __init__(self) -> None:
        self.reported: list[str] = []

    def report(self, _kind: set[str], text: str) -> None:
        self.reported.append(text)


@pytest.fixture
def person(extension: None, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Presses keys, and clicks the marker of a label; the last result of the operator is `result`."""
    labels = tuple("ABCDEF")
    markers = Markers(labels, np.arange(2.0), np.zeros((2, 6, 3)), source="six_left.csv", rate=1.0, unit="m")
    scene = bpy.context.scene
    scene.knuckle.markers = add_markers(markers, "six", scene.collection, start=1.0, rate=24.0)
    status: list[str] = []
    workspace = SimpleNamespace(status_text_set=status.append)
    context = SimpleNamespace(
        scene=scene, workspace=workspace, window=None, window_manager=bpy.context.window_manager, area=None
    )
    SESSION.assigning_markers = AssigningMarkers(
        "six", {"left": start_assignment("left", {}), "right": start_assignment("right", {})}, "left"
    )
    operator = Operator()
    pointed = [""]
    monkeypatch.setattr(assign_markers, "marker_at", lambda *_: pointed[0])

    def act(what: str) -> set[str]:
        pointed[0] = what if what in labels else ""
        kind = "LEFTMOUSE" if what in labels else what
        result: set[str] = operator.modal(context, SimpleNamespace(type=kind, value="PRESS", ctrl=False))
        return result

    yield SimpleNamespace(act=act, operator=operator, chosen=scene.knuckle, status=status, context=context)
    SESSION.assigning_markers = None


def test_clicks_and_keys_make_the_map_of_the_scene(person: Any) -> None:
    for what in ("A", "E", "BACK_SPACE", "B", "S", "C", "TAB", "D", "E", "F"):
        assert person.act(what) == {"RUNNING_MODAL"}
    assert "Right hand: the knuckle of the ring finger (4 of 24)" in person.status[-1]
    assert person.act("RET") == {"FINISHED"}
    joints = [step.spot.joint for step in STEPS]
    assert json.loads(person.chosen.marker_map) == {
        "left": {"A": joints[0], "B": joints[1], "C": joints[3]},
        "right": {"D": joints[0], "E": joints[1], "F": joints[2]},
    }
    assert person.operator.reported == ["Markers assigned: left: 3 markers, right: 3 markers"]
    assert SESSION.assigning_markers is None


def test_a_marker_belongs_to_one_hand(person: Any) -> None:
    for what in ("A", "B", "C", "D", "TAB", "A", "B", "E"):
        person.act(what)
    person.act("RET")
    assert {side: "".join(spots) for side, spots in json.loads(person.chosen.marker_map).items()} == {"right": "ABE"}


def test_too_few_markers_are_reported_and_escape_leaves_the_scene(person: Any) -> None:
    person.act("A")
    assert person.act("RET") == {"RUNNING_MODAL"}
    assert person.operator.reported == ["1 markers are assigned, expected 3 or more"]
    assert person.act("ESC") == {"CANCELLED"}
    assert not person.chosen.marker_map and SESSION.assigning_markers is None


def test_the_guess_is_the_map_of_the_scene_or_what_import_found(person: Any) -> None:
    about = person.chosen.markers[CAPTURE_PROPERTY]
    assert guessed_map(person.context) == {} and first_side(person.context, {}) == "left", "the file's name says left"
    about["guess"] = json.dumps({"right": {"A": "wrist", "missing": "thumb-tip"}})
    assert guessed_map(person.context) == {"right": {"A": Spot("wrist")}}
    person.chosen.marker_map = json.dumps({"left": {"missing": "wrist"}})
    assert guessed_map(person.context) == {"right": {"A": Spot("wrist")}}, "a map of another capture"
    person.chosen.marker_map = json.dumps({"left": {"B": "wrist"}})
    assert guessed_map(person.context) == {"left": {"B": Spot("wrist")}}
