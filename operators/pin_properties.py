"""Pins of fingertips to the world, another object's surface or another finger: properties of the armature object."""

from collections.abc import Callable, Collection
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
)

from ..hand.joints import CHAIN_JOINTS, JOINT_INDEX, Side
from ..posing.dragging import Pin
from ..rig.posing.pins import NOWHERE, SurfaceAnchor, anchor_on, anchor_position, is_in_view_layer
from ..rig.posing.rig_hand import RigHand
from .rig_hands import DIGIT_ITEMS, SIDE_ITEMS
from .setting_properties import NOT_ANIMATED

if TYPE_CHECKING:
    from bpy.types import Object

KINDS = [
    ("WORLD", "World", "Keep the fingertip where it is in the world"),
    ("OBJECT", "Surface", "Keep the fingertip on another object's surface and move with it"),
    ("DIGIT", "Digit", "Keep the fingertip's position relative to another fingertip"),
]
PIN_FIELDS = ("kind", "other", "place", "corners", "shares", "home", "vertices")
"""The properties of a KnucklePin that define its position."""
PinValues = dict[tuple[str, str], tuple[Any, ...]]
"""(side, digit) -> values of the properties in PIN_FIELDS."""
OVERRIDABLE: set[str] = {"LIBRARY_OVERRIDABLE"}


class KnucklePin(bpy.types.PropertyGroup):
    """A pin of one of an armature's fingertips."""

    side: EnumProperty(
        name="Hand", description="Which hand", items=SIDE_ITEMS, options=NOT_ANIMATED, override=OVERRIDABLE
    )
    digit: EnumProperty(
        name="Digit", description="Whose tip is pinned", items=DIGIT_ITEMS, options=NOT_ANIMATED, override=OVERRIDABLE
    )
    kind: EnumProperty(
        name="To", description="What it is pinned to", items=KINDS, options=NOT_ANIMATED, override=OVERRIDABLE
    )
    target: PointerProperty(
        name="Surface Object",
        description="Object on whose surface the fingertip is pinned",
        type=bpy.types.Object,
        override=OVERRIDABLE,
    )
    other: EnumProperty(
        name="Other Digit",
        description="Which other digit",
        items=DIGIT_ITEMS,
        options=NOT_ANIMATED,
        override=OVERRIDABLE,
    )
    place: FloatVectorProperty(
        name="Place",
        description="In the world; relative to the surface, in the axes of its triangle; or relative to the other tip",
        size=3,
        precision=6,
        options=NOT_ANIMATED,
        override=OVERRIDABLE,
    )
    corners: IntVectorProperty(
        name="Corners",
        description="Vertices of the triangle, −1 without one",
        size=3,
        default=NOWHERE,
        options=NOT_ANIMATED,
        override=OVERRIDABLE,
    )
    shares: FloatVectorProperty(
        name="Shares", description="The weights of the corners", size=3, options=NOT_ANIMATED, override=OVERRIDABLE
    )
    home: FloatVectorProperty(
        name="Home",
        description="In the object's local space, for when its surface is hidden or replaced",
        size=3,
        precision=6,
        options=NOT_ANIMATED,
        override=OVERRIDABLE,
    )
    vertices: IntProperty(
        name="Vertices", description="How many the surface had", options=NOT_ANIMATED, override=OVERRIDABLE
    )
    released: BoolProperty(
        name="Released",
        description="Without effect: a pin of the linked file, which a library override cannot remove",
        options=NOT_ANIMATED,
        override=OVERRIDABLE,
    )


def pins_on(armature: "Object") -> "list[Any]":
    """Return the KnucklePins of an armature object that are not released."""
    pinned: Any = armature
    return [pin for pin in pinned.knuckle_pins if not pin.released]


def pin_of(armature: "Object", side: Side, digit: str) -> Any:
    """Return the pin of a digit, or None."""
    return next((pin for pin in pins_on(armature) if pin.side == side and pin.digit == digit), None)


def has_target(pin: Any) -> bool:
    """Return whether the target of a pin still exists."""
    return pin.kind != "OBJECT" or is_in_view_layer(pin.target)


