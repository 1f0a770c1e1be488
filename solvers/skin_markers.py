"""Solve a hand that was calibrated together with its skin markers: the likeliest pose of each frame.

Each frame is first solved by itself. The angles are then filtered over time (angle_filter.py): the measurement of a
frame is the information of its markers about the angles, with the wrist's six degrees of freedom eliminated. The wrist
is solved for the filtered angles. A whole take is linearised again about its smoothed angles, since an angle that a
frame alone determines poorly, such as a hidden joint's, may be far from them.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..hand.calibration.skin_markers.chain import marker_positions
from ..hand.calibration.skin_markers.pose_fit import (
    BATCH_FRAMES,
    PoseModel,
    Poses,
    VisibleMarkers,
    invert,
    normal_equations,
    solve,
    without_prior,
)
from ..hand.calibration.skin_markers.pose_search import search_poses
from ..hand.calibration.skin_markers.priors import START_ANGLES, shape_from_fit
from ..hand.calibration.skin_markers.skin_fit import DOFS, SkinFit
from ..hand.jacobians import ROOT_DOFS
from ..hand.mirror import FRAME_SIGNS, POINT_SIGNS
from .angle_filter import AngleMeasurement, AngleState, filter_angles, smooth_backwards
from .solver import hold_last
from .wrist_gaps import fill_wrist_gaps

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

MIN_MARKERS = 3
"""Minimum number of visible markers that locate the wrist."""
INDEPENDENT_SHARE = 0.6
"""Fraction of a frame's information that counts in `solve_take`: skin slides alike in neighbouring frames, so that the
errors of their markers do not average out as independent errors would."""


@dataclass(frozen=True, slots=True, eq=False)
class SkinState:
    """State carried from one piece of a take to the next."""

    angles: AngleState
    orientation: Floats
    """(3, 3) R_world_wrist of the last frame, mirrored to a right hand."""
    position: Floats
    """(3,) m, the wrist's position in the last frame, mirrored to a right hand."""


@dataclass(frozen=True, slots=True, eq=False)
class SkinPoses:
    """Poses of a hand over F frames, and the positions of its modelled markers."""

    root: Floats
    """(F, 4, 4) T_world_wrist, m."""
    angles: Floats
    """(F, D) rad, within the hand's limits."""
    markers: Floats
    """(F, M, 3) m in the world."""


@dataclass(frozen=True, slots=True)
class SkinSolver:
    """Least squares over all markers, weighted by each marker's standard deviations along its bone's axes."""

    passes: int = 30
    """Maximum number of steps for a frame."""
    calm: float = 1.0
    """Divides the information of the markers in `solve_take`."""

    def solve(
        self,
        hand: SkinFit,
        times: Floats,
        positions: Floats,
        state: SkinState | None = None,
        start_angles: Floats | None = None,
    ) -> tuple[SkinPoses, SkinState]:
        """Solve every frame. Solving in pieces gives the same poses as solving at once.

        The wrist stays where it was in frames with fewer than three visible markers.

        Args:
            hand: the calibrated hand and its M markers.
            times: (F,) s.
            positions: (F, M, 3) m in the world, in the order of hand.markers, NaN where a marker is not seen.
            state: the state that the previous piece returned; None at the start of a take.
            start_angles: (F, D) rad, angles from another solver as a further start pose. Each frame starts from the
                pose of lowest cost.

        Returns:
            The pose of each frame, and the state for the next piece.
        """
        estimates = self._estimate_frames(hand, positions, start_angles)
        angle_state_before = None if state is None else state.angles
        forward, angle_state = filter_angles(hand.poses, times, estimates.angles, angle_state_before)
        poses = estimates.at_angles(forward.angles)
        orientations = hold_last(poses.rotations, estimates.located, np.eye(3) if state is None else state.orientation)
        positions = hold_last(poses.positions, estimates.located, np.zeros(3) if state is None else state.position)
        last = SkinState(angle_state, orientations[-1], positions[-1])
        return to_worn_side(hand, estimates.model, Poses(orientations, positions, poses.angles)), last

    def solve_take(
        self, hand: SkinFit, times: Floats, positions: Floats, start_angles: Floats | None = None
    ) -> SkinPoses:
        """Solve every frame of a take from all its frames. Arguments as in `solve`.

        Gaps in which too few markers locate the wrist are filled from both ends.
        """
        estimates = self._estimate_frames(hand, positions, start_angles)
        estimates = estimates.relinearise(self._smoothed(hand, times, estimates))
        poses = self._smoothed(hand, times, estimates)
        orientations, positions = fill_wrist_gaps(poses.rotations, poses.positions, times, estimates.located)
        return to_worn_side(hand, estimates.model, Poses(orientations, positions, poses.angles))

    def _smoothed(self, hand: SkinFit, times: Floats, estimates: "_FrameEstimates") -> Poses:
        forward, _ = filter_angles(hand.poses, times, estimates.angles.weighted(INDEPENDENT_SHARE / self.calm))
        return estimates.at_angles(smooth_backwards(forward))

    def _estimate_frames(self, hand: SkinFit, positions: Floats, start_angles: Floats | None) -> "_FrameEstimates":
        """Solve each frame by itself."""
        model = pose_model_of(hand)
        seen = VisibleMarkers.from_positions(positions * side_signs(hand))
        starts = [model.mean, *START_ANGLES, *([] if start_angles is None else [start_angles])]
        return _FrameEstimates.linearise(model, search_poses(model, starts, seen, self.passes, 1e-3), seen)


