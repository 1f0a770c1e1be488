"""The skin of a hand of any measures: a closed mesh of quads with weights for its joints, built by code."""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..proportions import Proportions
from .anatomy import anatomy
from .skin_weights import weigh
from .topology import topology
from .vertex_placement import place

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


@lru_cache(maxsize=8)  # of a few performers, each left hand beside its right one
def surface(proportions: Proportions) -> Surface:
    """The skin over these measures, not to be changed. The left hand is the right one's mirror image."""
    if proportions.side == "left":
        return _mirrored(surface(proportions.mirrored()))
    flesh = anatomy(proportions)
    top = topology()
    vertices = place(flesh)
    nails = np.zeros(len(top.quads), bool)
    nails[top.nails] = True
    return _kept(Surface(vertices, top.quads, weigh(flesh, vertices), nails))


def _mirrored(skin: Surface) -> Surface:
    return _kept(replace(skin, vertices=skin.vertices * [-1.0, 1.0, 1.0], quads=skin.quads[:, [0, 3, 2, 1]]))


def _kept(skin: Surface) -> Surface:
    """All who ask for it get the same."""
    for array in (skin.vertices, skin.quads, skin.weights, skin.nails):
        array.setflags(write=False)
    return skin
