"""How joint frames stand in what devices send: against numbers that were not made by our senders."""

import json

import numpy as np
import pytest

from knuckle.capture.frame import Frame, hand_name
from knuckle.capture.protocols.quest import QuestParser
from knuckle.capture.protocols.webxr_stream import WebxrParser
from knuckle.hand.joints import JOINT_INDEX, JOINTS
from knuckle.hand.marker_sets import subject_of
from knuckle.hand.rotations import to_matrix

# A row of the public data set quest-calibration (fracapuano, Hugging Face), as the app sent it: the left wrist, and of
# its landmarks the wrist, the thumb, the index finger and the middle finger's first two.
QUEST_WRIST = "Left wrist:, -0.228, 0.9876, 0.2205, 0.083, -0.102, -0.08, -0.988"
QUEST_LANDMARKS: list[list[float]] = [
    [0, 0, 0],
    *([0.0322, -0.0114, 0.0321], [0.0563, -0.0133, 0.0539], [0.0753, -0.0156, 0.0818], [0.0944, -0.016, 0.0972]),
    *([0.0236, -0.0073, 0.096], [0.0253, -0.0142, 0.1332], [0.026, -0.0239, 0.1556], [0.0251, -0.034, 0.1755]),
    *([0.0017, -0.0025, 0.0956], [0.0006, -0.0132, 0.137]),
]


def place(frame: Frame, joint: str) -> np.ndarray:
    found: np.ndarray = frame.positions[JOINT_INDEX[joint]]
    return found


def test_a_quests_wrist_points_to_the_knuckles_and_its_back_is_the_hands():
    landmarks = QUEST_LANDMARKS + [[0.0, 0.0, 0.1]] * (21 - len(QUEST_LANDMARKS))
    numbers = ", ".join(str(number) for point in landmarks for number in point)
    (frame,) = QuestParser().feed(f"{QUEST_WRIST}\nLeft landmarks:, {numbers}\n".encode())
    assert frame.rotations is not None
    turned = to_matrix(frame.rotations[0])
    to_knuckle = place(frame, "middle-finger-phalanx-proximal") - place(frame, "wrist")
    assert turned[:, 1] @ to_knuckle / np.linalg.norm(to_knuckle) > 0.95
    to_thumb = place(frame, "thumb-tip") - place(frame, "wrist")
    assert turned[:, 0] @ to_thumb > 0.05, "on a left hand +X is the thumb's side"
    bent = place(frame, "index-finger-tip") - place(frame, "index-finger-phalanx-proximal")
    assert turned[:, 2] @ bent < -0.01, "fingers bend away from the hand's back"


def test_webxr_joints_point_to_the_tip_by_their_minus_z_and_backwards_by_their_y():
    """A right hand as the standard draws it: fingers to −Z, the palm down; frames that stand as the world does."""
    places, turns = [], []
    for joint in JOINTS:
        digit, part = (0, 0) if joint == "wrist" else divmod(JOINT_INDEX[joint] - 1, 5)
        places += [0.02 * digit - 0.04, 1.0, -0.03 * part - 0.05]
        turns += [0.0, 0.0, 0.0, 1.0]
    packet = {"number": 0, "time": 0.0, "hands": {"right": {"places": places, "turns": turns}}}
    (frame,) = WebxrParser().feed(json.dumps(packet).encode())
    assert frame.rotations is not None
    along = place(frame, "ring-finger-phalanx-distal") - place(frame, "ring-finger-phalanx-proximal")
    turned = to_matrix(frame.rotations[JOINT_INDEX["ring-finger-phalanx-proximal"]])
    assert turned[:, 1] == pytest.approx(along / np.linalg.norm(along), abs=1e-9)
    assert turned[:, 2] == pytest.approx([0.0, 0.0, 1.0], abs=1e-9)


def test_a_hand_tells_whose_it_is():
    hands = {"left": "", "Anna left": "Anna", "Anna B right": "Anna B", "left#2": "#2", "Anna left#3": "Anna#3"}
    assert {hand: subject_of(hand) for hand in hands} == hands
    assert subject_of(hand_name("left", "Anna")) == "Anna"
