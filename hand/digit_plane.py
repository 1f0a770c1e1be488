"""The plane in which a digit curls, FABRIK-CGA (3.8), with joint limits.

The formulas serve one frame in floats and many frames in arrays (`scalar_math`). Points are in the frame of the digit's
first joint at zero angles, mirrored in X for a left hand, so that one convention covers both hands. A plane goes
through the origin and has the normal Rz(abduction) · Ry(twist) · X.
"""

import numpy as np

from .scalar_math import ARRAY, Floats, N, NumberFunctions, Pick, Point

Bounds = tuple[float, float]
"""Lower and upper limit, rad."""
WIDE_BOUNDS: Bounds = (-1.4, 1.4)
"""rad, for a digit's plane before the joint limits apply."""

ABDUCTION_PRIOR_M = 0.0001
"""m, strength of the prior of zero abduction: a fingertip right below its knuckle does not determine abduction. The
digit's other joints then do; without them the finger points straight ahead."""
TWIST_PRIOR_M = 0.012
"""m, strength of the prior of zero twist: collinear joints do not determine twist. The plane is then perpendicular to
the palm, as in (3.8)."""
ABDUCTION_SD_DEGREES, TWIST_SD_DEGREES = 8.0, 2.0
"""Standard deviations in degrees of a bent finger's abduction and twist. Ten headset hands (npm handy-work) have 2 to 5
and 0.2 to 2.6; spread hands have more abduction."""
END_WEIGHT = 100.0
"""Weight of the digit's end relative to its other points: its distance to the plane is about a tenth of theirs."""
GAUSS_NEWTON_STEPS = 4
"""Number of Gauss-Newton steps from the linear least-squares plane."""


def fit_plane(
    m: NumberFunctions[N], points: list[Point[N]], weights: list[N], limits: tuple[Bounds, Bounds]
) -> tuple[N, N]:
    """Fit a digit's plane to its visible points, or to the end alone if no other point is visible.

    Args:
        m: functions for floats or for arrays.
        points: the digit's points, m, the end first.
        weights: weight of each point; above zero for the end.
        limits: bounds of abduction and of twist, rad.

    Returns:
        Abduction and twist, rad.
    """
    return fit_inner_points(m, tip_plane(m, points[0], limits), points, weights, limits)


def fit_inner_points(
    m: NumberFunctions[N],
    end_plane: tuple[N, N],
    points: list[Point[N]],
    weights: list[N],
    limits: tuple[Bounds, Bounds],
) -> tuple[N, N]:
    """Return the plane nearest to all points, or `end_plane`, which fits the end alone, where no other point has a
    weight."""
    if len(points) == 1:
        return end_plane
    other_weight = weights[1]
    for weight in weights[2:]:
        other_weight = other_weight + weight

    def nearest(pick: Pick) -> tuple[N, N]:
        picked = [(pick(x), pick(y), pick(z)) for x, y, z in points]
        return nearest_plane(m, picked, [pick(weight) for weight in weights], limits)

    plane: tuple[N, N] = m.recompute_where(other_weight > 0, end_plane, nearest)
    return plane


def tip_plane(m: NumberFunctions[N], tip: Point[N], limits: tuple[Bounds, Bounds]) -> tuple[N, N]:
    """Return abduction and twist, within the limits, of the plane through a digit's end.

    Twist accounts for its usual share of the end's lateral offset, and for more where abduction is at its limit.
    """
    abduction_limits, twist_limits = limits
    x, y, z = tip
    can_twist = twist_limits[0] < twist_limits[1]
    twist = likely_twist(m, tip, twist_limits) if can_twist else 0.0 * x + twist_limits[0]
    # x cos a + y sin a = k is solved by (k x ± s y, k y ∓ s x) / (x² + y²) as (cos a, sin a), s² = x² + y² - k².
    cos_twist, sin_twist = m.cos_sin(twist)
    k = z * sin_twist / cos_twist
    squared_distance = x * x + y * y
    s = m.sqrt(m.where(squared_distance > k * k, squared_distance - k * k, 0.0)) * m.where(y < 0.0, -1.0, 1.0)
    unlimited = m.atan2(k * y - s * x, k * x + s * y)
    unlimited = unlimited * (squared_distance / (squared_distance + ABDUCTION_PRIOR_M * ABDUCTION_PRIOR_M))
    abduction = m.clip(unlimited, *abduction_limits)
    if can_twist:
        cos, sin = m.cos_sin(abduction)
        lateral = x * cos + y * sin
        depth = m.where(z < 0.0, -z, z)
        twist_through_tip = m.clip(m.atan2(m.where(z < 0.0, -lateral, lateral), depth), *twist_limits)
        twist = m.where((abduction == unlimited) | (depth <= TWIST_PRIOR_M), twist, twist_through_tip)
    return abduction, twist


def likely_twist(m: NumberFunctions[N], tip: Point[N], limits: Bounds) -> N:
    """Return the most likely twist among the pairs of abduction and twist that bring a tip into the plane.

    For small angles the plane contains the tip where x + abduction · y = twist · z. The most likely of these pairs has
    the least (abduction / ABDUCTION_SD_DEGREES)² + (twist / TWIST_SD_DEGREES)². A tip straight ahead then determines
    abduction, a tip below the knuckle determines twist, and nothing jumps as the tip passes from one to the other.
    """
    x, y, z = tip
    by_twist = z * (TWIST_SD_DEGREES * TWIST_SD_DEGREES)
    variance = y * y * (ABDUCTION_SD_DEGREES * ABDUCTION_SD_DEGREES) + z * by_twist
    return m.clip(x * by_twist / m.where(variance > 1e-12, variance, 1e-12), *limits)


