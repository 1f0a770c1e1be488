"""The skin markers in a performer's file, in millimetres and degrees."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import RecipeError
from ..hand.calibration.skin_markers.skin_fit import DOFS, PALM, PosePrior, SkinFit, SkinMarkers
from ..hand.joints import DIGITS
from ..hand.limits import AngleLimits
from ..hand.proportions import Proportions

Floats = NDArray[np.float64]

MAX_MARKERS = 200
MAX_DISTANCE_MM = 500.0
"""mm, maximum offset, slide or spread of a marker."""
MAX_COVARIANCE_DEG2 = 1e6
"""degrees², maximum entry of a covariance."""
PALM_NAME = "palm"
MARKER_SHAPES = {"offset_mm": (3,), "slide_mm": (2, 3), "spread_mm": (3,)}
PRIOR_SHAPES = {"mean_deg": (DOFS,), "covariance_deg2": (DOFS, DOFS), "change_deg2": (DOFS, DOFS)}


def to_json(skin_fit: SkinFit) -> dict[str, Any]:
    """Encode the markers by their labels, and the prior of the joint angles."""
    markers, degrees = skin_fit.markers, np.rad2deg(1.0)
    entries = {}
    for row, label in enumerate(markers.labels):
        digit = int(markers.digits[row])
        entries[label] = {
            "on": PALM_NAME if digit == PALM else DIGITS[digit],
            "bone": int(markers.bones[row]) + 1,
            "offset_mm": np.round(1000 * markers.offsets[row], 3).tolist(),
            "slide_mm": np.round(1000 * markers.slides[row], 3).tolist(),
            "spread_mm": np.round(1000 * markers.spreads[row], 3).tolist(),
        }
    habits = {
        "mean_deg": np.round(degrees * skin_fit.poses.mean, 3).tolist(),
        "covariance_deg2": np.round(degrees**2 * skin_fit.poses.covariance, 5).tolist(),
        "change_deg2": np.round(degrees**2 * skin_fit.poses.change, 5).tolist(),
    }
    return {"markers": entries, "habits": habits}


def from_json(data: object, proportions: Proportions, limits: AngleLimits, where: str) -> SkinFit:
    """Decode the result of `to_json`. Raises RecipeError naming `where` and what is wrong."""
    if not isinstance(data, dict) or not all(isinstance(data.get(name), dict) for name in ("markers", "habits")):
        raise RecipeError(f"{where}: found {type(data).__name__}, expected an object with 'markers' and 'habits'")
    entries = data["markers"]
    if not 0 < len(entries) <= MAX_MARKERS or not all(isinstance(entry, dict) for entry in entries.values()):
        raise RecipeError(f"{where}: {len(entries)} markers, expected 1 to {MAX_MARKERS} objects")
    numbers = {
        name: np.stack(
            [_array(entry, name, shape, MAX_DISTANCE_MM, f"{where}, {label}") for label, entry in entries.items()]
        )
        for name, shape in MARKER_SHAPES.items()
    }
    if not np.all(numbers["spread_mm"] > 0):
        raise RecipeError(f"{where}: a marker's spread_mm is not above zero")
    indices = [_digit_and_bone(entry, f"{where}, {label}") for label, entry in entries.items()]
    digits, bones = (np.array(column, np.int64) for column in zip(*indices, strict=True))
    markers = SkinMarkers(
        tuple(entries), digits, bones, *(numbers[name] / 1000 for name in ("offset_mm", "slide_mm", "spread_mm"))
    )
    habits = {
        name: _array(data["habits"], name, shape, MAX_COVARIANCE_DEG2, where) for name, shape in PRIOR_SHAPES.items()
    }
    for name in ("covariance_deg2", "change_deg2"):
        if not np.allclose(habits[name], habits[name].T) or np.linalg.eigvalsh(habits[name]).min() <= 0:
            raise RecipeError(f"{where}: {name} is no covariance, expected a symmetric, positive matrix")
    radian = np.deg2rad(1.0)
    poses = PosePrior(
        radian * habits["mean_deg"], radian**2 * habits["covariance_deg2"], radian**2 * habits["change_deg2"]
    )
    return SkinFit(proportions, markers, poses, limits)


def _digit_and_bone(entry: dict[str, Any], where: str) -> tuple[int, int]:
    """Return indices of a marker's digit and bone."""
    on, bone = entry.get("on"), entry.get("bone")
    if on not in (*DIGITS, PALM_NAME) or bone not in (1, 2, 3):
        raise RecipeError(
            f"{where}: on {on!r}, bone {bone!r}, expected one of {', '.join((*DIGITS, PALM_NAME))} and 1 to 3"
        )
    return (PALM, 0) if on == PALM_NAME else (DIGITS.index(on), int(bone) - 1)


def _array(group: dict[str, Any], name: str, shape: tuple[int, ...], maximum: float, where: str) -> Floats:
    try:
        values = np.array(group.get(name), float)
    except (TypeError, ValueError):
        values = np.full(shape, np.nan)
    if values.shape != shape or not np.all(np.abs(values) <= maximum):
        raise RecipeError(f"{where}: {name} is not {' by '.join(map(str, shape))} numbers up to {maximum:g}")
    return values
