"""Forward kinematics, target errors and normal equations of a limb, for one frame or many (see hand/scalar_math.py).

Everything is in the wrist's frame. A rotation about the unit axis a through the pivot c moves a point p beyond it by
a × (p − c) and rotates its frame by a: the columns of the Jacobians in Dynamical 2.2, see hand/jacobians.py.
"""

from typing import Any, Generic, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...hand.scalar_math import N, NumberFunctions, Pick, Point
from .limbs import Columns, LimbModel

Floats = NDArray[np.float64]
Rows = NDArray[np.intp] | slice
Square = list[list[N]]
"""The lower half of a symmetric matrix."""


class SiteTarget(NamedTuple, Generic[N]):
    """The target of one site of a limb."""

    mark: int
    place: Point[N] | None
    weight: N
    """Of the position."""
    turn: tuple[Point[N], Point[N], Point[N]] | None
    """Columns of the rotation matrix."""
    turn_weight: N
    move: Point[N] | None = None
    """m, measured velocity times the time step; None where it was not measured."""
    spin: Point[N] | None = None
    """rad, measured angular velocity times the time step."""


def among(rows: Rows, seen: list[SiteTarget[Floats]]) -> list[SiteTarget[Floats]]:
    """The targets in some of the frames."""
    return [SiteTarget(*picked(rows, each)) for each in seen]


def picked(rows: Rows, value: Any) -> Any:
    """Select frames from an array, or from nested tuples of arrays; scalars, the same in all frames, stay."""
    if isinstance(value, tuple):
        return tuple(picked(rows, part) for part in value)
    return value[rows] if np.ndim(value) else value


class LimbFrames(NamedTuple, Generic[N]):
    """A posed limb and the errors of its targets."""

    angles: list[N]
    """(n,) rad"""
    axes: list[Point[N]]
    """(n,)"""
    pivots: list[Point[N]]
    """(n,) m"""
    places: list[Point[N] | None]
    """m, of the sites with targets."""
    misses: list[Point[N] | None]
    """m, p − p̂."""
    errors: list[Point[N] | None]
    """sk(R R̂ᵀ)^∨, see `turn_error`."""
    cost: N
    """m², the weighted sum of squares."""
    farthest: N
    """m², the largest squared error of a target."""


def place(m: NumberFunctions[N], limb: LimbModel, angles: list[N], seen: list[SiteTarget[N]]) -> LimbFrames[N]:
    """Pose a limb at angles (n,) rad and measure the errors of its targets."""
    frames: list[Any] = []
    axes: list[Any] = []
    pivots: list[Any] = []
    for turn, angle in zip(limb.turns, angles, strict=True):
        frame: Any = turn.begin or carried(frames[turn.before], turn.fixed, turn.offset)
        frame, axis = turned(m, frame, turn.axis, turn.sign, angle)
        frames.append(frame)
        axes.append(axis)
        pivots.append(frame[3])
    places: list[Any] = []
    misses: list[Any] = []
    errors: list[Any] = []
    cost: Any = 0.0
    farthest: Any = 0.0
    for each in seen:
        mark = limb.marks[each.mark]
        here, missed, error = None, None, None
        frame = frames[mark.turn]
        if each.place is not None:
            here = _beyond(frame, mark.offset)
            missed = each.place[0] - here[0], each.place[1] - here[1], each.place[2] - here[2]
            square = missed[0] * missed[0] + missed[1] * missed[1] + missed[2] * missed[2]
            cost = cost + each.weight * square
            farthest = _larger(m, farthest, m.where(each.weight > 0, square, 0.0))
        if each.turn is not None:
            x, y, z, _ = frame if mark.fixed is None else carried(frame, mark.fixed, (0.0, 0.0, 0.0))
            error, square = turn_error(m, each.turn, (x, y, z))
            square = square * limb.worth.turn**2
            cost = cost + each.turn_weight * square
            farthest = _larger(m, farthest, m.where(each.turn_weight > 0, square, 0.0))
        places.append(here)
        misses.append(missed)
        errors.append(error)
    return LimbFrames(angles, axes, pivots, places, misses, errors, cost, farthest)


def _larger(m: NumberFunctions[N], one: Any, other: Any) -> N:
    return m.where(one > other, one, other)


def carried(frame: Any, fixed: Columns | None, offset: Point[float]) -> Any:
    """A frame after a constant transform: an offset, then a rotation."""
    if any(offset):
        frame = (*frame[:3], _beyond(frame, offset))
    if fixed is None:
        return frame
    x, y, z, at = frame
    after: Any = [tuple(a * x[i] + b * y[i] + c * z[i] for i in range(3)) for a, b, c in fixed]
    return after[0], after[1], after[2], at


