"""Fingertips pinned to the world, to another object's surface or to another finger: kept on the armature object."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import bpy
import numpy as np
from bpy.props import (
    BoolProperty,
    EnumProperty,
    FloatVectorProperty,
    IntProperty,
    IntVectorProperty,
    PointerProperty,
    StringProperty,
)
from numpy.typing import NDArray

from ..errors import KnuckleError, RigError
from ..hand.joints import CHAIN_JOINTS, JOINT_INDEX, Side, digit_of, digit_words
from ..posing.dragging import Pin
from ..posing.grasp.seats import length
from ..rig.dragging import moved_bones, reach_pins
from ..rig.following import Follower
from ..rig.held import HeldHand, seen_frames
from ..rig.keyframes import check_keyable
from ..rig.pins import NOWHERE, Spot, is_there, nearest_surface, place_of, spot_on
from .posing_hands import can_drag, hand_of, posed_armatures, pressed_at, under_mouse
from .posing_keys import key_posed
from .rig_hands import DIGIT_ITEMS, SIDE_ITEMS
from .setting_properties import FIXED

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems
    from bpy.types import Context, Event, Object

Floats = NDArray[np.float64]

KINDS = [
    ("WORLD", "World", "Where it is now in the world"),
    ("OBJECT", "Surface", "On another object's surface, and along with it"),
    ("DIGIT", "Finger", "As it is now to another finger's tip"),
]
OVERRIDABLE: set[str] = {"LIBRARY_OVERRIDABLE"}
NEAR = 0.06
"""Hand lengths: a surface so near to a fingertip is what it touches."""


class KnucklePin(bpy.types.PropertyGroup):
    """Where a fingertip of an armature is pinned."""

    side: EnumProperty(name="Hand", description="Which hand", items=SIDE_ITEMS, options=FIXED, override=OVERRIDABLE)
    digit: EnumProperty(
        name="Digit", description="Whose tip is pinned", items=DIGIT_ITEMS, options=FIXED, override=OVERRIDABLE
    )
    kind: EnumProperty(name="To", description="What it is pinned to", items=KINDS, options=FIXED, override=OVERRIDABLE)
    target: PointerProperty(name="Object", description="Whose surface", type=bpy.types.Object, override=OVERRIDABLE)
    other: EnumProperty(
        name="Other Digit", description="Which other digit", items=DIGIT_ITEMS, options=FIXED, override=OVERRIDABLE
    )
    place: FloatVectorProperty(
        name="Place",
        description="In the world; from the surface, in the axes of its triangle; or from the other tip",
        size=3,
        precision=6,
        options=FIXED,
        override=OVERRIDABLE,
    )
    corners: IntVectorProperty(
        name="Corners",
        description="The vertices of the triangle, below zero without one",
        size=3,
        default=NOWHERE,
        options=FIXED,
        override=OVERRIDABLE,
    )
    shares: FloatVectorProperty(
        name="Shares", description="The weights of the corners", size=3, options=FIXED, override=OVERRIDABLE
    )
    home: FloatVectorProperty(
        name="Home",
        description="In the object's own space, what counts where its surface is not seen or another one",
        size=3,
        precision=6,
        options=FIXED,
        override=OVERRIDABLE,
    )
    vertices: IntProperty(name="Vertices", description="How many the surface had", options=FIXED, override=OVERRIDABLE)
    released: BoolProperty(
        name="Released",
        description="It holds nothing: a pin of the linked file, which a library override cannot take away",
        options=FIXED,
        override=OVERRIDABLE,
    )


def pins_on(armature: "Object") -> "list[Any]":
    """Each KnucklePin of an armature object that was not let go."""
    kept: Any = armature
    return [pin for pin in kept.knuckle_pins if not pin.released]


def pin_of(armature: "Object", side: Side, digit: str) -> Any:
    """The pin of a digit, None where it has none."""
    return next((pin for pin in pins_on(armature) if pin.side == side and pin.digit == digit), None)


def holds(pin: Any) -> bool:
    """Whether there still is what a pin is to."""
    return pin.kind != "OBJECT" or is_there(pin.target)


def pins_of(armature: "Object", side: Side) -> list[Pin]:
    """Where the fingertips of a hand are pinned now. A pin to an object that is gone holds nothing."""
    size = _scale(armature)
    found = []
    for pin in pins_on(armature):
        if pin.side != side or not holds(pin):
            continue
        place = np.array(pin.place)
        if pin.kind == "OBJECT":
            corners, shares = tuple(pin.corners), tuple(pin.shares)
            place = place_of(pin.target, Spot(tuple(pin.home), corners, shares, tuple(pin.place), pin.vertices))
        other = pin.other if pin.kind == "DIGIT" else None
        found.append(Pin(pin.digit, size * place if other else place, other))
    return found


def pin_digit(armature: "Object", held: HeldHand, digit: str, kind: str, to: "Object | str | None" = None) -> None:
    """Pins a fingertip where it is now; to: the object, or the other digit."""
    side = held.hand.side
    frames = seen_frames(held)
    tip = frames[JOINT_INDEX[CHAIN_JOINTS[digit][-1]], :3, 3]
    kept: Any = armature
    # One that was let go of a linked file is there still.
    of_digit = (pin for pin in kept.knuckle_pins if pin.side == side and pin.digit == digit)
    pin = next(of_digit, None) or kept.knuckle_pins.add()
    pin.side, pin.digit, pin.kind, pin.released = side, digit, kind, False
    pin.target, pin.corners, pin.place = None, NOWHERE, tip
    if isinstance(to, str):
        other = frames[JOINT_INDEX[CHAIN_JOINTS[to][-1]], :3, 3]
        pin.other, pin.place = to, (tip - other) @ frames[0, :3, :3] / _scale(armature)
    elif to is not None:
        spot = spot_on(to, tip)
        pin.target, pin.place, pin.corners, pin.shares = to, spot.away, spot.corners, spot.shares
        pin.home, pin.vertices = spot.home, spot.vertices


def pin_again(armature: "Object", held: HeldHand, digit: str) -> None:
    """A pin of a fingertip that was dragged goes along to where it is now; one to an object that is gone waits for
    it."""
    pin = pin_of(armature, held.hand.side, digit)
    if pin is not None and pin.kind != "DIGIT" and holds(pin):
        pin_digit(armature, held, digit, pin.kind, pin.target)


def unpin(armature: "Object", wanted: "Callable[[Any], bool]") -> int:
    """Lets go of the pins that are wanted; how many there were."""
    kept: Any = armature
    let_go = [number for number, pin in enumerate(kept.knuckle_pins) if not pin.released and wanted(pin)]
    for number in reversed(let_go):
        try:
            kept.knuckle_pins.remove(number)
        except TypeError:
            # An override keeps what its linked file has.
            kept.knuckle_pins[number].released = True
    return len(let_go)


def unpin_digit(armature: "Object", side: Side, digit: str) -> bool:
    """Whether there was a pin."""
    return unpin(armature, lambda pin: pin.side == side and pin.digit == digit) > 0


def others(context: "Context", armature: "Object") -> "Iterator[Object]":
    """The objects that a hand may touch: those that are seen and are not the armature's own."""
    for obj in context.visible_objects:
        deformed = any(getattr(modifier, "object", None) == armature for modifier in obj.modifiers)
        if not deformed and obj != armature and not _hangs_on(obj, armature):
            yield obj


