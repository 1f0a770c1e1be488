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
NO_OFFSET = (0.0, 0.0, 0.0)


class SiteTarget(NamedTuple, Generic[N]):
    """The target of one site of a limb."""

    site: int
    position: Point[N] | None
    weight: N
    """Weight of the position."""
    rotation: tuple[Point[N], Point[N], Point[N]] | None
    """Columns of the rotation matrix."""
    rotation_weight: N
    linear_motion: Point[N] | None = None
    """m, measured velocity times the time step; None where it was not measured."""
    angular_motion: Point[N] | None = None
    """rad, measured angular velocity times the time step."""


def select_frames(rows: Rows, targets: list[SiteTarget[Floats]]) -> list[SiteTarget[Floats]]:
    """Return the targets in some of the frames."""
    return [SiteTarget(*select_nested(rows, target)) for target in targets]


def select_nested(rows: Rows, value: Any) -> Any:
    """Select frames from an array, or from nested tuples of arrays; scalars, the same in all frames, stay."""
    if isinstance(value, tuple):
        return tuple(select_nested(rows, part) for part in value)
    return value[rows] if np.ndim(value) else value


class LimbFrames(NamedTuple, Generic[N]):
    """A posed limb and the errors of its targets."""

    angles: list[N]
    """(n,) rad"""
    axes: list[Point[N]]
    """(n,)"""
    pivots: list[Point[N]]
    """(n,) m"""
    positions: list[Point[N] | None]
    """m, of the sites with targets."""
    position_errors: list[Point[N] | None]
    """m, p − p̂."""
    rotation_errors: list[Point[N] | None]
    """sk(R R̂ᵀ)^∨, see `rotation_error`."""
    cost: N
    """m², the weighted sum of squares."""
    largest_squared_error: N
    """m², the maximum squared error of a target."""


def evaluate(m: NumberFunctions[N], limb: LimbModel, angles: list[N], targets: list[SiteTarget[N]]) -> LimbFrames[N]:
    """Pose a limb at angles (n,) rad and measure the errors of its targets."""
    frames: list[Any] = []
    axes: list[Any] = []
    pivots: list[Any] = []
    for dof, angle in zip(limb.dofs, angles, strict=True):
        frame: Any = dof.root_frame or transformed(frames[dof.parent], dof.rest_rotation, dof.offset)
        frame, axis = rotated(m, frame, dof.axis, dof.sign, angle)
        frames.append(frame)
        axes.append(axis)
        pivots.append(frame[3])
    positions: list[Any] = []
    position_errors: list[Any] = []
    rotation_errors: list[Any] = []
    cost: Any = 0.0
    largest: Any = 0.0
    for target in targets:
        site = limb.sites[target.site]
        position, position_error, angular_error = None, None, None
        frame = frames[site.dof]
        if target.position is not None:
            position = _point_at(frame, site.offset)
            goal = target.position
            x, y, z = goal[0] - position[0], goal[1] - position[1], goal[2] - position[2]
            position_error = x, y, z
            square = x * x + y * y + z * z
            cost = cost + target.weight * square
            largest = _larger(m, largest, m.where(target.weight > 0, square, 0.0))
        if target.rotation is not None:
            columns = frame[:3] if site.rest_rotation is None else transformed(frame, site.rest_rotation, NO_OFFSET)[:3]
            angular_error, square = rotation_error(m, target.rotation, columns)
            square = square * limb.weights.rotation**2
            cost = cost + target.rotation_weight * square
            largest = _larger(m, largest, m.where(target.rotation_weight > 0, square, 0.0))
        positions.append(position)
        position_errors.append(position_error)
        rotation_errors.append(angular_error)
    return LimbFrames(angles, axes, pivots, positions, position_errors, rotation_errors, cost, largest)


def _larger(m: NumberFunctions[N], first: Any, second: Any) -> N:
    return m.where(first > second, first, second)


def transformed(frame: Any, rotation: Columns | None, offset: Point[float]) -> Any:
    """Return a frame after a constant transform: an offset, then a rotation."""
    if any(offset):
        frame = (*frame[:3], _point_at(frame, offset))
    if rotation is None:
        return frame
    x, y, z, position = frame
    axes: Any = [tuple(a * x[i] + b * y[i] + c * z[i] for i in range(3)) for a, b, c in rotation]
    return axes[0], axes[1], axes[2], position