def pins_of(armature: "Object", side: Side) -> list[Pin]:
    """Return the current pins of a hand, as dragging uses them. Pins to deleted objects are left out."""
    size = _scale(armature)
    pins = []
    for pin in pins_on(armature):
        if pin.side != side or not has_target(pin):
            continue
        position = np.array(pin.place)
        if pin.kind == "OBJECT":
            corners, fractions = tuple(pin.corners), tuple(pin.shares)
            position = anchor_position(
                pin.target, SurfaceAnchor(tuple(pin.home), corners, fractions, tuple(pin.place), pin.vertices)
            )
        other_digit = pin.other if pin.kind == "DIGIT" else None
        pins.append(Pin(pin.digit, size * position if other_digit else position, other_digit))
    return pins


def pin_digit(armature: "Object", rig_hand: RigHand, digit: str, kind: str, to: "Object | str | None" = None) -> None:
    """Pin a fingertip where it is now. to: the object, or the other digit."""
    side = rig_hand.hand.side
    frames = rig_hand.evaluated_frames()
    tip = frames[JOINT_INDEX[CHAIN_JOINTS[digit][-1]], :3, 3]
    pinned: Any = armature
    # A released pin of a linked file is used again.
    of_digit = (pin for pin in pinned.knuckle_pins if pin.side == side and pin.digit == digit)
    pin = next(of_digit, None) or pinned.knuckle_pins.add()
    pin.side, pin.digit, pin.kind, pin.released = side, digit, kind, False
    pin.target, pin.corners, pin.place = None, NOWHERE, tip
    if isinstance(to, str):
        other_tip = frames[JOINT_INDEX[CHAIN_JOINTS[to][-1]], :3, 3]
        pin.other, pin.place = to, (tip - other_tip) @ frames[0, :3, :3] / _scale(armature)
    elif to is not None:
        anchor = anchor_on(to, tip)
        pin.target, pin.place, pin.corners, pin.shares = to, anchor.offset, anchor.corners, anchor.barycentric
        pin.home, pin.vertices = anchor.home, anchor.vertices


def update_pin(armature: "Object", rig_hand: RigHand, digit: str) -> None:
    """Move the pin of a dragged fingertip to where the tip is now. A pin to a deleted object stays."""
    pin = pin_of(armature, rig_hand.hand.side, digit)
    if pin is not None and pin.kind != "DIGIT" and has_target(pin):
        pin_digit(armature, rig_hand, digit, pin.kind, pin.target)


def pin_values(armature: "Object") -> PinValues:
    """Read the positions of the pins, for restore_pins."""
    return {
        (pin.side, pin.digit): tuple(_plain(getattr(pin, name)) for name in PIN_FIELDS) for pin in pins_on(armature)
    }


def restore_pins(armature: "Object", values: PinValues) -> None:
    """Restore the positions of the pins."""
    for pin in pins_on(armature):
        for name, value in zip(PIN_FIELDS, values.get((pin.side, pin.digit), ()), strict=False):
            setattr(pin, name, value)


def _plain(value: Any) -> Any:
    return value if isinstance(value, int | str) else tuple(value)


def unpin(armature: "Object", condition: "Callable[[Any], bool]") -> int:
    """Remove the pins that `wanted` selects. Returns how many there were."""
    pins: Any = armature
    released_pins = [number for number, pin in enumerate(pins.knuckle_pins) if not pin.released and condition(pin)]
    for number in reversed(released_pins):
        try:
            pins.knuckle_pins.remove(number)
        except TypeError:
            # A library override cannot remove pins of its linked file.
            pins.knuckle_pins[number].released = True
    return len(released_pins)


def unpin_digit(armature: "Object", side: Side, digit: str) -> bool:
    """Remove the pin of a digit. Returns whether there was one."""
    return unpin(armature, lambda pin: pin.side == side and pin.digit == digit) > 0


def update_pins(rig_hand: RigHand, digits: Collection[str]) -> None:
    """Move the pins of posed digits to where the tips are now, as update_pin does."""
    armature = rig_hand.armature_object()
    pinned = [digit for digit in digits if pin_of(armature, rig_hand.hand.side, digit) is not None]
    if pinned:
        bpy.context.view_layer.update()
    for digit in pinned:
        update_pin(armature, rig_hand, digit)


def _scale(armature: "Object") -> float:
    return float(np.cbrt(abs(np.linalg.det(np.array(armature.matrix_world)[:3, :3]))))


CLASSES = (KnucklePin,)
PROPERTIES = (
    (
        bpy.types.Object,
        "knuckle_pins",
        bpy.props.CollectionProperty(type=KnucklePin, override={"LIBRARY_OVERRIDABLE", "USE_INSERTION"}),
    ),
)
