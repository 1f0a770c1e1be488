"""The axes of a hand as lines to draw: knuckle line, palm normal, and each digit's flexion axes and tip path.

Pure geometry in the space of the given joint frames; lengths scale with the palm, so that the picture is right at any
scale.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..hand import rotations as rot
from ..hand.joints import CHAIN_JOINTS, DIGIT_JOINTS, DIGITS, JOINT_INDEX, KNUCKLES

Floats = NDArray[np.float64]

CURL_FLEXION = np.deg2rad(60.0)
"""rad, the flexion of each joint at the end of the tip path."""
PATH_POINTS = 13
HALF_HINGE_LENGTH = 0.06
"""Half the length of a drawn flexion axis, in palm lengths."""
NORMAL_LENGTH = 0.45
"""Length of the drawn palm normal, in palm lengths."""


@dataclass(frozen=True, slots=True, eq=False)
class DigitAxes:
    """The joints, flexion axes and tip path of a digit."""

    digit: str
    joints: Floats
    """(N, 3) joints from the palm to the tip."""
    hinges: Floats
    """(H, 2, 3) both ends of the flexion axis of each joint that flexes."""
    tip_path: Floats
    """(S, 3) path of its tip from the current position to CURL_FLEXION in each joint; empty if no joint flexes."""


@dataclass(frozen=True, slots=True, eq=False)
class HandAxes:
    """The axes of a hand."""

    knuckles: Floats
    """(K, 3) knuckles, from the index finger to the little finger."""
    normal: Floats
    """(2, 3) from the middle of the palm, out on the side towards which fingers curl."""
    digits: tuple[DigitAxes, ...]
    """Digits that have joints, thumb first."""


def hand_axes(frames: Floats) -> HandAxes:
    """Return the axes of a hand from its joint frames (J, 4, 4), as HandModel defines them; NaN for missing joints.

    The rotations of tips are not used. Missing joints and axes of no length are left out.
    """
    positions = frames[:, :3, 3]
    known = np.atleast_1d(np.all(np.isfinite(positions), axis=1))
    knuckles = positions[[JOINT_INDEX[name] for name in KNUCKLES if known[JOINT_INDEX[name]]]]
    palm = _palm_length(positions, known)
    digits = (_digit(digit, frames, known, palm) for digit in DIGITS)
    return HandAxes(
        knuckles, _normal(frames[0], knuckles, palm), tuple(axes for axes in digits if len(axes.joints) > 1)
    )


def label_positions(frames: Floats) -> tuple[dict[str, Floats], Floats]:
    """Return label positions: digit -> (3,) the last of its joints, and the palm normal (2, 3), as hand_axes has them.

    Takes frames (J, 4, 4); cheaper than hand_axes, because no tip paths are computed.
    """
    positions = frames[:, :3, 3]
    known = np.atleast_1d(np.all(np.isfinite(positions), axis=1))
    knuckles = positions[[JOINT_INDEX[name] for name in KNUCKLES if known[JOINT_INDEX[name]]]]
    digits = {digit: positions[_joints(digit, known)] for digit in DIGITS}
    tips = {digit: joints[-1] for digit, joints in digits.items() if len(joints) > 1}
    return tips, _normal(frames[0], knuckles, _palm_length(positions, known))


def _joints(digit: str, known: NDArray[np.bool_]) -> list[int]:
    return [JOINT_INDEX[name] for name in DIGIT_JOINTS[digit] if known[JOINT_INDEX[name]]]


def _palm_length(positions: Floats, known: NDArray[np.bool_]) -> float:
    """Return the mean distance from wrist to knuckles; without these, half the extent of all joints."""
    knuckles = [JOINT_INDEX[name] for name in KNUCKLES if known[JOINT_INDEX[name]]]
    if known[0] and knuckles:
        return float(np.linalg.norm(positions[knuckles] - positions[0], axis=1).mean())
    extent = positions[known]
    return float(np.ptp(extent, axis=0).max()) / 2 if len(extent) else 0.0


def _normal(wrist: Floats, knuckles: Floats, palm: float) -> Floats:
    if not np.all(np.isfinite(wrist)) or not len(knuckles):
        return np.empty((0, 3))
    middle = (wrist[:3, 3] + knuckles.mean(axis=0)) / 2
    # +Z is out of the back of the hand.
    return np.stack([middle, middle - NORMAL_LENGTH * palm * rot.unit_vector(wrist[:3, 2])])


def _digit(digit: str, frames: Floats, known: NDArray[np.bool_], palm: float) -> DigitAxes:
    joints = _joints(digit, known)
    bending = [joint for joint in map(JOINT_INDEX.get, CHAIN_JOINTS[digit][:-1]) if joint in joints[:-1]]
    positions = frames[joints, :3, 3]
    # Flexion is about −X on both hands.
    axes = -np.array([rot.unit_vector(frames[joint, :3, 0]) for joint in bending]).reshape(-1, 3)
    centres = frames[bending, :3, 3].reshape(-1, 3)
    offsets = HALF_HINGE_LENGTH * palm * np.stack([-axes, axes], axis=1)
    # The thumb's metacarpal moves across the palm as it flexes and takes no part in the curl.
    curls = slice(1, None) if digit == "thumb" and len(bending) > 2 else slice(None)
    way = _tip_path(positions[-1], centres[curls], axes[curls]) if bending else np.empty((0, 3))
    return DigitAxes(digit, positions, centres[:, None] + offsets, way)


def _tip_path(tip: Floats, centres: Floats, axes: Floats) -> Floats:
    """Return the path (PATH_POINTS, 3) of a tip while all joints (N, 3) flex about their axes (N, 3) at once.

    A joint's rotation moves only what is further out, so the outermost joint is applied first.
    """
    angles = np.linspace(0.0, CURL_FLEXION, PATH_POINTS)
    path: Floats = np.tile(tip, (PATH_POINTS, 1))
    for centre, axis in zip(centres[::-1], axes[::-1], strict=True):
        path = rot.rotate(rot.from_axis_angle(axis, angles), path - centre) + centre
    return path


def arrow_head(line: Floats, across: Floats, size: float) -> Floats:
    """Return an arrow head (3, 3) of length `size`: barb, end of a line (N, 3), other barb; spread along `across`."""
    along = rot.unit_vector(line[-1] - line[-2])
    beside = rot.unit_vector(across - (across @ along) * along)
    base = line[-1] - 0.85 * size * along
    return np.stack([base + 0.5 * size * beside, line[-1], base - 0.5 * size * beside])
