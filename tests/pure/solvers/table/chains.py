"""Digits in their planes that the tables are tried on, and the plain mathematics that they are held against."""

import numpy as np
from hypothesis import strategies as st

from knuckle.solvers.planar.planar_chain import Chain, ChainMarker
from knuckle.solvers.table.linkage import Linkage, linkage

LENGTHS = np.array([0.0398, 0.0224, 0.0197])
FINGER = Chain(LENGTHS, np.deg2rad([[-20, 90], [0, 100], [0, 60]]), 2 / 3, 0.0)
BACKWARDS = Chain(LENGTHS, np.deg2rad([[-20, 90], [-30, 100], [-15, 60]]), 2 / 3, 0.0)
THUMB = Chain(np.array([0.0462, 0.0316, 0.0273]), np.deg2rad([[-15, 40], [-10, 60], [-15, 80]]), 1.36, -0.02)
CHAINS = {"finger": FINGER, "backwards": BACKWARDS, "thumb": THUMB}
THESIS = np.array([0.0458, 0.0201, 0.0200])
"""m, the index finger measured in the thesis, section 4.1."""


def up_to_tip(chain: Chain, radii=(0.0, 0.0, 0.0)) -> Linkage:
    return linkage(chain, ChainMarker(2, float(chain.lengths[2])), np.array(radii))


def five_links(lengths, radii, flexions):
    """The tip (2,) by the thesis's own equations (4.4) to (4.8), hidden links and all."""
    one, two, three = flexions
    hidden = [2 * radii[1] * np.sin(two / 2), 2 * radii[2] * np.sin(three / 2)]
    headings = one + np.cumsum([0.0, two / 2, two / 2, three / 2, three / 2])
    links = np.array([lengths[0], hidden[0], lengths[1], hidden[1], lengths[2]])
    return np.array([(links * np.cos(headings)).sum(), (links * np.sin(headings)).sum()])


def grid(chain: Chain, steps: int):
    """(steps³, 3) flexions all over the limits."""
    axes = [np.linspace(low, high, steps) for low, high in chain.limits]
    return np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 3)


def coupled(chain: Chain, first, middle):
    last = np.clip(chain.ratio * np.asarray(middle) + chain.coupling_offset, *chain.limits[2])
    return np.stack(np.broadcast_arrays(first, middle, last), -1)


shares = st.floats(0.0, 1.0)
chains = st.sampled_from(sorted(CHAINS))
