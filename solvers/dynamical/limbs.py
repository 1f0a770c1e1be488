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
from ...hand.rotations import perpendicular
from ...hand.scalar_math import Point

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Columns = tuple[Point[float], Point[float], Point[float]]
"""A rotation matrix by its columns."""


Frame = tuple[Point[float], Point[float], Point[float], Point[float]]
"""The columns x, y, z of the rotation, and the position."""


class LimbDof(NamedTuple):
    """A degree of freedom of a limb: a constant transform from its parent, then a rotation about one axis."""

    parent: int
    """Index of the parent degree of freedom in the limb; −1 for the wrist."""
    root_frame: Frame | None
    """The frame before the rotation if the parent is the wrist, else None."""
    rest_rotation: Columns | None
    """Rotation from the parent's frame; None for the identity."""
    offset: Point[float]
    """m, in the parent's frame."""
    axis: int
    """0, 1 or 2: x, y or z of the frame after `rest_rotation`."""
    sign: float
    """−1 where a positive angle is a negative rotation about that axis."""


class LimbSite(NamedTuple):
    """A target site on a limb."""

    target: int
    """Index of its target."""
    dof: int
    """The last degree of freedom that moves it."""
    rest_rotation: Columns | None
    """Rotation from that degree of freedom's frame to the joint's frame; None for the identity."""
    offset: Point[float]
    """m, in that degree of freedom's frame."""
    translates: bool
    """Whether its position changes; that of a joint in the palm does not."""
    moved_by: tuple[int, ...]
    """Degrees of freedom that move it, outermost last."""


class LimbCoupling(NamedTuple):
    """A coupling between degrees of freedom of a limb: lower ≤ Σ coefficient · angle ≤ upper."""

    dofs: tuple[int, ...]
    coefficients: tuple[float, ...]
    lower: float
    upper: float
    soft: bool


@dataclass(frozen=True, slots=True)
class LimbWeights:
    """Weights of rotation errors and couplings relative to position errors."""

    rotation: float
    """m of position error that a rotation error of one radian counts as."""
    coupling: float
    """m of position error that a soft coupling violated by one radian counts as."""
    end: float = 1.0
    """Factor on the weight of a limb's outermost position target where the limb has others."""


