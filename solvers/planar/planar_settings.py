"""What can be set on planar solvers, in the same words on each."""

from typing import Any

from ..settings import setting


def near_enough() -> Any:
    """The tolerance of FABRIK's passes."""
    return setting(1e-5, "How far a digit's end may be from its target to be done", least=1e-9, most=0.01, unit="m")


def most_passes() -> Any:
    """How often FABRIK goes forward and backward."""
    return setting(60, "Most forward and backward passes from one beginning", least=1, most=1000)


def most_sweeps() -> Any:
    """How often the closest pose is looked for, joint by joint."""
    return setting(
        40,
        "Times that each joint turns as near as its limits let it, where they keep a digit from its target",
        most=1000,
    )
