"""Accuracy of retargeting, in figures for the report."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...hand.joints import DIGITS
from ..recipe import KeepChoice
from ..report import figures
from .bone_directions import SeenBones, bones
from .digit_mapping import shares
from .retargeting import RetargetedHand

Floats = NDArray[np.float64]


def figures_of(kept: RetargetedHand, markers: SeenBones | None = None) -> dict[str, Any]:
    """Compute the figures of each digit that the rig has, on the character's hand as it will be keyed. JSON-ready.

    tip_off_mm: distance of its tip from the performer's scaled tip. gap_off_mm: in frames of a full pinch, difference
    of its gap to the thumb from the performer's scaled gap. direction_off_deg, tip_direction_off_deg: angles between
    its bones, or the last bone, and the directions between the markers on their ends.
    """
    table = shares(kept.character.digits)
    found = kept.character.tips(kept.pose.angles)
    away = 1000 * np.linalg.norm(found - kept.tips, axis=-1)
    gaps = np.linalg.norm(found - found[:, :1], axis=-1) - np.linalg.norm(kept.gaps, axis=-1)
    whole = kept.pinched >= 1.0
    beside = _beside(kept, markers)
    digits: dict[str, Any] = {}
    for row, digit in enumerate(DIGITS):
        if digit in kept.character.digits:
            follows = [DIGITS[k] for k in np.flatnonzero(table[row])]
            own = beside[:, row] if follows == [digit] else np.full_like(beside[:, row], np.nan)
            digits[digit] = {
                "follows": follows,
                "tip_off_mm": figures(away[:, row]),
                "gap_off_mm": figures(np.where(whole[:, row], 1000 * np.abs(gaps[:, row]), np.nan)),
                "pinched_frames": int(whole[:, row].sum()),
                "direction_off_deg": figures(own),
                "tip_direction_off_deg": figures(own[:, -1]),
            }
    scale = round(kept.scale, 4)
    return {"keep": kept.what, "scale": scale, **_left(kept.what, digits), "digits": digits}


def _beside(kept: RetargetedHand, markers: SeenBones | None) -> Floats:
    """Angles (F, 5, 3) in degrees between the character's bones and the observed directions, NaN without these."""
    if markers is None:
        return np.full((len(kept.pose), len(DIGITS), 3), np.nan)
    found = bones(kept.pose)
    sine = np.linalg.norm(np.cross(found, markers.ways), axis=-1)
    angles: Floats = np.degrees(np.arctan2(sine, (found * markers.ways).sum(axis=-1)))
    return angles


def _left(what: KeepChoice, digits: dict[str, Any]) -> dict[str, dict[str, float | None]]:
    """Mean and maximum over the digits: of gaps if pinches are kept, else of tips; and of directions."""
    kind = "gap_off_mm" if what == "pinches" else "tip_off_mm"
    return {"left_mm": _over(digits, kind), "left_deg": _over(digits, "direction_off_deg")}


def _over(digits: dict[str, Any], kind: str) -> dict[str, float | None]:
    known = [digit[kind] for digit in digits.values() if digit[kind]["mean"] is not None]
    if not known:
        return {"mean": None, "max": None}
    return {"mean": round(sum(of["mean"] for of in known) / len(known), 4), "max": max(of["max"] for of in known)}
