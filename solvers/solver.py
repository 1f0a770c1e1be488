"""What a solver is: targets in, joint angles inside the limits out, the same in pieces as at once."""

from dataclasses import dataclass
from typing import Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..hand import kinematics
from ..hand.kinematics import Pose
from ..hand.measured_hand import MeasuredHand
from ..hand.model import HandModel
from ..hand.targets import Targets

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """What every solver keeps from one piece of a take to the next: the last pose. Each may add to it."""

    root: Floats
    """(4, 4) T_world_wrist."""
    angles: Floats
    """(D,) rad."""


S = TypeVar("S", bound=State)


class Solver(Protocol[S]):
    """A frozen dataclass of settings with one method. A live frame is a batch of one."""

    def solve(self, hand: HandModel, targets: Targets, state: S | None = None) -> tuple[Pose, S]:
        """The pose of each frame and the state to hand to the next piece.

        Solving in pieces gives the poses of solving at once. What no target holds keeps its last pose.
        """
        ...


@runtime_checkable
class UsesMeasurements(Protocol):
    """A solver that heeds more of what was measured of a hand than its model holds."""

    def begin(self, measured: MeasuredHand) -> State:
        """The state from which this hand's first frame is solved. Raises HandError."""
        ...


def beginning(solver: Solver[S], measured: MeasuredHand) -> State | None:
    """The state from which a measured hand's first frame is solved, None where the hand's model is all it takes."""
    return solver.begin(measured) if isinstance(solver, UsesMeasurements) else None


def residuals(hand: HandModel, targets: Targets, pose: Pose) -> Floats:
    """(F, T) m from each target to its site by forward kinematics; NaN where the target is missing."""
    sites = kinematics.site_positions(hand, kinematics.joint_frames(hand, pose))[:, targets.sites]
    distance = np.linalg.norm(sites - targets.positions, axis=-1)
    return np.where(targets.weights > 0, distance, np.nan)


def limit_excess(hand: HandModel, angles: Floats) -> Floats:
    """(F, D) rad by which each angle lies outside its limits, 0 inside."""
    low, high = hand.limits.T
    excess: Floats = np.maximum(np.maximum(low - angles, angles - high), 0.0)
    return excess


def hold_last(values: Floats, known: NDArray[np.bool_], first: Floats) -> Floats:
    """values (F, ...) with every frame that is not known (F,) replaced by the last known before it, or `first`."""
    last = np.maximum.accumulate(np.where(known, np.arange(len(values)), -1))
    held = values[np.maximum(last, 0)]
    return np.where((last < 0).reshape(-1, *[1] * (values.ndim - 1)), first, held)
