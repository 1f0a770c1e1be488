"""FABRIK for hands, as FABRIK-CGA section 3.4: palm from its markers, a plane a digit, planar FABRIK in it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..hand.kinematics import Pose
from ..hand.model import HandModel
from ..hand.planes import finger_plane, plane_axes
from ..hand.targets import Targets
from . import planar
from .closest import approach, where
from .digits import Digit, digits, rider, turns_of
from .palm import palm_roots
from .settings import check, setting
from .solver import State, hold_last

Floats = NDArray[np.float64]

ROUNDS = 4
"""Times that the bend sideways and the bends in the plane are brought together; each leaves about a fifth."""

NEAR = 1e-4
"""m from its target at which a digit's end has arrived."""


@dataclass(frozen=True, slots=True)
class Fabrik:
    """Constrained FABRIK. Every frame begins from its own targets, so a take can be solved in any pieces."""

    tolerance: float = setting(
        1e-5, "Metres from a digit's end to its target at which it is done", least=1e-9, most=0.01
    )
    passes: int = setting(60, "Most forward and backward passes from one beginning", least=1, most=1000)
    sweeps: int = setting(
        40,
        "Times that each joint turns as near as its limits let it, where they keep a digit from its target",
        most=1000,
    )

    def __post_init__(self) -> None:
        check(self)

    @property
    def stopping(self) -> planar.Stopping:
        """When planar FABRIK stops."""
        return planar.Stopping(self.tolerance, self.tolerance / 100, self.passes)

    def solve(self, hand: HandModel, targets: Targets, state: State | None = None) -> tuple[Pose, State]:
        """See Solver. Raises HandError for a hand that is not five flexing digits on a rigid palm."""
        state = state or State(np.eye(4), hand.neutral)
        roots = palm_roots(hand, targets, state.root)
        angles = np.broadcast_to(state.angles, (len(targets), hand.dofs)).copy()
        for digit in digits(hand):
            solved = self._solve(hand, digit, _marks(hand, digit, targets, roots))
            for d in np.flatnonzero(np.isfinite(solved).any(0)):
                angles[:, d] = hold_last(solved[:, d], np.isfinite(solved[:, d]), state.angles[d])
        pose = Pose(hand, roots, angles)
        return pose, (State(roots[-1], angles[-1]) if len(targets) else state)

    def _solve(self, hand: HandModel, digit: Digit, marks: "_Marks") -> Floats:
        """(F, D) the digit's angles, NaN where its targets do not tell."""
        solved = np.full((len(marks.positions), hand.dofs), np.nan)
        if not marks.riders:
            return solved
        # The outermost marker seen is the digit's end.
        reach = np.array([r.bone + min(r.along / digit.lengths[r.bone], 1.5) / 2 for r in marks.riders])
        ends = np.where(marks.weights > 0, reach, -1.0)
        for end in range(len(reach)):
            rows = np.flatnonzero((ends.argmax(1) == end) & (ends[:, end] >= 0))
            if len(rows):
                solved[rows] = self._solve_rows(hand, digit, marks.select(rows), end)
        return solved

    def _solve_rows(self, hand: HandModel, digit: Digit, marks: "_Marks", end: int) -> Floats:
        """(N, D) for rows whose outermost marker is the same one."""
        limits = (_limits(hand, digit.abduction), _limits(hand, digit.twist))
        points = marks.positions
        abduction, twist = finger_plane(points, marks.weights, end, limits)
        if marks.aside.any():
            # A marker's place beside the plane is along the plane's normal, which it hardly turns.
            points = points - marks.aside[:, None] * plane_axes(abduction, twist)[:, None, 2]
            abduction, twist = finger_plane(points, marks.weights, end, limits)
        placed = np.einsum("nij,nkj->nki", plane_axes(abduction, twist), points)
        hints = [
            planar.Hint(mark, placed[:, i, :2], marks.weights[:, i]) for i, mark in enumerate(marks.riders) if i != end
        ]
        chain = planar.Chain(digit.lengths, hand.limits[list(digit.flexions)], digit.ratio, digit.lead)
        goal = planar.Hint(marks.riders[end], placed[:, end], marks.weights[:, end])
        flexions = planar.solve(chain, goal.rider, goal.positions[:, :2], hints, self.stopping)
        side = np.zeros(len(points))
        if digit.side_bend >= 0 and goal.rider.bone > 0:
            flexions, side = self._bend_sideways(chain, goal, hints, flexions, _limits(hand, digit.side_bend))
        solved = np.full((len(points), hand.dofs), np.nan)
        for d, values in ((digit.abduction, abduction), (digit.twist, twist), (digit.side_bend, side)):
            if d >= 0:
                solved[:, d] = values
        solved[:, digit.flexions] = flexions
        return self._nearer(hand, digit, goal.rider, points[:, end], solved)

    def _nearer(self, hand: HandModel, digit: Digit, end: planar.Rider, goal: Floats, solved: Floats) -> Floats:
        """The angles (N, D), those of rows that the limits keep from their goal (N, 3) brought as near as they may."""
        dofs, turns, ends = turns_of(hand, digit, end)
        missed = np.linalg.norm(where(turns, solved[:, dofs], ends) - goal, axis=-1)
        rows = np.flatnonzero(missed > NEAR)
        if len(rows):
            chosen = np.ix_(rows, np.array(dofs))
            solved[chosen] = approach(turns, solved[chosen], ends, goal[rows], self.sweeps)
        return solved

    def _bend_sideways(
        self, chain: planar.Chain, goal: planar.Hint, hints: list[planar.Hint], flexions: Floats, limits: Floats
    ) -> tuple[Floats, Floats]:
        """The flexions (N, 3) and the second joint's abduction (N,) where the plane's limits leave the goal outside it.

        The second joint turns the rest of the digit out of the plane. Turned back, its goal (N, 3) lies in the plane
        at a slightly greater distance, which planar FABRIK then reaches; both are done in turn.
        """
        side = np.zeros(len(flexions))
        outside = np.abs(goal.positions[:, 2]) > self.tolerance
        if not outside.any():
            return flexions, side
        inside, beyond = goal.positions[outside, :2], goal.positions[outside, 2]
        hints = [planar.Hint(hint.rider, hint.positions[outside], hint.weights[outside]) for hint in hints]
        bent = flexions[outside]
        for _ in range(ROUNDS):
            ahead = np.stack([np.cos(bent[:, 0]), np.sin(bent[:, 0])], -1)
            along = ((inside - chain.lengths[0] * ahead) * ahead).sum(-1)
            bend = np.arctan2(-beyond, np.maximum(along, 1e-3)).clip(*limits)
            longer = along * np.cos(bend) - beyond * np.sin(bend)
            bent = planar.solve(chain, goal.rider, inside + (longer - along)[:, None] * ahead, hints, self.stopping)
        flexions = flexions.copy()
        flexions[outside], side[outside] = bent, bend
        return flexions, side


