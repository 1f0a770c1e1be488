"""Stop after a long take, whose keys are made in slices."""

import os
import shutil
from collections.abc import Callable
from typing import Any

from knuckle.tests.gui.conftest import OUT

MINUTES = 10 if "CI" in os.environ else 30
PATIENCE_S = 4.0
"""s of processor time for which Blender may stand still: made at once, the keys of half an hour took it 51 s."""


def test_keys_of_a_long_take_are_made_in_slices_and_escape_leaves_it_without(
    play: Callable[..., dict[str, Any]],
) -> None:
    shutil.rmtree(OUT / "long takes", ignore_errors=True)
    seen = play("live_long_take", str(MINUTES))
    escaped, whole = seen["escaped"], seen["whole"]
    assert not escaped["followed"] and not whole["followed"]
    assert escaped["actions"] == [] and len(whole["actions"]) == 1
    assert len(set(whole["fractions"])) > 1, "a busy machine looks at the bar seldom, but sees it move"
    assert max(escaped["stall"], whole["stall"]) < PATIENCE_S, seen
    assert len(list((OUT / "long takes").glob("*.rawtake"))) == 2
