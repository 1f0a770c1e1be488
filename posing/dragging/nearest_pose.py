"""Of all poses that bring points of a hand to places, or as near as limits let them, the one nearest to a given pose.

With the weights in metres, what is minimised over the angles q and, where it is free, the wrist is

    Σ worth² |p − p̂|² + COUPLING² Σ (x + x³ / GIVE²)² + POSTURE² Σ ((q − q₀) / range)²,  x = c·(q − q₀)

A fingertip takes three of a finger's five angles: the tendons' coupling and the pose q₀ at which it began have the
rest. Steps are Newton's, inside the limits (`solvers/qp`), from a pose that is near: few are needed then.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...hand.jacobians import BASE, log_errors, moved
from ...hand.joints import CHAIN_JOINTS
from ...hand.kinematics import Pose
from ...hand.model import HandModel
from ...solvers.qp import quadratic_program as qp
from .joint_path import Path, crossed

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

USUAL = 0.1
"""m, the length of the middle finger of the hands that the weights are meant for; they grow with it."""
POSTURE = 0.001
"""m, what a joint's whole range away from the pose at the beginning counts. A tip that can be reached is off by some
thousandths of a millimetre for it, and no joint swings far for less than that."""
COUPLING = 0.004
"""m, what a radian counts by which a coupling is off what it was at the beginning."""
GIVE = np.deg2rad(20.0)
"""rad by which it may well be off; far beyond no finger bends its last joint alone."""
PASSIVE = 5.0
"""How many times more a twist counts: it is what joints yield, nothing that a muscle does alone."""
NARROW = 1e-3
"""rad, ranges of joints that hardly move count as this wide."""
STEPS = 20
LARGEST = 0.3
"""rad, and parts of a metre: no step goes further."""
SMALL = 1e-5
"""rad, and parts of a metre: a step that is shorter is the last."""
HARDER, EASIER, TRUST = 10.0, 0.1, 1e-6
"""Levenberg-Marquardt: what λ is multiplied by after a step that failed, and after one that did not; the first λ that
is not zero, as part of the Hessian's largest element."""
SAME = 1.0 + 1e-9
NUDGE, BETTER = 0.05, 1e-6
"""rad, and parts of a metre, how far beside the crest between two bends a search goes on; and the part of what a pose
costs that it must save by that."""
UNITS: Floats = np.eye(3)
GAIN = 1e-7
"""Part of what a pose costs: a step that saves less is the last."""


@dataclass(frozen=True, slots=True, eq=False)
class Wish:
    """Where a point of a hand shall be, or how far it shall be from another one."""

    site: int
    place: Floats
    """(3,) m in the world; with another site, the way from there in the wrist's frame."""
    worth: float = 1.0
    other: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """What of a hand may change, and what it is to stay near to."""

    begun: Pose
    """One frame."""
    free: Ints
    """(k,) ascending, what may change of (v, ω, q): the numbers of hand.jacobians."""
    weights: Floats
    """(k,) m a radian, or part of a metre: the posture's."""
    rows: Floats
    """(C, k) m a radian: the couplings'."""
    give: float
    """m, how far these are astray where they are twice as stiff."""
    paths: dict[int, Path]
    """site -> the way there, of all that wishes may name."""

    @property
    def hand(self) -> HandModel:
        """Whose pose it is."""
        return self.begun.hand

    @property
    def floats(self) -> bool:
        """Whether the wrist may move."""
        return bool(self.free.size and self.free[0] < BASE)

    @property
    def turns(self) -> bool:
        """Whether the wrist may turn."""
        return bool(np.any((self.free[:BASE] >= 3) & (self.free[:BASE] < BASE)))


def question(begun: Pose, free: Ints, sites: Sequence[int], *, coupled: bool = True) -> Question:
    """What is asked of a hand. coupled: whether the last joint of a finger goes with the one before it."""
    hand = begun.hand
    unit = length(hand) / USUAL
    low, high = hand.limits.T
    posture = POSTURE * unit / np.maximum(high - low, NARROW)
    posture[np.array(hand.movements) == "twist"] *= PASSIVE
    # The wrist's place needs no posture: what is asked of it tells all of it.
    base = np.concatenate([np.full(3, 1e-6), np.full(3, POSTURE * unit)])
    rows = np.zeros((len(hand.couplings) if coupled else 0, BASE + hand.dofs))
    for row, coupling in zip(rows, hand.couplings, strict=False):
        row[BASE:] = COUPLING * unit * coupling.coefficients
    rows = rows[:, free]
    paths = {site: Path.to(hand, site) for site in sites}
    weights, give = np.concatenate([base, posture])[free], COUPLING * unit * GIVE
    return Question(begun, free, weights, rows[np.any(rows != 0, axis=1)], give, paths)


