"""Things taken hold of by the panel's button in a window, measured there, undone and keyed."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from knuckle.tests.blender.rigs import SHARED
from knuckle.tests.gui.conftest import OUT

Play = Callable[[str], dict[str, Any]]
MM = 1e-3


@pytest.mark.usefixtures("shared")
def test_a_mug_a_pen_and_a_ball_are_held_undone_and_keyed(play: Play) -> None:
    (OUT / "rigs").mkdir(parents=True, exist_ok=True)
    (OUT / "rigs" / "makehuman.blend").unlink(missing_ok=True)
    shutil.copy(Path(SHARED) / "makehuman_default.blend", OUT / "rigs" / "makehuman.blend")
    seen = play("grasp")
    for name in ("Mug", "Pen", "Ball", "keyed"):
        of = seen[name]
        assert of["deep"] <= 1 * MM, f"{name}: {of['deep'] / MM:.2f} mm deep > 1 mm"
        assert of["near"] <= 0.5 * MM, f"{name}: {of['near'] / MM:.2f} mm away"
    # That each was undone exactly is what the scenario waits for.
    assert not any(seen[name]["action"] for name in ("Mug", "Pen", "Ball"))
    assert seen["keyed"]["off"] < 1e-4
