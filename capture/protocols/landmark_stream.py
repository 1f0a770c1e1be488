"""Camera landmarks as JSON: one object per datagram, in any structure that capture/files/mediapipe_json.py reads.

    {"time_s": 1.25, "hands": [{"handedness": "Left", "world_landmarks": [[x, y, z], ... 21]}, ...]}

World landmarks in metres, x right, y down, z away from the camera, centred on each hand. The side that a sender claims
is often mirrored: it only names the hand, whose side is later found from its shape.
"""

import json
from collections.abc import Iterable, Iterator

import numpy as np

from ...errors import PacketError
from ...hand.joints import JOINT_INDEX, JOINTS
from ..files.hand_json import time_of
from ..files.mediapipe_json import LANDMARKS, hands_in
from ..frame import Frame, names_of
from ..network.sender import Outgoing, UdpSender
from .finite_numbers import known_places, seconds
from .hand_tracker import HandTracker
from .json_packet import document_of
from .parser import Parser

MOST_HANDS = 4
CAMERA = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
"""From a camera's axes to Blender's: (x, y, z) becomes (x, z, −y)."""
COLUMNS = [JOINT_INDEX[joint] for joint in LANDMARKS]


class LandmarksParser(Parser):
    """Yields a frame for each packet. A hand keeps its name while the sender's claim flickers."""

    def __init__(self) -> None:
        self._owners = HandTracker()

    def feed(self, packet: bytes) -> Iterable[Frame]:
        """See Parser."""
        document = document_of(packet, "landmarks of hands")
        hands = hands_in(document)[:MOST_HANDS]
        if not hands:
            if isinstance(document, dict) and "hands" in document:
                return []
            raise PacketError("JSON without hands, expected 21 world landmarks of each")
        positions = np.full((len(hands), len(JOINTS), 3), np.nan)
        positions[:, COLUMNS] = [known_places(hand.joints, "a landmark") @ CAMERA.T for hand in hands]
        names = names_of(*self._owners.of(hands))
        return [Frame(names, positions.reshape(-1, 3), time=seconds(time_of(document)))]


class LandmarksSender(UdpSender):
    """Imitates a camera tracker."""

    def packets(self, moment: Outgoing) -> Iterator[bytes]:
        """See UdpSender."""
        hands = [
            {
                "handedness": side.capitalize(),
                "world_landmarks": (joints[COLUMNS, :3, 3] @ CAMERA).tolist(),
            }
            for side, joints in moment.hands.items()
        ]
        yield json.dumps({"time_s": moment.time, "hands": hands}).encode()
