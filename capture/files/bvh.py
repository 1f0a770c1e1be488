"""BVH: a skeleton and its motion, read as joint positions by forward kinematics. Y up.

The format has no unit; it is guessed from the length of a hand, or of the body if there is no hand. Each joint becomes
a marker of the same name. An end site becomes a marker `<joint>_end` if it has a length or is at the end of a finger.
Joints of arms and hands also have rotations.
"""

from dataclasses import dataclass, field

import numpy as np

from ...errors import CaptureError
from ...hand import rotations as rot
from ..marker_labels import duplicate_warning, quoted, unique
from ..markers import Bools, Floats
from ..recording import Recording
from .bvh_arms import find_arms, joints_of_arms, rest_hands_on_forearms
from .bvh_tips import add_tips
from .text_table import TextTable, count_warnings, is_blank, parse_number, text_lines

ADULT_HAND_LENGTH_M = 0.185
"""m, length of an adult's hand from the wrist along the bones to the tip of the longest finger."""
ADULT_HEIGHT_M = 1.7
"""m, largest extent of a standing skeleton."""
_CHANNELS = {f"{axis}{kind}": (kind, index) for index, axis in enumerate("xyz") for kind in ("position", "rotation")}
"""Channel in lower case -> (position or rotation, index of the axis)."""
_FINGERS = ("thumb", "index", "middle", "ring", "pinky", "little", "finger")
MAX_NUMBER = 1e9
"""Maximum absolute value in any unit; larger numbers are damaged."""

MAX_JOINTS = 4096
"""Maximum number of joints and end sites of a skeleton; a body with fingers, face and clothes has some hundreds."""


@dataclass(slots=True)
class _Joint:
    name: str
    parent: int
    """Index of the parent, -1 for a root."""
    offset: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Offset from the parent at rest, in the file's unit."""
    channels: list[tuple[str, int, int]] = field(default_factory=list)
    """(position or rotation, axis, column of the motion), in file order."""
    is_end_site: bool = False


def sniff(head: bytes) -> bool:
    """Return whether the first word is HIERARCHY."""
    return head.lstrip(b"\xef\xbb\xbf \t\r\n")[:9].upper() == b"HIERARCHY"


def read(data: bytes, source: str) -> Recording:
    """Read the joints of a BVH file. Raises CaptureError, naming the line."""
    lines = text_lines(data, source)
    joints, columns, motion_line = _hierarchy(lines, source)
    stated_frames, frame_time, first = _motion_header(lines, motion_line, source)
    if columns == 0:
        raise CaptureError(f"{source}: no channels in the hierarchy, expected at least one")
    values, notes = _rows(lines, first, columns, source)
    # A joint takes at least six bytes in each frame, and there are at most as many end sites as joints.
    if 3 * len(values) * len(joints) > len(data):
        raise CaptureError(
            f"{source}: {len(values)} frames of {len(joints)} joints in {len(data)} bytes, expected channels for them"
        )
    end_sites = frozenset(index for index, joint in enumerate(joints) if joint.is_end_site)
    offsets = np.array([joint.offset for joint in joints])
    names, parents = [joint.name for joint in joints], [joint.parent for joint in joints]
    skeleton = add_tips(names, parents, offsets, end_sites)
    arms = find_arms(names, parents)
    has_rotation = joints_of_arms(names, arms)
    positions, rotations = _motion(joints, skeleton.offsets, values, has_rotation)
    rest_hands_on_forearms(arms, _rest(joints, skeleton.offsets), positions, rotations)
    labels = [joints[index].name for index in skeleton.indices]
    return Recording(
        format="BVH",
        names=unique(labels),
        positions=positions[:, list(skeleton.indices)],
        rotations=rotations[:, list(skeleton.indices)] if has_rotation.any() else None,
        rate=_rate(frame_time),
        default_unit=_guess_unit(joints, skeleton.offsets),
        up="y",
        up_is_defined=True,
        warnings=notes
        + count_warnings({"frames": (stated_frames, len(values))})
        + duplicate_warning(labels)
        + skeleton.warnings,
    )


