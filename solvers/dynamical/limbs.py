"""A hand cut into limbs whose joints turn independently once the wrist is known: its digits, unless couplings tie them.

The differential kinematics of a hand on a known wrist is block diagonal. Each block is a program of four to six
variables, in place of one of 26: at a hand a frame it goes through in plain floats.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...hand.jacobians import linkage
from ...hand.model import Coupling, HandModel
from ...hand.scalar_math import Point

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Columns = tuple[Point[float], Point[float], Point[float]]
"""A rotation matrix by its columns: where x, y and z go."""


Frame = tuple[Point[float], Point[float], Point[float], Point[float]]
"""The columns x, y, z and the place."""


class LimbDof(NamedTuple):
    """A degree of freedom in the order of a limb: a fixed move from the turn before, then a turn about one axis."""

    before: int
    """The limb's turn that carries this one; −1 for the wrist."""
    begin: Frame | None
    """Of a turn that the wrist carries, its frame before it turns."""
    fixed: Columns | None
    """None for the identity."""
    offset: Point[float]
    """m, in the frame of the turn before."""
    axis: int
    """0, 1 or 2: x, y or z of the frame after `fixed`."""
    sign: float
    """−1 where it turns the other way about that axis."""


class LimbSite(NamedTuple):
    """A target on a limb."""

    column: int
    """Which of the targets it is."""
    turn: int
    """The last turn that moves it."""
    fixed: Columns | None
    """From that turn's frame to the frame of its joint; None for the identity."""
    offset: Point[float]
    """m, in that turn's frame."""
    moves: bool
    """Whether it changes its place, as a joint in the palm does not."""
    moved_by: tuple[int, ...]
    """Turns that move it, outermost last."""


class CouplingTerm(NamedTuple):
    """A coupling of a limb."""

    turns: tuple[int, ...]
    coefficients: tuple[float, ...]
    lower: float
    upper: float
    soft: bool


@dataclass(frozen=True, slots=True)
class LimbWeights:
    """What a wrong turn and a coupling missed weigh against a misplaced target."""

    turn: float
    """m that one radian of a wrong turn counts as."""
    coupling: float
    """m that a soft coupling missed by one radian counts as."""
    end: float = 1.0
    """How many times a limb's outermost place counts where others are seen on it."""


