"""A take over what an armature plays already: its action goes down to the NLA, where it plays on below the take."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bpy.types import Object

TAKE = "knuckle_take"
"""The custom property of an action that is a take of Knuckle's: the next one replaces it, and does not lie over it."""


def push_down(armature: "Object") -> None:
    """Puts the action that an armature plays into an NLA track of its own on top; one of Knuckle's stays as it is."""
    animation = armature.animation_data
    if animation is None or animation.action is None or animation.action.get(TAKE):
        return
    action, slot = animation.action, animation.action_slot
    track = animation.nla_tracks.new()
    track.name = action.name
    strip = track.strips.new(action.name, int(action.frame_range[0]), action)
    strip.action_slot = slot
    strip.frame_start, strip.frame_end = action.frame_range
    strip.extrapolation = "HOLD"
    strip.blend_type = animation.action_blend_type
    strip.influence = animation.action_influence
    animation.action = None
