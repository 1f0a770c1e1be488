"""What a tool is solving for right now, for those who show how."""

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Watched:
    """Of the one hand that is being dragged; empty while none is."""

    armature: ClassVar[str] = ""
    side: ClassVar[str] = ""
    goals: ClassVar[dict[str, Floats]] = {}
    """digit -> (3,) m in the world, where its tip shall be."""


def watch(armature: str, side: str, goals: dict[str, Floats]) -> None:
    """From now on these are the targets of a hand: to be told by a tool at each step, before the view is drawn."""
    Watched.armature, Watched.side, Watched.goals = armature, side, dict(goals)


def forget() -> None:
    """Nothing is being solved for."""
    watch("", "", {})
