"""Rebuild the hierarchy of layered rigs, whose deforming bones are parented to controls and mechanisms, by position.

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

COINCIDENT = 0.02
"""Points within this fraction of a bone's length coincide."""


def has_layers(bones: Sequence[Bone]) -> bool:
    """Return whether constraints drive deforming bones, or any bones if none deforms."""
    return any(bone.driven for bone in _deforming_bones(bones))


def _deforming_bones(bones: Sequence[Bone]) -> list[Bone]:
    return [bone for bone in bones if bone.deform] or [bone for bone in bones if bone.driven]


def with_skin_hierarchy(bones: Sequence[Bone]) -> list[Bone]:
    """Return all bones. The deforming ones are parented to each other and marked as deforming."""
    deform = _deforming_bones(bones)
    by_name = {bone.name: bone for bone in bones}
    heads, tails = [bone.head for bone in deform], [bone.tail for bone in deform]
    endpoints: Floats = np.array([heads, tails], float).reshape(2, -1, 3)
    deforming = {bone.name for bone in deform}
    parents: dict[str, str] = {}
    roots: dict[str, str] = {}
    for bone in deform:
        for parent in (
            _bone_ending_at(bone, deform, endpoints[1]),
            _deforming_ancestor(bone, by_name, deforming, deform, endpoints),
        ):
            if parent and _root(parent, roots) != bone.name:
                parents[bone.name] = roots[bone.name] = parent
                break
    return [
        replace(bone, parent=parents.get(bone.name), rig_parent=bone.parent, deform=True)
        if bone.name in deforming
        else bone
        for bone in bones
    ]


def _bone_ending_at(bone: Bone, deform: list[Bone], tails: Floats) -> str | None:
    """Return the name of the longest other bone whose tail is at a bone's head."""
    tolerance = COINCIDENT * _length(bone)
    ending = [deform[row] for row in np.flatnonzero(np.linalg.norm(tails - bone.head, axis=-1) < tolerance)]
    return max((other for other in ending if other != bone), key=_length).name if ending and ending != [bone] else None


def _deforming_ancestor(
    bone: Bone, by_name: dict[str, Bone], deforming: set[str], deform: list[Bone], endpoints: Floats
) -> str | None:
    """Return the nearest ancestor that deforms or coincides with a deforming bone, in the latter case that bone."""
    ancestor, visited = by_name.get(bone.parent or ""), {bone.name}
    while ancestor is not None and ancestor.name not in visited:
        visited.add(ancestor.name)
        if ancestor.name in deforming:
            return ancestor.name
        tolerance = COINCIDENT * _length(ancestor)
        distances = np.linalg.norm(endpoints - np.array([[ancestor.head], [ancestor.tail]]), axis=-1)
        is_coincident = np.all(distances < tolerance, axis=0)
        coincident = [deform[row].name for row in np.flatnonzero(is_coincident) if deform[row] != bone]
        if coincident:
            return coincident[0]
        ancestor = by_name.get(ancestor.parent or "")
    return None


def _root(name: str, roots: dict[str, str]) -> str:
    """Return a bone's root, by a union-find search with path compression in `roots`, bone -> an ancestor."""
    while (parent := roots.get(name)) is not None:
        roots[name] = roots.get(parent, parent)
        name = parent
    return name


def _length(bone: Bone) -> float:
    return float(np.linalg.norm(np.subtract(bone.tail, bone.head)))
