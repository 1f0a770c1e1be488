"""Hands are found digit by digit from where their bones are, however these are placed, ordered and named."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from knuckle.errors import RigError
from knuckle.hand import rotations as rot
from knuckle.hand.joints import CHAIN_JOINTS, DIGITS, SIDES, Side
from knuckle.rig.detection import Bone, DetectedHand, detect
from knuckle.tests.pure.rig.armatures import ALL, Make, hand, moved, renamed

Floats = NDArray[np.float64]

KINDS = {
    "all 25 joints": Make(),
    "thumb last": Make(thumb_last=True),
    "no metacarpals": Make(metacarpals=False),
    "no tips": Make(tips=False),
    "16 bones": Make(metacarpals=False, tips=False),
    "extra tip bones": Make(extra_tips=2),
    "extra tip bones, no metacarpals": Make(metacarpals=False, extra_tips=1),
    "no arm": Make(arm=False),
    "straight": Make(curl=0.0),
    "half closed": Make(curl=0.5),
    "fist": Make(curl=0.95),
    "fist of 16 bones": Make(curl=0.95, metacarpals=False, tips=False),
    "four digits": Make(digits=ALL - {"ring-finger"}),
    "four digits of 16 bones": Make(digits=ALL - {"ring-finger"}, metacarpals=False, tips=False),
    "three digits": Make(digits=frozenset({"thumb", "index-finger", "middle-finger"})),
    "mitten": Make(digits=frozenset({"thumb", "middle-finger"})),
    "mitten of 16 bones": Make(digits=frozenset({"thumb", "middle-finger"}), metacarpals=False, tips=False),
    "two phalanges": Make(phalanges=2, metacarpals=False, tips=False),
    "flat, all 25 joints": Make(flat=True, arm=False),
    "flat, no tips": Make(flat=True, arm=False, tips=False),
    "flat, 16 bones": Make(flat=True, arm=False, metacarpals=False, tips=False),
}


def other(side: Side) -> Side:
    return "right" if side == "left" else "left"


def strange(bones: list[Bone], rng: np.random.Generator) -> tuple[list[Bone], dict[str, str], bool]:
    """The bones anywhere, of any size, mirrored or not, in any order, named x1 … xn; old name -> new; if mirrored."""
    turn = rng.normal(size=4)
    matrix: Floats = rot.to_matrix(turn / np.linalg.norm(turn)) * 10 ** rng.uniform(-2, 2)
    mirrored = bool(rng.random() < 0.5)
    if mirrored:
        matrix = matrix @ np.diag([-1.0, 1.0, 1.0])
    placed = moved(bones, matrix, rng.normal(size=3))
    order = rng.permutation(len(placed))
    shuffled = [placed[number] for number in order]
    names = {bone.name: f"x{number + 1}" for number, bone in enumerate(shuffled)}
    return renamed(shuffled, names), names, mirrored


@pytest.mark.parametrize("kind", KINDS)
@given(side=st.sampled_from(SIDES), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=5, deadline=None)
def test_a_hand_is_found_digit_by_digit(kind: str, side: Side, seed: int) -> None:
    bones, truth = hand(side, KINDS[kind], seed)
    placed, names, mirrored = strange(bones, np.random.default_rng(seed))
    (found,) = detect(placed)
    assert found.side == (other(side) if mirrored else side)
    assert found.bones == {joint: names[bone] for joint, bone in truth.items()}
    assert set(found.confidence) == KINDS[kind].digits
    least = 0.2 if len(found.confidence) == len(DIGITS) else 0.0
    assert all(least < sure <= 1.0 for sure in found.confidence.values())


def both(make: Make, seed: int = 0) -> tuple[list[Bone], dict[str, str], dict[str, str]]:
    """A body with a left and a right hand, fingers down; the bones, and each hand's joint -> bone."""
    bones = [Bone("hips", None, (0, 0, 1.0), (0, 0, 1.1)), Bone("chest", "hips", (0, 0, 1.1), (0, 0, 1.4))]
    truths = []
    for side, x in zip(SIDES, (0.6, -0.6), strict=True):
        own, truth = hand(side, make, seed)
        # Fingers down, thumbs ahead (−Y), as arms hang.
        down: Floats = np.array([[0.0, 0.0, 1.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])
        down = down if side == "left" else np.diag([-1.0, 1.0, 1.0]) @ down @ np.diag([-1.0, 1.0, 1.0])
        own = renamed(moved(own, down, np.array([x, 0.0, 0.8])), {bone.name: f"{side} {bone.name}" for bone in own})
        arm = f"{side} arm"
        bones.append(Bone(arm, "chest", (x / 3, 0, 1.4), (x, 0, 0.8)))
        bones += [bone if bone.parent else Bone(bone.name, arm, bone.head, bone.tail) for bone in own]
        truths.append({joint: f"{side} {bone}" for joint, bone in truth.items()})
    return bones, truths[0], truths[1]


def foot(x: float, name: str) -> list[Bone]:
    """A leg with five toes of two bones each, the big one inside."""
    bones = [
        Bone(f"{name} thigh", "hips", (x, 0, 1.0), (x, 0, 0.5)),
        Bone(f"{name} shin", f"{name} thigh", (x, 0, 0.5), (x, 0, 0.08)),
        Bone(f"{name} foot", f"{name} shin", (x, 0, 0.08), (x, -0.15, 0.01)),
    ]
    for toe in range(5):
        aside = x + (toe - 2) * 0.018 * np.sign(x)
        y = -0.17 + 0.012 * toe
        joints = [(aside, y, 0.015), (aside, y - 0.03, 0.012), (aside, y - 0.05, 0.01)]
        bones.append(Bone(f"{name} a{toe}", f"{name} foot", joints[0], joints[1]))
        bones.append(Bone(f"{name} b{toe}", f"{name} a{toe}", joints[1], joints[2]))
    return bones


def hair(strands: int) -> list[Bone]:
    """Strands of three bones each round the top of a head."""
    bones = [Bone("head", "chest", (0, 0, 1.5), (0, 0, 1.75))]
    for strand in range(strands):
        turn = 2 * np.pi * strand / strands
        out: Floats = np.array([np.cos(turn), np.sin(turn), 0.0])
        places = [np.array([0, 0, 1.72]) + reach * out + [0, 0, -2 * reach**2] for reach in (0.08, 0.14, 0.2, 0.26)]
        for part in range(3):
            above = f"strand {strand} {part - 1}" if part else "head"
            head, tail = (tuple(float(x) for x in places[part + k]) for k in (0, 1))
            bones.append(Bone(f"strand {strand} {part}", above, head, tail))  # type: ignore[arg-type]
    return bones


@pytest.mark.parametrize("make", [Make(arm=False), Make(arm=False, metacarpals=False, tips=False)])
def test_toes_hair_twists_and_sockets_are_no_hands(make: Make) -> None:
    bones, left, right = both(make)
    bones += foot(0.1, "one") + foot(-0.1, "two") + hair(5)
    for side in SIDES:
        at = next(bone for bone in bones if bone.name == f"{side} index-finger-phalanx-proximal")
        middle: Floats = (np.array(at.head) + at.tail) / 2
        bones += [
            Bone(f"{side} twist", at.name, (float(middle[0]), float(middle[1]), float(middle[2])), at.tail),
            Bone(f"{side} socket", f"{side} wrist", at.head, at.tail),
        ]
    placed, names, _ = strange(bones, np.random.default_rng(3))
    found = {hand.carrier: hand for hand in detect(placed)}
    assert set(found) == {names["left wrist"], names["right wrist"]}
    for truth in (left, right):
        assert found[names[truth["wrist"]]].bones == {joint: names[bone] for joint, bone in truth.items()}


def flattened(side: Side) -> list[Bone]:
    """A straight hand pressed flat: nothing in its shape tells a side."""
    bones, _ = hand(side, Make(curl=0.0, vary=0.0, arm=False), 0)
    return moved(bones, np.diag([1.0, 1.0, 0.0]), np.zeros(3))


def test_of_a_flat_hand_names_tell_the_side_and_it_says_so() -> None:
    for side in SIDES:
        bones = flattened("right")
        spelled = renamed(bones, {bone.name: f"{bone.name}.{side[0].upper()}" for bone in bones})
        (found,) = detect(spelled)
        assert found.side == side
        assert any("nearly flat" in doubt for doubt in found.doubts)
        (seen,) = detect(spelled, mirrored=True)
        assert seen.side == other(side)


def test_names_that_contradict_a_clear_shape_are_reported_and_not_believed() -> None:
    bones, truth = hand("right", Make(arm=False), 1)
    swapped = {bone.name: f"{bone.name}.L" for bone in bones}
    for joint in truth:
        if joint.startswith(("thumb", "pinky")):
            turned = joint.replace("thumb", "?").replace("pinky-finger", "thumb").replace("?", "pinky-finger")
            swapped[joint] = f"{turned} bone.L"
    (found,) = detect(renamed(bones, swapped))
    assert found.side == "right"
    assert found.bones == {joint: swapped[joint] for joint in truth}
    assert min(found.confidence, key=lambda digit: found.confidence[digit]) in ("thumb", "pinky-finger")
    assert found.confidence["thumb"] < found.confidence["index-finger"] / 1.5
    assert any("named as a left hand's" in doubt for doubt in found.doubts)
    assert any("the thumb is named as a pinky-finger" in doubt for doubt in found.doubts)


def layered() -> tuple[list[Bone], dict[str, str]]:
    """A hand whose deform bones follow controls in their places, two for the wrist of which the second is in use."""
    deform, truth = hand("left", Make(arm=False, tips=False, metacarpals=False), 2)
    controls = [
        Bone(f"c {bone.name}", f"c {bone.parent}" if bone.parent else None, bone.head, bone.tail, deform=False)
        for bone in deform
    ]
    spare = Bone("c spare", None, deform[0].head, deform[0].tail, deform=False)
    driven = [
        Bone(bone.name, bone.parent, bone.head, bone.tail, driven=True, locked=True, follows=f"c {bone.name}")
        for bone in deform
    ]
    return [spare, *driven, *controls], truth


def test_of_controls_and_deform_bones_the_controls_are_keyed_and_never_both() -> None:
    bones, truth = layered()
    (found,) = detect(bones)
    assert found.bones == {joint: f"c {bone}" for joint, bone in truth.items()}
    assert found.carrier == "wrist"


def test_a_rig_whose_bones_are_driven_and_that_has_no_controls_says_what_to_do() -> None:
    bones, _ = layered()
    with pytest.raises(RigError, match=r"constraints drive the bones of the left hand .* choose the rig's control"):
        detect([bone for bone in bones if not bone.name.startswith("c ")])


def test_two_hands_of_a_side_are_ambiguous_and_reported() -> None:
    one, _ = hand("left", Make(arm=False), 1)
    two = renamed(moved(one, np.eye(3), np.array([1.0, 0.0, 0.0])), {bone.name: f"{bone.name}.001" for bone in one})
    with pytest.raises(RigError, match=r"has 2 left hands, at bones 'wrist' and 'wrist\.001': pick the bones"):
        detect([*one, *two])


@pytest.mark.parametrize(
    ("bones", "reported"),
    [
        ([], "has no bones"),
        ([Bone("a", None, (0, 0, 0), (0, 0, 1))], "no hand that can be recognised"),
        ([Bone("a", "a", (0, 0, 0), (0, 0, 1))], "bone 'a' is its own ancestor"),
        ([Bone("a", "b", (0, 0, 0), (0, 0, 1)), Bone("b", "a", (0, 0, 0), (0, 0, 1))], "is its own ancestor"),
        ([Bone("a", None, (0, float("nan"), 0), (0, 0, 1))], "bone 'a' has a position that is not a number"),
        ([Bone(str(k), None, (0, 0, 0), (0, 0, 0)) for k in range(25)], "no hand that can be recognised"),
        ([Bone(f"{k}", f"{k - 1}" if k else None, (0, 0, 0), (0, 0, 0)) for k in range(9)], "no hand"),
        ([Bone("a", None, (0, 0, 0), (0, 0, 1))] * 20_001, "at most 20000"),
    ],
)
def test_what_is_no_hand_is_reported_in_one_sentence(bones: list[Bone], reported: str) -> None:
    with pytest.raises(RigError, match=reported):
        detect(bones, "armature 'Rig'")


def test_a_hand_scaled_to_a_point_is_no_hand() -> None:
    bones, _ = hand("left", Make(), 0)
    with pytest.raises(RigError, match="no hand"):
        detect(moved(bones, np.zeros((3, 3)), np.ones(3)))


def every_digit(hands: tuple[DetectedHand, ...]) -> set[str]:
    return {joint for found in hands for joint in found.bones}


def test_a_thumb_that_hangs_on_the_index_fingers_palm_bone_is_still_the_thumb() -> None:
    bones, truth = hand("left", Make(arm=False, tips=False), 4)
    hung = [
        Bone(bone.name, "index-finger-metacarpal", bone.head, bone.tail) if bone.name == "thumb-metacarpal" else bone
        for bone in bones
    ]
    (found,) = detect(hung)
    assert found.bones == truth
    assert {CHAIN_JOINTS[digit][0] for digit in DIGITS} <= every_digit(detect(hung))


def on(bones: list[Bone], ends: str | tuple[str, ...], name: str, share: float, *, inside: bool = True) -> list[Bone]:
    """A bone for each whose name ends so, on it: from a share of its length to its end, or straight up from there."""
    new = []
    for bone in bones:
        if bone.name.endswith(ends):
            head, tail = np.array(bone.head), np.array(bone.tail)
            x, y, z = (head + share * (tail - head)).tolist()
            new.append(Bone(f"{name} {bone.name}", bone.name, (x, y, z), bone.tail if inside else (x, y, z + 0.01)))
    return new


def hung(bones: list[Bone], parent: str | None, *, thumb: bool) -> list[Bone]:
    """The bones, those of the wrist hung elsewhere; with the thumb or without it."""
    return [
        Bone(bone.name, parent, bone.head, bone.tail)
        if bone.parent == "wrist" and (thumb or not bone.name.startswith("thumb"))
        else bone
        for bone in bones
    ]


def chain(name: str, x: float) -> list[Bone]:
    """Two bones that hang from the wrist backwards: a sleeve's, a prop's."""
    return [
        Bone(f"{name} 1", "wrist", (x, 0.0, -0.02), (x, -0.03, -0.02)),
        Bone(f"{name} 2", f"{name} 1", (x, -0.03, -0.02), (x, -0.06, -0.02)),
    ]


SIXTEEN = Make(metacarpals=False, tips=False)
NASTY: dict[str, tuple[Make, Callable[[list[Bone]], list[Bone]]]] = {
    "a palm bone under four fingers": (
        SIXTEEN,
        lambda bones: [*hung(bones, "palm", thumb=False), Bone("palm", "wrist", (0, 0.03, 0), (0, 0.06, 0))],
    ),
    "helpers on every phalanx": (
        Make(tips=False),
        lambda bones: [*bones, *on(bones, ("al", "ate"), "twist", 0.5), *on(bones, "al", "copy", 0.0)],
    ),
    "a nail beside every tip": (Make(), lambda bones: [*bones, *on(bones, "distal", "nail", 1.0, inside=False)]),
    "a prop": (Make(tips=False), lambda bones: [*bones, *chain("prop", 0.0)]),
    "two sleeves": (SIXTEEN, lambda bones: [*bones, *chain("one", 0.03), *chain("other", -0.03)]),
    "chains beside a loose wrist": (Make(arm=False), lambda bones: hung(bones, None, thumb=True)),
    "no bone deforms": (Make(), lambda bones: [replace(bone, deform=False) for bone in bones]),
}


@pytest.mark.parametrize("kind", NASTY)
@given(side=st.sampled_from(SIDES), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=5, deadline=None)
def test_what_rigs_hang_on_a_hand_is_told_from_its_digits(kind: str, side: Side, seed: int) -> None:
    make, changed = NASTY[kind]
    bones, truth = hand(side, make, seed)
    placed, names, mirrored = strange(changed(bones), np.random.default_rng(seed))
    (found,) = detect(placed)
    assert found.side == (other(side) if mirrored else side)
    assert found.bones == {joint: names[bone] for joint, bone in truth.items()}


def test_two_hands_whose_bones_hang_on_nothing_are_told_apart() -> None:
    bones: list[Bone] = []
    wanted = {}
    for side, x in zip(SIDES, (0.4, -0.4), strict=True):
        own, truth = hand(side, Make(flat=True, arm=False), 6)
        bones += renamed(moved(own, np.eye(3), np.array([x, 0.0, 0.0])), {bone.name: side + bone.name for bone in own})
        wanted[side] = {joint: side + bone for joint, bone in truth.items()}
    placed, names, _ = strange(bones, np.random.default_rng(2))
    found = {names[truth["wrist"]]: {joint: names[bone] for joint, bone in truth.items()} for truth in wanted.values()}
    assert {hand.bones["wrist"]: hand.bones for hand in detect(placed)} == found
