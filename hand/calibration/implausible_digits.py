"""Digits that a fit has turned away from their markers, and how they are kept as they were measured.

A digit whose joints turn about other axes than the model's can be met by a hand whose bones point elsewhere than its
markers: offsets on all of its markers make up for it, and the distances to the markers do not show it. Where markers
are said to be in two joints of a digit, the line between them shows where its bones point, up to how far such markers
sit beside their joints.
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
"""m across the line of two markers by which a fit may have their joints stand otherwise than measures did: each marker
as far beside its joint as markers are, to opposite sides. It is 5 degrees of a finger, 10 of a first bone."""


def askew(problem: FitProblem, state: FitState) -> Floats:
    """(5, 2) of each digit m and degrees by which two of its joints stand otherwise than their markers.

    Of the pair that is worst, in the middle of the frames; zero where no two markers are in joints. m are across the
    line between the markers.
    """
    places = problem.placed(state).places
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
    """(joint, marker), outwards, of the markers that are said to be in these joints."""
    said = {JOINT_INDEX[spot.joint]: m for m, spot in enumerate(riders.spots) if not any(spot.offset)}
    return [(joint, said[joint]) for joint in joints if joint in said]


def _between(bones: Floats, shown: Floats) -> tuple[float, float]:
    """m across the second of two lines (F, 3), and degrees between them, in the middle of the frames."""
    along, length = np.sum(bones * shown, axis=-1), np.linalg.norm(shown, axis=-1)
    angles = np.arctan2(np.linalg.norm(np.cross(bones, shown), axis=-1), along)
    across = length * np.where(along > 0, np.sin(angles), 1.0)
    return float(np.median(across)), float(np.degrees(np.median(angles)))


def keeping(
    riders: FitMarkers, fitted: SharedParameters, measured: SharedParameters, rows: tuple[int, ...]
) -> SharedParameters:
    """What was fitted, with some digits as they were measured, brought to where the palm's markers are now."""
    palm = [m for m, joint in enumerate(riders.joints) if joint == 0]
    move = rot.fit_seen(measured.offsets[palm], fitted.offsets[None, palm])[0]
    digits, markers = list(rows), [m for m in range(len(riders.joints)) if riders.digit(m) in rows]
    turn = rot.from_matrix(move[:3, :3])
    palms, frames, lengths = fitted.palm.copy(), fitted.frames.copy(), fitted.lengths.copy()
    rho, offsets = fitted.rho.copy(), fitted.offsets.copy()
    palms[digits] = measured.palm[digits] @ move[:3, :3].T + move[:3, 3]
    frames[digits] = rot.multiply(np.broadcast_to(turn, (len(digits), 4)), measured.frames[digits])
    lengths[digits], rho[digits] = measured.lengths[digits], measured.rho[digits]
    offsets[markers] = measured.offsets[markers]
    return replace(fitted, palm=palms, frames=frames, lengths=lengths, rho=rho, offsets=offsets)
