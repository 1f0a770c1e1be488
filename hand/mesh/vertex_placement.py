"""Place the mesh's vertices on the skin: digits by their sections, the palm by relaxation and projection."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..smoothstep import smoothstep
from .anatomy import FleshVolume
from .creases import displace_creases
from .implicit_surface import TIP_POWER, Limb
from .nails import corner_offset_mm, place_nail
from .topology import COLUMNS, FINGER_RINGS, LAYERS, NAIL_RINGS, ROWS, DigitTube, Topology, finger_columns, topology

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Station of each ring of a digit, in joints. From 3 on, 100 (station − 3) is the angle round the tip in degrees.
# fmt: off
FINGER_STATIONS = np.array([
    0.29, 0.36, 0.43, 0.5, 0.57, 0.64, 0.71, 0.78, 0.84, 0.89, 0.93, 0.965, 1, 1.045, 1.1, 1.17, 1.27, 1.4,
    1.55, 1.69, 1.8, 1.88, 1.945, 2, 2.055, 2.13, 2.24, 2.36, 2.44, 2.52, 2.6, 3.2, 3.38, 3.54, 3.67,
])
THUMB_STATIONS = np.array([
    0.3, 0.42, 0.54, 0.64, 0.73, 0.81, 0.88, 0.94, 1, 1.06, 1.12, 1.19, 1.27, 1.36, 1.46, 1.56, 1.66, 1.75,
    1.83, 1.89, 1.945, 2, 2.05, 2.105, 2.16, 2.22, 2.28, 2.34, 2.4, 2.46, 2.53, 2.6, 3.2, 3.38, 3.54, 3.67,
])
# fmt: on
THUMB_PHASE = np.deg2rad(36)
"""rad, angle in the thumb's section at which its window's back has its middle: the window is rotated relative to the
nail."""
SLANTED_RINGS = 7
"""Rings over which a digit's loops change from the slant of its window to perpendicular."""
RELAXED_RINGS = 5
"""Number of a finger's rings that relax with the palm; for the thumb it is SLANTED_RINGS."""
TIP_HALF_WIDTH_MM = 6.6
"""mm, half-width of the fingertip for which `corner_offset_mm` holds; other digits scale it."""


def place_vertices(flesh: FleshVolume) -> Floats:
    """Place the vertices (V, 3) m of a right hand in the wrist's frame."""
    top = topology()
    points = np.zeros((top.count, 3))
    for digit, tube in enumerate(top.tubes):
        _place_tube(points, flesh, digit, tube)
    _place_sleeve(points, flesh, top)
    _relax(points, flesh, top)
    displace_creases(flesh, points, top.quads)
    _soften(points, top)
    _close_wrist(points, flesh, top)
    return points


def _place_tube(points: Floats, flesh: FleshVolume, digit: int, tube: DigitTube) -> None:
    """Place a digit's rings on its limb: slanted within SLANTED_RINGS, then perpendicular; the tip is rounded."""
    limb, joint_y = flesh.digits[digit], flesh.joint_y[digit]
    stations = THUMB_STATIONS if digit == 0 else FINGER_STATIONS
    angles = ring_angles(digit, tube.rings.shape[1])
    round_tip = limb.end - limb.tip_length * (1 - np.sin(np.deg2rad(100 * (stations - 3))))
    y = np.where(stations < 3, np.interp(stations, [0, 1, 2, 3], joint_y), round_tip)
    slant_fraction = 1 - smoothstep(np.arange(len(stations), dtype=float), 0, SLANTED_RINGS)
    ring_y = (
        y[:, None] + slant_fraction[:, None] * _rim_slant(digit, angles) * joint_y[1] + _nail_shift(limb, tube, angles)
    )
    for ring, ids in enumerate(tube.rings):
        points[ids] = limb.surface_points(ring_y[ring], angles)
    _place_cap(points, limb, tube, ring_y[-1].mean())
    first, last = nail_rings(tube)
    nail_angles = np.pi / 2 - np.arange(-tube.nail.half, tube.nail.half + 1) * (2 * np.pi / len(angles))
    place_nail(points, limb, tube.nail, y[first : last + 1], np.asarray(nail_angles, float))


