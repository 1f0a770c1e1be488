"""From targets to joint angles. Knows no Blender."""

from dataclasses import fields
from typing import Any

from ..errors import RecipeError
from .fabrik import Fabrik
from .solver import Solver, State

SOLVERS: dict[str, type[Fabrik]] = {"fabrik": Fabrik}
"""Every solver by the name that recipes, panel and shell know it by."""


MOST = 1e6
"""No count or measure of a solver is as large."""


def make(name: str, settings: dict[str, Any]) -> Solver:
    """A solver with some of its settings changed. Raises RecipeError for a name or setting that there is not."""
    if name not in SOLVERS:
        raise RecipeError(f"solver is '{name}', expected one of {', '.join(SOLVERS)}")
    kind = SOLVERS[name]
    known = {field.name: type(field.default) for field in fields(kind)}
    for key, value in settings.items():
        if key not in known:
            raise RecipeError(f"solver {name} has no setting '{key}', expected one of {', '.join(known)}")
        number = int if known[key] is int else (int, float)
        if isinstance(value, bool) or not isinstance(value, number) or not 0 < value < MOST:
            kinds = "a whole number" if known[key] is int else "a number"
            raise RecipeError(f"solver {name}: {key} is {value!r}, expected {kinds} above zero")
    return kind(**settings)


__all__ = ["SOLVERS", "Solver", "State", "make"]
