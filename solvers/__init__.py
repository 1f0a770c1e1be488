"""From targets to joint angles. Knows no Blender."""

from typing import Any

from .fabrik import Fabrik
from .jacobian import Jacobian, PairWise, WholeHand
from .settings import made
from .smoothing import SMOOTHINGS, Smoothing, make_smoothing
from .solver import Solver, State
from .table import Table

SOLVERS: dict[str, type[Solver[Any]]] = {
    "fabrik": Fabrik,
    "table": Table,
    "jacobian": Jacobian,
    "whole-hand": WholeHand,
    "pair-wise": PairWise,
}
"""Every solver by the name that recipes, panel and shell know it by."""


def make(name: str, settings: dict[str, Any]) -> Solver[Any]:
    """A solver with some of its settings changed. Raises RecipeError for a name or setting that there is not."""
    return made(SOLVERS, "solver", name, settings)


__all__ = ["SMOOTHINGS", "SOLVERS", "Smoothing", "Solver", "State", "make", "make_smoothing"]
