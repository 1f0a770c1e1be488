"""Live smoothing of targets, at most one frame late, and a wrapper that applies it to any solver."""

import math
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...hand.calibration.skin_markers import SkinFit
from ...hand.kinematics import Pose
from ...hand.model import HandModel
from ...hand.rotations import IDENTITY
from ...hand.targets import Targets
from ..settings import check, setting
from ..skin_markers import SkinPoses, SkinSolver
from ..solver import Solver, State
from .angle_smoother import AngleEstimate, smooth_angles_live
from .live_path import PathEstimate, PathFilter, PathHistory, filter_frame, initial_history
from .motion_model import POSITION_SCALE, ROTATION_SCALE, MotionScale, NoiseRules
from .take_smoother import SmoothedTargets

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
S = TypeVar("S", bound=State)


@dataclass(frozen=True, slots=True, eq=False)
class LiveFrame:
    """Properties of a frame of T targets that do not depend on later frames."""

    weights: Floats
    """(2, T) weights of positions and rotations; those of unseen targets decay from their last value."""
    predicted: Bools
    """(T,) whether a position has no sample in this frame."""
    rejected: Bools
    """(T,) whether a position was rejected as an outlier."""
    noise: Floats
    """(2, T) estimated standard deviation of a component of the positions, m, and of the rotations, rad."""


@dataclass(frozen=True, slots=True, eq=False)
class TargetHistory:
    """Filter state of the targets."""

    sites: Ints
    """(T,)"""
    positions: PathHistory
    rotations: PathHistory
    seen_weights: Floats
    """(2, T) weights of each target's position and rotation when last seen."""
    last_frame: LiveFrame
    """The last frame, which is output one frame later if there is a lag."""


@dataclass(frozen=True, slots=True, eq=False)
class LiveSmoothedState(State, Generic[S]):
    """The states of the solver and of the smoothing."""

    inner: S
    """The solver's own state."""
    history: TargetHistory | None
    """Filter state of the targets; None before the first frame."""
    angle_estimate: AngleEstimate | None
    """Filter state of the angles; None before the first frame."""


@dataclass(frozen=True, slots=True)
class LiveSmoothing:
    """Smooths each frame by the frames before it and at most one after it, as in a live session.

    A lost target continues its motion for `bridge` s with decaying velocity and weight. Raises RecipeError for a
    setting out of range.
    """

    lag: int = setting(1, "Delay in frames; one has less jitter and error than none", maximum=1)
    calm: float = setting(
        0.3, "Weight of linear extrapolation; higher values reduce jitter and round corners", maximum=100
    )
    bridge: float = setting(0.02, "Time for which a lost marker continues its motion", maximum=0.5, unit="s")

    def __post_init__(self) -> None:
        check(self, "smoothing live")

    def smooth_targets(self, hand: HandModel, targets: Targets, gap_limit: float) -> SmoothedTargets:
        """See Smoothing."""
        return replace(self, bridge=min(self.bridge, gap_limit)).smooth_take(targets)

    def smooth_paths(self, times: Floats, positions: Floats) -> Floats:
        """See Smoothing. Returns the positions unchanged: a filter that does not yet know the noise overshoots."""
        return positions

    def smooth_pose(self, hand: HandModel, targets: Targets, pose: Pose, noise: Floats) -> Pose:
        """See Smoothing."""
        return smooth_angles_live(hand, targets, pose, noise)[0]

    def solve_skin(self, hand: SkinFit, times: Floats, positions: Floats, start_angles: Floats) -> SkinPoses:
        """See Smoothing."""
        return SkinSolver().solve(hand, times, positions, start_angles=start_angles)[0]

    def smooth_piece(
        self, targets: Targets, history: TargetHistory | None = None
    ) -> tuple[SmoothedTargets, TargetHistory]:
        """Smooth targets; return them `lag` frames late, with the state for the next piece."""
        if history is None or not np.array_equal(history.sites, targets.sites):
            history = _initial_history(targets)
        settings = (self._path_filter(POSITION_SCALE), self._path_filter(ROTATION_SCALE))
        values = targets.positions.copy()
        rotations = None if targets.rotations is None else targets.rotations.copy()
        live_frames: list[LiveFrame] = []
        for frame in range(len(targets)):
            position, rotation, live_frame, history = _filter_targets(
                targets.select(slice(frame, frame + 1)), history, settings
            )
            values[frame] = position
            live_frames.append(live_frame)
            if rotations is not None and rotation is not None:
                rotations[frame] = rotation
        return _stack_frames(targets, values, rotations, live_frames), history

    def smooth_take(self, targets: Targets) -> SmoothedTargets:
        """Smooth a whole take as in a live session, and shift the output back by the lag."""
        if not self.lag or not len(targets):
            return self.smooth_piece(targets)[0]
        late, history = self.smooth_piece(targets)
        # An additional empty frame outputs the last one.
        end = targets.select(slice(-1, None))
        rotation_weights = None if end.rotation_weights is None else np.zeros_like(end.rotation_weights)
        empty = replace(
            end, times=end.times + 1e-3, weights=np.zeros_like(end.weights), rotation_weights=rotation_weights
        )
        last, _ = self.smooth_piece(empty, history)
        return _shift_back(targets, late, last)

    def _path_filter(self, scale: MotionScale) -> PathFilter:
        return PathFilter(self.lag, self.calm, NoiseRules(scale, self.bridge))


