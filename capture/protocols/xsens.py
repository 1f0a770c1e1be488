"""Xsens MVN, with the fingers of Manus gloves or its own: message 02 (positions and quaternions) over UDP, big-endian.

    6 bytes "MXTP02" · u32 sample · u8 datagram, 0x80 on the last · u8 items · u32 ms · u8 character ·
    u8 body segments · u8 props · u8 finger segments (0 or 40) · 2 reserved · u16 payload
    items of i32 id · 3 f32 position · 4 f32 quaternion wxyz

Global, Z up, right-handed, X forwards and Y to the left; in the T-pose all segments are aligned with the world. Items
are in the order of segments: body, props, left carpus and its 19, right carpus and its 19. Tips are not sent. Source:
MVN real-time network streaming protocol. It gives positions in cm, the manual in m, so the hand's size decides.
"""

import struct
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...errors import PacketError
from ...hand import kinematics, proportions
from ...hand import rotations as rot
from ...hand.forearm import remove_pronation
from ...hand.joints import DIGIT_JOINTS, JOINT_INDEX, SIDES, Side
from ...hand.kinematics import Pose
from ..frame import Frame, SentForearm, concatenate_frames, hand_name, joint_names, unseen_hand, with_forearms
from ..network.sender import OutgoingFrame, UdpSender
from .finite_numbers import unit_quaternions, valid_positions
from .frame_assembler import FrameAssembler
from .parser import Parser

Floats = NDArray[np.float64]
Segments = NDArray[np.void]

HEADER = struct.Struct(">6sIBBIBBBB2xH")
ITEM = np.dtype([("id", ">i4"), ("position", ">f4", 3), ("rotation", ">f4", 4)])
LAST_DATAGRAM = 0x80
BODY_SEGMENTS, FINGER_SEGMENTS = 23, 40
"""Number of segments of a body, and of both hands."""
ARMS: dict[Side, tuple[int, int]] = {"left": (12, 13), "right": (8, 9)}
"""Side -> indices of the upper arm and the forearm among the 23 segments of a body."""
MAX_SEGMENTS = 255
"""Maximum number of segments of a character."""
SEGMENTS_PER_DATAGRAM = 62
"""Maximum number of segments in a datagram, which then has at most 2040 bytes."""
MAX_CHARACTERS = 8
"""Maximum number of characters."""
MAX_HAND_SIZE_M = 1.0
"""m, maximum size of a hand in metres; the numbers of a larger one are in cm."""
SEGMENTS = ("wrist", *(joint for joints in DIGIT_JOINTS.values() for joint in joints[:-1]))
"""The 20 segments of a hand in order: the carpus, then each digit's from its metacarpal outwards."""
JOINT_INDICES = [JOINT_INDEX[joint] for joint in SEGMENTS]
AXES = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
"""Rotation from MVN's axes to Blender's, where forwards is −Y and left is +X."""
AXES_ROTATION = rot.from_matrix(AXES)
SEGMENT_FROM_JOINT: dict[Side, Floats] = {
    # In the T-pose the palms face down; a left hand points along +Y of MVN, a right one along −Y.
    "left": rot.IDENTITY,
    "right": np.array([0.0, 0.0, 0.0, 1.0]),
}
"""Rotation from HandModel's joint frame to the segment's."""
SEGMENTS_FROM_JOINTS = np.repeat([SEGMENT_FROM_JOINT[side] for side in SIDES], len(SEGMENTS), axis=0)
"""(40, 4) SEGMENT_FROM_JOINT for each segment of both hands."""


@dataclass(slots=True)
class _Sample:
    """A sample of a character, whose datagrams have not all arrived."""

    number: int = -1
    parts: dict[int, bytes] = field(default_factory=dict)
    last: int = -1