@dataclass(frozen=True, slots=True, eq=False)
class LimbModel:
    """Joints of a hand that move no target of another limb, and are coupled to none."""

    dofs: list[int]
    """(n,) the hand's degrees of freedom, those nearer the wrist first."""
    turns: tuple[LimbDof, ...]
    """(n,)"""
    marks: tuple[LimbSite, ...]
    rows: tuple[CouplingTerm, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    """(n,) rad"""
    worth: LimbWeights
    hard: tuple[CouplingTerm, ...]
    """The couplings that hold whatever the targets are."""
    told: tuple[bool, ...]
    """(n,) of which turns all marks together tell."""


def limbs_of(hand: HandModel, sites: list[int], worth: LimbWeights) -> tuple[LimbModel, ...]:
    """The limbs of a hand whose targets are on these sites."""
    together = _together(hand)
    limbs, left = [], list(range(hand.dofs))
    while left:
        dofs = [dof for dof in left if together[left[0], dof]]
        left = [dof for dof in left if dof not in dofs]
        limbs.append(_limb(hand, dofs, sites, worth))
    return tuple(limbs)


def _together(hand: HandModel) -> Bools:
    """(D, D) whether degrees of freedom are of the same limb: one carries the other, or a coupling ties them."""
    carries = linkage(hand).moves[hand.axis_joint]
    linked: Bools = carries | carries.T
    for row in hand.couplings:
        tied = np.flatnonzero(row.coefficients)
        linked[np.ix_(tied, tied)] = True
    reached = linked
    while True:
        further: Bools = (reached.astype(int) @ linked.astype(int)) > 0
        if np.array_equal(further, reached):
            return reached
        reached = further


def _limb(hand: HandModel, dofs: list[int], sites: list[int], worth: LimbWeights) -> LimbModel:
    index = {dof: turn for turn, dof in enumerate(dofs)}
    turns = [_turn(hand, dof, index) for dof in dofs]
    # What follows a turn begins with taking back the axes that it was turned into.
    backs = [_into_axis(hand.axes[dof]).T for dof in dofs]
    kept = []
    for (before, move), dof in zip(turns, dofs, strict=True):
        into = _into_axis(hand.axes[dof])
        back = np.eye(3) if before < 0 else backs[before]
        axis = int(np.abs(into.T @ hand.axes[dof]).argmax())
        sign = float(np.sign((into.T @ hand.axes[dof])[axis]))
        frame, place = back @ move[:3, :3] @ into, _point(back @ move[:3, 3])
        x, y, z = (_point(column) for column in frame.T)
        kept.append(LimbDof(before, (x, y, z, place) if before < 0 else None, _columns(frame), place, axis, sign))
    moved_by: list[tuple[int, ...]] = []
    for number, turn in enumerate(kept):
        moved_by.append((*(moved_by[turn.before] if turn.before >= 0 else ()), number))
    marks = []
    for column, number in enumerate(sites):
        site = hand.sites[number]
        before, move = _down_to_turn(hand, site.joint, index)
        if before < 0:
            continue
        place = backs[before] @ (move[:3, :3] @ np.array(site.offset) + move[:3, 3])
        fixed = _columns(backs[before] @ move[:3, :3])
        at = hand.parents[site.joint] if not any(site.offset) else site.joint
        moves = bool(at >= 0 and linkage(hand).moves[at].any())
        marks.append(LimbSite(column, before, fixed, _point(place), moves, moved_by[before]))
    # As planar solvers have them: the outermost first.
    marks.sort(key=lambda mark: (-len(mark.moved_by), -math.hypot(*mark.offset)))
    rows = tuple(_row(row, index) for row in hand.couplings if set(np.flatnonzero(row.coefficients)) & set(dofs))
    hard = tuple(row for row in rows if not row.soft)
    told = through(rows, [any(turn in mark.moved_by for mark in marks) for turn in range(len(kept))])
    low, high = hand.limits[dofs].T.tolist()
    return LimbModel(dofs, tuple(kept), tuple(marks), rows, tuple(low), tuple(high), worth, hard, tuple(told))


def through(rows: tuple[CouplingTerm, ...], known: list[Any]) -> list[Any]:
    """(n,) which turns are known when couplings tell of one by another."""
    known = list(known)
    for _ in rows:
        for row in rows:
            some: Any = False
            for turn in row.turns:
                some = some | known[turn]
            for turn in row.turns:
                known[turn] = known[turn] | some
    return known


def _turn(hand: HandModel, dof: int, index: dict[int, int]) -> tuple[int, Floats]:
    """The turn that carries a degree of freedom, −1 for the wrist, and the fixed move (4, 4) from it."""
    joint = int(hand.axis_joint[dof])
    if dof - 1 in index and hand.axis_joint[dof - 1] == joint:
        return index[dof - 1], np.eye(4)
    before, move = _down_to_turn(hand, hand.parents[joint], index)
    return before, move @ hand.rest[joint]


def _down_to_turn(hand: HandModel, joint: int, index: dict[int, int]) -> tuple[int, Floats]:
    """The last turn that moves a joint's frame, −1 if the limb has none, and the fixed move (4, 4) from it."""
    move = np.eye(4)
    while joint >= 0:
        own = [dof for dof in np.flatnonzero(hand.axis_joint == joint) if dof in index]
        if own:
            return index[int(own[-1])], move
        move = hand.rest[joint] @ move
        joint = hand.parents[joint]
    return -1, move


def _into_axis(axis: Floats) -> Floats:
    """(3, 3) a frame one of whose axes is along a unit axis: the identity for x, y and z."""
    if np.abs(axis).max() > 1 - 1e-15:
        return np.eye(3)
    other = np.eye(3)[np.abs(axis).argmin()]
    y = np.cross(axis, other)
    y = y / np.linalg.norm(y)
    return np.stack([axis, y, np.cross(axis, y)], axis=1)


def _columns(matrix: Floats) -> Columns | None:
    if np.abs(matrix - np.eye(3)).max() < 1e-15:
        return None
    x, y, z = matrix.T
    return _point(x), _point(y), _point(z)


def _point(vector: Floats) -> Point[float]:
    x, y, z = vector.tolist()
    return x, y, z


def _row(row: Coupling, index: dict[int, int]) -> CouplingTerm:
    dofs = np.flatnonzero(row.coefficients)
    coefficients = tuple(row.coefficients[dofs].tolist())
    return CouplingTerm(tuple(index[int(dof)] for dof in dofs), coefficients, row.lower, row.upper, row.soft)
