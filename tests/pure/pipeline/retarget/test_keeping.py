"""What a performance keeps on hands of other proportions: by forward kinematics, scipy, and laws."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import least_squares

from knuckle.errors import HandError
from knuckle.hand import kinematics, poses
from knuckle.hand.joints import CHAIN_JOINTS, DIGIT_JOINTS, DIGITS, JOINT_INDEX, JOINTS, TIPS
from knuckle.hand.kinematics import Pose
from knuckle.hand.limits import DEFAULT_LIMITS
from knuckle.hand.proportions import adult, build, rest_frames_in_wrist
from knuckle.pipeline.recipe import KEEPS, SCALES
from knuckle.pipeline.retarget import RestHand, RetargetMode, retarget, retarget_figures
from knuckle.pipeline.retarget import build_character as character_of
from knuckle.solvers.solver import limit_excess

TIP_ROWS = [JOINT_INDEX[tip] for tip in TIPS]


def character(performer, joints):
    return character_of(performer, RestHand(joints))


def joints_of(proportions):
    return rest_frames_in_wrist(proportions)[:, :3, 3]


def shaped(lengths, side="right", scale=1.0):
    """An adult's hand with each digit longer by a factor."""
    usual = adult(side)
    return replace(usual, phalanges=usual.phalanges * np.array(lengths)[:, None]).scaled(scale)


def closing(hand, frames=101, to="pinch"):
    """From the open hand to a pose and back."""
    first, last = poses.angles(hand, "open"), poses.angles(hand, to)
    share = (0.5 - 0.5 * np.cos(np.linspace(0, 2 * np.pi, frames)))[:, None]
    return Pose(hand, np.tile(np.eye(4), (frames, 1, 1)), first + share * (last - first))


def anyhow(hand, frames, seed):
    rng = np.random.default_rng(seed)
    low, high = hand.limits.T
    angles = low + (high - low) * rng.beta(2, 2, (frames, hand.dofs))
    return Pose(hand, np.tile(np.eye(4), (frames, 1, 1)), angles)


def tips_of(hand, angles):
    roots = np.tile(np.eye(4), (len(angles), 1, 1))
    return kinematics.joint_frames(hand, Pose(hand, roots, angles))[..., :3, 3][:, TIP_ROWS]


def gaps_of(tips):
    return np.linalg.norm(tips - tips[:, :1], axis=-1)


@pytest.mark.parametrize("what", KEEPS)
@pytest.mark.parametrize("size", [1.0, 10.0 / 0.19, 0.01 / 0.19])
@pytest.mark.parametrize("side", ["left", "right"])
def test_a_hand_of_the_same_proportions_does_what_the_performer_does(what, size, side):
    performer = build(adult(side))
    same = character(performer, joints_of(adult(side).scaled(size)))
    for pose in (closing(performer), anyhow(performer, 50, 1)):
        kept = retarget(pose, same, RetargetMode(what))
        assert np.abs(kept.pose.angles - pose.angles).max() < 1e-9
        assert kept.scale == pytest.approx(size)


