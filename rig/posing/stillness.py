"""Whether an object stays where it is: what moves it beside a hand would move it within that hand, or out of it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ...errors import RigError
from ..keys.fcurves import curves_of, curves_on

if TYPE_CHECKING:
    from bpy.types import AnimData, Constraint, FCurve, Object

ROTATIONS = ("rotation_euler", "rotation_quaternion", "rotation_axis_angle")
PLACED = ("location", *ROTATIONS, "scale")
TRANSFORM = {*PLACED, *(f"delta_{path}" for path in PLACED)}
"""The channels that say where an object is."""
ALIKE = 1e-5
"""m and rad, and of a value that is larger than 1: what differs less is the same in single precision."""


def check_still(obj: "Object", frame: float, own: "list[Constraint]") -> None:
    """Raises RigError for an object that something else than its parent and `own` constraints moves from a frame on, or
    that cannot be keyed."""
    animation = obj.animation_data
    if animation is not None:
        if animation.use_tweak_mode:
            raise RigError(f"a strip of '{obj.name}' is being tweaked in the NLA, leave Tweak Mode first")
        check_action(obj)
        if _is_driven(animation) or _plays_strips(animation):
            raise RigError(f"drivers or NLA strips of its own move '{obj.name}', take those away first")
        if any(changes(curve, frame) for curve in transform_curves(obj)):
            raise RigError(f"keys of its own move '{obj.name}' after frame {frame:g}, take those away first")
    for constraint in obj.constraints:
        if constraint not in own and not constraint.mute:
            raise RigError(f"'{obj.name}' has the constraint '{constraint.name}' as well, turn that off first")


def check_action(obj: "Object") -> None:
    """Raises RigError for an object whose action takes no keys."""
    action = obj.animation_data.action if obj.animation_data else None
    if action is not None and not action.is_editable:
        raise RigError(
            f"'{obj.name}' plays the action '{action.name}', which is linked from another file and takes no keys: make "
            "it local, or choose another, first"
        )


def moving_parent(obj: "Object", frame: float) -> "Object | None":
    """The nearest of those on which an object hangs that moves it from a frame on."""
    for child, parent in parents(obj):
        animation = parent.animation_data
        by_keys = any(changes(curve, frame) for curve in transform_curves(parent))
        other = animation is not None and (_is_driven(animation) or _plays_strips(animation))
        # What hangs on a bone or on vertices goes where those are brought.
        if child.parent_type != "OBJECT" or by_keys or other or any(not one.mute for one in parent.constraints):
            return parent
    return None


def parents(obj: "Object") -> "Iterator[tuple[Object, Object]]":
    """Those on which an object hangs, from the nearest on, each after what hangs on it."""
    while obj.parent is not None:
        yield obj, obj.parent
        obj = obj.parent


def transform_curves(obj: "Object") -> "list[FCurve]":
    """The curves of its action that place an object."""
    return [curve for curve in played(obj) if curve.data_path in TRANSFORM]


def played(obj: "Object") -> "Iterator[FCurve]":
    """The curves that an object's action has for it and that move something."""
    return (curve for curve in curves_on(obj) if not (curve.mute or curve.is_empty))


def changes(curve: "FCurve", frame: float) -> bool:
    """Whether a curve has other values later than it has on a frame."""
    if any(not modifier.mute for modifier in curve.modifiers):
        return True
    value, last = curve.evaluate(frame), max(frame, curve.range()[1])
    keys = [key.co[0] for key in curve.keyframe_points if key.co[0] > frame]
    # One frame beyond the last key tells whether it goes on.
    return any(differ(curve.evaluate(at), value) for at in (*keys, *np.arange(frame, last), last + 1))


def differ(value: float, other: float) -> bool:
    """Whether two values of a channel are not the same."""
    return abs(value - other) > ALIKE * max(1.0, abs(other))


def _is_driven(animation: "AnimData") -> bool:
    return any(driver.data_path in TRANSFORM and not driver.mute for driver in animation.drivers)


def _plays_strips(animation: "AnimData") -> bool:
    """Whether strips are played that place the object."""
    return animation.use_nla and any(
        curve.data_path in TRANSFORM
        for track in animation.nla_tracks
        if not track.mute
        for strip in track.strips
        if not strip.mute and strip.action and strip.action_slot
        for curve in curves_of(strip.action, strip.action_slot)
    )
