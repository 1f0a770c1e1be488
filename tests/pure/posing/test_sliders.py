"""Sliders: what is written is read again, what they do not speak of stays, and fingers go where the words say."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from knuckle.hand import poses
from knuckle.hand.joints import CHAIN_JOINTS, DIGITS, JOINT_INDEX, SIDES, TIPS, Side
from knuckle.hand.kinematics import Pose, joint_frames
from knuckle.hand.limits import DIP_PER_PIP, AngleLimits
from knuckle.hand.measured_hand import MeasuredHand
from knuckle.hand.model import HandModel
from knuckle.hand.proportions import adult
from knuckle.posing.sliders import ARCH, SLIDERS, Slider, Sliders

Floats = NDArray[np.float64]

MCP, PIP, DIP, _ = CHAIN_JOINTS["index-finger"]
TIGHT: AngleLimits = {
    (MCP, "flexion"): (0, 40),
    (PIP, "flexion"): (10, 60),
    (DIP, "flexion"): (0, 0),
    (MCP, "abduction"): (-2, 3),
    ("thumb-metacarpal", "twist"): (0, 0),
}
HANDS: dict[str, AngleLimits] = {"usual": {}, "with metacarpals": ARCH, "limited by its rig": TIGHT}


@cache
def hand_of(name: str, side: Side = "right") -> HandModel:
    return MeasuredHand(adult(side), {}).with_rig_limits(HANDS[name]).model


def angles_of(hand: HandModel, seed: int) -> Floats:
    """Anywhere inside the limits, some at their ends."""
    rng = np.random.default_rng(seed)
    share = np.clip(rng.uniform(-0.2, 1.2, hand.dofs), 0, 1)
    low, high = hand.limits.T
    angles: Floats = low + share * (high - low)
    return angles


cases = st.tuples(
    st.sampled_from(sorted(HANDS)),
    st.booleans(),
    st.sampled_from(SLIDERS),
    st.integers(0, 10_000),
    st.floats(-1.5, 1.5),
)


def reachable(sliders: Sliders, slider: Slider, value: float) -> bool:
    """Whether a hand can stand so: a rig may leave no room on one side of zero."""
    either = [sliders.write(sliders.hand.limits[:, end], slider, value) for end in (0, 1)]
    return bool(np.allclose([sliders.read(angles, slider) for angles in either], value, atol=1e-9))


@given(cases)
def test_what_is_written_is_read(case: tuple[str, bool, Slider, int, float]) -> None:
    name, locked, slider, seed, value = case
    sliders = Sliders(hand_of(name), locked)
    if not sliders.moves(slider) or not reachable(sliders, slider, value):
        return
    written = sliders.write(angles_of(sliders.hand, seed), slider, value)
    assert sliders.read(written, slider) == pytest.approx(value, abs=1e-9)


def test_every_slider_reaches_from_one_end_to_the_other_on_a_usual_hand() -> None:
    for locked in (True, False):
        sliders = Sliders(hand_of("usual"), locked)
        for slider in SLIDERS:
            if sliders.moves(slider):
                assert all(reachable(sliders, slider, value) for value in np.linspace(-1.0, 1.0, 9)), slider


@given(cases)
def test_limits_hold_and_what_it_does_not_speak_of_stays(case: tuple[str, bool, Slider, int, float]) -> None:
    name, locked, slider, seed, value = case
    hand = hand_of(name)
    sliders, before = Sliders(hand, locked), angles_of(hand, seed)
    kept = before.copy()
    after = sliders.write(before, slider, value)
    assert np.all(after >= hand.limits[:, 0] - 1e-12) and np.all(after <= hand.limits[:, 1] + 1e-12)
    moved = set(np.flatnonzero(np.abs(after - before) > 1e-12).tolist())
    assert moved <= set(sliders.moves(slider))
    np.testing.assert_array_equal(before, kept)


@given(cases)
def test_the_value_that_it_has_changes_nothing(case: tuple[str, bool, Slider, int, float]) -> None:
    name, _, slider, seed, _ = case
    sliders, angles = Sliders(hand_of(name), locked=False), angles_of(hand_of(name), seed)
    np.testing.assert_allclose(sliders.write(angles, slider, sliders.read(angles, slider)), angles, atol=1e-9)


@given(cases)
def test_a_small_step_is_a_small_movement(case: tuple[str, bool, Slider, int, float]) -> None:
    name, locked, slider, seed, value = case
    sliders, angles = Sliders(hand_of(name), locked), angles_of(hand_of(name), seed)
    one, other = (sliders.write(angles, slider, v) for v in (value, value + 1e-6))
    assert np.abs(other - one).max() < 1e-3


@pytest.mark.parametrize("slider", SLIDERS, ids=lambda slider: f"{slider.kind} {slider.digit or 'all'}")
def test_the_slider_of_one_digit_moves_that_one_only(slider: Slider) -> None:
    for name in HANDS:
        hand = hand_of(name)
        joints = {hand.joints[hand.axis_joint[dof]] for dof in Sliders(hand).moves(slider)}
        digits = {joint.rsplit("-", 1)[0].split("-")[0] for joint in joints}
        words = {"oppose": {"thumb"}, "cup": {"ring", "pinky"}}
        own = {slider.digit.split("-")[0]} if slider.digit else {digit.split("-")[0] for digit in DIGITS}
        assert digits <= words.get(slider.kind, own)


def test_a_left_hand_has_the_angles_of_the_right_one() -> None:
    for name in HANDS:
        left, right = (Sliders(hand_of(name, side)) for side in SIDES)
        angles = angles_of(left.hand, 3)
        for slider in SLIDERS:
            np.testing.assert_array_equal(left.write(angles, slider, 0.7), right.write(angles, slider, 0.7))


def test_all_curled_is_a_fist_and_nothing_is_an_open_hand() -> None:
    hand = hand_of("usual")
    sliders = Sliders(hand, locked=False)
    closed = sliders.write(np.zeros(hand.dofs), Slider("curl"), 1.0)
    both = Pose(hand, np.tile(np.eye(4), (2, 1, 1)), np.stack([closed, poses.angles(hand, "fist")]))
    here, fist = 1000 * joint_frames(hand, both)[..., :3, 3][:, [JOINT_INDEX[tip] for tip in TIPS]]
    assert np.all(np.linalg.norm(here - fist, axis=-1) < 5), "mm from where a fist has its fingertips"
    assert all(sliders.read(np.zeros(hand.dofs), slider) == 0.0 for slider in SLIDERS)
    for digit in DIGITS:
        assert sliders.read(closed, Slider("curl", digit)) == pytest.approx(1.0, abs=0.01)


@given(st.integers(0, 1000), st.sampled_from(DIGITS[1:]), st.floats(-1, 1))
def test_a_locked_dip_follows_its_pip(seed: int, digit: str, value: float) -> None:
    hand = hand_of("usual")
    pip, dip = (hand.dof(joint, "flexion") for joint in CHAIN_JOINTS[digit][1:3])
    assert pip is not None and dip is not None
    before = angles_of(hand, seed)
    before[dip] = np.clip(DIP_PER_PIP * before[pip], *hand.limits[dip])
    after = Sliders(hand).write(before, Slider("curl", digit), value)
    assert after[dip] == pytest.approx(np.clip(DIP_PER_PIP * after[pip], *hand.limits[dip]))
    assert not Sliders(hand).moves(Slider("tip", digit)), "it has no slider of its own"
    assert Sliders(hand, locked=False).moves(Slider("tip", digit)) == (dip,)


@given(st.integers(0, 1000), st.sampled_from(DIGITS[1:]), st.floats(-1, 1))
def test_a_dip_that_stands_elsewhere_comes_as_fast_as_its_pip_moves(seed: int, digit: str, value: float) -> None:
    hand = hand_of("usual")
    pip, dip = (hand.dof(joint, "flexion") for joint in CHAIN_JOINTS[digit][1:3])
    assert pip is not None and dip is not None
    before = angles_of(hand, seed)
    after = Sliders(hand).write(before, Slider("curl", digit), value)
    astray, left = (each[dip] - np.clip(DIP_PER_PIP * each[pip], *hand.limits[dip]) for each in (before, after))
    assert abs(left) <= max(abs(astray) - abs(after[pip] - before[pip]), 0.0) + 1e-9, "it comes"
    now = Sliders(hand).read(before, Slider("curl", digit))
    slightly = Sliders(hand).write(before, Slider("curl", digit), now + 1e-6)
    assert abs(slightly[dip] - before[dip]) < 1e-3, "and does not leap"


@pytest.mark.parametrize("digit", DIGITS[1:])
@pytest.mark.parametrize("bent", [0, 40, 80])
def test_a_fist_is_a_fist_wherever_a_locked_dip_began(bent: int, digit: str) -> None:
    hand = hand_of("usual")
    pip, dip = (hand.dof(joint, "flexion") for joint in CHAIN_JOINTS[digit][1:3])
    assert pip is not None and dip is not None
    for last in (0.0, 60.0):
        before = np.zeros(hand.dofs)
        before[[pip, dip]] = np.deg2rad([bent, last])
        after = Sliders(hand).write(before, Slider("curl", digit), 1.0)
        assert after[dip] == pytest.approx(np.clip(DIP_PER_PIP * after[pip], *hand.limits[dip]), abs=0.02)


def test_differences_between_fingers_stay_until_the_fist_is_full() -> None:
    hand = hand_of("usual")
    sliders, pip = Sliders(hand), hand.dof(PIP, "flexion")
    bent = sliders.write(np.zeros(hand.dofs), Slider("curl", "index-finger"), 0.4)
    both = sliders.write(bent, Slider("curl"), 0.5)
    others = sliders.read(both, Slider("curl", "ring-finger"))
    assert sliders.read(both, Slider("curl", "index-finger")) - others == pytest.approx(0.4, abs=0.01)
    assert both[pip] > bent[pip]


@given(st.integers(0, 1000))
def test_a_fist_is_a_fist_wherever_it_began(seed: int) -> None:
    hand = hand_of("usual")
    sliders = Sliders(hand)
    rng, began = np.random.default_rng(seed), np.zeros(hand.dofs)
    for digit in DIGITS:
        began = sliders.write(began, Slider("spread", digit), rng.uniform(-1, 1))
        began = sliders.write(began, Slider("curl", digit), rng.uniform(-1, 1))
    for slider in (Slider("curl"), Slider("spread")):
        dofs = [dof for dof in sliders.moves(slider) if not hand.joints[hand.axis_joint[dof]].endswith("distal")]
        ends = [sliders.write(angles, slider, 1.0)[dofs] for angles in (began, np.zeros(hand.dofs))]
        np.testing.assert_allclose(ends[0], ends[1], atol=1e-9)


def test_the_slider_of_all_is_about_the_mean_of_those_of_the_digits() -> None:
    hand = hand_of("usual")
    sliders, angles = Sliders(hand), np.zeros(hand.dofs)
    for digit, to in zip(DIGITS, (0.1, 0.9, 0.4, 0.6, 0.0), strict=True):
        angles = sliders.write(angles, Slider("curl", digit), to)
    assert sliders.read(angles, Slider("curl")) == pytest.approx(0.4, abs=0.01)


def places(side: Side, *written: tuple[Slider, float]) -> dict[str, Floats]:
    """joint -> (3,) mm in the wrist's frame, of a flat hand on which sliders are set."""
    hand = hand_of("usual", side)
    sliders, angles = Sliders(hand), np.zeros(hand.dofs)
    for slider, value in written:
        angles = sliders.write(angles, slider, value)
    frames = joint_frames(hand, Pose(hand, np.eye(4)[None], angles[None]))[0]
    return {joint: 1000 * frames[index, :3, 3] for joint, index in JOINT_INDEX.items()}


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("digit", DIGITS[1:])
def test_a_curl_bends_to_the_palm_and_back(side: Side, digit: str) -> None:
    curl, tip = Slider("curl", digit), f"{digit}-tip"
    heights = [places(side, (curl, value))[tip][2] for value in (-1.0, 0.0, 0.2, 0.4)]
    assert np.all(np.diff(heights) < -5), "the palm faces down"
    lies = places(side, (curl, 1.0))
    assert lies[tip][1] < lies[CHAIN_JOINTS[digit][0]][1] - 15, "the tip is on the palm, below its knuckle"


