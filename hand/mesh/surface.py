"""The skin of a hand with given proportions: a closed mesh of quads with skin weights."""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..mirror import POINT_SIGNS
from ..proportions import Proportions
from .anatomy import flesh_volume
from .skin_weights import skin_weights
from .topology import topology
from .vertex_placement import place_vertices

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Surface:
    """A hand's mesh at zero angles."""

    vertices: Floats
    """(V, 3) m in the wrist's frame."""
    quads: Ints
    """(Q, 4) vertex indices, anticlockwise seen from outside."""
    weights: Floats
    """(V, 25) skin weights in the order of JOINTS; rows sum to 1, with at most 4 joints each."""
    nails: NDArray[np.bool_]
    """(Q,) whether a quad belongs to a nail."""


@lru_cache(maxsize=8)  # for a few performers, each with two hands
def surface(proportions: Proportions) -> Surface:
    """Build the skin of a hand, read-only and cached. A left hand's is the mirror image of the right hand's."""
    if proportions.side == "left":
        right = surface(proportions.mirrored())
        return _read_only(replace(right, vertices=POINT_SIGNS * right.vertices, quads=right.quads[:, [0, 3, 2, 1]]))
    flesh = flesh_volume(proportions)
    top = topology()
    vertices = place_vertices(flesh)
    nails = np.zeros(len(top.quads), bool)
    nails[top.nails] = True
    return _read_only(Surface(vertices, top.quads, skin_weights(flesh, vertices), nails))


def _read_only(skin: Surface) -> Surface:
    """Make the arrays read-only, since callers share them."""
    for array in (skin.vertices, skin.quads, skin.weights, skin.nails):
        array.setflags(write=False)
    return skin
