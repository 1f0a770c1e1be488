"""How long one operation of the conformal algebra takes on 10 000 objects, against the plain vector formula.

    python tools/benchmarks/cga.py

Prints medians of interleaved runs and their ratios, twice: against the formula as one writes it over arrays (F, 3), and
against the same with a column for each coordinate, which is how our objects are held. Needs the extra `dev`.
"""

import statistics
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from knuckle.hand import rotations
from knuckle.solvers.cga import generated as g
from knuckle.solvers.cga import nearest_points, objects, versors
from knuckle.solvers.cga.objects import vector

Floats = NDArray[np.float64]
Run = Callable[[], object]

OBJECTS = 10_000
RUNS = 41


def compare(name: str, runs: list[Run]) -> None:
    """Print our median, the medians of the two peers, and the ratios."""
    times: list[list[float]] = [[] for _ in runs]
    for _ in range(RUNS):
        for run, seconds in zip(runs, times, strict=True):
            start = time.perf_counter()
            run()
            seconds.append(time.perf_counter() - start)
    ours, rows, columns = (statistics.median(seconds) * 1e6 for seconds in times)
    print(
        f"{name:45} {ours:6.0f} µs   rows {rows:6.0f} µs, ratio {ours / rows:4.2f}"
        f"   columns {columns:6.0f} µs, ratio {ours / columns:4.2f}"
    )


def dot(a: Floats, b: Floats, axis: int) -> Floats:
    """a · b, kept as one row or column."""
    if axis == 0:
        return (a[0] * b[0] + a[1] * b[1] + a[2] * b[2])[None]
    return np.einsum("ij,ij->i", a, b)[:, None]


def cross(a: Floats, b: Floats, axis: int) -> Floats:
    """a × b."""
    if axis == 0:
        return np.stack([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])
    return np.cross(a, b)


def circle(p: Floats, r: Floats, q: Floats, s: Floats, axis: int) -> tuple[Floats, Floats, Floats]:
    """Centre, normal and radius of where two spheres meet."""
    offset = q - p
    square = dot(offset, offset, axis)
    fraction = (square + r * r - s * s) / (2 * square)
    return p + fraction * offset, offset / np.sqrt(square), np.sqrt(np.maximum(r * r - fraction * fraction * square, 0))


def circle_and_case(p: Floats, r: Floats, q: Floats, s: Floats, axis: int) -> tuple[Floats, ...]:
    """Return the circle, and 1, 0 or -1 if the spheres intersect, touch or are disjoint."""
    offset = q - p
    square = dot(offset, offset, axis)
    fraction = (square + r * r - s * s) / (2 * square)
    radius_squared = r * r - fraction * fraction * square
    case = np.where(
        np.abs(radius_squared) <= 1e-12 * (r * r + fraction * fraction * square), 0, np.where(radius_squared > 0, 1, -1)
    )
    return p + fraction * offset, offset / np.sqrt(square), np.sqrt(np.maximum(radius_squared, 0)), case


def on_sphere(p: Floats, r: Floats, x: Floats, axis: int) -> Floats:
    """Return the nearest point on a sphere."""
    offset = x - p
    return p + r / np.sqrt(dot(offset, offset, axis)) * offset


def on_circle(centre: Floats, normal: Floats, radius: Floats, x: Floats, axis: int) -> Floats:
    """Return the nearest point on a circle."""
    offset = x - centre
    offset = offset - dot(offset, normal, axis) * normal
    return centre + radius / np.sqrt(dot(offset, offset, axis)) * offset


def ends(circle: tuple[Floats, Floats, Floats], plane: tuple[Floats, Floats], axis: int) -> tuple[Floats, Floats]:
    """Return the points in which a circle (centre, normal, radius) meets a plane (normal, distance)."""
    (centre, normal, radius), (n, d) = circle, plane
    line_direction = cross(normal, n, axis)
    square = dot(line_direction, line_direction, axis)
    foot = centre + (d - dot(centre, n, axis)) / square * cross(line_direction, normal, axis)
    out = foot - centre
    half = np.sqrt(np.maximum(radius * radius - dot(out, out, axis), 0) / square) * line_direction
    return foot + half, foot - half


