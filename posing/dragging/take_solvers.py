"""The solvers of takes at a drag: each bends the digits to their targets in its own manner.

They know a palm by the markers on it, and each digit by itself. So where the wrist moves, or a digit is pinned to
another, `settled` says where the wrist and the points of the digits are to be.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...hand.jacobians import BASE
from ...hand.kinematics import Pose
from ...hand.model import HandModel
from ...hand.targets import Targets
from ...solvers.solver import Solver, State
from .digit_solver import Course
from .joint_path import Path
from .min_displacement import Nearest
from .nearest_pose import USUAL, Question, Wish, length, nearest

Floats = NDArray[np.float64]

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
    paths: dict[int, Path]
    """site -> the way there of the straight hand."""
    shifts: dict[int, Floats]
    """site -> (3,) m in the wrist's frame, from where it is seen to where the straight hand has it."""
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

    def step(self, asked: Question, wishes: Sequence[Wish], last: Course | None = None) -> Course:
        """See Bending."""
        kept = last.own if last is not None and isinstance(last.own, _Kept) else None
        root, wanted, led = self._wanted(asked, wishes, last, kept)
        near, begun = NEAR * length(asked.hand) / USUAL, asked.begun.angles[0]
        if _within(near, {site: asked.paths[site].at(begun)[0] for site in wanted}, wanted):
            angles, aims = begun, wanted
        else:
            angles, aims, kept = self._solved(asked, wanted, near, kept, led)
        angles = _held(asked, wishes, Pose(asked.hand, root, angles[None])).angles[0]
        in_world = {site: root[0, :3, :3] @ place + root[0, :3, 3] for site, place in aims.items()}
        return Course(Pose(asked.hand, root, angles[None]), tuple(wishes), in_world, kept)

    def _wanted(
        self, asked: Question, wishes: Sequence[Wish], last: Course | None, kept: _Kept | None
    ) -> tuple[Floats, dict[int, Floats], Floats | None]:
        """(1, 4, 4) where the wrist shall be, (3,) m in its frame, where each site shall be that a digit moves, and
        (1, D) rad at which they are there, where that was asked for."""
        root = asked.begun.root
        if not asked.floats and all(wish.other is None for wish in wishes):
            turn, place = root[0, :3, :3], root[0, :3, 3]
            return root, {wish.site: (wish.place - place) @ turn for wish in wishes}, None
        before = None
        if last is not None:
            led = kept.led if kept is not None and kept.led is not None else last.pose.angles
            before = Course(Pose(asked.hand, last.pose.root, led))
        pose = Nearest().step(asked, wishes, before).pose
        sites = {site for wish in wishes for site in (wish.site, wish.other) if site is not None}
        bent = sorted(site for site in sites if len(asked.paths[site].dofs))
        return pose.root, {site: asked.paths[site].at(pose.angles[0])[0] for site in bent}, pose.angles

    def _solved(
        self, asked: Question, wanted: dict[int, Floats], near: float, kept: _Kept | None, led: Floats | None
    ) -> tuple[Floats, dict[int, Floats], _Kept]:
        """(D,) the angles at which sites are seen where they are wanted, and what the solver was asked for.

        It is asked again for places so far from these as its straight hand is from the one that is seen; and from led
        (1, D), at which they are there, where it has missed one.
        """
        own = np.isin(asked.hand.axis_joint, self.straight.axis_joint)
        angles, sites = asked.begun.angles[0].copy(), tuple(wanted)
        kept = kept or _Kept(
            State(np.eye(4), angles[own]),
            {site: Path.to(self.straight, site) for site in sites},
            dict.fromkeys(sites, np.zeros(3)),
        )
        state, straight, shifts, missed = kept.state, kept.paths, kept.shifts, led
        for _ in range(TRIES):
            aims = {site: place + shifts[site] for site, place in wanted.items()}
            pose, state = self.solver.solve(self.straight, _targets(aims), state)
            angles[own] = pose.angles[0]
            before, seen = shifts, {site: asked.paths[site].at(angles)[0] for site in sites}
            shifts = {site: straight[site].at(pose.angles[0])[0] - place for site, place in seen.items()}
            if _within(near, shifts, before):
                if missed is None or _within(MISSED * near, seen, wanted):
                    break
                state, missed = replace(state, angles=missed[0, own]), None
        return angles, aims, replace(kept, state=state, shifts=shifts, led=led)


def _held(asked: Question, wishes: Sequence[Wish], pose: Pose) -> Pose:
    """The pose, or where a pin is missed the one nearest to it whose wrist is there and whose digits hold the pins."""
    pins = [wish for wish in wishes if wish.worth > 1.0]
    most = HELD * length(asked.hand) / USUAL
    if not any(_off(asked, pin, pose) > most for pin in pins):
        return pose
    digits = asked.free >= BASE
    narrowed = replace(
        asked, begun=pose, free=asked.free[digits], weights=asked.weights[digits], rows=asked.rows[:, digits]
    )
    return nearest(narrowed, pins, pose)[0]


def _off(asked: Question, wish: Wish, pose: Pose) -> float:
    """m"""
    angles = pose.angles[0]
    place = asked.paths[wish.site].at(angles)[0]
    if wish.other is not None:
        return float(np.linalg.norm(place - asked.paths[wish.other].at(angles)[0] - wish.place))
    return float(np.linalg.norm(pose.root[0, :3, :3] @ place + pose.root[0, :3, 3] - wish.place))


def _within(near: float, places: dict[int, Floats], others: dict[int, Floats]) -> bool:
    return all(np.abs(place - others[site]).max() <= near for site, place in places.items())


def _targets(aims: dict[int, Floats]) -> Targets:
    places = np.array(list(aims.values()))
    return Targets(np.zeros(1), np.array(list(aims)), places[None], np.ones((1, len(aims))))
