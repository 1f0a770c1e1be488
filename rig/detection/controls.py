"""Which bones of a rig with several layers are keyed: the controls, where the bones of the skin only follow them.

A generated Rigify rig has each finger four times: DEF- bones move the skin, ORG- and MCH- bones carry constraints, and
the bones without a prefix are what an animator poses. Constraints override keys, so the controls are keyed; never both.
"""

from collections.abc import Iterator

import numpy as np

from .skeleton import Skeleton

ALONG = np.cos(np.deg2rad(20.0))


def keyed(skeleton: Skeleton, bone: int) -> int | None:
    """The bone to key for a bone of the skeleton: itself if keys move it, else the control in its place, else None.

    In the place of a bone are those with its head that point along it. Of several, the one that it follows by way of
    its constraints and parents is keyed (of the FK and the IK hand the one that is in use), else the nearest that it
    hangs on, else the one nearest in length.
    """
    if not _is_driven(skeleton, bone):
        return bone
    there = [other for other in _in_place(skeleton, bone) if _is_control(skeleton, other)]
    followed = [other for other in _followed(skeleton, bone) if other in there and skeleton.coincide(bone, other)]
    carrying = [other for other in _carrying(skeleton, bone) if other in there]
    if followed or carrying:
        return (followed or carrying)[0]
    length = np.linalg.norm(skeleton.tails - skeleton.heads, axis=-1)
    return min(there, key=lambda other: abs(float(np.log(length[other] / length[bone]))), default=None)


def _is_driven(skeleton: Skeleton, bone: int) -> bool:
    """Whether keys on a bone are in vain, or it is locked in the midst of bones that are."""
    own = skeleton.bones[bone]
    around = [*skeleton.beside(skeleton.above[bone]), *skeleton.beside(bone)]
    return own.driven or (own.locked and any(skeleton.bones[other].driven for other in around))


def _is_control(skeleton: Skeleton, bone: int) -> bool:
    own = skeleton.bones[bone]
    return not own.driven and not own.locked


def _in_place(skeleton: Skeleton, bone: int) -> Iterator[int]:
    along = skeleton.tails[bone] - skeleton.heads[bone]
    length = float(np.linalg.norm(along))
    near = np.linalg.norm(skeleton.heads - skeleton.heads[bone], axis=-1) < 0.02 * length
    for other in np.flatnonzero(near):
        step = skeleton.tails[other] - skeleton.heads[other]
        size = float(np.linalg.norm(step))
        if other != bone and size > 1e-12 and step @ along > ALONG * size * length:
            yield int(other)


def _carrying(skeleton: Skeleton, bone: int) -> Iterator[int]:
    """The bones that a bone hangs on in the rig, nearest first."""
    met: set[int] = set()
    while bone not in met:
        met.add(bone)
        own = skeleton.bones[bone]
        name = own.hung or own.parent
        if name is None or name not in skeleton.number:
            return
        bone = skeleton.number[name]
        yield bone


def _followed(skeleton: Skeleton, bone: int) -> Iterator[int]:
    """What a bone follows, and what that follows."""
    met: set[int] = set()
    while bone not in met:
        met.add(bone)
        name = skeleton.bones[bone].follows
        if name is None or name not in skeleton.number:
            return
        bone = skeleton.number[name]
        yield bone