def _beyond(frame: Any, offset: Point[float]) -> Any:
    """The position of a point at `offset` in a frame; most offsets are along y, the bone."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz), (px, py, pz) = frame
    a, b, c = offset
    px, py, pz = px + b * yx, py + b * yy, pz + b * yz
    if not (a or c):
        return px, py, pz
    return px + a * xx + c * zx, py + a * xy + c * zy, pz + a * xz + c * zz


def turned(m: NumberFunctions[N], frame: Any, axis: int, sign: float, angle: N) -> tuple[Any, Any]:
    """Rotate a frame about one of its axes; returns the frame and the axis."""
    cos, sin = m.cos(angle), sign * m.sin(angle)
    about = frame[axis]
    (ax, ay, az), (bx, by, bz) = frame[(axis + 1) % 3], frame[(axis + 2) % 3]
    a = cos * ax + sin * bx, cos * ay + sin * by, cos * az + sin * bz
    b = cos * bx - sin * ax, cos * by - sin * ay, cos * bz - sin * az
    after: Any = (about, a, b) if axis == 0 else (b, about, a) if axis == 1 else (a, b, about)
    return (*after, frame[3]), about if sign > 0 else (-about[0], -about[1], -about[2])


def turn_error(m: NumberFunctions[N], wanted: Any, found: Any) -> tuple[Any, N]:
    """The axial vector of sk(R R̂ᵀ), which rotates R̂ (`found`) towards R (`wanted`), and the squared error.

    Both rotations are given by columns. Dynamical 3.1: the vector's length is the sine of the angle between them, and
    it is the gradient of half the squared error, tr(I − R R̂ᵀ) / 2 = 1 − cos. Beyond a right angle the sine would
    shrink again and vanish at half a turn; there the vector keeps length 1, and the squared error goes on growing.
    """
    x = y = z = cos = 0.0
    for (rx, ry, rz), (fx, fy, fz) in zip(wanted, found, strict=True):
        x = x + fy * rz - fz * ry
        y = y + fz * rx - fx * rz
        z = z + fx * ry - fy * rx
        cos = cos + fx * rx + fy * ry + fz * rz
    cos = (cos - 1) / 2
    error = x / 2, y / 2, z / 2, 2 - 2 * cos
    beyond: Any = cos < 0

    def far(pick: Pick) -> Any:
        some = [[tuple(map(pick, column)) for column in columns] for columns in (wanted, found)]
        return _far_error(m, some[0], some[1], pick(cos), tuple(map(pick, error[:3])))

    x, y, z, square = m.recompute_where(beyond, error, far)
    return (x, y, z), square


def _far_error(m: NumberFunctions[N], wanted: Any, found: Any, cos: N, error: Any) -> Any:
    """The same beyond a right angle. At half a turn, the axis is the longest column of R R̂ᵀ + I."""
    sine = m.sqrt(error[0] * error[0] + error[1] * error[1] + error[2] * error[2])
    best: Any = [0.0 * cos + 1.0, 0.0 * cos, 0.0 * cos]
    most = 0.0 * cos
    for i in range(3):
        column = [sum(w[j] * f[i] for w, f in zip(wanted, found, strict=True)) + (i == j) for j in range(3)]
        length = m.sqrt(column[0] * column[0] + column[1] * column[1] + column[2] * column[2])
        longer: Any = length > most
        best = [m.where(longer, c / m.where(length > 1e-9, length, 1.0), b) for c, b in zip(column, best, strict=True)]
        most = m.where(longer, length, most)
    told: Any = sine > 1e-6
    axis: Any = [m.where(told, e / m.where(told, sine, 1.0), b) for e, b in zip(error, best, strict=True)]
    return *axis, 2 + 2 * (m.atan2(sine, cos) - 1.5707963267948966)


def normal(
    limb: LimbModel, placed: LimbFrames[N], seen: list[SiteTarget[N]], share: float
) -> tuple[Square[N], list[N]]:
    """The normal equations of a step: the lower half of JᵀWJ (n, n), and JᵀW times the desired change (n,).

    The desired change is `share` of the error plus the target's own motion. Dynamical 3.1 and 3.2, times the time step:
    v* = v + K (p − p̂), ω* = ω + K sk(R R̂ᵀ)^∨.
    """
    count = len(limb.turns)
    axes = placed.axes
    square: Any = [[0.0] * (turn + 1) for turn in range(count)]
    right: Any = [0.0] * count
    weights: Any = [0.0] * count
    spins: Any = [(0.0, 0.0, 0.0)] * count
    for each, here, missed, error in zip(seen, placed.places, placed.misses, placed.errors, strict=True):
        moved_by = limb.marks[each.mark].moved_by
        if missed is not None and here is not None:
            _add_place(placed, moved_by, (here, _asked(missed, each.move, share), each.weight), (square, right))
        if error is not None:
            x, y, z = _asked(error, each.spin, share)
            weight = each.turn_weight * limb.worth.turn**2
            for turn in moved_by:
                a, b, c = spins[turn]
                weights[turn] = weights[turn] + weight
                spins[turn] = a + weight * x, b + weight * y, c + weight * z
    if any(each.turn is not None for each in seen):
        for turn in range(count):
            ax, ay, az = axes[turn]
            x, y, z = spins[turn]
            right[turn] = right[turn] + ax * x + ay * y + az * z
            # The rotation Jacobian does not depend on where a site is, so only the sum of the weights beyond counts.
            weight, row, carrier = weights[turn], square[turn], turn
            while carrier >= 0:
                bx, by, bz = axes[carrier]
                row[carrier] = row[carrier] + weight * (ax * bx + ay * by + az * bz)
                carrier = limb.turns[carrier].before
    return square, right


def _asked(error: Any, known: Any, share: float) -> Any:
    """The desired change of a site: a share of its error plus its target's own motion."""
    if known is None:
        return error if share == 1.0 else (share * error[0], share * error[1], share * error[2])
    return tuple(share * e + k for e, k in zip(error, known, strict=True))


