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
from ..solver import State, hold_last
from .iteration import STIFF, StepMethod, search
from .parts import CUTS, TargetedSites, cut, spread, told
from .problem import RelativePoses, RelativeTargets
from .residual_rows import AngleWeights, PartTargets
from .start_poses import NEAR_POSTURE, nearest
from .start_wrist import laid_on_all, roots
from .sub_chains import seen_from

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

METHODS = ("levenberg-marquardt", "pseudo-inverse", "damped", "filtered", "transpose")
SHORT = 5e-4
"""m, the square root of a part's cost above which its start pose may have been on the wrong side of a limit."""
CHUNK = 1000
"""Frames solved at a time, to bound the memory for a long take."""


@dataclass(frozen=True, slots=True, eq=False)
class JacobianState(State):
    """The last pose and the wrist's start pose."""

    begun: Floats
    """(4, 4) T_world_wrist at which the last frame started."""


@dataclass(frozen=True, slots=True)
class Jacobian:
    """Iterated Jacobian steps. Every frame starts from its own targets, so a take can be solved in any pieces."""

    method: str = setting(METHODS[0], "Method of a step", choices=METHODS)
    parts: str = setting(
        "digits", "What is solved together: each digit, the whole hand, or the bones between two targets", choices=CUTS
    )
    floating: bool = setting(
        False, "All targets place the wrist; otherwise the palm's do, before the digits are solved"
    )
    damping: float = setting(0.003, "Damping λ of damped and filtered steps", least=1e-6, most=1.0, unit="m")
    iterations: int = setting(100, "Most steps for each frame", least=1, most=10000)
    tolerance: float = setting(1e-9, "Length of a step below which a part is done", least=1e-10, most=0.1, unit="rad")
    homing: float = setting(0.2, "Fraction of the way to the posture that a classic method goes in each step", most=1.0)
    turn_worth: float = setting(
        0.03, "Distance that counts as much as a rotation error of one radian", least=1e-6, most=10.0, unit="m"
    )
    coupling_worth: float = setting(
        0.003, "Distance that counts as much as a coupling off by one radian", least=0.0, most=10.0, unit="m"
    )
    posture_worth: float = setting(
        0.0001,
        "Distance that counts as much as a joint's whole range away from the posture",
        least=1e-6,
        most=1.0,
        unit="m",
    )

    takes_rotations: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check(self)

    def solve(self, hand: HandModel, targets: Targets, state: State | None = None) -> tuple[Pose, JacobianState]:
        """Solve the frames; see `Solver`. Raises HandError where limits and hard couplings contradict each other."""
        state = state or State(np.eye(4), hand.neutral)
        last = state.begun if isinstance(state, JacobianState) else state.root
        begun = roots(hand, targets, last, self.turn_worth)
        if self.floating:
            begun = laid_on_all(hand, targets, begun)
        if not len(targets):
            return Pose(hand, begun, np.empty((0, hand.dofs))), JacobianState(state.root, state.angles, last)
        wanted = RelativeTargets.of(hand, targets, begun)
        poses = RelativePoses.at_ease(hand, len(targets))
        for asked, frames in self._alike(wanted):
            for chunk in np.array_split(frames, -(-len(frames) // CHUNK)):
                solved = self._solve(hand, asked, wanted.select(chunk))
                poses.root[chunk], poses.angles[chunk] = solved.root, solved.angles
        angles = held(poses.angles[:, :-1], _known(hand, wanted), state.angles)
        seen = np.any(wanted.place_roots > 0, axis=-1) | np.any(wanted.turn_roots > 0, axis=-1)
        root = hold_last(begun @ poses.root, seen, state.root) if self.floating else begun
        return Pose(hand, root, angles), JacobianState(root[-1], angles[-1], begun[-1])

    @property
    def steps(self) -> StepMethod:
        """The settings of the iteration."""
        return StepMethod(self.method, self.damping, self.homing, self.iterations, self.tolerance)

    @property
    def worth(self) -> AngleWeights:
        """The weights of rotations, couplings and posture."""
        return AngleWeights(self.turn_worth, self.coupling_worth, self.posture_worth)

    def _alike(self, wanted: RelativeTargets) -> Iterator[tuple[TargetedSites, Ints]]:
        """Groups of frames that are split alike, each with its targeted sites: pairs depend on the rotation targets."""
        frames, everywhere = np.arange(len(wanted.places)), (True,) * len(wanted.sites)
        if self.parts != "pairs" or self.floating or wanted.turns is None:
            yield wanted.asked(everywhere, (wanted.turns is not None,) * len(wanted.sites)), frames
            return
        patterns, which = np.unique(wanted.turn_roots[:, :-1] > 0, axis=0, return_inverse=True)
        for number, pattern in enumerate(patterns.tolist()):
            yield wanted.asked(everywhere, tuple(pattern)), frames[which == number]

    def _solve(self, hand: HandModel, asked: TargetedSites, wanted: RelativeTargets) -> RelativePoses:
        """The poses of frames with the same targeted sites."""
        poses = RelativePoses.at_ease(hand, len(wanted.places))
        whole = self.floating or self.parts == "whole"
        for stage, parts in enumerate(cut(hand, asked, "digits" if whole else self.parts)):
            relative = seen_from(hand, asked, parts, wanted, poses) if stage else wanted
            poses = self._twice(PartTargets(hand, parts, relative, self.worth, floating=False), poses, not stage)
        if whole:
            (parts,) = cut(hand, asked, "whole")
            # The digits have converged already, so a large posture weight is of no use unless the wrist moves.
            stiff = STIFF if self.floating else 0.0
            poses, _ = search(PartTargets(hand, parts, wanted, self.worth, self.floating), self.steps, poses, stiff)
        return poses

    def _twice(self, task: PartTargets, poses: RelativePoses, alike: bool) -> RelativePoses:
        """The poses with the task's parts solved; parts that a limit stops short of a target start again elsewhere."""
        first, cost = search(task, self.steps, nearest(task, poses, alike, NEAR_POSTURE[0]))
        stuck = (cost > SHORT**2) & at_limit(task, first)
        frames = np.flatnonzero(np.any(stuck, axis=1))
        if not len(frames):
            return first
        again = replace(task, wanted=task.wanted.select(frames))
        begin = nearest(again, poses.select(frames), alike, NEAR_POSTURE[1])
        second, other = search(again, self.steps, begin)
        for part, dofs in enumerate(task.parts.dofs):
            better = other[:, part] < cost[frames, part]
            first.angles[np.ix_(frames[better], dofs)] = second.angles[np.ix_(better, dofs)]
        return first


def at_limit(task: PartTargets, poses: RelativePoses) -> Bools:
    """(F, G) whether a joint of a part is at a limit."""
    low, high = np.append(task.hand.limits, [[-np.inf, np.inf]], axis=0).T
    ends = (poses.angles <= low) | (poses.angles >= high)
    touching: Bools = np.any(ends[:, task.parts.dofs], axis=-1)
    return touching


def _known(hand: HandModel, wanted: RelativeTargets) -> Bools:
    """(F, D) the angles that a target determines, directly or through a coupling."""
    yes, no = (True,) * len(wanted.sites), (False,) * len(wanted.sites)
    by_place = (wanted.place_roots[:, :-1] > 0) @ told(hand, wanted.asked(yes, no))
    by_turn = (wanted.turn_roots[:, :-1] > 0) @ told(hand, wanted.asked(no, yes))
    return spread(hand, by_place | by_turn)


def held(values: Floats, known: Bools, first: Floats) -> Floats:
    """values (F, D) with each unknown one replaced by the last known one before it, or by first (D,)."""
    if np.all(known):
        return values
    columns = [hold_last(values[:, d], known[:, d], first[d]) for d in range(values.shape[1])]
    return np.stack(columns, axis=1)
