"""From targets to joint angles. Knows no Blender."""

from .fabrik import Fabrik
from .solver import Solver

SOLVERS: dict[str, type[Fabrik]] = {"fabrik": Fabrik}
"""Every solver by the name that recipes, panel and shell know it by."""

__all__ = ["SOLVERS", "Solver"]