def line_ends(a: Floats, u: Floats, p: Floats, r: Floats, axis: int) -> tuple[Floats, Floats]:
    """Return the points in which a line meets a sphere."""
    out = a - p
    foot_distance = dot(out, u, axis)
    half = np.sqrt(np.maximum(foot_distance * foot_distance - dot(out, out, axis) + r * r, 0))
    return a + (-foot_distance - half) * u, a + (-foot_distance + half) * u


def plane(p: Floats, q: Floats, r: Floats, axis: int) -> tuple[Floats, Floats]:
    """Return the unit normal and distance of the plane through three points."""
    normal = cross(q - p, r - p, axis)
    normal = normal / np.sqrt(dot(normal, normal, axis))
    return normal, dot(normal, p, axis)


def rotate(q: Floats, x: Floats, axis: int) -> Floats:
    """x turned by unit quaternions."""
    if axis == 1:
        return rotations.rotate(q, x)
    w, u = q[:1], q[1:]
    twice = 2 * cross(u, x, axis)
    return x + w * twice + cross(u, twice, axis)


def run() -> None:
    """Run all comparisons."""
    random = np.random.default_rng(0)
    p, q, x, y = random.normal(size=(4, OBJECTS, 3))
    q, x = p + 0.3 * q, p + x
    r, s = random.uniform(0.5, 0.6, (2, OBJECTS))
    n = y / np.linalg.norm(y, axis=1, keepdims=True)
    turns = random.normal(size=(OBJECTS, 4))
    turns /= np.linalg.norm(turns, axis=1, keepdims=True)
    d = np.einsum("ij,ij->i", p, n)

    vp, vq, vx, vn = map(vector, (p, q, x, n))
    first, second = g.sphere(vp, r), g.sphere(vq, s)
    blade, wall = g.meet_sphere_sphere(first, second), g.Plane(*vn, d)
    line = g.standard_line(g.join_line(g.up(vx), g.up(objects.add(vx, vn, np.ones(OBJECTS)))))
    rotor, points = versors.rotor(turns), [g.up(v) for v in (vp, vq, vx)]

    def both(formula: Callable[..., object], *arguments: Floats) -> list[Run]:
        rows = [a if a.ndim == 2 else a[:, None] for a in arguments]
        columns = [np.ascontiguousarray(a.T) for a in rows]
        return [lambda: formula(*rows, 1), lambda: formula(*columns, 0)]

    parts = circle(p, r[:, None], q, s[:, None], 1)
    plain = (parts[0], parts[1], parts[2][:, 0])
    rows: list[tuple[str, Run, list[Run]]] = [
        ("circle of two spheres", lambda: g.meet_sphere_sphere(first, second), both(circle, p, r, q, s)),
        (
            "  with centre, normal, radius and case",
            lambda: objects.circle_parameters(g.meet_sphere_sphere(first, second)),
            both(circle_and_case, p, r, q, s),
        ),
        ("nearest place on a sphere", lambda: nearest_points.nearest_on_sphere(vp, r, vx), both(on_sphere, p, r, x)),
        ("nearest place on a circle", lambda: nearest_points.nearest_on_circle(blade, vx), both(on_circle, *plain, x)),
        (
            "circle and plane, both points",
            lambda: objects.pair_points(g.meet_circle_plane(blade, wall)),
            both(lambda *parts: ends(parts[:3], parts[3:5], parts[5]), *plain, n, d),
        ),
        (
            "line and sphere, both points",
            lambda: objects.pair_points(g.meet_line_sphere(line, first)),
            both(line_ends, x, n, p, r),
        ),
        ("unit plane through three places", lambda: objects.plane_through(vp, vq, vx), both(plane, p, q, x)),
        ("plane through three points", lambda: g.join_plane(*points), both(plane, p, q, x)),
        ("vector turned by a rotor", lambda: g.rotor_vector(rotor, vx), both(rotate, turns, x)),
    ]
    for name, ours, peers in rows:
        compare(name, [ours, *peers])


if __name__ == "__main__":
    run()
