"""FABRIK for hands, as FABRIK-CGA section 3.4: the palm from its markers, a plane for each digit, planar FABRIK in it."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..hand import kinematics
from ..hand.model import HandModel, Pose
from ..hand.targets import Targets
from . import planar
from .digits import Digit, bone_rotations, digits, speaks_for
from .palm import palm_roots
from .plane import finger_plane, plane_axes
from .solver import State, hold_last

Floats = NDArray[np.float64]

ROUNDS = 4
"""Times a digit is solved where a marker's place hangs on the bones' turn, or a joint bends sideways: each time
what is left over shrinks to about a fifth."""


@dataclass(frozen=True, slots=True)
class Fabrik:
    """Constrained FABRIK. Every frame begins from its own targets, so a take can be solved in any pieces."""

    stopping: planar.Stopping = field(default_factory=planar.Stopping)

    def solve(self, hand: HandModel, targets: Targets, state: State | None = None) -> tuple[Pose, State]:
        """See Solver. Raises HandError for a hand that is not five flexing digits on a rigid palm."""
        state = state or State(np.eye(4), hand.neutral)
        roots = palm_roots(hand, targets, state.root)
        angles = np.broadcast_to(state.angles, (len(targets), hand.dofs)).copy()
        for digit in digits(hand):
            marks = _marks(hand, digit, targets, roots)
            for _ in range(ROUNDS if marks.beside else 1):
                solved = self._solve(hand, digit, marks, angles)
                for d in np.flatnonzero(np.isfinite(solved).any(0)):
                    angles[:, d] = hold_last(solved[:, d], np.isfinite(solved[:, d]), state.angles[d])
        pose = kinematics.pose(hand, roots, angles)
        return pose, (State(roots[-1], angles[-1]) if len(targets) else state)

    def _solve(self, hand: HandModel, digit: Digit, marks: "_Marks", angles: Floats) -> Floats:
        """(F, D) the digit's angles, NaN where its targets do not tell; `angles` say how the bones stand so far."""
        points, weights = marks.joints(hand, digit, angles)
        local = (points - digit.T_wrist_base[:3, 3]) @ digit.T_wrist_base[:3, :3]
        if hand.side == "left":
            local = local * [-1.0, 1.0, 1.0]
        solved = np.full(angles.shape, np.nan)
        ends = np.where(weights > 0, [1, 2, 3], 0).max(axis=1)
        for end in (1, 2, 3):
            rows = np.flatnonzero(ends == end)
            if len(rows):
                solved[rows] = self._solve_rows(hand, digit, local[rows], weights[rows], end)
        return solved

    def _solve_rows(self, hand: HandModel, digit: Digit, points: Floats, weights: Floats, end: int) -> Floats:
        """(N, D) for rows whose outermost known joint is `end`, from points (N, 3, 3) in the digit's base frame."""
        abduction, twist = finger_plane(
            points, weights, end, (_limits(hand, digit.abduction), _limits(hand, digit.twist))
        )
        axes = plane_axes(abduction, twist)
        placed = np.einsum("nij,nkj->nki", axes, points)
        chain = planar.Chain(digit.lengths, hand.limits[list(digit.flexions)], digit.ratio, digit.lead)
        flexions = planar.solve(chain, placed[..., :2], weights, end, self.stopping)
        side = np.zeros(len(points))
        if digit.side_bend >= 0 and end > 1:
            flexions, side = self._bend_sideways(hand, digit, chain, placed, weights, end, flexions)
        solved = np.full((len(points), hand.dofs), np.nan)
        for d, values in ((digit.abduction, abduction), (digit.twist, twist), (digit.side_bend, side)):
            if d >= 0:
                solved[:, d] = values
        solved[:, digit.flexions] = flexions
        return solved

    def _bend_sideways(
        self,
        hand: HandModel,
        digit: Digit,
        chain: planar.Chain,
        placed: Floats,
        weights: Floats,
        end: int,
        flexions: Floats,
    ) -> tuple[Floats, Floats]:
        """The flexions (N, 3) and the second joint's abduction (N,) where the plane's limits leave the tip outside it.

        The second joint turns the rest of the digit out of the plane. Turned back, its target lies in the plane at
        a slightly greater distance, which planar FABRIK then reaches; both are done in turn.
        """
        goal = placed[:, end - 1]
        outside = np.abs(goal[:, 2]) > self.stopping.tolerance
        side = np.zeros(len(placed))
        if not outside.any():
            return flexions, side
        turned = placed[outside].copy()
        out_of_plane = goal[outside, 2]
        bent = flexions[outside].copy()
        for _ in range(ROUNDS):
            heading = bent[:, 0]
            ahead = np.stack([np.cos(heading), np.sin(heading)], -1)
            knee = chain.lengths[0] * ahead
            rest = goal[outside, :2] - knee
            along = (rest * ahead).sum(-1)
            bend = np.arctan2(-out_of_plane, np.maximum(along, 1e-3)).clip(*_limits(hand, digit.side_bend))
            longer = along * np.cos(bend) - out_of_plane * np.sin(bend)
            turned[:, end - 1, :2] = knee + rest + (longer - along)[:, None] * ahead
            bent = planar.solve(chain, turned[..., :2], weights[outside], end, self.stopping)
        flexions, side = flexions.copy(), side.copy()
        flexions[outside], side[outside] = bent, bend
        return flexions, side


