"""Small valid captures of every format, written here by the formats' own rules and not by the readers."""

import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
BLOCK = 512
JOINTS = (
    "wrist thumb-metacarpal thumb-phalanx-proximal thumb-phalanx-distal thumb-tip "
    + " ".join(
        f"{finger}-finger-{part}"
        for finger in ("index", "middle", "ring", "pinky")
        for part in ("metacarpal", "phalanx-proximal", "phalanx-intermediate", "phalanx-distal", "tip")
    )
).split()


def path(frames: int = 12, markers: int = 3, seed: int = 1) -> Floats:
    """(F, M, 3) m: markers 2 to 10 cm apart that drift a few mm a frame, rounded to a tenth of a mm."""
    rng = np.random.default_rng(seed)
    start = rng.uniform(0.02, 0.1, (1, markers, 3))
    result: Floats = np.round(start + np.cumsum(rng.uniform(0.001, 0.004, (frames, markers, 3)), axis=0), 4)
    return result


@dataclass
class C3D:
    """A C3D file to be: what stands in it can be changed before `bytes` is called."""

    points: Floats
    """(F, M, 4): x, y, z in the unit, and the residual."""
    labels: Sequence[str]
    processor: int = 84
    scale: float = -0.1
    """Negative for reals."""
    rate: float = 100.0
    analog: int = 0
    parameters: list[tuple[str, str, bytes]] = field(default_factory=list)
    """More parameters: group, name, record from the type on."""
    units: str = "mm"
    header_frames: int | None = None
    left_out: tuple[str, ...] = ()
    """Parameters of POINT that are not written."""
    more_groups: tuple[str, ...] = ()
    """Groups without a parameter, after the others."""
    end: bytes = b"\0\0"
    """What follows the last record."""
    before: int = 0
    """Blocks of 0xFF between the header and the parameters."""
    between: int = 0
    """Blocks of 0xFF between the parameters and the points."""

    @property
    def order(self) -> str:
        return ">" if self.processor == 86 else "<"

    def real(self, value: float) -> bytes:
        return self.reals(np.array([value]))

    def reals(self, values: Floats) -> bytes:
        if self.processor != 85:
            return values.astype(f"{self.order}f4").tobytes()
        halves = (values * 4).astype("<f4").view("<u2").reshape(-1, 2)[:, ::-1]
        return np.ascontiguousarray(halves).tobytes()

    def strings(self, words: Sequence[str]) -> bytes:
        length = max(len(word) for word in words)
        return struct.pack("bBBB", -1, 2, length, len(words)) + b"".join(word.encode().ljust(length) for word in words)

    def integer(self, value: int) -> bytes:
        return struct.pack("bB", 2, 0) + struct.pack(f"{self.order}H", value)

    def section(self) -> bytes:
        """The parameter section, filled up to whole blocks."""
        records = [
            ("POINT", "USED", self.integer(self.points.shape[1] % 65536)),
            ("POINT", "SCALE", struct.pack("bB", 4, 0) + self.real(self.scale)),
            ("POINT", "RATE", struct.pack("bB", 4, 0) + self.real(self.rate)),
            ("POINT", "UNITS", self.strings([self.units])),
            *(
                ("POINT", f"LABELS{start // 255 + 1 if start else ''}", self.strings(self.labels[start : start + 255]))
                for start in range(0, len(self.labels), 255)
            ),
            *self.parameters,
        ]
        records = [record for record in records if record[0] != "POINT" or record[1] not in self.left_out]
        groups = list(dict.fromkeys(group for group, _, _ in records))
        body = b""
        for number, group in enumerate((*groups, *self.more_groups), start=1):
            body += struct.pack("bb", len(group), -number) + group.encode() + struct.pack(f"{self.order}hB", 3, 0)
        for group, name, record in records:
            body += struct.pack("bb", len(name), groups.index(group) + 1) + name.encode()
            body += struct.pack(f"{self.order}h", len(record) + 3) + record + b"\0"
        body += self.end
        blocks = -(-(len(body) + 4) // BLOCK)
        return (struct.pack("4B", 1, 0x50, blocks, self.processor) + body).ljust(blocks * BLOCK, b"\0")

    def data(self) -> bytes:
        frames = len(self.points)
        analog = np.zeros((frames, self.analog))
        if self.scale < 0:
            values = np.concatenate([self.points.reshape(frames, -1), analog], axis=1)
            return self.reals(values.ravel())
        words = self.points / [self.scale, self.scale, self.scale, 1.0]
        values = np.concatenate([np.rint(words).reshape(frames, -1), analog], axis=1)
        return bytes(values.astype(f"{self.order}i2").tobytes())

    def bytes(self) -> bytes:
        section = self.section()
        frames = len(self.points) if self.header_frames is None else self.header_frames
        start = 2 + self.before + len(section) // BLOCK + self.between
        words = (self.points.shape[1], self.analog, 1, min(frames, 65535), 10)
        header = struct.pack("2B", 2 + self.before, 0x50) + struct.pack(f"{self.order}5H", *words)
        header += self.real(self.scale) + struct.pack(f"{self.order}2H", start, 1) + self.real(self.rate)
        before, between = (b"\xff" * (BLOCK * blocks) for blocks in (self.before, self.between))
        return header.ljust(BLOCK, b"\0") + before + section + between + self.data()


def c3d_points(positions: Floats) -> Floats:
    """(F, M, 4) mm with residual 0, from (F, M, 3) m."""
    return np.concatenate([positions * 1000, np.zeros((*positions.shape[:2], 1))], axis=2)


def c3d() -> bytes:
    return C3D(c3d_points(path()), ["A", "B", "C"]).bytes()


def c3d_integers() -> bytes:
    return C3D(c3d_points(path()), ["A", "B", "C"], processor=86, scale=0.1).bytes()


def trc(positions: Floats | None = None, rate: float = 100.0, frames: int | None = None) -> bytes:
    """A TRC in mm as the format's description has it."""
    points = path() if positions is None else positions
    count, markers = points.shape[:2]
    labels = [chr(65 + index) for index in range(markers)]
    axes = "\t".join(f"X{index}\tY{index}\tZ{index}" for index in range(1, markers + 1))
    lines = [
        "PathFileType\t4\t(X/Y/Z)\thand.trc",
        "DataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\tOrigDataRate\tOrigDataStartFrame\tOrigNumFrames",
        f"{rate:.2f}\t{rate:.2f}\t{count if frames is None else frames}\t{markers}\tmm\t{rate:.2f}\t1\t{count}",
        "Frame#\tTime\t" + "\t\t\t".join(labels) + "\t\t",
        "\t\t" + axes,
        "",
    ]
    for index, row in enumerate(points):
        cells = "\t".join("" if np.isnan(value) else f"{value * 1000:.5f}" for value in row.ravel())
        lines.append(f"{index + 1}\t{index / rate:.5f}\t{cells}")
    return "\n".join(lines).encode() + b"\n"


def qualisys(positions: Floats | None = None, rate: float = 100.0) -> bytes:
    """A Qualisys TSV with its Frame and Time columns and titles, NaN as blanks."""
    points = path() if positions is None else positions
    count, markers = points.shape[:2]
    labels = [f"m{index}" for index in range(markers)]
    titles = "\t".join(f"{label} {axis}" for label in labels for axis in "XYZ")
    lines = [
        f"NO_OF_FRAMES\t{count}",
        f"NO_OF_MARKERS\t{markers}",
        f"FREQUENCY\t{rate:g}",
        "DATA_INCLUDED\t3D",
        "MARKER_NAMES\t" + "\t".join(labels),
        "Frame\tTime\t" + titles,
    ]
    for index, row in enumerate(points):
        cells = "\t".join("" if np.isnan(value) else f"{value * 1000:.3f}" for value in row.ravel())
        lines.append(f"{index + 1}\t{index / rate:.5f}\t{cells}")
    return "\r\n".join(lines).encode() + b"\r\n"


def motive(positions: Floats | None = None) -> bytes:
    """A Motive CSV of format version 1.24: a rigid body, its solved markers, and the markers; metres, Y up."""
    points = path() if positions is None else positions
    count, markers = points.shape[:2]
    labels = [f"Hand:{index}" for index in range(markers)]
    kinds = ["Rigid Body"] * 7 + ["Rigid Body Marker"] * 4 + ["Marker"] * (3 * markers)
    names = ["Hand"] * 7 + ["Hand:0"] * 4 + [label for label in labels for _ in range(3)]
    parts = ["Rotation"] * 4 + ["Position"] * 3 + ["Position"] * 3 + ["Marker Quality"] + ["Position"] * (3 * markers)
    axes = ["X", "Y", "Z", "W", "X", "Y", "Z", "X", "Y", "Z", ""] + ["X", "Y", "Z"] * markers
    lines = [
        f"Format Version,1.24,Take Name,hand,Capture Frame Rate,120.000000,Export Frame Rate,120.000000,"
        f"Total Exported Frames,{count},Rotation Type,Quaternion,Length Units,Meters,Coordinate Space,Global",
        "",
        ",Type," + ",".join(kinds),
        ",Name," + ",".join(names),
        ",ID," + ",".join(["17"] * len(kinds)),
        ",Parent," + ",".join([""] * len(kinds)),
        ",," + ",".join(parts),
        "Frame,Time (Seconds)," + ",".join(axes),
    ]
    for index, row in enumerate(points):
        body = ",".join(["0.5"] * 4 + ["9.0"] * 3 + ["8.0"] * 3 + ["1.0"])
        cells = ",".join("" if np.isnan(value) else f"{value:.6f}" for value in row.ravel())
        lines.append(f"{index},{index / 120:.6f},{body},{cells}")
    return "\n".join(lines).encode() + b"\n"


def table(positions: Floats | None = None) -> bytes:
    """A plain table at 50 Hz."""
    points = path() if positions is None else positions
    labels = [chr(65 + index) for index in range(points.shape[1])]
    lines = ["time," + ",".join(f"{label}.{axis}" for label in labels for axis in "xyz")]
    for index, row in enumerate(points):
        cells = ",".join("" if np.isnan(value) else f"{value:.6f}" for value in row.ravel())
        lines.append(f"{index / 50:.3f},{cells}")
    return "\n".join(lines).encode() + b"\n"


BVH = """HIERARCHY
ROOT Wrist
{
\tOFFSET 0.0 0.0 0.0
\tCHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
\tJOINT Index1
\t{
\t\tOFFSET 9.0 0.0 0.0
\t\tCHANNELS 3 Zrotation Yrotation Xrotation
\t\tJOINT Index2
\t\t{
\t\t\tOFFSET 4.0 0.0 0.0
\t\t\tCHANNELS 3 Zrotation Yrotation Xrotation
\t\t\tEnd Site
\t\t\t{
\t\t\t\tOFFSET 2.0 0.0 0.0
\t\t\t}
\t\t}
\t}
}
MOTION
Frames: 3
Frame Time: 0.0333333
0.0 10.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0
0.0 10.0 0.0 0.0 0.0 0.0 90.0 0.0 0.0 0.0 0.0 0.0
1.0 10.0 0.0 0.0 0.0 90.0 90.0 0.0 0.0 -90.0 0.0 0.0
"""


def bvh() -> bytes:
    return BVH.encode()


def hand(seed: int = 3) -> Floats:
    """(25, 3) m, a flat hand in WebXR's order and axes: fingers along -z, the thumb of a right hand on the left."""
    rows = [[0.0, 0.0, 0.0]]
    rows += [[-0.02 - 0.012 * part, 0.0, -0.03 - 0.02 * part] for part in range(4)]
    for digit in range(4):
        rows += [[-0.03 + 0.02 * digit, 0.0, z] for z in (-0.03, -0.09, -0.13, -0.155, -0.175)]
    result: Floats = np.round(np.array(rows) + np.random.default_rng(seed).normal(scale=0.002, size=(25, 3)), 5)
    return result


def webxr(frames: int = 6) -> bytes:
    """JSON frames of both hands by joint names, metres, 72 Hz."""
    right = hand()
    left = right * [-1.0, 1.0, 1.0] + [0.4, 0.0, 0.0]
    rows = []
    for index in range(frames):
        moved = {"right": right + [0.0, 0.001 * index, 0.0], "left": left}
        hands = {side: dict(zip(JOINTS, joints.tolist(), strict=True)) for side, joints in moved.items()}
        rows.append({"t": index / 72, "hands": hands})
    return json.dumps({"frames": rows}).encode()


def handpose() -> bytes:
    """A .handpose of handy-work: both hands as matrices, column by column, then weights."""
    matrices = np.tile(np.eye(4).ravel(), (50, 1))
    matrices[:25, 12:15] = hand() * [-1.0, 1.0, 1.0]
    matrices[25:, 12:15] = hand()
    matrices[[0, 25], 12:15] = 0.0
    return np.concatenate([[25.0], matrices.ravel(), np.ones(50)]).astype("<f4").tobytes()


LANDMARKS = [index for index, joint in enumerate(JOINTS) if not joint.endswith("finger-metacarpal")]


def landmarks() -> Floats:
    """(21, 3) m in MediaPipe's axes: x right, y down, z away from the camera, centred."""
    points = hand()[LANDMARKS] * [1.0, -1.0, -1.0]
    result: Floats = np.round((points - points.mean(axis=0))[:, [0, 2, 1]] + [0.0, 0.0, 0.01], 5)
    return result


def mediapipe(frames: int = 6) -> bytes:
    """JSON frames of one hand with world landmarks, 30 Hz."""
    rows = []
    for index in range(frames):
        world = landmarks() + [0.0, 0.001 * index, 0.0]
        entry = {"handedness": "Right", "score": 0.98, "world_landmarks": world.tolist()}
        rows.append({"frame": index, "t": round(index / 30, 4), "hands": [entry]})
    return json.dumps({"fps": 30.0, "frames": rows}).encode()


def leap(frames: int = 6, packed: bool = False) -> bytes:
    """Leap frames of a right hand in mm: the joints of `hand` above the device, as objects or packed."""
    rows: list[object] = []
    names = ["carpPosition", "mcpPosition", "pipPosition", "dipPosition", "btipPosition"]
    if packed:
        fields = ["id", "timestamp", {"hands": [["id", "type", "wrist", "elbow"]]}]
        rows.append([*fields, {"pointables": [["id", "handId", "type", *names]]}])
    for index in range(frames):
        joints = (hand() * 1000 + [0.0, 200.0 + index, 0.0]).round(3).tolist()
        fingers = [[joints[1], *joints[1:5]], *(joints[start : start + 5] for start in (5, 10, 15, 20))]
        elbow = [0.0, 200.0, 250.0]
        stamp = 20_000_000_000 + index * 18_000
        if packed:
            pointables = [[70 + digit, 7, digit, *bones] for digit, bones in enumerate(fingers)]
            rows.append([index, stamp, [[7, "right", joints[0], elbow]], pointables])
        else:
            objects = [
                {"id": 70 + digit, "handId": 7, "type": digit, **dict(zip(names, bones, strict=True))}
                for digit, bones in enumerate(fingers)
            ]
            holder = {"id": 7, "type": "right", "wrist": joints[0], "elbow": elbow}
            rows.append({"id": index, "timestamp": stamp, "hands": [holder], "pointables": objects})
    return json.dumps({"metadata": {"frameRate": "40"}, "frames": rows}).encode()


def leap_packed() -> bytes:
    return leap(packed=True)


ALL = {
    "hand.c3d": c3d,
    "integers.c3d": c3d_integers,
    "hand.trc": trc,
    "hand.tsv": qualisys,
    "motive.csv": motive,
    "table.csv": table,
    "hand.bvh": bvh,
    "webxr.json": webxr,
    "hand.handpose": handpose,
    "mediapipe.json": mediapipe,
    "leap.json": leap,
    "packed.json": leap_packed,
}
"""A valid file of each format by a name that fits."""
