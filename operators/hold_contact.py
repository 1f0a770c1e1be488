"""Hold a contact in a take: one that was found, or of parts of the hand that are chosen."""

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
from ..pipeline.contacts.hold_touch import chosen_touch
from ..pipeline.corrections.correction import PALM, Correction, HeldTouch, TimeRange
from ..pipeline.corrections.correction_json import MAX_TEXT
from ..pipeline.corrections.touch_json import touch_from_dict
from ..rig.keys.corrections.composing import corrected_keys, of_hand
from ..rig.keys.corrections.corrected_take import check_correctable, hands_of_take, played_frames
from ..rig.keys.corrections.hand_of_take import HandOfTake
from ..rig.keys.corrections.held_touch import range_of_touch
from ..rig.keys.corrections.object_motion import PlayedFrames
from ..rig.keys.corrections.place_on_object import chosen_on_object
from ..rig.keys.fcurves import SAME_FRAME
from ..rig.keys.take_report import REPORT_PROPERTY, parsed_report
from ..rig.markers_object import is_markers
from ..rig.skin_bones import is_skin
from .correction_range import (
    OnRange,
    blend_property,
    chosen_side,
    first_property,
    hand_property,
    last_property,
)
from .job import AgreedJob, no_job_runs
from .reports import report_message
from .review import BeforeMend
from .rig_hands import DIGIT_ITEMS
from .take_corrections import ShownTake, expected_take, has_take, shown_take

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems
    from bpy.types import Context, Event

