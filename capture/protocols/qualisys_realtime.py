"""Qualisys Track Manager's real-time protocol, versions 1.19 to 1.25, little-endian.

    u32 size · u32 kind · content (kinds: qtm_connection.py)
    frame: i64 us · u32 number · u32 components, each of u32 size · u32 kind · content
    1 and 9, markers in the order of their labels: u32 count · 2 i16 · count × 3 f32 mm (9: and a residual)
    2 and 10, unlabelled markers: as above, each with an i32 id (10: and a residual)
    17, timecodes: u32 count · count × (i32 kind, 2 u32)
    18, skeletons: u32 count, each of u32 segments × (i32 id · 3 f32 mm · 4 f32 x y z w), global if requested

Right-handed, Z up or as the project defines. Hands are read from skeletons with fingers; if there are none, markers are
read by label, and without labels by id.
"""

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import NDArray

from ...errors import PacketError
from ...hand import rotations as rot
from ...hand.joints import DIGIT_JOINTS, JOINT_INDEX, SIDES, Side
from ..conventions import MAX_COORDINATE_M, to_z_up
from ..frame import Frame, intern_names, joint_names, unseen_hand
from ..marker_labels import unique
from ..network.qtm_connection import FRAME, HEADER, KINDS, XML, QtmServer, message
from ..network.sender import OutgoingFrame
from .finite_numbers import seconds
from .packet_reader import PacketReader
from .parser import Parser
from .qtm_parameters import QtmParameters, Segment, parse_parameters

Floats = NDArray[np.float64]
Segments = NDArray[np.void]

MARKERS, UNLABELLED, TIMECODES, SKELETONS = (1, 9), (2, 10), 17, 18
SEGMENT = np.dtype([("id", "<i4"), ("position", "<f4", 3), ("rotation", "<f4", 4)])
M_PER_MM = 0.001
MAX_POINTS = 4096
"""Maximum number of unlabelled markers in a frame; with more, they are not read."""
MAX_COMPONENTS = 64
"""Maximum number of components of a frame; QTM has about 25 kinds."""
MAX_BONE_LENGTH_M = 0.2
"""m, maximum length of a finger's last bone; a longer one is a damaged number."""
MIN_HAND_BONES = 4
"""Minimum number of segments of a hand in a skeleton for the hand to be read."""
SENDER_SKELETON = "Hands"
"""The sender's name for its skeleton."""

_DIGIT_NAMES = dict(zip(DIGIT_JOINTS, ("Thumb", "Index", "Middle", "Ring", "Pinky"), strict=True))


def _bones() -> dict[str, tuple[Side, str]]:
    """Return segment -> side and joint.

    Segments are LeftHand, LeftHandThumb1 to 3 from the CMC on, LeftInHandIndex, LeftHandIndex1 to 3, and so on.
    """
    bones: dict[str, tuple[Side, str]] = {}
    for side in SIDES:
        name = side.capitalize()
        bones[f"{name}Hand"] = (side, "wrist")
        for digit, digit_name in _DIGIT_NAMES.items():
            first = [] if digit == "thumb" else [f"{name}InHand{digit_name}"]
            parts = [*first, *(f"{name}Hand{digit_name}{number}" for number in (1, 2, 3))]
            bones |= {part: (side, joint) for part, joint in zip(parts, DIGIT_JOINTS[digit], strict=False)}
    return bones


BONES = _bones()
"""QTM's segment of a hand -> side and joint. The thumb's InHand segment, at the wrist, is not used."""
BONE_FROM_JOINT: dict[Side, Floats] = {
    side: rot.from_matrix(rot.frame_from_yz(np.array([out, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])))
    for side, out in zip(SIDES, (-1.0, 1.0), strict=True)
}
"""Rotation from HandModel's joint frame to the segment's. QTM's T-pose faces +Y with the palms down, and all segments
are aligned with the world: those of the left hand point along −X. The thumb's nail is on its +Z side, too."""


@dataclass(frozen=True, slots=True, eq=False)
class _HandColumns:
    """Where a hand's joints are in a skeleton."""

    side: Side
    skeleton: int
    """Index of the skeleton in the parameters and in each frame."""
    columns: dict[int, int]
    """Segment id -> index of its joint."""
    tips: tuple[tuple[int, int, Floats], ...]
    """For each tip: its index, the index of the joint before it, and its position (3,) m in that joint's segment."""


