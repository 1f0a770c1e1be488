"""Digits told by turns alone, at rest in closed form: by where their bones head, in place of how far joints flex.

A joint turns about z (abduction), about y (twist, which some do not have) and about x (flexion), and the hinges after
it about the same x. A bone's heading is the sum of the flexions up to it. In headings all bones share abduction and
twist, each has one angle of its own, and a step of Gauss and Newton falls apart. With e the errors of the bones
(Dynamical 3.1) in the frame of the joint, abducted and twisted, ē their weighted mean, and δ how the step turns the
bone that carries the joint:

    z: cos(twist) · abduction = ē_z − δ_z    y: twist = ē_y − δ_y    x: heading = e_x − δ_x + sin(twist) · abduction

A joint without twist leaves ē_y − δ_y undone: it asks as much of the joint that carries it.
"""

from itertools import pairwise
from typing import Any, Generic, NamedTuple

from ...hand.scalar_math import N, NumberFunctions, Point, wrapped
from .limb_step import row_way
from .limb_targets import TargetColumns
from .limbs import CouplingTerm, LimbModel

NEAR = 0.03
"""rad: a step that is smaller ends at rest, as it leaves about its square."""

Axes = tuple[Point[N], Point[N], Point[N]]
"""x, y, z in the wrist's frame."""


class DirectionJoint(NamedTuple):
    """A joint that abducts, may twist, and flexes, with the hinges after it."""

    twists: bool
    signs: tuple[float, ...]
    """Of its turns: abduction, twist if any, flexions. −1 where they turn the other way about z, y or x."""
    columns: tuple[int, ...]
    """For each flexion, the target on its bone."""


class HingeCoupling(NamedTuple):
    """A soft coupling of the last joint's hinges."""

    row: CouplingTerm
    headings: tuple[float, ...]
    """Its coefficients for the headings; their sum is zero, so that it does not pull at what the headings share."""


class LimbDirections(NamedTuple):
    """A limb that turns alone can tell."""

    joints: tuple[DirectionJoint, ...]
    """One, or two of which the first carries the second."""
    tie: HingeCoupling | None


def headings_of(limb: LimbModel) -> LimbDirections | None:
    """None for a limb that is built otherwise, or whose bones have not one target each."""
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
    """The joint whose turns begin with this one."""
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
    """None for a coupling that must hold, or is of more than hinges."""
    (row,) = limb.rows
    flexions = range(len(limb.turns))[-len(joint.columns) :]
    if not row.soft or not set(row.turns) <= set(flexions[1:]):
        return None
    coefficients = dict(zip(row.turns, row.coefficients, strict=True))
    signed = [coefficients.get(turn, 0.0) * limb.turns[turn].sign for turn in flexions]
    return HingeCoupling(row, tuple(own - after for own, after in pairwise([*signed, 0.0])))


class DirectedJoint(NamedTuple, Generic[N]):
    """A joint as the targets on its own bones have it, each heading at its best: no e_x is left."""

    angles: list[N]
    """Of its turns."""
    slope: tuple[N, N]
    """Cosine and sine of the twist."""
    axes: Axes[N]
    """Of the joint, abducted and twisted."""
    last: Axes[N]
    """Of its last bone."""
    weights: list[N]
    """Of the bones."""
    weight: N
    """Their sum."""
    wrong: tuple[N, N]
    """ē_y, ē_z"""
    sound: Any
    """Whether no bone is off by a right angle."""


def by_headings(
    m: NumberFunctions[N], limb: LimbModel, headings: LimbDirections, frames: TargetColumns
) -> tuple[list[N], Any]:
    """The angles (n,) of a limb, and whether it is at rest there.

    It is not where a place is told or not every bone, a limit binds, or the step is not small.
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
    """Whether the turns of all bones are told, and no place is."""
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
    """A joint on a bone with these axes."""
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
        head.append(wrapped(heading - before))
        before, wrong_y, wrong_z, sound = heading, wrong_y + own * e_y, wrong_z + own * e_z, sound & near
    angles = [sign * angle for sign, angle in zip(joint.signs, head, strict=True)]
    return DirectedJoint(angles, slope, axes, last, weights, weight, (wrong_y / weight, wrong_z / weight), sound)


def _head(m: NumberFunctions[N], twists: bool, axes: Any, mean: Any) -> tuple[list[Any], Any, Any]:
    """The abduction, and the twist if there is one, its cosine and sine, and the axes, with x along the bones' mean x.

    No heading turns a bone's x.
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
    """The best heading of a bone, e_y and e_z there, its axes, and whether it is off by less than a right angle."""
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
    """How far the turns go from where the joints were found. own: by how much the last joint's headings go besides."""
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
    """How far a joint's turns go for its bones to turn about x, y and z, and their headings by their own besides."""
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
    """How far the last bone of a joint turns about x, y and z, as its own targets and the joint after it ask.

    That one asks for ē_y about its own y, a, unless it can twist. The bone gives way to it by a · a over the weights.
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
    """How far a coupling that is missed at angles (n,) pulls the last joint's headings."""
    turn, coupling = limb.worth.turn**2, limb.worth.coupling**2
    gives = [coefficient / weight for coefficient, weight in zip(tie.headings, here.weights, strict=True)]
    give: Any = sum(coefficient * each for coefficient, each in zip(tie.headings, gives, strict=True))
    pull = coupling * row_way(m, tie.row, angles) / (turn + coupling * give)
    return [pull * each for each in gives]


def _turned(one: Any, other: Any, cos: Any, sin: Any) -> Any:
    """Two axes turned from the one towards the other."""
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
