"""Change the corrections of a take: select, mute, lock, order, delete, key the factor, save and load."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import bpy
from bpy.props import EnumProperty, StringProperty

from ..errors import KnuckleError, RigError
from ..pipeline.corrections.correction import Correction
from ..pipeline.corrections.correction_json import from_list, to_list
from ..rig.keys.corrections.corrected_take import clear_corrections
from ..rig.keys.corrections.single_user_take import make_take_single_user
from ..rig.keys.take_scene import armatures_of_take
from .json_files import LoadJson, SaveJson, result_armature
from .reports import report_message
from .take_corrections import ShownTake, has_take, required_take, with_factor_key

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems
    from bpy.types import Context

CHANGE_ITEMS = (
    ("SELECT", "Select", "Show this correction, and go to the middle of its range if the current frame is outside"),
    ("MUTE", "Mute", "Turn this correction off, or on again"),
    ("LOCK", "Lock", "Protect this correction from changes, or allow them again"),
    ("UP", "Move Up", "Move this correction up. Each is applied over those above it"),
    ("DOWN", "Move Down", "Move this correction down, over the next one"),
    ("DELETE", "Delete", "Delete this correction. Its frames return to the solved pose"),
    ("KEY", "Key Factor", "Key the factor on this frame, so that it changes over time"),
    ("UNKEY", "Clear Factor Keys", "Delete the keys of the factor, which keeps its value on this frame"),
)
Corrections = tuple[Correction, ...]


class KNUCKLE_OT_change_correction(bpy.types.Operator):
    """Change a correction of the take"""

    bl_idname = "knuckle.change_correction"
    bl_label = "Change Correction"
    bl_options = {"REGISTER", "UNDO", "INTERNAL"}

    correction: StringProperty(name="Correction", options={"SKIP_SAVE"})
    what: EnumProperty(name="What", items=CHANGE_ITEMS, options={"SKIP_SAVE"})

    @classmethod
    def poll(cls, context: "Context") -> bool:
        """Available with a take."""
        return has_take(cls, context)

    @classmethod
    def description(cls, _context: "Context", properties: Any) -> str:
        """Return the tooltip of the change."""
        return str(properties.bl_rna.properties["what"].enum_items[properties.what].description)

    def execute(self, context: "Context") -> "set[OperatorReturnItems]":
        """Change the correction."""
        try:
            notes = self._change(context, required_take(context))
        except KnuckleError as error:
            report_message(self, "ERROR", str(error))
            return {"CANCELLED"}
        if notes:
            report_message(self, "WARNING", "; ".join(notes))
        return {"FINISHED"}

    def _change(self, context: "Context", take: ShownTake) -> tuple[str, ...]:
        correction = take.find(self.correction)
        if correction is None:
            raise RigError("this take no longer has that correction")
        selected = context.scene.knuckle_correction
        if self.what == "SELECT":
            selected.selected = correction.id
            _go_to(take, correction)
            return ()
        if correction.locked and self.what != "LOCK":
            raise RigError(f"correction '{correction.name}' is locked, unlock it to change it")
        return take.write(CHANGES[self.what](take, correction))


def _go_to(take: ShownTake, correction: Correction) -> None:
    first, last = take.clock.frames([correction.range.start, correction.range.end]).tolist()
    if not first <= take.frame <= last:
        take.scene.frame_set(round((first + last) / 2))


def _replaced(take: ShownTake, correction: Correction, changed: Correction) -> Corrections:
    return tuple(changed if other is correction else other for other in take.corrections)


def _move_by(by: int) -> "Callable[[ShownTake, Correction], Corrections]":
    def move(take: ShownTake, correction: Correction) -> Corrections:
        others = [other for other in take.corrections if other is not correction]
        index = take.corrections.index(correction) + by
        others.insert(min(max(index, 0), len(others)), correction)
        return tuple(others)

    return move


def _key_factor(take: ShownTake, correction: Correction) -> Corrections:
    factor = bpy.context.scene.knuckle_correction.factor
    value = factor if correction.factor_keys else correction.factor
    return _replaced(take, correction, with_factor_key(correction, float(take.clock.times(take.frame)), value))


def _clear_factor_keys(take: ShownTake, correction: Correction) -> Corrections:
    factor = bpy.context.scene.knuckle_correction.factor if correction.factor_keys else correction.factor
    return _replaced(take, correction, replace(correction, factor=factor, factor_keys=()))


CHANGES: "dict[str, Callable[[ShownTake, Correction], Corrections]]" = {
    "MUTE": lambda take, correction: _replaced(take, correction, replace(correction, muted=not correction.muted)),
    "LOCK": lambda take, correction: _replaced(take, correction, replace(correction, locked=not correction.locked)),
    "UP": _move_by(-1),
    "DOWN": _move_by(1),
    "DELETE": lambda take, correction: tuple(each for each in take.corrections if each is not correction),
    "KEY": _key_factor,
    "UNKEY": _clear_factor_keys,
}


class KNUCKLE_OT_save_corrections(SaveJson, bpy.types.Operator):
    """Save the corrections of this take to a file, for the knuckle command, another rig or another take of this
    capture"""

    bl_idname = "knuckle.save_corrections"
    bl_label = "Save Corrections"

    @classmethod
    def poll(cls, context: "Context") -> bool:
        """Available with a take."""
        return has_take(cls, context)

    def content(self, context: "Context") -> Any:
        """Return the corrections of the take."""
        return to_list(required_take(context).corrections)


class KNUCKLE_OT_load_corrections(LoadJson, bpy.types.Operator):
    """Add the corrections of a file to those of this take"""

    bl_idname = "knuckle.load_corrections"
    bl_label = "Load Corrections"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: "Context") -> bool:
        """Available with a take."""
        return has_take(cls, context)

    def store(self, context: "Context", data: Any, where: str) -> None:
        """Add the corrections to the take."""
        take = required_take(context)
        for correction in from_list(data, where):
            correction_id = take.new_id() if take.find(correction.id) else correction.id
            take = replace(take, corrections=(*take.corrections, replace(correction, id=correction_id)))
        notes = take.write(take.corrections)
        if notes:
            report_message(self, "WARNING", "; ".join(notes))


class KNUCKLE_OT_clear_corrections(bpy.types.Operator):
    """Delete all corrections of this take, even unreadable ones, and restore it as it was solved"""

    bl_idname = "knuckle.clear_corrections"
    bl_label = "Clear Corrections"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: "Context") -> bool:
        """Available with a take."""
        return has_take(cls, context)

    def execute(self, context: "Context") -> "set[OperatorReturnItems]":
        """Delete all corrections."""
        armature = result_armature(context)
        assert armature is not None, "poll"
        try:
            for corrected in armatures_of_take(armature, context.scene):
                make_take_single_user(corrected)
                clear_corrections(corrected)
        except KnuckleError as error:
            report_message(self, "ERROR", str(error))
            return {"CANCELLED"}
        return {"FINISHED"}


CLASSES = (
    KNUCKLE_OT_clear_corrections,
    KNUCKLE_OT_change_correction,
    KNUCKLE_OT_save_corrections,
    KNUCKLE_OT_load_corrections,
)
