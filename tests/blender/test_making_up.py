"""Rigs that are posed by their angles while fingertips are pinned: these stay, and what was asked of others is done."""

from collections.abc import Sequence

import bpy
import numpy as np
import pytest

from knuckle.hand.joints import CHAIN_JOINTS
from knuckle.hand.kinematics import Pose
from knuckle.posing.dragging import Pin
from knuckle.posing.sliders import ARCH, Slider, Sliders
from knuckle.rig.armature_hands import find_hands
from knuckle.rig.posing.following import Follower
from knuckle.rig.posing.pin_compensation import PinnedHand, pinned_hand, pose_pinned
from knuckle.rig.posing.posable_hand import make_rig_hand
from knuckle.tests.blender.making import Floats
from knuckle.tests.blender.test_dragging import TIPS, armature, place, who
from knuckle.tests.blender.test_held import channels

__all__ = ["armature", "who"]


def pinned(who: Follower, pins: Sequence[Pin], driven: str | None = None) -> PinnedHand:
    return pinned_hand(who.rig_hand, who.rig_hand.read(), pins, driven, coupled=True)


def slid(of: PinnedHand, slider: Slider, value: float) -> frozenset[int]:
    """The joints that were posed."""
    sliders, stands = Sliders(of.rig_hand.hand), of.state.pose
    angles = sliders.write(stands.angles[0], slider, value)
    joints = {int(of.rig_hand.hand.axis_joint[dof]) for dof in sliders.moves(slider)}
    return pose_pinned(of, Pose(of.rig_hand.hand, stands.root, angles[None]), joints)


def world(who: Follower, *digits: str) -> list[Pin]:
    return [Pin(digit, place(who, TIPS[digit])) for digit in digits]


def rig_of(who: Follower) -> bpy.types.Object:
    return bpy.data.objects[who.rig_hand.binding.armature]


def off(who: Follower, pin: Pin) -> float:
    """mm"""
    return 1000 * float(np.linalg.norm(place(who, TIPS[pin.digit]) - pin.place))


def test_all_digits_are_curled_but_those_that_are_pinned(who: Follower) -> None:
    pins = world(who, "thumb", "index-finger")
    before = who.rig_hand.read_pose().angles[0]
    slid(pinned(who, pins), Slider("curl"), 0.8)
    assert max(off(who, pin) for pin in pins) < 1e-2
    after, sliders = who.rig_hand.read_pose().angles[0], Sliders(who.rig_hand.hand)
    for digit in ("middle-finger", "ring-finger", "pinky-finger"):
        if sliders.moves(Slider("curl", digit)):
            was, now = (sliders.read(angles, Slider("curl", digit)) for angles in (before, after))
            assert now > was + 0.1, digit


def test_a_pinned_finger_makes_up_for_the_palm_that_is_cupped(who: Follower) -> None:
    arched = make_rig_hand(rig_of(who), find_hands(rig_of(who))[-1], further=ARCH)
    pins = world(who, "ring-finger")
    pinky = place(who, TIPS["pinky-finger"])
    of = pinned_hand(arched, arched.read(), pins, None, coupled=True)
    slid(of, Slider("cup"), 1.0)
    assert off(who, pins[0]) < 0.5
    if Sliders(arched.hand).moves(Slider("cup")):
        assert 1000 * np.linalg.norm(place(who, TIPS["pinky-finger"]) - pinky) > 1.0


@pytest.mark.parametrize(("digit", "other"), [("thumb", "index-finger"), ("index-finger", "thumb")])
def test_a_finger_goes_along_with_the_one_that_it_is_pinned_to(who: Follower, digit: str, other: str) -> None:
    def gap() -> Floats:
        apart = place(who, TIPS[digit]) - place(who, TIPS[other])
        turned: Floats = apart @ who.rig_hand.seen_frames()[0, :3, :3]
        return turned

    before = gap()
    of = pinned(who, [Pin(digit, before, other)], "index-finger")
    slider, sliders = Slider("curl", "index-finger"), Sliders(who.rig_hand.hand)
    was = sliders.read(of.state.pose.angles[0], slider)
    slid(of, slider, was + 0.05)
    assert 1000 * np.linalg.norm(gap() - before) < 0.5
    assert sliders.read(who.rig_hand.read_pose().angles[0], slider) == pytest.approx(was + 0.05, abs=2e-3)


def test_what_is_posed_takes_its_own_pin_along_and_touches_no_other_digit(who: Follower) -> None:
    pins = world(who, "thumb", "index-finger")
    joints = slid(pinned(who, pins, "index-finger"), Slider("curl", "index-finger"), 0.9)
    assert joints <= {who.rig_hand.hand.joints.index(joint) for joint in CHAIN_JOINTS["index-finger"]}
    assert off(who, pins[0]) < 1e-2
    assert off(who, pins[1]) > 1.0


def test_a_slider_that_comes_back_leaves_no_trace(who: Follower) -> None:
    rig = rig_of(who)
    of = pinned(who, world(who, "ring-finger", "thumb"))
    before = Sliders(of.rig_hand.hand).read(of.state.pose.angles[0], Slider("curl"))
    slid(of, Slider("curl"), before)
    exact = channels(rig)
    for value in (0.9, -0.5, before):
        slid(of, Slider("curl"), value)
    np.testing.assert_allclose(channels(rig), exact, atol=1e-6)
