"""Correct the detected hands of the driven armature. Corrections are stored on the armature."""

from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING

import bpy
from bpy.props import EnumProperty, StringProperty
from bpy_extras.io_utils import ExportHelper, ImportHelper

from ..errors import KnuckleError, RigError
from ..hand.joints import DIGITS, SIDES, Side, digit_label, digit_of, digit_title
from ..rig import detection_cache
from ..rig.binding import is_armature
from ..rig.mapping import Mapping, check_bones, check_whole, forget_mapping, read_preset, save_mapping, write_preset
from ..rig.mapping_corrections import (
    check_unassigned,
    mapping_to_correct,
    mirrored_mapping,
    user_mapping,
    with_carrier,
    with_curl_flipped,
    with_curl_rotated,
)
from .job import redraw_views
from .reports import report_message

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems
    from bpy.types import Context, Object, Scene

SIDE_ITEMS = [(side, side.capitalize(), f"The {side} hand") for side in SIDES]
DIGIT_ITEMS = [(digit, digit_title(digit), f"The {digit_label(digit)}") for digit in DIGITS]


def driven_armature(scene: "Scene") -> "Object | None":
    """Return the armature that a scene's hands drive, None if new hands are built."""
    settings = scene.knuckle
    return settings.armature if settings.rig == "ARMATURE" and is_armature(settings.armature) else None


def armature_chosen(operator: type, context: "Context") -> bool:
    """Return whether an armature is chosen. For `poll` methods."""
    if driven_armature(context.scene) is not None:
        return True
    operator.poll_message_set("Choose a target armature")
    return False


def armature_editable(operator: type, context: "Context") -> bool:
    """Return whether an editable armature is chosen. For `poll` methods."""
    armature = driven_armature(context.scene)
    if armature is None:
        return armature_chosen(operator, context)
    if not armature.is_editable:
        operator.poll_message_set("The armature is linked from another file, make a library override of it first")
    else:
        return True
    return False


def correct(armature: "Object", side: Side, change: Callable[[Mapping], Mapping]) -> None:
    """Change the mapping of a hand, which becomes the user's own. Raises RigError, and then nothing has changed."""
    # Detect again, since constraints and locks may have changed.
    detected = detection_cache.detect(armature)
    old_mapping = mapping_to_correct(armature, side, detected.hands.get(side))
    mapping = change(old_mapping)
    check_unassigned(detected.hands, side, set(mapping.bones.values()) - set(old_mapping.bones.values()))
    store_mapping(armature, mapping)


def rotate_curl_plane(armature: "Object", side: Side, digit: str, degrees: float) -> None:
    """Rotate a digit's curl plane from the detected one. Raises RigError, and then nothing has changed.

    A hand whose mapping is already the user's own is not detected again, so that the angle can be dragged.
    """
    cached = detection_cache.cached(armature)
    hand = cached.hands.get(side) if cached and not cached.problem_of(side) else None
    if cached is None or hand is None or not hand.corrected:
        correct(armature, side, lambda mapping: with_curl_rotated(mapping, digit, degrees))
        return
    mapping = with_curl_rotated(user_mapping(hand), digit, degrees)
    detected = detection_cache.with_curl_angles(armature, cached, side, mapping.curl_angles)
    save_mapping(armature, mapping)
    detection_cache.store(armature, detected)
    redraw_views(bpy.context)


def store_mapping(armature: "Object", mapping: Mapping) -> None:
    """Store a mapping on an armature and show it. Raises RigError, and then nothing has changed."""
    check_bones(armature, mapping)
    save_mapping(armature, with_carrier(armature, mapping))
    detection_cache.detect(armature)
    # Blender redraws nothing by itself when only the mapping changes.
    redraw_views(bpy.context)


class _ArmatureOperator:
    """Mixin of operators on the driven armature."""

    @classmethod
    def poll(cls, context: "Context") -> bool:
        """Available if an armature is chosen."""
        return armature_chosen(cls, context)

    def execute(self, context: "Context") -> "set[OperatorReturnItems]":
        """Run `change`, or report why it failed."""
        armature = driven_armature(context.scene)
        assert armature is not None, "poll"
        try:
            self.change(armature)
        except KnuckleError as error:
            report_message(self, "ERROR", str(error))
            return {"CANCELLED"}
        return {"FINISHED"}

    def change(self, armature: "Object") -> None:
        """Do the operator's work. Raises KnuckleError, and then nothing has changed."""
        raise NotImplementedError


class _Correction(_ArmatureOperator):
    """Mixin of operators that change the stored mappings."""

    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: "Context") -> bool:
        """Available if an editable armature is chosen."""
        return armature_editable(cls, context)


class KNUCKLE_OT_flip_digit(_Correction, bpy.types.Operator):
    """Reverse the direction in which this digit curls, if it bends backwards"""

    bl_idname = "knuckle.flip_digit"
    bl_label = "Flip Curl"

    side: EnumProperty(name="Hand", description="Which hand", items=SIDE_ITEMS, options={"SKIP_SAVE"})
    digit: EnumProperty(name="Digit", description="Which digit", items=DIGIT_ITEMS, options={"SKIP_SAVE"})

    def change(self, armature: "Object") -> None:
        """Rotate the curl plane by 180 degrees."""
        correct(armature, self.side, lambda mapping: with_curl_flipped(mapping, self.digit))


