"""Hands as importers, robots, BVH files and rigs of several layers have them; and what only looks like a hand."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from knuckle.errors import RigError
from knuckle.hand.joints import DIGITS, SIDES, Side
from knuckle.rig.detection import Bone, detect
from knuckle.tests.pure.rig.armatures import ALL, Make, hand, moved, renamed
from knuckle.tests.pure.rig.test_detection import both, chain, hung, other, strange

Floats = NDArray[np.float64]
Truth = dict[str, str]
Rig = tuple[list[Bone], Truth]

SIXTEEN = Make(metacarpals=False, tips=False)
NO_TIPS = Make(tips=False)
NO_METACARPALS = Make(metacarpals=False)


def at(place: Floats) -> tuple[float, float, float]:
    x, y, z = (float(value) for value in place)
    return x, y, z


def head(bones: list[Bone], name: str) -> Floats:
    place: Floats = np.array(next(bone.head for bone in bones if bone.name == name))
    return place


def tails_along_any_axis(rig: Rig, rng: np.random.Generator) -> Rig:
    """As FBX comes in: bones as long as they were, along an axis of the joint that is not theirs."""
    bones, truth = rig
    turned = []
    for bone in bones:
        axis = rng.normal(size=3)
        length = np.linalg.norm(np.subtract(bone.tail, bone.head))
        turned.append(replace(bone, tail=at(np.array(bone.head) + axis / np.linalg.norm(axis) * length)))
    return turned, truth


def tails_far_away(rig: Rig, _: np.random.Generator) -> Rig:
    """As glTF of an object at a hundredth comes in: the right way, a hundred times too far."""
    bones, truth = rig
    long = [replace(bone, tail=at(np.array(bone.head) + 100 * np.subtract(bone.tail, bone.head))) for bone in bones]
    return long, truth


def ends_added(rig: Rig, _: np.random.Generator) -> Rig:
    """A bone more at the end of every bone without one."""
    bones, truth = rig
    parents = {bone.parent for bone in bones}
    ends = [
        Bone(f"{bone.name} more", bone.name, bone.tail, at(2 * np.array(bone.tail) - bone.head))
        for bone in bones
        if bone.name not in parents
    ]
    return [*bones, *ends], truth


def last_bones_cut(rig: Rig, _: np.random.Generator) -> Rig:
    """As exporters leave the bones that nothing hangs on: a tenth as long."""
    bones, truth = rig
    parents = {bone.parent for bone in bones}
    cut = [
        bone if bone.name in parents else replace(bone, tail=at(0.9 * np.array(bone.head) + 0.1 * np.array(bone.tail)))
        for bone in bones
    ]
    return cut, truth


def two_axes_in_one_place(rig: Rig, _: np.random.Generator) -> Rig:
    """As robots have knuckles: one bone that spreads, and where it begins or just after it one that bends."""
    bones, truth = rig
    new = []
    for bone in bones:
        if bone.name.endswith("finger-phalanx-proximal"):
            before = at(np.array(bone.head) - 0.05 * np.subtract(bone.tail, bone.head))
            first = bone.head if bone.name.startswith(("index", "ring")) else before
            new += [
                Bone(f"{bone.name} spread", bone.parent, first, bone.tail),
                replace(bone, parent=f"{bone.name} spread"),
            ]
        else:
            new.append(bone)
    return new, truth


def offsets_from_the_palms_end(rig: Rig, _: np.random.Generator) -> Rig:
    """As BVH has bones that begin beside the end of theirs: each led to from there; the middle finger begins there."""
    bones, truth = rig
    end = next(bone.head for bone in bones if bone.name == "middle-finger-phalanx-proximal")
    new = []
    for bone in bones:
        if bone.parent == "wrist" and not bone.name.startswith("middle"):
            new += [Bone(f"__{bone.name}", "wrist", end, bone.head), replace(bone, parent=f"__{bone.name}")]
        else:
            new.append(bone)
    return new, truth


def no_wrist_bone(rig: Rig, _: np.random.Generator) -> Rig:
    """The forearm carries the bones of the palm, which all begin where a wrist would be."""
    bones, truth = rig
    without = [bone for bone in bones if bone.name != "wrist"]
    moved_to = {bone.name: head(bones, "wrist") for bone in bones if bone.name.endswith("metacarpal")}
    begin = [
        replace(bone, head=at(moved_to[bone.name])) if bone.name in moved_to and "thumb" not in bone.name else bone
        for bone in without
    ]
    return hung(begin, "fore", thumb=True), truth | {"wrist": "fore"}


def metacarpals_from_the_wrist(rig: Rig, _: np.random.Generator) -> Rig:
    """All bones of the palm begin where the wrist's does."""
    bones, truth = rig
    wrist = at(head(bones, "wrist"))
    return [replace(bone, head=wrist) if bone.name.endswith("finger-metacarpal") else bone for bone in bones], truth


