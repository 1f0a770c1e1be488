"""A forearm that is sent, missing and sent again, and one that leaps for a frame."""

import numpy as np
import pytest

from knuckle.hand import kinematics, proportions
from knuckle.hand import rotations as rot
from knuckle.hand.forearm import WristForearm, forearm_from_elbow
from knuckle.hand.kinematics import Pose
from knuckle.pipeline.live.dropout_blend import EASE_SECONDS, HOLD_SECONDS, RETURN_SECONDS
from knuckle.pipeline.live.forearm_blend import ForearmBlend
from knuckle.pipeline.live.take_buffer import TakeBuffer

STEP = 1 / 60


def bent(angle: float) -> WristForearm:
    """A forearm against which the wrist is bent by an angle in rad."""
    return WristForearm(rot.from_axis_angle(np.array([1.0, 0.0, 0.0]), [angle]), np.array([0.25]), np.ones(1))


def angle_of(forearm: WristForearm | None) -> float:
    assert forearm is not None
    return float(rot.angles_between(forearm.rotation, rot.IDENTITY[None])[0])


def weight_of(forearm: WristForearm | None) -> float:
    assert forearm is not None
    return float(forearm.weight[0])


def test_one_that_is_missing_holds_then_eases_out_and_comes_back_without_a_jump() -> None:
    blend, shown = ForearmBlend(), list[WristForearm]()
    missing, back = 1.0, 3.0
    for number in range(round(4.0 / STEP)):
        now = number * STEP
        sent = bent(0.3) if now < missing else None if now < back else bent(0.9)
        blend.update(sent, now)
        forearm = blend.at(now)
        assert forearm is not None
        shown.append(forearm)
        if now < missing + HOLD_SECONDS:
            assert weight_of(forearm) == 1.0 and angle_of(forearm) == pytest.approx(0.3)
        elif missing + HOLD_SECONDS + EASE_SECONDS < now < back:
            assert weight_of(forearm) == pytest.approx(0.0, abs=1e-3)
    assert weight_of(shown[-1]) == 1.0 and angle_of(shown[-1]) == pytest.approx(0.9)
    for of in (weight_of, angle_of):
        steps = np.abs(np.diff([of(forearm) for forearm in shown]))
        assert steps.max() < 1.6 * STEP / RETURN_SECONDS, "1.5 is the steepest slope of the smooth step"


def test_one_that_comes_after_its_hand_eases_in_and_one_that_comes_with_it_does_not() -> None:
    late, early = ForearmBlend(), ForearmBlend()
    late.update(None, 0.0)
    assert late.at(0.0) is None
    for blend in (late, early):
        blend.update(bent(0.5), STEP)
    assert weight_of(late.at(STEP)) == pytest.approx(0.0, abs=1e-3) and weight_of(early.at(STEP)) == 1.0
    assert weight_of(late.at(STEP + RETURN_SECONDS)) == 1.0


def test_nothing_changes_while_the_hand_is_away_and_it_goes_over_to_where_the_hand_comes_back() -> None:
    blend = ForearmBlend()
    blend.update(bent(0.2), 0.0)
    before = blend.at(0.0)
    assert all(blend.at(now) is before for now in (0.1, 1.0, 10.0))
    blend.update(bent(1.4), 10.0, was_away=True)
    assert angle_of(blend.at(10.0)) == pytest.approx(0.2)
    blend.update(bent(1.4), 10.0 + STEP)
    assert 0.2 < angle_of(blend.at(10.0 + RETURN_SECONDS / 2)) < 1.4


@pytest.mark.parametrize("late", [True, False])
def test_a_leap_of_one_frame_shows_only_where_nothing_is_late(late: bool) -> None:
    blend, seen = ForearmBlend(late=late), []
    angles = np.linspace(0.0, 0.6, 30)
    leaping = angles.copy()
    leaping[15] = 2.5
    for number, angle in enumerate(leaping):
        blend.update(bent(angle), number * STEP)
        seen.append(angle_of(blend.at(number * STEP)))
    lag = np.array(seen)[1:] - angles[:-1] if late else np.array(seen) - angles
    assert (np.abs(lag).max() < 0.05) == late


def test_a_leap_does_not_show_though_the_forearm_comes_with_every_second_frame_alone() -> None:
    blend, seen = ForearmBlend(), []
    for number in range(60):
        blend.update(None if number % 2 else bent(2.5 if number == 30 else 0.3), number * STEP)
        seen.append(angle_of(blend.at(number * STEP)))
    assert seen == pytest.approx([0.3] * 60)


@pytest.mark.parametrize(
    "elbow", [np.zeros(3), [0.0, -20.0, 0.0], [np.nan, 0.0, 0.0], [0.0, 0.0, -0.25]], ids=["none", "far", "nan", "back"]
)
def test_what_is_no_arm_of_a_person_is_none(elbow: np.ndarray) -> None:
    assert forearm_from_elbow(np.array(elbow), np.array([0.0, 0.0, 1.0])) is None
    assert forearm_from_elbow(np.array([0.0, -0.25, 0.0]), np.array([0.0, 0.0, 1.0])) is not None


def test_a_take_has_the_forearm_of_each_frame_and_none_without_weight_before() -> None:
    hand = proportions.build(proportions.adult("right"))
    pose, buffer = Pose(hand, np.eye(4)[None], hand.neutral[None]), TakeBuffer({})
    for number, sent in enumerate([None, bent(0.2), bent(0.4), None, bent(0.6)]):
        buffer.add(number / 60, {"right": pose, "left": pose}, forearms={} if sent is None else {"right": sent})
    (forearm,) = buffer.forearms().values()
    angles = rot.angles_between(forearm.rotation, rot.IDENTITY[None])
    assert angles == pytest.approx([0.2, 0.2, 0.4, 0.4, 0.6], abs=1e-6)
    assert forearm.weight.tolist() == [0.0, 1.0, 1.0, 1.0, 1.0]
    on = forearm.on(np.tile(kinematics.joint_frames(hand, pose)[:, 0], (5, 1, 1)))
    assert np.linalg.norm(on.wrist - on.elbow, axis=1) == pytest.approx(0.25, abs=1e-6)
