"""Labels and what they mean."""

import pytest

from knuckle.errors import MarkerMapError
from knuckle.hand.joints import CHAIN_JOINTS, DIGITS, JOINTS
from knuckle.hand.marker_sets import Spot, from_json, parse_label, side_in_name, suggest, to_json


@pytest.mark.parametrize(
    ("label", "side", "joint"),
    [
        ("right:index-finger-tip", "right", "index-finger-tip"),
        ("left#2:thumb-phalanx-distal", "left", "thumb-phalanx-distal"),
        ("LeftHandIndex1", "left", "index-finger-phalanx-proximal"),
        ("mixamorig:RightHandThumb1", "right", "thumb-metacarpal"),
        ("RightHandPinky4", "right", "pinky-finger-tip"),
        ("LeftHandMiddle3_end", "left", "middle-finger-tip"),
        ("LeftHand", "left", "wrist"),
        ("R_Wrist", "right", "wrist"),
        ("r.ring.pip", "right", "ring-finger-phalanx-intermediate"),
        ("L_THUMB_MCP", "left", "thumb-phalanx-proximal"),
        ("thumb_ip", None, "thumb-phalanx-distal"),
        ("little DIP", None, "pinky-finger-phalanx-distal"),
        ("index knuckle", None, "index-finger-phalanx-proximal"),
        ("rhand", "right", "wrist"),
        ("mixamorig1:LeftHand", "left", "wrist"),
        ("Bip01 R Hand", "right", "wrist"),
        ("Bip01 L Finger0", "left", "thumb-metacarpal"),
        ("Bip01 L Finger12", "left", "index-finger-phalanx-distal"),
        ("Bip01 R Finger4Nub", "right", "pinky-finger-tip"),
        ("finger2-1.L", "left", "index-finger-phalanx-proximal"),
        ("finger1-3.R_end", "right", "thumb-tip"),
        ("LeftFinger1Proximal", "left", "thumb-phalanx-proximal"),
        ("RightFinger5Medial", "right", "pinky-finger-phalanx-intermediate"),
        ("RightFinger2Tip", "right", "index-finger-tip"),
        ("metacarpal4.R", "right", "pinky-finger-metacarpal"),
    ],
)
def test_words_name_joints(label, side, joint):
    assert parse_label(label) == (side, Spot(joint))


@pytest.mark.parametrize(
    "parts",
    [("Proximal", "Intermediate", "Distal"), ("Proximal", "Medial", "Distal"), ("Metacarpal", "Proximal", "Distal")],
)
def test_a_thumb_has_three_joints_whatever_they_are_called(parts):
    names = ["RightHand", *(f"Right{digit}{part}" for digit in ("Thumb", "Index") for part in (*parts, "Tip"))]
    spots = suggest(names).groups["right"]
    thumb = [spots[f"RightThumb{part}"].joint for part in (*parts, "Tip")]
    assert thumb == ["thumb-metacarpal", "thumb-phalanx-proximal", "thumb-phalanx-distal", "thumb-tip"]


@pytest.mark.parametrize("before", [("_cmc",), ("_carpal", "_cmc"), ("_base", ""), ("",)])
def test_the_cmc_is_the_label_before_a_thumbs_mcp(before):
    thumb = [*(f"r_thumb{part}" for part in before), "r_thumb_mcp", "r_thumb_ip"]
    spots = suggest(["r_wrist", *thumb, "r_thumb_tip", "r_index_tip"]).groups["right"]
    assert {spot.joint: label for label, spot in spots.items() if spot.joint.startswith("thumb")} == {
        "thumb-metacarpal": f"r_thumb{before[-1]}",
        "thumb-phalanx-proximal": "r_thumb_mcp",
        "thumb-phalanx-distal": "r_thumb_ip",
        "thumb-tip": "r_thumb_tip",
    }


def test_of_labels_that_say_thumb_only_one_before_the_others_is_a_joint():
    """Of a body's landmarks, which come with a hand's, the thumb is somewhere else."""
    hand = ["r_wrist", "r_thumb_mcp", "r_thumb_ip", "r_thumb_tip", "r_index_tip"]
    for labels in (hand + ["r_thumb"], hand + ["r_thumb_marker"], hand[:2] + ["r_thumb"] + hand[2:]):
        assert set(suggest(labels).groups["right"]) == set(hand)


@pytest.mark.parametrize(
    "label",
    [
        "LeftForeArm",
        "right_elbow",
        "pillow_top",
        "Hips",
        "string",
        "",
        "right:elbow",
        "::",
        "Finger6Proximal",
        "finger",
    ],
)
def test_other_words_name_none(label):
    assert parse_label(label) is None


def test_labels_of_an_optical_glove_are_known_for_both_hands():
    labels = [
        f"Human4:{side}{name}" for side in "LR" for name in ("HAN", "IFI", "IFM", "IFO", "IFT", "TIN", "TTI", "PIN")
    ]
    found = suggest([*labels, "Human4:HEAD", "Human4:LSHO"])
    assert sorted(found.groups) == ["Human4 left", "Human4 right"]
    assert [side_in_name(group) for group in sorted(found.groups)] == ["left", "right"]
    assert found.groups["Human4 left"]["Human4:LIFO"] == Spot("index-finger-phalanx-distal")
    assert found.groups["Human4 right"]["Human4:RPIN"] == Spot("pinky-finger-phalanx-proximal")


def test_the_eight_markers_of_fabrik_cga():
    found = suggest(["p", "q", "r", "thumb_tip", "index_tip", "middle_tip", "ring_tip", "little_tip"])
    assert found.confidence == 1.0
    assert found.groups["right"]["q"] == Spot("pinky-finger-phalanx-proximal")


