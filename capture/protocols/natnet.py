"""OptiTrack NatNet 3.0 to 4.x, the protocol of Motive, little-endian.

    u16 message · u16 bytes · content
    messages: 0 connect, 1 server info, 4 request and 5 descriptions, 7 frame, 10 keep alive

The server info gives the version, on which the layout of other messages depends. A frame is i32 number, then sections
that start with i32 count (since 4.1 also i32 bytes, which allows skipping them): marker sets, other markers, rigid
bodies, skeletons, …, and finally the time. Descriptions give the names. Metres, right-handed, Y up, Motive's default.
Hands are read from skeletons with fingers; if there are none, the named markers of marker sets are read.
"""

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...errors import PacketError
from ...hand import rotations as rot
from ...hand.forearm import remove_pronation
from ...hand.joints import DIGIT_JOINTS, DIGITS, JOINT_INDEX, JOINTS, SIDES, Side
from ..conventions import MAX_COORDINATE_M
from ..frame import Frame, SentForearm, hand_name, intern_names, joint_names, with_forearms
from ..marker_labels import unique
from ..network.natnet_connection import DESCRIPTIONS, FRAME, INFO, NatnetServer, message
from ..network.sender import OutgoingFrame
from .device_axes import to_y_up_points, to_y_up_rotations, y_up_points, y_up_rotations
from .finite_numbers import seconds
from .packet_reader import PacketReader
from .parser import Parser

Floats = NDArray[np.float64]
Version = tuple[int, int]

OLDEST_VERSION: Version = (3, 0)
MARKER_SET, RIGID_BODY, SKELETON = 0, 1, 2
TRACKED = 1
"""Bit of a rigid body's flags that says whether it was tracked."""
ALL_MARKERS = "all"
"""The marker set that repeats the markers of all others."""
MAX_POINTS = 4096
"""Maximum number of points in a frame; a frame with more is dropped."""
NAME_SIZE = 256
"""Bytes reserved for the server's name."""
END_SIZE_3, END_SIZE_4 = struct.calcsize("<IId3QhI"), struct.calcsize("<IId3QIIhI")
"""Bytes at the end of a frame from the timecode on, in versions 3 and 4."""
SENDER_MARKER_SET, SENDER_SKELETON = "Markers", "Hands"
"""The sender's names for its marker set and its skeleton."""
MIN_HAND_BONES = 4
"""Minimum number of bones of a hand in a skeleton for the hand to be read."""

_DIGIT_JOINTS = {digit: joints[:-1] if digit == "thumb" else joints[1:-1] for digit, joints in DIGIT_JOINTS.items()}
BONES: dict[str, tuple[Side, str]] = {
    f"{side[0].upper()}{name}": (side, joint)
    for side in SIDES
    for name, joint in (
        ("Hand", "wrist"),
        *(
            (f"{digit.split('-')[0].capitalize()}{number}", joint)
            for digit in DIGITS
            for number, joint in enumerate(_DIGIT_JOINTS[digit], 1)
        ),
    )
}
"""Motive's bones of a hand -> side and joint: LHand, LThumb1 to 3 from the CMC, LIndex1 to 3 from the MCP."""
ARMS: dict[str, tuple[Side, str]] = {
    f"{side[0].upper()}{name}": (side, name) for side in SIDES for name in ("UArm", "FArm")
}
"""Motive's bones of upper arms and forearms -> side and name without the side."""
BONE_FROM_JOINT: dict[Side, Floats] = {
    side: rot.from_matrix(rot.frame_from_yz(np.array([out, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])))
    for side, out in zip(SIDES, (1.0, -1.0), strict=True)
}
"""Rotation from HandModel's joint frame to the bone's, in Blender's axes. In Motive's T-pose all bones are aligned with
the world, the left hand points along +X, and the backs of the hands face up."""


_Points = tuple[tuple[str, ...], Floats, Floats | None]
"""Names (M,), positions (M, 3) and rotations (M, 4), None if there are none."""


@dataclass(frozen=True, slots=True)
class _Descriptions:
    """The names of skeletons and markers."""

    skeletons: dict[int, tuple[str, dict[int, str]]]
    """Id of a skeleton -> its unique name, and bone id -> the bone's name."""
    sets: dict[str, tuple[str, ...]]
    """Marker set -> the names of its markers."""


