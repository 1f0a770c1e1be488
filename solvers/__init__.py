"""Solvers, which turn targets into joint angles, and smoothing. Runs without Blender."""

from typing import Any

from .ccd import Ccd
from .conformal import Cga
from .dynamical import Dynamical
from .fabrik import Fabrik
from .jacobian import Jacobian, PairWise, WholeHand
from .registry import KindLabel, Registry
from .smoothing.smoothing_kinds import SMOOTHINGS, Smoothing
from .solver import Solver, State, StateOfPose, initial_state
from .table import Table

SOLVERS: dict[str, type[Solver[Any]]] = {
    "fabrik": Fabrik,
    "cga": Cga,
    "ccd": Ccd,
    "table": Table,
    "dynamical": Dynamical,
    "jacobian": Jacobian,
    "whole-hand": WholeHand,
    "pair-wise": PairWise,
}
"""Every solver, by its name in recipes, the panel and the shell."""

LABELS = {
    "fabrik": KindLabel(
        "FABRIK", "Forward and backward reaching along each finger in its plane; for any set of markers"
    ),
    "cga": KindLabel("CGA", "Palm and plane of each finger by conformal geometric algebra"),
    "ccd": KindLabel(
        "CCD", "Cyclic coordinate descent: one joint after another, to compare with; slow where digits are straight"
    ),
    "table": KindLabel("Table", "Looks up how far each finger bends by the distance of its tip; the fastest"),
    "dynamical": KindLabel(
        "Dynamical", "Joint velocities that follow the targets and slow down towards limits; uses rotations too"
    ),
    "jacobian": KindLabel(
        "Jacobian", "Textbook methods: damped, pseudo-inverse, transpose and Levenberg-Marquardt steps"
    ),
    "whole-hand": KindLabel("Whole Hand", "Least squares over all targets of a frame at once; uses rotations too"),
    "pair-wise": KindLabel("Pair-Wise", "Least squares from one target to the next, outwards; uses rotations too"),
}
"""Names and tooltips of the solvers in the panel."""

SMOOTHING_LABELS = {
    "off": KindLabel("Off", "Markers as they were recorded"),
    "live": KindLabel("Live", "Uses the frames before and at most one after, as for a hand that is still moving"),
    "whole": KindLabel("Whole Take", "Uses all frames before and after, without lag"),
}

SOLVER = Registry("solver", SOLVERS, LABELS)
SMOOTHING = Registry("smoothing", SMOOTHINGS, SMOOTHING_LABELS)


def make(name: str, settings: dict[str, Any]) -> Solver[Any]:
    """Return a solver with the given settings, defaults for the rest.

    Args:
        name: a key of SOLVERS.
        settings: setting -> value.

    Raises:
        RecipeError: the name or a setting is unknown, or a value is out of range.
    """
    return SOLVER.make(name, settings)


def make_smoothing(name: str, settings: dict[str, Any]) -> Smoothing:
    """Return a smoothing with the given settings, defaults for the rest.

    Args:
        name: a key of SMOOTHINGS.
        settings: setting -> value.

    Raises:
        RecipeError: the name or a setting is unknown, or a value is out of range.
    """
    return SMOOTHING.make(name, settings)


__all__ = [
    "SMOOTHING",
    "SMOOTHINGS",
    "SOLVER",
    "SOLVERS",
    "Smoothing",
    "Solver",
    "State",
    "StateOfPose",
    "initial_state",
    "make",
    "make_smoothing",
]