def test_every_joint_is_found_by_its_own_name():
    found = suggest([f"left:{joint}" for joint in JOINTS])
    assert {spot.joint for spot in found.groups["left"].values()} == set(JOINTS)


def test_two_people_are_two_groups():
    joints = ["wrist", *(f"{digit}-tip" for digit in DIGITS), CHAIN_JOINTS["index-finger"][0]]
    found = suggest([f"{track}:{joint}" for track in ("left", "left#2") for joint in joints])
    assert sorted(found.groups) == ["left", "left#2"]


def test_less_is_less_sure():
    labels = ["right:wrist", "right:index-finger-tip", "right:thumb-tip", "right:index-finger-phalanx-proximal"]
    assert suggest(labels).confidence == 0.5


def test_labels_that_name_nothing_are_reported():
    with pytest.raises(MarkerMapError, match=r"none of the 3 labels \(a, b, c\) names a point of a hand"):
        suggest(["a", "b", "c"])


def test_a_map_comes_back_as_it_was():
    data = {
        "left": {"A": "wrist", "B": {"joint": "thumb-tip", "offset": [0.001, 0, 0.01]}},
        "right": {"C": "thumb-tip"},
    }
    assert to_json(from_json(data, "map")) == data


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ([], "map: expected an object with 'left', 'right' or both"),
        ({}, "map: expected an object with 'left', 'right' or both"),
        ({"middle": {}}, "map: expected an object with 'left', 'right' or both"),
        ({"left": {}, "right": {}}, "map: has no markers, expected labels and joints"),
        ({"left": 3}, "map, left: expected an object of labels and joints"),
        ({"left": {"A": "elbow"}}, "map, left, A: 'elbow' is not a joint"),
        ({"left": {"A": 7}}, "map, left, A: expected a joint's name"),
        ({"left": {"A": {"offset": [0, 0, 0]}}}, "map, left, A: expected a joint's name"),
        ({"left": {"A": {"joint": "wrist", "offset": [0, 0]}}}, "map, left, A: offset is"),
        ({"left": {"A": {"joint": "wrist", "offset": [0, 0, 12]}}}, "map, left, A: offset is"),
        ({"left": {"A": {"joint": ["wrist"]}}}, "map, left, A: .* is not a joint"),
    ],
)
def test_a_map_that_is_not_one_is_reported(data, sentence):
    with pytest.raises(MarkerMapError, match=sentence):
        from_json(data, "map")


def test_a_side_without_markers_is_left_out_of_a_map():
    assert from_json({"left": {}, "right": {"A": "wrist"}}, "map") == {"right": {"A": Spot("wrist")}}


def test_a_prefix_that_all_labels_share_is_the_subject():
    labels = ["LIFT", "LIFI", "LMFI", "RIFT", "RIFI", "RMFI"]
    known = suggest(labels)
    found = suggest([f"Subject1_{label}" for label in labels])
    assert found.name == known.name == "optical finger glove"
    assert sorted(found.groups) == ["Subject1 left", "Subject1 right"]
    assert found.groups["Subject1 left"] == {f"Subject1_{label}": spot for label, spot in known.groups["left"].items()}


def test_a_side_that_all_labels_share_is_no_subject():
    found = suggest(["R_thumb_tip", "R_index_tip", "R_wrist", "R_index_mcp"])
    assert list(found.groups) == ["right"]


def test_segments_of_an_inertial_suit_are_known():
    found = suggest([f"{side}{bone}" for side in ("Left", "Right") for bone in ("Carpus", "FirstPP", "SecondMP")])
    assert [spot.joint for spot in found.groups["left"].values()] == [
        "wrist",
        "thumb-phalanx-proximal",
        "index-finger-phalanx-intermediate",
    ]


@pytest.mark.parametrize("form", ["L_{}", "L{}", "Left {}", "{}_L", "{}.left", "Anna:L_{}", "Anna_L_{}"])
def test_a_set_is_known_with_the_side_in_its_labels(form: str) -> None:
    labels = [f"{digit}{part}" for digit in ("Index", "Middle", "Ring", "Pinky") for part in ("MCP", "PIP", "Tip")]
    labels += ["ThumbCMC", "ThumbMCP", "ThumbIP", "ThumbTip", "BackHand1", "BackHand2", "BackHand3"]
    found = suggest([form.format(label) for label in labels])
    (group, spots), *others = found.groups.items()
    assert found.on_skin and len(spots) == 19 and not others
    assert side_in_name(group) == "left"


def test_joints_by_their_names_are_not_on_the_skin():
    assert not suggest(tuple(f"right:{joint}" for joint in JOINTS)).on_skin


def test_of_two_wrists_the_one_that_was_tracked_with_the_fingers_is_the_hands():
    body = ["right_elbow", "right_wrist", "right_index", "right_thumb"]
    hand = [f"right_hand_{joint}" for joint in ("wrist", "thumb_tip", "index_finger_mcp", "pinky_mcp", "pinky_tip")]
    for labels in (body + hand, hand + body):
        assert set(suggest(labels).groups["right"]) == set(hand)


def test_joints_are_known_by_the_numbers_of_their_digits():
    """The labels of Ganguly et al. 2021: five fingertips, four joints a finger, styloids, and two of the elbow."""
    numbered = [f"{part}{digit}" for part in ("FT", "DP", "PP", "MP") for digit in range(2, 6)]
    labels = ["FT1", "IP", "MP1", "CMC1", "CMC2", "CMC5", "RS", "US", "EM", "EL", *numbered]
    found = suggest(labels)
    assert found.on_skin and found.confidence == 1.0
    (hand,) = found.groups.values()
    assert set(labels) - set(hand) == {"EM", "EL"}
    assert (
        hand["DP3"].joint == "middle-finger-phalanx-distal" and hand["PP5"].joint == "pinky-finger-phalanx-intermediate"
    )
