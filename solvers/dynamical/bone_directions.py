"""Closed-form least squares for a digit with rotation targets only, in headings instead of flexions.

A digit's first joint rotates about z (abduction), about y (twist, which some joints lack) and about x (flexion); the
hinges after it rotate about the same x. A bone's heading is the sum of the flexions up to it. In these coordinates all
bones share abduction and twist, each bone has one angle of its own, and the Gauss-Newton step decouples. With e the
rotation errors of the bones (Dynamical 3.1) in the joint's frame after abduction and twist, ē their weighted mean, and
δ the rotation by which the step moves the parent bone:

    z: cos(twist) · abduction = ē_z − δ_z    y: twist = ē_y − δ_y    x: heading = e_x − δ_x + sin(twist) · abduction

A joint without twist cannot correct ē_y − δ_y and passes it on to its parent joint.
"""

from itertools import pairwise
from typing import Any, Generic, NamedTuple

from ...hand.scalar_math import N, NumberFunctions, Point, wrap_angle
from .limb_step import row_way
from .limb_targets import TargetColumns
from .limbs import CouplingTerm, LimbModel

NEAR = 0.03
"""rad: a smaller step converges, because the error that it leaves is about its square."""

Axes = tuple[Point[N], Point[N], Point[N]]
"""x, y, z in the wrist's frame."""


class DirectionJoint(NamedTuple):
    """A joint that abducts, may twist, and flexes, together with the hinges after it."""

    twists: bool
    signs: tuple[float, ...]
    """Of abduction, twist if any, and flexions: −1 where a positive angle is a negative rotation about z, y or x."""
    columns: tuple[int, ...]
    """For each flexion, the target on its bone."""


class HingeCoupling(NamedTuple):
    """A soft coupling between the hinges of the last joint."""

    row: CouplingTerm
    headings: tuple[float, ...]
    """Its coefficients for the headings. They sum to zero: a change common to all headings does not affect it."""


class LimbDirections(NamedTuple):
    """A limb that rotation targets alone determine."""

    joints: tuple[DirectionJoint, ...]
    """One joint, or two of which the first is the parent of the second."""
    tie: HingeCoupling | None


def headings_of(limb: LimbModel) -> LimbDirections | None:
    """Return None for a limb of another structure, or one whose bones do not have exactly one target each."""
    joints: list[DirectionJoint] = []
    count = 0
    while count < len(limb.turns):
        joint = _joint(limb, count)
        if joint is None or len(joints) == 2:
            return None
        joints.append(joint)
        count += len(joint.signs)
    tie = _tie(limb, joints[-1]) if len(limb.rows) == 1 else None
    told = sum(len(joint.columns) for joint in joints)
    if told != len(limb.marks) or len(limb.rows) != (tie is not None):
        return None
    return LimbDirections(tuple(joints), tie)


def _joint(limb: LimbModel, begin: int) -> DirectionJoint | None:
    """The joint whose degrees of freedom start at `begin`, None if they are not of its kind."""
    axes = [turn.axis for turn in limb.turns[begin:]]
    twists = axes[:2] == [2, 1]
    head = end = 1 + twists
    while end < len(axes) and axes[end] == 0:
        end += 1
    own = range(begin, begin + end)
    straight = all(limb.turns[turn].before == turn - 1 and (not turn or limb.turns[turn].fixed is None) for turn in own)
    marks = [[mark for mark in limb.marks if mark.turn == turn and mark.fixed is None] for turn in own[head:]]
    if axes[0] != 2 or end == head or not straight or any(len(each) != 1 for each in marks):
        return None
    return DirectionJoint(twists, tuple(limb.turns[turn].sign for turn in own), tuple(each[0].column for each in marks))


def _tie(limb: LimbModel, joint: DirectionJoint) -> HingeCoupling | None:
    """None for a hard coupling, or one that involves more than hinges."""
    (row,) = limb.rows
    flexions = range(len(limb.turns))[-len(joint.columns) :]
    if not row.soft or not set(row.turns) <= set(flexions[1:]):
        return None
    coefficients = dict(zip(row.turns, row.coefficients, strict=True))
    signed = [coefficients.get(turn, 0.0) * limb.turns[turn].sign for turn in flexions]
    return HingeCoupling(row, tuple(own - after for own, after in pairwise([*signed, 0.0])))


