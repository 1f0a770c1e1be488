"""Follow a hand with markers on its skin frame by frame, while it is recorded.

Each frame is solved for its likeliest pose, given its markers and the prediction from previous frames: an extended
Kalman filter, iterated within the limits (Bell and Cathey 1993). A frame starts from the prediction, so that one or two
steps are enough where SkinSolver, which solves each frame separately first, needs ten.

A prediction can also keep a digit in a wrong local minimum: a fist's little finger that is taken for straight looks as
if its tip marker had slipped. So if a marker of a digit has little weight for some frames, the digit is searched from
every start, as if it had not been seen before.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..hand.calibration.skin_markers.pose_fit import (
    CAUCHY_THRESHOLD_SQUARED,
    PoseModel,
    Poses,
    VisibleMarkers,
    fit_poses,
    invert,
    marker_squares,
)
from ..hand.calibration.skin_markers.pose_search import search_digit
from ..hand.calibration.skin_markers.pose_starts import best_start
from ..hand.calibration.skin_markers.priors import START_ANGLES
from ..hand.calibration.skin_markers.skin_fit import COLUMNS, HAS, SkinFit
from ..hand.joints import DIGITS
from .angle_filter import AngleState, predict_angles
from .skin_markers import MIN_MARKERS, SkinPoses, SkinState, pose_model_of, side_signs, to_worn_side, without_wrist

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

STEPS = 2
"""Maximum number of steps for a frame that starts from the prediction."""
SEARCH_STEPS, DIGIT_STEPS = 20, 10
"""Maximum numbers of steps in a search of the whole hand, and of one digit."""
TOLERANCE = 1e-3
"""Relative decrease of the cost below which a frame's steps end."""
DOUBTFUL_COST = 16.0
"""Cost for each visible marker above which the hand is searched from other poses too."""
DOUBTFUL_FRAMES, SEARCH_EVERY = 3, 16
"""Consecutive frames in which a visible marker of a digit has lost half of its weight, before the first search of the
digit and between further ones. At most one digit is searched in a frame."""


@dataclass(frozen=True, slots=True, eq=False)
class TrackerState(SkinState):
    """State carried from one frame to the next."""

    doubts: Ints
    """(5,) number of frames in a row in which a visible marker of the digit has lost half of its weight. Frames in
    which a marker of the digit is hidden do not count; a search reduces the number."""


@dataclass(frozen=True, slots=True, eq=False)
class _Prediction:
    """Predicted angles of a frame."""

    mean: Floats
    """(D,) rad"""
    covariance: Floats
    """(D, D) rad²"""

    def in_model(self, model: PoseModel) -> PoseModel:
        """Return the hand's model with this prediction as the prior of its angles."""
        return replace(model, mean=self.mean, precision=invert(self.covariance))

    def without_digit(self, digit: int, usual: "_Prediction") -> "_Prediction":
        """Return the prediction as if a digit had not been seen before."""
        digit_columns = COLUMNS[digit, HAS[digit]]
        mean, covariance = self.mean.copy(), self.covariance.copy()
        mean[digit_columns] = usual.mean[digit_columns]
        covariance[digit_columns], covariance[:, digit_columns] = 0.0, 0.0
        covariance[np.ix_(digit_columns, digit_columns)] = usual.covariance[np.ix_(digit_columns, digit_columns)]
        return _Prediction(mean, covariance)


@dataclass(frozen=True, eq=False)
class SkinTracker:
    """Tracks a performer's hand by its M markers."""

    hand: SkinFit

    @cached_property
    def _model(self) -> PoseModel:
        return pose_model_of(self.hand)

    @cached_property
    def _all_markers(self) -> Bools:
        return np.ones(len(self.hand.markers), bool)

    def solve(
        self, time: float, positions: Floats, state: TrackerState | None = None
    ) -> tuple[SkinPoses, TrackerState]:
        """Solve one frame.

        The wrist does not move while fewer than three markers are seen.

        Args:
            time: s.
            positions: (M, 3) m in the world, in the order of hand.markers, NaN where a marker is not seen.
            state: the state that the previous frame returned; None at the start.

        Returns:
            The pose of the frame, and the state for the next one.
        """
        prior, seen = self.hand.poses, VisibleMarkers.from_positions((positions * side_signs(self.hand))[None])
        previous = AngleState(time, prior.mean, prior.covariance) if state is None else state.angles
        expected = _Prediction(*predict_angles(prior, previous, time))
        predicted = expected.in_model(self._model)
        pose = self._follow(predicted, seen) if state is not None else self._search(predicted, expected.mean, seen)
        doubts = self._doubts(pose, seen, state)
        digit = int(doubts.argmax())
        if doubts[digit] >= DOUBTFUL_FRAMES:
            doubts[digit] -= SEARCH_EVERY
            forgotten = expected.without_digit(digit, _Prediction(prior.mean, prior.covariance)).in_model(self._model)
            starts = [prior.mean, *START_ANGLES]
            searched = search_digit(
                forgotten, digit, pose, seen, starts=starts, passes=DIGIT_STEPS, tolerance=TOLERANCE
            )
            pose, predicted = (pose, predicted) if searched is None else (searched, forgotten)
        if np.count_nonzero(seen.visible) < MIN_MARKERS:
            orientation, position = (np.eye(3), np.zeros(3)) if state is None else (state.orientation, state.position)
            pose = Poses(orientation[None], position[None], pose.angles)
        measured, _ = without_wrist(self._model, pose, seen)
        covariance = invert(predicted.precision + measured.information[0])
        angles = AngleState(time, pose.angles[0], (covariance + covariance.T) / 2)
        poses = to_worn_side(self.hand, self._model, pose)
        return poses, TrackerState(angles, pose.rotations[0], pose.positions[0], doubts)

    def _doubts(self, pose: Poses, seen: VisibleMarkers, state: TrackerState | None) -> Ints:
        """Return `doubts` (5,) of TrackerState. No digit is in doubt if most markers are, as after a swap of labels."""
        slipped = marker_squares(self._model, pose, seen)[:, 0] > CAUCHY_THRESHOLD_SQUARED
        slipped &= 2 * np.count_nonzero(slipped) <= np.count_nonzero(seen.visible)
        digits = np.arange(len(DIGITS))
        doubtful = np.isin(digits, self.hand.markers.digits[slipped])
        partly_hidden = np.isin(digits, self.hand.markers.digits[~seen.visible[0]])
        previous = np.zeros(len(DIGITS), np.int64) if state is None else state.doubts
        return np.where(doubtful, previous + 1, np.where(partly_hidden, previous, 0))

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