class QualisysParser(Parser):
    """Yields a frame for each of QTM's, once the parameters with the names have arrived."""

    def __init__(self) -> None:
        self._labels: tuple[str, ...] = ()
        self._hands: tuple[_HandColumns, ...] = ()
        self._hand_names: tuple[str, ...] = ()
        self._axes, self._up_rotation = np.eye(3), rot.IDENTITY
        self._context: dict[str, bytes] = {}
        self._last_frame: tuple[int, int] | None = None
        """Timestamp in us and number of the previous frame."""

    def context(self) -> tuple[bytes, ...]:
        """See Parser."""
        return tuple(dict.fromkeys(self._context.values()))

    def feed(self, packet: bytes) -> Iterable[Frame]:
        """See Parser."""
        reader = PacketReader(packet, "a QTM packet")
        size, kind = reader.integer("I"), reader.integer("I")
        if size != len(packet) or kind >= KINDS:
            raise PacketError(f"packet {kind} of {size} bytes in one of {len(packet)}, which is not a QTM packet")
        if kind == XML and packet not in self._context.values():
            self._update(parse_parameters(packet[HEADER.size :].rstrip(b"\0")), packet)
        return self._frame(reader) if kind == FRAME else []

    def _update(self, parameters: QtmParameters, packet: bytes) -> None:
        if parameters.labels is not None:
            self._labels = intern_names(unique(parameters.labels))
            self._axes = to_z_up(np.eye(3), parameters.up or "z").T
            self._up_rotation = rot.from_matrix(self._axes)
            self._context["3D"] = packet
        if parameters.skeletons is not None:
            names = unique(skeleton.name for skeleton in parameters.skeletons)
            hands = [
                (name, hand)
                for index, (name, skeleton) in enumerate(zip(names, parameters.skeletons, strict=True))
                for hand in _hands(index, skeleton.segments, f"{skeleton.name}_")
            ]
            self._hands = tuple(hand for _, hand in hands)
            # The first skeleton gets no name: its hands keep their names when another skeleton appears.
            performers = [("" if name == hands[0][0] else name, hand.side) for name, hand in hands]
            self._hand_names = intern_names(
                tuple(joint for performer, side in performers for joint in joint_names(side, performer))
            )
            self._context["Skeletons"] = packet

    def _frame(self, reader: PacketReader) -> list[Frame]:
        timestamp, number = reader.integer("q"), reader.integer("I")
        components = {}
        count = reader.count(8)
        if count > MAX_COMPONENTS:
            raise PacketError(f"a frame of {count} components, expected {MAX_COMPONENTS} at most")
        for _ in range(count):
            size, kind = reader.integer("i"), reader.integer("i")
            components[kind] = PacketReader(reader.take(size - 8), f"a component of kind {kind}")
        points = self._points(components)
        if points is None:
            return []
        names, positions, rotations = points
        timecode = _timecode(components[TIMECODES]) if TIMECODES in components else ""
        # In live mode the number may remain 1; while no camera sees markers, the time does not change either.
        last, self._last_frame = self._last_frame, (timestamp, number)
        time = None if last is not None and last[0] == timestamp else seconds(timestamp / 1e6)
        new_number = None if last is not None and last[1] == number else number
        return [Frame(names, positions, rotations, time, new_number, timecode)]

    def _points(self, components: dict[int, PacketReader]) -> tuple[tuple[str, ...], Floats, Floats | None] | None:
        """Return the names, positions and rotations of hands, or of labelled markers, or of unlabelled markers.

        None if the frame has none of these.
        """
        if SKELETONS in components and self._hands:
            return self._hand_names, *self._joints(components[SKELETONS])
        for kind in MARKERS:
            if kind in components and self._labels:
                return self._labels, self._markers(components[kind], kind), None
        for kind in UNLABELLED:
            if kind in components:
                return self._unlabelled_markers(components[kind], kind)
        return None

    def _joints(self, reader: PacketReader) -> tuple[Floats, Floats]:
        """Return positions (J, 3) in m and rotations (J, 4) of all hands' joints, NaN where a segment is missing."""
        skeletons = [
            np.frombuffer(reader.take(SEGMENT.itemsize * reader.count(SEGMENT.itemsize)), SEGMENT)
            for _ in range(min(reader.count(4), 1 + max(hand.skeleton for hand in self._hands)))
        ]
        all_positions, all_rotations = [], []
        for hand in self._hands:
            positions, rotations = unseen_hand()
            if hand.skeleton < len(skeletons):
                _fill(hand, skeletons[hand.skeleton], positions, rotations)
            all_positions.append(positions @ self._axes.T)
            all_rotations.append(rot.multiply(rot.multiply(self._up_rotation, rotations), BONE_FROM_JOINT[hand.side]))
        return np.concatenate(all_positions), np.concatenate(all_rotations)

    def _markers(self, reader: PacketReader, kind: int) -> Floats:
        """Return positions (M, 3) in m, NaN where not seen. Raises PacketError if there is not a marker per label."""
        width = 3 if kind == MARKERS[0] else 4
        count = reader.count(4 * width)
        if count != len(self._labels):
            raise PacketError(f"{count} markers in a frame, expected one for each of {len(self._labels)} labels")
        reader.take(4)
        return self._to_metres(reader.floats(count, width)[:, :3])

    def _unlabelled_markers(self, reader: PacketReader, kind: int) -> tuple[tuple[str, ...], Floats, None] | None:
        """Return the names, by ids, and positions of the unlabelled markers; None if there are none."""
        width = 16 if kind == UNLABELLED[0] else 20
        count = reader.count(width)
        reader.take(4)
        if not 0 < count <= MAX_POINTS:
            return None
        markers = np.frombuffer(
            reader.take(width * count), np.dtype([("position", "<f4", 3), ("id", "<i4"), ("rest", f"V{width - 16}")])
        )
        names = intern_names(unique(f"unlabelled {number}" for number in markers["id"].tolist()))
        return names, self._to_metres(markers["position"].astype(np.float64)), None

    def _to_metres(self, mm: Floats) -> Floats:
        """Convert positions (N, 3) to m, Z up; NaN where a marker is not seen or implausibly far away."""
        is_plausible = np.all(np.abs(mm) * M_PER_MM < MAX_COORDINATE_M, axis=1)
        return M_PER_MM * np.where(is_plausible[:, None], mm, np.nan) @ self._axes.T