def _point_at(frame: Any, offset: Point[float]) -> Any:
    """Return the position of a point at `offset` in a frame; most offsets are along y, the bone."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz), (px, py, pz) = frame
    a, b, c = offset
    px, py, pz = px + b * yx, py + b * yy, pz + b * yz
    if not (a or c):
        return px, py, pz
    return px + a * xx + c * zx, py + a * xy + c * zy, pz + a * xz + c * zz


def rotated(m: NumberFunctions[N], frame: Any, axis: int, sign: float, angle: N) -> tuple[Any, Any]:
    """Rotate a frame about one of its axes; returns the frame and the axis."""
    cos, sin = m.cos_sin(angle)
    sin = sign * sin
    about = frame[axis]
    (ax, ay, az), (bx, by, bz) = frame[(axis + 1) % 3], frame[(axis + 2) % 3]
    a = cos * ax + sin * bx, cos * ay + sin * by, cos * az + sin * bz
    b = cos * bx - sin * ax, cos * by - sin * ay, cos * bz - sin * az
    axes: Any = (about, a, b) if axis == 0 else (b, about, a) if axis == 1 else (a, b, about)
    return (*axes, frame[3]), about if sign > 0 else (-about[0], -about[1], -about[2])


def rotation_error(m: NumberFunctions[N], target: Any, current: Any) -> tuple[Any, N]:
    """Return the axial vector of sk(R R̂ᵀ), which rotates R̂ (`current`) towards R (`target`), and the squared error.

    Both rotations are given by columns. Dynamical 3.1: the vector's length is the sine of the angle between them, and
    it is the gradient of half the squared error, tr(I − R R̂ᵀ) / 2 = 1 − cos. For angles above π/2, where
    the sine would decrease to 0 at π, the vector keeps length 1, and the squared error still increases.
    """
    x = y = z = cos = 0.0
    for (rx, ry, rz), (fx, fy, fz) in zip(target, current, strict=True):
        x = x + fy * rz - fz * ry
        y = y + fz * rx - fx * rz
        z = z + fx * ry - fy * rx
        cos = cos + fx * rx + fy * ry + fz * rz
    cos = (cos - 1) / 2
    error = x / 2, y / 2, z / 2, 2 - 2 * cos
    obtuse: Any = cos < 0

    def recomputed(pick: Pick) -> Any:
        picked = [[tuple(map(pick, column)) for column in columns] for columns in (target, current)]
        return _far_rotation_error(m, picked[0], picked[1], pick(cos), tuple(map(pick, error[:3])))

    x, y, z, square = m.recompute_where(obtuse, error, recomputed)
    return (x, y, z), square


def _far_rotation_error(m: NumberFunctions[N], target: Any, current: Any, cos: N, error: Any) -> Any:
    """Return `rotation_error` for angles above π/2. At π, the axis is the longest column of R R̂ᵀ + I."""
    sine = m.sqrt(error[0] * error[0] + error[1] * error[1] + error[2] * error[2])
    longest_column: Any = [0.0 * cos + 1.0, 0.0 * cos, 0.0 * cos]
    maximum = 0.0 * cos
    for i in range(3):
        column = [sum(w[j] * f[i] for w, f in zip(target, current, strict=True)) + (i == j) for j in range(3)]
        length = m.sqrt(column[0] * column[0] + column[1] * column[1] + column[2] * column[2])
        longer: Any = length > maximum
        longest_column = [
            m.where(longer, c / m.where(length > 1e-9, length, 1.0), b)
            for c, b in zip(column, longest_column, strict=True)
        ]
        maximum = m.where(longer, length, maximum)
    determined: Any = sine > 1e-6
    axis: Any = [
        m.where(determined, e / m.where(determined, sine, 1.0), b) for e, b in zip(error, longest_column, strict=True)
    ]
    return *axis, 2 + 2 * (m.atan2(sine, cos) - 1.5707963267948966)


def normal_equations(
    limb: LimbModel, posed: LimbFrames[N], targets: list[SiteTarget[N]], fraction: float
) -> tuple[Square[N], list[N]]:
    """Return the normal equations of a step: the lower half of JᵀWJ (n, n), and JᵀW times the desired change (n,).

    The desired change is `fraction` of the error plus the target's motion. Dynamical 3.1 and 3.2, times the time step:
    v* = v + K (p − p̂), ω* = ω + K sk(R R̂ᵀ)^∨.
    """
    count = len(limb.dofs)
    axes = posed.axes
    square: Any = [[0.0] * (dof + 1) for dof in range(count)]
    right_side: Any = [0.0] * count
    weights: Any = [0.0] * count
    rotations: Any = [(0.0, 0.0, 0.0)] * count
    for target, position, position_error, angular_error in zip(
        targets, posed.positions, posed.position_errors, posed.rotation_errors, strict=True
    ):
        moved_by = limb.sites[target.site].moved_by
        if position_error is not None and position is not None:
            change = _desired_change(position_error, target.linear_motion, fraction)
            _add_position_target(posed, moved_by, (position, change, target.weight), (square, right_side))
        if angular_error is not None:
            x, y, z = _desired_change(angular_error, target.angular_motion, fraction)
            weight = target.rotation_weight * limb.weights.rotation**2
            for dof in moved_by:
                a, b, c = rotations[dof]
                weights[dof] = weights[dof] + weight
                rotations[dof] = a + weight * x, b + weight * y, c + weight * z
    if any(target.rotation is not None for target in targets):
        for dof in range(count):
            ax, ay, az = axes[dof]
            x, y, z = rotations[dof]
            right_side[dof] = right_side[dof] + ax * x + ay * y + az * z
            # The rotation Jacobian does not depend on the site's position, so only the sum of the distal weights
            # counts.
            weight, row, ancestor = weights[dof], square[dof], dof
            while ancestor >= 0:
                bx, by, bz = axes[ancestor]
                row[ancestor] = row[ancestor] + weight * (ax * bx + ay * by + az * bz)
                ancestor = limb.dofs[ancestor].parent
    return square, right_side


def _desired_change(error: Any, motion: Any, fraction: float) -> Any:
    """Return the desired change of a site: a fraction of its error plus its target's own motion."""
    if motion is None:
        return error if fraction == 1.0 else (fraction * error[0], fraction * error[1], fraction * error[2])
    return tuple(fraction * e + motion_component for e, motion_component in zip(error, motion, strict=True))


