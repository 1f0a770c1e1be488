"""Solve one hand of one performer frame by frame."""

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...capture.frame import NAMES_CACHE_SIZE, Frame
from ...capture.marker_labels import elbow_label, wrist_and_elbow
from ...hand import joint_rotations
from ...hand import rotations as rot
from ...hand.forearm import WristForearm, forearm_from_elbow
from ...hand.kinematics import Pose
from ...hand.limits import RigLimits
from ...hand.mesh.surface import Surface
from ...hand.targets import Targets, assign
from ...solvers import Solver, State, initial_state
from ...solvers.skin_tracker import SkinTracker, TrackerState
from ...solvers.smoothing.observability import visible_digits
from ...solvers.unseen_fingers import estimate_unseen_fingers
from ..recipe import AnglesChoice
from .measuring_buffer import MeasuringResult

Floats = NDArray[np.float64]


class LiveHand:
    """A measured hand with T labels that is solved frame by frame. It keeps the solver's state between frames.

    If the hand was fitted with markers on its skin, a tracker follows all of them instead.
    """

    def __init__(self, result: MeasuringResult, solver: Solver[Any], angles: AnglesChoice, limits: RigLimits) -> None:
        """angles: 'device' uses the angles of rotations that the device sends, 'solved' solves all angles."""
        measured = result.measured.with_rig_limits(limits.limits) if limits.limits else result.measured
        self.side = result.side
        self.labels = result.labels
        self.skin: Surface | None = None
        """The skin mesh of a new hand; None if the hand drives a rig."""
        self.measured = measured
        self._solver, self._angles = solver, angles
        self.hand, self._targets = assign(measured.model, measured.spots, result.times, result.positions)
        self._seen_digits = np.any(visible_digits(self.hand, self._targets), axis=0)
        self._state: State | None = initial_state(solver, measured)
        pose, self._state = solver.solve(self.hand, self._targets, self._state)
        fitted = measured.skin_fit
        self._tracker = None if fitted is None else SkinTracker(replace(fitted, limits=measured.limits))
        worn = () if fitted is None else fitted.markers.labels
        self._worn_columns = np.array([self.labels.index(label) if label in self.labels else -1 for label in worn], int)
        self._skin_state: TrackerState | None = None
        self._offsets = joint_rotations.device_offsets(self.hand, self._targets, pose, result.rotations)
        wrist = next((row for row, label in enumerate(self.labels) if elbow_label(label) is not None), 0)
        self._wrist_offset = self._offsets[wrist]

    def solve(self, time: float, positions: Floats, rotations: Floats) -> Pose:
        """Solve one frame from positions (T, 3) in m and rotations (T, 4) wxyz, NaN if not seen."""
        if self._tracker is not None:
            return self._follow(self._tracker, time, positions)
        seen = np.all(np.isfinite(positions), axis=-1)
        rotations = rot.multiply(rotations, self._offsets)
        has_rotation = np.all(np.isfinite(rotations), axis=-1)
        targets = Targets(
            np.array([time]),
            self._targets.sites,
            np.where(seen[:, None], positions, 0.0)[None],
            seen[None].astype(float),
            np.where(has_rotation[:, None], rotations, rot.IDENTITY)[None],
            has_rotation[None].astype(float),
        )
        pose, self._state = self._solver.solve(self.hand, targets, self._state)
        pose, _ = estimate_unseen_fingers(pose, self._seen_digits)
        return joint_rotations.apply_target_rotations(self.hand, targets, pose) if self._angles == "device" else pose

    def forearm(self, frame: Frame) -> WristForearm | None:
        """Return the forearm of a frame; None if the device does not send it, or sends one that no person can have.

        It is relative to the device's wrist, as the solved wrist may be smoothed and late.
        """
        columns = None if frame.rotations is None else _arm_columns(frame.names, self.labels)
        if columns is None or frame.rotations is None:
            return None
        positions, rotations = frame.positions[columns], frame.rotations[columns]
        if not (np.isfinite(positions).all() and np.isfinite(rotations).all()):
            return None
        wrist, resting = rot.to_matrix(rot.multiply(rotations, self._wrist_offset))
        return forearm_from_elbow(wrist.T @ (positions[1] - positions[0]), wrist.T @ resting[:, 2])

    def _follow(self, tracker: SkinTracker, time: float, positions: Floats) -> Pose:
        """Solve one frame by tracking all markers on the skin."""
        worn = np.where(self._worn_columns[:, None] >= 0, positions[self._worn_columns], np.nan)
        poses, self._skin_state = tracker.solve(time, worn, self._skin_state)
        pose, _ = estimate_unseen_fingers(Pose(self.hand, poses.root, poses.angles), self._seen_digits)
        return pose


@lru_cache(NAMES_CACHE_SIZE)
def _arm_columns(names: tuple[str, ...], labels: tuple[str, ...]) -> list[int] | None:
    """Return the columns of a hand's wrist and elbow in the names of a frame; None if either is not sent."""
    arm_labels = wrist_and_elbow(labels, names)
    return None if arm_labels is None else [names.index(label) for label in arm_labels]