class DirectedJoint(NamedTuple, Generic[N]):
    """A joint fitted to the targets on its own bones, each heading optimal, so that no e_x remains."""

    angles: list[N]
    """rad, abduction, twist if any, flexions."""
    slope: tuple[N, N]
    """Cosine and sine of the twist."""
    axes: Axes[N]
    """Of the joint's frame after abduction and twist."""
    last: Axes[N]
    """Of the frame of its last bone."""
    weights: list[N]
    """Of the bones."""
    weight: N
    """Sum of `weights`."""
    wrong: tuple[N, N]
    """ē_y and ē_z, the mean errors that remain."""
    sound: Any
    """Whether every bone is less than a right angle off."""


def by_headings(
    m: NumberFunctions[N], limb: LimbModel, headings: LimbDirections, frames: TargetColumns
) -> tuple[list[N], Any]:
    """The angles (n,) of a limb in rad, and whether they are a converged solution.

    They are not where a bone lacks a rotation target, a position target has a weight, a limit is active, or the last
    step was not small.
    """
    sound = _told(limb, headings, frames)
    if not m.any(sound):
        return [], sound
    axes: Any = limb.turns[0].begin
    found: list[DirectedJoint[N]] = []
    angles: list[Any] = []
    for joint in headings.joints:
        here = _find(m, joint, axes[:3], frames, sound)
        found.append(here)
        angles += here.angles
        axes, sound = here.last, sound & here.sound
    last = found[-1]
    own = [0.0] * len(last.weights) if headings.tie is None else _pulled(m, limb, headings.tie, last, angles)
    moved: list[Any] = []
    for step, angle, low, high in zip(_steps(headings.joints, found, own), angles, limb.low, limb.high, strict=True):
        after = angle + step
        sound = sound & (abs(step) < NEAR) & (low <= after) & (after <= high)
        moved.append(after)
    return moved, sound


def _told(limb: LimbModel, headings: LimbDirections, frames: TargetColumns) -> Any:
    """Whether all bones have rotation targets and no site has a position target."""
    if frames.turns is None:
        return False
    told: Any = True
    for mark in limb.marks:
        told = told & (frames.turn_weights[mark.column] > 0)
        if mark.moves:
            told = told & (frames.weights[mark.column] <= 0)
    return told


def _find(
    m: NumberFunctions[N], joint: DirectionJoint, axes: Any, frames: TargetColumns, told: Any
) -> DirectedJoint[N]:
    """Fit a joint whose parent bone has these axes."""
    bones = [frames.turns[column] for column in joint.columns]
    weights: list[Any] = [m.where(told, frames.turn_weights[column], 1.0) for column in joint.columns]
    weight = sum(weights)
    x: Any = [sum(own * bone[0][i] for own, bone in zip(weights, bones, strict=True)) for i in range(3)]
    head, slope, axes = _head(m, joint.twists, axes, x)
    before: Any = 0.0
    wrong_y: Any = 0.0
    wrong_z: Any = 0.0
    sound: Any = True
    for own, bone in zip(weights, bones, strict=True):
        heading, (e_y, e_z), last, near = _bone(m, axes, bone)
        head.append(wrap_angle(heading - before))
        before, wrong_y, wrong_z, sound = heading, wrong_y + own * e_y, wrong_z + own * e_z, sound & near
    angles = [sign * angle for sign, angle in zip(joint.signs, head, strict=True)]
    return DirectedJoint(angles, slope, axes, last, weights, weight, (wrong_y / weight, wrong_z / weight), sound)


def _head(m: NumberFunctions[N], twists: bool, axes: Any, mean: Any) -> tuple[list[Any], Any, Any]:
    """The abduction, and the twist if there is one; the twist's cosine and sine; the axes after both.

    They bring x to the bones' mean x, which no heading changes.
    """
    x, y, z = axes
    abduction = m.atan2(_dot(y, mean), _dot(x, mean))
    x, y = _turned(x, y, m.cos(abduction), m.sin(abduction))
    if not twists:
        return [abduction], (1.0, 0.0), (x, y, z)
    twist = m.atan2(-_dot(z, mean), _dot(x, mean))
    slope = m.cos(twist), m.sin(twist)
    z, x = _turned(z, x, *slope)
    return [abduction, twist], slope, (x, y, z)


