"""From targets to joint angles. Knows no Blender."""

from typing import Any

from ..errors import RecipeError
from .fabrik import Fabrik
from .settings import settings_of
from .solver import Solver, State
from .table import Table

SOLVERS: dict[str, type[Solver[Any]]] = {"fabrik": Fabrik, "table": Table}
"""Every solver by the name that recipes, panel and shell know it by."""


def make(name: str, settings: dict[str, Any]) -> Solver[Any]:
    """A solver with some of its settings changed. Raises RecipeError for a name or setting that there is not."""
    if name not in SOLVERS:
        raise RecipeError(f"solver is '{name}', expected one of {', '.join(SOLVERS)}")
    kind = SOLVERS[name]
    known = settings_of(kind)
    for key in settings:
        if key not in known:
            raise RecipeError(f"solver {name} has no setting '{key}', expected one of {', '.join(known)}")
    return kind(**settings)


__all__ = ["SOLVERS", "Solver", "State", "make"]