def _limits(hand: HandModel, dof: int) -> Floats:
    return hand.limits[dof] if dof >= 0 else np.zeros(2)


@dataclass(frozen=True, slots=True, eq=False)
class _Marks:
    """The targets that tell about one digit, in its base's frame, mirrored in X for a left hand."""

    riders: tuple[planar.Rider, ...]
    """(S,)"""
    aside: Floats
    """(S,) m out of the finger plane."""
    positions: Floats
    """(F, S, 3) m."""
    weights: Floats
    """(F, S)"""

    def select(self, rows: NDArray[np.intp]) -> "_Marks":
        return _Marks(self.riders, self.aside, self.positions[rows], self.weights[rows])


def _marks(hand: HandModel, digit: Digit, targets: Targets, roots: Floats) -> _Marks:
    ridden = [(i, rider(digit, hand.sites[site])) for i, site in enumerate(targets.sites)]
    own = [(i, *found) for i, found in ridden if found is not None]
    chosen = [i for i, _, _ in own]
    weights = targets.weights[:, chosen]
    mirror = np.array([1.0 if hand.side == "right" else -1.0, 1.0, 1.0])
    bases = roots @ digit.T_wrist_base
    away = np.where(weights[..., None] > 0, targets.positions[:, chosen], 0.0) - bases[:, None, :3, 3]
    positions = np.einsum("fji,fsj->fsi", bases[:, :3, :3], away) * mirror
    aside = np.array([x for _, _, x in own]) * mirror[0]
    return _Marks(tuple(mark for _, mark, _ in own), aside, positions, weights)
