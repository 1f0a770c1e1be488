"""The targets for which a tool is currently solving, for the display of its algebra."""

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Watched:
    """The targets of the hand that is being dragged; empty while none is."""

    armature: ClassVar[str] = ""
    side: ClassVar[str] = ""
    goals: ClassVar[dict[str, Floats]] = {}
    """digit -> (3,) m in the world, the target of its tip."""


def watch(armature: str, side: str, goals: dict[str, Floats]) -> None:
    """Set the targets of a hand; tools call this at each step, before the view is drawn."""
    Watched.armature, Watched.side, Watched.goals = armature, side, dict(goals)


def forget() -> None:
    """Clear the targets."""
    watch("", "", {})
