"""Find the hands to pose: those of the active armature, and of others that are selected or in Pose Mode."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..errors import RigError
from ..hand.joints import SIDES, Side
from ..rig import detection_cache
from ..rig.binding import is_armature
from ..rig.keys.keyframes import check_changeable, check_keyable
from ..rig.posing.posable_cache import posable_hand
from ..rig.posing.rig_hand import RigHand
from .rig_hands import driven_armature

if TYPE_CHECKING:
    from bpy.types import Context, Object

MODES = ("OBJECT", "POSE")
"""Modes in which hands can be posed. In other modes, undo covers only the data that is being edited."""


def posed_armatures(context: "Context") -> "list[Object]":
    """Return the armatures whose hands are posed: the active one, others in Pose Mode, selected ones.

    If there is none, the armature that solving drives.
    """
    if context.mode not in MODES:
        return []
    active, target = _active(context), driven_armature(context.scene)
    armatures = in_pose_mode(context) or ([active] if active is not None else [])
    selected = [obj for obj in context.selected_objects if is_armature(obj) and obj.mode != "EDIT" and obj.is_editable]
    armatures += [obj for obj in selected if obj not in armatures]
    return armatures or ([target] if target is not None and target.mode != "EDIT" else [])


def posed_armature(context: "Context") -> "Object | None":
    """Return the first of posed_armatures, or None. Fast enough to be called while drawing."""
    return _active(context) or next(iter(posed_armatures(context)), None)


def _active(context: "Context") -> "Object | None":
    """Return the active armature, or the one that deforms the active object, such as a hand's skin."""
    active = context.view_layer.objects.active if context.mode in MODES and context.view_layer else None
    armature = active if active is None or is_armature(active) else active.find_armature()
    return armature if armature is not None and armature.mode != "EDIT" else None


def in_pose_mode(context: "Context") -> "list[Object]":
    """Return the armatures in Pose Mode, whose hands can be dragged; the active one first."""
    if context.mode != "POSE":
        return []
    active = context.view_layer.objects.active
    others = [obj for obj in context.objects_in_mode_unique_data if obj != active]
    return [obj for obj in (active, *others) if is_armature(obj)]


def sides_of(armatures: "Iterable[Object]") -> "dict[Side, Object]":
    """Return side -> the first armature with a detected hand on that side; hands that can be posed come first.

    Fast enough to be called while drawing.
    """
    detected = [
        (armature, hands_of_armature)
        for armature in armatures
        if (hands_of_armature := detection_cache.cached(armature)) is not None
    ]
    armature_of: dict[Side, Object] = {}
    for side in SIDES:
        candidates = [
            (side not in hands_of_armature.usable, armature)
            for armature, hands_of_armature in detected
            if side in hands_of_armature.hands
        ]
        if candidates:
            armature_of[side] = min(candidates, key=lambda candidate: candidate[0])[1]
    return armature_of


def chosen_hand(context: "Context") -> "tuple[Object, Side] | None":
    """Return the armature and side of the hand that the panel poses; None without an armature.

    The side is the one chosen in the panel, or else the only one detected. The armature may have no such hand.
    Fast enough to be called while drawing.
    """
    armatures = posed_armatures(context)
    if not armatures:
        return None
    chosen_side: Side = context.scene.knuckle_posing.side
    armature_of = sides_of(armatures)
    side = chosen_side if chosen_side in armature_of or not armature_of else next(iter(armature_of))
    return armature_of.get(side, armatures[0]), side


def hand_to_pose(context: "Context") -> "tuple[Object, Side]":
    """Return chosen_hand for operators, after detecting the hands of armatures that are not in the cache.

    Raises RigError if there is no armature, or if it cannot be posed.
    """
    for armature in posed_armatures(context):
        detection_cache.detected(armature)
    hand = chosen_hand(context)
    if hand is None:
        raise RigError("no armature is active or selected, select the hand's armature")
    check_posable(hand[0])
    return hand


def requested_hands(context: "Context", side: str) -> list[RigHand]:
    """Return the first hand of a side, or all hands for BOTH. Raises RigError if there is none."""
    armatures = posed_armatures(context)
    sides = [requested for requested in SIDES if side in ("BOTH", requested)]
    hands = [
        (armature, requested)
        for armature in armatures
        for requested in sides
        if requested in detection_cache.detected(armature).usable
    ]
    # Without a hand, posable_hand raises an error that says why.
    first_detected = detection_cache.detected(armatures[0])
    hands = hands or [(armatures[0], next(filter(first_detected.problem_of, sides), sides[0]))]
    return [posable_hand(*hand) for hand in (hands if side == "BOTH" else hands[:1])]


def named_armature(context: "Context", name: str) -> "Object":
    """Return the armature with this name that is in Pose Mode; the active one if the name is empty.

    Raises RigError if there is none, or if it cannot be posed.
    """
    for armature in in_pose_mode(context):
        if name in ("", armature.name):
            check_posable(armature)
            return armature
    raise RigError(f"no armature '{name}' is in Pose Mode, choose it and enter Pose Mode first")


def check_posable(armature: "Object") -> None:
    """Raise RigError if an armature cannot be posed, or is displayed in its rest position."""
    check_keyable(armature)
    check_pose_displayed(armature)


def check_pose_displayed(armature: "Object") -> None:
    """Do the part of check_posable that is fast enough to be done while drawing."""
    check_changeable(armature)
    if armature.data.pose_position == "REST":
        raise RigError(
            f"armature '{armature.name}' is in Rest Position, choose Pose Position in its Object Data properties first"
        )


def can_pose(operator: type, context: "Context") -> bool:
    """Return whether there is an armature whose bones can be posed. For `poll` methods."""
    return _can_pose(
        operator,
        posed_armatures(context),
        "Make the armature of the hand the active object, in Pose Mode or Object Mode",
    )


def can_drag(operator: type, context: "Context") -> bool:
    """Return whether an editable armature is in Pose Mode. For `poll` methods."""
    return _can_pose(operator, in_pose_mode(context), "Only available in Pose Mode")


def _can_pose(operator: Any, armatures: "list[Object]", message_if_none: str) -> bool:
    if not armatures:
        operator.poll_message_set(message_if_none)
    elif not any(armature.is_editable for armature in armatures):
        operator.poll_message_set("The armature is linked from another file, make a library override of it first")
    else:
        return True
    return False
