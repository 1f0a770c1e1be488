"""The law of the search for a hand's pose: hardly a frame ends in a valley that is worse than that of the true pose."""

from dataclasses import replace

import numpy as np

from knuckle.hand.calibration.skin_markers import fit
from knuckle.hand.calibration.skin_markers.pose_fit import Poses, VisibleMarkers, costs, fit_poses
from knuckle.hand.calibration.skin_markers.pose_search import search_poses
from knuckle.hand.calibration.skin_markers.priors import START_ANGLES
from knuckle.hand.calibration.skin_markers.skin_fit import COLUMNS, FLEXION
from knuckle.solvers.skin_markers import pose_model_of, to_worn_side
from knuckle.tests.pure.hand.skin_people import SPOTS, made

FRAMES, WEARINGS = 40, 5


def poses_that_bend_every_finger(model, random):
    angles = np.tile(model.mean, (FRAMES, 1))
    for columns in COLUMNS[1:]:
        pip = random.uniform(0, 100, FRAMES)
        angles[:, columns[FLEXION]] = np.deg2rad(np.stack([random.uniform(-10, 85, FRAMES), pip, 0.6 * pip], axis=1))
    return Poses(np.tile(np.eye(3), (FRAMES, 1, 1)), np.zeros((FRAMES, 3)), np.clip(angles, *model.limits.T))


def test_a_hand_whose_markers_sit_beside_where_they_were_fitted_is_bent_as_its_wearer_was():
    """Markers 4 mm beside where the hand has them look as if they had slipped. Searched from one start alone, one frame
    in five ended beside the true pose, with a straight finger in a fist."""
    random = np.random.default_rng(0)
    worn = fit(made("right", frames=400, noise=0.0005).positions[:200], 100.0, SPOTS, "right")
    true = poses_that_bend_every_finger(pose_model_of(worn), random)
    seen = VisibleMarkers.from_positions(to_worn_side(worn, pose_model_of(worn), true).markers)
    sure = np.full_like(worn.markers.spreads, 0.0002)
    worse = []
    for _ in range(WEARINGS):
        offsets = worn.markers.offsets + random.normal(0, 0.004 / np.sqrt(3), worn.markers.offsets.shape)
        model = pose_model_of(replace(worn, markers=replace(worn.markers, offsets=offsets, spreads=sure)))
        found = costs(model, search_poses(model, [model.mean, *START_ANGLES], seen, 30, 1e-3), seen)
        _, from_truth = fit_poses(model, true, seen, 60, 1e-6)
        worse.append(found > 1.02 * from_truth + 2)
    assert np.mean(worse) < 0.1
