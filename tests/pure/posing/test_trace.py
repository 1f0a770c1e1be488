"""What is shown of the solvers is what they did: their answers lie on it, and the recorded solver is the same."""

import numpy as np
import pytest
from numpy.typing import NDArray

from knuckle.hand import kinematics, poses, proportions
from knuckle.hand import rotations as rot
from knuckle.hand.joints import CHAIN_JOINTS, DIGITS, SIDES, Side
from knuckle.hand.kinematics import Pose
from knuckle.hand.model import HandModel
from knuckle.hand.targets import Targets
from knuckle.posing.algebra_shapes import Shape, Trace, Tracer, trace_arm, trace_palm
from knuckle.solvers import arm as arms
from knuckle.solvers.conformal import Cga
from knuckle.solvers.solver import State

Floats = NDArray[np.float64]
MM = 1e-3


def hand_of(side: Side) -> HandModel:
    return proportions.build(proportions.adult(side))


def stands(hand: HandModel, name: str) -> Pose:
    root = np.eye(4)
    root[:3, :3] = rot.to_matrix(rot.from_axis_angle(np.array([0.6, 0.0, 0.8]), 1.1))
    root[:3, 3] = 0.3, -1.2, 0.9
    return Pose(hand, root[None], poses.angles(hand, name)[None])


def joints_of(pose: Pose, digit: str) -> Floats:
    frames = kinematics.joint_frames(pose.hand, pose)[0]
    places: Floats = frames[[pose.hand.joints.index(joint) for joint in CHAIN_JOINTS[digit]], :3, 3]
    return places


def named(trace: Trace, name: str, kind: str) -> Shape:
    found = [shape for shape in trace.shapes if shape.name == name and shape.kind == kind]
    assert len(found) == 1, f"{len(found)} {kind}s are called {name}"
    return found[0]


def off(shape: Shape, place: Floats) -> float:
    """m, how far a place is off a shape."""
    away = place - shape.centre
    if shape.kind == "sphere":
        return abs(float(np.linalg.norm(away)) - shape.radius)
    out = float(away @ shape.normal)
    if shape.kind == "plane":
        return abs(out)
    if shape.kind == "circle":
        return float(np.hypot(np.linalg.norm(away - out * shape.normal) - shape.radius, out))
    if shape.kind == "line":
        along = rot.unit_vector(shape.points[1] - shape.points[0])
        return float(np.linalg.norm(np.cross(place - shape.points[0], along)))
    return float(np.linalg.norm(shape.points - place, axis=1).min())


@pytest.mark.parametrize("name", ["relaxed", "fist", "pinch", "ok"])
@pytest.mark.parametrize("digit", DIGITS)
@pytest.mark.parametrize("side", SIDES)
def test_the_joints_lie_on_what_is_shown_of_them(side: Side, digit: str, name: str) -> None:
    hand = hand_of(side)
    pose = stands(hand, name)
    tracer = Tracer(hand)
    trace = tracer.digit(pose, digit)
    first, middle, last, tip = joints_of(tracer.solved(pose, digit), digit)
    apart = np.abs(joints_of(pose, digit) - [first, middle, last, tip]).max()
    # A thumb's middle joint bends sideways too, which its places tell a little less well.
    assert apart < (5.0 if digit == "thumb" else 0.5) * MM, f"{apart / MM} mm from how the hand stands"
    np.testing.assert_allclose(tip, joints_of(pose, digit)[3], atol=0.1 * MM)
    laws = [("S₁", "sphere", middle), ("S₂", "sphere", middle), ("S₃", "sphere", last), ("C", "circle", middle)]
    laws += [("B", "pair", middle), ("T", "point", tip), ("Sₜ", "sphere", last)]
    for shape, kind, place in laws:
        assert off(named(trace, shape, kind), place) < 0.1 * MM, shape
    if digit != "thumb":
        for place in (first, middle, last, tip):
            assert off(named(trace, "Φ", "plane"), place) < 0.1 * MM
    chain = next(shape for shape in trace.shapes if shape.kind == "chain")
    np.testing.assert_allclose(chain.points, [first, middle, last, tip], atol=1e-9)


def test_a_straight_finger_has_no_circle_to_show() -> None:
    hand = hand_of("right")
    names = {shape.name for shape in Tracer(hand).digit(stands(hand, "open"), "ring-finger").shapes}
    assert {"S₁", "S₂", "Φ"} <= names, "they touch in the joint between them"
    assert not {"C", "B"} & names


@pytest.mark.parametrize("side", SIDES)
def test_the_recorded_solver_is_the_solver(side: Side) -> None:
    hand = hand_of(side)
    pose, tracer = stands(hand, "relaxed"), Tracer(hand)
    rng = np.random.default_rng(6)
    for digit in DIGITS:
        site = hand.site_index(CHAIN_JOINTS[digit][-1])
        for goal in joints_of(pose, digit)[3] + 0.03 * rng.normal(size=(6, 3)):
            targets = Targets(np.zeros(1), np.array([site]), goal[None, None], np.ones((1, 1)))
            theirs, _ = Cga().solve(hand, targets, State(pose.root[0], pose.angles[0]))
            np.testing.assert_array_equal(tracer.solved(pose, digit, goal).angles, theirs.angles)