def nearest(
    asked: Question, wishes: Sequence[Wish], last: Pose | None = None, *, patient: bool = True
) -> tuple[Pose, float]:
    """The pose of one frame and m² what it costs; `last` is where the search begins, the pose at the beginning if it
    is None; patient: whether it goes on where a step has led it astray."""
    start = last or asked.begun
    here, trust = _Here(start.root, start.angles, _at(asked, wishes, start.root, start.angles)), 0.0
    for _ in range(STEPS):
        there, way = _stepped(asked, wishes, here, trust)
        astray = there.at.cost > SAME * here.at.cost
        if astray and not patient:
            break
        if astray and len(wishes) > 1:
            # A step that was long for the bend of a pin's way has left the pin: the next one brings it back.
            there, _ = _stepped(asked, wishes, there, trust)
        if there.at.cost <= SAME * here.at.cost:
            gained, here = here.at.cost - there.at.cost, there
            trust = trust * EASIER if trust > TRUST else 0.0
        else:
            gained, trust = np.inf, max(trust * HARDER, TRUST)
        if way < SMALL or gained < GAIN * here.at.cost:
            beside = _beside_saddle(asked, wishes, here)
            if beside is None:
                break
            here, trust = beside, 0.0
    return Pose(asked.hand, here.root, here.angles), here.at.cost


@dataclass(frozen=True, slots=True, eq=False)
class _Here:
    """Where a search is."""

    root: Floats
    """(1, 4, 4)"""
    angles: Floats
    """(1, D) rad"""
    at: "_Slopes"


def _beside_saddle(asked: Question, wishes: Sequence[Wish], here: _Here) -> _Here | None:
    """Where it goes on from a place that is no least but the crest between two: a straight finger that is pushed along
    itself bends either way, and goes where it is better; None from a least."""
    values, ways = np.linalg.eigh(here.at.square + here.at.bends)
    if values[0] >= 0.0:
        return None
    way = ways[:, 0] * (NUDGE / np.abs(ways[:, 0]).max())
    best = min((_gone(asked, wishes, here, step) for step in (way, -way)), key=lambda there: there.at.cost)
    return best if best.at.cost < (1.0 - BETTER) * here.at.cost else None


def _stepped(asked: Question, wishes: Sequence[Wish], here: _Here, trust: float) -> tuple[_Here, float]:
    """Where a step leads, and its largest part."""
    low, high = asked.hand.limits.T
    ends = np.full(BASE, LARGEST)
    least = np.concatenate([-ends, np.maximum(low - here.angles[0], -LARGEST)])[asked.free]
    most = np.concatenate([ends, np.minimum(high - here.angles[0], LARGEST)])[asked.free]
    step = here.at.step(trust, least, most, stiff=len(wishes) > 1)
    return _gone(asked, wishes, here, step), float(np.abs(step).max(initial=0.0))


def _gone(asked: Question, wishes: Sequence[Wish], here: _Here, step: Floats) -> _Here:
    """Where a step (k,) of what may change leads, inside the limits."""
    root, whole = here.root, np.zeros((1, BASE + asked.hand.dofs))
    whole[0, asked.free] = step
    if asked.turns:
        root, _ = moved(root, here.angles, whole)
    elif asked.floats:
        root = root.copy()
        root[0, :3, 3] += whole[0, :3]
    angles = np.clip(here.angles + whole[:, BASE:], *asked.hand.limits.T)
    return _Here(root, angles, _at(asked, wishes, root, angles))


