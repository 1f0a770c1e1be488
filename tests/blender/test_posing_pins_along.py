"""What poses a pinned digit whatever it is pinned to takes its pin along; what only carries it leaves the pin."""

from typing import Any

import bpy
import numpy as np
import pytest

from knuckle.hand import proportions
from knuckle.operators.pin_properties import pins_of
from knuckle.rig.keys.take_scene import new_hand
from knuckle.rig.posing.posable_cache import posable_hand
from knuckle.tests.blender import things
from knuckle.tests.blender.making import Floats
from knuckle.tests.blender.test_posing_drag import TIPS, apart, armature, bend, box, place
from knuckle.tests.blender.test_posing_grasp import beside_hand
from knuckle.tests.blender.test_posing_pins import pin, pinned

__all__ = ["armature"]
pytestmark = pytest.mark.usefixtures("extension")

operators: Any = bpy.ops
Object = bpy.types.Object
INDEX, THUMB, RING = TIPS["index-finger"], TIPS["thumb"], TIPS["ring-finger"]


@pytest.fixture
def pins(armature: Object) -> dict[str, Floats]:
    """The index finger is pinned to the world, the ring finger to a cube, the thumb to the index finger."""
    bend(armature, "ring-finger-phalanx-proximal")
    pin("index-finger", to="WORLD")
    box(place(armature, RING) - [0.0, 0.0, 0.0102])
    pin("ring-finger", to="OBJECT")
    pin("thumb", to="index-finger")
    return pinned(armature)


@pytest.mark.parametrize(
    ("operator", "how"), [("pose_relax", {"factor": 1.0}), ("pose_reset", {}), ("apply_hand_pose", {"pose": "fist"})]
)
def test_fingers_that_are_posed_take_their_pins_along(
    armature: Object, pins: dict[str, Floats], operator: str, how: dict[str, Any]
) -> None:
    assert getattr(operators.knuckle, operator)(side="right", **how) == {"FINISHED"}
    now = pinned(armature)
    for digit in ("index-finger", "ring-finger"):
        assert np.linalg.norm(now[digit] - pins[digit]) > 2e-3, digit
        np.testing.assert_allclose(now[digit], place(armature, TIPS[digit]), atol=1e-6)
    np.testing.assert_array_equal(now["thumb"], pins["thumb"])
    tips = {digit: place(armature, TIPS[digit]) for digit in ("index-finger", "ring-finger")}
    wrist = place(armature, "wrist")
    operators.knuckle.drag_hand(side="right", joint="wrist", goal=(wrist + [0.0, 0.004, 0.004]).tolist())
    assert apart(armature, "wrist", wrist) > 2.0
    for digit, tip in tips.items():
        assert apart(armature, TIPS[digit], tip) < 0.5, f"{digit} is held where it was posed"


@pytest.mark.parametrize("operator", ["pose_relax", "pose_reset"])
def test_one_digit_that_is_posed_takes_its_pin_along_and_no_other(
    armature: Object, pins: dict[str, Floats], operator: str
) -> None:
    assert getattr(operators.knuckle, operator)(side="right", digit="index-finger") == {"FINISHED"}
    now = pinned(armature)
    np.testing.assert_allclose(now["index-finger"], place(armature, INDEX), atol=1e-6)
    assert np.linalg.norm(now["index-finger"] - pins["index-finger"]) > 2e-3
    for digit in ("ring-finger", "thumb"):
        np.testing.assert_array_equal(now[digit], pins[digit])


@pytest.mark.parametrize(("operator", "how"), [("pose_relax", {}), ("apply_hand_pose", {"pose": "fist"})])
def test_what_is_posed_by_nothing_leaves_a_pin_that_is_elsewhere(
    armature: Object, operator: str, how: dict[str, Any]
) -> None:
    cube = box(place(armature, INDEX) - [0.0, 0.0, 0.0102])
    pin("index-finger", to="OBJECT")
    cube.location.y += 0.03
    bpy.context.view_layer.update()
    before = pinned(armature)["index-finger"]
    getattr(operators.knuckle, operator)(side="right", factor=0.0, **how)
    np.testing.assert_array_equal(pinned(armature)["index-finger"], before)


