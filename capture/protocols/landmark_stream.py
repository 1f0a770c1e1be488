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
from ..frame import Frame, hand_joint_names
from ..hand_tracks import HandSample
from ..network.sender import OutgoingFrame, UdpSender
from .finite_numbers import known_positions, seconds
from .hand_tracker import HandTracker
from .json_packet import decode_json
from .parser import Parser

MAX_HANDS = 4
"""Maximum number of hands in a frame; further ones are ignored."""
CAMERA = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
"""Rotation from a camera's axes to Blender's: (x, y, z) becomes (x, z, −y)."""
JOINT_INDICES = [JOINT_INDEX[joint] for joint in LANDMARKS]


class LandmarksParser(Parser):
    """Yields a frame for each packet. A hand keeps its name while the sender's claim flickers."""

    def __init__(self) -> None:
        self._tracker = HandTracker()

    def feed(self, packet: bytes) -> Iterable[Frame]:
        """See Parser."""
        document = decode_json(packet, "landmarks of hands")
        hands = hands_in(document)[:MAX_HANDS]
        if not hands:
            if isinstance(document, dict) and "hands" in document:
                return []
            raise PacketError("JSON without hands, expected 21 world landmarks of each")
        return [self.frame_of(hands, time_of(document))]

    def frame_of(self, hands: list[HandSample], time: float | None) -> Frame:
        """Return the frame of hands at a time in s. Raises PacketError for a landmark that is too far away."""
        positions = np.full((len(hands), len(JOINTS), 3), np.nan)
        for row, hand in enumerate(hands):
            positions[row, JOINT_INDICES] = known_positions(hand.joints, "a landmark") @ CAMERA.T
        names = hand_joint_names(*self._tracker.names_of(hands))
        return Frame(names, positions.reshape(-1, 3), time=seconds(time))


class LandmarksSender(UdpSender):
    """Imitates a camera tracker."""

    def packets(self, outgoing: OutgoingFrame) -> Iterator[bytes]:
        """See UdpSender."""
        hands = [
            {
                "handedness": side.capitalize(),
                "world_landmarks": (joints[JOINT_INDICES, :3, 3] @ CAMERA).tolist(),
            }
            for side, joints in outgoing.hands.items()
        ]
        yield json.dumps({"time_s": outgoing.time, "hands": hands}).encode()
