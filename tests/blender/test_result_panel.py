"""The figures of the Result panel: which errors are shown, in which unit, and how they are graded."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bpy
import pytest

from knuckle.hand.joints import DIGITS
from knuckle.operators.preferences import PACKAGE
from knuckle.panels.result_panel import ANGLES, GRADED, HAND_COLUMNS, RIG_COLUMNS, TIPS, Column, grade
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


def off(degrees: float | None, tip: float | None, gap: float | None = None) -> dict[str, Any]:
    """The figures of a digit of a rig."""
    named = {"direction_off_deg": degrees, "tip_off_mm": tip, "gap_off_mm": gap}
    return {key: {"mean": mean, "max": mean} for key, mean in named.items()}


@pytest.mark.parametrize(
    ("keep", "figures", "icon"),
    [
        ("directions", off(0.5, 30.0), "STRIP_COLOR_04"),
        ("directions", off(20.0, 0.1), "STRIP_COLOR_01"),
        ("directions", off(None, 30.0), "BLANK1"),
        ("fingertips", off(25.0, 0.5), "STRIP_COLOR_04"),
        ("fingertips", off(0.5, 6.0), "STRIP_COLOR_01"),
        ("pinches", off(25.0, 30.0, 0.5), "STRIP_COLOR_04"),
        ("pinches", off(0.5, 30.0, None), "STRIP_COLOR_04"),
    ],
)
def test_a_digit_of_a_rig_is_graded_by_what_retarget_matches(keep: str, figures: dict[str, Any], icon: str) -> None:
    assert grade(figures, RIG_COLUMNS[keep], GRADED[keep]) == icon


def test_a_hand_that_was_solved_is_graded_by_the_worse_of_its_errors() -> None:
    figures = {"tip_error_mm": {"mean": 0.1}, "marker_error_mm": {"mean": 30.0}}
    assert grade(figures, HAND_COLUMNS, None) == "STRIP_COLOR_01"


def test_rotations_on_longer_thumbs_are_not_red() -> None:
    """The thumb's bones point as the performer's; its tip, which a longer thumb has elsewhere, was not promised."""
    chosen = bpy.context.scene.knuckle
    bpy.ops.knuckle.import_capture(filepath=TAP)
    chosen.rig, chosen.armature, chosen.keep = "ARMATURE", long_thumb(rig("right")), "directions"
    bpy.ops.knuckle.solve()
    report = report_of(chosen.armature)
    assert report is not None
    thumb = report["hands"]["right"]["rig"]["digits"]["thumb"]
    assert thumb["tip_off_mm"]["mean"] > TIPS.fair and thumb["direction_off_deg"]["mean"] < ANGLES.good
    assert grade(thumb, RIG_COLUMNS["directions"], GRADED["directions"]) == "STRIP_COLOR_04"


def long_thumb(armature: bpy.types.Object) -> bpy.types.Object:
    """The rig with each bone of its thumb half as long again."""
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    bones = [bone for bone in armature.data.edit_bones if bone.name.startswith("thumb")]
    base = next(bone for bone in bones if bone.name == "thumb-metacarpal").head.copy()
    for bone in bones:
        bone.head, bone.tail = (base + 1.5 * (end.copy() - base) for end in (bone.head, bone.tail))
    bpy.ops.object.mode_set(mode="OBJECT")
    return armature


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