def _hangs_on(obj: "Object", armature: "Object") -> bool:
    above = obj.parent
    while above is not None and above != armature:
        above = above.parent
    return above is not None


def _scale(armature: "Object") -> float:
    return float(np.cbrt(abs(np.linalg.det(np.array(armature.matrix_world)[:3, :3]))))


class _OfDigit:
    """What the operators are made of, beside bpy.types.Operator: a digit by its name, or the one under the mouse."""

    bl_options = {"REGISTER", "UNDO"}

    armature: StringProperty(name="Armature", description="Whose hand it is; empty: the active one's")
    side: EnumProperty(name="Hand", description="Which hand", items=SIDE_ITEMS, default="right")
    digit: EnumProperty(name="Digit", description="Whose tip", items=DIGIT_ITEMS, options={"SKIP_SAVE"})

    @classmethod
    def poll(cls, context: "Context") -> bool:
        """In Pose Mode."""
        return can_drag(cls, context)

    def invoke(self, context: "Context", event: "Event") -> "set[OperatorReturnItems]":
        """Of what is under the mouse, unless it was said."""
        asked: Any = self
        if not asked.properties.is_property_set("digit"):
            found = under_mouse(context, pressed_at(event))
            digit = digit_of(found[2]) if found else None
            if found is None or digit is None:
                return {"PASS_THROUGH"}
            asked.armature, asked.side, asked.digit = found[0].name, found[1], digit
        done: set[OperatorReturnItems] = asked.execute(context)
        return done

    def execute(self, context: "Context") -> "set[OperatorReturnItems]":
        """Does it, or says why not."""
        asked: Any = self
        try:
            armature = named_armature(context, asked.armature)
            return {"FINISHED"} if asked.change(context, armature) else {"CANCELLED"}
        except KnuckleError as error:
            asked.report({"ERROR"}, str(error))
            return {"CANCELLED"}


def named_armature(context: "Context", name: str) -> "Object":
    """The armature in Pose Mode of this name, the active one for none.

    Raises RigError where there is none, or it cannot be posed so that it is seen.
    """
    for armature in posed_armatures(context):
        if name in ("", armature.name):
            check_keyable(armature)
            if armature.data.pose_position == "REST":
                raise RigError(f"armature '{armature.name}' is shown at rest, choose its Pose Position first")
            return armature
    raise RigError(f"no armature '{name}' is in Pose Mode, choose it and enter Pose Mode first")


