"""Bind a found hand with all its data: the only path from `armature_hands.find_hands` to a binding."""

from typing import TYPE_CHECKING

from ..hand.model import HandModel
from .armature_hands import FoundHand
from .binding import NO_LIMITS, RigBinding, bind
from .limits.read_limits import read_limits

if TYPE_CHECKING:
    from bpy.types import Object


def bound_hand(armature: "Object", found: FoundHand, hand: HandModel, *, limited: bool = True) -> RigBinding:
    """Bind a hand that was found on an armature, with its carrier, the user's curl angles, and the rig's limits.

    limited: whether the rig's own limits are read. Raises RigError for a bone that is gone and for limits that
    contradict themselves.
    """
    limits = read_limits(armature, found.bones.values()) if limited else NO_LIMITS
    return bind(armature, found.side, found.bones, hand, found.carrier, limits=limits, curl_angles=found.curl_angles)