def test_each_nearest_place_of_fabrik_is_on_its_sphere_and_its_line() -> None:
    """The target is so near that a limit is in the way, and passes are needed."""
    hand = hand_of("right")
    pose, tracer = stands(hand, "relaxed"), Tracer(hand)
    joints = joints_of(pose, "index-finger")
    goal = joints[0] + 0.3 * (joints[3] - joints[0])
    trace = tracer.digit(pose, "index-finger", goal)
    passes = [shape for shape in trace.shapes if shape.step == 4]
    assert passes, "there are passes"
    spheres = [shape for shape in passes if shape.kind == "sphere"]
    pairs = [shape for shape in passes if shape.kind == "pair"]
    lines = [shape for shape in passes if shape.kind == "line"]
    assert len(spheres) == len(pairs) == len(lines)
    for sphere, line, pair in zip(spheres, lines, pairs, strict=True):
        for place in pair.points:
            assert off(sphere, place) < 1e-9
            assert off(line, place) < 1e-9
    np.testing.assert_allclose(spheres[0].centre, goal, atol=0.2 * MM)
    np.testing.assert_allclose(spheres[1].centre, pairs[0].points[0], atol=1e-9), "each begins where the last ended"


@pytest.mark.parametrize("side", SIDES)
def test_a_bone_stands_within_the_arc_of_its_limits(side: Side) -> None:
    hand = hand_of(side)
    pose = stands(hand, "ok")
    joints = joints_of(pose, "ring-finger")
    trace = Tracer(hand).digit(pose, "ring-finger")
    arcs = [shape for shape in trace.shapes if shape.kind == "arc" and shape.name]
    assert len(arcs) == 3
    for arc, before, after in zip(arcs, joints, joints[1:], strict=False):
        np.testing.assert_allclose(arc.centre, before, atol=1e-4)
        way = rot.unit_vector(after - before)
        ways = (arc.points - arc.centre) / arc.radius
        assert (ways @ way).max() > np.cos(np.deg2rad(4.0)), "the arc passes where the bone is"
        assert abs(arc.normal @ way) < 1e-3
    # At its upper end a finger is curled towards the palm, which is away from the back of the hand.
    upper = (arcs[0].points[-1] - arcs[0].points[0]) @ pose.root[0, :3, 2]
    assert upper < 0


def test_a_plane_that_limits_hold_back_is_shown_beside_the_one_that_was_asked_for() -> None:
    hand = hand_of("right")
    pose, tracer = stands(hand, "open"), Tracer(hand)
    joints = joints_of(pose, "middle-finger")
    aside = joints[3] + 0.08 * pose.root[0, :3, 0]
    wanted = named(tracer.digit(pose, "middle-finger", aside), "Φ′", "plane")
    assert wanted.faint
    assert off(wanted, aside) < 0.1 * MM
    assert not [shape for shape in tracer.digit(pose, "middle-finger").shapes if shape.name == "Φ′"]


@pytest.mark.parametrize(("far", "reported"), [(0.9, "meet"), (0.5, "inside"), (1.5, "out of reach"), (0.0, "near")])
def test_the_case_is_reported(far: float, reported: str) -> None:
    hand = hand_of("left")
    pose = stands(hand, "open")
    joints = joints_of(pose, "index-finger")
    trace = Tracer(hand).digit(pose, "index-finger", joints[0] + far * (joints[3] - joints[0]))
    assert reported in trace.steps[0]
    assert ("z" in [shape.name for shape in trace.shapes]) == (reported == "meet")
    for shape in trace.shapes:
        assert np.isfinite(shape.centre).all() and np.isfinite(shape.points).all() and np.isfinite(shape.radius)


@pytest.mark.parametrize("side", SIDES)
def test_the_knuckles_are_found_on_the_palm(side: Side) -> None:
    hand = hand_of(side)
    pose = stands(hand, "relaxed")
    trace = trace_palm(hand, pose)
    plane = named(trace, "Φ", "plane")
    frames = kinematics.joint_frames(hand, pose)[0]
    for joint in ("wrist", "index-finger-phalanx-proximal", "pinky-finger-phalanx-proximal"):
        assert off(plane, frames[hand.joints.index(joint), :3, 3]) < 1e-9
    for number, digit in enumerate(DIGITS[2:4]):
        place = joints_of(pose, digit)[0]
        name = "₂₃"[number]
        assert off(named(trace, f"F{name}", "point"), place) < 1e-6
        assert off(named(trace, f"C{name}", "circle"), place) < 1e-6
        assert off(named(trace, f"B{name}", "pair"), place) < 1e-6


def test_the_elbow_is_on_what_is_shown_of_it() -> None:
    rng = np.random.default_rng(8)
    arm = arms.Arm(0.29, 0.25)
    for _ in range(20):
        base = np.eye(4)
        base[:3, 3] = rng.normal(size=3)
        wrist = np.eye(4)[None].copy()
        wrist[0, :3, 3] = base[:3, 3] + rng.uniform(0.2, 0.5) * rot.unit_vector(rng.normal(size=3))
        posed, _ = arms.solve(arm, wrist, base)
        upper, fore, hand = arms.frames(arm, posed, base)[0, :, :3, 3]
        end = hand + 0.1 * rng.normal(size=3)
        trace = trace_arm(arm, upper, fore, hand, end)
        for name, kind in (("S₁", "sphere"), ("S₂", "sphere"), ("C", "circle"), ("π", "plane"), ("B", "pair")):
            assert off(named(trace, name, kind), fore) < 1e-6, name
        assert off(named(trace, "Sₜ", "sphere"), hand) < 1e-9
        np.testing.assert_allclose(named(trace, "B", "pair").points[0], fore, atol=1e-6)


def test_an_arm_that_is_straight_or_folded_is_shown_as_far_as_there_is_something() -> None:
    arm = arms.Arm(0.3, 0.3)
    ahead = np.array([0.0, 1.0, 0.0])
    for wrist in (0.6 * ahead, 1e-9 * ahead, np.zeros(3)):
        trace = trace_arm(arm, np.zeros(3), 0.3 * ahead, wrist, wrist)
        assert all(np.isfinite(shape.centre).all() and np.isfinite(shape.points).all() for shape in trace.shapes)
