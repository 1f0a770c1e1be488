"""Live smoothing of targets, at most one frame late, and a wrapper that applies it to any solver."""

import math
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...hand.kinematics import Pose
from ...hand.model import HandModel
from ...hand.rotations import IDENTITY
from ...hand.targets import Targets
from ..settings import check, setting
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
    """The parts of a frame of T targets that do not depend on later frames."""

    weights: Floats
    """(2, T) of positions and rotations; targets not seen keep a decaying part of their last weight."""
    predicted: Bools
    """(T,) positions without a sample in this frame."""
    refused: Bools
    """(T,) positions rejected as outliers."""
    noise: Floats
    """(2, T) estimated standard deviation of a component of the positions, m, and of the rotations, rad."""


@dataclass(frozen=True, slots=True, eq=False)
class TargetHistory:
    """Filter state of the targets."""

    sites: Ints
    """(T,)"""
    places: PathHistory
    turns: PathHistory
    seen_weights: Floats
    """(2, T) weights of each target's position and rotation when last seen."""
    row: LiveFrame
    """The last frame."""


@dataclass(frozen=True, slots=True, eq=False)
class LiveSmoothedState(State, Generic[S]):
    """The states of the solver and of the smoothing."""

    inner: S
    """The solver's own state."""
    going: TargetHistory | None
    """Filter state of the targets; None before the first frame."""
    belief: AngleEstimate | None
    """Filter state of the angles; None before the first frame."""


@dataclass(frozen=True, slots=True)
class LiveSmoothing:
    """Smooths each frame by the frames before it and at most one after it, as in a live session.

    A lost target continues its motion for `bridge` s with decaying velocity and weight. Raises RecipeError for a
    setting out of range.
    """

    lag: int = setting(1, "Delay in frames; one has less jitter and error than none", most=1)
    calm: float = setting(0.3, "Weight of going on straight; more has less jitter and rounds corners", most=100)
    bridge: float = setting(0.02, "How long a lost marker continues its motion", most=0.5, unit="s")

    def __post_init__(self) -> None:
        check(self, "smoothing live")

    def smoothed(self, hand: HandModel, targets: Targets, gap_limit: float) -> SmoothedTargets:
        """See Smoothing."""
        return replace(self, bridge=min(self.bridge, gap_limit)).aligned(targets)

    def steadied(self, hand: HandModel, targets: Targets, pose: Pose, noise: Floats) -> Pose:
        """See Smoothing."""
        return smooth_angles_live(hand, targets, pose, noise)[0]

    def follow(self, targets: Targets, going: TargetHistory | None = None) -> tuple[SmoothedTargets, TargetHistory]:
        """Smooth targets, output `lag` frames late, and return them with the state for the next piece."""
        if going is None or not np.array_equal(going.sites, targets.sites):
            going = _initial_history(targets)
        how = (self._following(POSITION_SCALE), self._following(ROTATION_SCALE))
        values = targets.positions.copy()
        turns = None if targets.rotations is None else targets.rotations.copy()
        rows: list[LiveFrame] = []
        for frame in range(len(targets)):
            place, turn, row, going = _filter_targets(targets.select(slice(frame, frame + 1)), going, how)
            values[frame] = place
            rows.append(row)
            if turns is not None and turn is not None:
                turns[frame] = turn
        return _stack_frames(targets, values, turns, rows), going

    def aligned(self, targets: Targets) -> SmoothedTargets:
        """Smooth a whole take as live, with the output shifted back by the lag."""
        if not self.lag or not len(targets):
            return self.follow(targets)[0]
        late, going = self.follow(targets)
        # An empty frame flushes out the last one.
        end = targets.select(slice(-1, None))
        turned = None if end.rotation_weights is None else np.zeros_like(end.rotation_weights)
        nothing = replace(end, times=end.times + 1e-3, weights=np.zeros_like(end.weights), rotation_weights=turned)
        last, _ = self.follow(nothing, going)
        return _shift_back(targets, late, last)

    def _following(self, scale: MotionScale) -> PathFilter:
        return PathFilter(self.lag, self.calm, NoiseRules(scale, self.bridge))


@dataclass(frozen=True, slots=True)
class LiveSmoothedSolver(Generic[S]):
    """A solver on smoothed targets. With a lag of one, pose f is that of frame f - 1."""

    solver: Solver[S]
    how: LiveSmoothing = field(default_factory=LiveSmoothing)

    def solve(
        self, hand: HandModel, targets: Targets, state: LiveSmoothedState[S] | None = None
    ) -> tuple[Pose, LiveSmoothedState[S]]:
        """See Solver."""
        clean, going = self.how.follow(targets, state.going if state else None)
        pose, inner = self.solver.solve(hand, clean.targets, state.inner if state else None)
        pose, belief = smooth_angles_live(hand, clean.targets, pose, clean.noise, state.belief if state else None)
        last = pose.angles[-1] if len(pose.angles) else inner.angles
        return pose, LiveSmoothedState(inner.root, last, inner, going, belief)


