"""A fingertip dragged under the mouse is there wherever its finger can be, which curls as a person's does.

The views look along a direction; goals may be at any depth.
"""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import least_squares

from knuckle.hand.joints import CHAIN_JOINTS, DIGITS
from knuckle.hand.kinematics import Pose, joint_position
from knuckle.hand.proportions import adult, build
from knuckle.posing.dragging import Drag, DragStep, start_drag
from knuckle.tests.pure.posing.test_dragging import TIPS, dofs_of

Floats = NDArray[np.float64]

HAND = build(adult("right"))
VIEWS = {"top": (0.0, 0.0, 1.0), "front": (0.0, -1.0, 0.0), "side": (1.0, 0.0, 0.0), "oblique": (0.5, -0.5, 0.7)}
FISTS = {"MCP": (50.0, 90.0), "PIP": (60.0, 110.0), "DIP": (35.0, 73.0)}
"""Degrees that fists take in captures: 77-89, 88-107 and 57-73 of a headset; 42-68, 66-90 and 48-62 of markers on the
skin. A palm is reached before a fist is closed."""
PIXEL = 0.45e-3
"""m, of a view that a hand fills."""
UNDER = 1.5 * PIXEL
"""m from the mouse, seen."""
HELD = 5.0
"""Degrees that a knuckle extends and leans at most, where it need not."""
BLURRED = 0.7
"""Degrees beyond, by which the limits are soft."""
MAX_LEAN = 12.0
"""Degrees that a knuckle leans at most while a straight finger is pushed at the palm."""
LAST = 15.0
"""Degrees by which a last joint flexes more than a middle one, at most."""
MIN_START_FLEXION = 13.5
"""Degrees to which a straight finger bends when it gets a pixel shorter: two bones of 33 and 36 mm, as the shortest
have, do by 0.23 rad, since 33 · 36 / (2 · 69) mm times the square of their angle is what they lose."""
RHO = 2 / 3
NEAR = np.deg2rad(20.0)
"""rad of flexion between poses that are near each other. Along the view there may be others, bent otherwise."""
STEPS = 40


def unit(view: Floats) -> Floats:
    return np.asarray(view / np.linalg.norm(view), np.float64)


def chain_dofs(digit: str) -> list[int]:
    """Of a finger: the abduction of its knuckle, and the flexions of its three joints."""
    first, middle, last, _ = CHAIN_JOINTS[digit]
    movements = (first, "abduction"), (first, "flexion"), (middle, "flexion"), (last, "flexion")
    found = [HAND.dof(joint, movement) for joint, movement in movements]  # type: ignore[arg-type]
    return [dof for dof in found if dof is not None]


def begun(bent: str) -> Pose:
    angles = np.zeros(HAND.dofs) if bent == "straight" else HAND.neutral
    return Pose(HAND, np.eye(4)[None], np.clip(angles[None], *HAND.limits.T))


def led(of: Drag, goals: Floats, along: Floats) -> list[DragStep]:
    steps: list[DragStep] = []
    for goal in goals:
        steps.append(of.step(goal, steps[-1] if steps else None, along))
    return steps


def off(pose: Pose, digit: str, goal: Floats, along: Floats) -> float:
    """m that are seen between a tip and its goal."""
    away = joint_position(pose, TIPS[digit])[0] - goal
    return float(np.linalg.norm(away - (away @ along) * along))


def changes(pose: Pose, start: Pose, digit: str) -> Floats:
    """Degrees by which abduction, MCP, PIP and DIP have changed."""
    own = chain_dofs(digit)
    return np.asarray(np.rad2deg(pose.angles[0, own] - start.angles[0, own]))


def best_held(start: Pose, near: Pose, digit: str, goal: Floats, along: Floats) -> float:
    """m off the goal of the best pose near another in which the knuckle stays as it was; by scipy."""
    own, (low, high), begin = chain_dofs(digit), HAND.limits.T, start.angles[0, chain_dofs(digit)]
    there, held = near.angles[0, own[:3]], np.deg2rad(HELD)
    least = np.maximum(low[own[:3]], [begin[0] - held, max(begin[1] - held, there[1] - NEAR), there[2] - NEAR])
    most = np.minimum(high[own[:3]], [begin[0] + held, there[1] + NEAR, there[2] + NEAR])
    most = np.maximum(most, least + 1e-3)

    def seen(angles: Floats) -> Floats:
        pose = start.angles.copy()
        pose[0, own[:3]] = angles
        pose[0, own[3]] = np.clip(begin[3] + RHO * (angles[2] - begin[2]), low[own[3]], high[own[3]])
        away = 1000 * (joint_position(Pose(HAND, start.root, pose), TIPS[digit])[0] - goal)
        return np.asarray(away - (away @ along) * along)

    first = np.clip(there, least + 1e-4, most - 1e-4)
    return float(np.linalg.norm(least_squares(seen, first, bounds=(least, most)).fun)) / 1000


