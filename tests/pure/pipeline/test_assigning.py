"""Which hands of a capture are solved, where it holds those of several people."""

import numpy as np
import pytest

from knuckle.capture.frame import joint_names
from knuckle.capture.markers import Markers
from knuckle.errors import MarkerMapError
from knuckle.hand import kinematics, poses
from knuckle.hand.joints import SIDES
from knuckle.hand.kinematics import Pose
from knuckle.hand.proportions import adult, build
from knuckle.pipeline.assignment import assign_hands
from knuckle.pipeline.recipe import Recipe


def of_people(*people: str) -> Markers:
    """Two frames of both hands of each, all joints seen."""
    names: list[str] = []
    places = []
    for number, person in enumerate(people):
        for side in SIDES:
            hand = build(adult(side))
            pose = Pose(hand, np.tile(np.eye(4), (2, 1, 1)), np.tile(poses.angles(hand, "relaxed"), (2, 1)))
            names += joint_names(side, person)
            places.append(kinematics.joint_frames(hand, pose)[..., :3, 3] + number)
    return Markers(
        tuple(names), np.arange(2.0), np.concatenate(places, axis=1), source="two.rawtake", rate=60, unit="m"
    )


@pytest.mark.parametrize("subject", ["Anna", "Ben"])
def test_the_hands_of_the_subject_are_taken(subject):
    found = assign_hands(Recipe("two.rawtake", subject=subject), of_people("Anna", "Ben"))
    assert set(found.hands) == set(SIDES) and not found.warnings
    assert all(label.startswith(f"{subject} ") for spots in found.hands.values() for label in spots)


def test_who_is_left_aside_can_be_chosen():
    found = assign_hands(Recipe("two.rawtake"), of_people("Anna", "Ben"))
    assert len(found.warnings) == 2 and all("choose the subject 'Ben'" in warning for warning in found.warnings)


def test_a_subject_that_is_not_there_is_reported():
    with pytest.raises(MarkerMapError, match="no hand of 'Carl', expected one of: 'Anna', 'Ben'"):
        assign_hands(Recipe("two.rawtake", subject="Carl"), of_people("Anna", "Ben"))
    with pytest.raises(MarkerMapError, match="expected one of: hands without a name"):
        assign_hands(Recipe("two.rawtake", subject="Carl"), of_people(""))


def named(source: str, labels_say: str | None, shape: str) -> Markers:
    """Both frames of one relaxed hand."""
    both = of_people("")
    columns = [i for i, name in enumerate(both.names) if name.startswith(shape)]
    labels = [both.names[i].rpartition(":")[2] for i in columns]
    names = tuple(f"{labels_say}:{label}" if labels_say else label for label in labels)
    return Markers(names, both.times, both.positions[:, columns].copy(), source=source, rate=60, unit="m")


@pytest.mark.parametrize(
    ("source", "labels_say", "reported"),
    [
        ("grasp_left.bvh", "left", ""),
        ("grasp.bvh", "right", "it has the shape of a left hand, its labels say right"),
        ("rhand.bvh", None, "it has the shape of a left hand, the file's name says right"),
        ("left_to_right.bvh", "left", ""),
    ],
)
def test_what_disagrees_about_the_side_is_reported(source, labels_say, reported):
    found = assign_hands(Recipe(source), named(source, labels_say, "left"))
    assert list(found.hands) == ["left"]
    assert [reported in warning and "was taken as a left hand" in warning for warning in found.warnings] == [
        True
    ] * bool(reported)


def test_two_hands_of_a_person_are_a_left_and_a_right_one_whatever_shape_one_has():
    """The right hand's fingers are bent backwards, as those of hands that clap: it has a left hand's shape."""
    both = of_people("")
    right = [i for i, name in enumerate(both.names) if name.startswith("right")]
    positions = both.positions.copy()
    positions[:, right, 2] *= -1.0
    bent = Markers(both.names, both.times, positions, source="clap.fbx", rate=60, unit="m")
    found = assign_hands(Recipe("clap.fbx"), bent)
    assert set(found.hands) == set(SIDES)
    (reported,) = found.warnings
    assert reported.endswith("it has the shape of a left one, but that is the other hand")
    assert all(label.startswith("right") for label in found.hands["right"])


def test_a_side_that_was_chosen_and_is_named_is_taken_against_the_shape():
    found = assign_hands(Recipe("rhand.bvh", hand="right"), named("rhand.bvh", None, "left"))
    assert list(found.hands) == ["right"] and "was taken as a right hand" in found.warnings[0]
    with pytest.raises(MarkerMapError, match="has a left hand"):
        assign_hands(Recipe("hand.bvh", hand="right"), named("hand.bvh", None, "left"))


def test_the_name_of_the_file_decides_where_the_shape_does_not():
    """A flat hand looks alike from both sides."""
    markers = named("take_l.bvh", None, "left")
    flat = Markers(
        markers.names, markers.times, markers.positions * [1.0, 1.0, 0.0], source="take_l.bvh", rate=60, unit="m"
    )
    found = assign_hands(Recipe("take_l.bvh"), flat)
    assert list(found.hands) == ["left"] and not found.warnings
