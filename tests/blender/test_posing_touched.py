"""What a fingertip is pinned to when it is said to be what it touches: measured from the skin that is seen."""

from types import SimpleNamespace
from typing import Any

import bpy
import numpy as np
import pytest

from knuckle.operators import mouse_picking, pins
from knuckle.operators.pin_properties import pin_of, pins_on
from knuckle.operators.session import PickedTip
from knuckle.rig.skin_bones import skins
from knuckle.tests.blender.making import Floats
from knuckle.tests.blender.test_posing_drag import TIPS, armature, box, place

__all__ = ["armature"]
pytestmark = pytest.mark.usefixtures("extension")

operators: Any = bpy.ops
Object = bpy.types.Object
SIZE = 0.012


def skin_of(armature: Object) -> Floats:
    """(V, 3) m in the world."""
    (skin,) = (obj for obj in skins(armature) if "Skin" in obj.name)
    seen: Any = skin.evaluated_get(bpy.context.evaluated_depsgraph_get())
    return np.array([seen.matrix_world @ vertex.co for vertex in seen.data.vertices])


def cube_beside(armature: Object, digit: str, side: str, gap: float) -> Object:
    """A cube that is a gap (m) before the end of a straight finger, or below its tip."""
    tip, last = place(armature, TIPS[digit]), place(armature, TIPS[digit].replace("tip", "phalanx-distal"))
    way = (tip - last) / np.linalg.norm(tip - last)
    middle = tip - 0.006 * way
    points = skin_of(armature)
    points = points[np.linalg.norm(points - middle, axis=1) < 0.015]
    axis = int(np.argmax(np.abs(way))) if side == "before" else 2
    sign = np.sign(way[axis]) if side == "before" else -1.0
    centre = tip.copy() if side == "before" else middle
    centre[axis] = sign * ((sign * points[:, axis]).max() + gap + SIZE / 2)
    return box(centre, SIZE)


@pytest.mark.parametrize("digit", ["middle-finger", "pinky-finger"])
@pytest.mark.parametrize("side", ["before", "below"])
@pytest.mark.parametrize(("gap", "kind"), [(0.001, "OBJECT"), (0.005, "WORLD"), (0.009, "WORLD")])
def test_what_is_within_two_millimetres_of_the_skin_is_touched(
    armature: Object, digit: str, side: str, gap: float, kind: str
) -> None:
    cube = cube_beside(armature, digit, side, gap)
    operators.knuckle.pin_fingertip(side="right", digit=digit)
    made = pin_of(armature, "right", digit)
    assert (made.kind, made.target) == (kind, cube if kind == "OBJECT" else None)


def test_a_fingertip_is_not_pinned_to_what_is_the_hands_own(armature: Object) -> None:
    child = box(place(armature, TIPS["thumb"]))
    child.parent = armature
    for own in (armature, *skins(armature), child):
        with pytest.raises(RuntimeError, match="moves with"):
            operators.knuckle.pin_fingertip(side="right", digit="thumb", to="OBJECT", target=own.name)
    assert not pins_on(armature)


@pytest.mark.parametrize(
    ("joint", "runs"), [("thumb-tip", True), ("thumb-phalanx-distal", False), ("index-finger-phalanx-proximal", False)]
)
def test_the_key_pins_over_the_ring_of_a_fingertip_alone(
    armature: Object, monkeypatch: pytest.MonkeyPatch, joint: str, runs: bool
) -> None:
    monkeypatch.setattr(mouse_picking, "_near", lambda *_: [(0.0, 0.0, np.zeros(2), (armature, "right", joint))])
    monkeypatch.setattr(pins, "press_position", lambda _: (0, 0))
    asked: Any = SimpleNamespace(
        properties=SimpleNamespace(is_property_set=lambda _: False), execute=lambda _: {"FINISHED"}
    )
    done = pins._DigitOperator.invoke(asked, bpy.context, asked)
    assert done == ({"FINISHED"} if runs else {"PASS_THROUGH"})


def test_each_key_in_the_same_place_goes_on_to_the_next_of_overlapping_fingertips() -> None:
    tips = (("Hand", "right", "thumb-tip"), ("Hand", "right", "index-finger-tip"))
    first = PickedTip((10, 10), tips, 0)
    second = first.next((12, 9), tips[::-1])
    assert second.tips[second.picked] == tips[1]
    assert second.next((10, 10), tips).picked == 0, "after the last one the first"
    assert second.next((30, 10), tips).picked == 0, "elsewhere it begins anew"
    assert first.next((10, 10), tips[:1]).picked == 0, "as it does with other fingertips"
