"""Rigs of several layers: what moves the skin hangs on controls and mechanisms, and follows from bone to bone by place.

A bone that deforms is hung on the one that deforms and ends where it begins, else on the nearest above that deforms or
in whose place another does. Where none deforms (the bones of the skin were deleted, or only marked so), the bones that
constraints drive stand for them.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from .bones import Bone

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
    heads: Floats = np.array([bone.head for bone in deform], float).reshape(-1, 3)
    tails: Floats = np.array([bone.tail for bone in deform], float).reshape(-1, 3)
    hung: dict[str, str] = {}
    for bone in deform:
        for parent in (_ending_at(bone, deform, tails), _above(bone, by_name, deform, heads, tails)):
            if parent and not _is_below(parent, bone.name, hung):
                hung[bone.name] = parent
                break
    own = {bone.name for bone in deform}
    return [
        replace(bone, parent=hung.get(bone.name), hung=bone.parent, deform=True) if bone.name in own else bone
        for bone in bones
    ]


def _ending_at(bone: Bone, deform: list[Bone], tails: Floats) -> str | None:
    """The longest bone that ends where one begins."""
    near = NEAR * _length(bone)
    there = [deform[row] for row in np.flatnonzero(np.linalg.norm(tails - bone.head, axis=-1) < near)]
    return max((other for other in there if other != bone), key=_length).name if there and there != [bone] else None


def _above(bone: Bone, by_name: dict[str, Bone], deform: list[Bone], heads: Floats, tails: Floats) -> str | None:
    """The nearest bone above that deforms, or a deforming one in the place of one above."""
    above, met = by_name.get(bone.parent or ""), {bone.name}
    while above is not None and above.name not in met:
        met.add(above.name)
        if above in deform:
            return above.name
        near = NEAR * _length(above)
        same = (np.linalg.norm(heads - above.head, axis=-1) < near) & (
            np.linalg.norm(tails - above.tail, axis=-1) < near
        )
        there = [deform[row].name for row in np.flatnonzero(same) if deform[row] != bone]
        if there:
            return there[0]
        above = by_name.get(above.parent or "")
    return None


def _is_below(name: str | None, other: str, hung: dict[str, str]) -> bool:
    """Whether a bone is another one or hangs below it."""
    while name is not None and name != other:
        name = hung.get(name)
    return name is not None


def _length(bone: Bone) -> float:
    return float(np.linalg.norm(np.subtract(bone.tail, bone.head)))
