"""The plane of a digit: no other plane within the limits is nearer to its points."""

import numpy as np
import pytest

from knuckle.hand.digit_plane import END_WEIGHT, _scatter, fit_planes, plane_axes

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
    p, _ = -np.linalg.solve(np.array([[yy, yz], [yz, zz]]).T, np.array([xy, xz]).T[..., None])[..., 0].T
    beyond = np.arctan(p) - np.clip(np.arctan(p), *limits[0])
    zz = zz + END_WEIGHT * beyond**2 * (points[:, 0, :2] ** 2).sum(1)
    scatter = np.moveaxis(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]), -1, 0)

    def cost(abduction, twist):
        normal = plane_axes(np.clip(abduction, *limits[0]), np.clip(twist, *limits[1]))[:, 2]
        return np.einsum("ni,nij,nj->n", normal, scatter, normal)

    found = fit_planes(points, weights, limits)
    for beside in rng.normal(0.0, 0.002, (40, 2, 1)):
        assert (cost(*(np.array(found) + beside)) > cost(*found) - 1e-12 * scatter.trace(axis1=1, axis2=2)).all()


def test_a_straight_digit_beside_its_limit_does_not_twist_from_limit_to_limit():
    """A ring finger 5° beyond its abduction, whose tip moves from 3 mm below its knuckle to 3 mm above it."""
    limits = (tuple(np.deg2rad([-25.0, 15.0])), tuple(np.deg2rad([-15.0, 15.0])))
    frames = 121
    points = np.tile([[-0.0287, 0.0797, 0.0], [-0.0194, 0.066, 0.0], [-0.010, 0.0394, -0.0009]], (frames, 1, 1))
    points[:, 0, 2] = np.linspace(-0.003, 0.003, frames)
    abduction, twist = np.rad2deg(fit_planes(points, np.ones((frames, 3)), limits))
    assert abduction == pytest.approx(15.0)
    assert np.abs(np.diff(twist)).max() < 3.0
