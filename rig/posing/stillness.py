"""Check that nothing but the hand moves an object. Anything else would move it within the hand, or out of it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ...errors import RigError
from ..keys.fcurves import curves_of, curves_on
from ..object_ancestors import ancestors

if TYPE_CHECKING:
    from bpy.types import AnimData, Constraint, FCurve, Object

ROTATIONS = ("rotation_euler", "rotation_quaternion", "rotation_axis_angle")
TRANSFORM_PATHS = ("location", *ROTATIONS, "scale")
TRANSFORM = {*TRANSFORM_PATHS, *(f"delta_{path}" for path in TRANSFORM_PATHS)}
"""The channels of an object's transform."""
TOLERANCE = 1e-5
"""m or rad, relative for values above 1: values that differ by less are equal in single precision."""


def check_still(obj: "Object", frame: float, own: "list[Constraint]") -> None:
    """Raise RigError for an object that cannot be keyed, or that something moves from a frame on.

    Its parent and the constraints in `own` may move the object.
    """
    animation = obj.animation_data
    if animation is not None:
        if animation.use_tweak_mode:
            raise RigError(f"a strip of '{obj.name}' is being tweaked in the NLA, leave Tweak Mode first")
        check_action(obj)
        if _is_driven(animation) or _plays_strips(animation):
            raise RigError(f"'{obj.name}' is moved by its own drivers or NLA strips, remove those first")
        if any(changes(curve, frame) for curve in transform_curves(obj)):
            raise RigError(f"'{obj.name}' is moved by its own keys after frame {frame:g}, delete those first")
    for constraint in obj.constraints:
        if constraint not in own and not constraint.mute:
            raise RigError(f"'{obj.name}' also has the constraint '{constraint.name}', disable it first")


def check_action(obj: "Object") -> None:
    """Raise RigError for an object whose action cannot be keyed."""
    action = obj.animation_data.action if obj.animation_data else None
    if action is not None and not action.is_editable:
        raise RigError(
            f"'{obj.name}' plays the action '{action.name}', which is linked from another file and takes no keys: make "
            "it local, or choose another, first"
        )


def moving_parent(obj: "Object", frame: float) -> "Object | None":
    """Return the nearest ancestor of an object that moves it from a frame on."""
    for child, parent in ancestors(obj):
        animation = parent.animation_data
        by_keys = any(changes(curve, frame) for curve in transform_curves(parent))
        by_animation = animation is not None and (_is_driven(animation) or _plays_strips(animation))
        # A parent bone moves with the pose, parent vertices with the mesh.
        if (
            child.parent_type != "OBJECT"
            or by_keys
            or by_animation
            or any(not constraint.mute for constraint in parent.constraints)
        ):
            return parent
    return None


def transform_curves(obj: "Object") -> "list[FCurve]":
    """Return the F-curves of an object's transform."""
    return [curve for curve in played(obj) if curve.data_path in TRANSFORM]


def played(obj: "Object") -> "Iterator[FCurve]":
    """Yield the F-curves of an object's action that are neither muted nor empty."""
    return (curve for curve in curves_on(obj) if not (curve.mute or curve.is_empty))


def changes(curve: "FCurve", frame: float) -> bool:
    """Return whether an F-curve changes its value after a frame."""
    if any(not modifier.mute for modifier in curve.modifiers):
        return True
    value, last = curve.evaluate(frame), max(frame, curve.range()[1])
    keys = [key.co[0] for key in curve.keyframe_points if key.co[0] > frame]
    # The frame after the last key shows whether the curve is extrapolated.
    return any(differ(curve.evaluate(at), value) for at in (*keys, *np.arange(frame, last), last + 1))


def differ(value: float, other: float) -> bool:
    """Return whether two values of a channel differ."""
    return abs(value - other) > TOLERANCE * max(1.0, abs(other))


def _is_driven(animation: "AnimData") -> bool:
    return any(driver.data_path in TRANSFORM and not driver.mute for driver in animation.drivers)


def _plays_strips(animation: "AnimData") -> bool:
    """Return whether NLA strips animate the object's transform."""
    return animation.use_nla and any(
        curve.data_path in TRANSFORM
        for track in animation.nla_tracks
        if not track.mute
        for strip in track.strips
        if not strip.mute and strip.action and strip.action_slot
        for curve in curves_of(strip.action, strip.action_slot)
    )
