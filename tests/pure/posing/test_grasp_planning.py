"""Whole grasps on solids whose distance is a formula: what grip, how deep, how near, and what cannot be held."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from knuckle.errors import HandError
from knuckle.hand import rotations as rot
from knuckle.hand.joints import SIDES, Side
from knuckle.posing.grasping import candidates, grasp_quality
from knuckle.posing.grasping.approach import screw_path
from knuckle.posing.grasping.arm_reach import NO_SWIVEL, CarryingArm
from knuckle.posing.grasping.candidates import GraspingHand
from knuckle.posing.grasping.detour import route
from knuckle.posing.grasping.grasp_planning import Grasp, choose_grip, plan
from knuckle.posing.grasping.object_shape import shape_of, surface_of
from knuckle.tests.pure.posing import solids
from knuckle.tests.pure.posing.solids import Solid

Floats = NDArray[np.float64]
MM = 1e-3
MIRROR = np.diag([-1.0, 1, 1, 1])
THINGS = {
    "ball": (solids.ball(0.033), "ball", (0, 1, 2, 3)),
    "can": (solids.rod(0.033, 0.115), "wrap", (0, 1, 2, 3, 4)),
    "handle": (solids.rod(0.014, 0.3), "wrap", (1, 2, 3, 4)),
    "pencil": (solids.rod(0.004, 0.17), "write", (0, 1, 2)),
    "phone": (solids.block((0.07, 0.15, 0.01)), "wrap", (0, 1)),
    "bead": (solids.ball(0.01), "pinch", (0, 1)),
    "card": (solids.block((0.085, 0.054, 0.002)), "pinch", (0, 1)),
    "book": (solids.block((0.2, 0.14, 0.03)), "pinch", (0, 1)),
}


def before_hand(solid: Solid, side: Side = "right", seed: int = 2) -> tuple[Solid, GraspingHand]:
    """A solid turned at random before the palm."""
    move = solids.rigid(np.random.default_rng(seed), 0.02)
    move[:3, 3] += 0.0, 0.05, -0.2
    if side == "left":
        move = MIRROR @ move @ MIRROR
    return solids.moved(solid, move), solids.holder(side, np.eye(4))


def held(solid: Solid, holder: GraspingHand) -> tuple[Grasp, Floats]:
    hold = plan(holder, solid.thing())
    return hold, solids.skin_at(holder, hold.root, hold.angles)


@pytest.mark.parametrize("name", THINGS)
def test_a_thing_is_held_by_the_grip_that_suits_it_and_not_gone_into(name: str) -> None:
    solid, grip, digits = THINGS[name]
    there, holder = before_hand(solid)
    hold, skin = held(there, holder)
    deepest = -there.distance(skin).min()
    assert hold.grip.name == grip
    assert deepest <= 1 * MM, f"{deepest / MM:.2f} mm deep > 1 mm"
    for digit in digits:
        near = there.distance(skin[holder.skin.digit == digit]).min()
        assert near < 1 * MM, f"digit {digit} is {near / MM:.1f} mm away"
    low, high = holder.hand.limits.T
    assert np.all((hold.angles >= low - 1e-9) & (hold.angles <= high + 1e-9))


def test_the_other_hand_holds_as_in_a_mirror() -> None:
    scores = []
    for side in SIDES:
        there, holder = before_hand(solids.ball(0.03), side)
        scores.append(held(there, holder)[0].score)
    assert scores[0] == pytest.approx(scores[1], rel=0.05)


def test_a_hold_depends_on_what_is_up_and_not_on_where_hand_and_thing_are_together() -> None:
    there, holder = before_hand(solids.rod(0.03, 0.12))
    first, _ = held(there, holder)
    move = np.eye(4)
    move[:3, :3] = rot.to_matrix(rot.from_axis_angle(np.array([0.0, 0.0, 1.0]), 2.0))
    move[:3, 3] = [0.4, -0.3, 0.2]
    second, skin = held(solids.moved(there, move), GraspingHand(holder.hand, holder.skin, move @ holder.root))
    assert second.score == pytest.approx(first.score, rel=0.1)
    assert second.root[2, 0] == pytest.approx(first.root[2, 0], abs=0.1), "how far its thumb is above"
    assert -solids.moved(there, move).distance(skin).min() <= 1 * MM


@pytest.mark.parametrize("size", [(0.09, 0.1, 0.08), (0.05, 0.2, 0.05), (0.04, 0.06, 0.1)])
def test_more_axes_to_hold_a_block_by_make_no_worse_hold(
    size: tuple[float, float, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    there, holder = before_hand(solids.block(size))
    all_of_them, _ = held(there, holder)
    monkeypatch.setattr(candidates, "_wrappable_axes", lambda _task: [0])
    assert all_of_them.score > held(there, holder)[0].score - 0.2


def test_what_is_too_thick_is_reported_with_both_sizes() -> None:
    there, holder = before_hand(solids.block((0.3, 0.25, 0.2)))
    with pytest.raises(HandError, match="200 mm thick and the hand opens to 115 mm"):
        plan(holder, there.thing())
    with pytest.raises(HandError, match="opens to"):
        plan(holder, before_hand(solids.ball(0.2))[0].thing(), "pinch")


def test_every_grip_can_be_asked_for() -> None:
    there, holder = before_hand(solids.ball(0.02))
    for name in ("wrap", "ball", "pinch"):
        hold = plan(holder, there.thing(), name)
        skin = solids.skin_at(holder, hold.root, hold.angles)
        assert hold.grip.name == name and -there.distance(skin).min() <= 1 * MM


def test_the_grip_follows_the_size_of_the_hand() -> None:
    hand, _ = solids.hand_of("right")
    kinds = [choose_grip(solids.ball(radius).thing().shape, hand).name for radius in (0.008, 0.03)]
    assert kinds == ["pinch", "ball"]


@pytest.mark.parametrize("far", [0.02, 0.035])
def test_a_handle_does_not_make_a_mug_too_wide_to_be_wrapped(far: float) -> None:
    hand, _ = solids.hand_of("right")
    mug, handle = solids.rod(0.04, 0.1), solids.block((far, 0.008, 0.05))
    corners = np.concatenate([mug.vertices, handle.vertices + [0.04 + far / 2, 0.0, 0.0]])
    triangles = np.concatenate([mug.triangles, handle.triangles + len(mug.vertices)])
    assert choose_grip(shape_of(surface_of(corners, triangles)), hand).name == "wrap"
    plate = solids.rod(0.12, 0.02)
    assert choose_grip(plate.thing().shape, hand).name == "pinch"


def test_pushes_balance_where_they_surround() -> None:
    turn = np.linspace(0, 2 * np.pi, 3, endpoint=False)
    around = np.stack([np.cos(turn), np.sin(turn), 0 * turn], -1)
    assert grasp_quality.balance(around) < 1e-3
    assert grasp_quality.balance(np.array([[1.0, 0, 0], [0, 1.0, 0]])) == pytest.approx(np.sqrt(0.5), abs=1e-6)
    assert grasp_quality.balance(np.array([[0.0, 0, 1]])) == 1.0


@pytest.mark.parametrize("between", [False, True])
def test_the_way_goes_around_what_is_held(between: bool) -> None:
    """The hand stands in front of the ball, or beyond it and has its back to it."""
    there, holder = before_hand(solids.ball(0.045))
    hold, _ = held(there, holder)
    ahead = hold.root[:3, 3] - hold.approach_start[:3, 3]
    start = hold.approach_start.copy()
    start[:3, 3] += (0.5 if between else -0.2) * ahead / np.linalg.norm(ahead) + 0.002
    far = GraspingHand(holder.hand, holder.skin, start)
    way = route(far, there.thing(), np.zeros(holder.hand.dofs), hold, 8)
    assert len(way) == 9
    np.testing.assert_allclose(way[[0, -1]], [start, hold.approach_start], atol=1e-12)
    fine = np.concatenate([screw_path(a, b, 6) for a, b in pairwise(way)])
    deepest = min(there.distance(solids.skin_at(far, root, hold.opened)).min() for root in fine)
    assert deepest > -2 * MM, f"{-deepest / MM:.1f} mm through it"


class TestCarrier:
    """An arm of 0.3 and 0.25 m that hangs from the origin, its elbow behind."""

    arm = CarryingArm(np.zeros(3), 0.3, 0.25, np.array([0.0, -0.1, -0.28]))

    def root(self, place: Floats) -> Floats:
        root = np.eye(4)[None].copy()
        root[0, :3, 3] = place
        return root

    def test_what_it_lacks_is_what_is_beyond_its_length(self) -> None:
        assert self.arm.shortfall(self.root(np.array([0.0, 0.6, 0.0])))[0] == pytest.approx(0.05)
        assert self.arm.shortfall(self.root(np.array([0.0, 0.01, 0.0])))[0] == pytest.approx(0.04)
        assert self.arm.shortfall(self.root(np.array([0.0, 0.4, 0.0])))[0] == 0

    def test_its_elbow_is_as_far_from_shoulder_and_wrist_as_its_bones_are_long(self) -> None:
        rng = np.random.default_rng(0)
        for _ in range(20):
            root = solids.rigid(rng)[None]
            root[0, :3, 3] *= 0.4 / np.linalg.norm(root[0, :3, 3])
            strain, elbow = self.arm.strain(root)
            assert np.linalg.norm(elbow[0]) == pytest.approx(0.3)
            assert np.linalg.norm(elbow[0] - root[0, :3, 3]) == pytest.approx(0.25)
            assert strain[0] >= 0

    def test_a_hand_in_line_with_the_forearm_that_faces_the_body_is_at_ease(self) -> None:
        wrist = np.array([0.0, 0.25, -0.3])
        root = self.root(wrist)
        # Upper arm down, forearm ahead, thumb up, the palm to the left.
        root[0, :3, :3] = np.stack([[0.0, 0, -1], [0.0, 1, 0], [1.0, 0, 0]], axis=1)
        elbow_below = CarryingArm(np.zeros(3), 0.3, 0.25, np.array([0.0, 0.0, -0.3]))
        assert elbow_below.strain(root)[0][0] == pytest.approx(0, abs=1e-6)
        bent = root.copy()
        bent[0, :3, :3] = np.stack([[0.0, 0, -1], [-1.0, 0, 0], [0.0, 1, 0]], axis=1)
        assert elbow_below.strain(bent)[0][0] > 0.2

    @pytest.mark.parametrize("side", ["right", "left"])
    def test_a_hand_at_ease_on_its_arm_is_not_strained(self, side: Side) -> None:
        rng = np.random.default_rng(1)
        arm = replace(self.arm, side=side)
        for way in rng.normal(size=(20, 3)):
            # Below the shoulder, where its elbow need not be raised.
            way[2] = -abs(way[2])
            place = rng.uniform(0.1, 0.54) * way / np.linalg.norm(way)
            root = self.root(place)
            root[0, :3, :3] = arm.comfortable_rotation(place)
            assert arm.strain(root)[0][0] == pytest.approx(0, abs=1e-6)
            np.testing.assert_allclose(root[0, :3, :3].T @ root[0, :3, :3], np.eye(3), atol=1e-9)

    def test_an_elbow_above_the_shoulder_strains_by_how_far_the_upper_arm_is_raised(self) -> None:
        wrist = np.array([0.0, 0.35, -0.1])
        raised = replace(self.arm, elbow=np.array([0.0, 0.1, 0.28]), swivels=NO_SWIVEL)
        root = self.root(wrist)
        root[0, :3, :3] = raised.comfortable_rotation(wrist)
        strain, elbow = raised.strain(root)
        assert elbow[0, 2] > 0.1 and strain[0] == pytest.approx(np.arcsin(elbow[0, 2] / 0.3))

    def test_an_elbow_that_is_where_the_rig_has_it_is_there_and_does_not_swivel(self) -> None:
        wrists = np.array([[0.0, 0.4, 0.0], [0.4, 0.0, 0.0]])
        sides = np.array([[0.0, 0.0, 0.1], [0.0, -0.1, 0.0]])
        arm = replace(self.arm, elbow=sides, wrists=wrists, swivels=NO_SWIVEL)
        root = np.tile(np.eye(4), (2, 1, 1))
        root[:, :3, 3] = wrists
        root[:, :3, :3] = solids.rigid(np.random.default_rng(2))[:3, :3]
        elbows = arm.strain(root)[1]
        aside = elbows - (elbows * wrists).sum(axis=1, keepdims=True) * wrists / 0.16
        np.testing.assert_allclose(aside / np.linalg.norm(aside, axis=1, keepdims=True), sides / 0.1, atol=1e-9)
