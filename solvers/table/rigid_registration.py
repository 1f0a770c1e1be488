"""Registration of markers on a rigid part of the hand, and the part's frame from them (thesis 3.4.1).

The thesis builds the frame's axes from vectors between three markers (3.15, 3.17), which gives a rotation only if the
markers form a right angle aligned with the part. A rigid least-squares fit gives the same result for these, and works
with any three markers or more.
"""

import numpy as np
from numpy.typing import NDArray

from ...errors import HandError
from ...hand.rotations import fit_rigid

Floats = NDArray[np.float64]

COLLINEARITY_TOLERANCE = 1e-3
"""m, second singular value of the markers' positions below which they are collinear and leave the rotation open."""


def register(markers: Floats, place: Floats) -> Floats:
    """(M, 3) m, world positions of markers (M, 3) m in the frame of a part at `place` (4, 4): (3.13), (3.14).

    Raises HandError for fewer than three markers, or markers in a line.
    """
    centred = markers - markers.mean(axis=0)
    if (
        len(markers) < 3
        or not np.isfinite(markers).all()
        or np.linalg.svd(centred, compute_uv=False)[1] < COLLINEARITY_TOLERANCE
    ):
        raise HandError(f"registration: {len(markers)} markers in a line, expected three or more that span a plane")
    local: Floats = (markers - place[:3, 3]) @ place[:3, :3]
    return local


def fit_frames(registered: Floats, seen: Floats) -> Floats:
    """(F, 4, 4) the part's frame in the world, fitted to its markers `seen` (F, M, 3) m: (3.15) to (3.18)."""
    return fit_rigid(np.broadcast_to(registered, seen.shape), seen, np.ones(seen.shape[:-1]))


def relative_frames(hand: Floats, part: Floats) -> Floats:
    """(F, 4, 4) the part's frame relative to the hand's: (3.19), (3.20)."""
    inverse = np.swapaxes(hand[..., :3, :3], -1, -2)
    result = np.zeros(np.broadcast_shapes(hand.shape, part.shape))
    result[..., :3, :3] = inverse @ part[..., :3, :3]
    result[..., :3, 3] = np.einsum("...ij,...j->...i", inverse, part[..., :3, 3] - hand[..., :3, 3])
    result[..., 3, 3] = 1.0
    return result