@dataclass(frozen=True, slots=True, eq=False)
class LimbModel:
    """Joints of a hand that neither move targets of other limbs nor are coupled to other limbs."""

    hand_dofs: list[int]
    """(n,) indices into the hand's degrees of freedom, those nearer the wrist first."""
    dofs: tuple[LimbDof, ...]
    """(n,)"""
    sites: tuple[LimbSite, ...]
    couplings: tuple[LimbCoupling, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    """(n,) rad"""
    weights: LimbWeights
    hard_couplings: tuple[LimbCoupling, ...]
    """The couplings that are constraints; the others are part of the cost."""
    observable: tuple[bool, ...]
    """(n,) which degrees of freedom the targets determine if every site has one."""


def split_into_limbs(hand: HandModel, sites: list[int], weights: LimbWeights) -> tuple[LimbModel, ...]:
    """Split a hand into limbs. sites: (T,) indices of the hand's sites that have targets."""
    linked = _linked_dofs(hand)
    limbs, remaining = [], list(range(hand.dofs))
    while remaining:
        hand_dofs = [dof for dof in remaining if linked[remaining[0], dof]]
        remaining = [dof for dof in remaining if dof not in hand_dofs]
        limbs.append(_limb(hand, hand_dofs, sites, weights))
    return tuple(limbs)


def _linked_dofs(hand: HandModel) -> Bools:
    """Return (D, D) whether two degrees of freedom belong to the same limb: one moves the other, or a coupling links
    them."""
    moves = hand_topology(hand).affected_by[hand.axis_joint]
    linked: Bools = moves | moves.T
    for coupling in hand.couplings:
        coupled = np.flatnonzero(coupling.coefficients)
        linked[np.ix_(coupled, coupled)] = True
    # The transitive closure.
    while True:
        further: Bools = (linked.astype(int) @ linked.astype(int)) > 0
        if np.array_equal(further, linked):
            return linked
        linked = further


def _limb(hand: HandModel, hand_dofs: list[int], sites: list[int], weights: LimbWeights) -> LimbModel:
    index = {hand_dof: dof for dof, hand_dof in enumerate(hand_dofs)}
    axis_frames = [_axis_frame(hand.axes[hand_dof]) for hand_dof in hand_dofs]
    dofs = []
    for hand_dof, axis_frame in zip(hand_dofs, axis_frames, strict=True):
        parent, transform = _parent(hand, hand_dof, index)
        # A child's transform first undoes the rotation into its parent's axis frame.
        back = np.eye(3) if parent < 0 else axis_frames[parent].T
        axis = int(np.abs(axis_frame.T @ hand.axes[hand_dof]).argmax())
        sign = float(np.sign((axis_frame.T @ hand.axes[hand_dof])[axis]))
        rotation, position = back @ transform[:3, :3] @ axis_frame, _point(back @ transform[:3, 3])
        x, y, z = (_point(column) for column in rotation.T)
        root_frame = (x, y, z, position) if parent < 0 else None
        dofs.append(LimbDof(parent, root_frame, _columns(rotation), position, axis, sign))
    moved_by: list[tuple[int, ...]] = []
    for number, dof in enumerate(dofs):
        moved_by.append((*(moved_by[dof.parent] if dof.parent >= 0 else ()), number))
    limb_sites = []
    for target, number in enumerate(sites):
        site = hand.sites[number]
        last, transform = _last_dof_moving(hand, site.joint, index)
        if last < 0:
            continue
        back = axis_frames[last].T
        position = _point(back @ (transform[:3, :3] @ np.array(site.offset) + transform[:3, 3]))
        carrier = hand.parents[site.joint] if not any(site.offset) else site.joint
        translates = bool(carrier >= 0 and hand_topology(hand).affected_by[carrier].any())
        rest_rotation = _columns(back @ transform[:3, :3])
        limb_sites.append(LimbSite(target, last, rest_rotation, position, translates, moved_by[last]))
    # The outermost first, as in the planar solvers.
    limb_sites.sort(key=lambda site: (-len(site.moved_by), -math.hypot(*site.offset)))
    couplings = tuple(
        _coupling(coupling, index)
        for coupling in hand.couplings
        if set(np.flatnonzero(coupling.coefficients)) & set(hand_dofs)
    )
    moves_site = [any(dof in site.moved_by for site in limb_sites) for dof in range(len(dofs))]
    low, high = hand.limits[hand_dofs].T.tolist()
    return LimbModel(
        hand_dofs=hand_dofs,
        dofs=tuple(dofs),
        sites=tuple(limb_sites),
        couplings=couplings,
        low=tuple(low),
        high=tuple(high),
        weights=weights,
        hard_couplings=tuple(coupling for coupling in couplings if not coupling.soft),
        observable=tuple(known_through_couplings(couplings, moves_site)),
    )


def known_through_couplings(couplings: tuple[LimbCoupling, ...], is_known: list[Any]) -> list[Any]:
    """Return (n,) which degrees of freedom are known directly or through couplings."""
    is_known = list(is_known)
    for _ in couplings:
        for coupling in couplings:
            any_known: Any = False
            for dof in coupling.dofs:
                any_known = any_known | is_known[dof]
            for dof in coupling.dofs:
                is_known[dof] = is_known[dof] | any_known
    return is_known


def _parent(hand: HandModel, hand_dof: int, index: dict[int, int]) -> tuple[int, Floats]:
    """Return the parent of a degree of freedom, −1 for the wrist, and the constant transform (4, 4) from it."""
    joint = int(hand.axis_joint[hand_dof])
    if hand_dof - 1 in index and hand.axis_joint[hand_dof - 1] == joint:
        return index[hand_dof - 1], np.eye(4)
    parent, transform = _last_dof_moving(hand, hand.parents[joint], index)
    return parent, transform @ hand.rest[joint]


def _last_dof_moving(hand: HandModel, joint: int, index: dict[int, int]) -> tuple[int, Floats]:
    """Return the last degree of freedom that moves a joint, −1 if none, and the constant transform (4, 4) from it."""
    transform = np.eye(4)
    while joint >= 0:
        joint_dofs = [dof for dof in np.flatnonzero(hand.axis_joint == joint) if dof in index]
        if joint_dofs:
            return index[int(joint_dofs[-1])], transform
        transform = hand.rest[joint] @ transform
        joint = hand.parents[joint]
    return -1, transform


def _axis_frame(axis: Floats) -> Floats:
    """Return a frame (3, 3) with one axis along a unit vector; the identity for x, y and z."""
    if np.abs(axis).max() > 1 - 1e-15:
        return np.eye(3)
    y = perpendicular(axis)
    return np.stack([axis, y, np.cross(axis, y)], axis=1)


def _columns(matrix: Floats) -> Columns | None:
    if np.abs(matrix - np.eye(3)).max() < 1e-15:
        return None
    x, y, z = matrix.T
    return _point(x), _point(y), _point(z)


def _point(vector: Floats) -> Point[float]:
    x, y, z = vector.tolist()
    return x, y, z


def _coupling(coupling: Coupling, index: dict[int, int]) -> LimbCoupling:
    hand_dofs = np.flatnonzero(coupling.coefficients)
    return LimbCoupling(
        tuple(index[int(hand_dof)] for hand_dof in hand_dofs),
        tuple(coupling.coefficients[hand_dofs].tolist()),
        coupling.lower,
        coupling.upper,
        coupling.soft,
    )