def four_digits_and_a_sleeve(rig: Rig, _: np.random.Generator) -> Rig:
    """A chain that hangs backwards beside a hand of four digits."""
    bones, truth = rig
    return [*bones, *chain("sleeve", 0.03)], truth


def carpals(rig: Rig, _: np.random.Generator) -> Rig:
    """The ring and the little finger have a bone of the carpus as well."""
    bones, truth = rig
    new = []
    for bone in bones:
        if bone.name in ("ring-finger-metacarpal", "pinky-finger-metacarpal"):
            begin = 0.3 * np.array(bone.head) + 0.7 * head(bones, "wrist")
            new += [
                Bone(f"{bone.name} carpal", "wrist", at(begin), bone.head),
                replace(bone, parent=f"{bone.name} carpal"),
            ]
        else:
            new.append(bone)
    return new, truth


def wrist_in_the_thumb(rig: Rig, _: np.random.Generator) -> Rig:
    """The bone that carries the digits begins where the thumb does; the wrist is where the one above it begins."""
    bones, truth = rig
    thumb = next(bone.head for bone in bones if bone.name == "thumb-metacarpal")
    base = Bone("base", "fore", next(bone.head for bone in bones if bone.name == "wrist"), thumb)
    return [
        *(replace(bone, head=thumb, parent="base") if bone.name == "wrist" else bone for bone in bones),
        base,
    ], truth


STRANGE: dict[str, tuple[Make, Callable[[Rig, np.random.Generator], Rig]]] = {
    "tails along any axis, tips": (NO_METACARPALS, tails_along_any_axis),
    "tails along any axis": (SIXTEEN, tails_along_any_axis),
    "tails far away, tips": (NO_METACARPALS, tails_far_away),
    "tails far away": (SIXTEEN, tails_far_away),
    "tails far away, fist": (replace(SIXTEEN, curl=0.9), tails_far_away),
    "ends added": (NO_METACARPALS, ends_added),
    "ends added, tails along any axis": (
        NO_METACARPALS,
        lambda rig, rng: tails_along_any_axis(ends_added(rig, rng), rng),
    ),
    "last bones cut": (SIXTEEN, last_bones_cut),
    "last bones cut, metacarpals": (NO_TIPS, last_bones_cut),
    "two axes in one place": (NO_METACARPALS, two_axes_in_one_place),
    "two axes in one place, metacarpals": (Make(), two_axes_in_one_place),
    "offsets from the palm's end": (SIXTEEN, offsets_from_the_palms_end),
    "no wrist bone": (NO_TIPS, no_wrist_bone),
    "carpals": (NO_TIPS, carpals),
    "metacarpals from the wrist": (NO_TIPS, metacarpals_from_the_wrist),
    "metacarpals from the wrist, tips": (Make(), metacarpals_from_the_wrist),
    "four digits and a sleeve": (replace(SIXTEEN, digits=ALL - {"ring-finger"}), four_digits_and_a_sleeve),
    "wrist in the thumb": (NO_METACARPALS, wrist_in_the_thumb),
}


