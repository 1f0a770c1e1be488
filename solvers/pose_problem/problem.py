"""What a pose problem asks, and what it costs to be off it.

With the weights in metres a radian, what is minimised over the angles q and, where it is free, the wrist is

    Σ w² |p - p̂|² + COUPLING² Σ (x + x³ / GIVE²)² + POSTURE² Σ ((q - q₀) / range)²,  x = c·(q - q₀)

A fingertip takes three of a finger's five angles: the tendons' coupling and the pose q₀ at the start decide the rest.
Couplings that do not yield are constraints, as limits are.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...hand.jacobians import BASE
from ...hand.joints import CHAIN_JOINTS, JOINT_INDEX
from ...hand.kinematics import Pose
from ...hand.model import HandModel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

USUAL_LENGTH = 0.1
"""m, the length of the middle finger of the hands that the weights are meant for; they grow with it."""
POSTURE = 0.001
"""m, what a joint's whole range away from the start counts. A tip that can be reached is off by some thousandths of a
millimetre for it, and no joint swings far for less than that."""
COUPLING = 0.004
"""m, what a radian counts by which a coupling is off what it was at the start."""
GIVE = np.deg2rad(20.0)
"""rad by which it may well be off; far beyond no finger bends its last joint alone."""
PASSIVE = 5.0
"""How many times more a twist counts: joints yield to it, no muscle twists them alone."""
NARROW = 1e-3
"""rad, ranges of joints that hardly move count as this wide."""


@dataclass(frozen=True, slots=True, eq=False)
class Objective:
    """Where a site of a hand shall be, or how far it shall be from another one."""

    site: int
    position: Floats
    """(3,) or (F, 3) m in the world; with a relative site, the vector from there in the wrist's frame."""
    weight: float | Floats = 1.0
    """One, or (F,); 0 for no objective."""
    relative: int | None = None

    def select(self, rows: Ints) -> "Objective":
        """The same in some of the frames."""
        position = self.position if self.position.ndim == 1 else self.position[rows]
        weight = self.weight[rows] if isinstance(self.weight, np.ndarray) else self.weight
        return Objective(self.site, position, weight, self.relative)


@dataclass(frozen=True, slots=True, eq=False)
class PoseProblem:
    """F frames of a hand: where its sites shall be, what may change for that, and what it is to stay near to."""

    start: Pose
    free: Ints
    """(k,) ascending, what may change of (v, ω, q), as hand.jacobians counts them."""
    posture: Floats
    """(k,) m a radian, or part of a metre: what it costs to leave the start."""
    limits: Floats
    """(2, k) rad, the lowest and the highest of what may change."""
    couplings: Floats
    """(C, k) m a radian: the rows of couplings that yield."""
    give: float
    """m, how far these are off where they are twice as stiff."""
    constraints: Floats
    """(H, k) the rows of couplings that do not yield."""
    constrained: Floats
    """(H, D) the same over all angles."""
    bounds: Floats
    """(2, H) their lower and upper bounds."""
    objectives: tuple[Objective, ...] = ()

    @classmethod
    def of(
        cls,
        start: Pose,
        free: Ints,
        objectives: Sequence[Objective] = (),
        *,
        coupled: bool = True,
        posture: float = POSTURE,
    ) -> "PoseProblem":
        """The problem of a hand.

        start: F frames. free: (k,) ascending, as hand.jacobians counts (v, ω, q). coupled: whether the last joint of a
        finger goes with the one before it. posture: m, what a joint's whole range away from the start counts on a hand
        of usual length.
        """
        hand = start.hand
        unit = middle_finger_length(hand) / USUAL_LENGTH
        low, high = hand.limits.T
        weights = posture * unit / np.maximum(high - low, NARROW)
        weights[np.array(hand.movements) == "twist"] *= PASSIVE
        # The wrist's position needs no posture: objectives decide all of it.
        wrist = np.concatenate([np.full(3, 1e-6), np.full(3, posture * unit)])
        rows = [COUPLING * unit * row.coefficients for row in hand.couplings if row.soft and coupled]
        soft = _over(np.array(rows).reshape(-1, hand.dofs), free)
        hard = [row for row in hand.couplings if not row.soft]
        constrained = np.array([row.coefficients for row in hard]).reshape(-1, hand.dofs)
        return cls(
            start,
            free,
            np.concatenate([wrist, weights])[free],
            np.concatenate([[[-np.inf, np.inf]] * BASE, hand.limits])[free].T,
            soft[np.any(soft != 0, axis=1)],
            COUPLING * unit * GIVE,
            _over(constrained, free),
            constrained,
            np.array([[row.lower, row.upper] for row in hard]).reshape(-1, 2).T,
            tuple(objectives),
        )

    @property
    def hand(self) -> HandModel:
        """Whose pose it is."""
        return self.start.hand

    @property
    def wrist_moves(self) -> bool:
        """Whether the wrist may move."""
        return bool(self.free.size and self.free[0] < BASE)

    @property
    def wrist_rotates(self) -> bool:
        """Whether the wrist may rotate."""
        return bool(np.any((self.free >= 3) & (self.free < BASE)))

    @property
    def sites(self) -> tuple[int, ...]:
        """The sites of all objectives, each once."""
        named = ((each.site, each.relative) for each in self.objectives)
        return tuple(dict.fromkeys(site for pair in named for site in pair if site is not None))

    def towards(self, objectives: Sequence[Objective]) -> "PoseProblem":
        """The same with other objectives."""
        return replace(self, objectives=tuple(objectives))

    def select(self, rows: Ints) -> "PoseProblem":
        """Some of the frames."""
        start = Pose(self.hand, self.start.root[rows], self.start.angles[rows])
        return replace(self, start=start, objectives=tuple(each.select(rows) for each in self.objectives))

    def fixed_wrist(self, start: Pose, objectives: Sequence[Objective]) -> "PoseProblem":
        """The same from another start, of which the wrist stays."""
        digits = self.free >= BASE
        rows = self.couplings[:, digits], self.constraints[:, digits]
        return replace(
            self,
            start=start,
            free=self.free[digits],
            posture=self.posture[digits],
            limits=self.limits[:, digits],
            couplings=rows[0],
            constraints=rows[1],
            objectives=tuple(objectives),
        )


def _over(rows: Floats, free: Ints) -> Floats:
    """(C, k) rows over the angles (C, D) as rows over what is free."""
    over: Floats = np.concatenate([np.zeros((len(rows), BASE)), rows], axis=1)[:, free]
    return over


def angles_of(hand: HandModel, digits: Collection[str]) -> Ints:
    """(k,) the angles that bend some digits, as hand.jacobians counts them."""
    own = [JOINT_INDEX[joint] for digit in digits for joint in CHAIN_JOINTS[digit]]
    return BASE + np.flatnonzero(np.isin(hand.axis_joint, own))


def middle_finger_length(hand: HandModel) -> float:
    """m"""
    bones = [hand.rest[hand.joints.index(joint), :3, 3] for joint in CHAIN_JOINTS["middle-finger"][1:]]
    return float(np.linalg.norm(bones, axis=-1).sum())