@dataclass(slots=True)
class _Hierarchy:
    """The joints, parents first, as parsed line by line."""

    joints: list[_Joint] = field(default_factory=list)
    columns: int = 0
    """Number of channels of all joints, the columns of the motion."""
    open_joints: list[int] = field(default_factory=list)
    pending_joint: int | None = None
    """The joint whose opening bracket has not been read yet."""

    def parse_line(self, words: list[str], where: str) -> None:
        """Parse one line. Raises CaptureError if it is not part of a hierarchy."""
        match [words[0].upper(), *words[1:]]:
            case ["ROOT" | "JOINT" | "END", *_]:
                self._add_joint(words, where)
            case ["{"] if self.pending_joint is not None:
                self.open_joints.append(self.pending_joint)
                self.pending_joint = None
            case ["}"] if self.open_joints:
                self.open_joints.pop()
            case ["OFFSET", x, y, z, *_] if self.open_joints:
                numbers = [parse_number(word) for word in (x, y, z)]
                offset = [number for number in numbers if number is not None and abs(number) < MAX_NUMBER]
                if len(offset) < 3:
                    raise CaptureError(f"{where}: an offset of {quoted(' '.join(words[1:]))}, expected three numbers")
                self.joints[self.open_joints[-1]].offset = (offset[0], offset[1], offset[2])
            case ["CHANNELS", count, *names] if self.open_joints:
                self.joints[self.open_joints[-1]].channels += _channels(count, names, self.columns, where)
                self.columns += len(names)
            case _:
                text = quoted(" ".join(words))
                raise CaptureError(f"{where}: {text}, expected a joint, its OFFSET, its CHANNELS or a bracket")

    def _add_joint(self, words: list[str], where: str) -> None:
        """Add a ROOT, JOINT or End Site; its opening bracket may be on the same line."""
        if len(self.joints) == MAX_JOINTS:
            raise CaptureError(f"{where}: over {MAX_JOINTS} joints, expected a skeleton with fewer")
        has_bracket = words[-1] == "{"
        parent = self.open_joints[-1] if self.open_joints else -1
        name = " ".join(words[1 : len(words) - has_bracket]) or f"joint_{len(self.joints) + 1}"
        if words[0].upper() == "END":
            if parent < 0:
                raise CaptureError(f"{where}: an end site outside of any joint, expected ROOT before it")
            name = f"{self.joints[parent].name}_end"
        self.joints.append(_Joint(name, parent, is_end_site=words[0].upper() == "END"))
        self.pending_joint = len(self.joints) - 1
        if has_bracket:
            self.open_joints.append(self.pending_joint)
            self.pending_joint = None


def _hierarchy(lines: list[str], source: str) -> tuple[list[_Joint], int, int]:
    """Return the joints, parents first; the number of columns of the motion; the index of the line MOTION."""
    hierarchy = _Hierarchy()
    for index, line in enumerate(lines):
        words = line.split()
        if not words or words[0].upper() == "HIERARCHY":
            continue
        if words[0].upper() == "MOTION":
            if not hierarchy.joints:
                raise CaptureError(f"{source}, line {index + 1}: MOTION before any joint, expected ROOT and its joints")
            return hierarchy.joints, hierarchy.columns, index
        hierarchy.parse_line(words, f"{source}, line {index + 1}")
    raise CaptureError(f"{source}: no line MOTION after the hierarchy, expected the frames of the motion")


def _channels(count: str, names: list[str], column: int, where: str) -> list[tuple[str, int, int]]:
    """Return the channels of a joint; the first is in `column` of the motion."""
    if parse_number(count) != len(names):
        raise CaptureError(f"{where}: {quoted(count)} channels stated, but {len(names)} named, expected equal numbers")
    channels = []
    for index, name in enumerate(names):
        if name.lower() not in _CHANNELS:
            raise CaptureError(f"{where}: a channel {quoted(name)}, expected one such as Xposition or Zrotation")
        channels.append((*_CHANNELS[name.lower()], column + index))
    return channels


def _motion_header(lines: list[str], motion_line: int, source: str) -> tuple[float | None, float | None, int]:
    """Return the stated number of frames, the frame time in s, and the index of the first row of numbers."""
    frames: float | None = None
    for index in range(motion_line + 1, len(lines)):
        key, _, value = lines[index].partition(":")
        if key.strip().lower() == "frames":
            frames = parse_number(value)
        elif key.strip().lower() == "frame time":
            frame_time = parse_number(value)
            if frame_time is None:
                raise CaptureError(f"{source}, line {index + 1}: a frame time of {quoted(value)}, expected seconds")
            return frames, frame_time, index + 1
        elif not is_blank(lines[index]):
            break
    raise CaptureError(f"{source}, line {motion_line + 1}: no Frame Time after MOTION, expected seconds a frame")


def _rows(lines: list[str], first: int, columns: int, source: str) -> tuple[Floats, tuple[str, ...]]:
    """Return the motion (F, columns), whose numbers may be separated by any white space, and warnings."""
    tidy = lines[:first] + ["\t".join(line.split()) for line in lines[first:]]
    values, notes = TextTable(source, tidy, first, "\t", columns, f"{columns} channels", may_omit_cells=False).numbers()
    return np.where(np.abs(values) < MAX_NUMBER, values, np.nan), notes


def _rate(frame_time: float | None) -> float | None:
    """Return the rate in Hz, a whole number if the frame time is its rounded inverse: 0.0333333 means 30 Hz."""
    if not frame_time or frame_time <= 0 or frame_time < 1e-6:
        return None
    whole_rate = round(1.0 / frame_time)
    return float(whole_rate) if whole_rate and abs(whole_rate * frame_time - 1.0) < 2e-5 else 1.0 / frame_time


