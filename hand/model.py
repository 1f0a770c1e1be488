"""HandModel: a hand's joints, degrees of freedom, limits, couplings and sites.

Every joint's frame has its origin in the joint, +Y along the bone to the next joint, +Z out of the back of the hand and
+X to complete a right-handed frame (towards the little finger on a right hand, towards the thumb on a left one). That
is Blender's bone frame, and the palm frame of the wrist. At zero angles the fingers are straight.

A joint's rotation is R = R_abduction · R_twist · R_flexion = Rz · Ry · Rx, which is Blender's Euler order XYZ.
Abduction and twist thus choose the plane in which the digit curls (FABRIK-CGA's finger plane), and flexion moves within
it.

- abduction > 0 leans towards the thumb's side: about +Z on a right hand, −Z on a left one;
- twist > 0 tilts the finger plane about the straight finger: about +Y on a right hand, −Y on a left one;
- flexion > 0 curls towards the palm: about −X on both hands.
"""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import HandError
from .joints import Side

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

Movement = Literal["abduction", "twist", "flexion"]
AXES: dict[Movement, tuple[float, float, float]] = {
    "abduction": (0.0, 0.0, 1.0),
    "twist": (0.0, 1.0, 0.0),
    "flexion": (-1.0, 0.0, 0.0),
}
"""The axis of each movement in the joint's frame of a right hand, in the order in which the rotations are multiplied. A
left hand is its mirror image in X."""


@dataclass(frozen=True, slots=True)
class Site:
    """A named point fixed to a joint: the joint itself, or a marker's position."""

    name: str
    joint: int
    offset: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """m, in the joint's frame."""


@dataclass(frozen=True, slots=True, eq=False)
class Coupling:
    """A linear constraint on the angles: lower <= coefficients · angles <= upper. A soft one yields to the targets."""

    coefficients: Floats
    """(D,)"""
    lower: float
    upper: float
    soft: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class HandModel:
    """A hand of J joints with D degrees of freedom. Lengths in m, angles in rad.

    Raises:
        HandError: the arrays' shapes disagree, a limit's ends are swapped or a value is not finite.
    """

    side: Side
    joints: tuple[str, ...]
    """(J,) names, parents before children; the first is the root."""
    parents: tuple[int, ...]
    """(J,) index of the parent, −1 for the root."""
    rest: Floats
    """(J, 4, 4) T_parent_joint at angles of zero; the root's is the identity."""
    movements: tuple[Movement, ...]
    """(D,) the movement of each degree of freedom."""
    axes: Floats
    """(D, 3) unit axes in the joint's frame."""
    axis_joint: Ints
    """(D,) the joint of each degree of freedom, ascending."""
    limits: Floats
    """(D, 2) lower and upper limits."""
    neutral: Floats
    """(D,) the angles of a relaxed hand."""
    couplings: tuple[Coupling, ...]
    sites: tuple[Site, ...]

    def __post_init__(self) -> None:
        joints, dofs = len(self.joints), self.dofs
        shapes = {
            **{"parents": (joints,), "rest": (joints, 4, 4)},
            **{"axes": (dofs, 3), "axis_joint": (dofs,), "limits": (dofs, 2), "neutral": (dofs,)},
        }
        for name, expected in shapes.items():
            shape = np.shape(getattr(self, name))
            if shape != expected:
                raise HandError(f"{self.side} hand: {name} has the shape {shape}, expected {expected}")
        for name in ("rest", "axes", "limits", "neutral"):
            array = getattr(self, name)
            if not np.isfinite(array).all():
                raise HandError(f"{self.side} hand: {name} has a value that is not a finite number")
            array.setflags(write=False)
        swapped = np.flatnonzero(self.limits[:, 0] > self.limits[:, 1])
        if len(swapped):
            low, high = np.rad2deg(self.limits[swapped[0]])
            raise HandError(
                f"{self.side} hand: the {self.dof_name(int(swapped[0]))} is limited to {low:.0f}..{high:.0f} degrees, "
                "expected the lower limit first"
            )
        _check_couplings(self.side, self.couplings, dofs)

    @property
    def dofs(self) -> int:
        """D, the number of degrees of freedom without the root's six."""
        return len(self.movements)

    def dof(self, joint: str, movement: Movement) -> int | None:
        """Return the index of a joint's degree of freedom, None if the joint does not have that movement."""
        index = self.joints.index(joint)
        matches = (d for d in range(self.dofs) if self.axis_joint[d] == index and self.movements[d] == movement)
        return next(matches, None)

    def dof_name(self, index: int) -> str:
        """Return a readable name: 'index-finger-phalanx-proximal flexion'."""
        return f"{self.joints[self.axis_joint[index]]} {self.movements[index]}"

    def site_index(self, name: str) -> int:
        """Return the index of a site. Raises HandError for a name that the hand does not have."""
        for index, site in enumerate(self.sites):
            if site.name == name:
                return index
        raise HandError(f"{self.side} hand: there is no site '{name}'")

    def with_sites(self, sites: tuple[Site, ...]) -> "HandModel":
        """Return the hand with additional sites."""
        return replace(self, sites=self.sites + sites)


def _check_couplings(side: Side, couplings: tuple[Coupling, ...], dofs: int) -> None:
    """Raise HandError for rows that are not (D,), not finite, all zero, with swapped bounds, or contradictory."""
    for number, row in enumerate(couplings, 1):
        if np.shape(row.coefficients) != (dofs,) or not np.isfinite([*row.coefficients, row.lower, row.upper]).all():
            raise HandError(f"{side} hand: coupling {number} is not {dofs} finite numbers between two bounds")
        if not np.any(row.coefficients) or row.lower > row.upper:
            raise HandError(
                f"{side} hand: coupling {number} keeps {np.count_nonzero(row.coefficients)} angles between "
                f"{row.lower:g} and {row.upper:g}, expected at least one angle and the lower bound first"
            )
    equal = [row for row in couplings if row.lower == row.upper]
    if equal and np.linalg.matrix_rank(np.stack([row.coefficients for row in equal])) < len(equal):
        raise HandError(f"{side} hand: one of the {len(equal)} couplings repeats or contradicts the others")
