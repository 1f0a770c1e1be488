"""Ultraleap and Leap Motion: the service's WebSocket at port 6437, one JSON object per frame.

    {"version": 6, ...}                                          first
    {"id": 1, "timestamp": µs, "hands": [{"id", "type", ...}], "pointables": [{"handId", "type", "mcpPosition", ...}]}

Millimetres, right-handed, Y up. Gemini and later need UltraleapTrackingWebSocket, which uses the same protocol.
"""

import json
from collections.abc import Iterable, Iterator

import numpy as np

from ...errors import PacketError
from ...hand.joints import DIGIT_JOINTS, JOINT_INDEX, JOINTS
from ..files.hand_json import Json
from ..files.leap_json import LEAP_JOINTS, hands_in
from ..frame import Frame, hand_joint_names
from ..network.sender import OutgoingFrame
from ..network.websocket_sender import WebSocketSender
from .device_axes import to_y_up_points, y_up_points
from .finite_numbers import known_positions
from .hand_tracker import HandTracker
from .json_packet import decode_json
from .parser import Parser

PATH = "/v6.json"
GREETINGS = ('{"focused": true}', '{"background": true}')
JOINT_INDICES = [LEAP_JOINTS.index(joint) for joint in JOINTS]
MILLIMETRE = 0.001
MAX_HANDS = 8
"""Maximum number of hands in a frame, those of four people."""


class LeapParser(Parser):
    """Yields a frame for each packet with hands. A hand keeps its name while its id does not change."""

    def __init__(self) -> None:
        self._tracker = HandTracker()

    def feed(self, packet: bytes) -> Iterable[Frame]:
        """See Parser."""
        document = decode_json(packet, "a Leap frame")
        if not isinstance(document, dict):
            raise PacketError("JSON that is not an object, expected a Leap frame with 'hands' and 'pointables'")
        if "pointables" not in document:
            if document.keys() & {"version", "event"}:
                return []
            raise PacketError("JSON without 'pointables', expected a Leap frame")
        hands = hands_in(document)[:MAX_HANDS]
        if not hands:
            return []
        positions = [y_up_points(MILLIMETRE * known_positions(hand.joints[JOINT_INDICES], "a joint")) for hand in hands]
        timestamp, number = _count_or_none(document.get("timestamp")), _count_or_none(document.get("id"))
        time = None if timestamp is None else timestamp * 1e-6
        return [
            Frame(hand_joint_names(*self._tracker.names_of(hands)), np.concatenate(positions), time=time, number=number)
        ]


def _count_or_none(value: Json) -> int | None:
    return int(value) if isinstance(value, float) and 0 <= value < 1e15 else None


class LeapSender(WebSocketSender):
    """Imitates the service."""

    path = PATH
    greeting = '{"version": 6, "serviceVersion": "0"}'

    def messages(self, outgoing: OutgoingFrame) -> Iterator[str]:
        """See WebSocketSender."""
        hands, pointables = [], []
        for number, (side, joints) in enumerate(outgoing.hands.items(), 1):
            positions = (to_y_up_points(joints[:, :3, 3]) / MILLIMETRE).tolist()
            hands.append({"id": number, "type": side, "wrist": positions[0]})
            for kind, (digit, digit_joints) in enumerate(DIGIT_JOINTS.items()):
                points = [positions[JOINT_INDEX[joint]] for joint in digit_joints]
                # The thumb's first bone has zero length.
                carp, mcp, pip, dip, tip = [points[0], *points] if digit == "thumb" else points
                pointables.append(
                    {
                        "id": 10 * number + kind,
                        "handId": number,
                        "type": kind,
                        "carpPosition": carp,
                        "mcpPosition": mcp,
                        "pipPosition": pip,
                        "dipPosition": dip,
                        "btipPosition": tip,
                        "tipPosition": tip,
                    }
                )
        frame = {
            "id": outgoing.number,
            "timestamp": round(1e6 * outgoing.time),
            "hands": hands,
            "pointables": pointables,
        }
        yield json.dumps(frame)
