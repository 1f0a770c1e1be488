"""Fingers that close on a surface: measured by the surface's own formula, and against a scan of every bend."""

import numpy as np
import pytest
from numpy.typing import NDArray

from knuckle.hand.joints import SIDES, Side
from knuckle.hand.kinematics import Pose, joint_frames
from knuckle.hand.model import HandModel
from knuckle.posing.grasping import grips
from knuckle.posing.grasping.candidates import GraspingHand
from knuckle.posing.grasping.distance_field import CachedDistance
from knuckle.posing.grasping.finger_closing import CONTACT_DISTANCE_M, CREASE_DEPTH_M, Closing, Contacts, press_depths
from knuckle.posing.grasping.skin_samples import LINKS, SkinPoints
from knuckle.tests.pure.posing import solids
from knuckle.tests.pure.posing.solids import Solid

Floats = NDArray[np.float64]
MM = 1e-3
FINGERS = (1, 2, 3, 4)


def at(solid: Solid, side: Side, place: tuple[float, float, float], turn: Floats | None = None) -> Solid:
    """In the frame of a right hand's wrist, mirrored for a left one."""
    move = np.eye(4)
    move[:3, 3] = np.array(place) * [1 if side == "right" else -1, 1, 1]
    if turn is not None:
        move[:3, :3] = turn
    return solids.moved(solid, move)


ACROSS = np.array([[0.0, 0, 1], [0, 1, 0], [-1, 0, 0]])
"""Turns Z to X: a rod that lies across the palm."""
SOLIDS = {
    "ball": (solids.ball(0.033), (0.0, 0.1, -0.055), None),
    "rod": (solids.rod(0.02, 0.2), (0.0, 0.095, -0.04), ACROSS),
    "block": (solids.block((0.2, 0.05, 0.04)), (0.0, 0.1, -0.045), None),
}


@pytest.fixture(params=SIDES)
def side(request: pytest.FixtureRequest) -> Side:
    side: Side = request.param
    return side


def closed(
    side: Side, solid: Solid, digits: tuple[int, ...] = FINGERS, yields: float = 1.0
) -> tuple[HandModel, SkinPoints, tuple[Floats, Floats], Contacts]:
    hand, flesh = solids.hand_of(side)
    opened, shut = (one[None] for one in grips.WRAP.bends(hand, 4))
    closes = Closing(hand, flesh, solid.distance, press_share=yields)
    return hand, flesh, (opened, shut), closes.close(np.eye(4)[None], (opened, shut), digits)


@pytest.mark.parametrize("name", SOLIDS)
def test_no_skin_comes_deeper_than_it_may(name: str, side: Side) -> None:
    solid = at(SOLIDS[name][0], side, *SOLIDS[name][1:])
    hand, flesh, (opened, _), touching = closed(side, solid)
    skin = solids.skin_at(GraspingHand(hand, flesh, np.eye(4)), np.eye(4), touching.angles[0])
    before = solids.skin_at(GraspingHand(hand, flesh, np.eye(4)), np.eye(4), opened[0])
    moved = np.isin(flesh.digit, FINGERS)
    deep = solid.distance(skin) + np.maximum(press_depths(flesh, hand), -solid.distance(before))
    assert deep[moved].min() > -0.02 * MM, f"{deep[moved].min() / MM:.3f} mm deeper than it may"


@pytest.mark.parametrize("name", SOLIDS)
def test_a_finger_stops_only_where_it_touches_or_is_closed(name: str, side: Side) -> None:
    solid = at(SOLIDS[name][0], side, *SOLIDS[name][1:])
    hand, flesh, (_, shut), touching = closed(side, solid)
    frames = joint_frames(hand, Pose(hand, np.eye(4)[None], touching.angles))
    far, digit, link = solid.distance(flesh.posed(frames)[0]), flesh.digit, flesh.link
    free = far + press_depths(flesh, hand)
    for finger in FINGERS:
        for k in range(3):
            dofs = np.flatnonzero(hand.axis_joint == LINKS[finger][k])
            done = np.allclose(touching.angles[0, dofs], shut[0, dofs])
            skin = free[(digit == finger) & (link >= k)]
            assert done or skin.min() < 2 * CONTACT_DISTANCE_M, (
                f"finger {finger}, joint {k} stopped {skin.min() / MM:.2f} mm away"
            )


