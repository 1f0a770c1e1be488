"""The parts of a rig that a take drives: the fingers alone, the hand with its wrist, or also the arm."""

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING

from ...errors import RigError
from ...hand.joints import DIGITS
from ...pipeline.recipe import DriveChoice
from ..armature_hands import FoundHand
from ..binding import RigBinding
from .arm_keys import check_arms, find_arm
from .forearm_twist import find_forearm
from .hand_motion import WRIST, KeyedHand
from .wrist_strain import arm_above_hand

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bpy.types import Object

MIN_ARM_BONES = 2
"""A wrist with fewer ancestors is a lone hand's: some have a root bone, or the stump of a forearm."""


def check_drive(armature: "Object", hands: "Iterable[FoundHand]", drive: DriveChoice) -> None:
    """Raise RigError as find_arm does if the arm is to be moved and none of the hands has one."""
    if drive == "arm":
        check_arms(armature, hands)


def with_driven_parts(
    armature: "Object",
    found: FoundHand | None,
    keyed: KeyedHand,
    drive: DriveChoice,
    digits: Collection[str] | None = None,
) -> KeyedHand:
    """Return a keyed hand that moves the driven parts; found: None for one that add_hand built, which has no arm.

    digits: those to key, None for all; unless all are keyed, the wrist and the arm stay. Raises RigError if the rig
    does not allow that.
    """
    some = digits is not None and not set(DIGITS) <= set(digits)
    keyed = keyed if found is None else replace(keyed, above=arm_above_hand(armature, found))
    if drive == "arm" and found is not None and not some:
        return with_forearm(armature, found, with_arm(armature, found, keyed))
    follows = digits_follow_wrist(keyed.binding)
    if (some or drive == "fingers") and not follows:
        raise RigError(
            f"armature '{armature.name}': not all bones of its {keyed.hand.side} hand follow its wrist, "
            "so the fingers cannot move without the wrist: choose Wrist and all digits"
        )
    fingers = some or drive == "fingers" or (drive == "auto" and follows and is_on_arm(armature, keyed.binding))
    keyed = replace(keyed, wrist=not fingers, digits=DIGITS if digits is None else digits)
    return keyed if fingers or found is None else with_forearm(armature, found, keyed)


def is_on_arm(armature: "Object", binding: RigBinding) -> bool:
    """Return whether a hand is attached to an arm, which decides its position, rather than being placed by keys."""
    name = binding.carrier or binding.bones[WRIST]
    if name is None or binding.location_keyed[WRIST]:
        return False
    return len(armature.data.bones[name].parent_recursive) >= MIN_ARM_BONES


def digits_follow_wrist(binding: RigBinding) -> bool:
    """Return whether all bones of a hand descend from its wrist and rotate with it, so that their keys are relative to
    it."""
    others = [joint for joint in binding.mapped if joint != WRIST]
    return bool((binding.mapped_parents[others] >= 0).all() and binding.inherits_rotation[others].all())


def with_forearm(armature: "Object", found: FoundHand, keyed: KeyedHand) -> KeyedHand:
    """Return a keyed hand whose forearm takes its pronation, if the rig allows that."""
    return replace(keyed, forearm=find_forearm(armature, found))


def with_arm(armature: "Object", found: FoundHand, keyed: KeyedHand) -> KeyedHand:
    """Return a keyed hand whose wrist reaches its captured position. Raises RigError if there is no arm."""
    arm = find_arm(armature, found)
    if arm is not None:
        return replace(keyed, arm=arm)
    location_keyed = keyed.binding.location_keyed.copy()
    location_keyed[WRIST] = True
    return replace(keyed, binding=replace(keyed.binding, location_keyed=location_keyed))