class NatnetParser(Parser):
    """Yields a frame for each of Motive's, once the server info and the descriptions have arrived."""

    def __init__(self) -> None:
        self._version: Version | None = None
        self._descriptions = _Descriptions({}, {})
        self._packets: dict[int, bytes] = {}

    def context(self) -> tuple[bytes, ...]:
        """See Parser."""
        return tuple(self._packets[kind] for kind in (INFO, DESCRIPTIONS) if kind in self._packets)

    def feed(self, packet: bytes) -> Iterable[Frame]:
        """See Parser."""
        reader = PacketReader(packet, "a NatNet message")
        kind, size = reader.integer("H"), reader.integer("H")
        # The size of a larger message wraps at 16 bits.
        if kind > 0x0FFF or (size & 0xFFFF) != (reader.left & 0xFFFF):
            raise PacketError(f"message {kind} of {size} bytes in a packet of {len(packet)}, which is not NatNet")
        if kind == INFO:
            self._version = _version(reader)
            self._packets = {INFO: packet}
        elif kind == DESCRIPTIONS and self._version is not None:
            self._descriptions = _descriptions(reader, self._version)
            self._packets[DESCRIPTIONS] = packet
        elif kind == FRAME and self._version is not None:
            return self._frame(reader, self._version)
        return []

    def _frame(self, reader: PacketReader, version: Version) -> list[Frame]:
        number = reader.integer("i")
        sets = {}
        for _ in _section(reader, version, 5):
            name = reader.string()
            sets[name] = reader.floats(reader.count(12), 3)
        for _ in _section(reader, version, 12):
            reader.take(12)
        for _ in _section(reader, version, 38):
            reader.take(38)
        skeletons = {}
        for _ in _section(reader, version, 8):
            skeleton = reader.integer("i")
            skeletons[skeleton] = [_body(reader) for _ in range(reader.count(38))]
        time, timecode = _time_and_timecode(reader.take(reader.left), version)
        hands, forearms = self._hands(skeletons)
        names, positions, rotations = hands if hands[0] else self._markers(sets)
        if not names or len(names) > MAX_POINTS:
            return []
        frame = Frame(intern_names(names), y_up_points(positions), rotations, time, number, timecode)
        return [with_forearms(frame, forearms)]

    def _hands(self, skeletons: "dict[int, list[_Body]]") -> "tuple[_Points, tuple[SentForearm, ...]]":
        """Return the joints of all hands with fingers, 25 per hand, and their forearms."""
        names: list[str] = []
        positions, rotations, forearms = [], [], []
        # The first skeleton gets no name: its hands keep their names when another skeleton appears.
        first = next(iter(self._descriptions.skeletons), None)
        for skeleton, bodies in skeletons.items():
            performer, bones = self._descriptions.skeletons.get(skeleton, ("", {}))
            hands: dict[Side, dict[str, _Body]] = {}
            arms: dict[Side, dict[str, _Body]] = {side: {} for side in SIDES}
            for body in bodies:
                bone = bones.get(body.id & 0xFFFF, "")
                if bone in ARMS and body.is_seen:
                    side, name = ARMS[bone]
                    arms[side][name] = body
                if bone in BONES and body.is_seen:
                    side, joint = BONES[bone]
                    hands.setdefault(side, {})[joint] = body
            for side, joints in hands.items():
                if len(joints) >= MIN_HAND_BONES:
                    owner = "" if skeleton == first else performer
                    names += joint_names(side, owner)
                    positions.append(_to_array({joint: body.position for joint, body in joints.items()}, 3))
                    bones_xyzw = _to_array({joint: body.rotation for joint, body in joints.items()}, 4)
                    rotations.append(rot.multiply(y_up_rotations(bones_xyzw), BONE_FROM_JOINT[side]))
                    if "FArm" in arms[side]:
                        forearms.append(_forearm(hand_name(side, owner), side, arms[side]))
        if not names:
            return ((), np.zeros((0, 3)), None), ()
        return (tuple(names), np.concatenate(positions), np.concatenate(rotations)), tuple(forearms)

    def _markers(self, sets: dict[str, Floats]) -> _Points:
        """Return names (M,) and positions (M, 3) of the markers of all marker sets; those at the origin are not
        tracked."""
        names: list[str] = []
        positions = []
        for name, points in sets.items():
            if name == ALL_MARKERS or not len(points):
                continue
            labels = self._descriptions.sets.get(name, ())
            if len(labels) != len(points):
                labels = tuple(str(number) for number in range(1, len(points) + 1))
            names += [f"{name}:{label}" for label in labels]
            tracked = np.all(np.abs(points) < MAX_COORDINATE_M, axis=1) & np.any(points, axis=1)
            positions.append(np.where(tracked[:, None], points, np.nan))
        if len(set(names)) < len(names):
            raise PacketError("two markers of a frame have the same name")
        return tuple(names), np.concatenate(positions) if positions else np.zeros((0, 3)), None


