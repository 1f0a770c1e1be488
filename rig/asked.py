"""What a job asks of the armature that it drives, once the performer is measured: see onto_rig.Rig."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..errors import RigError
from ..hand.limits import Allowed
from ..hand.model import HandModel
from .binding import joint_points, world_points
from .detect import find_hands
from .linked import ObjectName
from .rest_frames import rest_rotations
from .rig_limits import allowed

if TYPE_CHECKING:
    from bpy.types import Object

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ArmatureHands:
    """An armature object of the open file, found again by its name. Raises RigError if it is gone when it is asked."""

    name: ObjectName

    @classmethod
    def of(cls, armature: "Object") -> "ArmatureHands":
        """The hands of an armature."""
        return cls(ObjectName.of(armature))

    def allowed(self, hand: HandModel) -> Allowed:
        """What its limits leave of a hand's own. Raises RigError as rig_limits.allowed does."""
        return allowed(self._object(), hand)

    def joints(self, hand: HandModel) -> Floats | None:
        """(J, 3) m in the wrist's frame, where its hand of this side has its joints at rest; see joints_at_rest."""
        return joints_at_rest(self._object(), hand)

    def _object(self) -> "Object":
        found = self.name.found()
        if found is None:
            raise RigError(f"armature '{self.name.name}' is not in this file any more: nothing was changed")
        return found


def joints_at_rest(armature: "Object", hand: HandModel) -> Floats | None:
    """(J, 3) m in the wrist's frame, as large as it is in the world, NaN where there is none; None without this hand.

    The wrist's frame is the one in which the rig is keyed: the hand's, laid over the rig's palm.
    """
    found = next((found for found in find_hands(armature) if found.side == hand.side), None)
    if found is None:
        return None
    points = world_points(armature, joint_points(armature, found.bones))
    seen: Floats = (points - points[0]) @ rest_rotations(hand, points)[0]
    return seen