def _hands(index: int, segments: list[Segment], prefix: str) -> Iterator[_HandColumns]:
    """Yield the hands with fingers of a skeleton.

    index: of the skeleton. prefix: of its segments' names.
    """
    for side in SIDES:
        columns: dict[int, int] = {}
        tips = []
        for segment in segments:
            bone = BONES.get(segment.name.removeprefix(prefix))
            if bone is None or bone[0] != side:
                continue
            column = JOINT_INDEX[bone[1]]
            columns[segment.id] = column
            if bone[1].endswith("distal") and segment.end is not None:
                end = M_PER_MM * segment.end
                if 0 < float(np.abs(end).max()) < MAX_BONE_LENGTH_M:
                    # A digit's tip follows its last bone.
                    tips.append((column + 1, column, end))
        if len(columns) >= MIN_HAND_BONES:
            yield _HandColumns(side, index, columns, tuple(tips))


def _fill(hand: _HandColumns, segments: Segments, positions: Floats, rotations: Floats) -> None:
    """Write a skeleton's segments and their tips into a hand's positions (25, 3) in m and rotations (25, 4)."""
    rows, columns = [], []
    for row, segment_id in enumerate(segments["id"].tolist()):
        if segment_id in hand.columns:
            rows.append(row)
            columns.append(hand.columns[segment_id])
    # numpy warns when it converts a signalling 32-bit NaN to 64 bits.
    with np.errstate(invalid="ignore"):
        position = M_PER_MM * segments["position"][rows].astype(np.float64)
        rotation = segments["rotation"][rows].astype(np.float64)[:, [3, 0, 1, 2]]
    length = np.sqrt(np.einsum("nk,nk->n", rotation, rotation))
    is_valid = np.all(np.abs(position) < MAX_COORDINATE_M, axis=1) & (length > 0.5) & (length < 2.0)
    positions[columns] = np.where(is_valid[:, None], position, np.nan)
    rotations[columns] = np.where(is_valid[:, None], rotation / np.where(is_valid, length, 1.0)[:, None], np.nan)
    for tip, joint, end in hand.tips:
        positions[tip] = positions[joint] + rot.rotate(rotations[joint], end)