def palm_under(pose: Pose, digit: str) -> Floats:
    """A point on the palm, at two thirds of the way from the wrist to a knuckle."""
    knuckle = joint_position(pose, CHAIN_JOINTS[digit][0])[0]
    return np.asarray(knuckle * [0.62, 0.62, 1.0] - [0.0, 0.0, 0.022], np.float64)


def most_flexed(knuckle: float) -> float:
    """The most degrees that a middle joint of a straight finger flexes with its knuckle without hooking."""
    return 10.0 + (2.5 * knuckle if knuckle > 0.0 else knuckle / 4)


def check_held(step: DragStep, start: Pose, digit: str, goal: Floats, along: Floats) -> None:
    """A knuckle that leans or extends does so since nothing else near reaches the mouse."""
    lean, extended, *_ = changes(step.pose, start, digit)
    if abs(lean) > HELD + BLURRED or extended < -HELD - BLURRED:
        other = best_held(start, step.pose, digit, goal, along)
        assert other > UNDER, f"lean {lean:.1f}, extended {extended:.1f}: {1000 * other:.2f} mm off without"


def check_curled(change: Floats) -> None:
    """A straight finger hooks nowhere on its way, even where only a hook would be under the mouse."""
    lean, knuckle, middle, last = change
    assert abs(lean) <= MAX_LEAN and knuckle >= -HELD, f"lean {lean:.1f}, flexed {knuckle:.1f}"
    assert middle <= most_flexed(knuckle) + BLURRED, f"MCP {knuckle:.1f}, PIP {middle:.1f}"
    assert last <= middle + LAST, f"PIP {middle:.1f}, DIP {last:.1f}"


@pytest.mark.parametrize("bent", ["straight", "relaxed"])
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("digit", DIGITS[1:])
def test_a_tip_dragged_straight_at_the_palm_curls_the_finger(digit: str, view: str, bent: str) -> None:
    start, along = begun(bent), unit(np.array(VIEWS[view]))
    of = start_drag(start, TIPS[digit])
    parts = np.linspace(0.0, 1.0, STEPS + 1)[1:, None]
    goals = of.position + parts * (palm_under(start, digit) - of.position)
    steps = led(of, goals, along)
    for step, goal in zip(steps[4::5], goals[4::5], strict=True):
        check_held(step, start, digit, goal, along)
        if bent == "straight":
            check_curled(changes(step.pose, start, digit))
    assert off(steps[-1].pose, digit, goals[-1], along) < UNDER
    if view != "front":  # seen from there, a palm is reached by bending a little
        for (joint, (low, high)), dof in zip(FISTS.items(), chain_dofs(digit)[1:], strict=True):
            assert low <= np.rad2deg(steps[-1].pose.angles[0, dof]) <= high, joint


some = settings(max_examples=25, deadline=None)
seeds = st.integers(0, 99999)


def some_goal(digit: str, bent: str, seed: int) -> tuple[Pose, Drag, Floats, Floats]:
    """A drag, a goal where a pose of its digit has the tip, and a view of it."""
    start, rng = begun(bent), np.random.default_rng(seed)
    angles = start.angles.copy()
    for dof in dofs_of(HAND, digit):
        more = {"flexion": rng.uniform(-20.0, 70.0), "abduction": rng.uniform(-8.0, 8.0), "twist": 0.0}
        angles[0, dof] = np.clip(angles[0, dof] + np.deg2rad(more[HAND.movements[dof]]), *HAND.limits[dof])
    _, knuckle, middle, last = chain_dofs(digit)
    if bent == "straight":  # it would not be drawn into a hook
        most = np.deg2rad(most_flexed(float(np.rad2deg(angles[0, knuckle]))))
        angles[0, middle] = np.clip(angles[0, middle], HAND.limits[middle, 0], most)
    angles[0, last] = start.angles[0, last] + RHO * (angles[0, middle] - start.angles[0, middle])
    goal = joint_position(Pose(HAND, start.root, np.clip(angles, *HAND.limits.T)), TIPS[digit])[0]
    along, of = unit(rng.normal(size=3)), start_drag(start, TIPS[digit])
    return start, of, goal - ((goal - of.position) @ along) * along, along


