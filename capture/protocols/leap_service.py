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
from ..frame import Frame, names_of
from ..network.sender import Outgoing
from ..network.websocket_sender import WebSocketSender
from .device_axes import to_y_up_points, y_up_points
from .finite_numbers import known_places
from .hand_tracker import HandTracker
from .json_packet import document_of
from .parser import Parser

PATH = "/v6.json"
GREETINGS = ('{"focused": true}', '{"background": true}')
COLUMNS = [LEAP_JOINTS.index(joint) for joint in JOINTS]
MILLIMETRE = 0.001
MOST_HANDS = 8
"""Most hands in a frame: those of four people."""


class LeapParser(Parser):
    """Yields a frame for each packet with hands. A hand keeps its name while its id does not change."""

    def __init__(self) -> None:
        self._owners = HandTracker()

    def feed(self, packet: bytes) -> Iterable[Frame]:
        """See Parser."""
        document = document_of(packet, "a frame of Leap's")
        if not isinstance(document, dict):
            raise PacketError("JSON that is no object, expected a frame of Leap's with 'hands' and 'pointables'")
        if "pointables" not in document:
            if document.keys() & {"version", "event"}:
                return []
            raise PacketError("JSON without 'pointables', expected a frame of Leap's")
        hands = hands_in(document)[:MOST_HANDS]
        if not hands:
            return []
        places = [y_up_points(MILLIMETRE * known_places(hand.joints[COLUMNS], "a joint")) for hand in hands]
        stamp, number = _counted(document.get("timestamp")), _counted(document.get("id"))
        time = None if stamp is None else stamp * 1e-6
        return [Frame(names_of(*self._owners.of(hands)), np.concatenate(places), time=time, number=number)]


def _counted(value: Json) -> int | None:
    return int(value) if isinstance(value, float) and 0 <= value < 1e15 else None


class LeapSender(WebSocketSender):
    """Imitates the service."""

    path = PATH
    greeting = '{"version": 6, "serviceVersion": "0"}'

    def messages(self, moment: Outgoing) -> Iterator[str]:
        """See WebSocketSender."""
        hands, pointables = [], []
        for number, (side, joints) in enumerate(moment.hands.items(), 1):
            places = (to_y_up_points(joints[:, :3, 3]) / MILLIMETRE).tolist()
            hands.append({"id": number, "type": side, "wrist": places[0]})
            for kind, (digit, own) in enumerate(DIGIT_JOINTS.items()):
                of_bones = [places[JOINT_INDEX[joint]] for joint in own]
                # The thumb's first bone has zero length.
                carp, mcp, pip, dip, tip = [of_bones[0], *of_bones] if digit == "thumb" else of_bones
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
        frame = {"id": moment.number, "timestamp": round(1e6 * moment.time), "hands": hands, "pointables": pointables}
        yield json.dumps(frame)
