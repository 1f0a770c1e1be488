"""Markers are assigned by clicks in the view."""

from collections.abc import Callable
from typing import Any

from knuckle.hand.marker_assignment import STEPS

ORDER = "QXBTKWZCNH"


def test_markers_are_assigned_by_clicks_in_the_order_of_the_picture(play: Callable[[str], dict[str, Any]]) -> None:
    seen = play("assign_markers")
    assert seen["assigned"] == {
        "right": {label: step.spot.joint for label, step in zip(ORDER, STEPS[: len(ORDER)], strict=True)}
    }
    assert any("Markers assigned: right: 10 markers" in line for line in seen["reported"])
    assert seen["after_escape"]
    assert max(seen["tip_errors_mm"]) < 3