def _bone(m: NumberFunctions[N], axes: Any, bone: Any) -> tuple[Any, Any, Any, Any]:
    """The optimal heading of a bone, e_y and e_z there, its axes, and whether it is less than a right angle off."""
    x, y, z = axes
    p, q, r = bone
    along, across = _dot(y, q) + _dot(z, r), _dot(z, q) - _dot(y, r)
    heading = m.atan2(across, along)
    cos, sin = m.cos(heading), m.sin(heading)
    side, top = _dot(x, q), _dot(x, r)
    wrong = (sin * side + cos * top - _dot(z, p)) / 2, (sin * top - cos * side + _dot(y, p)) / 2
    near = _dot(x, p) + cos * along + sin * across > 1
    y, z = _turned(y, z, cos, sin)
    return heading, wrong, (x, y, z), near


def _steps(joints: tuple[DirectionJoint, ...], found: list[DirectedJoint[Any]], own: list[Any]) -> list[Any]:
    """The step from the fitted angles. `own`: what the coupling adds to the last joint's headings."""
    last = found[-1]
    left: Any = 0.0, *last.wrong
    steps: list[Any] = []
    if len(found) > 1:
        x, y, z = turn = _asked(joints[0], found[0], last, twisted=joints[1].twists)
        steps = _step(joints[0], found[0], (0.0, y, z), [0.0] * (len(joints[0].columns) - 1) + [x])
        carried = [_dot(turn, along) for along in zip(*found[0].axes, strict=True)]
        left = [wrong - _dot(carried, axis) for wrong, axis in zip(left, last.axes, strict=True)]
    return steps + _step(joints[-1], last, left, own)


def _step(joint: DirectionJoint, here: DirectedJoint[Any], turn: Any, own: list[Any]) -> list[Any]:
    """The joint's step that rotates its bones by `turn` about x, y and z, plus each heading by its entry of `own`."""
    x, y, z = turn
    cos, sin = here.slope
    abduction = z / cos
    headings = [x + sin * abduction + each for each in own]
    steps = [abduction, y] if joint.twists else [abduction]
    steps += [heading - before for before, heading in pairwise([0.0, *headings])]
    return [sign * step for sign, step in zip(joint.signs, steps, strict=True)]


def _asked(
    joint: DirectionJoint, here: DirectedJoint[Any], after: DirectedJoint[Any], twisted: bool
) -> tuple[Any, Any, Any]:
    """The rotation of a joint's last bone about x, y and z that is best for its own targets and for the child joint.

    A child that cannot twist needs ē_y about its own y axis a; the bone's compliance along a is a · a over the weights.
    """
    twist, side = here.wrong
    y = after.axes[1]
    ax, ay, az = (_dot(y, axis) for axis in here.axes)
    if not joint.twists:
        twist = ay = 0.0
    if twisted:
        return 0.0, twist, side
    about_x, about_y, about_z = ax / here.weights[-1], ay / here.weight, az / here.weight
    gives = ax * about_x + ay * about_y + az * about_z
    share = (after.wrong[0] - ay * twist - az * side) / (1 / after.weight + gives)
    return share * about_x, twist + share * about_y, side + share * about_z


def _pulled(
    m: NumberFunctions[N], limb: LimbModel, tie: HingeCoupling, here: DirectedJoint[N], angles: list[Any]
) -> list[Any]:
    """By how much a coupling that is violated at angles (n,) shifts the last joint's headings."""
    turn, coupling = limb.worth.turn**2, limb.worth.coupling**2
    gives = [coefficient / weight for coefficient, weight in zip(tie.headings, here.weights, strict=True)]
    give: Any = sum(coefficient * each for coefficient, each in zip(tie.headings, gives, strict=True))
    pull = coupling * row_way(m, tie.row, angles) / (turn + coupling * give)
    return [pull * each for each in gives]


def _turned(one: Any, other: Any, cos: Any, sin: Any) -> Any:
    """Two axes, rotated in their plane from the first towards the second."""
    ax, ay, az = one
    bx, by, bz = other
    return (
        (cos * ax + sin * bx, cos * ay + sin * by, cos * az + sin * bz),
        (cos * bx - sin * ax, cos * by - sin * ay, cos * bz - sin * az),
    )


def _dot(one: Any, other: Any) -> Any:
    ax, ay, az = one
    bx, by, bz = other
    return ax * bx + ay * by + az * bz
