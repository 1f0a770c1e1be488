"""The plane of a digit: no other plane within the limits is nearer to its points."""

import numpy as np
import pytest

from knuckle.hand.digit_plane import _scatter, fit_planes, plane_axes

WIDE = (-1.4, 1.4)


@pytest.mark.parametrize("limits", [(WIDE, WIDE), ((-0.2, 0.1), (-0.1, 0.3))])
def test_no_plane_beside_the_one_that_is_found_is_nearer(limits):
    """By the weighted squares of the distances, and the regularisation, of 200 digits in planes of any kind."""
    rng, frames = np.random.default_rng(1), 200
    axes = plane_axes(*rng.uniform(-0.7, 0.7, (2, frames)))
    shares = rng.uniform(0.01, 0.05, (frames, 4, 3)) * np.array([1.0, 1.0, 0.0])
    points = shares @ axes + rng.normal(0.0, 0.0003, (frames, 4, 3))
    weights = rng.uniform(0.5, 2.0, (frames, 4))
    xx, xy, xz, yy, yz, zz = _scatter([(x, y, z) for x, y, z in np.moveaxis(points, 0, -1)], list(weights.T))
    scatter = np.moveaxis(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]), -1, 0)

    def cost(abduction, twist):
        normal = plane_axes(np.clip(abduction, *limits[0]), np.clip(twist, *limits[1]))[:, 2]
        return np.einsum("ni,nij,nj->n", normal, scatter, normal)

    found = fit_planes(points, weights, limits)
    for beside in rng.normal(0.0, 0.002, (40, 2, 1)):
        assert (cost(*(np.array(found) + beside)) > cost(*found) - 1e-12 * scatter.trace(axis1=1, axis2=2)).all()
