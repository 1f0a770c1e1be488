"""Where the fit of a hand with its markers begins: with a mean hand, placed on its markers."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from .fitted_limits import search_limits
from .pose_fit import PoseModel, VisibleMarkers, fit_poses
from .pose_starts import best_start
from .priors import ON_PALM, START_ANGLES, mean_shape, usual_pose_prior
from .shape_fit import FittedShape
from .skin_fit import PALM

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

INITIAL_SPREAD = 0.003
"""m, initial standard deviation of every marker."""
INITIAL_ITERATIONS = 6


def initial_fit(digits: Ints, bones: Ints, tips: Bools, seen: VisibleMarkers) -> FittedShape:
    """Start from a mean hand with markers on these bones, placed on its markers.

    Palm markers get the positions at which they are then seen.
    """
    shape = mean_shape(digits, bones, tips)
    mean, precision = usual_pose_prior()
    on_palm = digits == PALM
    sharpness = np.full((len(digits), 3), 1 / INITIAL_SPREAD)
    # Without the palm's markers, those of bent fingers could not distinguish the back of the hand from the palm.
    expected_sharpness = np.where(on_palm[:, None], 1 / ON_PALM[1], sharpness)
    pose_model = PoseModel(shape, expected_sharpness, mean, precision, search_limits())
    start = best_start(pose_model, START_ANGLES, seen, np.ones_like(on_palm))
    poses, _ = fit_poses(pose_model, start, seen, INITIAL_ITERATIONS)
    local = (seen.positions - poses.positions[:, None]) @ poses.rotations
    offsets = shape.offsets.copy()
    for m in np.flatnonzero(on_palm & seen.visible.any(axis=0)):
        offsets[m] = np.median(local[seen.visible[:, m], m], axis=0)
    shape = replace(shape, offsets=offsets)
    return FittedShape(replace(pose_model, shape=shape, sharpness=sharpness), poses)
