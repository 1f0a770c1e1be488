"""Settings that the planar solvers have in common."""

from typing import Any

from ..settings import setting


def tolerance_setting() -> Any:
    """Declare the tolerance of FABRIK's passes."""
    return setting(
        1e-5, "Distance of a digit's end from its target at which the digit is done", least=1e-9, most=0.01, unit="m"
    )


def passes_setting() -> Any:
    """Declare the maximum number of FABRIK's passes."""
    return setting(60, "Most forward and backward passes from one starting pose", least=1, most=1000)


def sweeps_setting() -> Any:
    """Declare the maximum number of sweeps of cyclic coordinate descent."""
    return setting(
        40,
        "Most sweeps of cyclic coordinate descent, if limits keep a digit from its target",
        most=1000,
    )