def nail_rings(tube: DigitTube) -> tuple[int, int]:
    """Return the rings at the rear and at the free edge of a nail."""
    first, last = (len(tube.rings) - 1 - FINGER_RINGS + ring for ring in NAIL_RINGS)
    return first, last


def _nail_shift(limb: Limb, tube: DigitTube, angles: Floats) -> Floats:
    """Return the shift (K+1, N) m of rings along the digit by which they follow the nail's round ends."""
    first, last = nail_rings(tube)
    rings = np.arange(len(tube.rings), dtype=float)
    along = (rings - first) / (last - first)
    strength = smoothstep(rings, first - 4, first) * (1 - 0.6 * smoothstep(rings, last, last + 1))
    angle_from_nail = np.abs((angles - np.pi / 2 + np.pi) % (2 * np.pi) - np.pi)
    half_angle = tube.nail.half * 2 * np.pi / len(angles)
    fraction = np.where(
        angle_from_nail <= half_angle,
        (angle_from_nail / half_angle) ** 2,
        1 - smoothstep(angle_from_nail, half_angle, np.pi),
    )
    mm = limb.profile_at(np.array([limb.end]))[0, 0] / TIP_HALF_WIDTH_MM
    return np.asarray(corner_offset_mm(np.clip(along, 0, 1))[:, None] * strength[:, None] * fraction * mm)


def ring_angles(digit: int, count: int) -> Floats:
    """Return angles (N,) rad of a ring's vertices in the digit's section."""
    return np.asarray((THUMB_PHASE if digit == 0 else np.pi / 2) - np.arange(count) * (2 * np.pi / count))


def _rim_slant(digit: int, angles: Floats) -> Floats:
    """Return the offset (N,) of the window's rim from its ring's station, in lengths of the first bone."""
    if digit == 0:
        # The rim is much more distal on the side of the web than on that of the wrist.
        return np.asarray(0.22 * np.cos(angles - THUMB_PHASE + np.pi / 2) + 0.05 * np.cos(angles - THUMB_PHASE))
    return np.asarray(-0.17 * np.sin(angles))


def _place_cap(points: Floats, limb: Limb, tube: DigitTube, ring_y: float) -> None:
    """Place the cap on the tip: a square mapped to a disc by (u·sqrt(1 − v²/2), v·sqrt(1 − u²/2)), then domed."""
    a, b = tube.cap.shape
    u, v = np.meshgrid(np.linspace(-1, 1, a), np.linspace(1, -1, b), indexing="ij")
    x, z = u * np.sqrt(1 - v * v / 2), v * np.sqrt(1 - u * u / 2)
    radius = np.clip(np.hypot(x, z), 0, 1) * limb.taper(np.array([ring_y]))
    y = limb.end - limb.tip_length * (1 - (1 - radius**TIP_POWER) ** (1 / TIP_POWER))
    inner_points = limb.surface_points(y.ravel(), np.arctan2(z, x).ravel()).reshape(a, b, 3)
    points[tube.cap[1:-1, 1:-1]] = inner_points[1:-1, 1:-1]


def _place_sleeve(points: Floats, flesh: FleshVolume, top: Topology) -> None:
    """Place the palm's vertices on straight lines from the wrist's outline to the digits' rims."""
    wrist = flesh.wrist
    for finger in range(3):
        low = finger_columns(finger)[1]
        for layer in range(LAYERS + 1):
            a, b = points[top.end[low, layer]], points[top.end[low + 2, layer]]
            points[top.end[low + 1, layer]] = (a + b) / 2
    x = np.linspace(-0.93, 0.93, COLUMNS + 1)
    back = np.arccos(x)
    side = np.linspace(back[-1], -back[-1], LAYERS + 1)
    angles = np.concatenate([back, side[1:-1], -back[::-1], np.pi + side[1:-1]])
    first = wrist.to_world(wrist.section_points(np.full(len(angles), wrist.start), angles))
    last = points[top.sleeve[-1]]
    points[top.sleeve[0]] = wrist.to_world(wrist.to_local(first) * [0.93, 1.0, 0.93])
    for row in range(1, ROWS):
        ids = top.sleeve[row]
        v = row / ROWS
        unplaced = (ids >= 0) & ~np.isin(ids, top.tubes[0].rings[0])
        points[ids[unplaced]] = ((1 - v) * first + v * last)[unplaced]


