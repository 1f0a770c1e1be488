"""From the wrist to a point of a hand: where one pose has the point, and how that changes.

`hand.jacobians` knows whole hands over many frames; a step of a drag asks for one point of one pose, many times.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...hand.jacobians import BASE, cross_matrix
from ...hand.model import HandModel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Path:
    """The n degrees of freedom between the wrist and a site, from the wrist outwards."""

    dofs: Ints
    """(n,) ascending, in the numbers of hand.jacobians."""
    steps: tuple[tuple[Floats, Floats], ...]
    """(3, 3) and (3,) m, from the frame after one turn to the frame before the next."""
    axes: Floats
    """(n, 3) unit, in the frame before the turn."""
    crosses: Floats
    """(n, 3, 3) S(axis)"""
    squares: Floats
    """(n, 3, 3) S(axis)²"""
    outwards: Floats
    """(n, n) 1 where the second is no nearer to the wrist than the first, else 0."""
    end: Floats
    """(3,) m the site in the frame after the last turn."""

    @classmethod
    def to(cls, hand: HandModel, site: int) -> "Path":
        """The path to a site of a hand."""
        joint = hand.sites[site].joint
        chain = [joint]
        while hand.parents[chain[0]] >= 0:
            chain.insert(0, hand.parents[chain[0]])
        dofs: list[int] = []
        steps = []
        between = np.eye(4)
        for joint in chain:
            between = between @ hand.rest[joint]
            for dof in np.flatnonzero(hand.axis_joint == joint).tolist():
                dofs.append(dof)
                steps.append((between[:3, :3].copy(), between[:3, 3].copy()))
                between = np.eye(4)
        axes: Floats = hand.axes[dofs].reshape(-1, 3)
        crosses = cross_matrix(axes)
        end = between[:3, :3] @ np.array(hand.sites[site].offset) + between[:3, 3]
        return cls(
            np.array(dofs, int) + BASE,
            tuple(steps),
            axes,
            crosses,
            crosses @ crosses,
            np.triu(np.ones((len(dofs), len(dofs)))),
            end,
        )

    def at(self, angles: Floats) -> tuple[Floats, Floats, Floats]:
        """(3,) m the site, (n, 3) the axes and (n, 3) m what they go through, in the wrist's frame; angles (D,) rad."""
        turn, place = np.eye(3), np.zeros(3)
        axes, places = np.empty((2, len(self.dofs), 3))
        own = angles[self.dofs - BASE].tolist()
        for number, (angle, (step, way)) in enumerate(zip(own, self.steps, strict=True)):
            place = place + turn @ way
            turn = turn @ step
            places[number], axes[number] = place, turn @ self.axes[number]
            # Rodrigues
            turned = math.sin(angle) * self.crosses[number] + (1.0 - math.cos(angle)) * self.squares[number]
            turn = turn + turn @ turned
        return place + turn @ self.end, axes, places


def crossed(a: Floats, b: Floats) -> Floats:
    """a × b (..., 3), of arrays so small that numpy's own takes longer to look at them."""
    x, y, z = a[..., 0], a[..., 1], a[..., 2]
    u, v, w = b[..., 0], b[..., 1], b[..., 2]
    result = np.empty(np.broadcast_shapes(a.shape, b.shape))
    result[..., 0] = y * w - z * v
    result[..., 1] = z * u - x * w
    result[..., 2] = x * v - y * u
    return result
