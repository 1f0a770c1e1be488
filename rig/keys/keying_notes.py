"""Notes for the user about a take on their armature, one sentence each."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...hand.joints import DIGITS, digit_label, digit_of
from ...pipeline.retarget import FINGERS, is_mitten
from ...pipeline.take import Take
from ..armature_hands import FoundHand, find_hands

if TYPE_CHECKING:
    from bpy.types import Action, Object


def keying_notes(armature: "Object", take: Take) -> tuple[str, ...]:
    """Return notes on parts that will not be keyed and on ambiguities. Raises RigError as find_hands does."""
    found = {hand.side: hand for hand in find_hands(armature, [solved.side for solved in take.hands])}
    notes: list[str] = []
    for solved in take.hands:
        if solved.side in found:
            notes += _hand_notes(found[solved.side])
        else:
            notes.append(f"the rig has no {solved.side} hand: it was solved and is not keyed")
    return tuple(notes)


def pushed_note(armature: "Object", played: "Action | None") -> tuple[str, ...]:
    """Return a note about the action that an armature played before it was keyed, if it plays on below the take."""
    animation = armature.animation_data
    below = [strip.action for track in animation.nla_tracks for strip in track.strips] if animation else []
    if played is None or played not in below:
        return ()
    nla_note = "" if animation.use_nla else "; its NLA is switched off, switch it on to see that"
    return (f"action '{played.name}' was pushed down to the NLA and plays on below the take{nla_note}",)


def playing_notes(armature: "Object") -> tuple[str, ...]:
    """Return a note, with a remedy, on each setting of an armature that keeps the take from playing as solved.

    To be called when the take is keyed. Blender blends an armature's action with NLA strips only if there are strips
    that play.
    """
    animation = armature.animation_data
    tracks = animation.nla_tracks if animation and animation.use_nla else ()
    is_blended = any(not track.mute and any(not strip.mute for strip in track.strips) for track in tracks)
    blend = animation.action_blend_type.capitalize() if is_blended else "Replace"
    influence = animation.action_influence if is_blended else 1.0
    conditions = {
        "it is shown in Rest Position, choose Pose Position in its data": armature.data.pose_position == "REST",
        "a track of its NLA is solo and plays alone, switch that off": any(track.is_solo for track in tracks),
        f"its action is laid over the strips of its NLA with Blend {blend}, choose Replace": blend != "Replace",
        f"its action has Influence {influence:.2g} over the strips of its NLA, set it to 1": influence < 1,
    }
    return tuple(
        f"armature '{armature.name}' does not show the take as solved: {reason}"
        for reason in conditions
        if conditions[reason]
    )


def _hand_notes(found: FoundHand) -> Iterator[str]:
    mapped = {digit_of(joint) for joint in found.bones}
    replaced: tuple[str, ...] = ()
    if is_mitten({digit for digit in mapped if digit}):
        replaced = FINGERS
        yield f"the rig's {found.side} hand has one digit for all four fingers, like a mitten: it follows their mean"
    missing_digits = [digit for digit in DIGITS if digit not in mapped and digit not in replaced]
    missing_names = [digit_label(digit) for digit in missing_digits]
    if missing_names:
        yield f"the rig's {found.side} hand has no {' and no '.join(missing_names)}: it was solved and is not keyed"
    yield from (f"the rig's {found.side} hand: {doubt}" for doubt in found.doubts)
