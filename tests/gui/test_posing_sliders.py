"""The sliders of a posed hand, dragged by a mouse: what they move, one undo step each, and keys where wanted."""

import shutil
from collections.abc import Callable
from typing import Any

import pytest

from knuckle.hand.joints import CHAIN_JOINTS
from knuckle.tests.blender.rigs import SHARED
from knuckle.tests.gui.conftest import OUT

INDEX = set(CHAIN_JOINTS["index-finger"][:3])


def test_a_drag_poses_its_own_bones_is_one_undo_step_and_is_keyed_where_that_is_asked_for(
    play: Callable[[str], dict[str, Any]],
) -> None:
    if not SHARED.is_dir():
        pytest.skip("no rigs beside the checkout (../shared/data/rigs)")
    (OUT / "rigs").mkdir(parents=True, exist_ok=True)
    shutil.copy(SHARED / "makehuman_default.blend", OUT / "rigs" / "makehuman.blend")
    seen = play("posing_sliders")
    for rig in ("own", "makehuman"):
        for name, told in seen[rig].items():
            assert told["to"] > told["from"] + 0.2, f"{rig} {name}: {told}"
            assert told["undone"], f"{rig} {name}: {told}"
    assert set(seen["own"]["index"]["moved"]) == INDEX
    assert set(seen["makehuman"]["index"]["moved"]) == {"finger2-1.R", "finger2-2.R", "finger2-3.R"}
    assert set(seen["makehuman"]["cup"]["moved"]) == {"metacarpal3.R", "metacarpal4.R"}
    assert seen["escaped"]["dragged"] > 0.1 and seen["escaped"]["left"] < 1e-6
    assert seen["keyed"] == {"keyed": sorted(INDEX), "undone": True, "left": []}
    assert seen["mirrored"]["left"] == pytest.approx(seen["mirrored"]["right"], abs=0.01)
