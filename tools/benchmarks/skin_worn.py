"""The fitted hand as a method: bones, markers and habits fitted together to takes, then solved by all markers."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from skin_methods import Fitted, Solved
from skin_takes import Clip

from knuckle.hand.calibration.skin_markers import fit
from knuckle.hand.kinematics import Pose, joint_frames
from knuckle.hand.marker_sets import Spot, suggest
from knuckle.solvers.skin_markers import SkinSolver


@dataclass(frozen=True, slots=True)
class Worn:
    """Fitted to all the takes, or with `alone` to each clip separately, like a solve without a performer."""

    name: str
    alone: bool = False
    live: bool = False
    """Whether each frame is solved without later ones."""

    def fit(self, takes: Sequence[Clip]) -> Fitted:
        """See Method."""
        return Fitted(None) if self.alone else _fitted(tuple(takes))

    def solve(self, clip: Clip, fitted: Fitted, complete: Clip) -> Solved:
        """See Method."""
        fitted_hand = fitted.performer or _fitted((complete,)).performer
        positions = np.full((len(clip), len(fitted_hand.markers.labels), 3), np.nan)
        for column, label in enumerate(fitted_hand.markers.labels):
            if label in clip.labels:
                positions[:, column] = clip.positions[:, clip.column(label)]
        start = time.perf_counter()
        times, solver = np.arange(len(clip)) / clip.rate, SkinSolver()
        poses = (
            solver.solve(fitted_hand, times, positions)[0]
            if self.live
            else solver.solve_take(fitted_hand, times, positions)
        )
        seconds = time.perf_counter() - start
        frames = joint_frames(fitted_hand.model, Pose(fitted_hand.model, poses.root, poses.angles))
        return Solved(
            fitted_hand.markers.labels, poses.markers, frames, poses.angles, fitted_hand.model.limits, seconds
        )


@lru_cache(maxsize=16)
def _fitted(takes: tuple[Clip, ...]) -> Fitted:
    """Return the hand that wore the markers of these takes; one clip is solved many times with it."""
    first = takes[0]
    start = time.perf_counter()
    fitted_hand = fit([take.positions for take in takes], first.rate, spots_of(first), first.side)  # type: ignore[arg-type]
    return Fitted(fitted_hand, time.perf_counter() - start)


def spots_of(clip: Clip) -> dict[str, Spot]:
    """Return the spots that the labels name; labels on the back of the hand name no joint."""
    (spots,) = suggest(clip.labels).groups.values()
    return {label: spots.get(label, Spot("wrist")) for label in clip.labels}