@pytest.mark.parametrize("side", SIDES)
def test_spread_fans_the_fingers_and_closes_them(side: Side) -> None:
    def gaps(value: float) -> Floats:
        at = places(side, (Slider("spread"), value))
        tips = np.array([at[f"{digit}-tip"] for digit in DIGITS])
        distances: Floats = np.linalg.norm(np.diff(tips, axis=0), axis=1)
        return distances

    assert np.all(gaps(1.0) > gaps(0.0) + 5) and np.all(gaps(-1.0) < gaps(0.0) - 2)
    still, fanned = places(side), places(side, (Slider("spread"), 1.0))
    np.testing.assert_array_equal(fanned["middle-finger-tip"], still["middle-finger-tip"])


@pytest.mark.parametrize("side", SIDES)
def test_oppose_brings_the_thumb_across_the_palm(side: Side) -> None:
    to_little = 1.0 if side == "right" else -1.0
    ways = [places(side, (Slider("oppose"), value))["thumb-tip"] for value in (-1.0, 0.0, 0.5, 1.0)]
    assert np.all(np.diff([to_little * at[0] for at in ways[1:]]) > 10), "to the little finger's side"
    middle = to_little * places(side)["middle-finger-phalanx-proximal"][0]
    assert to_little * ways[-1][0] > middle - 20
    assert ways[-1][2] < -30, "in front of the palm, not in it"
    assert abs(ways[0][2]) < 25, "its opposite lies in the plane of the palm"


@pytest.mark.parametrize("side", SIDES)
def test_a_cup_brings_the_little_finger_to_the_palm_more_than_the_ring_finger(side: Side) -> None:
    for name in HANDS:
        hand = hand_of(name, side)
        flat = np.zeros(hand.dofs)
        both = np.stack([flat, Sliders(hand).write(flat, Slider("cup"), 1.0)])
        frames = joint_frames(hand, Pose(hand, np.tile(np.eye(4), (2, 1, 1)), both))
        down = [
            frames[0, JOINT_INDEX[f"{digit}-tip"], 2, 3] - frames[1, JOINT_INDEX[f"{digit}-tip"], 2, 3]
            for digit in DIGITS
        ]
        assert down[4] > down[3] > 0.01 and np.all(np.abs(down[:3]) < 1e-12)
        knuckle = JOINT_INDEX["pinky-finger-phalanx-proximal"]
        assert (frames[1, knuckle, 2, 3] < frames[0, knuckle, 2, 3] - 0.01) == (name == "with metacarpals")