def _limits(hand: HandModel, dof: int) -> Floats:
    return hand.limits[dof] if dof >= 0 else np.zeros(2)


@dataclass(frozen=True, slots=True, eq=False)
class _Marks:
    """The targets that tell about one digit, in the wrist's frame."""

    end: tuple[int, ...]
    """(S,) which of the bones' ends each tells about: 1, 2 or 3."""
    bone: tuple[int, ...]
    """(S,) the bone that carries it."""
    offset: Floats
    """(S, 3) m from that end to the marker, in the bone's frame."""
    positions: Floats
    """(F, S, 3) m."""
    weights: Floats
    """(F, S)"""

    @property
    def beside(self) -> bool:
        """Whether any marker sits beside the joint it tells about."""
        return bool(self.offset.any())

    def joints(self, hand: HandModel, digit: Digit, angles: Floats) -> tuple[Floats, Floats]:
        """Where the three bones' ends should be (F, 3, 3), and how much that counts (F, 3), 0 = not known."""
        placed = self.positions
        if self.beside:
            bones = bone_rotations(hand, digit, angles)[:, self.bone]
            placed = placed - np.einsum("fsij,sj->fsi", bones, self.offset)
        points = np.zeros((len(placed), 3, 3))
        weights = np.zeros((len(placed), 3))
        for end in (1, 2, 3):
            chosen = [i for i, e in enumerate(self.end) if e == end]
            share = self.weights[:, chosen]
            weights[:, end - 1] = share.sum(1)
            total = np.maximum(share.sum(1), 1e-12)[:, None]
            points[:, end - 1] = (share[..., None] * placed[:, chosen]).sum(1) / total
        return points, weights


def _marks(hand: HandModel, digit: Digit, targets: Targets, roots: Floats) -> _Marks:
    told = [(i, speaks_for(hand, digit, hand.sites[site])) for i, site in enumerate(targets.sites)]
    own = [(i, mark) for i, mark in told if mark is not None and mark[0] > 0]
    chosen = [i for i, _ in own]
    weights = targets.weights[:, chosen]
    world = np.where(weights[..., None] > 0, targets.positions[:, chosen], 0.0)
    positions = np.einsum("fji,fsj->fsi", roots[:, :3, :3], world - roots[:, None, :3, 3])
    return _Marks(
        end=tuple(mark[0] for _, mark in own),
        bone=tuple(mark[1] for _, mark in own),
        offset=np.array([mark[2] for _, mark in own]).reshape(len(own), 3),
        positions=positions,
        weights=weights,
    )