@pytest.mark.parametrize("seed", range(3))
def test_directions_are_kept_by_hands_of_any_lengths(seed):
    rng = np.random.default_rng(seed)
    performer = build(adult("right"))
    other = character(performer, joints_of(shaped(rng.uniform(0.5, 2, 5), scale=rng.uniform(0.1, 10))))
    pose = anyhow(performer, 20, seed)
    kept = retarget(pose, other, RetargetMode("directions"))
    seen, wanted = (kinematics.joint_frames(each.hand, each)[..., :3, :3] for each in (kept.pose, pose))
    assert np.abs(seen - wanted).max() < 1e-12
    places = kinematics.joint_frames(other.hand, kept.pose)[..., :3, 3]
    for joints in CHAIN_JOINTS.values():
        for joint, following in pairwise(joints):
            along = places[:, JOINT_INDEX[following]] - places[:, JOINT_INDEX[joint]]
            along /= np.linalg.norm(along, axis=-1, keepdims=True)
            assert np.abs(along - wanted[:, JOINT_INDEX[joint], :, 1]).max() < 1e-9


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("seed", range(2))
def test_fingertips_come_as_near_as_limits_let_them(seed, scale):
    rng = np.random.default_rng(seed)
    performer = build(adult("right"))
    size = 1.0 if scale == "world" else 3.0
    other = character(performer, joints_of(shaped(rng.uniform(0.85, 1.2, 5), scale=size)))
    pose = anyhow(performer, 5, seed)
    kept = retarget(pose, other, RetargetMode("fingertips", scale))
    wanted = kept.scale * tips_of(performer, pose.angles)
    found = tips_of(other.hand, kept.pose.angles)
    assert limit_excess(other.hand, kept.pose.angles).max() < 1e-9
    low, high = other.hand.limits.T
    extra = []
    for frame in range(len(pose)):
        for row, digit in enumerate(DIGITS):
            joints = [other.hand.joints.index(joint) for joint in CHAIN_JOINTS[digit]]
            dofs = np.flatnonzero(np.isin(other.hand.axis_joint, joints))

            def missing(part, frame=frame, row=row, dofs=dofs):
                angles = pose.angles[[frame]].copy()
                angles[0, dofs] = part
                return (tips_of(other.hand, angles)[0, row] - wanted[frame, row]) / size

            start = np.clip(pose.angles[frame, dofs], low[dofs] + 1e-6, high[dofs] - 1e-6)
            best = np.linalg.norm(least_squares(missing, start, bounds=(low[dofs], high[dofs])).fun)
            extra.append(np.linalg.norm(found[frame, row] - wanted[frame, row]) / size - best)
    assert np.mean(extra) < 0.5e-3, f"{1000 * np.mean(extra):.2f} mm > 0.5 mm"
    assert np.quantile(extra, 0.9) < 1.5e-3, f"{1000 * np.quantile(extra, 0.9):.2f} mm > 1.5 mm"


HANDS = {
    "long thumb": (1.25, 1, 1, 1, 1),
    "short thumb": (0.8, 1, 1, 1, 1),
    "long fingers": (1, 1.3, 1.3, 1.3, 1.3),
    "long index finger": (1, 1.2, 1, 1, 1),
}


@pytest.mark.parametrize("name", HANDS)
@pytest.mark.parametrize("scale", [1.0, 50.0, 0.05])
def test_a_pinch_stays_a_pinch(name, scale):
    performer = build(adult("right"))
    pose = closing(performer)
    other = character(performer, joints_of(shaped(HANDS[name], scale=scale)))
    own = gaps_of(tips_of(performer, pose.angles))[50, 1]
    lost = retarget(pose, other, RetargetMode("directions"))
    kept = retarget(pose, other, RetargetMode("pinches"))
    assert own < 0.006
    before = gaps_of(tips_of(other.hand, lost.pose.angles))[50, 1]
    after = gaps_of(tips_of(other.hand, kept.pose.angles))[50, 1]
    assert abs(before - kept.scale * own) > 0.005 * scale
    assert abs(after - kept.scale * own) < 0.001 * scale, f"{1000 * after / scale:.2f} mm, {1000 * own:.2f} mm wanted"
    assert limit_excess(other.hand, kept.pose.angles).max() < 1e-9
    figures = retarget_figures(kept)["digits"]["index-finger"]
    assert (
        figures["gap_off_mm"]["max"]
        < 1.5 * scale
        < retarget_figures(lost)["digits"]["index-finger"]["gap_off_mm"]["max"]
    )


def test_a_touch_of_tips_stays_a_touch():
    performer = build(adult("left"))
    pose = closing(performer, 3)
    # The tips that meet exactly, by the least change of the index finger.
    dofs = np.flatnonzero(np.isin(performer.axis_joint, [JOINT_INDEX[joint] for joint in CHAIN_JOINTS["index-finger"]]))

    def gap(part):
        angles = pose.angles[[1]].copy()
        angles[0, dofs] = part
        return np.diff(tips_of(performer, angles)[0, :2], axis=0)[0]

    low, high = performer.limits.T
    found = least_squares(gap, pose.angles[1, dofs], bounds=(low[dofs], high[dofs]), xtol=1e-15, ftol=1e-15, gtol=1e-15)
    angles = pose.angles[[1]].copy()
    angles[0, dofs] = found.x
    assert gaps_of(tips_of(performer, angles))[0, 1] < 1e-5
    other = character(performer, joints_of(shaped((1.1, 0.9, 1, 1, 1), "left", 2.0)))
    kept = retarget(Pose(performer, pose.root[:1], angles), other, RetargetMode("pinches"))
    assert gaps_of(tips_of(other.hand, kept.pose.angles))[0, 1] < 1e-3


