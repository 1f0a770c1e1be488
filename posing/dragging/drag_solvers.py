"""The solvers that can bend the digits of a dragged hand: Nearest, and those of takes.

Solvers of takes find the palm from its markers and bend each digit separately. So if the wrist moves, or a digit is
pinned to another, Nearest places the wrist and the points of the digits.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...hand.jacobians import ROOT_DOFS
from ...hand.kinematics import Pose, site_chains
from ...hand.model import HandModel
from ...hand.targets import Targets
from ...solvers import SOLVER, make
from ...solvers.pose_problem import Objective, PoseProblem, sites_of, solve
from ...solvers.registry import KindLabel
from ...solvers.solver import Solver, State
from .drag import Nearest
from .drag_step import DragSolver, DragStep

Floats = NDArray[np.float64]
Positions = dict[int, Floats]
"""Site -> (3,) m in the wrist's frame."""

ITERATIONS = 6
"""Maximum calls of a solver in a step."""
REACHED_DISTANCE = 2e-5
"""m on a hand of the usual length: a site within this distance of its goal has reached it."""
MISSED_FACTOR = 10.0
"""A site farther than this many times REACHED_DISTANCE from a goal within its reach has missed it."""
PIN_TOLERANCE = 2e-4
"""m on a hand of the usual length: a fingertip farther than this from its pin has left it."""


@dataclass(frozen=True, slots=True, eq=False)
class _TakeState:
    """State from one step to the next."""

    state: State
    """State of the take solver."""
    offsets: Positions
    """Vectors from the sites' positions on the hand to those on the straight hand."""
    guide: Floats | None = None
    """(1, D) rad, angles with which Nearest reached the goals, if it was used."""


@dataclass(frozen=True, slots=True, eq=False)
class TakeSolver:
    """One of solvers.SOLVERS, called in the wrist's frame.

    While the goals are those of the start, the digits keep their angles.
    """

    solver: Solver[Any]
    straight: HandModel
    """The hand as solvers need it: with a rigid palm, straight at zero angles, without rotations beyond its model."""

    def step(self, problem: PoseProblem, last: DragStep | None = None) -> DragStep:
        """See DragSolver."""
        state = last.state if last is not None and isinstance(last.state, _TakeState) else None
        root, goals, guide = self._goals(problem, last, state)
        tolerance, start = REACHED_DISTANCE * problem.scale, problem.start.angles
        if _near(tolerance, _site_positions(problem.hand, tuple(goals), start), goals):
            angles, targets = start, goals
        else:
            angles, targets, state = self._solved(problem, goals, tolerance, state, guide)
        pose = _with_pins(problem, Pose(problem.hand, root, angles))
        in_world = {site: root[0, :3, :3] @ target + root[0, :3, 3] for site, target in targets.items()}
        return DragStep(Pose(problem.hand, root, pose.angles), problem.objectives, in_world, state)

    def _goals(
        self, problem: PoseProblem, last: DragStep | None, state: _TakeState | None
    ) -> tuple[Floats, Positions, Floats | None]:
        """Return the wrist (1, 4, 4), the goals of the sites that a digit moves, and the angles (1, D) with which
        Nearest reached them, if it was used."""
        root, objectives = problem.start.root, problem.objectives
        if not problem.wrist_moves and all(objective.relative is None for objective in objectives):
            rotation, wrist = root[0, :3, :3], root[0, :3, 3]
            return root, {objective.site: (objective.position - wrist) @ rotation for objective in objectives}, None
        before = None
        if last is not None:
            guide = state.guide if state is not None and state.guide is not None else last.pose.angles
            before = DragStep(Pose(problem.hand, last.pose.root, guide))
        pose = Nearest().step(problem, before).pose
        sites = sorted(sites_of(objectives))
        moved = np.any(site_chains(problem.hand, tuple(sites)).dofs < ROOT_DOFS + problem.hand.dofs, axis=1)
        moved_sites = tuple(site for site, moves in zip(sites, moved, strict=True) if moves)
        return pose.root, _site_positions(problem.hand, moved_sites, pose.angles), pose.angles

    def _solved(
        self, problem: PoseProblem, goals: Positions, tolerance: float, state: _TakeState | None, guide: Floats | None
    ) -> tuple[Floats, Positions, _TakeState]:
        """Return the angles (1, D) with the sites at their goals, and the targets given to the solver.

        The targets are the goals, shifted by as much as the straight hand differs from the dragged one. Where a goal is
        missed, the solver starts again from `guide`.
        """
        own = np.isin(problem.hand.axis_joint, self.straight.axis_joint)
        angles, sites = problem.start.angles.copy(), tuple(goals)
        start = state or _TakeState(State(np.eye(4), angles[0, own]), dict.fromkeys(sites, np.zeros(3)))
        solver_state, offsets, restart = start.state, start.offsets, guide
        for _ in range(ITERATIONS):
            targets = {site: goal + offsets[site] for site, goal in goals.items()}
            given = Targets(
                np.zeros(1), np.array(sites), np.array(list(targets.values()))[None], np.ones((1, len(sites)))
            )
            pose, solver_state = self.solver.solve(self.straight, given, solver_state)
            angles[:, own] = pose.angles
            before, found = offsets, _site_positions(problem.hand, sites, angles)
            straight = _site_positions(self.straight, sites, pose.angles)
            offsets = {site: straight[site] - position for site, position in found.items()}
            if _near(tolerance, offsets, before):
                if restart is None or _near(MISSED_FACTOR * tolerance, found, goals):
                    break
                solver_state, restart = replace(solver_state, angles=restart[0, own]), None
        return angles, targets, _TakeState(solver_state, offsets, guide)


