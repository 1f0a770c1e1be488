"""What a job asks of the armature that it drives, once the performer is measured: see onto_rig.Rig."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..errors import RigError
from ..hand.limits import RigLimits
from ..hand.model import HandModel
from ..pipeline.retarget import RestHand
from .armature_hands import FoundHand, find_hands
from .binding import RigBinding, joint_points, world_points
from .bound_hand import bound_hand
from .keys.keyed_tips import KeyedTips
from .limits.rig_limits import allowed
from .linked import ObjectName
from .rest_frames import rest_rotations

if TYPE_CHECKING:
    from bpy.types import Object

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RigQuery:
    """An armature object of the open file, found again by its name. Raises RigError if it is gone when it is asked."""

    name: ObjectName

    @classmethod
    def of(cls, armature: "Object") -> "RigQuery":
        """The hands of an armature."""
        return cls(ObjectName.of(armature))

    def allowed(self, hand: HandModel) -> RigLimits:
        """What its limits leave of a hand's own. Raises RigError as rig_limits.allowed does."""
        return allowed(self._object(), hand)

    def built(self, hand: HandModel, limited: bool) -> RestHand | None:
        """Its hand of this side, and with its limits where its fingertips then are; None without this hand."""
        return built(self._object(), hand, limited)

    def _object(self) -> "Object":
        found = self.name.found()
        if found is None:
            raise RigError(f"armature '{self.name.name}' is not in this file any more: nothing was changed")
        return found


def built(armature: "Object", hand: HandModel, limited: bool) -> RestHand | None:
    """The hand of an armature of this side, as large as it is in the world; None without this hand.

    The wrist's frame is the one in which the rig is keyed: the hand's, laid over the rig's palm. limited: whether the
    rig's own limits are read.
    """
    found = next((found for found in find_hands(armature, [hand.side]) if found.side == hand.side), None)
    if found is None:
        return None
    return rig_hand(armature, found, bound_hand(armature, found, hand, limited=limited), hand)


def rig_hand(armature: "Object", found: FoundHand, binding: RigBinding, hand: HandModel) -> RestHand:
    """A found hand as large as it is in the world; the wrist's frame is a hand's, laid over the rig's palm."""
    points = joint_points(armature, found.bones)
    seen = world_points(armature, points)
    joints: Floats = (seen - seen[0]) @ rest_rotations(hand, seen)[0]
    tips = KeyedTips(binding, points, np.array(armature.matrix_world)) if binding.limits else None
    return RestHand(joints, tips)
