"""The algebra drawn in a window, and touching and following by the panel's buttons."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from knuckle.tests.gui.conftest import OUT
from knuckle.tools.gui_pictures import read_png

Play = Callable[[str], dict[str, Any]]


def test_the_algebra_is_drawn_while_it_is_on_and_leaves_the_file_as_it_was(play: Play, rigs: Path) -> None:
    seen = play("algebra")
    assert seen["handlers at first"] == seen["handlers off"] == 0, "nothing listens while it is off"
    assert seen["handlers on"] == seen["handlers after a file"] == 2
    assert seen["changed"] == []
    off = read_png(OUT / "algebra_off.png")[:, :1200].astype(int)
    for step in seen["steps"]:
        on = read_png(OUT / f"algebra_{step}.png")[:, :1200].astype(int)
        assert np.any(np.abs(on - off) > 40, axis=-1).mean() > 0.002, f"step {step} is drawn"
    for name in ("makehuman_index-finger", "makehuman_arm", "rigify_index-finger", "rigify_arm"):
        assert blue(OUT / f"algebra_{name}.png") > 500, f"{name}: spheres"


def blue(path: Path) -> int:
    """Pixels of the spheres' colour in the view, which the theme has for Z."""
    red, green, blue = np.moveaxis(read_png(path)[100:, :1200].astype(int), -1, 0)
    return int(np.count_nonzero((blue > 200) & (red < 80) & (abs(green - 140) < 40)))


def test_a_finger_touches_the_cursor_and_goes_around_a_ball_by_buttons_on_three_rigs(play: Play, rigs: Path) -> None:
    reported = play("touch_and_follow")
    for rig in ("own", "makehuman", "rigify"):
        seen = reported[rig]
        for name in ("off", "off the ball"):
            assert seen[name] < 5e-4, f"{rig}, {name}: {1000 * seen[name]:.3f} mm > 0.5 mm"
        for name in ("further out of limits", "out of limits on the way"):
            assert seen[name] < 0.1, f"{rig}, {name}: {seen[name]:.2f} degrees"
        assert seen["undone"], f"{rig}: one undo restores every channel"
        assert seen["action"] == "Follow Ball", rig
        assert seen["action undone"] == "" and seen["undone after"], rig
