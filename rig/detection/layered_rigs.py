"""Layered rigs: deforming bones are parented to controls and mechanisms; their own hierarchy is rebuilt by position.

A deforming bone becomes a child of the deforming bone that ends at its head, else of its nearest ancestor that deforms
or coincides with a deforming bone. If no bone deforms (they were deleted, or their flag is off), the bones driven by
constraints are used instead.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from .skeleton import Bone

Floats = NDArray[np.float64]

NEAR = 0.02
"""Points nearer than this share of a bone's length coincide."""


def has_layers(bones: Sequence[Bone]) -> bool:
    """Whether constraints drive deforming bones, or any bones if none deforms."""
    return any(bone.driven for bone in _skin(bones))


def _skin(bones: Sequence[Bone]) -> list[Bone]:
    return [bone for bone in bones if bone.deform] or [bone for bone in bones if bone.driven]


def joined(bones: Sequence[Bone]) -> list[Bone]:
    """Return all bones, the deforming ones parented to each other and marked as deforming."""
    deform = _skin(bones)
    by_name = {bone.name: bone for bone in bones}
    places: Floats = np.array([[bone.head for bone in deform], [bone.tail for bone in deform]], float).reshape(2, -1, 3)
    own = {bone.name for bone in deform}
    hung: dict[str, str] = {}
    tops: dict[str, str] = {}
    for bone in deform:
        for parent in (_ending_at(bone, deform, places[1]), _above(bone, by_name, own, deform, places)):
            if parent and _top(parent, tops) != bone.name:
                hung[bone.name] = tops[bone.name] = parent
                break
    return [
        replace(bone, parent=hung.get(bone.name), hung=bone.parent, deform=True) if bone.name in own else bone
        for bone in bones
    ]


def _ending_at(bone: Bone, deform: list[Bone], tails: Floats) -> str | None:
    """Return the name of the longest other bone whose tail is at a bone's head."""
    near = NEAR * _length(bone)
    there = [deform[row] for row in np.flatnonzero(np.linalg.norm(tails - bone.head, axis=-1) < near)]
    return max((other for other in there if other != bone), key=_length).name if there and there != [bone] else None


def _above(bone: Bone, by_name: dict[str, Bone], own: set[str], deform: list[Bone], places: Floats) -> str | None:
    """Return the nearest ancestor that deforms, or the deforming bone that coincides with the nearest such ancestor."""
    above, met = by_name.get(bone.parent or ""), {bone.name}
    while above is not None and above.name not in met:
        met.add(above.name)
        if above.name in own:
            return above.name
        near = NEAR * _length(above)
        apart = np.linalg.norm(places - np.array([[above.head], [above.tail]]), axis=-1)
        same = np.all(apart < near, axis=0)
        there = [deform[row].name for row in np.flatnonzero(same) if deform[row] != bone]
        if there:
            return there[0]
        above = by_name.get(above.parent or "")
    return None


def _top(name: str, tops: dict[str, str]) -> str:
    """Return a bone's root, by a union-find search with path compression in `tops`, bone -> an ancestor."""
    while (above := tops.get(name)) is not None:
        tops[name] = tops.get(above, above)
        name = above
    return name


def _length(bone: Bone) -> float:
    return float(np.linalg.norm(np.subtract(bone.tail, bone.head)))
