"""Things taken hold of by the panel's button in a window, measured there, undone, keyed, attached and let go of."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import bpy
import pytest

from knuckle.tests.blender import test_posing_grasp as in_memory

Play = Callable[[str], dict[str, Any]]
MM = 1e-3


@pytest.fixture
def rigify_skin(rigs: Path) -> None:
    """A generated Rigify rig with a skin, and the things before it, as rigs/rigify_skin.blend."""
    armature = in_memory.rigify_with_a_skin()
    for make in in_memory.THINGS.values():
        thing = make()
        in_memory.before_body(thing, armature)
        thing.hide_set(True)
    bpy.ops.wm.save_as_mainfile(filepath=str(rigs / "rigify_skin.blend"), copy=True)


@pytest.mark.usefixtures("rigify_skin")
def test_a_mug_a_pen_and_a_ball_are_held_undone_and_keyed(play: Play) -> None:
    seen = play("grasp")
    by_rigify = {f"Rigify's {name}": seen["rigify"][name] for name in ("Mug", "Pen", "Ball")}
    for name, of in ({name: seen[name] for name in ("Mug", "Pen", "Ball", "keyed")} | by_rigify).items():
        assert of["deep"] <= 1 * MM, f"{name}: {of['deep'] / MM:.2f} mm deep > 1 mm"
        assert of["near"] <= 0.5 * MM, f"{name}: {of['near'] / MM:.2f} mm away"
    # That each was undone exactly is what the scenario waits for.
    assert not any(seen[name]["action"] for name in ("Mug", "Pen", "Ball"))
    assert seen["keyed"]["off"] < 1e-4
    assert not any(of["action"] for of in by_rigify.values())
    assert seen["rigify"]["attached"]["carried"] > 0.1 and seen["rigify"]["attached"]["off"] < 1e-5
