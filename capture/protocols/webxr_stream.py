"""WebXR hands from the page that Knuckle serves (data/webxr.html): JSON over a WebSocket, one object per frame.

    {"number": 1, "time": s, "hands": {"left": {"places": 75 numbers, "turns": 100 numbers, "radii": 25 numbers}, ...}}

WebXR's 25 joints in order; metres, right-handed, Y up; quaternions xyzw. Each joint has −Z to the tip and +Y out of the
back of the hand. Converted to Z up these are +Y and +Z, so the frames equal HandModel's.
https://www.w3.org/TR/webxr-hand-input-1/
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import PacketError
from ...hand import rotations as rot
from ...hand.joints import JOINTS, SIDES, Side
from ..frame import Frame, hand_joint_names
from ..network.sender import OutgoingFrame
from ..network.site import ServedSite, SiteFile
from ..network.websocket_sender import WebSocketClientSender
from .device_axes import to_y_up_points, to_y_up_rotations, y_up_points, y_up_rotations
from .finite_numbers import seconds, unit_quaternions, valid_positions
from .json_packet import decode_json
from .parser import Parser

Floats = NDArray[np.float64]

PAGE = Path(__file__).parents[2] / "data" / "webxr.html"


SITE = ServedSite({"": SiteFile("text/html; charset=utf-8", PAGE)}, "in the headset's browser")
"""The page for the headset's browser."""


class WebxrParser(Parser):
    """Yields a frame for each packet with hands."""

    def feed(self, packet: bytes) -> Iterable[Frame]:
        """See Parser."""
        document = decode_json(packet, "hands of a headset")
        hands = document.get("hands") if isinstance(document, dict) else None
        if not isinstance(hands, dict):
            raise PacketError("JSON without 'hands', expected what Knuckle's page for headsets sends")
        hands_sent = {side: _hand(side, hands[side]) for side in SIDES if side in hands}
        if not hands_sent:
            return []
        return [
            Frame(
                hand_joint_names(*hands_sent),
                np.concatenate([positions for positions, _ in hands_sent.values()]),
                np.concatenate([rotations for _, rotations in hands_sent.values()]),
                seconds(document.get("time")),
                _frame_number(document.get("number")),
            )
        ]


def _hand(side: Side, hand: Any) -> tuple[Floats, Floats]:
    """Return positions (25, 3) in m and rotations (25, 4) wxyz in Blender's axes. Raises PacketError."""
    xyz, xyzw = _numbers(side, hand, "places", 3), _numbers(side, hand, "turns", 4)
    return y_up_points(valid_positions(xyz, f"{side} hand")), y_up_rotations(unit_quaternions(xyzw, f"{side} hand"))


def _numbers(side: Side, hand: Any, name: str, width: int) -> list[float]:
    values = hand.get(name) if isinstance(hand, dict) else None
    expected = width * len(JOINTS)
    if not isinstance(values, list) or len(values) != expected or not all(isinstance(v, float) for v in values):
        raise PacketError(f"{side} hand: '{name}' are not {expected} numbers")
    return values


def _frame_number(value: Any) -> int | None:
    return int(value) if isinstance(value, float) and 0 <= value < 2**53 else None


class WebxrSender(WebSocketClientSender):
    """Imitates the page."""

    def messages(self, outgoing: OutgoingFrame) -> Iterator[str]:
        """See WebSocketClientSender."""
        hands = {}
        for side, joints in outgoing.hands.items():
            hands[side] = {
                "places": to_y_up_points(joints[:, :3, 3]).ravel().tolist(),
                "turns": to_y_up_rotations(rot.from_matrix(joints[:, :3, :3])).ravel().tolist(),
                "radii": [0.008] * len(JOINTS),
            }
        yield json.dumps({"number": outgoing.number, "time": outgoing.time, "hands": hands})
