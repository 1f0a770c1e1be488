"""Settings that the planar solvers have in common."""

from typing import Any

from ..settings import setting

MODES = {
    "settle": "Every frame is solved from its own targets, and passes run only where a limit interferes",
    "follow": "As published: passes begin from the pose before, and the fingertip alone is brought to its target",
}


CCD_MODES = {
    "settle": "Every frame is solved from its own targets: sweeps begin from the nearest of six bends",
    "follow": "Sweeps begin from the pose before, and the fingertip alone is brought to its target",
}


def mode_setting() -> Any:
    """Declare how a frame depends on the previous one."""
    return setting("settle", "Dependence of a frame on the previous one", choices=MODES)


def ccd_mode_setting() -> Any:
    """Declare how a frame of coordinate descent depends on the previous one."""
    return setting("settle", "Dependence of a frame on the previous one", choices=CCD_MODES)


def tolerance_setting() -> Any:
    """Declare the tolerance of the iterations."""
    return setting(
        1e-5,
        "Distance of a digit's end from its target at which the digit is done",
        minimum=1e-9,
        maximum=0.01,
        unit="m",
    )


def passes_setting() -> Any:
    """Declare the maximum number of FABRIK's passes."""
    return setting(60, "Maximum forward and backward passes from one starting pose", minimum=1, maximum=1000)


def sweeps_setting() -> Any:
    """Declare the maximum number of sweeps of cyclic coordinate descent."""
    return setting(
        40,
        "Maximum sweeps of cyclic coordinate descent if limits keep a digit from its target",
        maximum=1000,
    )