@dataclass(frozen=True, slots=True, eq=False)
class _FrameEstimates:
    """The markers of F frames, linearised about their poses."""

    model: PoseModel
    seen: VisibleMarkers
    poses: Poses
    angles: AngleMeasurement
    response: Floats
    """(F, 6, D + 1) the wrist's linear response to a step of the angles; the last column is constant."""

    @classmethod
    def linearise(cls, model: PoseModel, poses: Poses, seen: VisibleMarkers) -> "_FrameEstimates":
        """Linearise about some poses."""
        # In batches: the equations of a frame take twenty times the memory of the result.
        parts = [slice(start, start + BATCH_FRAMES) for start in range(0, len(poses), BATCH_FRAMES)]
        results = [without_wrist(model, poses.select(part), seen.select(part)) for part in parts]
        information = np.concatenate([angles.information for angles, _ in results])
        gradient = np.concatenate([angles.gradient for angles, _ in results])
        response = np.concatenate([response for _, response in results])
        return cls(model, seen, poses, AngleMeasurement(poses.angles, information, gradient), response)

    def relinearise(self, poses: Poses) -> "_FrameEstimates":
        """Return the estimates, linearised about other poses."""
        return _FrameEstimates.linearise(self.model, poses, self.seen)

    @property
    def located(self) -> Bools:
        """(F,) whether enough markers locate the wrist."""
        enough: Bools = self.seen.visible.sum(axis=1) >= MIN_MARKERS
        return enough

    def at_angles(self, angles: Floats) -> Poses:
        """Return the poses at other angles (F, D), within the limits; the wrist follows its markers."""
        step = np.ones((len(angles), DOFS + 1))
        step[:, :DOFS] = np.clip(angles, *self.model.limits.T) - self.poses.angles
        wrist = (self.response @ step[..., None])[..., 0]
        return self.poses.apply_step(np.concatenate([wrist, step[:, :DOFS]], axis=1), self.model.limits)


def side_signs(hand: SkinFit) -> Floats:
    """Return the signs (3,) that mirror the hand to a right one."""
    return POINT_SIGNS if hand.side == "left" else np.ones(3)


def to_worn_side(hand: SkinFit, model: PoseModel, poses: Poses) -> SkinPoses:
    """Convert the poses of a right hand to the side of the hand that wore the markers."""
    markers = marker_positions(model.shape, poses.angles).positions.transpose(2, 1, 0)
    markers = markers @ poses.rotations.swapaxes(1, 2) + poses.positions[:, None]
    root = np.tile(np.eye(4), (len(poses), 1, 1))
    root[:, :3, :3], root[:, :3, 3] = poses.rotations, poses.positions
    if hand.side == "left":
        root = FRAME_SIGNS * root
    return SkinPoses(root, poses.angles, markers * side_signs(hand))


def pose_model_of(hand: SkinFit) -> PoseModel:
    """Return the prior of a hand's pose, with the noise of its markers."""
    markers = hand.markers
    precision = invert(hand.poses.covariance)
    return PoseModel(shape_from_fit(hand), 1 / markers.spreads, hand.poses.mean, precision, hand.model.limits)


def without_wrist(model: PoseModel, poses: Poses, seen: VisibleMarkers) -> tuple[AngleMeasurement, Floats]:
    """Eliminate the wrist from the markers' normal equations without the prior (Schur complement).

    Returns:
        The markers' measurement of the angles, and the wrist's response (F, 6, D + 1), see _FrameEstimates.
    """
    equations = normal_equations(without_prior(model), poses, seen)
    wrist, mixed = equations.matrix[:, :ROOT_DOFS, :ROOT_DOFS], equations.matrix[:, :ROOT_DOFS, ROOT_DOFS:]
    response = solve(
        wrist + 1e-6 * np.eye(ROOT_DOFS), np.concatenate([mixed, equations.rhs[:, :ROOT_DOFS, None]], axis=2)
    )
    information = equations.matrix[:, ROOT_DOFS:, ROOT_DOFS:] - mixed.swapaxes(1, 2) @ response[..., :-1]
    gradient = equations.rhs[:, ROOT_DOFS:] - (mixed.swapaxes(1, 2) @ response[..., -1:])[..., 0]
    response[..., :-1] *= -1
    information = (information + information.swapaxes(1, 2)) / 2
    return AngleMeasurement(poses.angles, information, gradient), response