@pytest.mark.parametrize("kind", STRANGE)
@given(side=st.sampled_from(SIDES), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=5, deadline=None)
def test_a_strange_hand_is_found_digit_by_digit_whatever_it_is_called_and_however_it_lies(
    kind: str, side: Side, seed: int
) -> None:
    make, made = STRANGE[kind]
    rng = np.random.default_rng(seed)
    bones, truth = made(hand(side, make, seed), rng)
    placed, names, mirrored = strange(bones, rng)
    (found,) = detect(placed)
    assert found.side == (other(side) if mirrored else side)
    assert found.bones == {joint: names[bone] for joint, bone in truth.items()}
    least = 0.2 if len(found.confidence) == len(DIGITS) else 0.0
    assert all(sure > least for sure in found.confidence.values())


def test_of_a_hand_whose_bones_are_spread_over_layers_the_controls_are_keyed() -> None:
    """Each bone of the skin hangs on a control of its own; the controls hang on each other but for the palm's."""
    skin, truth = hand("right", NO_TIPS, 3)
    bones = [replace(bone, deform=False) for bone in skin if bone.name in ("root", "chest", "upper", "fore")]
    bones.append(Bone("other", "root", (0.3, 0.0, 0.0), (0.3, 0.1, 0.0), deform=False))
    for bone in (bone for bone in skin if bone.name in truth):
        # The phalanges hang on a bone elsewhere, which constraints would bring along.
        loose = bone.name.endswith("proximal") and not bone.name.startswith("thumb")
        above = "other" if loose else f"c {bone.parent}" if bone.parent in truth else "fore"
        bones += [
            replace(bone, name=f"c {bone.name}", parent=above, deform=False),
            replace(bone, name=f"stretch {bone.name}", parent="other", deform=False),
            replace(bone, parent=f"c {bone.name}", driven=True, locked=True),
        ]
    rng = np.random.default_rng(0)
    shuffled = [bones[number] for number in rng.permutation(len(bones))]
    (found,) = detect(shuffled)
    # A palm's bone that only follows stays as the rig has it.
    keyed = {joint: bone for joint, bone in truth.items() if not joint.endswith("finger-metacarpal")}
    assert found.bones == {joint: f"c {bone}" for joint, bone in keyed.items()}


def fork(name: str, above: str, heads: list[tuple[float, float, float]]) -> list[Bone]:
    """A chain of bones through these places."""
    return [
        Bone(f"{name} {number}", f"{name} {number - 1}" if number else above, begin, end)
        for number, (begin, end) in enumerate(pairwise(heads))
    ]


def ears_and_jaw() -> list[Bone]:
    """A horse's head: what is on it is mirrored in itself."""
    bones = [Bone("neck", None, (0, 0, 0), (0, 0.3, 0.5)), Bone("skull", "neck", (0, 0.3, 0.5), (0, 0.5, 0.5))]
    bones += fork("jaw", "skull", [(0.0, 0.33, 0.42), (0.0, 0.5, 0.3), (0.0, 0.65, 0.25)])
    for name, side in (("one", 1), ("two", -1)):
        bones += fork(name, "skull", [(side * 0.06, 0.4, 0.62), (side * 0.08, 0.42, 0.7), (side * 0.09, 0.43, 0.78)])
    bones += fork("mane", "skull", [(0.0, 0.38, 0.6), (0.0, 0.4, 0.7), (0.0, 0.43, 0.75)])
    return bones


def fins() -> list[Bone]:
    """A fish's tail: an uneven fork in a plane."""
    bones = fork("spine", "none", [(0.0, -1.0, 0.0), (0.0, -0.5, 0.0), (0.0, 0.0, 0.0), (0.0, 0.12, 0.0)])
    bones[0] = replace(bones[0], parent=None)
    bones += fork("low", "spine 2", [(0.0, 0.13, -0.03), (0.0, 0.22, -0.18), (0.0, 0.26, -0.26)])
    return bones + fork("high", "spine 2", [(0.0, 0.15, 0.05), (0.0, 0.33, 0.25), (0.0, 0.43, 0.37), (0.0, 0.46, 0.42)])


