"""What joints and markers of an arm are called."""

import pytest

from knuckle.capture.arm_labels import ELBOW_WORDS, is_called


@pytest.mark.parametrize(
    "label", ["RightForeArm", "mixamorig:RightForeArm", "RELB", "forearm.R", "right_elbow", "R_LowerArm"]
)
def test_the_beginning_of_a_forearm_is_an_elbow(label: str) -> None:
    assert any(is_called(label, word, "right") for word in ELBOW_WORDS)
    assert not any(is_called(label, word, "left") for word in ELBOW_WORDS)


@pytest.mark.parametrize("label", ["RightForeArmEnd", "RightForeArm_end", "Right Forearm Nub", "forearm_End.R"])
def test_the_end_of_a_forearm_is_no_elbow_but_where_the_wrist_is(label: str) -> None:
    assert not any(is_called(label, word, "right") for word in ELBOW_WORDS)
