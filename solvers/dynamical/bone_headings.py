"""Closed-form least squares for a digit with rotation targets only, in headings instead of flexions.

A digit's first joint rotates about z (abduction), about y (twist, which some joints lack) and about x (flexion); the
hinges after it rotate about the same x. A bone's heading is the sum of the flexions up to it. In these coordinates all
bones share abduction and twist, each bone has one own angle, and the Gauss-Newton step decouples. With e the rotation
errors of the bones (Dynamical 3.1) in the joint's frame after abduction and twist, ē their weighted mean, and δ the
rotation by which the step moves the parent bone:

    z: cos(twist) · abduction = ē_z − δ_z    y: twist = ē_y − δ_y    x: heading = e_x − δ_x + sin(twist) · abduction

A joint without twist cannot correct ē_y − δ_y and passes it on to its parent joint.
"""

from itertools import pairwise
from typing import Any, Generic, NamedTuple

from ...hand.scalar_math import N, NumberFunctions, Point, wrap_angle
from .limb_step import coupling_error
from .limb_targets import TargetColumns
from .limbs import LimbCoupling, LimbModel

CONVERGED_STEP = 0.03
"""rad, step below which the solution has converged: the remaining error is about its square."""

Axes = tuple[Point[N], Point[N], Point[N]]
"""x, y, z in the wrist's frame."""


class DirectionJoint(NamedTuple):
    """A joint that abducts, may twist, and flexes, together with the hinges after it."""

    twists: bool
    signs: tuple[float, ...]
    """Signs of abduction, twist if any, and flexions: −1 if a positive angle is a negative rotation about z, y or x."""
    targets: tuple[int, ...]
    """Index of the target on the bone of each flexion."""


class HingeCoupling(NamedTuple):
    """A soft coupling between the hinges of the last joint."""

    coupling: LimbCoupling
    headings: tuple[float, ...]
    """Its coefficients for the headings. They sum to zero: a change common to all headings does not affect it."""


class LimbDirections(NamedTuple):
    """A limb that rotation targets alone determine."""

    joints: tuple[DirectionJoint, ...]
    """One joint, or two of which the first is the parent of the second."""
    coupling: HingeCoupling | None


def limb_directions(limb: LimbModel) -> LimbDirections | None:
    """Return None for a limb of another structure, or one whose bones do not have exactly one target each."""
    joints: list[DirectionJoint] = []
    count = 0
    while count < len(limb.dofs):
        joint = _joint_at(limb, count)
        if joint is None or len(joints) == 2:
            return None
        joints.append(joint)
        count += len(joint.signs)
    coupling = _hinge_coupling(limb, joints[-1]) if len(limb.couplings) == 1 else None
    targets = sum(len(joint.targets) for joint in joints)
    if targets != len(limb.sites) or len(limb.couplings) != (coupling is not None):
        return None
    return LimbDirections(tuple(joints), coupling)


def _joint_at(limb: LimbModel, first: int) -> DirectionJoint | None:
    """Return the joint whose degrees of freedom start at `first`, None if they are not of its kind."""
    axes = [dof.axis for dof in limb.dofs[first:]]
    twists = axes[:2] == [2, 1]
    before_flexions = count = 1 + twists
    while count < len(axes) and axes[count] == 0:
        count += 1
    joint_dofs = range(first, first + count)
    straight = all(
        limb.dofs[dof].parent == dof - 1 and (dof == 0 or limb.dofs[dof].rest_rotation is None) for dof in joint_dofs
    )
    sites = [
        [site for site in limb.sites if site.dof == dof and site.rest_rotation is None]
        for dof in joint_dofs[before_flexions:]
    ]
    if axes[0] != 2 or count == before_flexions or not straight or any(len(on_bone) != 1 for on_bone in sites):
        return None
    signs = tuple(limb.dofs[dof].sign for dof in joint_dofs)
    return DirectionJoint(twists, signs, tuple(on_bone[0].target for on_bone in sites))


def _hinge_coupling(limb: LimbModel, joint: DirectionJoint) -> HingeCoupling | None:
    """Return None for a hard coupling, or one that involves more than hinges."""
    (coupling,) = limb.couplings
    flexions = range(len(limb.dofs))[-len(joint.targets) :]
    if not coupling.soft or not set(coupling.dofs) <= set(flexions[1:]):
        return None
    coefficients = dict(zip(coupling.dofs, coupling.coefficients, strict=True))
    signed = [coefficients.get(dof, 0.0) * limb.dofs[dof].sign for dof in flexions]
    return HingeCoupling(coupling, tuple(sign - following for sign, following in pairwise([*signed, 0.0])))


