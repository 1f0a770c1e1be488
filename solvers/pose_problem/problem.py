"""Pose problems and their cost.

The angles q and, if it is free, the wrist minimise, with weights in metres per radian,

    Σ w² |p - p̂|² + COUPLING² Σ (x + x³ / COUPLING_RANGE²)² + POSTURE² Σ ((q - q₀) / range)²,  x = c·(q - q₀)

and, if digits are kept apart, squares of the excess depth of their flesh in each other (separation.py).

A fingertip determines three of a finger's five angles: the tendons' coupling and the starting pose q₀ decide the rest.
Hard couplings are constraints, as limits are.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...hand.jacobians import ROOT_DOFS
from ...hand.joints import CHAIN_JOINTS, JOINT_INDEX
from ...hand.kinematics import Pose, SiteChains, site_chains
from ...hand.model import HandModel
from .separation import Separation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Rows = tuple[tuple[int, float], ...]
"""An objective's sites: row in the problem's chains, and sign."""

REFERENCE_LENGTH = 0.1
"""m, length of the middle finger for which the weights are given; they scale with it."""
POSTURE = 0.001
"""m, the marker error that a change by a joint's whole range costs. It leaves a reachable fingertip off by some
micrometres, and keeps joints from moving far for gains smaller than that."""
COUPLING = 0.004
"""m, the marker error that a change of a coupling by one radian costs."""
COUPLING_RANGE = np.deg2rad(20.0)
"""rad, change of a coupling beyond which its cost rises steeply."""
TWIST_FACTOR = 5.0
"""Factor on the cost of twists, which no muscle drives alone."""
MIN_RANGE = 1e-3
"""rad, minimum range of a joint in the posture cost."""


@dataclass(frozen=True, slots=True, eq=False)
class Objective:
    """Desired position of a site, or of a site relative to another one."""

    site: int
    position: Floats
    """(3,) or (F, 3) m in the world; with a relative site, the vector from that site in the wrist's frame."""
    weight: float | Floats = 1.0
    """One weight or (F,); 0: no objective in that frame."""
    relative: int | None = None
    """The site that the position is relative to; None for a position in the world."""
    next_sites: tuple[int, int] | None = None
    """Site and relative site that take over from this pair; None without them."""
    next_weights: Floats | None = None
    """(F,) 0..1, interpolation of the error from this pair (0) to the next (1)."""
    along: Floats | None = None
    """(3,) unit direction in the world along which the position does not matter; None if the full position matters."""
    above: Floats | None = None
    """(F, 3) unit directions in the world; only the distance by which the site is below the position matters."""

    def select(self, rows: Ints) -> "Objective":
        """Return the objective in some of the frames."""
        position = self.position if self.position.ndim == 1 else self.position[rows]
        weight = self.weight[rows] if isinstance(self.weight, np.ndarray) else self.weight
        next_weights = self.next_weights if self.next_weights is None else self.next_weights[rows]
        above = self.above if self.above is None else self.above[rows]
        return replace(self, position=position, weight=weight, next_weights=next_weights, above=above)

    @property
    def ends(self) -> tuple[tuple[int, float], ...]:
        """The sites of the objective, and their signs."""
        sites = (self.site, *(() if self.relative is None else (self.relative,)), *(self.next_sites or ()))
        return tuple((site, 1.0 - 2.0 * (index % 2)) for index, site in enumerate(sites))


@dataclass(frozen=True, slots=True)
class SoftLimit:
    """Range in which an angle may change from the start at no cost."""

    angle: int
    lower: float
    """rad, minimum change without cost."""
    upper: float
    """rad, maximum change without cost."""
    cost: float
    """m/rad."""


