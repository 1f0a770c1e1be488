"""Hold a contact in a take: one that the solve found, or one of chosen parts of the hand."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from math import ceil, floor
from typing import TYPE_CHECKING, Any

import bpy
from bpy.props import EnumProperty, IntProperty, StringProperty

from ..errors import RecipeError, RigError
from ..hand.generators import Progress, Steps, part_of
from ..hand.joints import DIGITS, SIDES, Side, digit_title
from ..pipeline.contacts.hold_touch import find_touch
from ..pipeline.corrections.correction import PALM, Correction, HeldTouch, TimeRange
from ..pipeline.corrections.correction_json import MAX_TEXT
from ..pipeline.corrections.touch_json import touch_from_dict
from ..rig.keys.corrections.composing import corrected_keys, of_hand
from ..rig.keys.corrections.corrected_take import check_correctable, hands_of_take, played_frames
from ..rig.keys.corrections.hand_of_take import HandOfTake
from ..rig.keys.corrections.held_touch import range_of_touch
from ..rig.keys.corrections.object_motion import PlayedFrames
from ..rig.keys.corrections.place_on_object import chosen_on_object
from ..rig.keys.fcurves import FRAME_TOLERANCE
from ..rig.keys.take_report import REPORT_PROPERTY, parsed_report
from ..rig.markers_object import is_markers
from ..rig.skin_bones import is_skin
from .correction_range import (
    RangeOperator,
    blend_property,
    chosen_side,
    first_property,
    hand_property,
    last_property,
)
from .job import ConfirmedJob, no_job_runs
from .reports import report_message
from .review import BeforeCorrection
from .rig_hands import DIGIT_ITEMS
from .take_corrections import ShownTake, has_take, required_take, shown_take

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems
    from bpy.types import Context, Event

ON_OBJECT = "OBJECT"
CHOOSING_FRACTION = 0.2
"""Fraction of the progress for finding the contact's position."""
OTHER_ITEMS = [
    *DIGIT_ITEMS,
    ("palm", "Palm", "The palm of the hand"),
    (ON_OBJECT, "Object", "A mesh of the scene, such as a table"),
]
ON_OBJECT_ITEMS = [
    *DIGIT_ITEMS,
    (PALM, "Palm", "The palm rests on the object: the wrist is moved and rotated, and digits give way"),
]


@dataclass(frozen=True, slots=True, eq=False)
class FoundContact:
    """A contact of the performer that the take's solve found."""

    side: Side
    touch: HeldTouch
    start: float
    end: float
    """s, on the capture's clock."""
    gap_mm: float
    """mm, gap between the performer's skins."""

    @property
    def name(self) -> str:
        """The parts that touch, such as "Thumb on index"."""
        digit, other = self.touch.parts
        return f"{digit_title(digit)} on {digit_title(other).lower()}"


def found_contacts(take: ShownTake) -> list[FoundContact]:
    """Return the performer's contacts that a take does not hold yet, by time, without damaged entries of the report."""
    candidates = _reported_contacts(str(take.base.get(REPORT_PROPERTY, "")))
    return [
        contact for contact in candidates if not any(_holds(correction, contact) for correction in take.corrections)
    ]


@lru_cache(maxsize=2)  # panels call it whenever they are drawn
def _reported_contacts(report: str) -> tuple[FoundContact, ...]:
    """Return the contacts of a take's report that its solve did not hold, by time."""
    result, hands = list[FoundContact](), (parsed_report(report) or {}).get("hands", {})
    for side in SIDES:
        contacts = hands.get(side, {}).get("contacts", [])
        for contact in contacts if isinstance(contacts, list) else []:
            with suppress(RecipeError, KeyError, TypeError, ValueError, OverflowError):
                if "off_mm" not in contact:
                    result.append(_found(side, contact))
    return tuple(sorted(result, key=lambda contact: contact.start))


def _found(side: Side, contact: dict[str, Any]) -> FoundContact:
    touch = touch_from_dict(contact["touch"], "contact")
    return FoundContact(side, touch, float(contact["start"]), float(contact["end"]), float(contact["gap_mm"]))


def _holds(correction: Correction, contact: FoundContact) -> bool:
    """Return whether a correction holds these parts at that time."""
    same = isinstance(correction.change, HeldTouch) and set(correction.change.parts) == set(contact.touch.parts)
    return (
        same
        and correction.hand == contact.side
        and correction.range.full_start <= contact.end
        and contact.start <= correction.range.full_end
    )


