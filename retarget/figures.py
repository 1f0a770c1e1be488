"""What keeping a performance on a hand of other proportions left, in figures for the report."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..hand.joints import DIGITS
from ..recipe import KeepChoice
from ..report import figures
from .keeping import Kept
from .shares import shares

Floats = NDArray[np.float64]


def figures_of(kept: Kept) -> dict[str, Any]:
    """JSON-ready, in mm on the character as it will be keyed, for each digit that the rig has.

    How far its tip is from where the performer's is, scaled; and in frames in which it pinches wholly, by how much its
    gap to the thumb's differs from the performer's, scaled.
    """
    table = shares(kept.character.digits)
    found = kept.character.tips(kept.pose.angles)
    away = 1000 * np.linalg.norm(found - kept.tips, axis=-1)
    gaps = np.linalg.norm(found - found[:, :1], axis=-1) - np.linalg.norm(kept.gaps, axis=-1)
    whole = kept.pinched >= 1.0
    digits: dict[str, Any] = {}
    for row, digit in enumerate(DIGITS):
        if digit in kept.character.digits:
            digits[digit] = {
                "follows": [DIGITS[k] for k in np.flatnonzero(table[row])],
                "tip_off_mm": figures(away[:, row]),
                "gap_off_mm": figures(np.where(whole[:, row], 1000 * np.abs(gaps[:, row]), np.nan)),
                "pinched_frames": int(whole[:, row].sum()),
            }
    return {"keep": kept.what, "scale": round(kept.scale, 4), "left_mm": _left(kept.what, digits), "digits": digits}


def _left(what: KeepChoice, digits: dict[str, Any]) -> dict[str, float | None]:
    """Mean and maximum over the digits of what is counted to: gaps where pinches are kept, else tips."""
    kind = "gap_off_mm" if what == "pinches" else "tip_off_mm"
    known = [digit[kind] for digit in digits.values() if digit[kind]["mean"] is not None]
    if not known:
        return {"mean": None, "max": None}
    return {"mean": round(sum(of["mean"] for of in known) / len(known), 4), "max": max(of["max"] for of in known)}
