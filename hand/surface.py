"""The skin of a hand of any measures: a closed mesh of quads with weights for its joints, built by code."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .proportions import Proportions
from .surface_anatomy import anatomy
from .surface_placing import place
from .surface_topology import topology
from .surface_weights import weigh

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Surface:
    """A polygonal hand at angles of zero."""

    vertices: Floats
    """(V, 3) m in the wrist's frame."""
    quads: Ints
    """(Q, 4) vertices, anticlockwise seen from outside."""
    weights: Floats
    """(V, 25) how far each joint carries each vertex, in the order of JOINTS; rows sum to 1, at most 4 are not 0."""
    nails: NDArray[np.bool_]
    """(Q,) which quads are a nail."""


def surface(proportions: Proportions) -> Surface:
    """The skin over these measures. The left hand is the right one's mirror image."""
    left = proportions.side == "left"
    flesh = anatomy(proportions.mirrored() if left else proportions)
    top = topology()
    vertices = place(flesh)
    weights = weigh(flesh, vertices)
    quads = top.quads
    nails = np.zeros(len(quads), bool)
    nails[top.nails] = True
    if left:
        vertices = vertices * [-1.0, 1.0, 1.0]
        quads = quads[:, [0, 3, 2, 1]]
    return Surface(vertices, quads, weights, nails)
