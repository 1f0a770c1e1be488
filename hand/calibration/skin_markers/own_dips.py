"""Joint statistics in which each DIP depends on the PIP of its own finger alone.

A DIP bends by a fraction of its PIP and by a deviation that is independent of all other angles. A take of a few seconds
shows a few dozen independent poses, in which fingers may bend together by chance: with the full covariance a straight
finger whose tip is hidden would bend with its neighbours.
"""

import numpy as np
from numpy.typing import NDArray

from .skin_fit import COLUMNS, DOFS, FLEXION

Floats = NDArray[np.float64]

PIPS, DIPS = COLUMNS[1:, FLEXION[1:]].T
"""(4,) columns of the fingers' PIP and DIP flexion."""


def dip_shares(covariance: Floats) -> Floats:
    """Share (4,) of each finger's PIP by which its DIP bends, by the covariance (D, D) of the angles."""
    return np.asarray(covariance[DIPS, PIPS] / covariance[PIPS, PIPS])


def independent_dips(covariance: Floats, shares: Floats) -> Floats:
    """Covariance (D, D) with the DIPs' deviations from their shares of the PIPs independent of all else."""
    deviations, back = np.eye(DOFS), np.eye(DOFS)
    deviations[DIPS, PIPS], back[DIPS, PIPS] = -shares, shares
    transformed = deviations @ covariance @ deviations.T
    variances = transformed[DIPS, DIPS]
    transformed[DIPS], transformed[:, DIPS] = 0.0, 0.0
    transformed[DIPS, DIPS] = variances
    return np.asarray(back @ transformed @ back.T)
