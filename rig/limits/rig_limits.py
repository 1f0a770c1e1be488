"""The limits of an armature's hand as limits of the hand model, read after calibration and before solving."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...errors import RigError
from ...hand.joints import JOINT_INDEX, JOINTS
from ...hand.limits import RigLimits
from ...hand.model import HandModel
from ..armature_hands import FoundHand, find_hands
from ..binding import RigBinding
from ..bound_hand import bound_hand
from .joint_ranges import JointRange, joint_ranges
from .read_limits import driven, elsewhere, read_limits

if TYPE_CHECKING:
    from bpy.types import Object

Floats = NDArray[np.float64]

APART = np.deg2rad(10.0)
"""rad, greatest distance between a bone's limits and the hand's; beyond it the limits are an error."""
STIFF = np.deg2rad(10.0)
"""rad, a joint that flexes less than this gets a note."""


def allowed(armature: "Object", hand: HandModel) -> RigLimits:
    """Return the limits of an armature's hand of this side, within the hand's own; none if it has no such hand.

    Raises RigError for a bone whose limits have nothing in common with the hand's, or a minimum above the maximum.
    """
    found = next((found for found in find_hands(armature, [hand.side]) if found.side == hand.side), None)
    return RigLimits({}) if found is None else allowed_of(armature, found, hand)


def allowed_of(armature: "Object", found: FoundHand, hand: HandModel) -> RigLimits:
    """Return the limits of a found hand, within the hand's own. Raises RigError as `allowed` does."""
    binding = bound_hand(armature, found, hand)
    ranges = joint_ranges(binding, hand, np.array(armature.matrix_world))
    for joint, of_joint in ranges.items():
        if of_joint.outside > APART:
            raise RigError(_nothing_common(armature, binding.limits[joint].bone, JOINTS[joint], of_joint))
    limits = {
        (JOINTS[joint], movement): (float(np.degrees(low)), float(np.degrees(high)))
        for joint, of_joint in ranges.items()
        for movement, (low, high) in of_joint.ranges.items()
    }
    return RigLimits(
        limits, len(ranges), tuple(_notes(armature, found.bones, binding, ranges, {0, *hand.axis_joint.tolist()}))
    )


def _nothing_common(armature: "Object", bone: str, joint: str, of_joint: JointRange) -> str:
    return (
        f"armature '{armature.name}': the limits of bone '{bone}' keep it {np.degrees(of_joint.outside):.0f} degrees "
        f"or more from every angle that the {joint} of a hand has, expected a range that holds some: widen them, or "
        "solve without the rig's limits"
    )


def _notes(
    armature: "Object",
    bones: Mapping[str, str],
    binding: RigBinding,
    ranges: Mapping[int, JointRange],
    moving: set[int],
) -> Iterator[str]:
    """Yield a sentence for each kind of bone that rotates unexpectedly; moving: the joints that rotate."""
    bends = {joint: of_joint.ranges.get("flexion", (0.0, np.inf)) for joint, of_joint in ranges.items()}
    held = (set(binding.limits) - set(ranges)) & moving
    read = read_limits(armature, bones.values())
    kinds = {
        "hardly bends within the rig's limits": [
            binding.limits[joint].bone for joint, (low, high) in bends.items() if high - low < STIFF
        ],
        "is limited, and does not turn by a finger's joint alone: it is held back after solving": [
            binding.limits[joint].bone for joint in held
        ],
        "is limited and hangs on nothing, so that this says nothing of its joint: it is not obeyed": [
            name for joint, name in bones.items() if name in read and binding.placed[JOINT_INDEX[joint]]
        ],
        "is limited in another space than its own, which is not obeyed": elsewhere(armature, bones.values()),
        "is turned by a driver, which keys do not overrule": driven(armature, bones.values()),
    }
    for what, names in kinds.items():
        if names:
            more = f" (and so do {len(names) - 1} more)" if len(names) > 1 else ""
            yield f"bone '{names[0]}'{more} {what}"
