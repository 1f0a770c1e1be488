"""A slider being dragged: the hand goes from how it stood when that began, so that there and back leaves no trace."""

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from bpy.app.handlers import persistent

from ..hand.kinematics import Pose
from ..hand.model import HandModel
from ..posing.sliders import Slider, Sliders
from ..rig.posing import channel_diff
from ..rig.posing.channel_diff import Channels
from ..rig.posing.pin_compensation import Pinned, pose_pinned, take_pinned
from ..rig.posing.pin_reach import as_they_stand
from ..rig.posing.posable_cache import held_hand
from ..rig.posing.rig_hand import HandState, RigHand
from .auto_key import bones_of, key_hand
from .auto_key_undo import KeysBefore, give_back, keys_before, keys_now
from .pin_properties import Spots, pins_along, pins_of, put_pins_back, spots_of
from .posed_hands import hand_to_pose

if TYPE_CHECKING:
    from bpy.types import Context, Object

ROUNDING = 2e-4
"""A slider that is nearer than this to an end, or to zero, is there."""


@dataclass(frozen=True, eq=False)
class _Before:
    """What a drag changes, as it was. Names and numbers."""

    channels: dict[str, Channels]
    spots: Spots
    keys: KeysBefore | None
    """None without auto-keying."""


@dataclass(frozen=True, eq=False)
class _Slid:
    """A slider that was moved: where it began."""

    slider: Slider
    began: HandState
    pinned: Pinned | None
    """The same with its pins, where it has any."""
    at: float
    """Where the slider was then, in 32 bits as Blender has it."""
    before: _Before
    left: Hashable = None
    """How the bones and the pins of which hand stood after it, on which frame; with auto-keying, its keys."""


class _Now:
    """May be forgotten at any time: the next drag begins anew."""

    slid: _Slid | None = None


@persistent  # type: ignore[untyped-decorator]  # Blender's own
def forget_slid(*_of_handler: Any) -> None:
    """No slider is being dragged: the same bones in another file are others."""
    _Now.slid = None


@lru_cache(maxsize=8)
def sliders_of(hand: HandModel, locked: bool) -> Sliders:
    """The sliders of a hand."""
    return Sliders(hand, locked)


def settled(value: float) -> float:
    """Bones have 32 bits: an end of a slider would be read a little beyond it, and nothing as -0.0."""
    return round(value) + 0.0 if abs(value - round(value)) < ROUNDING else value


def slide(context: "Context", slider: Slider, to: float) -> None:
    """Brings the chosen hand to where a slider stands at a value, keyed as auto-keying would.

    Raises RigError where there is no such hand, or it cannot be posed.
    """
    armature, side = hand_to_pose(context)
    held, slid = held_hand(armature, side), _Now.slid
    if slid is None or slid.slider != slider or slid.left != _left(context, armature, held):
        slid = _begun(context, armature, held, slider)
    elif to == slid.at:
        # Escape gives back where it began, and Blender tells nothing else of it.
        _put_back(armature, slid.before)
        _Now.slid = replace(slid, left=_left(context, armature, held))
        return
    joints = _pose(context, held, slid, to)
    key_hand(context, held, joints)
    _Now.slid = replace(slid, left=_left(context, armature, held))


def _begun(context: "Context", armature: "Object", held: RigHand, slider: Slider) -> _Slid:
    stands, dip_lock = held.read(), context.scene.knuckle_posing.dip_lock
    at = float(np.float32(settled(sliders_of(held.hand, dip_lock).read(stands.pose.angles[0], slider))))
    bones = bones_of(held, held.binding.mapped)[0]
    before = _Before(
        channel_diff.channels_of(armature, bones), spots_of(armature), keys_before(context, armature, bones)
    )
    return _Slid(slider, stands, _pinned(context, armature, held, stands, slider), at, before)


def _pose(context: "Context", held: RigHand, slid: _Slid, to: float) -> frozenset[int]:
    """The joints that were posed."""
    sliders, began = sliders_of(held.hand, context.scene.knuckle_posing.dip_lock), slid.began
    angles = sliders.write(began.pose.angles[0], slid.slider, to)[None]
    # Wherever the arm has gone meanwhile.
    root = held.seen_frames()[:1]
    joints = frozenset(held.reached({int(held.hand.axis_joint[dof]) for dof in sliders.moves(slid.slider)}))
    if slid.pinned is None:
        _only(held, joints).write(HandState(Pose(held.hand, root, angles), began.beyond))
        return joints
    posed = pose_pinned(slid.pinned, Pose(slid.pinned.held.hand, root, angles), joints)
    pins_along(held, [slid.pinned.driven] if slid.pinned.driven else [])
    return posed


def _put_back(armature: "Object", before: _Before) -> None:
    channel_diff.give_back(armature, before.channels)
    put_pins_back(armature, before.spots)
    if before.keys is not None:
        give_back(armature, before.keys)


@lru_cache(maxsize=8)
def _only(held: RigHand, joints: frozenset[int]) -> RigHand:
    """What a drag of a slider works out in each of its steps."""
    return held.only(joints)


def _pinned(context: "Context", armature: "Object", held: RigHand, stands: HandState, slider: Slider) -> Pinned | None:
    """A hand with pinned fingertips before a slider is moved; None where nothing is pinned."""
    pins = as_they_stand(held, pins_of(armature, held.hand.side))
    driven = "thumb" if slider.word == "oppose" else slider.digit
    if not pins:
        return None
    return take_pinned(held, stands, pins, driven, coupled=context.scene.knuckle_posing.dip_lock)


def _left(context: "Context", armature: "Object", held: RigHand) -> Hashable:
    names = bones_of(held, held.binding.mapped)[0]
    stood = np.array([armature.pose.bones[name].matrix_basis for name in names]).tobytes()
    keys = keys_now(armature, names) if context.scene.tool_settings.use_keyframe_insert_auto else None
    pins = tuple(sorted(spots_of(armature).items()))
    return armature.session_uid, held.hand.side, context.scene.frame_current_final, stood, pins, keys
