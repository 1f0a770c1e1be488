"""Jacobian inverse kinematics: the classic methods of the thesis (sections 3.2 and 3.3) as settings of one solver.

Position and rotation targets, couplings and a posture form one linear system per part and step (residual_rows.py). The
method says how it is solved (steps.py), and the split of the hand says what is solved together (parts.py).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ...hand.kinematics import Pose
from ...hand.model import HandModel
from ...hand.targets import Targets
from ..settings import check, setting
from ..solver import State, hold_last, hold_last_columns
from .iteration import START_POSTURE_WEIGHT, StepMethod, solve_parts
from .parts import SPLITS, TargetedSites, constrained_dofs, known_through_couplings, split
from .relative_targets import RelativePoses, RelativeTargets
from .residual_rows import AngleWeights, PartsProblem
from .sampled_poses import POSTURE_WEIGHTS, nearest_poses
from .start_wrist import fit_to_all_targets, start_roots
from .sub_chains import move_with_upper_targets

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

METHODS = ("levenberg-marquardt", "pseudo-inverse", "damped", "filtered", "transpose")
STUCK_ERROR = 5e-4
"""m, the square root of a part's cost above which its start pose may have been on the wrong side of a limit."""
CHUNK = 1000
"""Frames solved at a time, to bound the memory for a long take."""


@dataclass(frozen=True, slots=True, eq=False)
class JacobianState(State):
    """The last pose and the wrist's start pose."""

    start_root: Floats
    """(4, 4) T_world_wrist at which the last frame started."""


