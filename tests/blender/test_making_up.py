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
from knuckle.rig.posing.following import HandArm
from knuckle.rig.posing.pin_compensation import PinnedHand, pinned_hand, pose_pinned
from knuckle.rig.posing.posable_hand import make_rig_hand
from knuckle.tests.blender.making import Floats
from knuckle.tests.blender.test_dragging import TIPS, armature, hand_arm, place
from knuckle.tests.blender.test_held import channels

__all__ = ["armature", "hand_arm"]


def pinned(hand_arm: HandArm, pins: Sequence[Pin], driven: str | None = None) -> PinnedHand:
    return pinned_hand(hand_arm.rig_hand, hand_arm.rig_hand.read(), pins, driven, coupled=True)


def slid(of: PinnedHand, slider: Slider, value: float) -> frozenset[int]:
    """The joints that were posed."""
    sliders, stands = Sliders(of.rig_hand.hand), of.state.pose
    angles = sliders.write(stands.angles[0], slider, value)
    joints = {int(of.rig_hand.hand.axis_joint[dof]) for dof in sliders.moves(slider)}
    return pose_pinned(of, Pose(of.rig_hand.hand, stands.root, angles[None]), joints)


def world(hand_arm: HandArm, *digits: str) -> list[Pin]:
    return [Pin(digit, place(hand_arm, TIPS[digit])) for digit in digits]


def rig_of(hand_arm: HandArm) -> bpy.types.Object:
    return bpy.data.objects[hand_arm.rig_hand.binding.armature]


def off(hand_arm: HandArm, pin: Pin) -> float:
    """mm"""
    return 1000 * float(np.linalg.norm(place(hand_arm, TIPS[pin.digit]) - pin.position))


def test_all_digits_are_curled_but_those_that_are_pinned(hand_arm: HandArm) -> None:
    pins = world(hand_arm, "thumb", "index-finger")
    before = hand_arm.rig_hand.read_pose().angles[0]
    slid(pinned(hand_arm, pins), Slider("curl"), 0.8)
    assert max(off(hand_arm, pin) for pin in pins) < 1e-2
    after, sliders = hand_arm.rig_hand.read_pose().angles[0], Sliders(hand_arm.rig_hand.hand)
    for digit in ("middle-finger", "ring-finger", "pinky-finger"):
        if sliders.moves(Slider("curl", digit)):
            was, now = (sliders.read(angles, Slider("curl", digit)) for angles in (before, after))
            assert now > was + 0.1, digit


def test_a_pinned_finger_makes_up_for_the_palm_that_is_cupped(hand_arm: HandArm) -> None:
    arched = make_rig_hand(rig_of(hand_arm), find_hands(rig_of(hand_arm))[-1], further=ARCH)
    pins = world(hand_arm, "ring-finger")
    pinky = place(hand_arm, TIPS["pinky-finger"])
    of = pinned_hand(arched, arched.read(), pins, None, coupled=True)
    slid(of, Slider("cup"), 1.0)
    assert off(hand_arm, pins[0]) < 0.5
    if Sliders(arched.hand).moves(Slider("cup")):
        assert 1000 * np.linalg.norm(place(hand_arm, TIPS["pinky-finger"]) - pinky) > 1.0


@pytest.mark.parametrize(("digit", "other"), [("thumb", "index-finger"), ("index-finger", "thumb")])
def test_a_finger_goes_along_with_the_one_that_it_is_pinned_to(hand_arm: HandArm, digit: str, other: str) -> None:
    def gap() -> Floats:
        apart = place(hand_arm, TIPS[digit]) - place(hand_arm, TIPS[other])
        turned: Floats = apart @ hand_arm.rig_hand.evaluated_frames()[0, :3, :3]
        return turned

    before = gap()
    of = pinned(hand_arm, [Pin(digit, before, other)], "index-finger")
    slider, sliders = Slider("curl", "index-finger"), Sliders(hand_arm.rig_hand.hand)
    was = sliders.read(of.state.pose.angles[0], slider)
    slid(of, slider, was + 0.05)
    assert 1000 * np.linalg.norm(gap() - before) < 0.5
    assert sliders.read(hand_arm.rig_hand.read_pose().angles[0], slider) == pytest.approx(was + 0.05, abs=2e-3)


def test_what_is_posed_takes_its_own_pin_along_and_touches_no_other_digit(hand_arm: HandArm) -> None:
    pins = world(hand_arm, "thumb", "index-finger")
    joints = slid(pinned(hand_arm, pins, "index-finger"), Slider("curl", "index-finger"), 0.9)
    assert joints <= {hand_arm.rig_hand.hand.joints.index(joint) for joint in CHAIN_JOINTS["index-finger"]}
    assert off(hand_arm, pins[0]) < 1e-2
    assert off(hand_arm, pins[1]) > 1.0


def test_a_slider_that_comes_back_leaves_no_trace(hand_arm: HandArm) -> None:
    rig = rig_of(hand_arm)
    of = pinned(hand_arm, world(hand_arm, "ring-finger", "thumb"))
    before = Sliders(of.rig_hand.hand).read(of.state.pose.angles[0], Slider("curl"))
    slid(of, Slider("curl"), before)
    exact = channels(rig)
    for value in (0.9, -0.5, before):
        slid(of, Slider("curl"), value)
    np.testing.assert_allclose(channels(rig), exact, atol=1e-6)