def gripper() -> list[Bone]:
    """Two jaws, each of two linkages."""
    bones = [Bone("base", None, (0, 0, 0), (0, 0, 0.1))]
    for name, side in (("one", 1), ("two", -1)):
        bones += fork(
            f"{name} driver", "base", [(0.0, side * 0.03, 0.055), (0.0, side * 0.06, 0.06), (0.0, side * 0.06, 0.08)]
        )
        bones += fork(
            f"{name} follower", "base", [(0.0, side * 0.013, 0.06), (0.0, side * 0.05, 0.1), (0.0, side * 0.05, 0.14)]
        )
    return bones


def paw() -> list[Bone]:
    """A leg with four toes alike and beside each other, none of which is a thumb."""
    bones = [
        Bone("thigh", None, (0, 0, 1.0), (0, 0, 0.5)),
        Bone("shin", "thigh", (0, 0, 0.5), (0, 0, 0.1)),
        Bone("foot", "shin", (0, 0, 0.1), (0, -0.1, 0.02)),
    ]
    for toe in range(4):
        x = 0.03 * (toe - 1.5)
        y = -0.1 if toe in (1, 2) else -0.08
        bones += fork(f"toe{toe}", "foot", [(x, y, 0.02), (x, y - 0.05, 0.03), (x, y - 0.09, 0.01)])
    return bones


@pytest.mark.parametrize("made", [ears_and_jaw, fins, gripper, paw])
def test_heads_fins_grippers_and_paws_are_no_hands(made: Callable[[], list[Bone]]) -> None:
    for seed in range(3):
        placed, _, _ = strange(made(), np.random.default_rng(seed))
        with pytest.raises(RigError, match="no hand that can be recognised"):
            detect(placed)


def test_forks_in_a_face_are_no_mittens() -> None:
    """Each alone could be a thumb and a finger; there are many."""
    bones = [Bone("head", None, (0, 0, 0), (0, 0, 0.2))]
    mitten = Make(digits=frozenset({"thumb", "middle-finger"}), metacarpals=False, tips=False, arm=False)
    for number in range(4):
        own, _ = hand("left", mitten, number)
        own = renamed(
            moved(own, 0.2 * np.eye(3), np.array([0.1 * number, 0.0, 0.0])), {b.name: f"{number} {b.name}" for b in own}
        )
        bones += [replace(bone, parent=bone.parent or "head") for bone in own]
    placed, _, _ = strange(bones, np.random.default_rng(1))
    with pytest.raises(RigError, match="no hand"):
        detect(placed)


def test_wings_beside_two_hands_are_left_alone() -> None:
    bones, left, right = both(Make(arm=False))
    bones.append(Bone("wings", "chest", (0, 0.1, 1.4), (0, 0.2, 1.4)))
    for name, side in (("one", 1), ("two", -1)):
        places = [(side * x, 0.15 + 0.3 * x, 1.4 + z) for x, z in ((0.1, 0.05), (0.4, 0.2), (0.8, 0.1), (1.1, -0.1))]
        bones += fork(name, "wings", places)
    placed, names, _ = strange(bones, np.random.default_rng(4))
    found = {one.carrier: one.bones for one in detect(placed)}
    assert found == {
        names[truth["wrist"]]: {joint: names[bone] for joint, bone in truth.items()} for truth in (left, right)
    }


def test_of_a_body_with_an_arm_more_its_own_pair_is_taken_and_the_third_hand_reported() -> None:
    bones, left, right = both(SIXTEEN)
    third, _ = hand("left", SIXTEEN, 5)
    named = renamed(
        moved(third, np.eye(3), np.array([0.2, 0.4, 1.6])), {bone.name: f"robot {bone.name}" for bone in third}
    )
    bones += [replace(bone, parent=bone.parent or "chest") for bone in named]
    hands = {one.side: one for one in detect(bones)}
    assert {side: one.bones for side, one in hands.items()} == {"left": left, "right": right}
    assert hands["left"].doubts == ("there is another left hand at bone 'robot wrist'",)
    assert not hands["right"].doubts


