"""Keys above whatever an armature plays: its action is pushed down to the NLA and plays on below the take."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import bpy
import numpy as np
from numpy.typing import NDArray

from ...hand.generators import Steps, run_to_end
from ..data_reference import DataReference
from .hand_motion import KeyedHand
from .keyframes import key_hands_stepwise
from .nla_layers import TAKE_PROPERTY, pull_up, push_down

if TYPE_CHECKING:
    from bpy.types import Action, Object, Scene

Floats = NDArray[np.float64]


def key_above(armature: "Object", hands: Sequence[KeyedHand], frames: Floats, name: str, scene: "Scene") -> "Action":
    """Key the hands of one armature at scene frames (F,) in a new action above those it plays, and return the action.

    A take of the same bones is replaced: it keeps its keys, and gets a fake user. If it raises RigError, nothing has
    changed.
    """
    return run_to_end(key_above_stepwise(armature, hands, frames, name, scene))


def key_above_stepwise(
    armature: "Object", hands: Sequence[KeyedHand], frames: Floats, name: str, scene: "Scene"
) -> "Steps[Action]":
    """Do the same piece by piece.

    If the generator is closed early, armatures with incomplete keys are left unchanged.
    """
    span = min(frames[0], scene.frame_start), max(frames[-1], scene.frame_end)
    bones = {bone for keyed in hands for bone in keyed.bones}
    strip, reference = push_down(armature, bones, span), DataReference.of(armature)
    try:
        action = yield from key_hands_stepwise(armature, hands, frames, name)
    except BaseException:
        present = reference.find_in(bpy.data.objects)
        if present is not None:
            pull_up(present, strip)
        raise
    action[TAKE_PROPERTY] = True
    return action
