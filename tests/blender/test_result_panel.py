"""The figures of the Result panel: which errors are shown, in which unit, and how they are graded."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bpy
import pytest

from knuckle.hand.joints import DIGITS
from knuckle.operators.preferences import PACKAGE
from knuckle.panels.result_panel import ANGLES, HAND_COLUMNS, RIG_COLUMNS, TIPS, Column
from knuckle.pipeline.recipe import KEEPS
from knuckle.rig.keys.take_report import report_of
from knuckle.tests.blender.making import rig
from knuckle.tools.panel_drawing import draw_panels

pytestmark = pytest.mark.usefixtures("extension")

TAP = str(Path(__file__).parents[2] / "data" / "leap_finger_tap.json")


@pytest.fixture
def enabled() -> Iterator[Any]:
    """The preferences, as when the extension is enabled; they are not saved."""
    addon = bpy.context.preferences.addons.new()
    addon.module = PACKAGE
    yield addon.preferences
    bpy.context.preferences.addons.remove(addon)


@pytest.mark.parametrize(
    ("mean", "icon"),
    [(0.0, "STRIP_COLOR_04"), (2.0, "STRIP_COLOR_04"), (2.01, "STRIP_COLOR_03"), (5.01, "STRIP_COLOR_01")],
)
def test_errors_are_green_yellow_and_red_by_their_mean(mean: float, icon: str) -> None:
    assert TIPS.icon({"mean": mean, "max": 99.0}) == icon


@pytest.mark.parametrize("figures", [None, {}, {"mean": None}, "damaged"])
def test_an_unknown_error_has_no_color_and_a_dash(figures: Any) -> None:
    assert TIPS.icon(figures) == "BLANK1"
    assert TIPS.text(figures) == "– / –"


def test_icons_are_blenders() -> None:
    known = bpy.types.UILayout.bl_rna.functions["label"].parameters["icon"].enum_items
    column = Column("", "", 1.0, 2.0)
    assert {str(column.icon({"mean": mean})) for mean in (0.5, 1.5, 2.5)} <= set(known.keys())


def test_lengths_are_in_the_unit_of_the_preferences_and_angles_in_degrees(enabled: Any) -> None:
    figures = {"mean": 12.7, "max": 25.4}
    assert TIPS.text(figures) == "12.7 / 25.4"
    enabled.length_unit = "in"
    assert TIPS.text(figures) == "0.50 / 1.00"
    enabled.length_unit = "cm"
    assert TIPS.text(figures) == "1.27 / 2.54"
    assert ANGLES.text({"mean": 1.0, "max": 2.0}) == "1.00° / 2.00°"


@pytest.mark.parametrize("keep", KEEPS)
def test_on_a_rig_the_errors_are_the_characters(keep: str) -> None:
    chosen = bpy.context.scene.knuckle
    bpy.ops.knuckle.import_capture(filepath=TAP)
    chosen.rig, chosen.armature, chosen.keep = "ARMATURE", rig("right"), keep
    bpy.ops.knuckle.solve()
    report = report_of(chosen.armature)
    assert report is not None
    hand = report["hands"]["right"]
    assert hand["rig"]["keep"] == keep
    assert draw_panels() == ""
    for digit in DIGITS:
        assert {column.key for column in RIG_COLUMNS[keep]} <= hand["rig"]["digits"][digit].keys()
        assert {column.key for column in HAND_COLUMNS} <= hand["fingers"][digit].keys()
