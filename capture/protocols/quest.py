"""Hand Tracking Streamer on Meta Quest headsets: lines of text over UDP or TCP.

    Left wrist:, x, y, z, qx, qy, qz, qw
    Left landmarks:, 63 numbers             21 positions in the wrist's frame, the wrist first
    Left wrist | f=12 | t=345000:, …        with the frame's number and its time in ns

Unity's axes: left-handed, Y up. The wrist's frame has Z to the fingers and Y out of the back of the hand.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...errors import PacketError
from ...hand import rotations as rot
from ...hand.joints import JOINT_INDEX, Side
from ..files.mediapipe_json import LANDMARKS
from ..frame import Frame, hand_joint_names, unseen_hand
from ..network.sender import OutgoingFrame, UdpSender
from ..network.tcp import LineSender
from .device_axes import to_unity_points, to_unity_rotations, unity_points, unity_rotations
from .finite_numbers import finite_float, seconds, unit_quaternions, valid_positions
from .frame_assembler import FrameAssembler
from .parser import Parser

Floats = NDArray[np.float64]

JOINT_INDICES = [JOINT_INDEX[joint] for joint in LANDMARKS]
MAX_PACKET_SIZE = 8192
"""Maximum bytes of a datagram; the four lines of a frame have about 2600 with all digits."""
MAX_LINES = 16
"""Maximum number of lines in a packet."""

DEVICE_FROM_WRIST = rot.from_matrix(np.array([[-1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0]]))
"""Rotation from HandModel's wrist frame, whose +Y points to the fingers, to the device's, whose Unity Z, Blender's −Y,
does."""

_LABEL = re.compile(r"(Left|Right) (wrist|landmarks)")
_NUMBER = re.compile(r"\s*([a-z]+)\s*=\s*(\d{1,20})\s*")
_COUNTS = {"wrist": 7, "landmarks": 3 * len(LANDMARKS)}


@dataclass(frozen=True, slots=True)
class _HandLine:
    label: str
    side: Side
    kind: str
    values: list[float]
    number: int | None
    time: float | None
    """s"""


class QuestParser(Parser):
    """Yields a frame once it has all hands of the previous frame. A hand is complete with wrist and landmarks."""

    def __init__(self) -> None:
        self._wrists: dict[Side, tuple[Floats, Floats]] = {}
        self._assembler = FrameAssembler()

    def feed(self, packet: bytes) -> Iterable[Frame]:
        """See Parser."""
        if len(packet) > MAX_PACKET_SIZE:
            raise PacketError(f"{len(packet)} bytes, lines of a hand have {MAX_PACKET_SIZE} at most")
        try:
            lines = packet.decode("ascii").split("\n")
        except UnicodeDecodeError as error:
            raise PacketError(f"byte {error.start} is not ASCII, expected lines such as 'Left wrist:, ...'") from None
        if len(lines) > MAX_LINES:
            raise PacketError(f"{len(lines)} lines, expected {MAX_LINES} at most")
        # All lines are parsed before any is used: a malformed packet changes nothing.
        parsed = [line for line in map(_parse_line, lines) if line is not None]
        return [frame for line in parsed for frame in self._handle(line)]

    def _handle(self, line: _HandLine) -> list[Frame]:
        if line.kind == "wrist":
            position = unity_points(valid_positions(line.values[:3], line.label)[0])
            rotation = unity_rotations(unit_quaternions(line.values[3:], line.label)[0])
            self._wrists[line.side] = (position, rotation)
            return []
        if line.side not in self._wrists:
            return []
        position, rotation = self._wrists[line.side]
        landmarks = unity_points(valid_positions(line.values, line.label))
        positions, rotations = unseen_hand()
        positions[JOINT_INDICES] = position + rot.rotate(rotation, landmarks)
        rotations[0] = rot.multiply(rotation, DEVICE_FROM_WRIST)
        frame = Frame(hand_joint_names(line.side), positions, rotations, line.time, line.number)
        return self._assembler.add(line.side, frame)


def _parse_line(text: str) -> _HandLine | None:
    """Parse a line; None if it is empty or describes the head. Raises PacketError."""
    head, _, rest = text.partition(":")
    label, *notes = head.split("|")
    match = _LABEL.fullmatch(label.strip())
    if match is None:
        if not text.strip() or head.startswith("Head"):
            return None
        raise PacketError(f"a line begins {text[:20]!r}, expected a label such as 'Left wrist:' or 'Right landmarks:'")
    fields = {field[1]: field[2] for field in map(_NUMBER.fullmatch, notes) if field}
    values = [finite_float(word, label) for word in rest.split(",") if word.strip()]
    kind = match[2]
    if len(values) != _COUNTS[kind]:
        raise PacketError(f"{label.strip()}: {len(values)} numbers, expected {_COUNTS[kind]}")
    number, nanoseconds = fields.get("f"), fields.get("t")
    return _HandLine(
        label=label.strip(),
        side="left" if match[1] == "Left" else "right",
        kind=kind,
        values=values,
        number=None if number is None else int(number),
        time=None if nanoseconds is None else seconds(int(nanoseconds) / 1e9),
    )


class QuestSender(UdpSender):
    """Imitates a headset: wrist and landmarks of each hand, with number and time."""

    def packets(self, outgoing: OutgoingFrame) -> Iterator[bytes]:
        """See UdpSender."""
        return _encode_lines(outgoing)


class QuestTcpSender(LineSender):
    """Imitates a headset that connects over TCP."""

    def packets(self, outgoing: OutgoingFrame) -> Iterator[bytes]:
        """See LineSender."""
        return _encode_lines(outgoing)


def _encode_lines(outgoing: OutgoingFrame) -> Iterator[bytes]:
    for side, joints in outgoing.hands.items():
        rotation = rot.multiply(rot.from_matrix(joints[0, :3, :3]), rot.conjugate(DEVICE_FROM_WRIST))
        local = rot.rotate(rot.conjugate(rotation), joints[JOINT_INDICES, :3, 3] - joints[0, :3, 3])
        meta = f"| f={outgoing.number} | t={round(outgoing.time * 1e9)}:"
        wrist = [*to_unity_points(joints[0, :3, 3]), *to_unity_rotations(rotation)]
        for kind, values in (("wrist", wrist), ("landmarks", to_unity_points(local).ravel())):
            numbers = ", ".join(f"{value:.9g}" for value in values)
            yield f"{side.capitalize()} {kind} {meta}, {numbers}\n".encode()
