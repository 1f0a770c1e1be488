"""The solvers of takes at a drag: each bends the digits to their targets in its own manner.

They know a palm by the markers on it, and each digit by itself. So where the wrist moves, or a digit is pinned to
another, `min_displacement` says where the wrist and the points of the digits are to be.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...hand.jacobians import ROOT_DOFS
from ...hand.kinematics import Pose
from ...hand.model import HandModel
from ...hand.targets import Targets
from ...solvers.pose_problem import USUAL_LENGTH, Objective, PoseProblem, chains, middle_finger_length, solve
from ...solvers.solver import Solver, State
from .digit_solver import DragStep
from .min_displacement import Nearest

Floats = NDArray[np.float64]
Places = dict[int, Floats]
"""site -> (3,) m in the wrist's frame."""

TRIES = 6
NEAR = 2e-5
"""m for a hand of the usual length: a point that is seen so near to where it is wanted is there."""

HELD = 2e-4
"""m for a hand of the usual length: a pin that is farther off is missed."""
MISSED = 10.0
"""Times NEAR: a point that can be reached and is farther off was missed."""


@dataclass(frozen=True, slots=True, eq=False)
class _Kept:
    """From one step to the next."""

    state: State
    shifts: Places
    """From where a site is seen to where the straight hand has it."""
    led: Floats | None = None
    """(1, D) rad of the pose that said where the points are to be, where one did."""


@dataclass(frozen=True, slots=True, eq=False)
class BySolver:
    """One of solvers.SOLVERS, which sees the hand from its wrist. Where all is as it was when the drag began, so are
    the digits."""

    solver: Solver[Any]
    straight: HandModel
    """The hand that is dragged as solvers know it: on a palm of one piece, straight at zero angles, whatever was posed
    on top."""

    def step(self, problem: PoseProblem, last: DragStep | None = None) -> DragStep:
        """See Bending."""
        kept = last.own if last is not None and isinstance(last.own, _Kept) else None
        root, wanted, led = self._wanted(problem, last, kept)
        near, begun = NEAR * middle_finger_length(problem.hand) / USUAL_LENGTH, problem.start.angles
        if _within(near, _places(problem.hand, tuple(wanted), begun), wanted):
            angles, aims = begun, wanted
        else:
            angles, aims, kept = self._solved(problem, wanted, near, kept, led)
        pose = _held(problem, Pose(problem.hand, root, angles))
        in_world = {site: root[0, :3, :3] @ place + root[0, :3, 3] for site, place in aims.items()}
        return DragStep(Pose(problem.hand, root, pose.angles), problem.objectives, in_world, kept)

    def _wanted(
        self, problem: PoseProblem, last: DragStep | None, kept: _Kept | None
    ) -> tuple[Floats, Places, Floats | None]:
        """(1, 4, 4) where the wrist shall be, where each site shall be that a digit moves, and (1, D) rad at which they
        are there, where that was solved for."""
        root, objectives = problem.start.root, problem.objectives
        if not problem.wrist_moves and all(each.relative is None for each in objectives):
            turn, place = root[0, :3, :3], root[0, :3, 3]
            return root, {each.site: (each.position - place) @ turn for each in objectives}, None
        before = None
        if last is not None:
            led = kept.led if kept is not None and kept.led is not None else last.pose.angles
            before = DragStep(Pose(problem.hand, last.pose.root, led))
        pose = Nearest().step(problem, before).pose
        sites = sorted(problem.sites)
        moved = np.any(chains(problem.hand, tuple(sites)).dofs < ROOT_DOFS + problem.hand.dofs, axis=1)
        bent = tuple(site for site, moves in zip(sites, moved, strict=True) if moves)
        return pose.root, _places(problem.hand, bent, pose.angles), pose.angles

    def _solved(
        self, problem: PoseProblem, wanted: Places, near: float, kept: _Kept | None, led: Floats | None
    ) -> tuple[Floats, Places, _Kept]:
        """(1, D) the angles at which sites are seen where they are wanted, and what the solver was asked for.

        It is asked again for places so far from these as its straight hand is from the one that is seen; and from led
        (1, D), at which they are there, where it has missed one.
        """
        own = np.isin(problem.hand.axis_joint, self.straight.axis_joint)
        angles, sites = problem.start.angles.copy(), tuple(wanted)
        kept = kept or _Kept(State(np.eye(4), angles[0, own]), dict.fromkeys(sites, np.zeros(3)))
        state, shifts, missed = kept.state, kept.shifts, led
        for _ in range(TRIES):
            aims = {site: place + shifts[site] for site, place in wanted.items()}
            pose, state = self.solver.solve(self.straight, _targets(aims), state)
            angles[:, own] = pose.angles
            before, seen = shifts, _places(problem.hand, sites, angles)
            straight = _places(self.straight, sites, pose.angles)
            shifts = {site: straight[site] - place for site, place in seen.items()}
            if _within(near, shifts, before):
                if missed is None or _within(MISSED * near, seen, wanted):
                    break
                state, missed = replace(state, angles=missed[0, own]), None
        return angles, aims, _Kept(state, shifts, led)


def _held(problem: PoseProblem, pose: Pose) -> Pose:
    """The pose, or where a pin is missed the one nearest to it whose wrist is there and whose digits hold the pins."""
    pins = [each for each in problem.objectives if np.all(each.weight > 1.0)]
    most = HELD * middle_finger_length(problem.hand) / USUAL_LENGTH
    if not any(_off(pin, pose) > most for pin in pins):
        return pose
    return solve(problem.fixed_wrist(pose, pins)).pose


def _off(pin: Objective, pose: Pose) -> float:
    """m"""
    sites = tuple(site for site in (pin.site, pin.relative) if site is not None)
    place, *other = _places(pose.hand, sites, pose.angles).values()
    if other:
        return float(np.linalg.norm(place - other[0] - pin.position))
    return float(np.linalg.norm(pose.root[0, :3, :3] @ place + pose.root[0, :3, 3] - pin.position))


def _places(hand: HandModel, sites: tuple[int, ...], angles: Floats) -> Places:
    """Where sites are at angles (1, D) rad."""
    return dict(zip(sites, chains(hand, sites).at(angles).positions[0], strict=True)) if sites else {}


def _within(near: float, places: Places, others: Places) -> bool:
    return all(np.abs(place - others[site]).max() <= near for site, place in places.items())


def _targets(aims: Places) -> Targets:
    places = np.array(list(aims.values()))
    return Targets(np.zeros(1), np.array(list(aims)), places[None], np.ones((1, len(aims))))