@dataclass(frozen=True, slots=True, eq=False)
class _Body:
    """A rigid body or a bone."""

    id: int
    position: Floats
    rotation: Floats
    """xyzw"""
    is_seen: bool


def _body(reader: PacketReader) -> _Body:
    """Read a rigid body of a frame. It is seen if it is tracked and its numbers are valid."""
    body_id, values, flags = reader.integer("i"), reader.floats(8), reader.integer("h")
    length = float(np.linalg.norm(values[3:7]))
    is_seen = float(np.abs(values[:3]).max()) < MAX_COORDINATE_M and 0.5 < length < 2.0 and flags & TRACKED != 0
    return _Body(body_id, values[:3], values[3:7] / (length if is_seen else 1.0), is_seen)


def _forearm(hand: str, side: Side, arm: dict[str, _Body]) -> SentForearm:
    """Return the forearm of an arm's bones, whose rotations in the T-pose are those of a hand at rest on them."""
    resting = {name: rot.multiply(y_up_rotations(body.rotation), BONE_FROM_JOINT[side]) for name, body in arm.items()}
    rotation = remove_pronation(resting.get("UArm", resting["FArm"]), resting["FArm"])
    return SentForearm(hand, y_up_points(arm["FArm"].position), rotation)


def _to_array(joints: dict[str, Floats], width: int) -> Floats:
    """Return the values (25, width) of the joints, NaN for missing ones."""
    result = np.full((len(JOINTS), width), np.nan)
    for joint, values in joints.items():
        result[JOINT_INDEX[joint]] = values
    return result


def _section(reader: PacketReader, version: Version, item_size: int) -> range:
    """Read a section's header, and return the range of its items. item_size: minimum bytes of an item."""
    count = reader.integer("i")
    if version >= (4, 1):
        reader.integer("i")
    if not 0 <= count * item_size <= reader.left:
        raise PacketError(f"a section of {count} items of {item_size} bytes or more, {reader.left} bytes are left")
    return range(count)


def _time_and_timecode(content: bytes, version: Version) -> tuple[float | None, str]:
    """Return the time in s and the timecode from the last bytes of a frame, whose size depends on the version."""
    size = END_SIZE_4 if version >= (4, 0) else END_SIZE_3
    if len(content) < size:
        raise PacketError(f"a frame of {len(content)} bytes, its end alone has {size}")
    code, _, time = struct.unpack_from("<IId", content, len(content) - size)
    parts = [code >> shift & 0xFF for shift in (24, 16, 8, 0)]
    return seconds(time), ":".join(f"{part:02}" for part in parts) if code else ""


def _version(reader: PacketReader) -> Version:
    """Return NatNet's version from the server info. Raises PacketError if it is too old."""
    reader.take(NAME_SIZE + 4)
    major, minor, _, _ = reader.take(4)
    if (major, minor) < OLDEST_VERSION:
        raise PacketError(f"NatNet {major}.{minor}, expected 3.0 or later: Motive 2.0 and later have it")
    return major, minor


def _descriptions(reader: PacketReader, version: Version) -> _Descriptions:
    """Return the names of marker sets and skeletons. Before NatNet 4.1, reading stops at a description of unknown kind,
    whose size is unknown."""
    skeletons: dict[int, tuple[str, dict[int, str]]] = {}
    sets: dict[str, tuple[str, ...]] = {}
    for _ in range(reader.count(8)):
        kind = reader.integer("i")
        item = PacketReader(reader.take(reader.integer("i")), "a description") if version >= (4, 1) else reader
        if kind == MARKER_SET:
            name = item.string()
            sets[name] = tuple(item.string() for _ in range(item.count(1)))
        elif kind == RIGID_BODY:
            _bone(item, version)
        elif kind == SKELETON:
            name, skeleton = item.string(), item.integer("i")
            bones = (_bone(item, version) for _ in range(item.count(20)))
            skeletons[skeleton] = (name, {bone: bone_name.removeprefix(f"{name}_") for bone, bone_name in bones})
        elif item is reader:
            break
    names = unique(name for name, _ in skeletons.values())
    return _Descriptions(
        {skeleton: (name, bones) for (skeleton, (_, bones)), name in zip(skeletons.items(), names, strict=True)}, sets
    )