@dataclass(frozen=True, slots=True, eq=False)
class Preferences:
    """Preferences among the poses that reach the objectives, for a hand of the usual length."""

    posture: float = POSTURE
    """m, the marker error that a change by a joint's whole range costs."""
    couplings: tuple[Floats, ...] = ()
    """Rows (D,) of soft couplings besides the hand's own, m/rad."""
    soft_limits: tuple[SoftLimit, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class PoseProblem:
    """A pose problem over F frames: objectives, free variables and the starting pose to stay close to."""

    start: Pose
    free: Ints
    """(k,) ascending indices of the free variables among (v, ω, q), as in hand.jacobians."""
    posture: Floats
    """(k,) m/rad, or m/m for the wrist's position: weight of the change from the start."""
    limits: Floats
    """(2, k) rad, lower and upper limits of the free variables."""
    couplings: Floats
    """(C, k) m/rad, weighted rows of the soft couplings."""
    soft_limits: Floats
    """(3, k) lower and upper limit of the change from the start, rad, and the cost of exceeding them, m/rad."""
    coupling_range: float
    """m, weighted deviation of a soft coupling at which its cubic term equals the linear one."""
    constraints: Floats
    """(H, k) rows of the hard couplings."""
    constraint_rows: Floats
    """(H, D) the same rows over all angles."""
    bounds: Floats
    """(2, H) lower and upper bounds of the hard couplings."""
    scale: float
    """Length of the hand relative to REFERENCE_LENGTH."""
    wrist_moves: bool
    """Whether the wrist may move."""
    wrist_rotates: bool
    """Whether the wrist may rotate."""
    objectives: tuple[Objective, ...]
    """Use `with_objectives` to replace them by objectives of other sites."""
    rows: tuple[Rows, ...]
    """Each objective's sites in the chains."""
    chains: SiteChains
    """Kinematic chains to the sites of all objectives."""
    bending: Bools
    """(D,) which angles are free flexions of middle and last joints."""
    separation: Separation | None = None
    """Limits on the depth of flesh in flesh; None if there are none."""

    @classmethod
    def of(
        cls,
        start: Pose,
        free: Ints,
        objectives: Sequence[Objective] = (),
        *,
        coupled: bool = True,
        preferences: Preferences = Preferences(),
        separation: Separation | None = None,
    ) -> "PoseProblem":
        """Set up the problem of a hand.

        Args:
            start: F frames.
            free: (k,) ascending indices of the free variables among (v, ω, q), as in hand.jacobians.
            objectives: the desired positions.
            coupled: whether the soft couplings of the hand apply, such as those of the fingers' last joints.
            preferences: preferences among the poses that reach the objectives. separation: limits on the depth of flesh
                in flesh.
        """
        hand = start.hand
        scale = relative_size(hand)
        low, high = hand.limits.T
        weights = preferences.posture * scale / np.maximum(high - low, MIN_RANGE)
        weights[np.array(hand.movements) == "twist"] *= TWIST_FACTOR
        # The objectives determine the wrist's position, so its posture cost is almost 0.
        wrist = np.concatenate([np.full(3, 1e-6), np.full(3, preferences.posture * scale)])
        rows = [COUPLING * scale * row.coefficients for row in hand.couplings if row.soft and coupled]
        rows += [scale * row for row in preferences.couplings]
        soft = _over_free(np.array(rows).reshape(-1, hand.dofs), free)
        limits = np.tile([[-np.inf], [np.inf], [0.0]], ROOT_DOFS + hand.dofs)
        for soft_limit in preferences.soft_limits:
            limits[:, ROOT_DOFS + soft_limit.angle] = soft_limit.lower, soft_limit.upper, scale * soft_limit.cost
        hard = [row for row in hand.couplings if not row.soft]
        constraint_rows = np.array([row.coefficients for row in hard]).reshape(-1, hand.dofs)
        return cls(
            start,
            free,
            np.concatenate([wrist, weights])[free],
            np.concatenate([[[-np.inf, np.inf]] * ROOT_DOFS, hand.limits])[free].T,
            soft[np.any(soft != 0, axis=1)],
            limits[:, free],
            COUPLING * scale * COUPLING_RANGE,
            _over_free(constraint_rows, free),
            constraint_rows,
            np.array([[row.lower, row.upper] for row in hard]).reshape(-1, 2).T,
            scale,
            bool(np.any(free < ROOT_DOFS)),
            bool(np.any((free >= 3) & (free < ROOT_DOFS))),
            tuple(objectives),
            *_site_chains(hand, objectives),
            _bending(hand, free),
            separation,
        )

    @property
    def hand(self) -> HandModel:
        """The hand of the starting pose."""
        return self.start.hand

    def with_objectives(self, objectives: Sequence[Objective]) -> "PoseProblem":
        """Return the problem with other objectives."""
        rows, chains = _site_chains(self.hand, objectives)
        return replace(self, objectives=tuple(objectives), rows=rows, chains=chains)

    def select(self, rows: Ints) -> "PoseProblem":
        """Return some of the frames."""
        start = Pose(self.hand, self.start.root[rows], self.start.angles[rows])
        objectives = tuple(objective.select(rows) for objective in self.objectives)
        separation = None if self.separation is None else self.separation.select(rows)
        return replace(self, start=start, objectives=objectives, separation=separation)

    def with_fixed_wrist(self, start: Pose, objectives: Sequence[Objective]) -> "PoseProblem":
        """Return the problem with another start, whose wrist stays fixed."""
        digits = self.free >= ROOT_DOFS
        return replace(
            self.with_objectives(objectives),
            start=start,
            free=self.free[digits],
            posture=self.posture[digits],
            limits=self.limits[:, digits],
            couplings=self.couplings[:, digits],
            soft_limits=self.soft_limits[:, digits],
            constraints=self.constraints[:, digits],
            wrist_moves=False,
            wrist_rotates=False,
        )


def sites_of(objectives: Sequence[Objective]) -> tuple[int, ...]:
    """Return the sites of objectives without duplicates."""
    return tuple(dict.fromkeys(site for objective in objectives for site, _ in objective.ends))


def _site_chains(hand: HandModel, objectives: Sequence[Objective]) -> tuple[tuple[Rows, ...], SiteChains]:
    """Return each objective's sites in the chains, and the chains."""
    sites = sites_of(objectives)
    rows = tuple(tuple((sites.index(site), sign) for site, sign in objective.ends) for objective in objectives)
    return rows, site_chains(hand, sites)


def _bending(hand: HandModel, free: Ints) -> Bools:
    """Return which angles (D,) are free flexions of middle and last joints."""
    outer = [JOINT_INDEX[joint] for joints in CHAIN_JOINTS.values() for joint in joints[1:]]
    flexions = np.array([movement == "flexion" for movement in hand.movements])
    bending: Bools = flexions & np.isin(hand.axis_joint, outer) & np.isin(np.arange(hand.dofs) + ROOT_DOFS, free)
    return bending


def _over_free(rows: Floats, free: Ints) -> Floats:
    """Convert rows over the angles (C, D) to rows over the free variables (C, k)."""
    result: Floats = np.concatenate([np.zeros((len(rows), ROOT_DOFS)), rows], axis=1)[:, free]
    return result


def angles_of(hand: HandModel, digits: Collection[str]) -> Ints:
    """Return the indices (k,) of the angles of some digits, as in hand.jacobians."""
    joints = [JOINT_INDEX[joint] for digit in digits for joint in CHAIN_JOINTS[digit]]
    return ROOT_DOFS + np.flatnonzero(np.isin(hand.axis_joint, joints))


def relative_size(hand: HandModel) -> float:
    """Return the length of a hand relative to REFERENCE_LENGTH."""
    return middle_finger_length(hand) / REFERENCE_LENGTH


def middle_finger_length(hand: HandModel) -> float:
    """Return the length of the middle finger from its knuckle, m."""
    bones = [hand.rest[hand.joints.index(joint), :3, 3] for joint in CHAIN_JOINTS["middle-finger"][1:]]
    return float(np.linalg.norm(bones, axis=-1).sum())