@pytest.mark.parametrize("name", HANDS)
def test_what_does_not_pinch_is_left_alone(name):
    performer = build(adult("right"))
    other = character(performer, joints_of(shaped(HANDS[name])))
    pose = anyhow(performer, 200, 4)
    kept, plain = (retarget(pose, other, RetargetMode(what)) for what in ("pinches", "directions"))
    far = gaps_of(tips_of(performer, pose.angles))[:, 1:] > 0.4 * adult("right").size + 1e-3
    assert far.any() and not far.all()
    for column, digit in enumerate(DIGITS[1:]):
        dofs = np.isin(performer.axis_joint, [JOINT_INDEX[joint] for joint in DIGIT_JOINTS[digit]])
        same = np.all(kept.pose.angles[:, dofs] == plain.pose.angles[:, dofs], axis=1)
        assert np.all(same[far[:, column]])


@pytest.mark.parametrize("what", ["fingertips", "pinches"])
@pytest.mark.parametrize("name", HANDS)
def test_nothing_jumps_as_a_pinch_comes_and_goes(name, what):
    """Half the step of the performer is about half the step of the character: a jump would stay as large."""
    performer = build(adult("right"))
    other = character(performer, joints_of(shaped(HANDS[name])))
    largest = []
    for frames in (101, 201, 401):
        # From a hand that is a little bent: straight digits that have to be shorter buckle.
        pose = closing(performer, frames)
        bent = Pose(performer, pose.root, 0.8 * pose.angles + 0.2 * performer.neutral)
        largest.append(np.degrees(np.abs(np.diff(retarget(bent, other, RetargetMode(what)).pose.angles, axis=0)).max()))
    assert largest[1] < 0.7 * largest[0] and largest[2] < 0.7 * largest[1], largest
    assert largest[2] < 3.0


@pytest.mark.parametrize("what", KEEPS)
def test_the_limits_of_the_rig_hold(what):
    usual = build(adult("right"))
    narrow = {key: (0.6 * low, 0.6 * high) for key, (low, high) in DEFAULT_LIMITS.items()}
    other = character(build(adult("right"), narrow, ()), joints_of(shaped((1.2, 0.9, 1.1, 1, 1))))
    kept = retarget(anyhow(usual, 100, 5), other, RetargetMode(what))
    assert limit_excess(other.hand, kept.pose.angles).max() < 1e-9


@pytest.mark.parametrize("what", KEEPS)
def test_in_pieces_a_take_is_kept_as_at_once(what):
    performer = build(adult("right"))
    other = character(performer, joints_of(shaped((1.1, 1.2, 1, 0.9, 0.8))))
    pose = closing(performer, 40)
    whole = retarget(pose, other, RetargetMode(what)).pose.angles
    pieces = [
        retarget(Pose(performer, pose.root[part], pose.angles[part]), other, RetargetMode(what)).pose.angles
        for part in (slice(0, 1), slice(1, 17), slice(17, 17), slice(17, None))
    ]
    assert np.abs(whole - np.concatenate(pieces)).max() < 1e-7


def lacking(joints, *missing):
    """Joints of a rig that has not all of them."""
    places = joints.copy()
    places[[row for row, joint in enumerate(JOINTS) if any(part in joint for part in missing)]] = np.nan
    return places


