"""The limits of a hand's angles while it is fitted, and those that it gets by the poses it was seen in."""

import numpy as np
from numpy.typing import NDArray

from ...joints import CHAIN_JOINTS, JOINT_INDEX
from ...limits import DEFAULT_LIMITS, AngleLimits
from ...model import AXES
from ...proportions import build
from .priors import MEAN

Floats = NDArray[np.float64]

PALM_ARCH: dict[str, float] = {"ring-finger": 15.0, "pinky-finger": 25.0}
"""Degrees by which a finger's metacarpal flexes as the palm arches. A fitted palm is rigid, so that its MCP flexes by
as much more."""
USUAL_LIMITS: AngleLimits = DEFAULT_LIMITS | {
    (CHAIN_JOINTS[digit][0], "flexion"): (low, high + arch)
    for digit, arch in PALM_ARCH.items()
    for low, high in [DEFAULT_LIMITS[CHAIN_JOINTS[digit][0], "flexion"]]
}
"""Degrees"""
SEARCH_MARGIN = 30.0
"""Degrees by which a fit may exceed the usual limits, since the zero of the angles is not known yet."""
UNSEEN_MARGIN = 25.0
"""Degrees beyond the observed range: another take shows more."""
ZERO_MARGIN = 10.0
"""Degrees beyond the usual limits: the uncertainty of the zero of a fitted hand's angles."""
MOVEMENT_ORDER = tuple(AXES)


def search_limits() -> Floats:
    """Return the limits (D, 2) rad within which poses are sought while a hand is fitted."""
    margin = np.deg2rad(SEARCH_MARGIN) * np.array([-1.0, 1.0])
    return np.asarray(build(MEAN, USUAL_LIMITS).limits + margin)


def fitted_limits(angles: Floats) -> AngleLimits:
    """Return the limits in degrees of a hand that was seen at angles (F, D) rad: the usual ones with room, or wider."""
    low, high = np.rad2deg(np.quantile(angles, [0.002, 0.998], axis=0))
    limits: AngleLimits = {}
    keys = sorted(DEFAULT_LIMITS, key=lambda key: (JOINT_INDEX[key[0]], MOVEMENT_ORDER.index(key[1])))
    for (joint, movement), observed_low, observed_high in zip(keys, low, high, strict=True):
        usual_low, usual_high = USUAL_LIMITS[joint, movement]
        lowest, highest = (
            max(observed_low - UNSEEN_MARGIN, usual_low - SEARCH_MARGIN),
            min(observed_high + UNSEEN_MARGIN, usual_high + SEARCH_MARGIN),
        )
        limits[joint, movement] = (
            float(round(min(usual_low - ZERO_MARGIN, lowest))),
            float(round(max(usual_high + ZERO_MARGIN, highest))),
        )
    return limits
