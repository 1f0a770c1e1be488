"""Rigs whose fingertips are brought to their pins: by fingers, by the palm and its arm, as near as they come."""

from dataclasses import replace

import bpy
import numpy as np
import pytest

from knuckle.errors import RigError
from knuckle.hand.joints import CHAIN_JOINTS, JOINT_INDEX
from knuckle.posing.dragging import Pin
from knuckle.rig.posing import pin_reach
from knuckle.rig.posing.dragging import moved_bones, restore_pose
from knuckle.rig.posing.following import HandArm, current_arm
from knuckle.rig.posing.pin_reach import pin_distances, pins_at_fingertips, reach_pins
from knuckle.tests.blender.making import Floats
from knuckle.tests.blender.test_dragging import TIPS, armature, hand_arm, inwards, place
from knuckle.tests.blender.test_held import channels

__all__ = ["armature", "hand_arm"]

PINNED = ("thumb", "index-finger", "ring-finger")


def pins_at(hand_arm: HandArm, way: Floats) -> list[Pin]:
    """On the fingertips, and then moved."""
    return [Pin(digit, place(hand_arm, TIPS[digit]) + way) for digit in PINNED if digit in hand_arm.rig_hand.digits]


def off(hand_arm: HandArm, pin: Pin) -> float:
    """mm"""
    return 1000 * float(np.linalg.norm(place(hand_arm, TIPS[pin.digit]) - pin.position))


def test_fingers_that_reach_their_pins_leave_the_palm(hand_arm: HandArm) -> None:
    pins = pins_at(hand_arm, inwards(hand_arm, (0.0, -0.03, -0.04)))
    wrist = hand_arm.rig_hand.evaluated_frames()[0]
    reach_pins(hand_arm, pins)
    assert max(off(hand_arm, pin) for pin in pins) < 0.5
    np.testing.assert_allclose(hand_arm.rig_hand.evaluated_frames()[0], wrist, atol=1e-5)


def test_what_is_beyond_the_fingers_is_reached_by_the_palm_and_its_arm(hand_arm: HandArm) -> None:
    if hand_arm.fixed:
        pytest.skip("its wrist stays")
    way = inwards(hand_arm, (0.1, -0.2, -0.6))
    if (arm := current_arm(hand_arm)) is not None:
        # Towards the shoulder, where there is room for the wrist.
        back = arm[1] - place(hand_arm, "wrist")
        way = 0.6 * np.linalg.norm(inwards(hand_arm, (1.0, 0.0, 0.0))) * back / np.linalg.norm(back)
    pins = pins_at(hand_arm, way)
    reach_pins(hand_arm, pins)
    assert max(off(hand_arm, pin) for pin in pins) < 0.5
    assert max(pin_distances(hand_arm.rig_hand, pins).values()) < 5e-4


def test_what_is_out_of_reach_is_reached_for_and_reported(hand_arm: HandArm) -> None:
    way = inwards(hand_arm, (30.0, -40.0, 0.0))
    before, pins = place(hand_arm, "wrist"), pins_at(hand_arm, way)
    dragged = reach_pins(hand_arm, pins)
    reported = pin_distances(hand_arm.rig_hand, pins)
    for pin in pins:
        assert 1000 * reported[pin.digit] == pytest.approx(off(hand_arm, pin), abs=1e-3)
    if hand_arm.arm is None and not hand_arm.fixed:
        assert max(reported.values()) < 5e-4, "nothing holds a wrist that hangs on no arm"
        return
    assert min(reported.values()) > 0.5
    if hand_arm.arm is not None:
        arm = current_arm(hand_arm)
        assert arm is not None
        straight = np.linalg.norm(place(hand_arm, "wrist") - arm[1])
        assert straight > 0.97 * (arm[0].upper + arm[0].fore), "the arm stretches"
        assert (place(hand_arm, "wrist") - before) @ way > 0
    rig = bpy.data.objects[hand_arm.rig_hand.binding.armature]
    exact = channels(rig)
    restore_pose(dragged)
    assert np.abs(channels(rig) - exact).max() > 1e-3 or not moved_bones(dragged)[0]


def test_a_hand_that_cannot_be_brought_is_left_as_it_was(hand_arm: HandArm, monkeypatch: pytest.MonkeyPatch) -> None:
    if hand_arm.fixed:
        pytest.skip("its wrist stays")
    rig = bpy.data.objects[hand_arm.rig_hand.binding.armature]
    exact = channels(rig)

    def gone(*_: object) -> None:
        raise RigError("for this test")

    monkeypatch.setattr(pin_reach, "_by_palm", gone)
    with pytest.raises(RigError, match="for this test"):
        reach_pins(hand_arm, pins_at(hand_arm, inwards(hand_arm, (0.1, -0.2, -0.6))))
    assert np.array_equal(channels(rig), exact)


def test_pins_that_are_not_met_hold_fingertips_where_they_are(hand_arm: HandArm) -> None:
    near, far = inwards(hand_arm, (0.0, 0.005, 0.0)), inwards(hand_arm, (0.0, 0.2, 0.0))
    pins = pins_at(hand_arm, near)[:1] + pins_at(hand_arm, far)[1:]
    pins.append(Pin("middle-finger", np.array([0.3, 0.0, 0.0]), "index-finger"))
    stand = pins_at_fingertips(hand_arm.rig_hand, pins)
    np.testing.assert_array_equal(stand[0].position, pins[0].position)
    for pin in stand[1:-1]:
        np.testing.assert_allclose(pin.position, place(hand_arm, TIPS[pin.digit]), atol=1e-9)
    assert max(pin_distances(hand_arm.rig_hand, stand[1:]).values()) < 1e-9
    middle, index = (JOINT_INDEX[CHAIN_JOINTS[digit][-1]] for digit in ("middle-finger", "index-finger"))
    seen = hand_arm.rig_hand.evaluated_frames()
    np.testing.assert_allclose(
        seen[0, :3, :3] @ stand[-1].position, seen[middle, :3, 3] - seen[index, :3, 3], atol=1e-9
    )
    fewer = replace(hand_arm.rig_hand, digits=("thumb",))
    assert [pin.digit for pin in pins_at_fingertips(fewer, pins)] == ["thumb"]