class XsensParser(Parser):
    """Yields a frame for each complete sample of all characters. Those after the first are named 'Performer 2'."""

    def __init__(self) -> None:
        self._samples: dict[int, _Sample] = {}
        self._assembler = FrameAssembler()

    def feed(self, packet: bytes) -> Iterable[Frame]:
        """See Parser."""
        if len(packet) < HEADER.size:
            raise PacketError(f"{len(packet)} bytes, a header of MVN has {HEADER.size}")
        kind, number, part, items, ms, character, body, props, fingers, payload = HEADER.unpack_from(packet)
        if kind[:4] != b"MXTP":
            raise PacketError(f"begins with {kind[:4]!r}, MVN's packets begin with 'MXTP'")
        if kind != b"MXTP02":
            return []
        content = packet[HEADER.size :]
        if len(content) != items * ITEM.itemsize or payload not in (0, len(content)):
            raise PacketError(f"{items} segments in {len(content)} bytes, each has {ITEM.itemsize}")
        if fingers not in (0, FINGER_SEGMENTS) or body + props + fingers > MAX_SEGMENTS or character >= MAX_CHARACTERS:
            raise PacketError(
                f"character {character} of {body} + {props} + {fingers} segments, expected 23 + props + 40"
            )
        if not fingers:
            return []
        items_bytes = self._complete_items(character, number, part, content)
        if items_bytes is None:
            return []
        if not body or len(items_bytes) != (body + props + fingers) * ITEM.itemsize:
            raise PacketError(
                f"a sample of {len(items_bytes) // ITEM.itemsize} segments, its header says {body + props + fingers}"
            )
        segments = np.frombuffer(items_bytes, ITEM)
        arms = {side: segments[list(rows)] for side, rows in ARMS.items()} if body == BODY_SEGMENTS else {}
        return self._frames(segments[body + props :], arms, character, number, ms / 1000)

    def _complete_items(self, character: int, number: int, part: int, content: bytes) -> bytes | None:
        """Return the items of a sample once all its datagrams have arrived; an incomplete sample ends when the next
        starts."""
        sample = self._samples.setdefault(character, _Sample())
        if sample.number != number:
            sample.number, sample.parts, sample.last = number, {}, -1
        index = part & (LAST_DATAGRAM - 1)
        sample.parts[index] = content
        if part & LAST_DATAGRAM:
            sample.last = index
        if sample.last < 0 or any(index not in sample.parts for index in range(sample.last + 1)):
            return None
        del self._samples[character]
        return b"".join(sample.parts[index] for index in range(sample.last + 1))

    def _frames(
        self, hands: Segments, arms: dict[Side, Segments], character: int, number: int, time: float
    ) -> list[Frame]:
        points, quaternions = _numbers(hands)
        # The unit follows from the size of the left hand.
        scale = 0.01 if np.ptp(points[: len(SEGMENTS)], axis=0).max() > MAX_HAND_SIZE_M else 1.0
        points = scale * points @ AXES.T
        joint_rotations = rot.multiply(rot.multiply(AXES_ROTATION, quaternions), SEGMENTS_FROM_JOINTS)
        # The first character gets no name: its hands keep their names when another character appears.
        performer = f"Performer {character + 1}" if character else ""
        parts = []
        for side, first in zip(SIDES, (0, len(SEGMENTS)), strict=True):
            rows = slice(first, first + len(SEGMENTS))
            positions, rotations = unseen_hand()
            positions[JOINT_INDICES] = points[rows]
            rotations[JOINT_INDICES] = joint_rotations[rows]
            parts.append(Frame(joint_names(side, performer), positions, rotations, time, number))
        forearms = [_forearm(hand_name(side, performer), side, arm, scale) for side, arm in arms.items()]
        frame = with_forearms(
            concatenate_frames(tuple(parts)), tuple(forearm for forearm in forearms if forearm is not None)
        )
        return self._assembler.add(str(character), frame)


def _forearm(hand: str, side: Side, arm: Segments, scale: float) -> SentForearm | None:
    """Return the forearm of an arm's two segments; None if it has no rotation or damaged numbers. scale: unit in m."""
    if not arm["rotation"][-1].any():
        return None
    # If the numbers of the upper arm are damaged, the forearm's rotation is used alone.
    for segments in (arm, arm[1:]):
        with suppress(PacketError):
            points, quaternions = _numbers(segments)
            # In the T-pose, hands are at rest on their forearms.
            resting = rot.multiply(rot.multiply(AXES_ROTATION, quaternions), SEGMENT_FROM_JOINT[side])
            rotation = remove_pronation(resting[0], resting[1]) if len(resting) > 1 else resting[0]
            return SentForearm(hand, scale * AXES @ points[-1], rotation)
    return None


