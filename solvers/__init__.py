"""From targets to joint angles. Knows no Blender."""

from dataclasses import fields
from typing import Any

from ..errors import RecipeError
from .fabrik import Fabrik
from .solver import Solver, State

SOLVERS: dict[str, type[Fabrik]] = {"fabrik": Fabrik}
"""Every solver by the name that recipes, panel and shell know it by."""


def make(name: str, settings: dict[str, Any]) -> Solver:
    """A solver with some of its settings changed. Raises RecipeError for a name or setting that there is not."""
    if name not in SOLVERS:
        raise RecipeError(f"solver is '{name}', expected one of {', '.join(SOLVERS)}")
    kind = SOLVERS[name]
    known = {field.name: field.type for field in fields(kind)}
    for key, value in settings.items():
        if key not in known:
            raise RecipeError(f"solver {name} has no setting '{key}', expected one of {', '.join(known)}")
        if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
            raise RecipeError(f"solver {name}: {key} is {value!r}, expected a number above zero")
    return kind(**settings)


__all__ = ["SOLVERS", "Solver", "State", "make"]