def test_the_first_touch_is_where_a_scan_of_every_bend_finds_it(side: Side) -> None:
    solid = at(solids.ball(0.02), side, (0.0, 0.13, -0.06))
    hand, flesh = solids.hand_of(side)
    opened, shut = grips.WRAP.bends(hand, 4)
    middle = np.isin(hand.axis_joint, LINKS[2])
    # One joint alone: with more, those beyond go on.
    end = np.where(middle & (hand.axis_joint == LINKS[2][0]), shut, opened)
    touching = Closing(hand, flesh, solid.distance).close(np.eye(4)[None], (opened[None], end[None]), (2,))
    dof = int(np.flatnonzero((end != opened) & (np.array(hand.movements) == "flexion"))[0])
    found = (touching.angles[0, dof] - opened[dof]) / (end[dof] - opened[dof])
    parts = np.linspace(0, 1, 200)
    angles = opened + parts[:, None] * (end - opened)
    finger = flesh.subset(np.flatnonzero(flesh.digit == 2))
    skin = finger.posed(joint_frames(hand, Pose(hand, np.tile(np.eye(4), (200, 1, 1)), angles)))
    far = solid.distance(skin.reshape(-1, 3)).reshape(200, -1)
    touches = np.any(far + press_depths(finger, hand) <= 0, axis=1)
    first = parts[int(touches.argmax())]
    assert touches.any() and found == pytest.approx(first, abs=2 * parts[1])


def test_a_finger_does_not_go_through_a_sheet(side: Side) -> None:
    """Of a sheet every place is outside: only that steps are short keeps the finger on its side."""
    height = -0.05

    def distance(points: Floats) -> Floats:
        return np.abs(points[:, 2] - height)

    solid = Solid(distance, np.zeros((0, 3)), np.zeros((0, 3), int))
    hand, flesh, _, touching = closed(side, solid, yields=0.0)
    skin = solids.skin_at(GraspingHand(hand, flesh, np.eye(4)), np.eye(4), touching.angles[0])
    assert skin[np.isin(flesh.digit, FINGERS), 2].min() >= height
    assert touching.gaps[0, 1:].min(axis=1).max() < 0.2 * MM


def test_hands_are_closed_together_as_each_alone(side: Side) -> None:
    solid = at(SOLIDS["ball"][0], side, *SOLIDS["ball"][1:])
    hand, flesh = solids.hand_of(side)
    closes = Closing(hand, flesh, solid.distance)
    roots = np.tile(np.eye(4), (3, 1, 1))
    roots[:, 2, 3] = 0.0, 0.004, 0.01
    bends = tuple(np.tile(one, (3, 1)) for one in grips.WRAP.bends(hand, 4))
    joint_speeds = np.array(grips.WRAP.joint_speeds)
    together = closes.close(roots, (bends[0], bends[1]), FINGERS, joint_speeds=joint_speeds)
    for row in range(3):
        one = slice(row, row + 1)
        alone = closes.close(roots[one], (bends[0][one], bends[1][one]), FINGERS, joint_speeds=joint_speeds[one])
        np.testing.assert_allclose(together.angles[one], alone.angles, atol=np.deg2rad(0.5))


def test_the_other_hand_closes_as_in_a_mirror() -> None:
    gaps = []
    for side in SIDES:
        solid = at(SOLIDS["ball"][0], side, *SOLIDS["ball"][1:])
        gaps.append(closed(side, solid)[3])
    np.testing.assert_allclose(gaps[0].angles, gaps[1].angles, atol=1e-6)
    np.testing.assert_allclose(gaps[0].gaps, gaps[1].gaps, atol=1e-8)


def test_a_hand_comes_until_its_skin_is_there(side: Side) -> None:
    solid = solids.moved(solids.ball(0.04), np.array([[1.0, 0, 0, 0], [0, 1, 0, 0.07], [0, 0, 1, -0.3], [0, 0, 0, 1]]))
    hand, flesh = solids.hand_of(side)
    closes = Closing(hand, flesh, solid.distance)
    gone = closes.approach(np.eye(4)[None], np.zeros((1, hand.dofs)), np.array([[0.0, 0, -1]]), 1.0)
    root = np.eye(4)
    root[2, 3] = -gone[0]
    skin = solids.skin_at(GraspingHand(hand, flesh, root), root, np.zeros(hand.dofs))
    assert 0 <= solid.distance(skin).min() < 0.3 * MM
    assert closes.approach(np.eye(4)[None], np.zeros((1, hand.dofs)), np.array([[0.0, 0, -1]]), 0.1)[0] <= 0.1


def test_the_stored_distance_is_near_the_true_one() -> None:
    solid, spacing = solids.ball(0.03), 0.003
    field = CachedDistance(solid.distance, np.full(3, -0.05), np.full(3, 0.05), spacing)
    points = np.random.default_rng(0).uniform(-0.06, 0.06, (2000, 3))
    true = solid.distance(points)
    near = (np.abs(true) < 0.02) & (np.abs(points) < 0.05).all(axis=1)
    assert np.abs(field(points) - true)[near].max() < spacing**2 / 0.01
    # Beyond the store it says less than it is, never more: no step goes too far.
    beyond = (np.abs(points) > 0.052).any(axis=1)
    assert np.all(field(points)[beyond] <= true[beyond] + spacing**2 / 0.01)


def test_skin_may_be_pressed_in_by_less_than_a_millimetre() -> None:
    assert CREASE_DEPTH_M < 1 * MM
