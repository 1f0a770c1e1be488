"""A hand as five planar chains on a rigid palm, the model of FABRIK-CGA section 3.4."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...errors import HandError
from ...hand.joints import CHAIN_JOINTS, DIGITS
from ...hand.model import HandModel, Movement, Site
from .closest_pose import DigitDof
from .planar_chain import ChainMarker

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class PlanarDigit:
    """A finger or thumb: three bones that bend in one plane, on a base that is fixed to the palm."""

    name: str
    joints: tuple[int, int, int, int]
    """The indices of MCP, PIP, DIP and tip; for the thumb CMC, MCP, IP and tip."""
    T_wrist_base: Floats
    """(4, 4) frame of the first joint at zero angles."""
    lengths: Floats
    """(3,) m."""
    abduction: int
    twist: int
    side_bend: int
    """Indices of the first joint's abduction and twist, and of the second joint's abduction; −1 if missing."""
    flexions: tuple[int, int, int]
    coupling_offset: float
    """rad; last flexion = ratio · middle flexion + coupling_offset."""
    ratio: float
    """The coupling's slope, ρ of thesis (4.2)."""


def digits(hand: HandModel) -> tuple[PlanarDigit, ...]:
    """Return the hand's digits. Raises HandError unless the hand has five flexing digits on a rigid palm."""
    return tuple(_digit(hand, name) for name in DIGITS)


SHORTEST_BONE_M = 1e-6
"""m, minimum length of a bone with a direction."""


def _digit(hand: HandModel, name: str) -> PlanarDigit:
    first, middle, last, tip = (hand.joints.index(joint) for joint in CHAIN_JOINTS[name])
    base = np.eye(4)
    joint = first
    while joint >= 0:
        if joint != first and (hand.axis_joint == joint).any():
            raise HandError(f"{hand.side} hand: {hand.joints[joint]} moves, this solver needs a rigid palm")
        base = hand.rest[joint] @ base
        joint = hand.parents[joint]
    for bone in (middle, last, tip):
        if not np.allclose(hand.rest[bone, :3, :3], np.eye(3)) or not np.allclose(hand.rest[bone, [0, 2], 3], 0):
            raise HandError(f"{hand.side} hand: {hand.joints[bone]} is not straight on from its parent at zero angles")
        if not hand.rest[bone, 1, 3] > SHORTEST_BONE_M:
            length = 1000 * hand.rest[bone, 1, 3]
            raise HandError(
                f"{hand.side} hand: the bone from {hand.joints[hand.parents[bone]]} to {hand.joints[bone]} is "
                f"{length:.4f} mm long, this solver needs it longer than {1000 * SHORTEST_BONE_M:g} mm"
            )

    def dof(index: int, movement: Movement) -> int:
        index_or_none = hand.dof(hand.joints[index], movement)
        return -1 if index_or_none is None else index_or_none

    flexions = (dof(first, "flexion"), dof(middle, "flexion"), dof(last, "flexion"))
    if -1 in flexions:
        raise HandError(f"{hand.side} hand: the {name} has no flexion in each of its three joints")
    ratio, coupling_offset = _coupling(hand, flexions[1], flexions[2])
    return PlanarDigit(
        name=name,
        joints=(first, middle, last, tip),
        T_wrist_base=base,
        lengths=hand.rest[[middle, last, tip], 1, 3],
        abduction=dof(first, "abduction"),
        twist=dof(first, "twist"),
        side_bend=dof(middle, "abduction"),
        flexions=flexions,
        coupling_offset=coupling_offset,
        ratio=ratio,
    )


def chain_marker(digit: PlanarDigit, site: Site) -> tuple[ChainMarker, float] | None:
    """Return a site as a marker on one of a digit's bones, and its offset from the finger plane in X, m.

    None for a site of another digit, or at the digit's first joint, which its bones do not move.
    """
    if site.joint not in digit.joints:
        return None
    start = digit.joints.index(site.joint)
    x, y, z = site.offset
    if any(site.offset) and start < 3:
        return ChainMarker(start, y, z), x
    return (ChainMarker(start - 1, float(digit.lengths[start - 1]) + y, z), x) if start > 0 else None


def dofs_moving(hand: HandModel, digit: PlanarDigit, end: ChainMarker, lateral: float) -> tuple[DigitDof, ...]:
    """Return the degrees of freedom that move a marker, innermost first. lateral: m, offset from the finger plane."""
    dofs = [d for d in range(hand.dofs) if hand.axis_joint[d] in digit.joints[: end.bone + 1]]
    bones = [digit.joints.index(int(hand.axis_joint[d])) for d in dofs]
    digit_dofs = []
    for d, bone, following in zip(dofs, bones, [*bones[1:], None], strict=True):
        low, high = map(float, hand.limits[d])
        straight = (0.0, 0.0 if following is None else float(digit.lengths[bone:following].sum()), 0.0)
        offset = (lateral, end.along, end.dorsal) if following is None else straight
        digit_dofs.append(DigitDof(d, hand.movements[d], low, high, offset))
    return tuple(digit_dofs)


def _coupling(hand: HandModel, middle: int, last: int) -> tuple[float, float]:
    """Return slope and offset of the coupling from the middle to the last joint.

    If the hand has no coupling row for the two joints, both are assumed to move through the same fraction of their
    ranges.
    """
    for row in hand.couplings:
        if set(np.flatnonzero(row.coefficients)) == {middle, last}:
            slope, scale = -row.coefficients[middle], row.coefficients[last]
            return float(slope / scale), float((row.lower + row.upper) / 2 / scale)
    (low, high), (low_last, high_last) = hand.limits[middle], hand.limits[last]
    ratio = float((high_last - low_last) / (high - low)) if high > low else 0.0
    return ratio, float((low_last + high_last) / 2 - ratio * (low + high) / 2)
