"""Named poses of any hand, for pictures and tests: a table of joint angles in degrees."""

import numpy as np
from numpy.typing import NDArray

from ..errors import HandError
from .joints import CHAIN_JOINTS, DIGITS
from .model import HandModel, Movement

Floats = NDArray[np.float64]
Degrees = dict[tuple[str, Movement], float]


def _thumb(cmc: tuple[float, float, float], mcp: float, ip: float) -> Degrees:
    """CMC abduction, flexion and twist, then the flexion of the MCP and the IP."""
    joints = CHAIN_JOINTS["thumb"]
    return {
        (joints[0], "abduction"): cmc[0],
        (joints[0], "flexion"): cmc[1],
        (joints[0], "twist"): cmc[2],
        (joints[1], "flexion"): mcp,
        (joints[2], "flexion"): ip,
    }


def _finger(digit: str, mcp: float, pip: float, dip: float, abduction: float = 0.0) -> Degrees:
    """Flexion of a finger's three joints and the abduction of its MCP."""
    joints = CHAIN_JOINTS[digit]
    flexions: Degrees = {(joint, "flexion"): angle for joint, angle in zip(joints, (mcp, pip, dip), strict=False)}
    return {**flexions, (joints[0], "abduction"): abduction}


def _fingers(mcp: float, pip: float, dip: float, which: tuple[str, ...] = DIGITS[1:]) -> Degrees:
    result: Degrees = {}
    for digit in which:
        result.update(_finger(digit, mcp, pip, dip))
    return result


_INDEX, _MIDDLE, _RING, _PINKY = DIGITS[1:]

POSES: dict[str, Degrees] = {
    "open": {},
    "relaxed": {},
    "fist": {**_fingers(88, 98, 58), **_thumb((-30, 25, 10), 40, 50)},
    "point": {**_fingers(88, 98, 58, (_MIDDLE, _RING, _PINKY)), **_thumb((-30, 25, 10), 40, 50)},
}
"""By name; movements that are not named are at zero, save in 'relaxed', which is the hand's neutral."""


def angles(hand: HandModel, name: str) -> Floats:
    """(D,) rad, the angles of a named pose within the hand's limits. Raises HandError for a name that is not known."""
    if name not in POSES:
        raise HandError(f"there is no pose '{name}', only {', '.join(POSES)}")
    if name == "relaxed":
        return hand.neutral.copy()
    result = np.zeros(hand.dofs)
    for (joint, movement), degrees in POSES[name].items():
        dof = hand.dof(joint, movement)
        if dof is not None:
            result[dof] = np.deg2rad(degrees)
    clipped: Floats = np.clip(result, hand.limits[:, 0], hand.limits[:, 1])
    return clipped
