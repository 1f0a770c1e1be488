"""Accuracy of retargeting, in figures for the report."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...hand.joints import DIGITS
from ...hand.kinematics import Pose
from ..report import error_statistics
from .bone_directions import ObservedDirections, pose_directions
from .digit_mapping import digit_weights
from .retargeting import RetargetedHand

Floats = NDArray[np.float64]


def retarget_figures(retargeted: RetargetedHand, observed: ObservedDirections | None = None) -> dict[str, Any]:
    """Compute the figures of each digit that the rig has, on the character's hand as it will be keyed. JSON-ready.

    tip_off_mm: distance of its tip from the performer's scaled tip. gap_off_mm: in frames of a full pinch, difference
    of its gap to the thumb from the performer's scaled gap. direction_off_deg, tip_direction_off_deg: angles between
    its bones, or its last bone, and the observed directions. directions_of: the source of these: "markers" on the
    bones' ends, or "solved hand" if markers are on the skin or missing.
    """
    table = digit_weights(retargeted.character.digits)
    tips = retargeted.character.tips(retargeted.pose.angles)
    tip_errors = 1000 * np.linalg.norm(tips - retargeted.tips, axis=-1)
    gaps = np.linalg.norm(tips - tips[:, :1], axis=-1)
    gap_errors = 1000 * np.abs(gaps - np.linalg.norm(retargeted.thumb_gaps, axis=-1))
    full_pinch = retargeted.pinch_weights >= 1.0
    direction_errors = _direction_errors(retargeted.pose, observed)
    digits: dict[str, Any] = {}
    for row, digit in enumerate(DIGITS):
        if digit in retargeted.character.digits:
            follows = [DIGITS[k] for k in np.flatnonzero(table[row])]
            directions = direction_errors[:, row]
            if follows != [digit]:
                directions = np.full_like(directions, np.nan)
            digits[digit] = {
                "follows": follows,
                "tip_off_mm": error_statistics(tip_errors[:, row]),
                "gap_off_mm": error_statistics(np.where(full_pinch[:, row], gap_errors[:, row], np.nan)),
                "pinched_frames": int(full_pinch[:, row].sum()),
                "directions_of": _source(observed, row),
                "direction_off_deg": error_statistics(directions),
                "tip_direction_off_deg": error_statistics(directions[:, -1]),
            }
    column = "gap_off_mm" if retargeted.keep == "pinches" else "tip_off_mm"
    return {
        "keep": retargeted.keep,
        "scale": round(retargeted.scale, 4),
        "left_mm": _mean_and_max(digits, column),
        "left_deg": _mean_and_max(digits, "direction_off_deg"),
        "digits": digits,
    }


def _direction_errors(pose: Pose, observed: ObservedDirections | None) -> Floats:
    """Return angles (F, 5, 3) in degrees between a pose's bones and the observed directions; NaN if there are none."""
    if observed is None:
        return np.full((len(pose), len(DIGITS), 3), np.nan)
    directions = pose_directions(pose)
    sine = np.linalg.norm(np.cross(directions, observed.directions), axis=-1)
    angles: Floats = np.degrees(np.arctan2(sine, (directions * observed.directions).sum(axis=-1)))
    return angles


def _source(observed: ObservedDirections | None, row: int) -> str | None:
    """Return the source of a digit's observed directions, None if there are none."""
    if observed is None:
        return None
    return "markers" if (observed.weights[:, row] > 0).any() else "solved hand"


def _mean_and_max(digits: dict[str, Any], figure: str) -> dict[str, float | None]:
    """Return the mean of the means and largest maximum of a figure over the digits that have it."""
    measured_statistics = [digit[figure] for digit in digits.values() if digit[figure]["mean"] is not None]
    if not measured_statistics:
        return {"mean": None, "max": None}
    mean = sum(statistics["mean"] for statistics in measured_statistics) / len(measured_statistics)
    return {"mean": round(mean, 4), "max": max(statistics["max"] for statistics in measured_statistics)}
