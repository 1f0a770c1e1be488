"""Layering a take over an armature's action: the action is pushed down to the NLA and plays on below the take."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from .bone_paths import bone_path
from .fcurves import curves_of

if TYPE_CHECKING:
    from bpy.types import Action, AnimData, FCurve, NlaStrip, Object

TAKE_PROPERTY = "knuckle_take"
"""Custom property of an action that is one of Knuckle's takes: the next take of the same bones replaces it."""


def push_down(armature: "Object", bones: Iterable[str], span: tuple[float, float]) -> "NlaStrip | None":
    """Push an armature's action down to a new NLA track on top; return its strip, None if there is nothing to push.

    A take that keys only these bones is not pushed down, since it will be replaced. Over the frames of `span` and of
    the action itself, the animation looks as before.
    """
    animation = armature.animation_data
    if animation is None or animation.action is None or animation.action_slot is None:
        return None
    action, slot = animation.action, animation.action_slot
    curves = list(curves_of(action, slot))
    prefixes = tuple(bone_path(bone) for bone in bones)
    if is_take(action) and all(curve.data_path.startswith(prefixes) for curve in curves):
        return None
    track = animation.nla_tracks.new()
    track.name = action.name
    strip = track.strips.new(action.name, int(action.frame_range[0]), action)
    strip.action_slot = slot
    first, last = _key_range(curves)
    # A strip holds its end values, but curves without a strip may continue with a slope or cycle.
    has_modifiers = any(len(curve.modifiers) for curve in curves)
    extrapolates, beyond = any(curve.extrapolation != "CONSTANT" for curve in curves), animation.action_extrapolation
    if has_modifiers or (extrapolates and beyond == "HOLD"):
        first = min(first, span[0])
    if has_modifiers or (extrapolates and beyond != "NOTHING"):
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


def playing_strips(animation: "AnimData") -> "Iterator[NlaStrip]":
    """Yield the NLA strips that play, from the lowest: of the solo track, or of those that are not muted."""
    tracks = [track for track in animation.nla_tracks if not track.mute] if animation.use_nla else []
    solo = [track for track in tracks if track.is_solo]
    yield from (strip for track in solo or tracks for strip in track.strips if not strip.mute)


def is_take(action: "Action | None") -> bool:
    """Return whether an action is one of Knuckle's takes, which the next take of the same bones replaces."""
    return action is not None and bool(action.get(TAKE_PROPERTY))


def pull_up(armature: "Object", strip: "NlaStrip | None") -> None:
    """Undo push_down."""
    if strip is None:
        return
    animation, action, slot = armature.animation_data, strip.action, strip.action_slot
    track = next(track for track in animation.nla_tracks if strip.name in track.strips)
    animation.nla_tracks.remove(track)
    animation.action, animation.action_slot = action, slot


def _key_range(curves: "list[FCurve]") -> tuple[float, float]:
    """Return the first and last key frame of curves; the frame range set on an action may differ."""
    ends = [float(end) for curve in curves if len(curve.keyframe_points) for end in curve.range()[:]]
    return min(ends, default=0.0), max(ends, default=1.0)
