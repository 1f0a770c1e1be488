"""The eyedropper for bones: click one in a 3D view, in Object Mode or Pose Mode."""

from typing import TYPE_CHECKING, Any

import bpy
import numpy as np
from bpy.props import EnumProperty, StringProperty

from ..errors import KnuckleError
from ..hand.joints import DIGITS
from ..rig.bone_picking import bone_at
from ..rig.mapping import Mapping, with_bone
from ..rig.mapping_corrections import digit_chain, is_bone_visible, with_digit
from .job import navigates, redraw_views
from .reports import report_message
from .rig_hands import SIDE_ITEMS, armature_editable, correct, driven_armature
from .session import SESSION, PickedBone

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems
    from bpy.types import Context, Event, Object, Region

PICK_RADIUS = 25.0
"""Pixels at a UI scale of 1 from the mouse, within which a bone is picked."""


class KNUCKLE_OT_pick_bone(bpy.types.Operator):
    """Click a bone in the 3D view. For a whole digit, click the first bone that bends: the others follow to its tip"""

    bl_idname = "knuckle.pick_bone"
    bl_label = "Pick Bone"
    bl_options = {"REGISTER", "UNDO", "INTERNAL"}

    side: EnumProperty(name="Hand", description="Which hand", items=SIDE_ITEMS, options={"SKIP_SAVE"})
    what: StringProperty(
        name="What", description="The joint whose bone is picked, or the digit whose chain is", options={"SKIP_SAVE"}
    )
    bone: StringProperty(name="Bone", description="The bone that was picked", options={"SKIP_SAVE"})

    @classmethod
    def poll(cls, context: "Context") -> bool:
        """Available with an editable armature in Object Mode or Pose Mode."""
        if context.mode not in ("OBJECT", "POSE"):
            cls.poll_message_set("Only available in Object Mode and Pose Mode")
            return False
        return armature_editable(cls, context)

    def execute(self, context: "Context") -> "set[OperatorReturnItems]":
        """Map the joint, or the chain of the digit, to the bone."""
        armature = driven_armature(context.scene)
        assert armature is not None, "poll"
        if self.bone not in armature.data.bones:
            report_message(self, "ERROR", f"armature '{armature.name}' has no bone '{self.bone}', pick another bone")
            return {"CANCELLED"}
        try:
            correct(armature, self.side, lambda mapping: self._picked(armature, mapping))
        except KnuckleError as error:
            report_message(self, "ERROR", str(error))
            return {"CANCELLED"}
        return {"FINISHED"}

    def _picked(self, armature: "Object", mapping: Mapping) -> Mapping:
        if self.what in DIGITS:
            return with_digit(mapping, self.what, *digit_chain(armature, self.bone))
        return with_bone(mapping, self.what, self.bone)

    def invoke(self, context: "Context", event: "Event") -> "set[OperatorReturnItems]":
        """Wait for the click."""
        armature = driven_armature(context.scene)
        assert armature is not None, "poll"
        if not armature.visible_get():
            report_message(self, "ERROR", f"armature '{armature.name}' is hidden, show it first")
            return {"CANCELLED"}
        context.window.cursor_modal_set("EYEDROPPER")
        context.window_manager.modal_handler_add(self)
        self._point(context, event)
        return {"RUNNING_MODAL"}

    def modal(self, context: "Context", event: "Event") -> "set[OperatorReturnItems]":
        """Pick the bone that is clicked; Escape and the right button cancel; views can be navigated."""
        if driven_armature(context.scene) is None or event.type in ("ESC", "RIGHTMOUSE"):
            self.cancel(context)
            return {"CANCELLED"}
        if event.type == "MOUSEMOVE":
            self._point(context, event)
        if event.type == "LEFTMOUSE" and event.value == "PRESS":
            self._point(context, event)
            picked = SESSION.picked_bone
            if picked is None or not picked.bone:
                return {"RUNNING_MODAL"}
            self.bone = picked.bone
            self.cancel(context)
            return self.execute(context)
        return {"PASS_THROUGH"} if navigates(event) else {"RUNNING_MODAL"}

    def cancel(self, context: "Context") -> None:
        """Restore the cursor and the status bar."""
        SESSION.picked_bone = None
        # Blender also calls this while it loads another file, which may leave no window.
        if context.window:
            context.window.cursor_modal_restore()
            context.workspace.status_text_set(None)
        redraw_views(context)

    def _point(self, context: "Context", event: "Event") -> None:
        armature = driven_armature(context.scene)
        old_bone, bone = SESSION.picked_bone, ""
        if armature is not None:
            bone = bone_under(context, armature, event.mouse_x, event.mouse_y)
        SESSION.picked_bone = PickedBone(armature.name, bone) if armature is not None else None
        what = self.what.replace("-", " ")
        context.workspace.status_text_set(
            f"{self.side.capitalize()} {what}: {bone or 'no bone here'}     Click to pick it, Esc to leave it as it is"
        )
        if SESSION.picked_bone != old_bone:
            redraw_views(context)


def bone_under(context: "Context", armature: "Object", x: int, y: int) -> str:
    """Return the visible bone of an armature at a point of the window in pixels, empty if there is none."""
    view_under_point = view_at(context, x, y)
    names = [bone.name for bone in armature.pose.bones if is_bone_visible(armature, bone.name)]
    if view_under_point is None or not names:
        return ""
    region, view = view_under_point
    bones = [armature.pose.bones[name] for name in names]
    matrix = np.array(view.perspective_matrix @ armature.matrix_world)
    mouse = np.array([x - region.x, y - region.y], float)
    max_distance = PICK_RADIUS * context.preferences.system.ui_scale
    bone_ends = np.array([[bone.head for bone in bones], [bone.tail for bone in bones]])
    index = bone_at(bone_ends, matrix, (region.width, region.height), mouse, max_distance)
    return names[index] if index >= 0 else ""


def view_at(context: "Context", x: int, y: int) -> "tuple[Region, Any] | None":
    """Return the region of the 3D view at a point of the window, and its view; None over a sidebar."""
    for area in context.window.screen.areas:
        if area.type != "VIEW_3D":
            continue
        if any(region.type != "WINDOW" and _contains(region, x, y) for region in area.regions):
            continue
        for region in area.regions:
            if region.type == "WINDOW" and _contains(region, x, y):
                # Each quarter of a quad view has its own.
                return region, region.data or area.spaces.active.region_3d
    return None


def _contains(region: "Region", x: int, y: int) -> bool:
    inside = region.x <= x < region.x + region.width and region.y <= y < region.y + region.height
    return inside and region.width > 1 and region.height > 1


CLASSES = (KNUCKLE_OT_pick_bone,)
