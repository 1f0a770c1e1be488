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
    """Return the angle between hands and their forearms, and its excess over a person's range, (...) rad each.

    The range is an ellipse through the limits of flexion, extension and the two deviations. The excess is 0 up to
    MARGIN beyond it.

    forearm: (..., 3) the unit vector from elbow to wrist in the wrist's frame, which does not depend on pronation.
    """
    to_little_finger = forearm[..., 0] if side == "right" else -forearm[..., 0]
    bend: Floats = np.arccos(np.clip(forearm[..., 1], -1.0, 1.0))
    # In the wrist's frame, flexion tilts the forearm's direction to the back, radial deviation to the little finger.
    flexing = np.where(forearm[..., 2] > 0, FLEXION, EXTENSION)
    deviating = np.where(to_little_finger > 0, RADIAL, ULNAR)
    sine = np.hypot(forearm[..., 0], forearm[..., 2])
    inverse_sine = np.divide(1.0, sine, out=np.zeros_like(sine), where=sine > 1e-9)
    max_bend = 1.0 / np.maximum(
        np.hypot(forearm[..., 2] * inverse_sine / flexing, forearm[..., 0] * inverse_sine / deviating), 1.0 / FLEXION
    )
    return bend, np.maximum(bend - max_bend - MARGIN, 0.0)
