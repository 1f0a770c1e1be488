"""Named poses of any hand, for pictures and tests: a table of joint angles in degrees."""

import numpy as np
from numpy.typing import NDArray

from ..errors import HandError
from .joints import CHAIN_JOINTS, DIGITS
from .model import HandModel, Movement

Floats = NDArray[np.float64]
Degrees = dict[tuple[str, Movement], float]


def _thumb(cmc: tuple[float, float, float], mcp: tuple[float, float], ip: float) -> Degrees:
    """CMC abduction, twist and flexion, MCP abduction and flexion, IP flexion."""
    joints = CHAIN_JOINTS["thumb"]
    return {
        (joints[0], "abduction"): cmc[0],
        (joints[0], "twist"): cmc[1],
        (joints[0], "flexion"): cmc[2],
        (joints[1], "abduction"): mcp[0],
        (joints[1], "flexion"): mcp[1],
        (joints[2], "flexion"): ip,
    }


def _finger(digit: str, mcp: float, pip: float, dip: float, abduction: float = 0.0) -> Degrees:
    """Flexion of a finger's three joints and the abduction of its MCP."""
    joints = CHAIN_JOINTS[digit]
    flexions: Degrees = {(joint, "flexion"): angle for joint, angle in zip(joints, (mcp, pip, dip), strict=False)}
    return {**flexions, (joints[0], "abduction"): abduction}


_INDEX, _MIDDLE, _RING, _PINKY = DIGITS[1:]


def _closed(*digits: str) -> Degrees:
    """Fingers curled until their tips rest on the palm, the little finger's on the ball below it."""
    result: Degrees = {}
    for digit in digits:
        result.update(_finger(digit, *((80, 100, 60) if digit == _PINKY else (90, 100, 60))))
    return result


POSES: dict[str, Degrees] = {
    "open": {},
    "relaxed": {},
    "spread": {
        **_thumb((25, 0, -10), (0, 0), -5),
        **_finger(_INDEX, -5, 0, 0, 12),
        **_finger(_MIDDLE, -5, 0, 0, 1),
        **_finger(_RING, -5, 0, 0, -9),
        **_finger(_PINKY, -5, 0, 0, -14),
    },
    "fist": {**_thumb((0, 8.3, 26.1), (15, 50), 58.3), **_closed(_INDEX, _MIDDLE, _RING, _PINKY)},
    "pinch": {
        **_thumb((10.2, -1.5, 29.7), (-2.7, 21.5), 21.6),
        **_finger(_INDEX, 41, 46, 30.7, 4),
        **_finger(_MIDDLE, 40, 42, 28),
        **_finger(_RING, 48, 46, 30),
        **_finger(_PINKY, 52, 46, 30, -4),
    },
    "point": {
        **_thumb((-3.2, 8.8, 24.8), (15, 50), 55.1),
        **_finger(_INDEX, 0, 4, 2),
        **_closed(_MIDDLE, _RING, _PINKY),
    },
    "ok": {
        **_thumb((-5.5, -3.2, 27.1), (-2.3, 21.6), 21.6),
        **_finger(_INDEX, 14.9, 65.7, 43.8, 4),
        **_finger(_MIDDLE, 14, 20, 12),
        **_finger(_RING, 4, 12, 8, -4),
        **_finger(_PINKY, -6, 8, 5, -10),
    },
    "thumbs-up": {**_thumb((1, -18, -15), (-10, 0), -5), **_closed(_INDEX, _MIDDLE, _RING, _PINKY)},
}
"""By name, for the hand of `adult`; movements that are not named are at zero, save in 'relaxed', which is the
hand's neutral."""


def angles(hand: HandModel, name: str) -> Floats:
    """(D,) rad, a named pose within the hand's limits. Raises HandError for a name that is not known."""
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