@dataclass(frozen=True, slots=True)
class Jacobian:
    """Iterated Jacobian steps. Every frame starts from its own targets, so a take can be solved in any pieces."""

    method: str = setting(METHODS[0], "Method of a step", choices=METHODS)
    parts: str = setting(
        "digits",
        "Parts that are solved together: each digit, the whole hand, or the bones between two targets",
        choices=SPLITS,
    )
    floating: bool = setting(
        False, "All targets place the wrist; otherwise the palm's do, before the digits are solved"
    )
    damping: float = setting(0.003, "Damping λ of damped and filtered steps", minimum=1e-6, maximum=1.0, unit="m")
    iterations: int = setting(100, "Maximum steps for each frame", minimum=1, maximum=10000)
    tolerance: float = setting(
        1e-9, "Length of a step below which a part is done", minimum=1e-10, maximum=0.1, unit="rad"
    )
    homing: float = setting(
        0.2, "Fraction of the way to the posture that a classic method goes in each step", maximum=1.0
    )
    rotation_weight: float = setting(
        0.03, "Distance that counts as much as a rotation error of one radian", minimum=1e-6, maximum=10.0, unit="m"
    )
    coupling_weight: float = setting(
        0.003, "Distance that counts as much as a coupling off by one radian", minimum=0.0, maximum=10.0, unit="m"
    )
    posture_weight: float = setting(
        0.0001,
        "Distance that counts as much as a joint's whole range away from the posture",
        minimum=1e-6,
        maximum=1.0,
        unit="m",
    )

    takes_rotations: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check(self)

    def solve(self, hand: HandModel, targets: Targets, state: State | None = None) -> tuple[Pose, JacobianState]:
        """Solve the frames; see `Solver`. Raises HandError where limits and hard couplings contradict each other."""
        state = state or State(np.eye(4), hand.neutral)
        last = state.start_root if isinstance(state, JacobianState) else state.root
        start_root = start_roots(hand, targets, last, self.rotation_weight)
        if self.floating:
            start_root = fit_to_all_targets(hand, targets, start_root)
        if not len(targets):
            return Pose(hand, start_root, np.empty((0, hand.dofs))), JacobianState(state.root, state.angles, last)
        relative = RelativeTargets.of(hand, targets, start_root)
        poses = RelativePoses.neutral(hand, len(targets))
        for sites, frames in self._frame_groups(relative):
            for chunk in np.array_split(frames, -(-len(frames) // CHUNK)):
                solved = self._solve(hand, sites, relative.select(chunk))
                poses.root[chunk], poses.angles[chunk] = solved.root, solved.angles
        angles = hold_last_columns(poses.angles[:, :-1], _known_angles(hand, relative), state.angles)
        seen = np.any(relative.position_scales > 0, axis=-1) | np.any(relative.rotation_scales > 0, axis=-1)
        root = hold_last(start_root @ poses.root, seen, state.root) if self.floating else start_root
        return Pose(hand, root, angles), JacobianState(root[-1], angles[-1], start_root[-1])

    @property
    def step_method(self) -> StepMethod:
        """The settings of the iteration."""
        return StepMethod(self.method, self.damping, self.homing, self.iterations, self.tolerance)

    @property
    def weights(self) -> AngleWeights:
        """The weights of rotations, couplings and posture."""
        return AngleWeights(self.rotation_weight, self.coupling_weight, self.posture_weight)

    def _frame_groups(self, targets: RelativeTargets) -> Iterator[tuple[TargetedSites, Ints]]:
        """Groups of frames that are split alike, each with its targeted sites: pairs depend on the rotation targets."""
        frames, everywhere = np.arange(len(targets.positions)), (True,) * len(targets.sites)
        if self.parts != "pairs" or self.floating or targets.rotations is None:
            yield targets.targeted_sites(everywhere, (targets.rotations is not None,) * len(targets.sites)), frames
            return
        patterns, which = np.unique(targets.rotation_scales[:, :-1] > 0, axis=0, return_inverse=True)
        for number, pattern in enumerate(patterns.tolist()):
            yield targets.targeted_sites(everywhere, tuple(pattern)), frames[which == number]

    def _solve(self, hand: HandModel, sites: TargetedSites, targets: RelativeTargets) -> RelativePoses:
        """Return the poses of frames with the same targeted sites."""
        poses = RelativePoses.neutral(hand, len(targets.positions))
        is_whole = self.floating or self.parts == "whole"
        for stage, parts in enumerate(split(hand, sites, "digits" if is_whole else self.parts)):
            part_targets = move_with_upper_targets(hand, sites, parts, targets, poses) if stage else targets
            problem = PartsProblem(hand, parts, part_targets, self.weights, floating=False)
            poses = self._solve_with_restart(problem, poses, identical=stage == 0)
        if is_whole:
            (parts,) = split(hand, sites, "whole")
            problem = PartsProblem(hand, parts, targets, self.weights, self.floating)
            # The digits have converged already, so a large posture weight is of no use unless the wrist moves.
            posture_weight = START_POSTURE_WEIGHT if self.floating else 0.0
            poses, _ = solve_parts(problem, self.step_method, poses, posture_weight)
        return poses

    def _solve_with_restart(self, problem: PartsProblem, poses: RelativePoses, *, identical: bool) -> RelativePoses:
        """Return the poses with the problem's parts solved; parts that a limit keeps from a target start again
        elsewhere.

        identical: whether all `poses` are still the same.
        """
        start = nearest_poses(problem, poses, POSTURE_WEIGHTS[0], identical=identical)
        solved, cost = solve_parts(problem, self.step_method, start)
        stuck = (cost > STUCK_ERROR**2) & at_limit(problem, solved)
        frames = np.flatnonzero(np.any(stuck, axis=1))
        if not len(frames):
            return solved
        restarted = replace(problem, targets=problem.targets.select(frames))
        start = nearest_poses(restarted, poses.select(frames), POSTURE_WEIGHTS[1], identical=identical)
        solved_again, new_cost = solve_parts(restarted, self.step_method, start)
        for part, dofs in enumerate(problem.parts.dofs):
            better = new_cost[:, part] < cost[frames, part]
            solved.angles[np.ix_(frames[better], dofs)] = solved_again.angles[np.ix_(better, dofs)]
        return solved


def at_limit(problem: PartsProblem, poses: RelativePoses) -> Bools:
    """Return (F, G) whether a joint of a part is at a limit."""
    low, high = np.append(problem.hand.limits, [[-np.inf, np.inf]], axis=0).T
    limited = (poses.angles <= low) | (poses.angles >= high)
    result: Bools = np.any(limited[:, problem.parts.dofs], axis=-1)
    return result


def _known_angles(hand: HandModel, targets: RelativeTargets) -> Bools:
    """Return the angles (F, D) that a target determines, directly or through a coupling."""
    yes, no = (True,) * len(targets.sites), (False,) * len(targets.sites)
    by_position = (targets.position_scales[:, :-1] > 0) @ constrained_dofs(hand, targets.targeted_sites(yes, no))
    by_rotation = (targets.rotation_scales[:, :-1] > 0) @ constrained_dofs(hand, targets.targeted_sites(no, yes))
    return known_through_couplings(hand, by_position | by_rotation)
