"""The kinds of smoothing in a recipe: off, live, or over the whole take."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ...hand.calibration.skin_markers import SkinFit
from ...hand.kinematics import Pose
from ...hand.model import HandModel
from ...hand.targets import Targets
from ..settings import check, setting
from ..skin_markers import SkinPoses, SkinSolver
from .angle_smoother import smooth_angles
from .live_smoother import LiveSmoothing
from .take_smoother import SmoothedTargets, smooth, smooth_whole_paths

Floats = NDArray[np.float64]


class Smoothing(Protocol):
    """A frozen dataclass of settings with two methods, one before solving and one after it."""

    def smooth_targets(self, hand: HandModel, targets: Targets, gap_limit: float) -> SmoothedTargets:
        """Smooth the targets of a whole take; gaps are filled for at most gap_limit s."""
        ...

    def smooth_paths(self, times: Floats, positions: Floats) -> Floats:
        """Smooth positions (F, P, 3), all known, of points that are not targets."""
        ...

    def smooth_pose(self, hand: HandModel, targets: Targets, pose: Pose, noise: Floats) -> Pose:
        """Smooth the angles of a whole take that the targets hardly determine; noise as in SmoothedTargets."""
        ...

    def solve_skin(self, hand: SkinFit, times: Floats, positions: Floats, start_angles: Floats) -> SkinPoses:
        """Solve a hand with skin markers by the frames that this smoothing uses; arguments as in SkinSolver.solve."""
        ...


@dataclass(frozen=True, slots=True)
class NoSmoothing:
    """Leaves the markers as they were recorded."""

    def smooth_targets(self, hand: HandModel, targets: Targets, gap_limit: float) -> SmoothedTargets:
        """See Smoothing."""
        none = np.zeros(targets.weights.shape, bool)
        return SmoothedTargets(targets, none, none, np.zeros((1, 2, len(targets.sites))))

    def smooth_paths(self, times: Floats, positions: Floats) -> Floats:
        """See Smoothing."""
        return positions

    def smooth_pose(self, hand: HandModel, targets: Targets, pose: Pose, noise: Floats) -> Pose:
        """See Smoothing."""
        return pose

    def solve_skin(self, hand: SkinFit, times: Floats, positions: Floats, start_angles: Floats) -> SkinPoses:
        """See Smoothing. The markers stay as they were recorded; the angles follow from all frames."""
        return SkinSolver().solve_take(hand, times, positions, start_angles)


@dataclass(frozen=True, slots=True)
class WholeTakeSmoothing:
    """Smooths each frame by all frames before and after it, without lag, according to each marker's noise.

    Raises RecipeError for a setting out of range.
    """

    calm: float = setting(
        1.0,
        "Divides the cutoff frequency, which follows from the noise; higher values smooth more",
        minimum=0.1,
        maximum=10,
    )

    def __post_init__(self) -> None:
        check(self, "smoothing whole")

    def smooth_targets(self, hand: HandModel, targets: Targets, gap_limit: float) -> SmoothedTargets:
        """See Smoothing."""
        return smooth(hand, targets, gap_limit, self.calm)

    def smooth_paths(self, times: Floats, positions: Floats) -> Floats:
        """See Smoothing."""
        return smooth_whole_paths(times, positions, self.calm)

    def smooth_pose(self, hand: HandModel, targets: Targets, pose: Pose, noise: Floats) -> Pose:
        """See Smoothing."""
        return smooth_angles(hand, targets, pose, noise, self.calm)

    def solve_skin(self, hand: SkinFit, times: Floats, positions: Floats, start_angles: Floats) -> SkinPoses:
        """See Smoothing."""
        return SkinSolver(calm=self.calm).solve_take(hand, times, positions, start_angles)


SMOOTHINGS: dict[str, type[Smoothing]] = {"off": NoSmoothing, "live": LiveSmoothing, "whole": WholeTakeSmoothing}
"""Every smoothing, by its name in recipes, the panel and the shell."""