@dataclass(frozen=True, slots=True, eq=False)
class _Slopes:
    """What is minimised, at a pose."""

    cost: float
    """Half the sum of squares."""
    gradient: Floats
    """(k,)"""
    square: Floats
    """(k, k) Gauss and Newton's part of the Hessian."""
    bends: Floats
    """(k, k) what it leaves out."""

    def step(self, trust: float, low: Floats, high: Floats, *, stiff: bool) -> Floats:
        """(k,) Newton's step between low and high (k,). Where there is no least it goes without the bends; stiff: down
        what bends downwards as if it bent upwards as much, which takes fewer steps, but now and then to farther off."""
        whole: Floats = self.square + self.bends
        whole[np.diag_indices_from(whole)] += trust * self.square.diagonal().max()
        try:
            np.linalg.cholesky(whole)
        except np.linalg.LinAlgError:
            if not stiff:
                whole -= self.bends
            else:
                values, ways = np.linalg.eigh(whole)
                whole[:] = (ways * np.maximum(np.abs(values), 1e-9 * values[-1])) @ ways.T
        step: Floats = np.asarray(-np.linalg.solve(whole, self.gradient), np.float64)
        if np.any(step < low) or np.any(step > high):
            step = qp.solve(qp.Program(whole, self.gradient, low, high, np.zeros((0, len(step))))).x
        return step


def _at(asked: Question, wishes: Sequence[Wish], root: Floats, angles: Floats) -> _Slopes:
    """What is minimised at a pose: root (1, 4, 4), angles (1, D)."""
    size, begun, free = BASE + asked.hand.dofs, asked.begun, asked.free
    off = np.zeros(size)
    off[BASE:] = (angles - begun.angles)[0]
    if asked.floats:
        off[:3] = (root - begun.root)[0, :3, 3]
    if asked.turns:
        off[3:BASE] = log_errors(root[0, :3, :3], begun.root[0, :3, :3])
    own, astray = asked.weights * off[free], asked.rows @ off[free]
    rowed, slope, bend = _stiffened(astray, asked.give)
    cost = own @ own + rowed @ rowed
    gradient = asked.weights * own + asked.rows.T @ (slope * rowed)
    square = asked.rows.T @ ((slope**2 + rowed * bend)[:, None] * asked.rows) + np.diag(asked.weights**2)
    bends = np.zeros((size, size))
    for wish in wishes:
        error, slopes = _of_wish(asked, wish, root[0], angles[0], bends)
        slopes = slopes[:, free]
        cost += error @ error
        gradient += slopes.T @ error
        square += slopes.T @ slopes
    return _Slopes(float(cost) / 2, gradient, square, bends[free[:, None], free])


def _stiffened(astray: Floats, give: float) -> tuple[Floats, Floats, Floats]:
    """What couplings cost that are so far (C,) m astray, its slope and how that changes: x + x³ / give²."""
    parts = astray / give
    return astray * (1.0 + parts**2), 1.0 + 3.0 * parts**2, 6.0 * parts / give


def _of_wish(asked: Question, wish: Wish, root: Floats, angles: Floats, bends: Floats) -> tuple[Floats, Floats]:
    """(3,) m how far a wish is off, (3, 6 + D) how that changes; adds what that bends to bends (6 + D, 6 + D)."""
    turn, lever, slopes = root[:3, :3], np.zeros(3), np.zeros((3, BASE + asked.hand.dofs))
    parts = []
    for site, worth in ((wish.site, wish.worth), (wish.other, -wish.worth)):
        if site is None:
            continue
        path = asked.paths[site]
        at, axes, places = path.at(angles)
        own = crossed(axes, at - places)
        lever = lever + worth * at
        slopes[:, path.dofs] += worth * (turn @ own.T)
        parts.append((path, worth, axes, own))
    if wish.other is None:
        lever = turn @ lever
        error = lever + wish.worth * (root[:3, 3] - wish.place)
    else:
        lever = turn @ (lever - wish.worth * wish.place)
        error = lever
    if asked.floats:
        slopes[:, :3] = wish.worth * UNITS if wish.other is None else 0.0
        slopes[:, 3:BASE] = crossed(UNITS, lever).T
    for path, worth, axes, own in parts:
        # Turning about a moves a point's slope J about any axis farther out by a × J, and e·(a × J) = (e × a)·J.
        half = path.outwards * (worth * crossed(error @ turn, axes) @ own.T)
        bends[path.dofs[:, None], path.dofs] += half + half.T - np.diag(half.diagonal())
    return error, slopes


def length(hand: HandModel) -> float:
    """m, of the middle finger."""
    bones = [hand.rest[hand.joints.index(joint), :3, 3] for joint in CHAIN_JOINTS["middle-finger"][1:]]
    return float(np.linalg.norm(bones, axis=-1).sum())
