"""An armature as plain data, and its skeleton: the bones of the body, without copies and helpers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...errors import RigError
from .beside import AxisOrder
from .bone_ends import ends

Floats = NDArray[np.float64]

MOST_BONES = 20_000
SAME_PLACE = 1e-3
"""Heads nearer than this share of a bone's length coincide."""
COPY = 0.02
"""The head and tail of a copy are within this share of the bone's length from the bone's own, along each axis."""

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
    hung: str | None = None
    """Its parent in the rig, if `parent` was changed by `layered_rigs.joined`."""
    follows: str | None = None
    """The bone that its constraints copy, else its parent: the bone that moves it."""


class Skeleton:
    """Bones by index, with their children; `kept` marks those that a hand can be made of."""

    def __init__(self, bones: Sequence[Bone], where: str) -> None:
        _check(bones, where)
        self.bones = bones
        self.number = {bone.name: number for number, bone in enumerate(bones)}
        self.heads: Floats = np.array([bone.head for bone in bones], float).reshape(-1, 3)
        self.tails: Floats = np.array([bone.tail for bone in bones], float).reshape(-1, 3)
        self.above = [self.number.get(bone.parent, -1) if bone.parent else -1 for bone in bones]
        _check_parents(self.above, bones, where)
        self.ends: Floats = ends(self.heads, self.tails, self.above)
        """(B, 3) ends of bones, see bone_ends.py."""
        self.kept = self._carrying()
        self.children: list[list[int]] = [[] for _ in bones]
        self.parents = list(self.above)
        self._hung: list[list[int]] = [[] for _ in bones]
        for number, above in enumerate(self.above):
            if above >= 0:
                self._hung[above].append(number)
        self._hang()
        self._drop_copies()
        self._drop_helpers()

    def up(self, bone: int) -> Iterator[int]:
        """Yield a bone's kept ancestors, nearest first."""
        while (bone := self.parents[bone]) >= 0:
            yield bone

    def beside(self, above: int) -> list[int]:
        """Return all children of a bone, kept or not; none for −1."""
        return self._hung[above] if above >= 0 else []

    def _carrying(self) -> list[bool]:
        """Return whether each bone deforms or has a descendant that does; True for all bones if none deforms."""
        kept = [bone.deform for bone in self.bones]
        if not any(kept):
            return [True] * len(kept)
        for number in np.flatnonzero(kept):
            above = self.above[number]
            while above >= 0 and not kept[above]:
                kept[above] = True
                above = self.above[above]
        return kept

    def _hang(self) -> None:
        for number, above in enumerate(self.above):
            if self.kept[number] and above >= 0:
                self.children[above].append(number)

    def _drop_copies(self) -> None:
        """Remove childless bones that coincide with their parent or a sibling: they only deform in its place."""
        beside: dict[int, AxisOrder] = {}
        for number, above in enumerate(self.parents):
            if not self.kept[number] or self.children[number] or above < 0:
                continue
            if above not in beside:
                beside[above] = AxisOrder(np.array([above, *self.children[above]]), self.heads, self.tails)
            there = beside[above].where(self.heads[number], self.tails[number], COPY * self._length(number))
            if any(self.kept[other] for other in there if other != number):
                self._take_out(number)

    def _drop_helpers(self) -> None:
        """Remove non-deforming bones whose head coincides with that of their only child: offsets and groups."""
        if not any(bone.deform for bone in self.bones):
            return
        for number, bone in enumerate(self.bones):
            if self.kept[number] and not bone.deform and len(self.children[number]) == 1:
                child = self.children[number][0]
                length = float(np.linalg.norm(self.tails[child] - self.heads[child]))
                if np.linalg.norm(self.heads[child] - self.heads[number]) < SAME_PLACE * length:
                    self._take_out(number)

    def _take_out(self, number: int) -> None:
        above = self.parents[number]
        self.kept[number] = False
        if above >= 0:
            self.children[above].remove(number)
            self.children[above] += self.children[number]
        for child in self.children[number]:
            self.parents[child] = above
        self.children[number] = []

    def coincide(self, one: int, other: int) -> bool:
        """Whether the heads and the tails of two bones coincide."""
        apart = np.abs([self.heads[one] - self.heads[other], self.tails[one] - self.tails[other]]).max()
        return bool(apart < COPY * self._length(one))

    def _length(self, bone: int) -> float:
        return float(np.linalg.norm(self.ends[bone] - self.heads[bone]))


def _check(bones: Sequence[Bone], where: str) -> None:
    if len(bones) > MOST_BONES:
        raise RigError(f"{where} has {len(bones)} bones, expected at most {MOST_BONES}")
    for bone in bones:
        if not np.all(np.isfinite([bone.head, bone.tail])):
            raise RigError(f"{where}: bone '{bone.name}' is nowhere (not a number), place it again")


def _check_parents(above: list[int], bones: Sequence[Bone], where: str) -> None:
    """Raise RigError for a cycle of parents."""
    safe: set[int] = {-1}
    for start in range(len(above)):
        path: list[int] = []
        number = start
        while number not in safe:
            if len(path) > len(above):
                raise RigError(f"{where}: bone '{bones[start].name}' hangs on itself, give it another parent")
            path.append(number)
            number = above[number]
        safe.update(path)
