"""An armature as plain data, and its skeleton: the bones of the body, without copies and helpers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...errors import RigError
from .bone_ends import bone_ends
from .coincident_bones import AxisOrder

Floats = NDArray[np.float64]

MAX_BONES = 20_000
COINCIDENT = 1e-3
"""Heads within this fraction of a bone's length coincide."""
COPY_TOLERANCE = 0.02
"""The head and tail of a copy are within this fraction of the bone's length of the bone's own, along each axis."""

Point = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Bone:
    """A bone at rest in world space."""

    name: str
    parent: str | None
    head: Point
    tail: Point
    deform: bool = True
    """Whether it deforms a mesh."""
    driven: bool = False
    """Whether a constraint controls its rotation, so that keys on it have no effect."""
    locked: bool = False
    """Whether all its rotation axes are locked."""
    rig_parent: str | None = None
    """Its parent in the rig, if `layered_rigs.with_skin_hierarchy` changed `parent`."""
    follows: str | None = None
    """The bone that moves it: the one that its constraints copy, else its parent."""


class Skeleton:
    """Bones by index, with their children. `usable` marks those that may be bones of a hand."""

    def __init__(self, bones: Sequence[Bone], where: str) -> None:
        _check(bones, where)
        self.bones = bones
        self.number = {bone.name: number for number, bone in enumerate(bones)}
        self.heads: Floats = np.array([bone.head for bone in bones], float).reshape(-1, 3)
        self.tails: Floats = np.array([bone.tail for bone in bones], float).reshape(-1, 3)
        self.rig_parents = [self.number.get(bone.parent, -1) if bone.parent else -1 for bone in bones]
        _check_parents(self.rig_parents, bones, where)
        self.ends: Floats = bone_ends(self.heads, self.tails, self.rig_parents)
        """(B, 3) ends of bones, see bone_ends.py."""
        self.usable = self._carrying()
        self.children: list[list[int]] = [[] for _ in bones]
        self.parents = list(self.rig_parents)
        self._rig_children: list[list[int]] = [[] for _ in bones]
        for number, parent in enumerate(self.rig_parents):
            if parent >= 0:
                self._rig_children[parent].append(number)
                if self.usable[number]:
                    self.children[parent].append(number)
        self._drop_copies()
        self._drop_helpers()

    def ancestors(self, bone: int) -> Iterator[int]:
        """Yield a bone's usable ancestors, nearest first."""
        while (bone := self.parents[bone]) >= 0:
            yield bone

    def rig_children(self, parent: int) -> list[int]:
        """Return all children of a bone, usable or not; none for −1."""
        return self._rig_children[parent] if parent >= 0 else []

    def _carrying(self) -> list[bool]:
        """Return whether each bone deforms or has a descendant that does; True for all bones if none deforms."""
        usable = [bone.deform for bone in self.bones]
        if not any(usable):
            return [True] * len(usable)
        for number in np.flatnonzero(usable):
            parent = self.rig_parents[number]
            while parent >= 0 and not usable[parent]:
                usable[parent] = True
                parent = self.rig_parents[parent]
        return usable

    def _drop_copies(self) -> None:
        """Remove childless bones that coincide with their parent or a sibling: they only deform for it."""
        siblings: dict[int, AxisOrder] = {}
        for number, parent in enumerate(self.parents):
            if not self.usable[number] or self.children[number] or parent < 0:
                continue
            if parent not in siblings:
                siblings[parent] = AxisOrder(np.array([parent, *self.children[parent]]), self.heads, self.tails)
            coincident = siblings[parent].find_near(
                self.heads[number], self.tails[number], COPY_TOLERANCE * self._length(number)
            )
            if any(self.usable[other_bone] for other_bone in coincident if other_bone != number):
                self._remove(number)

    def _drop_helpers(self) -> None:
        """Remove offsets and groups: non-deforming bones whose head coincides with that of their only child."""
        if not any(bone.deform for bone in self.bones):
            return
        for number, bone in enumerate(self.bones):
            if self.usable[number] and not bone.deform and len(self.children[number]) == 1:
                child = self.children[number][0]
                length = float(np.linalg.norm(self.tails[child] - self.heads[child]))
                if np.linalg.norm(self.heads[child] - self.heads[number]) < COINCIDENT * length:
                    self._remove(number)

    def _remove(self, number: int) -> None:
        parent = self.parents[number]
        self.usable[number] = False
        if parent >= 0:
            self.children[parent].remove(number)
            self.children[parent] += self.children[number]
        for child in self.children[number]:
            self.parents[child] = parent
        self.children[number] = []

    def coincide(self, bone: int, other_bone: int) -> bool:
        """Return whether the heads and the tails of two bones coincide."""
        distance = np.abs([self.heads[bone] - self.heads[other_bone], self.tails[bone] - self.tails[other_bone]]).max()
        return bool(distance < COPY_TOLERANCE * self._length(bone))

    def _length(self, bone: int) -> float:
        return float(np.linalg.norm(self.ends[bone] - self.heads[bone]))


def _check(bones: Sequence[Bone], where: str) -> None:
    if len(bones) > MAX_BONES:
        raise RigError(f"{where} has {len(bones)} bones, expected at most {MAX_BONES}")
    for bone in bones:
        if not np.all(np.isfinite([bone.head, bone.tail])):
            raise RigError(f"{where}: bone '{bone.name}' has a position that is not a number, move it")


def _check_parents(parents: list[int], bones: Sequence[Bone], where: str) -> None:
    """Raise RigError for a cycle of parents."""
    acyclic: set[int] = {-1}
    for start in range(len(parents)):
        path: list[int] = []
        number = start
        while number not in acyclic:
            if len(path) > len(parents):
                raise RigError(f"{where}: bone '{bones[start].name}' is its own ancestor, give it another parent")
            path.append(number)
            number = parents[number]
        acyclic.update(path)
