"""Xsens MVN, with the fingers of Manus gloves or its own: message 02 (positions and quaternions) over UDP, big-endian.

    6 bytes "MXTP02" · u32 sample · u8 datagram, 0x80 on the last · u8 items · u32 ms · u8 character ·
    u8 body segments · u8 props · u8 finger segments (0 or 40) · 2 reserved · u16 payload
    items of i32 id · 3 f32 position · 4 f32 quaternion wxyz

Global, Z up, right-handed, X forwards and Y to the left; in the T-pose all segments are aligned with the world. Items
are in the order of segments: body, props, left carpus and its 19, right carpus and its 19. Tips are not sent. Source:
MVN real-time network streaming protocol, which says cm where the manual says m, so the unit is found from the hand.
"""

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...errors import PacketError
from ...hand import kinematics, proportions
from ...hand import rotations as rot
from ...hand.joints import DIGIT_JOINTS, JOINT_INDEX, SIDES, Side
from ...hand.kinematics import Pose
from ..frame import Frame, joint_names, together, unseen
from ..network.sender import Outgoing, UdpSender
from .finite_numbers import places, turns
from .frame_assembler import FrameAssembler
from .parser import Parser

Floats = NDArray[np.float64]
Segments = NDArray[np.void]

HEADER = struct.Struct(">6sIBBIBBBB2xH")
ITEM = np.dtype([("id", ">i4"), ("place", ">f4", 3), ("turn", ">f4", 4)])
LAST = 0x80
BODY, FINGERS = 23, 40
MOST_ITEMS = 255
PER_DATAGRAM = 62
"""Segments in a datagram, which then has at most 2040 bytes."""
MOST_CHARACTERS = 8
LARGEST_HAND = 1.0
"""m: a larger hand is in cm."""
SEGMENTS = ("wrist", *(joint for joints in DIGIT_JOINTS.values() for joint in joints[:-1]))
"""The 20 segments of a hand in order: the carpus, then each digit's from its metacarpal outwards."""
COLUMNS = [JOINT_INDEX[joint] for joint in SEGMENTS]
AXES = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
"""From MVN's axes to Blender's, where forwards is −Y and left is +X."""
TURN = rot.from_matrix(AXES)
REST: dict[Side, Floats] = {
    # In the T-pose the palms face down; a left hand points along +Y of MVN, a right one along −Y.
    "left": rot.IDENTITY,
    "right": np.array([0.0, 0.0, 0.0, 1.0]),
}
"""Rotation from HandModel's joint frame to the segment's."""


@dataclass(slots=True)
class _Sample:
    """An incomplete sample of a character."""

    number: int = -1
    parts: dict[int, bytes] = field(default_factory=dict)
    last: int = -1