class KNUCKLE_OT_pin_fingertip(_OfDigit, bpy.types.Operator):
    """Pin a fingertip where it is: it stays there while the palm and other fingers are dragged"""

    bl_idname = "knuckle.pin_fingertip"
    bl_label = "Pin Fingertip"

    to: EnumProperty(
        name="To",
        description="What it is pinned to",
        items=[("TOUCHED", "What It Touches", "The surface that it touches, or else the world"), *KINDS],
    )
    target: StringProperty(name="Object", description="Whose surface; empty: the nearest one")
    other: EnumProperty(
        name="Other Digit",
        description="Which other digit",
        items=[("NEAREST", "Nearest", "The nearest of the others"), *DIGIT_ITEMS],
    )
    toggle: BoolProperty(name="Toggle", description="Unpin it if it is pinned", options={"SKIP_SAVE", "HIDDEN"})

    def change(self, context: "Context", armature: "Object") -> bool:
        """Kept on the armature object. Raises RigError where there is nothing to pin it to."""
        if self.toggle and unpin_digit(armature, self.side, self.digit):
            return True
        held = hand_of(armature, self.side).held
        if self.digit not in held.digits:
            raise RigError(f"armature '{armature.name}' has no {digit_words(self.digit)} on its {self.side} hand")
        kind, to = self._meant(context, armature, held)
        pin_digit(armature, held, self.digit, kind, to)
        return True

    def _meant(self, context: "Context", armature: "Object", held: HeldHand) -> "tuple[str, Object | str | None]":
        frames = seen_frames(held)
        tips = {digit: frames[JOINT_INDEX[CHAIN_JOINTS[digit][-1]], :3, 3] for digit in held.digits}
        own = tips[self.digit]
        if self.to == "DIGIT":
            beside = {digit: tip for digit, tip in tips.items() if digit != self.digit}
            if self.other != "NEAREST":
                beside = {digit: tip for digit, tip in beside.items() if digit == self.other}
            if not beside:
                raise RigError(f"the {digit_words(self.digit)} has no such digit beside it, choose another one")
            return "DIGIT", min(beside, key=lambda digit: float(np.linalg.norm(beside[digit] - own)))
        if self.to in ("TOUCHED", "OBJECT"):
            found = self._surface(context, armature, own, held)
            if found is not None:
                return "OBJECT", found
            if self.to == "OBJECT":
                raise RigError("there is no other object with a surface in this view layer, add one")
        return "WORLD", None

    def _surface(self, context: "Context", armature: "Object", tip: Floats, held: HeldHand) -> "Object | None":
        if self.target and self.to == "OBJECT":
            named: Object | None = context.view_layer.objects.get(self.target)
            if named is None:
                raise RigError(f"there is no object '{self.target}' in this view layer, choose another one")
            return named
        reach = np.inf if self.to == "OBJECT" else NEAR * length(held.hand)
        return nearest_surface(others(context, armature), tip, reach)


class KNUCKLE_OT_unpin_fingertip(_OfDigit, bpy.types.Operator):
    """Let go of a fingertip that is pinned"""

    bl_idname = "knuckle.unpin_fingertip"
    bl_label = "Unpin Fingertip"

    def change(self, _context: "Context", armature: "Object") -> bool:
        """Whether it was pinned."""
        return unpin_digit(armature, self.side, self.digit)


def _can_reach(operator: Any, context: "Context") -> bool:
    if can_drag(operator, context):
        if any(pins_on(armature) for armature in posed_armatures(context)):
            return True
        operator.poll_message_set("No fingertip is pinned")
    return False


class KNUCKLE_OT_unpin_all(bpy.types.Operator):
    """Let go of all fingertips of the armatures in Pose Mode"""

    bl_idname = "knuckle.unpin_all"
    bl_label = "Unpin All"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: "Context") -> bool:
        """With a pin."""
        return _can_reach(cls, context)

    def execute(self, context: "Context") -> "set[OperatorReturnItems]":
        """Of all hands."""
        for armature in posed_armatures(context):
            if armature.is_editable:
                unpin(armature, lambda _: True)
        return {"FINISHED"}


class KNUCKLE_OT_reach_pins(bpy.types.Operator):
    """Bring pinned fingertips to where they are pinned: to objects that went elsewhere, or on another frame"""

    bl_idname = "knuckle.reach_pins"
    bl_label = "Reach Pins"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: "Context") -> bool:
        """With a pin."""
        return _can_reach(cls, context)

    def execute(self, context: "Context") -> "set[OperatorReturnItems]":
        """Each hand, and keyed as auto-keying would."""
        try:
            for armature in posed_armatures(context):
                for side in sorted({pin.side for pin in pins_on(armature)}):
                    who: Follower = hand_of(armature, side)
                    dragged = reach_pins(who, pins_of(armature, side), coupled=context.scene.knuckle_posing.dip_lock)
                    key_posed(context, armature, *moved_bones(dragged))
        except KnuckleError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        return {"FINISHED"}