ON_OBJECT = "OBJECT"
CHOOSING = 0.2
"""The part of the work that finds where a contact is."""
OTHER_ITEMS = [
    *DIGIT_ITEMS,
    ("palm", "Palm", "The palm of the hand"),
    (ON_OBJECT, "Object", "A mesh of the scene, such as a table"),
]
ON_OBJECT_ITEMS = [
    *DIGIT_ITEMS,
    (PALM, "Palm", "The palm rests on the object: the wrist is moved and turned, and digits give way"),
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
    """Between the performer's skins."""

    @property
    def name(self) -> str:
        """What touches what."""
        digit, other = self.touch.parts
        return f"{digit_title(digit)} on {digit_title(other).lower()}"


def found_contacts(shown: ShownTake) -> list[FoundContact]:
    """Return the performer's contacts that a take does not hold yet, by time; what a report has damaged is left out."""
    reported = _reported_contacts(str(shown.base.get(REPORT_PROPERTY, "")))
    return [contact for contact in reported if not any(_holds(each, contact) for each in shown.corrections)]


@lru_cache(maxsize=2)  # the panel calls it whenever it is drawn
def _reported_contacts(report: str) -> tuple[FoundContact, ...]:
    """Return the contacts of a take's report that its solve did not hold, by time."""
    found, hands = list[FoundContact](), (parsed_report(report) or {}).get("hands", {})
    for side in SIDES:
        contacts = hands.get(side, {}).get("contacts", [])
        for contact in contacts if isinstance(contacts, list) else []:
            with suppress(RecipeError, KeyError, TypeError, ValueError, OverflowError):
                if "off_mm" not in contact:
                    found.append(_found(side, contact))
    return tuple(sorted(found, key=lambda contact: contact.start))


def _found(side: Side, contact: dict[str, Any]) -> FoundContact:
    touch = touch_from_dict(contact["touch"], "contact")
    return FoundContact(side, touch, float(contact["start"]), float(contact["end"]), float(contact["gap_mm"]))


def _holds(one: Correction, contact: FoundContact) -> bool:
    """Whether a correction holds these parts at that time."""
    same = isinstance(one.change, HeldTouch) and set(one.change.parts) == set(contact.touch.parts)
    return (
        same
        and one.hand == contact.side
        and one.range.full_start <= contact.end
        and contact.start <= one.range.full_end
    )


def objects_to_touch(_operator: Any, context: "Context", typed: str) -> list[str]:
    """Return the names of the meshes in the scene that have what was typed, those that begin with it first.

    Without the skin of the take's armatures, and without markers.
    """
    shown, part = shown_take(context), typed.lower()
    armatures = shown.armatures if shown else ()
    meshes = (obj for obj in context.scene.objects if obj.type == "MESH" and not is_markers(obj))
    names = (obj.name for obj in meshes if not any(is_skin(obj, armature) for armature in armatures))
    return sorted(
        (name for name in names if part in name.lower()), key=lambda name: (not name.lower().startswith(part), name)
    )


class KNUCKLE_OT_hold_contact(AgreedJob, OnRange, bpy.types.Operator):
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
        """Ask for the parts and the frames, unless a contact that was found is held."""
        return self.begin(context) if self.found else self.ask_for_range(context)

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
        shown, played = expected_take(context), dict[str, PlayedFrames]()
        made = yield from part_of(0.0, CHOOSING, "Choosing where it touches", self._made(shown, played))
        self._correction = replace(made, id=shown.new_id())
        composing = shown.composing((*shown.corrections, self._correction), played)
        self._composed = yield from part_of(CHOOSING, 1.0, "Holding the contact", composing)

    def finish(self, context: "Context") -> None:
        """Write the keys, select the correction, and report what came of it."""
        shown, made, before = expected_take(context), self._correction, BeforeMend.of(context)
        notes = shown.write((*shown.corrections, made), composed=self._composed)
        context.scene.knuckle_correction.selected = made.id
        operator: Any = self
        before.report_remains(operator, context)
        if notes := (*self._shortened_blends(shown, made.range), *notes):
            report_message(self, "WARNING", "; ".join(notes))

    def _shortened_blends(self, shown: ShownTake, span: TimeRange) -> tuple[str, ...]:
        """Return a sentence if the blends that were given are together longer than the range."""
        blends = [round(each * shown.clock.rate, 2) for each in (span.blend_in, span.blend_out) if each > 0.0]
        if self.found or not blends or max(blends) >= self.blend:
            return ()
        given = f"blends of {self.blend} frames are together longer than frames {self.first} to {self.last}"
        return (f"{given}, and became {max(blends):g} frames long",)

    def _made(self, shown: ShownTake, played: dict[str, PlayedFrames]) -> Steps[Correction]:
        """Return the correction. Raises KnuckleError.

        played: what is evaluated for it comes in here, by the armature's name.
        """
        if self.found:
            return self._of_found(shown)
        if self.digit == self.other:
            raise RigError(f"the {self.digit} cannot touch itself, choose two parts of the hand")
        span, of = self.range_of(shown), _hand(shown, self.hand)
        if self.other == ON_OBJECT:
            return (yield from self._on_object(shown, of, span, played))
        rows, between = of.expected_rows(self.first, self.last), of.rows_between(*_between_blends(shown, span))
        rows = between if between.any() else rows
        keys = corrected_keys(of, of_hand(shown.corrections, of), shown.clock, rows)
        touch = chosen_touch(of.hand.posed(keys.rotations)[0], of.hand.flesh, self.digit, self.other)
        name = f"{digit_title(self.digit)} on {digit_title(self.other).lower()}"
        return Correction("", name, of.hand.side, span, touch)

    def _on_object(
        self, shown: ShownTake, of: HandOfTake, span: TimeRange, played: dict[str, PlayedFrames]
    ) -> Steps[Correction]:
        """Return the correction that holds parts of a hand on an object, where they are between the blends."""
        palm = PALM in self.tips
        digits = tuple(digit for digit in DIGITS if digit in self.tips)
        if not self.object or not (digits or palm):
            raise RigError("choose the object that is touched, and the palm or the digits whose tips touch it")
        rows = of.expected_rows(*_between_blends(shown, span))
        own = of_hand(shown.corrections, of)
        of = of if palm else of.moved_by(shown.corrections)
        armature = bpy.data.objects[of.hand.binding.armature]
        beside = (each.moved_by(shown.corrections) for each in hands_of_take(armature, check_correctable(armature)))
        frames = played_frames(armature, [of, *beside])
        played[armature.name] = frames
        keys = corrected_keys(of, own, shown.clock, rows, frames)
        held = yield from chosen_on_object(of, self.object, digits, keys, of.frames[rows], palm=palm, played=frames)
        names = " and ".join(digit_title(part) for part in (*((PALM,) if palm else ()), *digits))
        return Correction("", f"{names} on {self.object}"[:MAX_TEXT], of.hand.side, span, held)

    def _of_found(self, shown: ShownTake) -> Correction:
        """Return the correction that holds a contact that was found, with its blends around it."""
        there = found_contacts(shown)
        if self.found > len(there):
            raise RigError(f"there is no found contact {self.found}, only {len(there)} that are not held")
        contact = there[self.found - 1]
        of = _hand(shown, contact.side)
        own = of_hand(shown.corrections, of)
        keys = partial(corrected_keys, of, own, shown.clock)
        span = range_of_touch(of, contact.touch, (contact.start, contact.end), shown.clock, own, corrected=keys)
        return Correction("", contact.name, contact.side, span, contact.touch)


def _between_blends(shown: ShownTake, span: TimeRange) -> tuple[int, int]:
    """Return the first and the last scene frame in which a contact is to be held."""
    first, last = shown.clock.frames([span.full_start, span.full_end]).tolist()
    # Blends that meet between two frames leave none between them.
    return floor(first + SAME_FRAME), ceil(last - SAME_FRAME)


def _hand(shown: ShownTake, side: str) -> HandOfTake:
    """Return the hand of a take of a side, or its only one for AUTO. Raises RigError without."""
    hands = [of for armature in shown.armatures for of in hands_of_take(armature, check_correctable(armature))]
    chosen = chosen_side([of.hand.side for of in hands], side)
    return next(of for of in hands if of.hand.side == chosen)


CLASSES = (KNUCKLE_OT_hold_contact,)