def _bone(reader: PacketReader, version: Version) -> tuple[int, str]:
    """Return the id and name from the description of a rigid body or bone."""
    name, bone = reader.string(), reader.integer("i")
    reader.take(4 + 12 + (16 if version >= (4, 2) else 0))
    markers = reader.count(16)
    reader.take(16 * markers)
    if version >= (4, 0):
        for _ in range(markers):
            reader.string()
    return bone & 0xFFFF, name


class NatnetSender(NatnetServer):
    """Imitates Motive in NatNet 4.1: the markers are one set, the hands are bones of one skeleton."""

    def packets(self, outgoing: OutgoingFrame) -> Iterator[bytes]:
        """Yield the server info, the descriptions and the frame."""
        yield self.info()
        yield self.descriptions(outgoing)
        yield self.frame(outgoing)

    def info(self) -> bytes:
        """See NatnetServer."""
        content = b"Knuckle".ljust(NAME_SIZE, b"\0") + bytes([3, 0, 0, 0, 4, 1, 0, 0])
        return message(INFO, content + struct.pack("<QHB4s", 10_000_000, 0, 0, bytes(4)))

    def descriptions(self, outgoing: OutgoingFrame) -> bytes:
        """See NatnetServer."""
        names = [name.replace(":", "_") for name in outgoing.names]
        markers = _encode_name(SENDER_MARKER_SET) + struct.pack("<i", len(names)) + b"".join(map(_encode_name, names))
        bones = [name for name, _, _ in _sent_bones(outgoing)]
        body = b"".join(
            _encode_name(bone) + struct.pack("<ii3fi", number, 0, 0.0, 0.0, 0.0, 0)
            for number, bone in enumerate(bones, 1)
        )
        skeleton = _encode_name(SENDER_SKELETON) + struct.pack("<ii", 1, len(bones)) + body
        parts = [(MARKER_SET, markers), (SKELETON, skeleton)] if names else [(SKELETON, skeleton)]
        data = b"".join(struct.pack("<ii", kind, len(part)) + part for kind, part in parts)
        return message(DESCRIPTIONS, struct.pack("<i", len(parts)) + data)

    def frame(self, outgoing: OutgoingFrame) -> bytes:
        """See NatnetServer."""
        points = np.nan_to_num(to_y_up_points(outgoing.markers), nan=0.0).astype("<f4").tobytes()
        markers = _encode_name(SENDER_MARKER_SET) + struct.pack("<i", len(outgoing.names)) + points
        bones = list(_sent_bones(outgoing))
        poses = [_pose_numbers(side, frame) for _, side, frame in bones]
        body = b"".join(
            struct.pack("<i8fh", 1 << 16 | number, *pose, 0.0, TRACKED) for number, pose in enumerate(poses, 1)
        )
        skeleton = struct.pack("<ii", 1, len(bones)) + body
        # Marker sets, other markers, rigid bodies, skeletons, assets, labelled markers, force plates, devices.
        sections = [[markers] if outgoing.names else [], [], [], [skeleton], [], [], [], []]
        data = b"".join(struct.pack("<ii", len(parts), sum(map(len, parts))) + b"".join(parts) for parts in sections)
        end = struct.pack("<IId3QIIhI", 0, 0, outgoing.time, 0, 0, 0, 0, 0, 0, 0)
        return message(FRAME, struct.pack("<i", outgoing.number) + data + end)


def _sent_bones(outgoing: OutgoingFrame) -> Iterator[tuple[str, Side, Floats]]:
    """Yield the bones that are sent: name, side, and frame (4, 4) of the joint at which the bone starts."""
    for name, (side, joint) in BONES.items():
        if side in outgoing.hands:
            yield name, side, outgoing.hands[side][JOINT_INDEX[joint]]
    for name, (side, _) in ARMS.items():
        if side in outgoing.forearms:
            # The arm is straight: the upper arm has the rotation of the forearm.
            yield name, side, outgoing.forearms[side]


def _pose_numbers(side: Side, joint: Floats) -> list[float]:
    """Return the seven numbers for a joint's frame (4, 4): its position, and the rotation xyzw of its bone."""
    bone = rot.multiply(rot.from_matrix(joint[:3, :3]), rot.conjugate(BONE_FROM_JOINT[side]))
    return [*to_y_up_points(joint[:3, 3]).tolist(), *to_y_up_rotations(bone).tolist()]


def _encode_name(name: str) -> bytes:
    return name.encode() + b"\0"