class FittedJoint(NamedTuple, Generic[N]):
    """A joint fitted to the targets on its own bones, each heading optimal, so that no e_x remains."""

    angles: list[N]
    """rad, abduction, twist if any, flexions."""
    twist: tuple[N, N]
    """Cosine and sine of the twist."""
    axes: Axes[N]
    """Axes of the joint's frame after abduction and twist."""
    last_axes: Axes[N]
    """Axes of the frame of its last bone."""
    weights: list[N]
    """Weights of the bones."""
    total_weight: N
    """Sum of `weights`."""
    mean_errors: tuple[N, N]
    """ē_y and ē_z."""
    valid: Any
    """Whether the error of every bone is less than a right angle."""


def solve_headings(
    m: NumberFunctions[N], limb: LimbModel, directions: LimbDirections, frames: TargetColumns
) -> tuple[list[N], Any]:
    """Return the angles (n,) of a limb in rad, and whether they are a converged solution.

    They are not a solution if a bone lacks a rotation target, a position target has a weight, a limit is active, or the
    step is not small.
    """
    converged = _has_rotations_only(limb, frames)
    if not m.any(converged):
        return [], converged
    axes: Any = limb.dofs[0].root_frame
    fitted: list[FittedJoint[N]] = []
    angles: list[Any] = []
    for joint in directions.joints:
        fitted.append(_fit_joint(m, joint, axes[:3], frames, converged))
        angles += fitted[-1].angles
        axes, converged = fitted[-1].last_axes, converged & fitted[-1].valid
    last = fitted[-1]
    shifts = [0.0] * len(last.weights)
    if directions.coupling is not None:
        shifts = _coupling_shifts(m, limb, directions.coupling, last, angles)
    steps = _limb_step(directions.joints, fitted, shifts)
    solved: list[Any] = []
    for step, angle, low, high in zip(steps, angles, limb.low, limb.high, strict=True):
        new_angle = angle + step
        converged = converged & (abs(step) < CONVERGED_STEP) & (low <= new_angle) & (new_angle <= high)
        solved.append(new_angle)
    return solved, converged


def _has_rotations_only(limb: LimbModel, frames: TargetColumns) -> Any:
    """Return whether all bones have rotation targets and no site has a position target."""
    if frames.rotations is None:
        return False
    result: Any = True
    for site in limb.sites:
        result = result & (frames.rotation_weights[site.target] > 0)
        if site.translates:
            result = result & (frames.weights[site.target] <= 0)
    return result


def _fit_joint(
    m: NumberFunctions[N], joint: DirectionJoint, axes: Any, frames: TargetColumns, selected: Any
) -> FittedJoint[N]:
    """Fit a joint whose parent bone has these axes, in the selected frames."""
    bones = [frames.rotations[target] for target in joint.targets]
    weights: list[Any] = [m.where(selected, frames.rotation_weights[target], 1.0) for target in joint.targets]
    total = sum(weights)
    mean_x: Any = [sum(weight * bone[0][i] for weight, bone in zip(weights, bones, strict=True)) for i in range(3)]
    angles, twist, axes = _fit_abduction_and_twist(m, joint.twists, axes, mean_x)
    parent_heading: Any = 0.0
    error_y: Any = 0.0
    error_z: Any = 0.0
    valid: Any = True
    for weight, bone in zip(weights, bones, strict=True):
        heading, (e_y, e_z), last_axes, is_near = _fit_heading(m, axes, bone)
        angles.append(wrap_angle(heading - parent_heading))
        parent_heading, valid = heading, valid & is_near
        error_y, error_z = error_y + weight * e_y, error_z + weight * e_z
    signed = [sign * angle for sign, angle in zip(joint.signs, angles, strict=True)]
    return FittedJoint(signed, twist, axes, last_axes, weights, total, (error_y / total, error_z / total), valid)


def _fit_abduction_and_twist(m: NumberFunctions[N], twists: bool, axes: Any, mean_x: Any) -> tuple[list[Any], Any, Any]:
    """Return the abduction, and the twist if there is one; the twist's cosine and sine; the axes after both.

    They bring x to the bones' mean x, which no heading changes.
    """
    x, y, z = axes
    abduction = m.atan2(_dot(y, mean_x), _dot(x, mean_x))
    x, y = _rotated_axes(x, y, *m.cos_sin(abduction))
    if not twists:
        return [abduction], (1.0, 0.0), (x, y, z)
    twist = m.atan2(-_dot(z, mean_x), _dot(x, mean_x))
    cos, sin = m.cos_sin(twist)
    z, x = _rotated_axes(z, x, cos, sin)
    return [abduction, twist], (cos, sin), (x, y, z)


