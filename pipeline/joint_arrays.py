"""The joints of a solved take as arrays, which `knuckle solve` writes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..hand.joints import Side
from ..hand.kinematics import joint_frames
from ..hand.model import HandModel
from ..hand.rotations import continuous, from_matrix
from .take import Take


def joint_arrays(take: Take) -> dict[str, NDArray[Any]]:
    """Return the arrays that `knuckle.joints` describes."""
    arrays: dict[str, NDArray[Any]] = {"times": take.times}
    for solved in take.hands:
        frames = joint_frames(solved.hand, solved.pose)
        arrays |= {
            f"{solved.side}_positions": frames[..., :3, 3],
            rotations_name(solved.side): continuous(from_matrix(frames[..., :3, :3])),
            f"{solved.side}_predicted": solved.predicted,
            f"{solved.side}_angles": solved.pose.angles,
        }
        arrays |= angle_names(solved.hand)
    return arrays


def angle_names(hand: HandModel) -> dict[str, NDArray[Any]]:
    """Return the array with the names of a hand's angles."""
    return {f"{hand.side}_angle_names": np.array([hand.dof_name(d) for d in range(hand.dofs)])}


def rotations_name(side: Side) -> str:
    """Return the name of the array whose signs do not flip between frames."""
    return f"{side}_rotations"
