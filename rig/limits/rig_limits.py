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
from .read_limits import limited_in_other_space, read_limits, with_driven_rotation

if TYPE_CHECKING:
    from bpy.types import Object

Floats = NDArray[np.float64]

MAX_OUTSIDE = np.deg2rad(10.0)
"""rad, maximum distance between a bone's limits and the hand's. Limits that are further apart are an error."""
STIFF_RANGE = np.deg2rad(10.0)
"""rad: a joint that flexes less than this gets a note."""


def armature_limits(armature: "Object", hand: HandModel) -> RigLimits:
    """Return the limits of an armature's hand of the same side, within the hand's own; none if it has no such hand.

    Raises RigError for a bone whose limits have nothing in common with the hand's, or a minimum above the maximum.
    """
    found = next((found for found in find_hands(armature, [hand.side]) if found.side == hand.side), None)
    return RigLimits({}) if found is None else found_hand_limits(armature, found, hand)


def found_hand_limits(armature: "Object", found: FoundHand, hand: HandModel) -> RigLimits:
    """Return the limits of a found hand, within the hand's own. Raises RigError as `armature_limits` does."""
    binding = bound_hand(armature, found, hand)
    ranges = joint_ranges(binding, hand, np.array(armature.matrix_world))
    for joint, joint_range in ranges.items():
        if joint_range.outside > MAX_OUTSIDE:
            raise RigError(_no_overlap_message(armature, binding.limits[joint].bone, JOINTS[joint], joint_range))
    limits = {
        (JOINTS[joint], movement): (float(np.degrees(low)), float(np.degrees(high)))
        for joint, joint_range in ranges.items()
        for movement, (low, high) in joint_range.ranges.items()
    }
    return RigLimits(
        limits, len(ranges), tuple(_notes(armature, found.bones, binding, ranges, {0, *hand.axis_joint.tolist()}))
    )


def _no_overlap_message(armature: "Object", bone: str, joint: str, joint_range: JointRange) -> str:
    return (
        f"armature '{armature.name}': the limits of bone '{bone}' keep it {np.degrees(joint_range.outside):.0f} "
        f"degrees or more from every angle that the {joint} of a hand has, expected a range that holds some: widen "
        "them, or solve without the rig's limits"
    )


def _notes(
    armature: "Object",
    bones: Mapping[str, str],
    binding: RigBinding,
    ranges: Mapping[int, JointRange],
    moving: set[int],
) -> Iterator[str]:
    """Yield a sentence for each kind of bone that rotates unexpectedly. moving: the joints that rotate."""
    flexions = {joint: joint_range.ranges.get("flexion", (0.0, np.inf)) for joint, joint_range in ranges.items()}
    clipped = (set(binding.limits) - set(ranges)) & moving
    limited = read_limits(armature, bones.values())
    remarks = {
        "hardly bends within the rig's limits": [
            binding.limits[joint].bone for joint, (low, high) in flexions.items() if high - low < STIFF_RANGE
        ],
        "is limited, and its rotation depends on more than one joint: it is limited after solving": [
            binding.limits[joint].bone for joint in clipped
        ],
        "is limited and has no parent, so that its limits are not those of a joint and are ignored": [
            name for joint, name in bones.items() if name in limited and binding.location_keyed[JOINT_INDEX[joint]]
        ],
        "is limited in a space other than Local Space, which is ignored": limited_in_other_space(
            armature, bones.values()
        ),
        "is rotated by a driver, which overrides keys": with_driven_rotation(armature, bones.values()),
    }
    for remark, names in remarks.items():
        if names:
            more = f" (and so do {len(names) - 1} more)" if len(names) > 1 else ""
            yield f"bone '{names[0]}'{more} {remark}"