def _fit_heading(m: NumberFunctions[N], axes: Any, bone: Any) -> tuple[Any, Any, Any, Any]:
    """Return the optimal heading of a bone, e_y and e_z there, its axes, and whether it is less than a right angle
    off."""
    x, y, z = axes
    p, q, r = bone
    cos_sum, sin_sum = _dot(y, q) + _dot(z, r), _dot(z, q) - _dot(y, r)
    heading = m.atan2(sin_sum, cos_sum)
    cos, sin = m.cos_sin(heading)
    side, top = _dot(x, q), _dot(x, r)
    errors = (sin * side + cos * top - _dot(z, p)) / 2, (sin * top - cos * side + _dot(y, p)) / 2
    is_near = _dot(x, p) + cos * cos_sum + sin * sin_sum > 1
    y, z = _rotated_axes(y, z, cos, sin)
    return heading, errors, (x, y, z), is_near


def _limb_step(joints: tuple[DirectionJoint, ...], fitted: list[FittedJoint[Any]], shifts: list[Any]) -> list[Any]:
    """Return the step from the fitted angles. `shifts`: added by the coupling to the last joint's headings."""
    last = fitted[-1]
    remaining: Any = 0.0, *last.mean_errors
    steps: list[Any] = []
    if len(fitted) > 1:
        x, y, z = rotation = _last_bone_rotation(joints[0], fitted[0], last, child_twists=joints[1].twists)
        steps = _joint_step(joints[0], fitted[0], (0.0, y, z), [0.0] * (len(joints[0].targets) - 1) + [x])
        rotated = [_dot(rotation, column) for column in zip(*fitted[0].axes, strict=True)]
        remaining = [error - _dot(rotated, axis) for error, axis in zip(remaining, last.axes, strict=True)]
    return steps + _joint_step(joints[-1], last, remaining, shifts)


def _joint_step(joint: DirectionJoint, fitted: FittedJoint[Any], rotation: Any, shifts: list[Any]) -> list[Any]:
    """Return the joint's step that rotates its bones by `rotation` about x, y and z, plus each heading by its shift."""
    x, y, z = rotation
    cos, sin = fitted.twist
    abduction = z / cos
    headings = [x + sin * abduction + shift for shift in shifts]
    steps = [abduction, y] if joint.twists else [abduction]
    steps += [heading - parent_heading for parent_heading, heading in pairwise([0.0, *headings])]
    return [sign * step for sign, step in zip(joint.signs, steps, strict=True)]


def _last_bone_rotation(
    joint: DirectionJoint, fitted: FittedJoint[Any], child: FittedJoint[Any], child_twists: bool
) -> tuple[Any, Any, Any]:
    """Return the rotation of a joint's last bone about x, y and z that is best for its own targets and for the child
    joint.

    A child that cannot twist needs ē_y about its own y axis a; the bone's compliance along a is a · a over the weights.
    """
    twist, side = fitted.mean_errors
    y = child.axes[1]
    ax, ay, az = (_dot(y, axis) for axis in fitted.axes)
    if not joint.twists:
        twist = ay = 0.0
    if child_twists:
        return 0.0, twist, side
    about_x, about_y, about_z = ax / fitted.weights[-1], ay / fitted.total_weight, az / fitted.total_weight
    compliance = ax * about_x + ay * about_y + az * about_z
    correction = (child.mean_errors[0] - ay * twist - az * side) / (1 / child.total_weight + compliance)
    return correction * about_x, twist + correction * about_y, side + correction * about_z


def _coupling_shifts(
    m: NumberFunctions[N], limb: LimbModel, hinges: HingeCoupling, fitted: FittedJoint[N], angles: list[Any]
) -> list[Any]:
    """Return the shift of the last joint's headings by a coupling that is violated at angles (n,)."""
    rotation, coupling = limb.weights.rotation**2, limb.weights.coupling**2
    compliances = [coefficient / weight for coefficient, weight in zip(hinges.headings, fitted.weights, strict=True)]
    total: Any = sum(
        coefficient * compliance for coefficient, compliance in zip(hinges.headings, compliances, strict=True)
    )
    force = coupling * coupling_error(m, hinges.coupling, angles) / (rotation + coupling * total)
    return [force * compliance for compliance in compliances]


def _rotated_axes(first: Any, second: Any, cos: Any, sin: Any) -> Any:
    """Return two axes, rotated in their plane from the first towards the second."""
    ax, ay, az = first
    bx, by, bz = second
    return (
        (cos * ax + sin * bx, cos * ay + sin * by, cos * az + sin * bz),
        (cos * bx - sin * ax, cos * by - sin * ay, cos * bz - sin * az),
    )


def _dot(a: Any, b: Any) -> Any:
    ax, ay, az = a
    bx, by, bz = b
    return ax * bx + ay * by + az * bz
