"""Fingers that are dragged straight at the palm curl in all joints, on three rigs in a real Blender."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any


def test_a_fingertip_dragged_at_the_palm_curls_in_all_joints(play: Callable[..., dict[str, Any]], rigs: Path) -> None:
    reported = play("posing_curl", *(() if "CI" in os.environ else ("all",)))
    reported.pop("blender")
    for name, drag in reported.items():
        before, after = drag["before"], drag["after"]
        assert drag["pixels off"] <= 1.5, f"{name}: {drag['pixels off']}"
        changes = {angle: after[angle] - before[angle] for angle in after}
        assert abs(changes["0 abduction"]) <= 6.0, f"{name}: {changes}"
        assert changes["0 flexion"] >= -6.0, f"{name}: {changes}"
