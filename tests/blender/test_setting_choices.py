"""The panel's choices are the recipe's, in the same order."""

import bpy
import pytest

from knuckle.pipeline.recipe import DRIVES, HANDS, INTOS, KEEPS, LABELS, MARKERS_ON, SCALES


@pytest.mark.parametrize(
    ("setting", "choices"),
    [
        ("hand", HANDS),
        ("labels", LABELS),
        ("drive", DRIVES),
        ("keep", KEEPS),
        ("keep_scale", SCALES),
        ("into", INTOS),
        ("markers_on", MARKERS_ON),
    ],
)
@pytest.mark.usefixtures("extension")
def test_the_panel_offers_what_a_recipe_takes(setting: str, choices: tuple[str, ...]) -> None:
    offered = bpy.context.scene.knuckle.bl_rna.properties[setting].enum_items
    assert tuple(offered.keys()) == choices