def pixels(of: Drag, goal: Floats) -> Floats:
    """Goals a pixel apart on the way there."""
    count = max(2, int(np.linalg.norm(goal - of.position) / PIXEL))
    return np.asarray(of.position + np.linspace(0.0, 1.0, count + 1)[1:, None] * (goal - of.position))


@some
@given(digit=st.sampled_from(DIGITS[1:]), bent=st.sampled_from(["straight", "relaxed"]), seed=seeds)
def test_the_mouse_wins_and_a_pixel_further_is_a_pose_nearby(digit: str, bent: str, seed: int) -> None:
    """Where any pose has the tip under the mouse it is there, at the latest as soon as the mouse rests."""
    start, of, goal, along = some_goal(digit, bent, seed)
    goals = pixels(of, goal)
    steps = led(of, np.concatenate([goals, np.repeat(goals[-1:], 25, axis=0)]), along)
    assert off(steps[-1].pose, digit, goal, along) < UNDER
    check_held(steps[-1], start, digit, goal, along)
    for before, after in itertools.pairwise([start, *(step.pose for step in steps)]):
        most = MIN_START_FLEXION if before is start and bent == "straight" else 7.5
        assert np.rad2deg(np.abs(after.angles - before.angles).max()) < most


@some
@given(digit=st.sampled_from(DIGITS[1:]), seed=seeds)
def test_back_where_it_began_the_pose_is_as_it_was(digit: str, seed: int) -> None:
    start, of, goal, along = some_goal(digit, "relaxed", seed)
    goals = pixels(of, goal)[::4]
    last = led(of, np.concatenate([goals, goals[::-1], np.repeat(of.position[None], 30, axis=0)]), along)[-1]
    assert np.rad2deg(np.abs(last.pose.angles - start.angles).max()) < 0.1


@some
@given(digit=st.sampled_from(DIGITS[1:]), seed=seeds)
def test_the_goal_at_the_depth_of_the_tip_gives_the_same_pose(digit: str, seed: int) -> None:
    """So Blender's panel shows where the tip was dragged to, and changes it from there."""
    _, of, goal, along = some_goal(digit, "relaxed", seed)
    goal = of.position + 0.3 * (goal - of.position)
    step = led(of, pixels(of, goal), along)[-1]
    again = of.step(of.reached(step, goal, along))
    assert np.linalg.norm(joint_position(again.pose, of.joint) - joint_position(step.pose, of.joint)) < UNDER
    assert np.rad2deg(np.abs(again.pose.angles - step.pose.angles).max()) < 3.0


@pytest.mark.parametrize("digit", DIGITS[1:])
@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_a_tip_dragged_sideways_spreads_the_finger(digit: str, side: float) -> None:
    start, along = begun("straight"), unit(np.array(VIEWS["top"]))
    of = start_drag(start, TIPS[digit])
    away = of.position - joint_position(start, CHAIN_JOINTS[digit][0])[0]
    turn = np.linspace(0.0, np.deg2rad(10.0) * side, 20)[1:]
    cos, sin = np.cos(turn), np.sin(turn)
    rotated = np.stack([away[0] * cos - away[1] * sin, away[0] * sin + away[1] * cos, 0 * turn + away[2]], axis=1)
    goals = of.position + rotated - away
    last = led(of, goals, along)[-1]
    assert off(last.pose, digit, goals[-1], along) < UNDER
    assert abs(changes(last.pose, start, digit)[0]) == pytest.approx(10.0, abs=2.5)


def test_a_straight_finger_that_is_lifted_extends_its_knuckle() -> None:
    start, along = begun("straight"), unit(np.array(VIEWS["side"]))
    of = start_drag(start, TIPS["index-finger"])
    knuckle = joint_position(start, CHAIN_JOINTS["index-finger"][0])[0]
    arm = float(np.linalg.norm(of.position - knuckle))
    lift = np.linspace(0, np.deg2rad(20.0), 20)[1:, None]
    goals = knuckle + arm * (np.cos(lift) * [0.0, 1.0, 0.0] + np.sin(lift) * [0.0, 0.0, 1.0])
    _, extended, middle, _ = changes(led(of, goals, along)[-1].pose, start, "index-finger")
    assert extended < -14.0
    assert middle < 8.0
