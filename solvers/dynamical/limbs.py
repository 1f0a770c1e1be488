"""A hand split into limbs that are independent once the wrist is known: its digits, unless couplings link them.

With the wrist known, the hand's differential kinematics is block diagonal. Each block is a program of four to six
variables instead of one of 26, small enough for plain floats when solving frame by frame.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...hand.jacobians import hand_topology
from ...hand.model import Coupling, HandModel
from ...hand.scalar_math import Point

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Columns = tuple[Point[float], Point[float], Point[float]]
"""A rotation matrix by its columns."""


Frame = tuple[Point[float], Point[float], Point[float], Point[float]]
"""The columns x, y, z of the rotation, and the position."""


class LimbDof(NamedTuple):
    """A degree of freedom of a limb: a constant transform from its parent, then a rotation about one axis."""

    before: int
    """Index of the parent degree of freedom in the limb; −1 for the wrist."""
    begin: Frame | None
    """The frame before the rotation if the parent is the wrist, else None."""
    fixed: Columns | None
    """Rotation from the parent's frame; None for the identity."""
    offset: Point[float]
    """m, in the parent's frame."""
    axis: int
    """0, 1 or 2: x, y or z of the frame after `fixed`."""
    sign: float
    """−1 where a positive angle is a negative rotation about that axis."""


class LimbSite(NamedTuple):
    """A target site on a limb."""

    column: int
    """Index of its target."""
    turn: int
    """The last degree of freedom that moves it."""
    fixed: Columns | None
    """Rotation from that degree of freedom's frame to the joint's frame; None for the identity."""
    offset: Point[float]
    """m, in that degree of freedom's frame."""
    moves: bool
    """Whether its position changes; that of a joint in the palm does not."""
    moved_by: tuple[int, ...]
    """Degrees of freedom that move it, outermost last."""


class CouplingTerm(NamedTuple):
    """A coupling between degrees of freedom of a limb: lower ≤ Σ coefficient · angle ≤ upper."""

    turns: tuple[int, ...]
    coefficients: tuple[float, ...]
    lower: float
    upper: float
    soft: bool


@dataclass(frozen=True, slots=True)
class LimbWeights:
    """Weights of rotation errors and couplings relative to position errors."""

    turn: float
    """m of position error that a rotation error of one radian counts as."""
    coupling: float
    """m of position error that a soft coupling violated by one radian counts as."""
    end: float = 1.0
    """Factor on the weight of a limb's outermost position target where the limb has others."""


@dataclass(frozen=True, slots=True, eq=False)
class LimbModel:
    """Joints of a hand that neither move a target of another limb nor are coupled to one."""

    dofs: list[int]
    """(n,) indices into the hand's degrees of freedom, those nearer the wrist first."""
    turns: tuple[LimbDof, ...]
    """(n,)"""
    marks: tuple[LimbSite, ...]
    rows: tuple[CouplingTerm, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    """(n,) rad"""
    worth: LimbWeights
    hard: tuple[CouplingTerm, ...]
    """The couplings that are constraints; the others are part of the cost."""
    told: tuple[bool, ...]
    """(n,) which degrees of freedom the targets determine if every site has one."""


def limbs_of(hand: HandModel, sites: list[int], worth: LimbWeights) -> tuple[LimbModel, ...]:
    """Split a hand into limbs. sites: (T,) indices of the hand's sites that have targets."""
    together = _together(hand)
    limbs, left = [], list(range(hand.dofs))
    while left:
        dofs = [dof for dof in left if together[left[0], dof]]
        left = [dof for dof in left if dof not in dofs]
        limbs.append(_limb(hand, dofs, sites, worth))
    return tuple(limbs)


def _together(hand: HandModel) -> Bools:
    """(D, D) whether two degrees of freedom belong to the same limb: one moves the other, or a coupling links them."""
    carries = hand_topology(hand).affected_by[hand.axis_joint]
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
    # A child's transform first undoes the rotation into its parent's axis frame.
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
        moves = bool(at >= 0 and hand_topology(hand).affected_by[at].any())
        marks.append(LimbSite(column, before, fixed, _point(place), moves, moved_by[before]))
    # The outermost first, as in the planar solvers.
    marks.sort(key=lambda mark: (-len(mark.moved_by), -math.hypot(*mark.offset)))
    rows = tuple(_row(row, index) for row in hand.couplings if set(np.flatnonzero(row.coefficients)) & set(dofs))
    hard = tuple(row for row in rows if not row.soft)
    told = through(rows, [any(turn in mark.moved_by for mark in marks) for turn in range(len(kept))])
    low, high = hand.limits[dofs].T.tolist()
    return LimbModel(dofs, tuple(kept), tuple(marks), rows, tuple(low), tuple(high), worth, hard, tuple(told))


def through(rows: tuple[CouplingTerm, ...], known: list[Any]) -> list[Any]:
    """(n,) which degrees of freedom are known once couplings carry knowledge from one to another."""
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
    """The parent of a degree of freedom, −1 for the wrist, and the constant transform (4, 4) from it."""
    joint = int(hand.axis_joint[dof])
    if dof - 1 in index and hand.axis_joint[dof - 1] == joint:
        return index[dof - 1], np.eye(4)
    before, move = _down_to_turn(hand, hand.parents[joint], index)
    return before, move @ hand.rest[joint]


def _down_to_turn(hand: HandModel, joint: int, index: dict[int, int]) -> tuple[int, Floats]:
    """The last degree of freedom that moves a joint, −1 if none, and the constant transform (4, 4) from it."""
    move = np.eye(4)
    while joint >= 0:
        own = [dof for dof in np.flatnonzero(hand.axis_joint == joint) if dof in index]
        if own:
            return index[int(own[-1])], move
        move = hand.rest[joint] @ move
        joint = hand.parents[joint]
    return -1, move


def _into_axis(axis: Floats) -> Floats:
    """(3, 3) a frame with one axis along a unit vector; the identity for x, y and z."""
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
