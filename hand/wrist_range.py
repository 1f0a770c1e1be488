"""Human range of wrist motion. A capture that is not aligned with its character exceeds it."""

import numpy as np
from numpy.typing import NDArray

from .joints import Side

Floats = NDArray[np.float64]

FLEXION, EXTENSION, RADIAL, ULNAR = np.deg2rad([80.0, 70.0, 20.0, 30.0])
"""rad, the ends of a wrist's range (American Academy of Orthopaedic Surgeons, Joint Motion, 1965)."""
MARGIN = np.deg2rad(20.0)
"""rad by which very flexible hands, and rigs whose hands are not straight at rest, exceed the range."""


def wrist_bend(forearm: Floats, side: Side) -> tuple[Floats, Floats]:
    """Return the bend of hands against their forearms, and its excess over a person's range, (...) rad each.

    forearm (..., 3): the unit vector from elbow to wrist in the wrist's frame, which does not depend on pronation.
    Between flexion, extension and the deviations the range is an ellipse. The excess is 0 within the range and MARGIN.
    """
    to_thumb = forearm[..., 0] if side == "right" else -forearm[..., 0]
    bend: Floats = np.arccos(np.clip(forearm[..., 1], -1.0, 1.0))
    # The forearm leaves a flexed hand at its back, and one bent towards the thumb on the little finger's side.
    flexing = np.where(forearm[..., 2] > 0, FLEXION, EXTENSION)
    deviating = np.where(to_thumb > 0, RADIAL, ULNAR)
    aside = np.hypot(forearm[..., 0], forearm[..., 2])
    across = np.divide(1.0, aside, out=np.zeros_like(aside), where=aside > 1e-9)
    max_bend = 1.0 / np.maximum(
        np.hypot(forearm[..., 2] * across / flexing, forearm[..., 0] * across / deviating), 1.0 / FLEXION
    )
    return bend, np.maximum(bend - max_bend - MARGIN, 0.0)
