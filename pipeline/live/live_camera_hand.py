"""A hand in front of a camera: the first frames by which it is measured, and the tracker that follows it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...capture.conventions import to_z_up
from ...hand.calibration.skin_markers.chain import ShapeParameters
from ...hand.calibration.skin_markers.fit import proportions
from ...hand.calibration.skin_markers.pose_fit import Poses
from ...hand.camera.camera_fit import CameraSettings, fit_shape
from ...hand.camera.landmark_shape import shape_of
from ...hand.camera.live_filter import FilterState
from ...hand.camera.live_tracker import CameraTracker, TrackerState
from ...hand.camera.picture_landmarks import PictureHand, PictureLandmarks, PictureSize
from ...hand.camera.side_costs import SideCosts
from ...hand.joints import SIDES, Side
from ...hand.kinematics import Pose
from ...hand.limits import RigLimits
from ...hand.measured_hand import MeasuredHand
from ...hand.mesh.surface import Surface, surface
from ...hand.model import HandModel
from .displayed_hand import DrivenHand

Floats = NDArray[np.float64]

MIN_TO_MEASURE = 3
"""Minimum number of frames in which a hand is found before its side and bones are determined."""


@dataclass(slots=True, eq=False)
class FoundFrames:
    """Frames, of pictures of one size, in which an unmeasured hand was found."""

    size: PictureSize
    times: list[float] = field(default_factory=list)
    hands: list[PictureHand] = field(default_factory=list)

    def add(self, time: float, size: PictureSize, hand: PictureHand) -> None:
        """Add a frame. Frames of pictures of another size are dropped."""
        if size != self.size:
            self.size, self.times, self.hands = size, [], []
        self.times.append(time)
        self.hands.append(hand)

    def has_enough(self, frames: int, seconds: float) -> bool:
        """Return whether there are this many frames, or fewer over this many s."""
        count = len(self.times)
        return count >= frames or (count >= MIN_TO_MEASURE and self.times[-1] - self.times[0] >= seconds)

    def copy(self) -> "FoundFrames":
        """Return a copy of the frames so far."""
        return FoundFrames(self.size, list(self.times), list(self.hands))

    def since(self, time: float) -> list[tuple[float, PictureHand]]:
        """Return the frames after a time in s."""
        return [(at, hand) for at, hand in zip(self.times, self.hands, strict=True) if at > time]


@dataclass(frozen=True, slots=True, eq=False)
class SideFit:
    """A fit of a hand of one side to the first frames."""

    shape: ShapeParameters
    pose: Poses
    """The pose in the last frame."""


@dataclass(frozen=True, slots=True, eq=False)
class FirstFit:
    """Fits of a left and a right hand to the first frames."""

    costs: SideCosts
    fits: Mapping[Side, SideFit]
    time: float
    """s, the time of the last frame."""

    def state(self, side: Side) -> TrackerState:
        """Return the state in which following the hand starts."""
        return TrackerState(FilterState.at(self.time, self.fits[side].pose), self.time)

    def measured(self, side: Side) -> MeasuredHand:
        """Return a hand with the bones of the fit."""
        right = proportions(self.fits[side].shape)
        return MeasuredHand(right if side == "right" else right.mirrored(), {})


def fit_first_frames(frames: FoundFrames, settings: CameraSettings) -> FirstFit:
    """Fit a hand's side, bones and poses to its first frames."""
    landmarks, times = PictureLandmarks.of(frames.size, frames.hands), np.array(frames.times)
    costs: dict[Side, float] = {}
    fits: dict[Side, SideFit] = {}
    for side in SIDES:
        state, costs[side] = fit_shape(landmarks, times, side, settings)
        fits[side] = SideFit(state.shape, state.poses.select(slice(-1, None)))
    return FirstFit(SideCosts(costs, landmarks.claim), fits, float(times[-1]))


@dataclass(frozen=True, slots=True, eq=False)
class LiveCameraHand:
    """A measured hand that is followed from picture to picture."""

    measured: MeasuredHand
    skin: Surface | None
    tracker: CameraTracker
    up: str
    """The axis of the camera's space that points up."""

    @classmethod
    def of(cls, measured: MeasuredHand, driven: DrivenHand, settings: CameraSettings, up: str) -> "LiveCameraHand":
        """Return a hand that is followed within its limits and those of the rig that it drives."""
        hand_proportions = measured.proportions
        limits = driven.limits.get(hand_proportions.side, RigLimits({})).limits
        restricted = measured.with_rig_limits(limits) if limits else measured
        tracker = CameraTracker(shape_of(hand_proportions), hand_proportions.side, restricted.model.limits, settings)
        return cls(restricted, surface(hand_proportions) if driven.needs_skin else None, tracker, up)

    @property
    def side(self) -> Side:
        """The hand's side."""
        return self.tracker.side

    @property
    def hand(self) -> HandModel:
        """The model of its poses."""
        return self.measured.model

    def pose(self, state: TrackerState) -> Pose:
        """Return the pose (1 frame) of a state, in m, with the camera at the origin and Z up."""
        to_world = np.eye(4)
        to_world[:3, :3] = to_z_up(np.eye(3), self.up).T
        return Pose(self.hand, to_world @ self.tracker.root(state.filter.pose), state.filter.pose.angles)
