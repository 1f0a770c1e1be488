"""Dragging a slider: every value is applied to the state before the drag, so that the path of the drag leaves no
trace."""

from collections.abc import Hashable
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from bpy.app.handlers import persistent

from ..hand.kinematics import Pose
from ..hand.model import HandModel
from ..posing.sliders import Slider, Sliders
from ..rig.posing import channel_diff
from ..rig.posing.pin_compensation import PinnedHand, pinned_hand, pose_pinned
from ..rig.posing.pin_reach import pins_at_fingertips
from ..rig.posing.posable_cache import posable_hand
from ..rig.posing.rig_hand import HandState, RigHand
from .auto_key import bones_of, key_hand
from .auto_key_undo import keys_before, keys_fingerprint, restore_keys
from .pin_properties import pin_values, pins_of, restore_pins, update_pins
from .posed_hands import hand_to_pose
from .session import SESSION, SliderDrag

if TYPE_CHECKING:
    from bpy.types import Context, Object

SNAP = 2e-4
"""Distance from an end, or from zero, within which a slider snaps to it."""
MIN_VALUE = 0.01
"""The smallest value of a slider but zero: Blender shows further digits of smaller ones, such as 0.00688."""


@persistent  # type: ignore[untyped-decorator]  # Blender's own
def forget_slider_drag(*_of_handler: Any) -> None:
    """Forget the drag of a slider: another file has other bones, even if their names are the same."""
    SESSION.slider_drag = None


@lru_cache(maxsize=8)
def sliders_of(hand: HandModel, locked: bool) -> Sliders:
    """Return the sliders of a hand. Cached, since hands are immutable."""
    return Sliders(hand, locked)


def snapped(value: float) -> float:
    """Return a slider's value without the rounding of bones, which have 32 bits: no 1.0001, no -0.0, no 0.00688."""
    if abs(value) < MIN_VALUE:
        return round(value, 2) + 0.0
    return round(value) + 0.0 if abs(value - round(value)) < SNAP else value


def slide(context: "Context", slider: Slider, value: float) -> None:
    """Pose the chosen hand with a slider at a value, and auto-key it.

    Raises RigError where there is no such hand, or it cannot be posed.
    """
    armature, side = hand_to_pose(context)
    rig_hand, drag = posable_hand(armature, side), SESSION.slider_drag
    if drag is None or drag.slider != slider or drag.fingerprint != _fingerprint(context, armature, rig_hand):
        drag = _start_drag(context, armature, rig_hand, slider)
    elif value == drag.start_value:
        # Escape sets the first value again; Blender does not notify otherwise.
        channel_diff.restore_channels(armature, drag.channels)
        restore_pins(armature, drag.pins)
        if drag.keys is not None:
            restore_keys(armature, drag.keys)
        SESSION.slider_drag = replace(drag, fingerprint=_fingerprint(context, armature, rig_hand))
        return
    joints = _pose(context, rig_hand, drag, value)
    key_hand(context, rig_hand, joints)
    SESSION.slider_drag = replace(drag, fingerprint=_fingerprint(context, armature, rig_hand))


def _start_drag(context: "Context", armature: "Object", rig_hand: RigHand, slider: Slider) -> SliderDrag:
    state, dip_lock = rig_hand.read(), context.scene.knuckle_posing.dip_lock
    start_value = float(np.float32(snapped(sliders_of(rig_hand.hand, dip_lock).read(state.pose.angles[0], slider))))
    bones = bones_of(rig_hand, rig_hand.binding.mapped)[0]
    return SliderDrag(
        slider,
        state,
        _pinned(context, armature, rig_hand, state, slider),
        start_value,
        channel_diff.channels_of(armature, bones),
        pin_values(armature),
        keys_before(context, armature, bones),
    )


def _pose(context: "Context", rig_hand: RigHand, drag: SliderDrag, value: float) -> frozenset[int]:
    """Pose the hand; return the joints that were posed."""
    sliders, start = sliders_of(rig_hand.hand, context.scene.knuckle_posing.dip_lock), drag.start
    angles = sliders.write(start.pose.angles[0], drag.slider, value)[None]
    # The arm may have moved since the drag began.
    root = rig_hand.evaluated_frames()[:1]
    joints = frozenset(
        rig_hand.dependent_joints({int(rig_hand.hand.axis_joint[dof]) for dof in sliders.moves(drag.slider)})
    )
    if drag.pinned is None:
        _only(rig_hand, joints).write(HandState(Pose(rig_hand.hand, root, angles), start.beyond))
        return joints
    posed_pinned = pose_pinned(drag.pinned, Pose(drag.pinned.rig_hand.hand, root, angles), joints)
    update_pins(rig_hand, [drag.pinned.driven] if drag.pinned.driven else [])
    return posed_pinned


@lru_cache(maxsize=8)
def _only(rig_hand: RigHand, joints: frozenset[int]) -> RigHand:
    """Return RigHand.only, cached for the steps of a drag."""
    return rig_hand.only(joints)


def _pinned(
    context: "Context", armature: "Object", rig_hand: RigHand, state: HandState, slider: Slider
) -> PinnedHand | None:
    """Return a hand with pinned fingertips before a slider moves; None where none is pinned."""
    pins = pins_at_fingertips(rig_hand, pins_of(armature, rig_hand.hand.side))
    driven_joints = "thumb" if slider.kind == "oppose" else slider.digit
    if not pins:
        return None
    return pinned_hand(rig_hand, state, pins, driven_joints, coupled=context.scene.knuckle_posing.dip_lock)


def _fingerprint(context: "Context", armature: "Object", rig_hand: RigHand) -> Hashable:
    """Return a fingerprint of the hand's bones, pins, frame and keys. It shows if something else changes the hand."""
    names = bones_of(rig_hand, rig_hand.binding.mapped)[0]
    bases = np.array([armature.pose.bones[name].matrix_basis for name in names]).tobytes()
    keys = keys_fingerprint(armature, names) if context.scene.tool_settings.use_keyframe_insert_auto else None
    pins = tuple(sorted(pin_values(armature).items()))
    return armature.session_uid, rig_hand.hand.side, context.scene.frame_current_final, bases, pins, keys