def _add_place(placed: LimbFrames[Any], moved_by: tuple[int, ...], mark: Any, into: Any) -> None:
    """Add a position target to the normal equations, in place."""
    (px, py, pz), (x, y, z), weight = mark
    square, right = into
    columns: list[Any] = []
    for turn in moved_by:
        ax, ay, az = placed.axes[turn]
        cx, cy, cz = placed.pivots[turn]
        rx, ry, rz = px - cx, py - cy, pz - cz
        column = ay * rz - az * ry, az * rx - ax * rz, ax * ry - ay * rx
        columns.append(column)
        jx, jy, jz = weight * column[0], weight * column[1], weight * column[2]
        right[turn] = right[turn] + jx * x + jy * y + jz * z
        row = square[turn]
        for other, (kx, ky, kz) in zip(moved_by, columns, strict=False):
            row[other] = row[other] + jx * kx + jy * ky + jz * kz


def bent(limb: LimbModel, placed: LimbFrames[N], seen: list[SiteTarget[N]]) -> Square[N]:
    """The second-order term of the position errors' Hessian (its lower half), which matters where errors are large.

    A rotation about a_i changes the Jacobian column J_j of an axis beyond it by a_i × J_j, so half the squared error
    has the second derivatives J_i · J_j − (p − p̂) · (a_i × J_j).
    """
    result: Square[Any] = [[0.0] * (turn + 1) for turn in range(len(limb.turns))]
    for each, here, missed in zip(seen, placed.places, placed.misses, strict=True):
        if missed is None or here is None:
            continue
        x, y, z = (each.weight * miss for miss in missed)
        moved_by = limb.marks[each.mark].moved_by
        for number, turn in enumerate(moved_by):
            ax, ay, az = placed.axes[turn]
            cx, cy, cz = placed.pivots[turn]
            rx, ry, rz = here[0] - cx, here[1] - cy, here[2] - cz
            jx, jy, jz = ay * rz - az * ry, az * rx - ax * rz, ax * ry - ay * rx
            bx, by, bz = y * jz - z * jy, z * jx - x * jz, x * jy - y * jx
            row = result[turn]
            for other in moved_by[: number + 1]:
                ax, ay, az = placed.axes[other]
                row[other] = row[other] + ax * bx + ay * by + az * bz
    return result


def definite(m: NumberFunctions[N], square: Square[N], least: float) -> Any:
    """Whether a symmetric matrix, given by its lower half, has only pivots above `least`: it is positive definite."""
    rows: list[list[Any]] = []
    pivots: list[Any] = []
    sound: Any = True
    for line in square:
        row: list[Any] = []
        pivot: Any = line[-1]
        for k, other in enumerate(rows):
            entry = line[k]
            for a, b in zip(row, other, strict=False):
                entry = entry - a * b
            row.append(entry)
            pivot = pivot - entry * entry / pivots[k]
        positive: Any = pivot > least
        sound = sound & positive
        pivots.append(m.where(positive, pivot, 1.0))
        rows.append([entry / p for entry, p in zip(row, pivots, strict=False)])
    return sound
