"""Follow a hand with markers on its skin frame by frame, as it is recorded.

Each frame is solved for its likeliest pose, given its markers and what the frames before predict: an extended Kalman
filter, iterated within the limits (Bell and Cathey 1993). A frame starts from the prediction, so that one or two steps
are enough where SkinSolver, which solves each frame by itself first, needs ten.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..hand.calibration.skin_markers.pose_fit import PoseModel, Poses, VisibleMarkers, fit_poses, invert
from ..hand.calibration.skin_markers.pose_starts import best_start
from ..hand.calibration.skin_markers.priors import START_ANGLES
from ..hand.calibration.skin_markers.skin_fit import SkinFit
from .angle_filter import AngleState, predict_angles
from .skin_markers import FEWEST_MARKERS, SkinPoses, SkinState, pose_model_of, side_signs, unmirrored, without_wrist

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

STEPS = 2
"""Maximum number of steps for a frame that starts from the prediction."""
SEARCH_STEPS = 20
"""Maximum number of steps for a frame that starts from any pose."""
TOLERANCE = 1e-3
"""Relative decrease of the cost below which a frame's steps end."""
DOUBTFUL_COST = 16.0
"""Cost for each visible marker above which the hand is searched from other poses too."""


@dataclass(frozen=True, eq=False)
class SkinTracker:
    """A performer's hand with its M markers, to be followed."""

    hand: SkinFit

    @cached_property
    def _model(self) -> PoseModel:
        return pose_model_of(self.hand)

    @cached_property
    def _all_markers(self) -> Bools:
        return np.ones(len(self.hand.markers), bool)

    def solve(self, time: float, positions: Floats, state: SkinState | None = None) -> tuple[SkinPoses, SkinState]:
        """Solve one frame.

        The wrist stays where it was while fewer than three markers are seen.

        Args:
            time: s.
            positions: (M, 3) m in the world, in the order of hand.markers, NaN where a marker is not seen.
            state: what the previous frame returned; None at the start.

        Returns:
            The pose of the frame, and the state for the next one.
        """
        prior, seen = self.hand.poses, VisibleMarkers.from_positions((positions * side_signs(self.hand))[None])
        before = AngleState(time, prior.mean, prior.covariance) if state is None else state.angles
        mean, covariance = predict_angles(prior, before, time)
        precision = invert(covariance)
        predicted = replace(self._model, mean=mean, precision=precision)
        pose = self._follow(predicted, seen) if state is not None else self._search(predicted, mean, seen)
        if np.count_nonzero(seen.visible) < FEWEST_MARKERS:
            orientation, position = (np.eye(3), np.zeros(3)) if state is None else (state.orientation, state.position)
            pose = Poses(orientation[None], position[None], pose.angles)
        measured, _ = without_wrist(self._model, pose, seen)
        covariance = invert(precision + measured.information[0])
        angles = AngleState(time, pose.angles[0], (covariance + covariance.T) / 2)
        return unmirrored(self.hand, self._model, pose), SkinState(angles, pose.rotations[0], pose.positions[0])

    def _follow(self, predicted: PoseModel, seen: VisibleMarkers) -> Poses:
        """Solve a frame from its prediction, and from other poses if its markers are far from there."""
        start = best_start(predicted, [predicted.mean], seen, self._all_markers)
        pose, cost = fit_poses(predicted, start, seen, STEPS, TOLERANCE)
        if cost[0] <= DOUBTFUL_COST * np.count_nonzero(seen.visible):
            return pose
        return self._search(predicted, pose.angles[0], seen)

    def _search(self, predicted: PoseModel, angles: Floats, seen: VisibleMarkers) -> Poses:
        """Solve a frame from the best of several poses, one of them at angles (D,) rad."""
        start = best_start(predicted, [angles, *START_ANGLES], seen, self._all_markers)
        return fit_poses(predicted, start, seen, SEARCH_STEPS, TOLERANCE)[0]
