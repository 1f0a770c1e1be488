"""The closest points of triangles, against those of Blender's own geometry."""

import numpy as np
from mathutils import Vector
from mathutils.geometry import closest_point_on_tri

from knuckle.rig.closest_points import closest_points


def test_they_are_those_of_blender() -> None:
    random = np.random.default_rng(1)
    triangles = random.normal(0.0, 1.0, (3000, 3, 3))
    triangles[:500, :, 2] = 0.0
    points = random.normal(0.0, 2.0, (3000, 3))
    expected = [
        closest_point_on_tri(Vector(point), *map(Vector, corners))
        for point, corners in zip(points.tolist(), triangles.tolist(), strict=True)
    ]
    np.testing.assert_allclose(closest_points(points, triangles), np.array(expected), atol=2e-5)


def test_a_sliver_counts_by_its_edges() -> None:
    line = np.array([[[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [2.0, 1e-9, 0.0]], [[1.0, 1.0, 1.0]] * 3])
    found = closest_points(np.array([[1.5, 1.0, 0.0], [0.0, 0.0, 0.0]]), line)
    np.testing.assert_allclose(found, [[1.5, 0.0, 0.0], [1.0, 1.0, 1.0]], atol=1e-8)