def _timecode(reader: PacketReader) -> str:
    """Return the first SMPTE timecode."""
    for _ in range(reader.count(12)):
        kind, _, low = reader.integer("i"), reader.integer("I"), reader.integer("I")
        if kind == 0:
            hours, minutes, seconds, frames = low & 31, low >> 5 & 63, low >> 11 & 63, low >> 17 & 31
            return f"{hours:02}:{minutes:02}:{seconds:02}:{frames:02}"
    return ""


class QualisysSender(QtmServer):
    """Imitates QTM in version 1.25: labelled markers, and the hands as segments of one skeleton."""

    def packets(self, outgoing: OutgoingFrame) -> Iterator[bytes]:
        """Yield the parameters, then a frame."""
        yield message(XML, self.parameters(outgoing) + b"\0")
        yield self.frame(outgoing)

    def parameters(self, outgoing: OutgoingFrame) -> bytes:
        """See QtmServer."""
        labels = "".join(f"<Label><Name>{escape(name, quote=False)}</Name></Label>" for name in outgoing.names)
        segments = "".join(
            f'<Segment Name="{bone}" ID="{segment_id}">{_endpoint_xml(outgoing, side, joint)}</Segment>'
            for segment_id, (bone, (side, joint)) in enumerate(BONES.items(), 2)
            if side in outgoing.hands
        )
        skeleton = f'<Segments><Segment Name="Hips" ID="1">{segments}</Segment></Segments>'
        skeletons = f'<Skeleton Name="{SENDER_SKELETON}">{skeleton}</Skeleton>' if outgoing.hands else ""
        return (
            "<QTM_Parameters_Ver_1.25>"
            f"<The_3D><AxisUpwards>+Z</AxisUpwards><Labels>{len(outgoing.names)}</Labels>{labels}</The_3D>"
            f"<Skeletons>{skeletons}</Skeletons>"
            "</QTM_Parameters_Ver_1.25>"
        ).encode()

    def frame(self, outgoing: OutgoingFrame) -> bytes:
        """See QtmServer."""
        # QTM sends a missing coordinate as a number with all bits set.
        mm = (outgoing.markers / M_PER_MM).astype("<f4")
        bits = np.where(np.isnan(mm), np.uint32(0xFFFFFFFF), mm.view("<u4")).astype("<u4")
        components = [(MARKERS[0], struct.pack("<Ihh", len(outgoing.names), 0, 0) + bits.tobytes())]
        if outgoing.hands:
            segments = _segments(outgoing)
            components.append((SKELETONS, struct.pack("<II", 1, len(segments)) + segments.tobytes()))
        data = b"".join(struct.pack("<II", 8 + len(content), kind) + content for kind, content in components)
        header = struct.pack("<qII", round(1e6 * outgoing.time), outgoing.number, len(components))
        return message(FRAME, header + data)


def _segments(outgoing: OutgoingFrame) -> Segments:
    """Return the segments of the skeleton: the hips at the origin, and the hands."""
    bones = [(segment_id, *bone) for segment_id, bone in enumerate(BONES.values(), 2) if bone[0] in outgoing.hands]
    segments = np.zeros(1 + len(bones), SEGMENT)
    segments[0] = (1, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0))
    for row, (segment_id, side, joint) in enumerate(bones, 1):
        frame = outgoing.hands[side][JOINT_INDEX[joint]]
        rotation = rot.multiply(rot.from_matrix(frame[:3, :3]), rot.conjugate(BONE_FROM_JOINT[side]))
        segments[row] = (segment_id, frame[:3, 3] / M_PER_MM, rotation[[1, 2, 3, 0]])
    return segments


def _endpoint_xml(outgoing: OutgoingFrame, side: Side, joint: str) -> str:
    """Return the XML of a segment's end in its own frame, in mm; only for the last segment of a digit."""
    if not joint.endswith("distal"):
        return ""
    last, tip = outgoing.hands[side][JOINT_INDEX[joint]], outgoing.hands[side][JOINT_INDEX[joint] + 1]
    end_mm = rot.rotate(BONE_FROM_JOINT[side], last[:3, :3].T @ (tip[:3, 3] - last[:3, 3])) / M_PER_MM
    return '<Endpoint X="{:.6f}" Y="{:.6f}" Z="{:.6f}"/>'.format(*end_mm)