def _add_position_target(posed: LimbFrames[Any], moved_by: tuple[int, ...], target: Any, program: Any) -> None:
    """Add a position target to the normal equations, in place."""
    (px, py, pz), (x, y, z), weight = target
    square, right_side = program
    columns: list[Any] = []
    for dof in moved_by:
        ax, ay, az = posed.axes[dof]
        cx, cy, cz = posed.pivots[dof]
        rx, ry, rz = px - cx, py - cy, pz - cz
        column = ay * rz - az * ry, az * rx - ax * rz, ax * ry - ay * rx
        columns.append(column)
        jx, jy, jz = weight * column[0], weight * column[1], weight * column[2]
        right_side[dof] = right_side[dof] + jx * x + jy * y + jz * z
        row = square[dof]
        for inner, (kx, ky, kz) in zip(moved_by, columns, strict=False):
            row[inner] = row[inner] + jx * kx + jy * ky + jz * kz


def second_order_term(limb: LimbModel, posed: LimbFrames[N], targets: list[SiteTarget[N]]) -> Square[N]:
    """Return the second-order term of the position errors' Hessian (its lower half), which matters where errors are
    large.

    A rotation about a_i changes the Jacobian column J_j of an axis beyond it by a_i × J_j, so half the squared error
    has the second derivatives J_i · J_j − (p − p̂) · (a_i × J_j).
    """
    result: Square[Any] = [[0.0] * (dof + 1) for dof in range(len(limb.dofs))]
    for target, position, error in zip(targets, posed.positions, posed.position_errors, strict=True):
        if error is None or position is None:
            continue
        x, y, z = (target.weight * e for e in error)
        moved_by = limb.sites[target.site].moved_by
        for number, dof in enumerate(moved_by):
            ax, ay, az = posed.axes[dof]
            cx, cy, cz = posed.pivots[dof]
            rx, ry, rz = position[0] - cx, position[1] - cy, position[2] - cz
            jx, jy, jz = ay * rz - az * ry, az * rx - ax * rz, ax * ry - ay * rx
            bx, by, bz = y * jz - z * jy, z * jx - x * jz, x * jy - y * jx
            row = result[dof]
            for inner in moved_by[: number + 1]:
                ax, ay, az = posed.axes[inner]
                row[inner] = row[inner] + ax * bx + ay * by + az * bz
    return result


def is_positive_definite(m: NumberFunctions[N], square: Square[N], min_pivot: float) -> Any:
    """Return whether all pivots of a symmetric matrix, given by its lower half, are above `min_pivot`."""
    rows: list[list[Any]] = []
    pivots: list[Any] = []
    definite: Any = True
    for line in square:
        row: list[Any] = []
        pivot: Any = line[-1]
        for k, earlier_row in enumerate(rows):
            entry = line[k]
            for a, b in zip(row, earlier_row, strict=False):
                entry = entry - a * b
            row.append(entry)
            pivot = pivot - entry * entry / pivots[k]
        positive: Any = pivot > min_pivot
        definite = definite & positive
        pivots.append(m.where(positive, pivot, 1.0))
        rows.append([entry / p for entry, p in zip(row, pivots, strict=False)])
    return definite