def test_two_people_in_one_armature_are_told_apart_by_no_one() -> None:
    bones, _, _ = both(SIXTEEN)
    second = renamed(
        moved(bones, np.eye(3), np.array([3.0, 0.0, 0.0])), {bone.name: f"{bone.name}.001" for bone in bones}
    )
    with pytest.raises(
        RigError, match=r"has 2 left hands, at bones 'left wrist' and 'left wrist\.001': pick the bones"
    ):
        detect([*bones, *second])


def test_six_fingers_are_read_as_the_five_that_fit_best() -> None:
    bones, truth = hand("right", SIXTEEN, 2)
    index = [head(bones, f"index-finger-phalanx-{part}") for part in ("proximal", "intermediate", "distal")]
    step = head(bones, "index-finger-phalanx-proximal") - head(bones, "middle-finger-phalanx-proximal")
    sixth = fork("sixth", "wrist", [at(place + step) for place in (*index, 2 * index[2] - index[1])])
    (found,) = detect([*bones, *sixth])
    assert found.side == "right"
    assert found.bones["thumb-metacarpal"] == truth["thumb-metacarpal"]
    assert {joint.split("-")[0] for joint in found.bones} == {"wrist", *(digit.split("-")[0] for digit in DIGITS)}
    (doubt,) = [doubt for doubt in found.doubts if "6 chains" in doubt]
    assert "was not taken for a digit and is not keyed" in doubt
    assert not any("chains" in doubt for hand in detect(bones) for doubt in hand.doubts)


def short_palm(bones: list[Bone], share: float) -> list[Bone]:
    """A hand whose fingers begin nearer to the wrist, at this share of the way, as a drawn character's do."""
    wrist = head(bones, "wrist")
    knuckles = {digit: head(bones, f"{digit}-phalanx-proximal") for digit in DIGITS[1:]}
    back = {digit: (1 - share) * (place - wrist) for digit, place in knuckles.items()}
    return [
        replace(bone, head=at(np.array(bone.head) - back[digit]), tail=at(np.array(bone.tail) - back[digit]))
        if (digit := _digit(bone.name)) in back
        else bone
        for bone in bones
    ]


@pytest.mark.parametrize("ended", [("ring", "pinky"), ("middle", "ring", "pinky"), ("thumb", "index")])
@given(side=st.sampled_from(SIDES), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=5, deadline=None)
def test_ends_that_an_exporter_added_to_some_digits_leave_their_joints_as_they_are(
    ended: tuple[str, ...], side: Side, seed: int
) -> None:
    bones, truth = hand(side, SIXTEEN, seed)
    last = {f"{digit}-phalanx-distal": f"{digit}-tip" for digit in DIGITS if digit.startswith(ended)}
    ends = [
        Bone(f"{bone.name}_end", bone.name, bone.tail, at(2 * np.array(bone.tail) - bone.head))
        for bone in bones
        if bone.name in last
    ]
    (found,) = detect(short_palm([*bones, *ends], 0.6))
    assert found.side == side
    assert found.bones == truth | {tip: f"{bone}_end" for bone, tip in last.items()}


def test_bones_that_a_family_does_not_know_are_known_by_their_words() -> None:
    """Of an Advanced Skeleton's fingers, and a thumb with another name, no digit is left to its shape alone."""
    bones, truth = hand("left", SIXTEEN, 4)
    digits = {"index": "IndexFinger", "middle": "MiddleFinger", "ring": "RingFinger", "pinky": "PinkyFinger"}
    names = {bone.name: bone.name for bone in bones} | {
        truth[joint]: f"{name}{number}_L"
        for digit, name in digits.items()
        for number, joint in enumerate((joint for joint in truth if joint.startswith(digit)), 1)
    }
    thumb = [joint for joint in truth if joint.startswith("thumb")]
    spoken = {truth[joint]: f"ThumbBone{number}_L" for number, joint in enumerate(thumb)}
    silent = {truth[joint]: f"Bone{number}_L" for number, joint in enumerate(thumb)}
    (worded,), (unworded,) = detect(renamed(bones, names | spoken)), detect(renamed(bones, names | silent))
    assert worded.family == unworded.family == "Advanced Skeleton"
    assert worded.confidence["thumb"] > unworded.confidence["thumb"]