class KNUCKLE_OT_mirror_hand(_Correction, bpy.types.Operator):
    """Swap left and right: a left hand becomes a right one and vice versa, with the palm on the other side. If the
    armature has two hands, both are swapped"""

    bl_idname = "knuckle.mirror_hand"
    bl_label = "Swap Left/Right"

    def change(self, armature: "Object") -> None:
        """Swap the sides of the hands."""
        detected = detection_cache.detect(armature)
        if not detected.hands:
            raise RigError(f"armature '{armature.name}' has no hand to mirror, pick its bones first")
        mirrored_mappings = [
            mirrored_mapping(mapping_to_correct(armature, side, hand)) for side, hand in detected.hands.items()
        ]
        for side in SIDES:
            forget_mapping(armature, side)
        for mapping in mirrored_mappings:
            save_mapping(armature, mapping)
        detection_cache.detect(armature)
        redraw_views(bpy.context)


class KNUCKLE_OT_save_mapping(_Correction, bpy.types.Operator):
    """Save the mapping of this hand on the armature, so that detection does not change it"""

    bl_idname = "knuckle.save_mapping"
    bl_label = "Save Mapping"

    side: EnumProperty(name="Hand", description="Which hand", items=SIDE_ITEMS, options={"SKIP_SAVE"})

    def change(self, armature: "Object") -> None:
        """Store the mapping as the user's own."""
        correct(armature, self.side, _check_complete)


class KNUCKLE_OT_detect_again(_Correction, bpy.types.Operator):
    """Discard the saved mappings of this armature and detect its hands again"""

    bl_idname = "knuckle.detect_again"
    bl_label = "Detect Again"

    def change(self, armature: "Object") -> None:
        """Detect both sides: bones picked on one affect the other."""
        for side in SIDES:
            forget_mapping(armature, side)
        detection_cache.clear()
        detection_cache.detect(armature)
        redraw_views(bpy.context)


class KNUCKLE_OT_import_mapping(_Correction, ImportHelper, bpy.types.Operator):
    """Import the mapping of bones to joints from a file"""

    bl_idname = "knuckle.import_mapping"
    bl_label = "Import Mapping"

    filename_ext = ".json"
    filter_glob: StringProperty(default="*.json", options={"HIDDEN"})

    def change(self, armature: "Object") -> None:
        """Store the preset for its side."""
        preset = read_preset(Path(self.filepath))
        # A preset replaces a detected mapping, but not one that the user corrected.
        mappings = {side: mapping_to_correct(armature, side, None) for side in SIDES}
        check_unassigned(mappings, preset.side, preset.bones.values(), "detect again before this mapping is imported")
        store_mapping(armature, preset)


class KNUCKLE_OT_export_mapping(_ArmatureOperator, ExportHelper, bpy.types.Operator):
    """Export the mapping of bones to joints to a file, for other armatures with the same bones"""

    bl_idname = "knuckle.export_mapping"
    bl_label = "Export Mapping"
    bl_options = {"REGISTER"}

    filename_ext = ".json"
    filter_glob: StringProperty(default="*.json", options={"HIDDEN"})
    side: EnumProperty(name="Hand", description="Which hand", items=SIDE_ITEMS, options={"SKIP_SAVE"})

    def change(self, armature: "Object") -> None:
        """Write the mapping of the requested side. The armature is not changed."""
        detected = detection_cache.detect(armature)
        if self.side not in detected.hands:
            raise RigError(f"armature '{armature.name}' has no {self.side} hand to save, pick its bones first")
        write_preset(Path(self.filepath), _check_complete(user_mapping(detected.hands[self.side])))


class KNUCKLE_OT_select_bones(_Correction, bpy.types.Operator):
    """Select the bones of this hand in Pose Mode"""

    bl_idname = "knuckle.select_bones"
    bl_label = "Select Bones"

    side: EnumProperty(name="Hand", description="Which hand", items=SIDE_ITEMS, options={"SKIP_SAVE"})
    digit: EnumProperty(
        name="Digit",
        description="Digit, or the whole hand",
        items=[("ALL", "All", "The whole hand"), *DIGIT_ITEMS],
        options={"SKIP_SAVE"},
    )

    def change(self, armature: "Object") -> None:
        """Select the bones and make the armature the active object."""
        detected = detection_cache.detected(armature)
        hand = detected.hands.get(self.side)
        if hand is None:
            raise RigError(f"armature '{armature.name}' has no {self.side} hand, pick its bones first")
        if not armature.visible_get():
            raise RigError(f"armature '{armature.name}' is hidden, show it first")
        select_in_pose_mode(
            armature, {name for joint, name in hand.bones.items() if self.digit in ("ALL", digit_of(joint))}
        )


def select_in_pose_mode(armature: "Object", names: Collection[str]) -> None:
    """Select bones of a visible armature, and no others, in Pose Mode."""
    context = bpy.context
    if context.view_layer.objects.active != armature or armature.mode != "POSE":
        if context.mode != "OBJECT":
            bpy.ops.object.mode_set(mode="OBJECT")
        context.view_layer.objects.active = armature
        armature.select_set(True)
        bpy.ops.object.mode_set(mode="POSE")
    for bone in armature.pose.bones:
        # From Blender 5 on, pose bones have the selection of Pose Mode; before, bones have it.
        (bone if hasattr(bone, "select") else bone.bone).select = bone.name in names


def _check_complete(mapping: Mapping) -> Mapping:
    check_whole(mapping)
    return mapping


CLASSES = (
    KNUCKLE_OT_flip_digit,
    KNUCKLE_OT_mirror_hand,
    KNUCKLE_OT_save_mapping,
    KNUCKLE_OT_detect_again,
    KNUCKLE_OT_import_mapping,
    KNUCKLE_OT_export_mapping,
    KNUCKLE_OT_select_bones,
)
