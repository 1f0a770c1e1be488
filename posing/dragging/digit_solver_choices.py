"""What a person may choose from to bend the digits of a hand that is dragged."""

from collections.abc import Callable, Mapping

from ...hand.model import HandModel
from ...solvers import SOLVER, make
from ...solvers.registry import KindLabel
from .digit_solver import Bending
from .min_displacement import Nearest
from .take_solvers import BySolver

NEAREST = "nearest"


def _by(name: str) -> Callable[[HandModel], Bending]:
    return lambda straight: BySolver(make(name, {}), straight)


KINDS: Mapping[str, Callable[[HandModel], Bending]] = {
    NEAREST: lambda _straight: Nearest(),
    **{name: _by(name) for name in SOLVER.kinds},
}
"""By the name of a choice: what bends a hand whose digits are straight at zero angles."""

LABELS: Mapping[str, KindLabel] = {
    NEAREST: KindLabel("Nearest", "Bends as little as can be from where the drag began; the one that heeds DIP Lock"),
    **{name: SOLVER.label(name) for name in SOLVER.kinds},
}
"""How they are shown."""
