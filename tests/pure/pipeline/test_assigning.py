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


def test_a_subject_that_is_not_there_is_told():
    with pytest.raises(MarkerMapError, match="no hand of 'Carl', expected one of: 'Anna', 'Ben'"):
        assign_hands(Recipe("two.rawtake", subject="Carl"), of_people("Anna", "Ben"))
    with pytest.raises(MarkerMapError, match="expected one of: hands without a name"):
        assign_hands(Recipe("two.rawtake", subject="Carl"), of_people(""))
