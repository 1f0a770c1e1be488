"""Follow a hand with known bones frame by frame; refuse false detections, and predict poses without one.

Where landmarks are farther from the hand than usual, its motion has changed, and what was predicted counts less. A
frame whose landmarks are far from it even so is either false, or the hand is elsewhere: the search then starts from the
detector's guess of the frame, too. If the landmarks do not form this hand there either, the frame is predicted, unless
that lasts: then it was the filter that was wrong.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..calibration.skin_markers.chain import ShapeParameters, marker_positions
from ..calibration.skin_markers.pose_fit import Poses
from ..joints import Side
from ..mirror import FRAME_SIGNS, POINT_SIGNS
from .camera_fit import FALSE_FRAME, MIN_MISS, CameraSettings, scales, start_state
from .landmark_corrections import corrected
from .live_filter import FilterState, correct, predict
from .measurement import LandmarkResiduals, Sighting
from .picture_landmarks import PictureHand, PictureLandmarks, PictureSize

Floats = NDArray[np.float64]

USUAL_MISS = 1.0
"""Standard deviations by which a hand's landmarks miss it, before that is known."""
USUAL_SHARE = 0.05
"""Weight of a frame in the running mean of the usual distance."""
SURPRISE, LOOSER = 1.5, 4.0
"""How many times as far as usual the landmarks must be from the hand for its motion to have changed suddenly, and by
how much what was predicted is then less certain."""
MAX_REFUSED = 0.3
"""s for which frames are refused one after the other; one frame is, however long ago the last one was."""
MAX_PREDICTED = 0.2
"""s for which a pose is predicted. It is held from then on."""


@dataclass(frozen=True, slots=True, eq=False)
class TrackerState:
    """The estimate of a hand after a frame."""

    filter: FilterState
    seen_at: float
    """s, the last frame that was not predicted."""
    usual: float = USUAL_MISS
    """Standard deviations by which its landmarks usually miss it."""
    predicted: bool = False
    """Whether the last frame was predicted, or the pose held."""


@dataclass(frozen=True, slots=True, eq=False)
class CameraTracker:
    """A hand of known bones before a camera."""

    shape: ShapeParameters
    """Of the right hand, or of the left one's mirror image."""
    side: Side
    limits: Floats
    """(D, 2) rad"""
    settings: CameraSettings

    def start(self, time: float, size: PictureSize, found: PictureHand) -> TrackerState:
        """Begin with a hand that was found at a time in s."""
        return TrackerState(FilterState.at(time, self._single(size, found)), time)

    def follow(self, time: float, size: PictureSize, found: PictureHand | None, state: TrackerState) -> TrackerState:
        """Return the state at a later time in s; found: None if the hand is not seen."""
        if found is None:
            return self._without(time, state)
        predicted = predict(state.filter, time, self.limits)
        sighting = self._sighting(size, found, predicted.pose)
        after, residuals, cost = correct(predicted, self.shape, self.limits, sighting)
        if _miss(residuals) > SURPRISE * state.usual:
            predicted = predicted.looser(LOOSER)
            after, residuals, cost = correct(predicted, self.shape, self.limits, sighting)
        doubtful, miss = max(FALSE_FRAME * state.usual, MIN_MISS), _miss(residuals)
        if miss > doubtful and not state.predicted:
            start = self._single(size, found)
            other, other_residuals, other_cost = correct(predicted, self.shape, self.limits, sighting, start)
            if other_cost < cost:
                after, miss = other, _miss(other_residuals)
        if miss > doubtful:
            if time - state.seen_at <= MAX_REFUSED or not state.predicted:
                return self._without(time, state)
            return replace(self.start(time, size, found), usual=max(state.usual, miss / FALSE_FRAME))
        return TrackerState(after, time, state.usual + USUAL_SHARE * (miss - state.usual))

    def root(self, pose: Poses) -> Floats:
        """Return T_camera_wrist (1, 4, 4) of the hand itself, m."""
        root = np.eye(4)[None].copy()
        root[:, :3, :3], root[:, :3, 3] = pose.rotations, pose.positions
        return np.asarray(FRAME_SIGNS * root) if self.side == "left" else root

    def _without(self, time: float, state: TrackerState) -> TrackerState:
        """Predict for as long as that means something, then hold."""
        if time - state.seen_at > MAX_PREDICTED:
            at_rest = replace(state.filter, velocity=np.zeros_like(state.filter.velocity))
            return replace(state, filter=at_rest, predicted=True)
        return replace(state, filter=predict(state.filter, time, self.limits), predicted=True)

    @property
    def _mirror(self) -> Floats:
        return POINT_SIGNS if self.side == "left" else np.ones(3)

    def _single(self, size: PictureSize, found: PictureHand) -> Poses:
        """Return the pose fitted to a frame by itself."""
        landmarks = PictureLandmarks.of(size, [found])
        return start_state(landmarks, self.side, self.shape, self.settings)[0].poses

    def _landmarks(self, pose: Poses) -> Floats:
        """(21, 3) m in the space of the right hand's camera."""
        local = marker_positions(self.shape, pose.angles).positions[..., 0].T
        return np.asarray(local @ pose.rotations[0].T + pose.positions[0])

    def _sighting(self, size: PictureSize, found: PictureHand, pose: Poses) -> Sighting:
        """Return the measurements of a frame, at the distance of a predicted pose."""
        landmarks = corrected(PictureLandmarks.of(size, [found]), self.side)
        lines = landmarks.sight_lines(self.settings.angle_of_view) * self._mirror[:2]
        distance = max(float(self._landmarks(pose)[:, 2].mean()), 0.05)
        towards = np.append(lines.mean(axis=1), [[1.0]], axis=1)
        relief = landmarks.relief()
        scale = distance / size.focal_length(self.settings.angle_of_view)
        depths = relief[..., 2] * (scale if landmarks.has_depths else scales(self.shape, relief)[:, None])
        return Sighting(lines, depths, towards / np.linalg.norm(towards), np.array([distance]), np.ones(1, np.bool_))


def _miss(residuals: LandmarkResiduals) -> float:
    """Mean standard deviations by which landmarks miss the hand in the picture."""
    return float(np.linalg.norm(residuals.picture[0], axis=-1).mean())