def _numbers(segments: Segments) -> tuple[Floats, Floats]:
    """Return positions (N, 3) and unit quaternions (N, 4) of segments, in their unit and axes.

    Raises PacketError if numbers are damaged.
    """
    # numpy warns when it converts a signalling 32-bit NaN to 64 bits.
    with np.errstate(invalid="ignore"):
        xyz, wxyz = segments["position"].astype(np.float64), segments["rotation"].astype(np.float64)
    return valid_positions(xyz, "a segment"), unit_quaternions(wxyz, "a segment")


class XsensSender(UdpSender):
    """Imitates MVN: a static body and its hands. A hand that the capture lacks hangs beside the body.

    Arms are straight. An unknown arm has rotations of zero.
    """

    def packets(self, outgoing: OutgoingFrame) -> Iterator[bytes]:
        """See UdpSender."""
        body = np.zeros(BODY_SEGMENTS, ITEM)
        body["position"], body["rotation"] = [0.0, 0.0, 1.0], rot.IDENTITY
        parts = [body]
        for side, (upper, fore) in ARMS.items():
            forearm = outgoing.forearms.get(side)
            body["rotation"][[upper, fore]] = 0.0
            if forearm is not None:
                body["position"][fore] = AXES.T @ forearm[:3, 3]
                body["rotation"][[upper, fore]] = _segment_rotation(side, rot.from_matrix(forearm[:3, :3]))
        for side in SIDES:
            joints = outgoing.hands.get(side)
            joints = _resting_frames(side) if joints is None else joints
            hand = np.zeros(len(SEGMENTS), ITEM)
            hand["position"] = joints[JOINT_INDICES, :3, 3] @ AXES
            hand["rotation"] = _segment_rotation(side, rot.from_matrix(joints[JOINT_INDICES, :3, :3]))
            parts.append(hand)
        # Concatenation changes to the machine's byte order, which this reverts.
        items = np.concatenate(parts).astype(ITEM)
        items["id"] = np.arange(1, len(items) + 1)
        # MVN sends 63 segments in two datagrams.
        for part, first in enumerate(range(0, len(items), SEGMENTS_PER_DATAGRAM)):
            content = items[first : first + SEGMENTS_PER_DATAGRAM].tobytes()
            last = LAST_DATAGRAM if first + SEGMENTS_PER_DATAGRAM >= len(items) else 0
            count, ms = len(content) // ITEM.itemsize, round(1000 * outgoing.time)
            segments = (BODY_SEGMENTS, 0, FINGER_SEGMENTS)
            yield HEADER.pack(b"MXTP02", outgoing.number, part | last, count, ms, 0, *segments, len(content)) + content


def _segment_rotation(side: Side, joints: Floats) -> Floats:
    """Return (..., 4) wxyz of segments in MVN's axes from those of joints."""
    return rot.multiply(rot.multiply(rot.conjugate(AXES_ROTATION), joints), rot.conjugate(SEGMENT_FROM_JOINT[side]))


def _resting_frames(side: Side) -> Floats:
    """Return the joint frames (25, 4, 4) of a relaxed hand beside a standing body, fingers down."""
    hand = proportions.build(proportions.adult(side))
    sign = 1.0 if side == "left" else -1.0
    root = np.eye(4)
    # The back of the hand faces outwards.
    root[:3, :3] = rot.frame_from_yz(np.array([0.0, 0.0, -1.0]), np.array([sign, 0.0, 0.0]))
    root[:3, 3] = [0.25 * sign, 0.0, 0.8]
    frames: Floats = kinematics.joint_frames(hand, Pose(hand, root[None], hand.neutral[None]))[0]
    return frames
