"""A fingertip dragged under the mouse curls its digit as a person does: all joints together, in their plane."""

import numpy as np
import pytest
from numpy.typing import NDArray

from knuckle.hand.joints import CHAIN_JOINTS, DIGITS
from knuckle.hand.kinematics import Pose, joint_position
from knuckle.hand.proportions import adult, build
from knuckle.posing.dragging import Drag, DragStep, drag
from knuckle.tests.pure.posing.test_dragging import TIPS, dofs_of

Floats = NDArray[np.float64]

HAND = build(adult("right"))
VIEWS = {"top": (0.0, 0.0, 1.0), "front": (0.0, -1.0, 0.0), "side": (1.0, 0.0, 0.0), "oblique": (0.5, -0.5, 0.7)}
FISTS = {"MCP": (60.0, 90.0), "PIP": (75.0, 110.0), "DIP": (40.0, 70.0)}
"""Degrees that a fist takes in captures: 77-89, 88-107 and 57-73 of a headset; 42-68, 66-90 and 48-62 of markers on the
skin; a palm is reached before a fist is closed."""
STEPS = 40


def unit(view: tuple[float, ...]) -> Floats:
    return np.asarray(np.array(view) / np.linalg.norm(view), np.float64)


def flexions(pose: Pose, digit: str) -> Floats:
    """Degrees of the finger's three joints."""
    return np.rad2deg([pose.angles[0, dof] for dof in dofs_of(HAND, digit) if HAND.movements[dof] == "flexion"])


def abduction(pose: Pose, digit: str) -> float:
    (dof,) = [dof for dof in dofs_of(HAND, digit) if HAND.movements[dof] == "abduction"]
    return float(np.rad2deg(pose.angles[0, dof]))


def begun(bent: str) -> Pose:
    angles = np.zeros(HAND.dofs) if bent == "straight" else HAND.neutral
    return Pose(HAND, np.eye(4)[None], angles[None].copy())


def led(of: Drag, goals: Floats, along: Floats) -> list[DragStep]:
    steps: list[DragStep] = []
    for goal in goals:
        steps.append(of.step(goal, steps[-1] if steps else None, along))
    return steps


def across(offset: Floats, view: Floats) -> float:
    """mm that are seen of an offset."""
    return 1000 * float(np.linalg.norm(offset - (offset @ view) * view))


def palm_under(pose: Pose, digit: str) -> Floats:
    """A point on the palm, at two thirds of the way from the wrist to a knuckle."""
    knuckle = joint_position(pose, CHAIN_JOINTS[digit][0])[0]
    return np.asarray(knuckle * [1.0, 0.62, 1.0] - [0.0, 0.0, 0.022], np.float64)


@pytest.mark.parametrize("bent", ["straight", "relaxed"])
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("digit", DIGITS[1:])
def test_a_tip_dragged_straight_at_the_palm_curls_the_finger(digit: str, view: str, bent: str) -> None:
    start, along = begun(bent), unit(VIEWS[view])
    of = drag(start, TIPS[digit])
    parts = np.linspace(0.0, 1.0, STEPS + 1)[1:, None]
    goals = of.position + parts * (palm_under(start, digit) - of.position)
    steps = led(of, goals, along)
    knuckle, sideways = flexions(start, digit)[0], abduction(start, digit)
    for step in steps:
        mcp, pip, _ = flexions(step.pose, digit) - flexions(start, digit)
        assert abs(abduction(step.pose, digit) - sideways) < 6.0
        # Seen from the front, a relaxed finger is lifted: its knuckle extends with it.
        assert mcp > -6.5 or pip < 0.0
    off = across(joint_position(steps[-1].pose, TIPS[digit])[0] - goals[-1], along)
    assert off < 5.0
    if view != "front":
        for joint, angle in zip(FISTS, flexions(steps[-1].pose, digit), strict=True):
            low, high = FISTS[joint]
            assert low <= angle <= high, f"{joint} {angle:.0f} degrees, from {knuckle:.0f}"


@pytest.mark.parametrize("digit", DIGITS)
@pytest.mark.parametrize("seed", range(6))
def test_a_tip_is_under_the_mouse_where_it_can_be(digit: str, seed: int) -> None:
    """Wherever a digit that bends further has it, seen from anywhere."""
    start, rng = begun("relaxed"), np.random.default_rng(seed)
    angles = start.angles.copy()
    for dof in dofs_of(HAND, digit):
        more = {"flexion": rng.uniform(0.0, 40.0), "abduction": rng.uniform(-4.0, 4.0), "twist": 0.0}
        angles[0, dof] = np.clip(angles[0, dof] + np.deg2rad(more[HAND.movements[dof]]), *HAND.limits[dof])
    goal = joint_position(Pose(HAND, start.root, angles), TIPS[digit])[0]
    along = unit(tuple(rng.normal(size=3)))
    of = drag(start, TIPS[digit])
    last = led(of, of.position + np.linspace(0, 1, 13)[1:, None] * (goal - of.position), along)[-1]
    assert across(joint_position(last.pose, TIPS[digit])[0] - goal, along) < 0.8


@pytest.mark.parametrize("digit", DIGITS)
def test_back_where_it_began_the_pose_is_as_it_was(digit: str) -> None:
    start, along = begun("relaxed"), unit(VIEWS["oblique"])
    of = drag(start, TIPS[digit])
    parts = np.concatenate([np.linspace(0, 1, 20), np.linspace(1, 0, 20), np.zeros(12)])[:, None]
    goals = of.position + parts * (palm_under(start, "middle-finger") - of.position)
    last = led(of, goals, along)[-1]
    assert np.rad2deg(np.abs(last.pose.angles - start.angles)).max() < 0.1


@pytest.mark.parametrize("digit", DIGITS[1:])
@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_a_tip_dragged_sideways_spreads_the_finger(digit: str, side: float) -> None:
    """By 10 degrees, seen from above."""
    start, along = begun("straight"), unit(VIEWS["top"])
    of = drag(start, TIPS[digit])
    away = of.position - joint_position(start, CHAIN_JOINTS[digit][0])[0]
    turn = np.linspace(0.0, np.deg2rad(10.0) * side, 20)[1:]
    cos, sin = np.cos(turn), np.sin(turn)
    rotated = np.stack([away[0] * cos - away[1] * sin, away[0] * sin + away[1] * cos, 0 * turn + away[2]], axis=1)
    goals = of.position + rotated - away
    last = led(of, goals, along)[-1]
    assert across(joint_position(last.pose, TIPS[digit])[0] - goals[-1], along) < 0.8
    assert abs(abduction(last.pose, digit) - abduction(start, digit)) == pytest.approx(10.0, abs=1.5)


def test_a_straight_finger_that_is_lifted_extends_its_knuckle() -> None:
    start, along = begun("straight"), unit(VIEWS["side"])
    of = drag(start, TIPS["index-finger"])
    knuckle = joint_position(start, CHAIN_JOINTS["index-finger"][0])[0]
    arm = float(np.linalg.norm(of.position - knuckle))
    lift = np.linspace(0, np.deg2rad(20.0), 20)[1:, None]
    goals = knuckle + arm * (np.cos(lift) * [0.0, 1.0, 0.0] + np.sin(lift) * [0.0, 0.0, 1.0])
    last = led(of, goals, along)[-1]
    mcp, pip, _ = flexions(last.pose, "index-finger")
    assert mcp < -14.0
    assert pip < 8.0
