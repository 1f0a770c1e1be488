"""Detect digits that a fit has tilted away from their markers, and keep them as they were measured before.

If a digit's real joints bend about other axes than the model's, the fit may point its bones away from the markers:
offsets of all its markers compensate, and the distances to the markers do not reveal it. Where a marker set places
markers in two joints of a digit, the line between them shows the direction of its bones, to within the distance of such
markers from their joints.
"""

from dataclasses import replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from .. import rotations as rot
from ..joints import CHAIN_JOINTS, DIGITS, JOINT_INDEX
from .fit_parameters import FitMarkers, SharedParameters
from .least_squares import FitProblem, FitState

Floats = NDArray[np.float64]

MOST_ASKEW = 0.008
"""m across the line between two markers, by which a fit may tilt their joints more than the previous hand did: each
marker as far from its joint as markers are, on opposite sides. It corresponds to 5 degrees of a finger, 10 of a first
bone."""


def askew(problem: FitProblem, state: FitState) -> Floats:
    """Tilt of each digit's joints against its markers, as (5, 2): m across the line between two markers, and degrees.

    It is that of the digit's worst pair, the median over the frames; zero where no two markers are in joints.
    """
    places = problem.placed(state).positions
    found = np.zeros((len(DIGITS), 2))
    for row, digit in enumerate(DIGITS):
        joints = [JOINT_INDEX[joint] for joint in CHAIN_JOINTS[digit]]
        for (a, one), (b, other) in combinations(_in_joints(problem.riders, joints), 2):
            rows = problem.seen[:, one] & problem.seen[:, other]
            if rows.any():
                shown = problem.positions[rows, other] - problem.positions[rows, one]
                found[row] = max(tuple(found[row]), _between(places[rows, b] - places[rows, a], shown))
    return found


def _in_joints(riders: FitMarkers, joints: list[int]) -> list[tuple[int, int]]:
    """Pairs (joint, marker), from the wrist outwards, of markers that the marker set places in these joints."""
    said = {JOINT_INDEX[spot.joint]: m for m, spot in enumerate(riders.spots) if not any(spot.offset)}
    return [(joint, said[joint]) for joint in joints if joint in said]


def _between(bones: Floats, shown: Floats) -> tuple[float, float]:
    """Median distance in m across the second of two lines (F, 3), and median angle between them in degrees."""
    along, length = np.sum(bones * shown, axis=-1), np.linalg.norm(shown, axis=-1)
    angles = np.arctan2(np.linalg.norm(np.cross(bones, shown), axis=-1), along)
    across = length * np.where(along > 0, np.sin(angles), 1.0)
    return float(np.median(across)), float(np.degrees(np.median(angles)))


def keeping(
    riders: FitMarkers, fitted: SharedParameters, measured: SharedParameters, rows: tuple[int, ...]
) -> SharedParameters:
    """Return the fitted parameters, with some digits as they were measured, moved with the palm markers.

    Args:
        riders: the markers.
        fitted: the fit.
        measured: the hand before the fit.
        rows: the digits to take from `measured`.
    """
    palm = [m for m, joint in enumerate(riders.joints) if joint == 0]
    move = rot.fit_rigid_to_visible(measured.offsets[palm], fitted.offsets[None, palm])[0]
    digits, markers = list(rows), [m for m in range(len(riders.joints)) if riders.digit(m) in rows]
    turn = rot.from_matrix(move[:3, :3])
    palms, frames, lengths = fitted.palm.copy(), fitted.frames.copy(), fitted.lengths.copy()
    rho, offsets = fitted.rho.copy(), fitted.offsets.copy()
    palms[digits] = measured.palm[digits] @ move[:3, :3].T + move[:3, 3]
    frames[digits] = rot.multiply(np.broadcast_to(turn, (len(digits), 4)), measured.frames[digits])
    lengths[digits], rho[digits] = measured.lengths[digits], measured.rho[digits]
    offsets[markers] = measured.offsets[markers]
    return replace(fitted, palm=palms, frames=frames, lengths=lengths, rho=rho, offsets=offsets)
