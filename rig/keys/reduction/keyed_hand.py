"""The bones of a hand whose keys are reduced, and how far they and points on them deviate from the original motion."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ....hand import rotations as rot
from ... import rotation_channels

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class SampledBone:
    """A bone with the values of its channels on F frames."""

    name: str
    group: str
    """Bones of one group, such as those of a digit, are keyed on the same frames."""
    parent: int
    """The bone in the list that moves it, before it; −1 for none."""
    relation: Floats
    """(4, 4) T_parent_bone at rest of the bone; for parent −1 in armature space."""
    mode: str
    """Its rotation mode, as Blender names it."""
    rotation: Floats
    """(F, 3) or (F, 4) values of its rotation channels; (1, ...) if they have no keys that can be reduced."""
    location: Floats
    """(F, 3) values of its location channels; (1, 3) if they have no keys that can be reduced."""
    location_axes: Floats
    """(3, 3) see RigBinding.location_axes."""

    def channels(self) -> Floats:
        """Return the values (F, C) of the channels that are reduced; (F, 0) or (1, 0) for none."""
        parts = [part for part in (self.rotation, self.location) if len(part) > 1]
        return np.concatenate(parts, axis=1) if parts else np.empty((1, 0))

    def basis(self, channels: Floats) -> tuple[Floats, Floats]:
        """Return rotations (F, 4) and locations (F, 3) in the bone's frame at rest for values (F, C) of `channels`."""
        width = self.rotation.shape[1] if len(self.rotation) > 1 else 0
        rotation = channels[:, :width] if width else self.rotation
        location = channels[:, width:] if len(self.location) > 1 else self.location
        return rotation_channels.rotations(rotation, self.mode), location @ self.location_axes.T


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredPoint:
    """A point whose deviation is limited: a fingertip, or the head of a bone whose location is keyed."""

    bone: int
    offset: Floats
    """(3,) in the bone's frame."""
    digit: str = ""
    """The digit whose tip it is."""


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Tolerances for the motion of the hand."""

    distance: float = 0.001
    """m, of a fingertip in the world."""
    angle: float = float(np.radians(1.0))
    """rad, of a joint."""


@dataclass(frozen=True, slots=True, eq=False)
class Motion:
    """Poses of B bones in armature space on F frames; bones without channels have a single frame."""

    rotations: list[Floats]
    """B of (F, 4) or (1, 4)"""
    positions: list[Floats]
    """B of (F, 3) or (1, 3)"""

    def copy(self) -> "Motion":
        """Return a motion whose lists may be changed."""
        return Motion(list(self.rotations), list(self.positions))


def moved(bones: Sequence[SampledBone], channels: Sequence[Floats]) -> Motion:
    """Return the motion of bones for values (F, C) of each."""
    motion = Motion([], [])
    for bone, values in zip(bones, channels, strict=True):
        rotation, position = moved_bone(bone, bone.basis(values), motion)
        motion.rotations.append(rotation)
        motion.positions.append(position)
    return motion


def moved_bone(bone: SampledBone, basis: tuple[Floats, Floats], motion: Motion) -> tuple[Floats, Floats]:
    """Return rotations (F, 4) and positions (F, 3) of a bone in armature space, from those of its parent."""
    rotation, location = basis
    rest = rot.from_matrix(bone.relation[:3, :3])
    inside, point = rot.multiply(rest, rotation), bone.relation[:3, 3] + location @ bone.relation[:3, :3].T
    if bone.parent < 0:
        return inside, point
    parent = motion.rotations[bone.parent]
    return rot.multiply(parent, inside), motion.positions[bone.parent] + rot.rotate(parent, point)


def points_on(motion: Motion, bone: int, offsets: Floats) -> Floats:
    """Return positions (F, 3) of a point in armature space; offsets: (3,) or (F, 3) in the bone's frame."""
    positions: Floats = motion.positions[bone] + rot.rotate(motion.rotations[bone], offsets)
    return positions


@dataclass(frozen=True, slots=True, eq=False)
class SampledHand:
    """The bones of a hand on F frames, parents first, and the points that are measured on them."""

    frames: Floats
    """(F,)"""
    bones: tuple[SampledBone, ...]
    points: tuple[MeasuredPoint, ...]
    to_world: Floats
    """(3, 3) from directions in armature space to the world, m."""
    wrist: int
    """The bone of the wrist."""
    key_counts: tuple[int, ...]
    """(B,) the number of keys of each channel of the bone."""
    kept: Mapping[str, Bools]
    """Group -> (F,) the frames on which it always has keys."""

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups of bones; those that move others come first."""
        return tuple(dict.fromkeys(bone.group for bone in self.bones))

    def rows(self, group: str) -> list[int]:
        """Return the bones of a group that have channels to reduce."""
        return [row for row, bone in enumerate(self.bones) if bone.group == group and bone.channels().shape[1]]

    def errors(self, channels: Mapping[int, Floats]) -> tuple[Floats, Floats]:
        """Return the deviations of points (F, N) m and joints (F, B) rad from the original motion, for new channels of
        bones."""
        old = [bone.channels() for bone in self.bones]
        new = [channels.get(row, values) for row, values in enumerate(old)]
        before, after = moved(self.bones, old), moved(self.bones, new)
        count = len(self.frames)
        apart = [
            points_on(after, point.bone, point.offset) - points_on(before, point.bone, point.offset)
            for point in self.points
        ]
        distances = [np.broadcast_to(np.linalg.norm(gap @ self.to_world.T, axis=1), count) for gap in apart]
        angles = [
            np.broadcast_to(rot.angles_between(bone.basis(a)[0], bone.basis(b)[0]), count)
            for bone, a, b in zip(self.bones, old, new, strict=True)
        ]
        return np.stack(distances, axis=1) if distances else np.zeros((count, 0)), np.stack(angles, axis=1)
