"""Rigs of several layers: what moves the skin hangs on controls and mechanisms, and follows from bone to bone by place.

A bone that deforms is hung on the one that deforms and ends where it begins, else on the nearest above that deforms or
in whose place another does. Where none deforms (the bones of the skin were deleted, or only marked so), the bones that
constraints drive stand for them.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from .skeleton import Bone

Floats = NDArray[np.float64]

NEAR = 0.02
"""Points nearer than this share of a bone's length are one."""


def has_layers(bones: Sequence[Bone]) -> bool:
    """Whether constraints drive bones that deform, or any where none deforms."""
    return any(bone.driven for bone in _skin(bones))


def _skin(bones: Sequence[Bone]) -> list[Bone]:
    return [bone for bone in bones if bone.deform] or [bone for bone in bones if bone.driven]


def joined(bones: Sequence[Bone]) -> list[Bone]:
    """The bones, those of the skin hung on each other and deforming; the others as they were."""
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
    """The longest bone that ends where one begins."""
    near = NEAR * _length(bone)
    there = [deform[row] for row in np.flatnonzero(np.linalg.norm(tails - bone.head, axis=-1) < near)]
    return max((other for other in there if other != bone), key=_length).name if there and there != [bone] else None


def _above(bone: Bone, by_name: dict[str, Bone], own: set[str], deform: list[Bone], places: Floats) -> str | None:
    """The nearest bone above that deforms, or a deforming one in the place of one above."""
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
    """What carries a bone in the end and hangs on nothing; of `tops`, a bone above each, the ways there get shorter."""
    while (above := tops.get(name)) is not None:
        tops[name] = tops.get(above, above)
        name = above
    return name


def _length(bone: Bone) -> float:
    return float(np.linalg.norm(np.subtract(bone.tail, bone.head)))