def test_a_sleeve_and_a_weapon_change_nothing() -> None:
    bones, truth = hand("left", NO_TIPS, 8)
    weapon = fork("blade", "wrist", [(0.0, 0.05, -0.03), (0.3, 0.05, -0.03), (0.6, 0.05, -0.03), (0.9, 0.05, -0.03)])
    (found,) = detect([*bones, *weapon, *chain("sleeve", 0.03)])
    assert (found.side, found.bones) == ("left", truth)


def test_of_a_rig_whose_skin_is_not_marked_the_controls_are_keyed_all_the_same() -> None:
    """No bone deforms, and the driven ones stand for the skin."""
    skin, truth = hand("left", SIXTEEN, 6)
    bones: list[Bone] = []
    for bone in skin:
        above = bone.parent and f"c {bone.parent}"
        bones.append(replace(bone, name=f"c {bone.name}", parent=above, deform=False))
        if bone.name in truth:
            bones.append(replace(bone, parent=f"c {bone.name}", driven=True, deform=False, follows=f"c {bone.name}"))
    (found,) = detect(bones)
    assert found.bones == {joint: f"c {bone}" for joint, bone in truth.items()}


def test_digits_that_are_named_and_hang_elsewhere_are_reported() -> None:
    bones, truth = hand("right", SIXTEEN, 7)
    elsewhere = [
        replace(bone, parent="root") if bone.parent == "wrist" and bone.name.startswith("pinky") else bone
        for bone in bones
    ]
    (found,) = detect(elsewhere)
    assert found.bones == {joint: bone for joint, bone in truth.items() if not joint.startswith("pinky")}
    assert any("named as pinky-finger form no digit of it" in doubt for doubt in found.doubts)


@pytest.mark.parametrize(
    "words",
    [
        ("Pulgar", "Indice", "Medio", "Anular", "Meñique"),
        ("Daumen", "Zeigefinger", "Mittelfinger", "Ringfinger", "KleinerFinger"),
        ("pouce", "index", "majeur", "annulaire", "auriculaire"),
        ("pollice", "indice", "medio", "anulare", "mignolo"),
    ],
)
def test_names_of_digits_in_other_languages_make_surer(words: tuple[str, ...]) -> None:
    bones, _ = hand("left", SIXTEEN, 9)
    spoken = dict(zip(DIGITS, words, strict=True))

    def named(speak: bool) -> dict[str, str]:
        return {
            bone.name: f"{word}_{number}" if speak and (word := spoken.get(_digit(bone.name))) else f"x{number}"
            for number, bone in enumerate(bones)
        }

    (silent,) = detect(renamed(bones, named(speak=False)))
    (said,) = detect(renamed(bones, named(speak=True)))
    assert all(said.confidence[digit] > silent.confidence[digit] for digit in DIGITS)


def _digit(joint: str) -> str:
    return next((digit for digit in DIGITS if joint.startswith(digit)), "")


@pytest.mark.parametrize("named", [True, False])
def test_a_stray_bone_beside_a_flat_hand_does_not_hide_it(named: bool) -> None:
    bones, truth = hand("right", Make(flat=True, arm=False), 3)
    bones.append(Bone("forearm", None, (0.0, -0.27, 0.0), (0.0, 0.0, 0.0)))
    names = {bone.name: f"{bone.name} 1" if named else f"x{number}" for number, bone in enumerate(bones)}
    (found,) = detect(renamed(bones, names))
    assert found.bones == {joint: names[bone] for joint, bone in truth.items()}
    assert found.side == "right"


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("make", [SIXTEEN, NO_TIPS, Make()], ids=["bare", "metacarpals", "tips"])
def test_fingers_that_are_named_are_a_hand_without_a_thumb(make: Make, seed: int, side: Side) -> None:
    bones, truth = hand(side, replace(make, digits=ALL - {"thumb"}), seed)
    (found,) = detect(bones)
    assert (found.side, found.bones) == (side, truth)
    with pytest.raises(RigError, match="no hand that can be recognised"):
        detect(renamed(bones, {bone.name: f"x{number}" for number, bone in enumerate(bones)}))
