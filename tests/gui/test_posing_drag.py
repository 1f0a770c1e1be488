"""The tool that drags hands, used by the mouse on three rigs: what goes where, what stays, what one undo gives back."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from knuckle.tests.blender.rigs import SHARED, generated_rigify
from knuckle.tests.gui.conftest import OUT


def test_hands_of_three_rigs_are_dragged_and_pinned_by_the_mouse(
    play: Callable[[str], dict[str, Any]], shared: Path
) -> None:
    (OUT / "rigs").mkdir(parents=True, exist_ok=True)
    for name, source in (("makehuman", SHARED / "makehuman_default.blend"), ("rigify", generated_rigify())):
        (OUT / "rigs" / f"{name}.blend").unlink(missing_ok=True)
        shutil.copy(source, OUT / "rigs" / f"{name}.blend")
    told = play("posing_drag")
    for name in ("own", "makehuman", "rigify"):
        rig = told[name]
        for drag in ("tip", "keyed tip"):
            assert rig[drag]["pixels off"] < 3, f"{name}: {drag} {rig[drag]}"
        # What turns about one joint comes no nearer to the mouse than its circle does.
        for drag in ("knuckle", "middle joint"):
            assert rig[drag]["pixels off"] < 0.95 * rig[drag]["way"], f"{name}: {drag} {rig[drag]}"
        assert rig["undone"] and rig["undone with keys"] and rig["all undone"], f"{name}: one undo gives all back"
        assert rig["unkeyed"] == [] and rig["keys undone"] == [] and len(rig["keyed"]) == 3, name
        assert rig["left"] == {"moved": True, "as before": True}, f"{name}: Esc"
        palm = rig["palm"]
        assert [digit for digit, _ in palm["pins"]] == ["thumb", "index-finger"] and palm["pins undone"] == 0
        assert palm["held"] < 0.5, f"{name}: {palm['held']:.2f} mm > 0.5 mm"
        assert palm["went"] > 2.0, f"{name}: the palm went {palm['went']:.1f} mm"
        # What the bones stand beyond a hand's limits is what the rig was built with.
        assert max(rig["limits"], palm["limits"]) < rig["built"] + 0.1, f"{name}: limits"
    surface = told["own"]["surface"]
    assert surface["on"] < 1.0 and surface["pins"] == [["index-finger", "OBJECT"]]
    assert surface["went along"] < 0.5