def test_a_mirrored_hand_takes_its_pins_along_and_the_other_keeps_its_own(armature: Object) -> None:
    measures = proportions.adult("left")
    left = new_hand(measures, proportions.build(measures), bpy.context.scene.collection)[0]
    left.location.x = -0.4
    bpy.ops.object.mode_set(mode="OBJECT")
    left.select_set(True)
    armature.select_set(True)
    bpy.ops.object.mode_set(mode="POSE")
    pin("index-finger", to="WORLD")
    for digit in ("index-finger", "pinky-finger"):
        assert operators.knuckle.pin_fingertip(armature=left.name, side="left", digit=digit) == {"FINISHED"}
    right, before = pinned(armature), pins_of(left, "left")
    assert operators.knuckle.pose_mirror(direction="TO_LEFT") == {"FINISHED"}
    bpy.context.view_layer.update()
    np.testing.assert_array_equal(pinned(armature)["index-finger"], right["index-finger"])
    tips = {digit: posable_hand(left, "left").evaluated_frames()[_index(left, digit), :3, 3] for digit in TIPS}
    for was, now in zip(before, pins_of(left, "left"), strict=True):
        np.testing.assert_allclose(now.position, tips[now.digit], atol=1e-6)
        if now.digit == "index-finger":
            assert np.linalg.norm(now.position - was.position) > 5e-3


def _index(armature: Object, digit: str) -> int:
    return posable_hand(armature, "left").hand.joints.index(TIPS[digit])


@pytest.mark.parametrize("alone", [False, True])
def test_the_fingertip_that_touches_takes_its_pin_along_and_no_other(
    armature: Object, pins: dict[str, Floats], alone: bool
) -> None:
    chosen = bpy.context.scene.knuckle_follow
    chosen.end, chosen.alone = INDEX, alone
    goal = place(armature, INDEX) + [0.0, -0.01, -0.01]
    bpy.context.scene.cursor.location = goal.tolist()
    assert operators.knuckle.touch() == {"FINISHED"}
    now = pinned(armature)
    np.testing.assert_allclose(now["index-finger"], place(armature, INDEX), atol=1e-6)
    assert apart(armature, INDEX, goal) < 0.5
    for digit in ("ring-finger", "thumb"):
        np.testing.assert_array_equal(now[digit], pins[digit])


def test_a_wrist_that_is_led_leaves_pins(armature: Object, pins: dict[str, Floats]) -> None:
    bpy.context.scene.knuckle_follow.end = "wrist"
    bpy.context.scene.cursor.location = (place(armature, "wrist") + [0.0, -0.05, 0.02]).tolist()
    assert operators.knuckle.touch() == {"FINISHED"}
    for digit, at in pinned(armature).items():
        np.testing.assert_array_equal(at, pins[digit])


@pytest.mark.parametrize("keyed", [False, True])
def test_fingers_that_hold_a_thing_take_their_pins_along_unless_the_way_there_is_keyed(
    armature: Object, keyed: bool
) -> None:
    thing = things.ball()
    beside_hand(thing, armature)
    for digit in ("index-finger", "thumb"):
        pin(digit, to="WORLD")
    before, chosen = pinned(armature), bpy.context.scene.knuckle_grasp
    chosen.target, chosen.keyed = thing, keyed
    stood = posable_hand(armature, "right").read().pose
    assert operators.knuckle.grasp() == {"FINISHED"}
    bpy.context.view_layer.update()
    for digit, at in pinned(armature).items():
        if keyed:
            np.testing.assert_array_equal(at, before[digit])
        else:
            assert np.linalg.norm(at - before[digit]) > 5e-3
            np.testing.assert_allclose(at, place(armature, TIPS[digit]), atol=1e-6)
    assert keyed or np.abs(posable_hand(armature, "right").read().pose.angles - stood.angles).max() > 0.1


def test_one_undo_gives_back_pose_and_pins(armature: Object, pins: dict[str, Floats]) -> None:
    name, tip = armature.name, place(armature, INDEX)
    bpy.ops.ed.undo_push(message="Pinned")
    operators.knuckle.apply_hand_pose(side="right", pose="fist")
    bpy.ops.ed.undo_push(message="Posed")
    bpy.ops.ed.undo()
    again = bpy.data.objects[name]
    np.testing.assert_allclose(place(again, INDEX), tip, atol=1e-6)
    for digit, at in pinned(again).items():
        np.testing.assert_allclose(at, pins[digit], atol=1e-6)
