"""The mappings of the driven armature's hands as properties for the panel: bones of joints, and curl planes of digits.

The properties store nothing: they read and write the mapping on the armature.
"""

from collections.abc import Callable
from dataclasses import replace
from math import degrees, radians
from typing import TYPE_CHECKING, Any

import bpy
from bpy.props import BoolProperty, FloatProperty, PointerProperty, StringProperty

from ..errors import RigError
from ..hand.joints import DIGITS, JOINTS, Side
from ..rig import detection_cache
from ..rig.armature_hands import FoundHand
from ..rig.mapping import with_bone
from .rig_hands import correct, driven_armature, rotate_curl_plane
from .setting_properties import NOT_ANIMATED

if TYPE_CHECKING:
    from bpy.types import Object, PropertyGroup, Scene


def setting(joint: str) -> str:
    """Return the name of the property for a joint, or for a digit's curl plane."""
    return joint.replace("-", "_")


def _scene(group: "PropertyGroup") -> "Scene":
    scene = group.id_data
    assert isinstance(scene, bpy.types.Scene), "where KnuckleRig is"
    return scene


def _detected_hand(group: "PropertyGroup", side: Side) -> FoundHand | None:
    armature = driven_armature(_scene(group))
    detected = detection_cache.cached(armature) if armature else None
    return detected.hands.get(side) if detected else None


def _change(group: "PropertyGroup", change: Callable[["Object"], None]) -> None:
    armature = driven_armature(_scene(group))
    if armature is None or not armature.is_editable:
        return
    try:
        change(armature)
    except RigError as error:
        # A property cannot report errors: its value stays the same, and the panel shows the reason.
        detected = detection_cache.detected(armature)
        detection_cache.store(armature, replace(detected, refused=str(error)))


def _bone(side: Side, joint: str) -> Any:
    def get(group: Any) -> str:
        hand = _detected_hand(group, side)
        return hand.bones.get(joint, "") if hand else ""

    def put(group: Any, name: str) -> None:
        _change(group, lambda armature: correct(armature, side, lambda own: with_bone(own, joint, name or None)))

    return StringProperty(
        name=joint.replace("-", " ").title(),
        description=f"Bone of this joint of the {side} hand. Empty if the armature has none",
        get=get,
        set=put,
        options=NOT_ANIMATED,  # type: ignore[arg-type]
    )


def _curl_rotation(side: Side, digit: str) -> Any:
    def get(group: Any) -> float:
        hand = _detected_hand(group, side)
        return radians(hand.curl_angles.get(digit, 0.0)) if hand else 0.0

    def put(group: Any, angle: float) -> None:
        _change(group, lambda armature: rotate_curl_plane(armature, side, digit, round(degrees(angle), 3)))

    return FloatProperty(
        name="Curl Plane Rotation",
        description="Rotation of the plane in which this digit curls about its bones, relative to the detected one; "
        "180 degrees reverse the curl",
        subtype="ANGLE",
        min=radians(-180.0),
        max=radians(180.0),
        step=100,
        precision=0,
        get=get,
        set=put,
        options=NOT_ANIMATED,  # type: ignore[arg-type]
    )


def _properties(side: Side) -> dict[str, Any]:
    bones = {setting(joint): _bone(side, joint) for joint in JOINTS}
    rotations = {setting(f"{digit}-turn"): _curl_rotation(side, digit) for digit in DIGITS}
    return bones | rotations


class KnuckleLeftHand(bpy.types.PropertyGroup):
    """The left hand of the driven armature."""

    __annotations__ = _properties("left")


class KnuckleRightHand(bpy.types.PropertyGroup):
    """The right hand of the driven armature."""

    __annotations__ = _properties("right")


class KnuckleRig(bpy.types.PropertyGroup):
    """The hands of the driven armature."""

    axes: BoolProperty(
        name="Show Axes",
        description="Draw on the armature how each digit curls: its hinges, the path of its tip, the knuckle line and "
        "the direction of the palm",
        default=False,
        options=NOT_ANIMATED,
    )
    left: PointerProperty(name="Left Hand", description="The armature's left hand", type=KnuckleLeftHand)
    right: PointerProperty(name="Right Hand", description="The armature's right hand", type=KnuckleRightHand)


CLASSES = (
    KnuckleLeftHand,
    KnuckleRightHand,
    KnuckleRig,
)
PROPERTIES = ((bpy.types.Scene, "knuckle_rig", bpy.props.PointerProperty(type=KnuckleRig)),)