@pytest.mark.parametrize("what", KEEPS)
def test_fingers_of_two_bones_and_a_thumb_without_metacarpal_reach_as_far_as_they_are_built(what):
    performer = build(adult("right"))
    full = joints_of(adult("right"))
    missing = ("finger-metacarpal", "finger-phalanx-distal", "thumb-metacarpal")
    other = character(performer, lacking(full, *missing))
    assert other.digits == DIGITS
    kept = retarget(closing(performer), other, RetargetMode(what))
    places = kinematics.joint_frames(other.hand, kept.pose)[..., :3, 3]
    assert np.isfinite(places).all()
    for digit in DIGITS[1:]:
        middle, tip = JOINT_INDEX[CHAIN_JOINTS[digit][1]], JOINT_INDEX[CHAIN_JOINTS[digit][3]]
        length = np.linalg.norm(full[tip] - full[middle])
        assert np.allclose(np.linalg.norm(places[:, tip] - places[:, middle], axis=-1), length)
    begin = JOINT_INDEX["thumb-phalanx-proximal"]
    assert np.allclose(places[:, begin], full[begin])
    if what == "pinches":
        own = gaps_of(tips_of(performer, closing(performer).angles))[50, 1]
        found = gaps_of(places[:, TIP_ROWS])[50, 1]
        assert abs(found - kept.scale * own) < 2e-3


def test_a_mitten_follows_the_mean_of_the_fingers():
    performer = build(adult("right"))
    other = character(performer, lacking(joints_of(adult("right")), "index", "ring", "pinky"))
    assert other.digits == ("thumb", "middle-finger")
    pose = anyhow(performer, 20, 2)
    kept = retarget(pose, other, RetargetMode("directions"))
    for place in range(3):
        dofs = [performer.dof(CHAIN_JOINTS[digit][place], "flexion") for digit in DIGITS[1:]]
        mean = pose.angles[:, dofs].mean(axis=1)
        own = performer.dof(CHAIN_JOINTS["middle-finger"][place], "flexion")
        assert np.allclose(kept.pose.angles[:, own], mean)
    thumb = performer.dof(CHAIN_JOINTS["thumb"][1], "flexion")
    assert np.array_equal(kept.pose.angles[:, thumb], pose.angles[:, thumb])
    assert retarget_figures(kept)["digits"]["middle-finger"]["follows"] == list(DIGITS[1:])


@pytest.mark.parametrize("finger", ["index-finger", "ring-finger", "pinky-finger"])
def test_an_only_finger_that_is_named_follows_the_performers_of_its_name(finger):
    performer = build(adult("right"))
    others = [digit.split("-")[0] for digit in DIGITS[1:] if digit != finger]
    pose = anyhow(performer, 20, 2)
    other = character(performer, lacking(joints_of(adult("right")), *others))
    kept = retarget(pose, other, RetargetMode("directions"))
    assert np.array_equal(kept.pose.angles, pose.angles)
    assert retarget_figures(kept)["digits"][finger]["follows"] == [finger]


def test_a_mitten_closes_on_the_thumb_whichever_finger_pinches():
    performer = build(adult("right"))
    other = character(performer, lacking(joints_of(adult("right")), "index", "ring", "pinky"))
    kept = retarget(closing(performer), other, RetargetMode("pinches"))
    own = gaps_of(tips_of(performer, closing(performer).angles))[50, 1:].min()
    gap = gaps_of(tips_of(other.hand, kept.pose.angles))[50, 2]
    assert gap < 0.03 and own < 0.006


@pytest.mark.parametrize("missing", [("ring",), ("ring", "pinky"), ("thumb",), ("thumb", "index", "middle", "ring")])
@pytest.mark.parametrize("what", KEEPS)
def test_hands_with_fewer_digits_follow_those_of_the_same_name(what, missing):
    performer = build(adult("left"))
    other = character(performer, lacking(joints_of(adult("left")), *missing))
    assert other.digits == tuple(digit for digit in DIGITS if digit.split("-")[0] not in missing)
    kept = retarget(closing(performer), other, RetargetMode(what))
    assert np.all(np.isfinite(kept.pose.angles))
    assert set(retarget_figures(kept)["digits"]) == set(other.digits)
    assert limit_excess(other.hand, kept.pose.angles).max() < 1e-9


def test_a_rig_without_digits_or_with_digits_of_no_length_is_refused():
    performer = build(adult("right"))
    with pytest.raises(HandError, match="the rig has no digit"):
        character(performer, np.full((25, 3), np.nan))
    with pytest.raises(HandError, match="the rig's thumb has no length"):
        character(performer, np.zeros((25, 3)))
