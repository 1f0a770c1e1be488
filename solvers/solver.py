"""The solver protocol: targets in, joint angles within limits out. A take solved in pieces gives the same poses."""

from dataclasses import dataclass
from typing import Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..hand.kinematics import Pose, posed_sites
from ..hand.lengths import lengths
from ..hand.measured_hand import MeasuredHand
from ..hand.model import HandModel
from ..hand.targets import Targets

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """State carried from one piece of a take to the next: the last pose. A solver may add to it."""

    root: Floats
    """(4, 4) T_world_wrist."""
    angles: Floats
    """(D,) rad."""


@runtime_checkable
class StateOfPose(Protocol):
    """A state of which only the last pose affects the next poses; its other fields are figures of the last piece."""

    def before(self, frame: int, pose: Pose) -> State:
        """Return the state before frame `frame` >= 1 of the F solved poses that led to this state."""
        ...


S = TypeVar("S", bound=State)


class Solver(Protocol[S]):
    """A frozen dataclass of settings with one method, `solve`. A live frame is a batch of one."""

    def solve(self, hand: HandModel, targets: Targets, state: S | None = None) -> tuple[Pose, S]:
        """Solve every frame of the targets.

        Solving in pieces gives the same poses as solving at once. A joint that no target determines keeps its last
        angle.

        Args:
            hand: the hand model; its limits always hold.
            targets: F frames of targets for the hand's sites.
            state: the state that the previous piece returned; None at the start of a take.

        Returns:
            The pose of each frame, and the state for the next piece.
        """
        ...


@runtime_checkable
class UsesMeasurements(Protocol):
    """A solver that uses measurements of the performer beyond the hand model."""

    def initial_state(self, measured: MeasuredHand) -> State:
        """Return the state before this hand's first frame. Raises HandError."""
        ...


def initial_state(solver: Solver[S], measured: MeasuredHand) -> State | None:
    """Return the state before a measured hand's first frame; None for a solver that needs only the hand model."""
    return solver.initial_state(measured) if isinstance(solver, UsesMeasurements) else None


def residuals(hand: HandModel, targets: Targets, pose: Pose) -> Floats:
    """Return the distance from each target to its site, by forward kinematics.

    Returns:
        (F, T) m, NaN where the target is missing.
    """
    distance = lengths(posed_sites(hand, pose, targets.sites) - targets.positions)
    return np.where(targets.weights > 0, distance, np.nan)


def limit_excess(hand: HandModel, angles: Floats) -> Floats:
    """Return how far each angle exceeds its limits.

    Args:
        hand: the hand model of D degrees of freedom.
        angles: (F, D) rad.

    Returns:
        (F, D) rad, 0 inside the limits.
    """
    low, high = hand.limits.T
    excess: Floats = np.maximum(np.maximum(low - angles, angles - high), 0.0)
    return excess


def hold_last(values: Floats, is_known: NDArray[np.bool_], first: Floats) -> Floats:
    """Fill unknown frames of values (F, ...) with the last known frame before them, or with `first`."""
    last = np.maximum.accumulate(np.where(is_known, np.arange(len(values)), -1))
    filled = values[np.maximum(last, 0)]
    return np.where((last < 0).reshape(-1, *[1] * (values.ndim - 1)), first, filled)


def hold_last_columns(values: Floats, is_known: NDArray[np.bool_], first: Floats) -> Floats:
    """Apply `hold_last` to each column of values (F, D) separately; is_known (F, D), first (D,)."""
    if np.all(is_known):
        return values
    filled = np.empty_like(values)
    for column in range(values.shape[1]):
        filled[:, column] = hold_last(values[:, column], is_known[:, column], first[column])
    return filled
