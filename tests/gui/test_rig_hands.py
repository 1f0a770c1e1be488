"""The panel of the rig's hands: the eyedropper, one click for a digit that curls the other way, and the axes drawn."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from knuckle.tests.blender.rigs import rig_file
from knuckle.tests.gui.conftest import OUT
from knuckle.tools.gui_pictures import read_png


def test_what_is_clicked_is_kept_on_the_armature_and_drawn_and_one_undo_takes_it_back(
    play: Callable[[str], dict[str, Any]], shared: Path
) -> None:
    (OUT / "rigs").mkdir(parents=True, exist_ok=True)
    for name, source in (
        ("makehuman", rig_file("makehuman_default.blend")),
        ("rigify", rig_file("rigify_generated.blend")),
    ):
        (OUT / "rigs" / f"{name}.blend").unlink(missing_ok=True)
        shutil.copy(source, OUT / "rigs" / f"{name}.blend")
    seen = play("rig_hands")
    assert seen["kept first"] is None, "looking changes nothing"
    assert seen["after escape"] is None
    assert seen["picked"]["bones"]["index-finger-phalanx-intermediate"] == "finger4-2.L"
    assert "ring-finger-phalanx-intermediate" not in seen["picked"]["bones"], "a bone is one joint's"
    assert seen["undone"] is None
    assert seen["flipped"]["left"]["turns"] == {"thumb": 180.0}
    assert seen["flipped"]["right"] is None
    assert seen["mirrored"]["left"]["bones"]["wrist"] == "wrist.R"
    assert seen["mirrored"]["right"]["bones"]["wrist"] == "wrist.L"
    assert list(seen["turned"]["turns"]) == ["index-finger"]
    ring = {joint: bone for joint, bone in seen["filled"]["bones"].items() if joint.startswith("ring-finger-phalanx")}
    assert list(ring.values()) == ["f_ring.01.L", "f_ring.02.L", "f_ring.03.L"]
    assert seen["filled"]["carrier"] == "DEF-hand.L"
    assert seen["loaded"]["left"]["turns"] == {"thumb": 180.0}
    for name in ("makehuman", "flipped", "rigify"):
        assert drawn(name) > 200, f"{name}: the thumb's axes"
    apart = np.any(picture("makehuman") != picture("flipped"), axis=-1)[:, :800]
    assert apart.mean() > 0.005, "the view is drawn again when a digit is flipped"


def picture(name: str) -> Any:
    return read_png(OUT / f"rig_hands_{name}.png")


def drawn(name: str) -> int:
    """Pixels of the thumb's colour in the view."""
    view = picture(name)[:, :800].astype(int)
    red, green, blue = np.moveaxis(view, -1, 0)
    return int(np.count_nonzero((red > 200) & (abs(green - 92) < 30) & (abs(blue - 82) < 30)))
