"""Build a Skeleton from a list of bones with head and tail, as in a rig."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .tree_skeleton import UNLIMITED, Skeleton, SkeletonError, SwingTwistLimit, Vector

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RestBone:
    """A bone in its rest pose, in world space. Its joint is at its head; the joint's frame has +Y along the bone."""

    name: str
    parent: str | None
    """The name of a bone before it in the list, None for the first."""
    head: Vector
    """m"""
    tail: Vector
    """m"""
    limit: SwingTwistLimit = UNLIMITED
    """Limit in the joint's frame."""
    side: Vector | None = None
    """Direction that the joint's +X points to, made perpendicular to +Y; None for the parent's +X."""


def from_bones(bones: Sequence[RestBone], loops: Sequence[tuple[str, str]] = (), root_free: bool = False) -> Skeleton:
    """Return a skeleton with a joint at the head of each bone, and one named '<bone>-tip' at the tail of each leaf
    bone.

    A bone without length has its parent's orientation. loops: pairs of joint names. Raises SkeletonError for a parent
    that is not in the list before the bone, a duplicate name, or ends that are not finite numbers.
    """
    names = [bone.name for bone in bones]
    parents: list[int] = []
    frames: list[Floats] = []
    for index, bone in enumerate(bones):
        if bone.name in names[:index]:
            raise SkeletonError(f"bones: '{bone.name}' is there twice, expected each name once")
        if (bone.parent is None) != (index == 0) or (bone.parent is not None and bone.parent not in names[:index]):
            raise SkeletonError(f"bones: the parent of '{bone.name}' is {bone.parent!r}, expected a bone before it")
        if not np.isfinite([*bone.head, *bone.tail]).all():
            raise SkeletonError(f"bones: the head or tail of '{bone.name}' is not a finite number")
        parents.append(-1 if bone.parent is None else names.index(bone.parent))
        frames.append(_frame(bone, frames[parents[-1]] if parents[-1] >= 0 else np.eye(4)))
    limits = [bone.limit for bone in bones]
    for index, bone in enumerate(bones):
        if index not in parents:
            names.append(f"{bone.name}-tip")
            parents.append(index)
            frames.append(np.block([[frames[index][:3, :3], np.array(bone.tail)[:, None]], [np.eye(4)[3:]]]))
            limits.append(UNLIMITED)
    rest_transforms = np.stack(
        [
            frame if parent < 0 else np.linalg.inv(frames[parent]) @ frame
            for frame, parent in zip(frames, parents, strict=True)
        ]
    )
    unknown = [name for pair in loops for name in pair if name not in names]
    if unknown:
        raise SkeletonError(f"bones: a loop names '{unknown[0]}', expected one of {', '.join(names)}")
    pairs = tuple((names.index(a), names.index(b)) for a, b in loops)
    return Skeleton(tuple(names), tuple(parents), rest_transforms, tuple(limits), pairs, root_free)


def chain(
    name: str,
    points: Floats,
    limit: SwingTwistLimit | Sequence[SwingTwistLimit] = UNLIMITED,
    side: Vector | None = None,
) -> Skeleton:
    """Return a chain through points (N + 1, 3) m: bones name-0 .. name-(N − 1), with one limit for all or one for each.

    Raises SkeletonError for fewer than two points or another number of limits, and as `from_bones`.
    """
    if len(points) < 2:
        raise SkeletonError(f"{name}: {len(points)} points, expected two or more")
    count = len(points) - 1
    limits = [limit] * count if isinstance(limit, SwingTwistLimit) else list(limit)
    if len(limits) != count:
        raise SkeletonError(f"{name}: {len(limits)} limits for {count} bones, expected one each")
    return from_bones(
        [
            RestBone(
                f"{name}-{k}",
                f"{name}-{k - 1}" if k else None,
                _vector(points[k]),
                _vector(points[k + 1]),
                limits[k],
                side,
            )
            for k in range(count)
        ]
    )


def _vector(point: Floats) -> Vector:
    x, y, z = (float(value) for value in point)
    return x, y, z


def _frame(bone: RestBone, parent: Floats) -> Floats:
    """Return T_world_joint (4, 4) of a bone at rest, from its parent's."""
    frame = parent.copy()
    frame[:3, 3] = bone.head
    bone_vector = np.subtract(bone.tail, bone.head)
    length = float(np.linalg.norm(bone_vector))
    if length > 0:
        frame[:3, 1] = bone_vector / length
    side = parent[:3, 0] if bone.side is None else np.array(bone.side)
    # A side along the bone leaves the roll open: then the parent's axes decide.
    for x in (side, parent[:3, 0], parent[:3, 2]):
        third = np.cross(x, frame[:3, 1])
        if np.linalg.norm(third) > 1e-6 * max(float(np.linalg.norm(x)), 1e-300):
            frame[:3, 2] = third / np.linalg.norm(third)
            frame[:3, 0] = np.cross(frame[:3, 1], frame[:3, 2])
            break
    return frame