def _motion(joints: list[_Joint], offsets: Floats, values: Floats, has_rotation: Bools) -> tuple[Floats, Floats]:
    """Return positions (F, J, 3) in the file's unit, and world rotations (F, J, 4) wxyz of joints for which `rotated`.

    T_world_joint = T_world_parent · translation · rotations in channel order. Other rotations are NaN.
    """
    frames = len(values)
    positions, rotations = np.empty((frames, len(joints), 3)), np.full((frames, len(joints), 4), np.nan)
    # Joints are in depth-first order, so only the rotations on the path from the root are needed.
    ancestors: list[tuple[int, Floats]] = [(-1, np.tile(np.eye(3), (frames, 1, 1)))]
    for index, joint in enumerate(joints):
        while ancestors[-1][0] != joint.parent:
            ancestors.pop()
        world = ancestors[-1][1]
        offset = np.tile(offsets[index], (frames, 1))
        for kind, axis, column in joint.channels:
            if kind == "position":
                # A position channel replaces the offset along its axis; it is not added to it.
                offset[:, axis] = values[:, column]
        start = positions[:, joint.parent] if joint.parent >= 0 else 0.0
        positions[:, index] = start + (world @ offset[..., None])[..., 0]
        for kind, axis, column in joint.channels:
            if kind == "rotation":
                world = world @ _rotation(axis, values[:, column])
        ancestors.append((index, world))
        if has_rotation[index]:
            rotations[:, index] = rot.from_matrix(world)
    return positions, rotations


def _rest(joints: list[_Joint], offsets: Floats) -> Floats:
    """Return the positions (J, 3) of the joints in the rest pose, in the file's unit."""
    rest = np.zeros((len(joints), 3))
    for index, joint in enumerate(joints):
        rest[index] = rest[joint.parent] + offsets[index] if joint.parent >= 0 else 0.0
    return rest


def _rotation(axis: int, degrees: Floats) -> Floats:
    """Return the rotations (F, 3, 3) about x, y or z."""
    angles = np.radians(degrees)
    cosine, sine = np.cos(angles), np.sin(angles)
    first, second = (axis + 1) % 3, (axis + 2) % 3
    matrix = np.zeros((len(degrees), 3, 3))
    matrix[:, axis, axis] = 1.0
    matrix[:, first, first] = matrix[:, second, second] = cosine
    matrix[:, first, second], matrix[:, second, first] = -sine, sine
    return matrix


def _guess_unit(joints: list[_Joint], offsets: Floats) -> str:
    """Return the unit in which the hand, or else the body, is closest to its usual size; offsets (J, 3)."""
    lengths = np.linalg.norm(offsets, axis=1).tolist()
    finger_length = _named_finger_length(joints, lengths) or _branched_finger_length(joints, lengths)
    if finger_length > 0:
        ratio = finger_length / ADULT_HAND_LENGTH_M
    else:
        ratio = float(np.ptp(_rest(joints, offsets), axis=0).max()) / ADULT_HEIGHT_M
    if ratio <= 0:
        return "m"
    exponents = {"m": 0.0, "dm": 1.0, "cm": 2.0, "mm": 3.0}
    return min(exponents, key=lambda unit: abs(np.log10(ratio) - exponents[unit]))


def _named_finger_length(joints: list[_Joint], lengths: list[float]) -> float:
    """Return the length of the longest chain of joints with names of fingers; 0 if there is none."""
    finger_length = [0.0] * len(joints)
    for index, joint in enumerate(joints):
        if any(word in joint.name.lower() for word in _FINGERS):
            finger_length[index] = lengths[index] + (finger_length[joint.parent] if joint.parent >= 0 else 0.0)
    return max(finger_length)


def _branched_finger_length(joints: list[_Joint], lengths: list[float]) -> float:
    """Return the length of the longest finger, found by the skeleton's branches; 0 if there is none.

    Fingers are unbranched chains of two or more bones, at least four of which start at the same joint.
    """
    children = np.bincount([joint.parent for joint in joints if joint.parent >= 0], minlength=len(joints)).tolist()
    chains: list[list[tuple[float, int]]] = [[] for _ in joints]
    best = 0.0
    for index in range(len(joints) - 1, -1, -1):
        fingers = [length for length, bones in chains[index] if bones >= 2]
        if len(fingers) >= 4:
            best = max(best, *fingers)
        # A joint with several children ends a chain, and so does an ancestor of one.
        parent = joints[index].parent
        if parent >= 0 and len(chains[index]) == children[index] <= 1:
            length, bones = chains[index][0] if chains[index] else (0.0, 0)
            chains[parent].append((length + lengths[index], bones + 1))
    return best
