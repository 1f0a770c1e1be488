"""Find the bones of a layered rig to key: the controls, if the deforming bones only follow them.

A generated Rigify rig has each finger four times: DEF- bones deform the skin, ORG- and MCH- bones have constraints, and
bones without a prefix are what an animator poses. Constraints override keys, so the controls are keyed, never both.
"""

from collections.abc import Iterator

import numpy as np

from .skeleton import Skeleton

SAME_DIRECTION = np.cos(np.deg2rad(20.0))


def bone_to_key(skeleton: Skeleton, bone: int) -> int | None:
    """Return the bone to key for a bone of the skeleton: itself if keys move it, else its control, else None.

    Controls share the bone's head and direction. Of several controls, the one that the bone follows through constraints
    and parents is keyed (the active one of an FK and an IK hand), else its nearest ancestor, else the one with the most
    similar length.
    """
    if not _is_driven(skeleton, bone):
        return bone
    bones = skeleton.bones
    controls = [row for row in _coincident(skeleton, bone) if not (bones[row].driven or bones[row].locked)]
    followed_controls = [
        control for control in _followed(skeleton, bone) if control in controls and skeleton.coincide(bone, control)
    ]
    ancestors = [control for control in _ancestors(skeleton, bone) if control in controls]
    if followed_controls or ancestors:
        return (followed_controls or ancestors)[0]
    length = np.linalg.norm(skeleton.tails - skeleton.heads, axis=-1)
    return min(controls, key=lambda control: abs(float(np.log(length[control] / length[bone]))), default=None)


def _is_driven(skeleton: Skeleton, bone: int) -> bool:
    """Return whether keys on a bone have no effect, or whether it is locked and constraints drive its relatives."""
    data = skeleton.bones[bone]
    relatives = [*skeleton.rig_children(skeleton.rig_parents[bone]), *skeleton.rig_children(bone)]
    return data.driven or (data.locked and any(skeleton.bones[other].driven for other in relatives))


def _coincident(skeleton: Skeleton, bone: int) -> Iterator[int]:
    direction = skeleton.tails[bone] - skeleton.heads[bone]
    length = float(np.linalg.norm(direction))
    is_near = np.linalg.norm(skeleton.heads - skeleton.heads[bone], axis=-1) < 0.02 * length
    for row in np.flatnonzero(is_near):
        step = skeleton.tails[row] - skeleton.heads[row]
        size = float(np.linalg.norm(step))
        if row != bone and size > 1e-12 and step @ direction > SAME_DIRECTION * size * length:
            yield int(row)


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
    """Yield the bone that a bone follows, the bone that this one follows, and so on."""
    visited: set[int] = set()
    while bone not in visited:
        visited.add(bone)
        name = skeleton.bones[bone].follows
        if name is None or name not in skeleton.number:
            return
        bone = skeleton.number[name]
        yield bone
