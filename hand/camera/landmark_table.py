"""Constants measured once by tools/benchmarks/camera_table.py: positions of landmarks on a hand, and usual poses."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .picture_landmarks import LANDMARK_JOINTS

Floats = NDArray[np.float64]

POSE_FLOOR = np.deg2rad(5.0)
"""Standard deviation that is added to every angle's, since other hands move in ways that those of the table did not."""


@cache
def _table() -> dict[str, Any]:
    table: dict[str, Any] = json.loads(Path(__file__).with_name("landmark_table.json").read_text(encoding="utf-8"))
    return table


@cache
def landmark_offsets() -> Floats:
    """Return the offsets (21, 3) of the landmarks from their joints, as fractions of the hand's length."""
    offsets = np.array([_table()["offsets"][joint] for joint in LANDMARK_JOINTS], float)
    offsets.setflags(write=False)
    return offsets


@cache
def pose_prior() -> tuple[Floats, Floats]:
    """Mean (D,) rad and precision (D, D) 1/rad² of a hand's angles."""
    mean = np.deg2rad(_table()["pose_mean"])
    covariance = np.deg2rad(np.deg2rad(np.array(_table()["pose_covariance"], float)))
    precision = np.linalg.inv(covariance + POSE_FLOOR**2 * np.eye(len(mean)))
    for array in (mean, precision):
        array.setflags(write=False)
    return mean, precision
