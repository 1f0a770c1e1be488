"""Make RigHands that a person poses, with models that have the rig's proportions and limits."""

from typing import TYPE_CHECKING

from ...hand.limits import AngleLimits
from ..armature_hands import FoundHand
from ..rig_hand_model import rig_hand_model
from .apply_pose import make_bound_hand
from .rig_hand import RigHand

if TYPE_CHECKING:
    from bpy.types import Object


def make_rig_hand(
    armature: "Object", found: FoundHand, *, limited: bool = True, further: AngleLimits | None = None
) -> RigHand:
    """Return the RigHand of a detected hand. Arguments and errors: see rig_hand_model."""
    model = rig_hand_model(armature, found, limited=limited, further=further)
    return make_bound_hand(armature, model.binding, model.hand, model.digits)