def _initial_history(targets: Targets) -> TargetHistory:
    """Return the state before the first frame."""
    count = len(targets.sites)
    nothing = LiveFrame(np.zeros((2, count)), np.zeros(count, bool), np.zeros(count, bool), np.zeros((2, count)))
    return TargetHistory(
        targets.sites,
        initial_history(count, 3, POSITION_SCALE),
        initial_history(count, 4, ROTATION_SCALE),
        np.zeros((2, count)),
        nothing,
    )


def _filter_targets(
    one: Targets, going: TargetHistory, how: tuple[PathFilter, PathFilter]
) -> tuple[Floats, Floats | None, LiveFrame, TargetHistory]:
    """Filter one frame: positions (T, 3), rotations (T, 4) and LiveFrame of the output frame, and the next state.

    Unlike in whole takes, fingers are filtered in the world rather than relative to the palm: the live palm is so noisy
    that relative to it the errors of a waving hand's fingers are up to 1.8 times as large, and at best a tenth smaller.
    """
    time, late = float(one.times[0]), how[0].lag > 0 and not math.isnan(going.places.time)
    seen = one.weights[0] > 0
    places, place = filter_frame(going.places, time, one.positions[0], seen, how[0])
    weights, left = going.seen_weights.copy(), np.zeros_like(going.seen_weights)
    weights[0, seen] = one.weights[0, seen]
    left[0] = weights[0] * _remaining_weight(place, how[0])
    turns, turned = going.turns, None
    if one.rotations is not None and one.rotation_weights is not None:
        shown = one.rotation_weights[0] > 0
        turns, turn = filter_frame(turns, time, _align_signs(one.rotations[0], turns), shown, how[1])
        turned = _normalised(turn.values)
        weights[1, shown] = one.rotation_weights[0, shown]
        left[1] = weights[1] * _remaining_weight(turn, how[1])
    # A quaternion changes by half the angle.
    noise = np.stack([np.sqrt(places.noise.variance), 2 * np.sqrt(turns.noise.variance)])
    row = LiveFrame(left, (place.unseen <= how[0].rules.bridge) & (place.unseen > 0), place.refused, noise)
    return place.values, turned, going.row if late else row, TargetHistory(going.sites, places, turns, weights, row)


def _remaining_weight(place: PathEstimate, how: PathFilter) -> Floats:
    """Return the part (T,) of its weight that a target keeps: 1 while it is seen, 0 at the end of the bridge."""
    return np.asarray(np.clip(1 - place.unseen / (how.rules.bridge + 1e-9), 0.0, 1.0), np.float64)


def _align_signs(turns: Floats, track: PathHistory) -> Floats:
    """Flip quaternions (T, 4) to the hemisphere of their last output."""
    away = np.einsum("td,td->t", turns, track.given[0]) < 0
    signed: Floats = np.where(away[:, None], -turns, turns)
    return signed


def _normalised(turns: Floats) -> Floats:
    """Normalise quaternions (T, 4); zero becomes the identity."""
    length = np.linalg.norm(turns, axis=-1, keepdims=True)
    unit: Floats = np.where(length > 1e-6, turns / np.maximum(length, 1e-6), IDENTITY)
    return unit


def _stack_frames(targets: Targets, places: Floats, turns: Floats | None, rows: list[LiveFrame]) -> SmoothedTargets:
    if not rows:
        nothing = np.zeros(targets.weights.shape, bool)
        return SmoothedTargets(targets, nothing, nothing, np.zeros((0, 2, len(targets.sites))))
    weights = np.stack([row.weights for row in rows])
    turned = None if targets.rotation_weights is None else weights[:, 1]
    clean = replace(targets, positions=places, weights=weights[:, 0], rotations=turns, rotation_weights=turned)
    noise = np.stack([row.noise for row in rows])
    return SmoothedTargets(
        clean, np.stack([row.predicted for row in rows]), np.stack([row.refused for row in rows]), noise
    )


def _shift_back(targets: Targets, late: SmoothedTargets, last: SmoothedTargets) -> SmoothedTargets:
    """Shift a take that is one frame late: frames from the second on, then `last`; times and velocities unchanged."""

    def joined(a: Any, b: Any) -> Any:
        return None if a is None else np.concatenate([a[1:], b])

    names = ("positions", "weights", "rotations", "rotation_weights")
    moved = {name: joined(getattr(late.targets, name), getattr(last.targets, name)) for name in names}
    predicted, refused = joined(late.predicted, last.predicted), joined(late.refused, last.refused)
    return SmoothedTargets(replace(targets, **moved), predicted, refused, joined(late.noise, last.noise))
