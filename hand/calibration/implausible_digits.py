"""Detect digits that a fit has tilted away from their markers, and restore their previous measurements.

If a digit's real joints bend about other axes than those of the model, the fit may tilt its bones away from the markers
and compensate by the markers' offsets, which the residuals do not reveal. If a marker set places markers in two joints
of a digit, the line between them shows the direction of the bones, up to the markers' distances from the joints.
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

MAX_TILT = 0.008
"""m, maximum increase of a digit's tilt by a fit, measured across the line between two markers: twice the usual
distance of a marker from its joint. It corresponds to 5 degrees over a whole finger, 10 over its first bone."""


def digit_tilts(problem: FitProblem, state: FitState) -> Floats:
    """Return the tilt (5, 2) of each digit's joints against its markers: in m across the line between two markers, and
    in degrees.

    It is the median over the frames, for the pair of markers in which it is largest; zero without a pair.
    """
    positions = problem.pose_hand(state).positions
    tilts = np.zeros((len(DIGITS), 2))
    for row, digit in enumerate(DIGITS):
        joints = [JOINT_INDEX[joint] for joint in CHAIN_JOINTS[digit]]
        for (a, first), (b, second) in combinations(_markers_in_joints(problem.markers, joints), 2):
            rows = problem.seen[:, first] & problem.seen[:, second]
            if rows.any():
                marker_lines = problem.positions[rows, second] - problem.positions[rows, first]
                tilts[row] = max(tuple(tilts[row]), _line_tilt(positions[rows, b] - positions[rows, a], marker_lines))
    return tilts


def _markers_in_joints(markers: FitMarkers, joints: list[int]) -> list[tuple[int, int]]:
    """Return the joints, from the wrist outwards, in which the marker set places a marker, each with that marker."""
    marker_of = {JOINT_INDEX[spot.joint]: m for m, spot in enumerate(markers.spots) if not any(spot.offset)}
    return [(joint, marker_of[joint]) for joint in joints if joint in marker_of]


def _line_tilt(model_lines: Floats, marker_lines: Floats) -> tuple[float, float]:
    """Return the median tilt of model lines (F, 3) against marker lines (F, 3): in m across these, and in degrees."""
    along, length = np.sum(model_lines * marker_lines, axis=-1), np.linalg.norm(marker_lines, axis=-1)
    angles = np.arctan2(np.linalg.norm(np.cross(model_lines, marker_lines), axis=-1), along)
    across = length * np.where(along > 0, np.sin(angles), 1.0)
    return float(np.median(across)), float(np.degrees(np.median(angles)))


def keep_digits(
    fit_markers: FitMarkers, fitted: SharedParameters, measured: SharedParameters, rows: tuple[int, ...]
) -> SharedParameters:
    """Return the fitted parameters with the previous measurements of some digits, moved with the palm markers.

    Args:
        fit_markers: the markers.
        fitted: the fit.
        measured: the hand before the fit.
        rows: the digits to take from `measured`.
    """
    palm = [m for m, joint in enumerate(fit_markers.joints) if joint == 0]
    transform = rot.fit_rigid_to_visible(measured.offsets[palm], fitted.offsets[None, palm])[0]
    digits, markers = list(rows), [m for m in range(len(fit_markers.joints)) if fit_markers.digit_row(m) in rows]
    rotation = rot.from_matrix(transform[:3, :3])
    first_joints, rotations, lengths = fitted.first_joints.copy(), fitted.digit_rotations.copy(), fitted.lengths.copy()
    rho, offsets = fitted.rho.copy(), fitted.offsets.copy()
    first_joints[digits] = measured.first_joints[digits] @ transform[:3, :3].T + transform[:3, 3]
    rotations[digits] = rot.multiply(np.broadcast_to(rotation, (len(digits), 4)), measured.digit_rotations[digits])
    lengths[digits], rho[digits] = measured.lengths[digits], measured.rho[digits]
    offsets[markers] = measured.offsets[markers]
    return replace(
        fitted, first_joints=first_joints, digit_rotations=rotations, lengths=lengths, rho=rho, offsets=offsets
    )
