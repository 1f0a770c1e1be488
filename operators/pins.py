"""Pin and unpin fingertips, and bring them to their pins."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import bpy
import numpy as np
from bpy.props import BoolProperty, EnumProperty, StringProperty
from numpy.typing import NDArray

from ..errors import KnuckleError, RigError
from ..hand.joints import CHAIN_JOINTS, DIGITS, JOINT_INDEX, SIDES, Side, digit_label, digit_of
from ..posing.grasping.contact_frames import hand_length
from ..rig.posing.dragging import moved_bones, restore_pose
from ..rig.posing.pin_reach import MET, pin_distances, reach_pins
from ..rig.posing.pins import nearest_surface
from ..rig.posing.posable_cache import posable_hand_arm
from ..rig.posing.rig_hand import RigHand
from .auto_key import key_posed
from .job import redraw_views
from .mouse_picking import press_position, tips_under_mouse
from .pin_properties import KINDS, pin_digit, pins_of, pins_on, unpin, unpin_digit
from .posed_hands import can_drag, check_posable, in_pose_mode, named_armature
from .reports import report_message
from .rig_hands import DIGIT_ITEMS, SIDE_ITEMS
from .session import SESSION, PickedTip

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems
    from bpy.types import Context, Event, Object

Floats = NDArray[np.float64]
Items = list[tuple[str, str, str, str, int]]

PAD_CENTRE = (0.036, 0.01)
"""Centre of a finger's pad in hand lengths: distance from the tip back along the bone, and towards the palm's side."""
TOUCH_DISTANCE = 0.045
"""Distance in hand lengths from the pad's centre within which a surface is touched: 2 mm off an adult's skin."""


def touchable_objects(context: "Context", armature: "Object") -> "Iterator[Object]":
    """Yield the objects that a hand may touch: the visible ones that do not belong to the armature."""
    return (obj for obj in context.visible_objects if not _belongs_to(obj, armature))


def _belongs_to(obj: "Object", armature: "Object") -> bool:
    """Return whether an object is the armature, its child or deformed by it."""
    if any(getattr(modifier, "object", None) == armature for modifier in obj.modifiers):
        return True
    above: Object | None = obj
    while above is not None and above != armature:
        above = above.parent
    return above is not None


class _DigitOperator:
    """Mixin of operators on a digit: the one that the properties name, or the one under the mouse."""

    bl_options = {"REGISTER", "UNDO"}

    armature: StringProperty(name="Armature", description="Armature of the hand. If empty, the active one")
    side: EnumProperty(name="Hand", description="Which hand", items=SIDE_ITEMS, default="right")
    digit: EnumProperty(name="Digit", description="Digit whose tip is pinned", items=DIGIT_ITEMS, options={"SKIP_SAVE"})

    @classmethod
    def poll(cls, context: "Context") -> bool:
        """Available in Pose Mode."""
        return can_drag(cls, context)

    def invoke(self, context: "Context", event: "Event") -> "set[OperatorReturnItems]":
        """Use the digit under the mouse, unless the property is set.

        Where the rings of several fingertips overlap, each press picks the next one, as Blender's selection does.
        """
        operator: Any = self
        if not operator.properties.is_property_set("digit"):
            mouse = press_position(event)
            tips = tuple((armature.name, side, joint) for armature, side, joint in tips_under_mouse(context, mouse))
            if not tips:
                return {"PASS_THROUGH"}
            current_index = SESSION.picked_tip
            SESSION.picked_tip = current_index.next(mouse, tips) if current_index else PickedTip(mouse, tips, 0)
            operator.armature, operator.side, joint = SESSION.picked_tip.tips[SESSION.picked_tip.picked]
            operator.digit = digit_of(joint)
            if len(tips) > 1:
                report_message(
                    operator,
                    "INFO",
                    f"{digit_label(operator.digit).capitalize()}; press again for the next of {len(tips)}",
                )
        status: set[OperatorReturnItems] = operator.execute(context)
        return status

    def execute(self, context: "Context") -> "set[OperatorReturnItems]":
        """Change the pin, or report why it cannot be changed."""
        operator: Any = self
        try:
            armature = named_armature(context, operator.armature)
            changed = operator.change(context, armature)
        except KnuckleError as error:
            report_message(operator, "ERROR", str(error))
            return {"CANCELLED"}
        # The ring and the tool's header are in other regions than the panel.
        redraw_views(context)
        return {"FINISHED"} if changed else {"CANCELLED"}


def _pin_items() -> dict[str, Items]:
    """Return digit -> menu items of what it can be pinned to."""
    other_digits = ("TOUCHED", "Touched Surface", "The surface that the fingertip touches, otherwise the world")
    kinds = [
        other_digits,
        *KINDS[:2],
        ("DIGIT", "Nearest Digit", "Keep the position relative to the nearest fingertip"),
    ]
    fingers = [
        (digit, digit_label(digit).title(), f"Keep the position relative to the tip of the {digit_label(digit)}")
        for digit in DIGITS
    ]
    items: Items = [(*item, "NONE", number) for number, item in enumerate([*kinds, *fingers])]
    return {digit: [item for item in items if item[0] != digit] for digit in DIGITS}


PIN_ITEMS = _pin_items()


class KNUCKLE_OT_pin_fingertip(_DigitOperator, bpy.types.Operator):
    """Pin a fingertip where it is: it stays there while the palm and other digits are dragged"""

    bl_idname = "knuckle.pin_fingertip"
    bl_label = "Pin Fingertip"

    to: EnumProperty(
        name="To",
        description="What it is pinned to",
        items=lambda self, _context: PIN_ITEMS[self.digit],
        # The next finger starts with the default again.
        options={"SKIP_SAVE"},
    )
    target: StringProperty(
        name="Surface Object", description="Object to pin to. If empty, the nearest one", options={"SKIP_SAVE"}
    )
    toggle: BoolProperty(name="Toggle", description="Unpin it if it is pinned", options={"SKIP_SAVE", "HIDDEN"})

    def change(self, context: "Context", armature: "Object") -> bool:
        """Pin the fingertip. Raises RigError if there is nothing to pin it to."""
        if self.toggle and unpin_digit(armature, self.side, self.digit):
            return True
        rig_hand = posable_hand_arm(armature, self.side).rig_hand
        if self.digit not in rig_hand.digits:
            raise RigError(f"armature '{armature.name}' has no {digit_label(self.digit)} on its {self.side} hand")
        kind, to = self._target_of(context, armature, rig_hand)
        pin_digit(armature, rig_hand, self.digit, kind, to)
        return True

    def _target_of(
        self, context: "Context", armature: "Object", rig_hand: RigHand
    ) -> "tuple[str, Object | str | None]":
        frames = rig_hand.evaluated_frames()
        tips = {digit: frames[JOINT_INDEX[CHAIN_JOINTS[digit][-1]], :3, 3] for digit in rig_hand.digits}
        pinned_tip = tips[self.digit]
        if self.to in DIGITS and self.to not in tips:
            raise RigError(f"armature '{armature.name}' has no {digit_label(self.to)} on its {self.side} hand")
        if self.to == "DIGIT" or self.to in DIGITS:
            other_tips = {
                digit: tip for digit, tip in tips.items() if digit != self.digit and self.to in ("DIGIT", digit)
            }
            if not other_tips:
                raise RigError(f"there is no digit besides the {digit_label(self.digit)}, pin it to something else")
            return "DIGIT", min(other_tips, key=lambda digit: float(np.linalg.norm(other_tips[digit] - pinned_tip)))
        if self.to in ("TOUCHED", "OBJECT"):
            surface = self._surface(context, armature, frames, rig_hand)
            if surface is not None:
                return "OBJECT", surface
            if self.to == "OBJECT":
                raise RigError("there is no other object with a surface in this view layer, add one")
        return "WORLD", None

    def _surface(self, context: "Context", armature: "Object", frames: Floats, rig_hand: RigHand) -> "Object | None":
        if self.target and self.to == "OBJECT":
            target: Object | None = context.view_layer.objects.get(self.target)
            if target is None:
                raise RigError(f"there is no object '{self.target}' in this view layer, choose another one")
            if _belongs_to(target, armature):
                raise RigError(f"'{target.name}' moves with '{armature.name}' itself, choose another object")
            return target
        last, tip = (frames[JOINT_INDEX[joint], :3, 3] for joint in CHAIN_JOINTS[self.digit][-2:])
        if self.to == "OBJECT":
            return nearest_surface(touchable_objects(context, armature), tip, np.inf)
        size, inwards = hand_length(rig_hand.hand), last - tip
        direction = inwards / max(float(np.linalg.norm(inwards)), 1e-9 * size)
        middle = tip + size * (
            PAD_CENTRE[0] * direction - PAD_CENTRE[1] * frames[JOINT_INDEX[CHAIN_JOINTS[self.digit][-1]], :3, 2]
        )
        return nearest_surface(touchable_objects(context, armature), middle, TOUCH_DISTANCE * size)


class KNUCKLE_OT_unpin_fingertip(_DigitOperator, bpy.types.Operator):
    """Unpin a fingertip"""

    bl_idname = "knuckle.unpin_fingertip"
    bl_label = "Unpin Fingertip"

    def change(self, _context: "Context", armature: "Object") -> bool:
        """Unpin the fingertip. Returns whether it was pinned."""
        return unpin_digit(armature, self.side, self.digit)


def _has_pins(operator: Any, context: "Context") -> bool:
    if can_drag(operator, context):
        if any(pins_on(armature) for armature in in_pose_mode(context)):
            return True
        operator.poll_message_set("No fingertip is pinned")
    return False


class KNUCKLE_OT_unpin_all(bpy.types.Operator):
    """Unpin all fingertips of the armatures in Pose Mode"""

    bl_idname = "knuckle.unpin_all"
    bl_label = "Unpin All"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: "Context") -> bool:
        """Available if there is a pin."""
        return _has_pins(cls, context)

    def execute(self, context: "Context") -> "set[OperatorReturnItems]":
        """Unpin the fingertips of all hands."""
        for armature in in_pose_mode(context):
            if armature.is_editable:
                unpin(armature, lambda _: True)
        redraw_views(context)
        return {"FINISHED"}


class KNUCKLE_OT_reach_pins(bpy.types.Operator):
    """Move pinned fingertips back to their pins, after objects have moved or on another frame"""

    bl_idname = "knuckle.reach_pins"
    bl_label = "Snap to Pins"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: "Context") -> bool:
        """Available if there is a pin."""
        return _has_pins(cls, context)

    def execute(self, context: "Context") -> "set[OperatorReturnItems]":
        """Solve each hand and key it as auto-keying would. Hands that cannot be posed are reported and skipped."""
        any_moved, out_of_reach, refusals = False, [], []
        hands = [(armature, side) for armature in in_pose_mode(context) for side in SIDES]
        for armature, side in hands:
            try:
                has_moved, unreached = _reach(context, armature, side)
            except KnuckleError as error:
                refusals.append(str(error))
                continue
            any_moved |= has_moved
            out_of_reach += unreached
        if out_of_reach:
            refusals.insert(0, f"Out of reach: {', '.join(out_of_reach)}")
        if refusals:
            report_message(self, "WARNING" if any_moved or out_of_reach else "ERROR", "; ".join(refusals))
        elif not any_moved:
            report_message(self, "INFO", "All pinned fingertips are at their pins")
        return {"FINISHED"} if any_moved else {"CANCELLED"}


def _reach(context: "Context", armature: "Object", side: Side) -> tuple[bool, list[str]]:
    """Move a hand to its pins. Returns whether it moved, and which digits are out of reach, in words.

    Raises KnuckleError, and then nothing has changed.
    """
    pins = pins_of(armature, side)
    if not pins:
        return False, []
    check_posable(armature)
    hand_arm = posable_hand_arm(armature, side)
    dragged = reach_pins(hand_arm, pins, coupled=context.scene.knuckle_posing.dip_lock)
    context.view_layer.update()
    bones, placed_bones = moved_bones(dragged)
    if bones:
        key_posed(context, armature, bones, placed_bones)
    else:
        restore_pose(dragged)
    of_armature, tolerance = (
        f" of '{armature.name}'" if len(in_pose_mode(context)) > 1 else "",
        MET * hand_length(hand_arm.rig_hand.hand),
    )
    return bool(bones), [
        f"the {side} {digit_label(digit)}{of_armature} by {1000 * distance:.{0 if distance > 0.01 else 1}f} mm"
        for digit, distance in pin_distances(hand_arm.rig_hand, pins).items()
        if distance > tolerance
    ]


CLASSES = (
    KNUCKLE_OT_pin_fingertip,
    KNUCKLE_OT_unpin_fingertip,
    KNUCKLE_OT_unpin_all,
    KNUCKLE_OT_reach_pins,
)
