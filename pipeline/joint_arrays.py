"""The joints of a solved take as arrays, which `knuckle solve` writes."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..hand.joints import Side
from ..hand.kinematics import world_rotations
from ..hand.model import HandModel
from ..hand.rotations import make_continuous
from .take import SolvedHand

Floats = NDArray[np.float64]


FRAME_ARRAYS = ("positions", "rotations", "predicted", "angles")
"""The arrays of a hand that have a row for each frame; their names follow the side."""


def joint_arrays(times: Floats, hands: Iterable[SolvedHand]) -> dict[str, NDArray[Any]]:
    """Return the arrays that `knuckle.joints` describes. times: (F,) s."""
    arrays: dict[str, NDArray[Any]] = {"times": times}
    for solved in hands:
        pose = solved.pose
        arrays |= {
            f"{solved.side}_positions": pose.joints_in_world,
            rotations_name(solved.side): make_continuous(world_rotations(solved.hand, pose)),
            f"{solved.side}_predicted": solved.predicted,
            f"{solved.side}_angles": pose.angles,
        }
        arrays |= angle_names(solved.hand)
    return arrays


def angle_names(hand: HandModel) -> dict[str, NDArray[Any]]:
    """Return the array with the names of a hand's angles."""
    return {f"{hand.side}_angle_names": np.array([hand.dof_name(d) for d in range(hand.dofs)])}


def rotations_name(side: Side) -> str:
    """Return the name of the array whose signs do not flip between frames."""
    return f"{side}_rotations"
