"""A take over what an armature plays already: its action goes down to the NLA, where it plays on below the take."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import bpy

from .fcurves import curves_of

if TYPE_CHECKING:
    from bpy.types import FCurve, NlaStrip, Object

TAKE = "knuckle_take"
"""The custom property of an action that is a take of Knuckle's: the next one of the same bones replaces it."""


def push_down(armature: "Object", bones: Iterable[str], span: tuple[float, float]) -> "NlaStrip | None":
    """Puts the action that an armature plays into an NLA track of its own on top; the strip, None where there is none.

    A take of no other bones than these stays, to be replaced. Over the frames of span and on its own all is seen as
    before.
    """
    animation = armature.animation_data
    if animation is None or animation.action is None or animation.action_slot is None:
        return None
    action, slot = animation.action, animation.action_slot
    curves = list(curves_of(action, slot))
    anew = tuple(f'pose.bones["{bpy.utils.escape_identifier(bone)}"].' for bone in bones)
    if action.get(TAKE) and all(curve.data_path.startswith(anew) for curve in curves):
        return None
    track = animation.nla_tracks.new()
    track.name = action.name
    strip = track.strips.new(action.name, int(action.frame_range[0]), action)
    strip.action_slot = slot
    first, last = _keys(curves)
    # A strip holds its ends, where curves by themselves may go on: with a slope, or again from the beginning.
    modified = any(len(curve.modifiers) for curve in curves)
    sloped, beyond = any(curve.extrapolation != "CONSTANT" for curve in curves), animation.action_extrapolation
    if modified or (sloped and beyond == "HOLD"):
        first = min(first, span[0])
    if modified or (sloped and beyond != "NOTHING"):
        last = max(last, span[1])
    strip.action_frame_start, strip.action_frame_end = first, last
    strip.frame_start, strip.frame_end = first, last
    strip.extrapolation = beyond
    strip.blend_type = animation.action_blend_type
    if animation.action_influence < 1.0:
        strip.use_animated_influence = True
        strip.fcurves.find("influence").keyframe_points.insert(first, animation.action_influence)
    animation.action = None
    return strip


def pull_up(armature: "Object", strip: "NlaStrip | None") -> None:
    """As it was before push_down."""
    if strip is None:
        return
    animation, action, slot = armature.animation_data, strip.action, strip.action_slot
    track = next(track for track in animation.nla_tracks if strip.name in track.strips)
    animation.nla_tracks.remove(track)
    animation.action, animation.action_slot = action, slot


def _keys(curves: "list[FCurve]") -> tuple[float, float]:
    """The first and the last frame of curves; an action may be set to play other ones."""
    ends = [float(end) for curve in curves if len(curve.keyframe_points) for end in curve.range()[:]]
    return min(ends, default=0.0), max(ends, default=1.0)
