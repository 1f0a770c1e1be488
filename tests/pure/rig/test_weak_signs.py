"""Where the shape leaves something open, weaker signs settle it, in their order: names, the body, the other hand."""

from dataclasses import replace

import numpy as np
import pytest

from knuckle.errors import RigError
from knuckle.hand.joints import DIGITS, SIDES, Side
from knuckle.rig.detection import Bone, detect
from knuckle.tests.pure.rig.armatures import ALL, Make, hand, moved, renamed
from knuckle.tests.pure.rig.test_detection import Floats, flattened, layered, other


def fan(angles: list[float], reaches: list[float], called: tuple[str, ...]) -> list[Bone]:
    """A wrist with fingers of three bones each that point from it at angles (degrees) and bend downwards."""
    bones = [Bone("wrist", None, (0.0, 0.0, 0.0), (0.0, 0.3, 0.0))]
    for angle, reach, name in zip(angles, reaches, called, strict=True):
        way: Floats = np.array([np.sin(np.deg2rad(angle)), np.cos(np.deg2rad(angle)), 0.0])
        places = [way * reach * share - [0, 0, 0.2 * (share - 1) ** 2] for share in (1.0, 1.4, 1.7, 1.95)]
        above = "wrist"
        for number in range(3):
            (hx, hy, hz), (tx, ty, tz) = places[number].tolist(), places[number + 1].tolist()
            bones.append(Bone(f"{name} {number}", above, (hx, hy, hz), (tx, ty, tz)))
            above = f"{name} {number}"
    return bones


@pytest.mark.parametrize("called", [DIGITS, DIGITS[::-1]], ids=["thumb first", "thumb last"])
def test_of_fingers_that_could_be_either_way_round_names_tell_which_is_the_thumb(called: tuple[str, ...]) -> None:
    (found,) = detect(fan([-60, -25, 0, 25, 58], [0.6, 1.0, 1.0, 1.0, 0.57], called))
    assert {digit: found.bones[f"{digit}-phalanx-distal"] for digit in DIGITS} == {
        digit: f"{digit} 2" for digit in DIGITS
    }


@pytest.mark.parametrize("side", SIDES)
def test_of_a_flat_hand_without_names_the_side_of_the_body_tells_the_side_and_it_says_so(side: Side) -> None:
    out = 1.0 if side == "left" else -1.0
    body = [
        Bone("a", None, (0, 0, 1.0), (0, 0, 1.4)),
        Bone("b", "a", (0.1 * out, 0, 1.4), (0.3 * out, 0, 1.4)),
        Bone("c", "b", (0.3 * out, 0, 1.4), (0.6 * out, 0, 1.4)),
    ]
    own = moved(flattened("right"), np.eye(3), np.array([0.6 * out, 0.0, 1.4]))
    (found,) = detect([*body, *(replace(bone, parent=bone.parent or "c") for bone in own)])
    assert found.side == side
    assert f"it is nearly flat, the side of the body made it a {side} hand" in found.doubts


def two(one: list[Bone], another: list[Bone], apart: float = 0.5) -> list[Bone]:
    """Two hands beside each other, which hang on nothing."""
    aside = moved(another, np.eye(3), np.array([apart, 0.0, 0.0]))
    return [*one, *renamed(aside, {bone.name: f"{bone.name} again" for bone in another})]


@pytest.mark.parametrize("side", SIDES)
def test_of_two_hands_one_that_is_flat_is_the_other_ones_partner(side: Side) -> None:
    clear, _ = hand(side, Make(arm=False), 1)
    found = {one.side: one.carrier for one in detect(two(clear, flattened("right")))}
    assert found == {side: "wrist", other(side): "wrist again"}


@pytest.mark.parametrize("side", SIDES)
def test_beside_a_clear_hand_one_of_the_same_side_that_is_half_as_sure_is_none(side: Side) -> None:
    clear, _ = hand(side, Make(arm=False), 1)
    mitten, _ = hand(side, Make(arm=False, digits=frozenset({"thumb", "middle-finger"})), 1)
    (alone,) = detect(mitten)
    assert alone.side == side, "what is left out beside a clear hand is a hand where it is the only one"
    (found,) = detect(two(clear, mitten))
    assert (found.side, found.carrier) == (side, "wrist")
    whole, _ = hand(side, Make(arm=False, digits=ALL), 2)
    with pytest.raises(RigError, match=f"has 2 {side} hands"):
        detect(two(clear, whole))


def test_of_two_controls_in_a_bones_place_the_one_that_it_follows_is_keyed_not_the_one_that_it_hangs_on() -> None:
    bones, truth = layered()
    spare = [replace(bone, name=f"hung {bone.name[2:]}") for bone in bones if bone.name.startswith("c ")]
    rig = [*(replace(bone, parent=f"hung {bone.name}") if bone.driven else bone for bone in bones), *spare]
    (found,) = detect(rig)
    assert found.bones == {joint: f"c {bone}" for joint, bone in truth.items()}
    (found,) = detect([replace(bone, follows=None) for bone in rig])
    assert found.bones == {joint: f"hung {bone}" for joint, bone in truth.items()}
