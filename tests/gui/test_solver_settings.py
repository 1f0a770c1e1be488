"""The panels of what is set on solvers and smoothings."""

from collections.abc import Callable
from typing import Any

from knuckle.solvers import SMOOTHING, SOLVER


def test_every_solvers_settings_are_drawn_reset_and_undone(play: Callable[[str], dict[str, Any]]) -> None:
    seen = play("solver_settings")
    for registry in (SOLVER, SMOOTHING):
        for kind in registry.kinds:
            assert seen["shown"][f"{registry.what} {kind}"] == sorted(registry.settings(kind))
    assert seen["reset"] == SOLVER.settings("fabrik")["passes"][0]