def _with_pins(problem: PoseProblem, pose: Pose) -> Pose:
    """Return the pose; if it leaves a pin, the nearest pose with the same wrist whose digits hold the pins."""
    pins = [objective for objective in problem.objectives if np.all(objective.weight > 1.0)]
    if not any(_distance(pin, pose) > PIN_TOLERANCE * problem.scale for pin in pins):
        return pose
    return solve(problem.with_fixed_wrist(pose, pins)).pose


def _distance(pin: Objective, pose: Pose) -> float:
    """Return the distance (m) of a site from its pin."""
    sites = tuple(site for site in (pin.site, pin.relative) if site is not None)
    position, *relative = _site_positions(pose.hand, sites, pose.angles).values()
    if relative:
        return float(np.linalg.norm(position - relative[0] - pin.position))
    return float(np.linalg.norm(pose.root[0, :3, :3] @ position + pose.root[0, :3, 3] - pin.position))


def _site_positions(hand: HandModel, sites: tuple[int, ...], angles: Floats) -> Positions:
    """Return positions of sites at angles (1, D) rad."""
    return dict(zip(sites, site_chains(hand, sites).at(angles).positions[0], strict=True)) if sites else {}


def _near(tolerance: float, positions: Positions, others: Positions) -> bool:
    return all(np.abs(position - others[site]).max() <= tolerance for site, position in positions.items())


NEAREST = "nearest"


def _take_solver(name: str) -> Callable[[HandModel], DragSolver]:
    return lambda straight: TakeSolver(make(name, {}), straight)


DRAG_SOLVERS: Mapping[str, Callable[[HandModel], DragSolver]] = {
    NEAREST: lambda _straight: Nearest(),
    **{name: _take_solver(name) for name in SOLVER.kinds},
}
"""Name -> factory of the solver for a hand whose digits are straight at zero angles."""

LABELS: Mapping[str, KindLabel] = {
    NEAREST: KindLabel("Nearest", "Bends as little as possible from where the drag began; the only one with DIP Lock"),
    **{name: SOLVER.label(name) for name in SOLVER.kinds},
}
"""Names and descriptions in the user interface."""