@lru_cache(maxsize=1)
def neighbours() -> tuple[Ints, Floats]:
    """Return each vertex's neighbours (V, 5), padded with the vertex itself, and their weights (V, 5)."""
    top = topology()
    edges = np.concatenate([top.quads[:, [i, (i + 1) % 4]] for i in range(4)])
    edges = edges[np.argsort(edges[:, 0], kind="stable")]
    first = np.searchsorted(edges[:, 0], np.arange(top.count))
    slot = np.arange(len(edges)) - first[edges[:, 0]]
    table = np.tile(np.arange(top.count)[:, None], (1, 5))
    table[edges[:, 0], slot] = edges[:, 1]
    counts = np.zeros((top.count, 5))
    counts[edges[:, 0], slot] = 1
    return table, counts / counts.sum(1, keepdims=True)


def _relax(points: Floats, flesh: FleshVolume, top: Topology) -> None:
    """Smooth the palm's vertices and project them on to the skin."""
    digits = {int(i) for tube in top.tubes for i in tube.rings.ravel()}
    palm = np.setdiff1d(top.sleeve[1:], [*digits, -1])
    web = np.setdiff1d(top.end, [*digits, *palm.tolist(), -1])
    sleeve = np.concatenate([palm, web])
    rings = [tube.rings[: SLANTED_RINGS if d == 0 else RELAXED_RINGS].ravel() for d, tube in enumerate(top.tubes)]
    free = np.unique(np.concatenate([sleeve, *rings]))
    table, neighbour_weights = neighbours()
    owner = np.full(top.count, -1)
    for digit, tube in enumerate(top.tubes):
        owner[tube.rings] = digit

    def smooth(ids: Ints, iterations: int, amount: float) -> None:
        for _ in range(iterations):
            mean = np.einsum("nk,nkx->nx", neighbour_weights[ids], points[table[ids]])
            points[ids] += amount * (mean - points[ids])

    smooth(sleeve, 40, 0.8)
    for _ in range(10):
        smooth(free, 5, 0.5)
        _project(points, flesh, free, owner, 1)
    lower_rings = np.unique(np.concatenate([tube.rings[: SLANTED_RINGS + 3].ravel() for tube in top.tubes]))
    _project(points, flesh, np.union1d(free, lower_rings), owner, 3)


def _soften(points: Floats, top: Topology) -> None:
    """Smooth ripples out of the palm without shrinking it (Taubin 1995)."""
    table, neighbour_weights = neighbours()
    digits = np.concatenate([tube.rings[4 if d == 0 else 3 :].ravel() for d, tube in enumerate(top.tubes)])
    ids = np.setdiff1d(np.concatenate([top.sleeve[1:].ravel(), top.end.ravel()]), [*digits, -1])
    for amount in (0.6, -0.62) * 6:
        mean = np.einsum("nk,nkx->nx", neighbour_weights[ids], points[table[ids]])
        points[ids] += amount * (mean - points[ids])


def _project(points: Floats, flesh: FleshVolume, ids: Ints, owner: Ints, iterations: int) -> None:
    """Project vertices on to the skin by Newton steps along the gradient."""
    step = 1e-5 * flesh.scale
    for _ in range(iterations):
        current = points[ids]
        distance = flesh.distance(current, owner[ids])
        gradient = (
            np.stack([flesh.distance(current + step * axis, owner[ids]) - distance for axis in np.eye(3)], -1) / step
        )
        length = np.maximum((gradient**2).sum(-1), 0.2)
        move = -distance[:, None] * gradient / length[:, None]
        step_length = np.linalg.norm(move, axis=-1, keepdims=True)
        points[ids] = current + move * np.minimum(1, 0.006 * flesh.scale / np.maximum(step_length, 1e-9))


def _close_wrist(points: Floats, flesh: FleshVolume, top: Topology) -> None:
    """Place the vertices of the wrist's end, slightly domed."""
    t = np.linspace(0, 1, LAYERS + 1)[1:-1, None]
    for column in range(1, COLUMNS):
        back, palm = points[top.wrist[column, 0]], points[top.wrist[column, LAYERS]]
        points[top.wrist[column, 1:-1]] = back + t * (palm - back)
    inner_vertices = np.setdiff1d(top.wrist[1:-1, 1:-1], top.sleeve[0])
    points[inner_vertices, 1] -= 0.002 * flesh.scale