def objects_to_touch(_operator: Any, context: "Context", typed: str) -> list[str]:
    """Return the names of the meshes in the scene that contain the typed text, those that start with it first.

    The skin of the take's armatures, and markers, are left out.
    """
    take, part = shown_take(context), typed.lower()
    armatures = take.armatures if take else ()
    meshes = (obj for obj in context.scene.objects if obj.type == "MESH" and not is_markers(obj))
    names = (obj.name for obj in meshes if not any(is_skin(obj, armature) for armature in armatures))
    return sorted(
        (name for name in names if part in name.lower()), key=lambda name: (not name.lower().startswith(part), name)
    )


class KNUCKLE_OT_hold_contact(ConfirmedJob, RangeOperator, bpy.types.Operator):
    """Keep a fingertip on another digit, the palm or an object over a range of frames, without slip, as a correction
    that a new solve keeps. If the fingertip comes from far away, the blends take some of these frames"""

    bl_idname = "knuckle.hold_contact"
    bl_label = "Hold Contact"
    bl_options = {"REGISTER", "UNDO"}

    found: IntProperty(
        name="Found Contact",
        description="Which of the contacts that were found, from 1 in the order of time; 0 takes the parts below",
        default=0,
        min=0,
        options={"SKIP_SAVE"},
    )
    digit: EnumProperty(name="Digit", description="The digit whose tip touches", items=DIGIT_ITEMS)
    other: EnumProperty(name="On", description="What it touches", items=OTHER_ITEMS, default=DIGITS[1])
    object: StringProperty(
        name="Object",
        description="The mesh of the scene that is touched, which may be animated",
        search=objects_to_touch,
        options={"SKIP_SAVE"},
    )
    tips: EnumProperty(
        name="Parts",
        description="The digits whose tips touch the object, and the palm, which rests on it",
        items=ON_OBJECT_ITEMS,
        options={"ENUM_FLAG"},
        default={DIGITS[1]},
    )
    hand: hand_property()
    first: first_property()
    last: last_property()
    blend: blend_property()

    @classmethod
    def poll(cls, context: "Context") -> bool:
        """Available with a take, and no other job."""
        return has_take(cls, context) and no_job_runs(cls, context)

    def invoke(self, context: "Context", _event: "Event") -> "set[OperatorReturnItems]":
        """Open a dialog for the parts and the frames, unless a found contact is to be held."""
        return self.begin(context) if self.found else self.open_range_dialog(context)

    def draw(self, _context: "Context") -> None:
        """Draw the choices."""
        if not self.found:
            on_object = self.other == ON_OBJECT
            for name in ("other", "object", "hand") if on_object else ("digit", "other", "hand"):
                self.layout.prop(self, name)
            if on_object:
                self.layout.column(align=True).prop(self, "tips")
            self.draw_range(self.layout)

    def steps(self, context: "Context") -> Iterator[Progress]:
        """Make the correction, and compose the take with it."""
        self.fill_range(context)
        take, poses_by_armature = required_take(context), dict[str, PlayedFrames]()
        correction = yield from part_of(
            0.0, CHOOSING_FRACTION, "Choosing where it touches", self._make_correction(take, poses_by_armature)
        )
        self._correction = replace(correction, id=take.new_id())
        composing = take.composing((*take.corrections, self._correction), poses_by_armature)
        self._composed = yield from part_of(CHOOSING_FRACTION, 1.0, "Holding the contact", composing)

    def finish(self, context: "Context") -> None:
        """Write the keys, select the correction, and report the result."""
        take, correction, before_correction = required_take(context), self._correction, BeforeCorrection.of(context)
        notes = take.write((*take.corrections, correction), composed=self._composed)
        context.scene.knuckle_correction.selected = correction.id
        operator: Any = self
        before_correction.report_remains(operator, context)
        if notes := (*self._shortened_blends(take, correction.range), *notes):
            report_message(self, "WARNING", "; ".join(notes))

    def _shortened_blends(self, take: ShownTake, span: TimeRange) -> tuple[str, ...]:
        """Return a sentence if the given blends together are longer than the range."""
        blends = [round(blend * take.clock.rate, 2) for blend in (span.blend_in, span.blend_out) if blend > 0.0]
        if self.found or not blends or max(blends) >= self.blend:
            return ()
        blend_frames = f"blends of {self.blend} frames are together longer than frames {self.first} to {self.last}"
        return (f"{blend_frames}, and became {max(blends):g} frames long",)

    def _make_correction(self, take: ShownTake, poses_by_armature: dict[str, PlayedFrames]) -> Steps[Correction]:
        """Return the correction. Raises KnuckleError.

        played: receives the evaluated frames, by the armature's name.
        """
        if self.found:
            return self._hold_found(take)
        if self.digit == self.other:
            raise RigError(f"the {self.digit} cannot touch itself, choose two parts of the hand")
        span, take_hand = self.range_of(take), _hand(take, self.hand)
        if self.other == ON_OBJECT:
            return (yield from self._on_object(take, take_hand, span, poses_by_armature))
        rows, held_span = (
            take_hand.expected_rows(self.first, self.last),
            take_hand.rows_between(*_between_blends(take, span)),
        )
        rows = held_span if held_span.any() else rows
        keys = corrected_keys(take_hand, of_hand(take.corrections, take_hand), take.clock, rows)
        touch = find_touch(take_hand.hand.posed(keys.rotations)[0], take_hand.hand.flesh, self.digit, self.other)
        name = f"{digit_title(self.digit)} on {digit_title(self.other).lower()}"
        return Correction("", name, take_hand.hand.side, span, touch)

    def _on_object(
        self, take: ShownTake, take_hand: HandOfTake, span: TimeRange, poses_by_armature: dict[str, PlayedFrames]
    ) -> Steps[Correction]:
        """Return the correction that holds parts of a hand on an object, at their positions between the blends."""
        palm = PALM in self.tips
        digits = tuple(digit for digit in DIGITS if digit in self.tips)
        if not self.object or not (digits or palm):
            raise RigError("choose the object that is touched, and the palm or the digits whose tips touch it")
        rows = take_hand.expected_rows(*_between_blends(take, span))
        hand_corrections = of_hand(take.corrections, take_hand)
        take_hand = take_hand if palm else take_hand.moved_by(take.corrections)
        armature = bpy.data.objects[take_hand.hand.binding.armature]
        neighbours = (
            other_hand.moved_by(take.corrections) for other_hand in hands_of_take(armature, check_correctable(armature))
        )
        frames = played_frames(armature, [take_hand, *neighbours])
        poses_by_armature[armature.name] = frames
        keys = corrected_keys(take_hand, hand_corrections, take.clock, rows, frames)
        change = yield from chosen_on_object(
            take_hand, self.object, digits, keys, take_hand.frames[rows], palm=palm, played=frames
        )
        names = " and ".join(digit_title(part) for part in (*((PALM,) if palm else ()), *digits))
        return Correction("", f"{names} on {self.object}"[:MAX_TEXT], take_hand.hand.side, span, change)

    def _hold_found(self, take: ShownTake) -> Correction:
        """Return the correction that holds a contact that was found, with its blends around it."""
        contacts = found_contacts(take)
        if self.found > len(contacts):
            raise RigError(f"there is no found contact {self.found}, only {len(contacts)} that are not held")
        contact = contacts[self.found - 1]
        take_hand = _hand(take, contact.side)
        hand_corrections = of_hand(take.corrections, take_hand)
        keys = partial(corrected_keys, take_hand, hand_corrections, take.clock)
        span = range_of_touch(
            take_hand, contact.touch, (contact.start, contact.end), take.clock, hand_corrections, corrected=keys
        )
        return Correction("", contact.name, contact.side, span, contact.touch)


def _between_blends(take: ShownTake, span: TimeRange) -> tuple[int, int]:
    """Return the first and the last scene frame on which a contact is held."""
    first, last = take.clock.frames([span.full_start, span.full_end]).tolist()
    # Blends that meet between two frames leave no frame in which to hold the contact.
    return floor(first + FRAME_TOLERANCE), ceil(last - FRAME_TOLERANCE)


def _hand(take: ShownTake, side: str) -> HandOfTake:
    """Return a take's hand of a side, or its only hand for AUTO. Raises RigError if there is none."""
    hands = [
        take_hand for armature in take.armatures for take_hand in hands_of_take(armature, check_correctable(armature))
    ]
    chosen_hand_side = chosen_side([take_hand.hand.side for take_hand in hands], side)
    return next(take_hand for take_hand in hands if take_hand.hand.side == chosen_hand_side)


CLASSES = (KNUCKLE_OT_hold_contact,)
