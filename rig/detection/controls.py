"""Which bones of a layered rig to key: the controls, if the deforming bones only follow them.

A generated Rigify rig has each finger four times: DEF- bones deform the skin, ORG- and MCH- bones have constraints, and
bones without a prefix are what an animator poses. Constraints override keys, so the controls are keyed, never both.
"""

from collections.abc import Iterator

import numpy as np

from .skeleton import Skeleton

SAME_DIRECTION = np.cos(np.deg2rad(20.0))


def bone_to_key(skeleton: Skeleton, bone: int) -> int | None:
    """Return the bone to key for a bone of the skeleton: itself if keys move it, else its control, else None.

    Controls share the bone's head and direction. Of several, the one that it follows through constraints and parents is
    keyed (of an FK and an IK hand the active one), else its nearest ancestor, else the one nearest in length.
    """
    if not _is_driven(skeleton, bone):
        return bone
    bones = skeleton.bones
    controls = [other for other in _coincident(skeleton, bone) if not (bones[other].driven or bones[other].locked)]
    followed_controls = [
        other for other in _followed(skeleton, bone) if other in controls and skeleton.coincide(bone, other)
    ]
    ancestors = [other for other in _ancestors(skeleton, bone) if other in controls]
    if followed_controls or ancestors:
        return (followed_controls or ancestors)[0]
    length = np.linalg.norm(skeleton.tails - skeleton.heads, axis=-1)
    return min(controls, key=lambda other: abs(float(np.log(length[other] / length[bone]))), default=None)


def _is_driven(skeleton: Skeleton, bone: int) -> bool:
    """Whether keys on a bone have no effect, or it is locked beside bones that constraints drive."""
    data = skeleton.bones[bone]
    relatives = [*skeleton.rig_children(skeleton.rig_parents[bone]), *skeleton.rig_children(bone)]
    return data.driven or (data.locked and any(skeleton.bones[other].driven for other in relatives))


def _coincident(skeleton: Skeleton, bone: int) -> Iterator[int]:
    direction = skeleton.tails[bone] - skeleton.heads[bone]
    length = float(np.linalg.norm(direction))
    near = np.linalg.norm(skeleton.heads - skeleton.heads[bone], axis=-1) < 0.02 * length
    for other in np.flatnonzero(near):
        step = skeleton.tails[other] - skeleton.heads[other]
        size = float(np.linalg.norm(step))
        if other != bone and size > 1e-12 and step @ direction > SAME_DIRECTION * size * length:
            yield int(other)


def _ancestors(skeleton: Skeleton, bone: int) -> Iterator[int]:
    """Yield a bone's ancestors in the rig, nearest first."""
    visited: set[int] = set()
    while bone not in visited:
        visited.add(bone)
        data = skeleton.bones[bone]
        name = data.rig_parent or data.parent
        if name is None or name not in skeleton.number:
            return
        bone = skeleton.number[name]
        yield bone


def _followed(skeleton: Skeleton, bone: int) -> Iterator[int]:
    """Yield the bone that a bone follows, the one that this follows, and so on."""
    visited: set[int] = set()
    while bone not in visited:
        visited.add(bone)
        name = skeleton.bones[bone].follows
        if name is None or name not in skeleton.number:
            return
        bone = skeleton.number[name]
        yield bone