def nearest_plane(
    m: NumberFunctions[N], points: list[Point[N]], weights: list[N], limits: tuple[Bounds, Bounds]
) -> tuple[N, N]:
    """Return abduction and twist of the plane nearest to all points of a digit, within the limits.

    The first point is the digit's end and has a larger weight than the others. Regularisation draws the plane towards
    upright and straight ahead where the points do not determine it.

    Minimises the weighted squared distances by Gauss-Newton steps, starting from the linear least-squares plane x + p y
    + q z = 0. Where a limit stops one angle, the other continues alone. Descending from that start, the result follows
    the points continuously. A choice between the two planes through the end would make it jump.
    """
    abduction_limits, twist_limits = limits
    xx, xy, xz, yy, yz, zz = _scatter(points, weights)
    determinant = yy * zz - yz * yz
    p, q = (yz * xz - zz * xy) / determinant, (yz * xy - yy * xz) / determinant
    unclipped = m.atan2(p, 1.0 + 0.0 * p)
    abduction = m.clip(unclipped, *abduction_limits)
    zz = zz + _end_stiffness(points[0], unclipped - abduction)
    twist = m.clip(m.atan2(-q * m.cos_sin(abduction)[0], 1.0 + 0.0 * p), *twist_limits)
    for _ in range(GAUSS_NEWTON_STEPS):
        (ca, sa), (ct, st) = m.cos_sin(abduction), m.cos_sin(twist)
        # The scatter matrix times the normal (ca ct, sa ct, -st), then half the cost's gradient and its Hessian
        # [[aa, mixed], [mixed, tt]].
        nx, ny = ca * ct, sa * ct
        px, py, pz = xx * nx + xy * ny - xz * st, xy * nx + yy * ny - yz * st, xz * nx + yz * ny - zz * st
        lean, tilt = ny, ca * st
        abduction_gradient = py * nx - px * lean
        twist_gradient = -(px * tilt + py * sa * st + pz * ct)
        rise = sa * st
        aa = xx * lean * lean - 2 * xy * lean * nx + yy * nx * nx
        tt = (
            xx * tilt * tilt
            + yy * rise * rise
            + zz * ct * ct
            + 2 * (xy * tilt * rise + xz * tilt * ct + yz * rise * ct)
        )
        mixed = lean * (xx * tilt + xy * rise + xz * ct) - nx * (xy * tilt + yy * rise + yz * ct)
        aa, tt = aa + 1e-15, tt + 1e-15
        new_twist = m.clip(
            twist - (aa * twist_gradient - mixed * abduction_gradient) / (aa * tt - mixed * mixed + 1e-30),
            *twist_limits,
        )
        # Newton's step of abduction given the new twist, then of twist given the new abduction.
        new_abduction = m.clip(abduction - (abduction_gradient + mixed * (new_twist - twist)) / aa, *abduction_limits)
        twist = m.clip(twist - (twist_gradient + mixed * (new_abduction - abduction)) / tt, *twist_limits)
        abduction = new_abduction
    return abduction, twist


def _end_stiffness(end: Point[N], excess: N) -> N:
    """Return the stiffness (m²) that keeps the plane upright where abduction would exceed its limit by `excess` rad.

    No plane then reaches the end. Twist would hardly bring the plane of a straight digit nearer to the end, and would
    jump from limit to limit as the end passes from below the knuckle to above it. The stiffness is 0 where abduction is
    within its limits.
    """
    x, y, _ = end
    return END_WEIGHT * excess * excess * (x * x + y * y)


def _scatter(points: list[Point[N]], weights: list[N]) -> tuple[N, N, N, N, N, N]:
    """Return weighted second moments of the points, with the regularisation towards upright and straight ahead."""
    zero = 0.0 * weights[0]
    xx, xy, xz, yy, yz, zz = (
        zero,
        zero,
        zero,
        zero + ABDUCTION_PRIOR_M * ABDUCTION_PRIOR_M,
        zero,
        zero + TWIST_PRIOR_M * TWIST_PRIOR_M,
    )
    for index, ((x, y, z), weight) in enumerate(zip(points, weights, strict=True)):
        w = weight * END_WEIGHT if index == 0 else weight
        wx, wy, wz = w * x, w * y, w * z
        xx, xy, xz = xx + wx * x, xy + wx * y, xz + wx * z
        yy, yz, zz = yy + wy * y, yz + wy * z, zz + wz * z
    return xx, xy, xz, yy, yz, zz


def fit_planes(points: Floats, weights: Floats, limits: tuple[Bounds, Bounds]) -> tuple[Floats, Floats]:
    """Return abduction and twist (N,) rad of a digit's plane in N frames.

    Args:
        points: (N, S, 3) m, the digit's end first.
        weights: (N, S).
        limits: bounds of abduction and of twist, rad.
    """
    components = [(x, y, z) for x, y, z in np.moveaxis(points, 0, -1)]
    return fit_plane(ARRAY, components, list(weights.T), limits)


def plane_axes(abduction: Floats, twist: Floats) -> Floats:
    """Return (N, 3, 3) axes of digit planes as rows: along the straight digit, towards the palm, and the plane's
    normal."""
    ca, sa, ct, st = np.cos(abduction), np.sin(abduction), np.cos(twist), np.sin(twist)
    along = np.stack([-sa, ca, np.zeros_like(ca)], -1)
    palmwards = -np.stack([ca * st, sa * st, ct], -1)
    normal = np.stack([ca * ct, sa * ct, -st], -1)
    return np.stack([along, palmwards, normal], -2)
