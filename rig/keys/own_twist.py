"""The twist that a character's own animation gives its forearm, apart from what live frames and takes leave there."""

from contextlib import nullcontext
from typing import TYPE_CHECKING

import bpy
import numpy as np
from numpy.typing import NDArray

from .forearm_twist import ForearmBones, forearm_twists
from .nla_layers import animated_bones, is_take
from .parent_motion import on_frames, parents_on_current_frame
from .played_action import played_action, playing_no_action
from .unkeyed_changes import unkeyed_changes_restored

if TYPE_CHECKING:
    from bpy.types import Object

Floats = NDArray[np.float64]


def own_twists(armature: "Object", forearm: ForearmBones) -> dict[str, Floats]:
    """Return bone of a forearm -> rad by which the armature's own animation twists it on the scene's frame.

    The action counts as NLA strips do, as keying pushes it down to them, unless it is a take. Bones without keys are
    left out, and the pose stays as it is. Raises RigError for an arm that is scaled to nothing.
    """
    animated = animated_bones(armature, forearm.shares)
    if not animated:
        return {}
    frame = np.array([bpy.context.scene.frame_current_final])
    with unkeyed_changes_restored():
        with playing_no_action(armature) if is_take(played_action(armature)) else nullcontext():
            ((_, rests),) = on_frames(armature, frame, lambda _: parents_on_current_frame(armature, forearm.chain))
        # Blender evaluates an action that comes back, after which unkeyed changes can be restored.
        bpy.context.view_layer.update()
    return forearm_twists(armature, forearm, animated, rests)