class XsensParser(Parser):
    """Yields a frame for each complete sample of all characters; those after the first are named performers."""

    def __init__(self) -> None:
        self._samples: dict[int, _Sample] = {}
        self._rounds = FrameAssembler()

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
        if fingers not in (0, FINGERS) or body + props + fingers > MOST_ITEMS or character >= MOST_CHARACTERS:
            raise PacketError(
                f"character {character} of {body} + {props} + {fingers} segments, expected 23 + props + 40"
            )
        if not fingers:
            return []
        whole = self._whole(character, number, part, content)
        if whole is None:
            return []
        if not body or len(whole) != (body + props + fingers) * ITEM.itemsize:
            raise PacketError(f"a sample of {len(whole) // ITEM.itemsize} segments, {body + props + fingers} were told")
        segments = np.frombuffer(whole, ITEM)
        return self._frames(segments[body + props :], character, number, ms / 1000)

    def _whole(self, character: int, number: int, part: int, content: bytes) -> bytes | None:
        """The items of a sample once all its datagrams have arrived; an incomplete sample ends when the next starts."""
        sample = self._samples.setdefault(character, _Sample())
        if sample.number != number:
            sample.number, sample.parts, sample.last = number, {}, -1
        index = part & (LAST - 1)
        sample.parts[index] = content
        if part & LAST:
            sample.last = index
        if sample.last < 0 or any(wanted not in sample.parts for wanted in range(sample.last + 1)):
            return None
        del self._samples[character]
        return b"".join(sample.parts[wanted] for wanted in range(sample.last + 1))

    def _frames(self, hands: Segments, character: int, number: int, time: float) -> list[Frame]:
        # numpy warns when it converts a signalling 32-bit NaN to 64 bits.
        with np.errstate(invalid="ignore"):
            place, turn = (hands[name].astype(np.float64).ravel().tolist() for name in ("place", "turn"))
        seen = places(place, "a segment")
        # The unit follows from the size of the left hand.
        scale = 0.01 if np.ptp(seen[: len(SEGMENTS)], axis=0).max() > LARGEST_HAND else 1.0
        positions = scale * seen @ AXES.T
        rotations = rot.multiply(TURN, turns(turn, "a segment"))
        parts = []
        for side, names, first in zip(SIDES, self._named(character), (0, len(SEGMENTS)), strict=True):
            rows = slice(first, first + len(SEGMENTS))
            there, turned = unseen()
            there[COLUMNS], turned[COLUMNS] = positions[rows], rot.multiply(rotations[rows], REST[side])
            parts.append(Frame(names, there, turned, time, number))
        return self._rounds.add(str(character), together(tuple(parts)))

    def _named(self, character: int) -> tuple[tuple[str, ...], ...]:
        """Names of the joints of a character's hands; the first character gets no performer's name."""
        performer = f"Performer {character + 1}" if character else ""
        return tuple(joint_names(side, performer) for side in SIDES)


class XsensSender(UdpSender):
    """Imitates MVN: a static body and its hands. A hand that the capture lacks rests beside the body."""

    def packets(self, moment: Outgoing) -> Iterator[bytes]:
        """See UdpSender."""
        body = np.zeros(BODY, ITEM)
        body["place"], body["turn"] = [0.0, 0.0, 1.0], rot.IDENTITY
        parts = [body]
        for side in SIDES:
            joints = moment.hands.get(side)
            joints = _resting(side) if joints is None else joints
            hand = np.zeros(len(SEGMENTS), ITEM)
            hand["place"] = joints[COLUMNS, :3, 3] @ AXES
            own = rot.multiply(rot.conjugate(TURN), rot.from_matrix(joints[COLUMNS, :3, :3]))
            hand["turn"] = rot.multiply(own, rot.conjugate(REST[side]))
            parts.append(hand)
        # Concatenation alone would change to the machine's byte order.
        items = np.concatenate(parts).astype(ITEM)
        items["id"] = np.arange(1, len(items) + 1)
        # MVN sends 63 segments in two datagrams.
        for part, first in enumerate(range(0, len(items), PER_DATAGRAM)):
            content = items[first : first + PER_DATAGRAM].tobytes()
            last = LAST if first + PER_DATAGRAM >= len(items) else 0
            count, ms = len(content) // ITEM.itemsize, round(1000 * moment.time)
            yield (
                HEADER.pack(b"MXTP02", moment.number, part | last, count, ms, 0, BODY, 0, FINGERS, len(content))
                + content
            )


def _resting(side: Side) -> Floats:
    """(25, 4, 4) joint frames of a relaxed hand beside a standing body, fingers down."""
    hand = proportions.build(proportions.adult(side))
    sign = 1.0 if side == "left" else -1.0
    root = np.eye(4)
    # The back of the hand faces outwards.
    root[:3, :3] = rot.frame_from_yz(np.array([0.0, 0.0, -1.0]), np.array([sign, 0.0, 0.0]))
    root[:3, 3] = [0.25 * sign, 0.0, 0.8]
    frames: Floats = kinematics.joint_frames(hand, Pose(hand, root[None], hand.neutral[None]))[0]
    return frames