@dataclass(frozen=True, slots=True)
class LiveSmoothedSolver(Generic[S]):
    """A solver on smoothed targets. With a lag of one frame, pose f belongs to frame f - 1."""

    solver: Solver[S]
    settings: LiveSmoothing = field(default_factory=LiveSmoothing)

    def solve(
        self, hand: HandModel, targets: Targets, state: LiveSmoothedState[S] | None = None
    ) -> tuple[Pose, LiveSmoothedState[S]]:
        """See Solver."""
        clean, history = self.settings.smooth_piece(targets, state.history if state else None)
        pose, inner = self.solver.solve(hand, clean.targets, state.inner if state else None)
        pose, angle_estimate = smooth_angles_live(
            hand, clean.targets, pose, clean.noise, state.angle_estimate if state else None
        )
        last = pose.angles[-1] if len(pose.angles) else inner.angles
        return pose, LiveSmoothedState(inner.root, last, inner, history, angle_estimate)


def _initial_history(targets: Targets) -> TargetHistory:
    """Return the state before the first frame."""
    count = len(targets.sites)
    empty = LiveFrame(np.zeros((2, count)), np.zeros(count, bool), np.zeros(count, bool), np.zeros((2, count)))
    return TargetHistory(
        targets.sites,
        initial_history(count, 3, POSITION_SCALE),
        initial_history(count, 4, ROTATION_SCALE),
        np.zeros((2, count)),
        empty,
    )


def _filter_targets(
    targets: Targets, history: TargetHistory, settings: tuple[PathFilter, PathFilter]
) -> tuple[Floats, Floats | None, LiveFrame, TargetHistory]:
    """Filter one frame; return positions (T, 3), rotations (T, 4) and LiveFrame of the output frame, and the next
    state.

    Unlike in whole takes, fingers are filtered in the world and not relative to the palm. A live palm is so noisy that
    relative to it the errors of a waving hand's fingers are up to 1.8 times as large, and at best a tenth smaller.
    """
    time, late = float(targets.times[0]), settings[0].lag > 0 and not math.isnan(history.positions.time)
    seen = targets.weights[0] > 0
    positions, position_estimate = filter_frame(history.positions, time, targets.positions[0], seen, settings[0])
    weights, weights_left = history.seen_weights.copy(), np.zeros_like(history.seen_weights)
    weights[0, seen] = targets.weights[0, seen]
    weights_left[0] = weights[0] * _remaining_weight(position_estimate, settings[0])
    rotations, output_rotations = history.rotations, None
    if targets.rotations is not None and targets.rotation_weights is not None:
        rotation_seen = targets.rotation_weights[0] > 0
        rotations, rotation_estimate = filter_frame(
            rotations, time, _align_signs(targets.rotations[0], rotations), rotation_seen, settings[1]
        )
        output_rotations = _normalised(rotation_estimate.values)
        weights[1, rotation_seen] = targets.rotation_weights[0, rotation_seen]
        weights_left[1] = weights[1] * _remaining_weight(rotation_estimate, settings[1])
    # A quaternion changes by half the angle.
    noise = np.stack([np.sqrt(positions.noise.variance), 2 * np.sqrt(rotations.noise.variance)])
    live_frame = LiveFrame(
        weights_left,
        (position_estimate.unseen <= settings[0].rules.bridge) & (position_estimate.unseen > 0),
        position_estimate.rejected,
        noise,
    )
    return (
        position_estimate.values,
        output_rotations,
        history.last_frame if late else live_frame,
        TargetHistory(history.sites, positions, rotations, weights, live_frame),
    )


def _remaining_weight(estimate: PathEstimate, settings: PathFilter) -> Floats:
    """Return the factor (T,) on a target's weight: 1 while it is seen, falling to 0 at the end of the bridge."""
    return np.asarray(np.clip(1 - estimate.unseen / (settings.rules.bridge + 1e-9), 0.0, 1.0), np.float64)


def _align_signs(rotations: Floats, path_history: PathHistory) -> Floats:
    """Flip quaternions (T, 4) to the hemisphere of their last output."""
    flipped = np.einsum("td,td->t", rotations, path_history.outputs[0]) < 0
    signed: Floats = np.where(flipped[:, None], -rotations, rotations)
    return signed


def _normalised(rotations: Floats) -> Floats:
    """Normalise quaternions (T, 4); zero becomes the identity."""
    length = np.linalg.norm(rotations, axis=-1, keepdims=True)
    unit: Floats = np.where(length > 1e-6, rotations / np.maximum(length, 1e-6), IDENTITY)
    return unit


def _stack_frames(
    targets: Targets, positions: Floats, rotations: Floats | None, live_frames: list[LiveFrame]
) -> SmoothedTargets:
    if not live_frames:
        empty = np.zeros(targets.weights.shape, bool)
        return SmoothedTargets(targets, empty, empty, np.zeros((0, 2, len(targets.sites))))
    weights = np.stack([live_frame.weights for live_frame in live_frames])
    rotation_weights = None if targets.rotation_weights is None else weights[:, 1]
    clean = replace(
        targets, positions=positions, weights=weights[:, 0], rotations=rotations, rotation_weights=rotation_weights
    )
    noise = np.stack([live_frame.noise for live_frame in live_frames])
    return SmoothedTargets(
        clean,
        np.stack([live_frame.predicted for live_frame in live_frames]),
        np.stack([live_frame.rejected for live_frame in live_frames]),
        noise,
    )


def _shift_back(targets: Targets, late: SmoothedTargets, last: SmoothedTargets) -> SmoothedTargets:
    """Shift a take that is one frame late: frames from the second on, then `last`; times and velocities unchanged."""

    def joined(a: Any, b: Any) -> Any:
        return None if a is None else np.concatenate([a[1:], b])

    names = ("positions", "weights", "rotations", "rotation_weights")
    shifted = {name: joined(getattr(late.targets, name), getattr(last.targets, name)) for name in names}
    predicted, rejected = joined(late.predicted, last.predicted), joined(late.rejected, last.rejected)
    return SmoothedTargets(replace(targets, **shifted), predicted, rejected, joined(late.noise, last.noise))
