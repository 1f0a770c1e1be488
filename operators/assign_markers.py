"""Assign Markers: click markers in the view in the order that a picture of a hand shows, and get a marker map."""

import json
from typing import TYPE_CHECKING

import bpy
import numpy as np
from bpy_extras.view3d_utils import location_3d_to_region_2d
from mathutils import Vector

from ..errors import KnuckleError
from ..hand.joints import SIDES, Side
from ..hand.marker_assignment import STEPS, MarkerAssignment, combine, start_assignment
from ..hand.marker_sets import Groups, from_json, to_json
from ..pipeline.assignment import MIN_MAP_LABELS, side_of_file
from ..pipeline.recipe import decode_json
from ..rig import markers_object
from .job import navigates, no_job_runs, redraw_views
from .pick_bone import view_at
from .reports import report_message
from .session import SESSION, AssigningMarkers

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems
    from bpy.types import Context, Event, Object

PICK_RADIUS = 30.0
"""Pixels at a UI scale of 1 from the mouse, within which a marker is picked."""
KEYS = "Click: Assign    Space: Keep    S: Skip    Backspace: Back    Tab: Other Hand    Enter: Finish    Esc: Cancel"


class KNUCKLE_OT_assign_markers(bpy.types.Operator):
    """Click the markers of a hand one after another, as a picture shows, if their labels are not understood"""

    bl_idname = "knuckle.assign_markers"
    bl_label = "Assign Markers"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: "Context") -> bool:
        """Available with the markers of a capture in view."""
        markers_obj = context.scene.knuckle.markers
        if not markers_object.is_markers(markers_obj) or not markers_obj.visible_get():
            cls.poll_message_set("There are no markers in view, import a capture or show its markers")
            return False
        return no_job_runs(cls, context)

    def invoke(self, context: "Context", event: "Event") -> "set[OperatorReturnItems]":
        """Begin with a guess and wait for clicks."""
        if context.area is None or context.area.type != "VIEW_3D":
            report_message(self, "ERROR", "markers are assigned in a 3D view, run this from one")
            return {"CANCELLED"}
        markers = context.scene.knuckle.markers
        guess = guessed_map(context)
        hands = {side: start_assignment(side, guess.get(side, {})) for side in SIDES}
        SESSION.assigning_markers = AssigningMarkers(markers.name, hands, first_side(context, guess))
        context.window.cursor_modal_set("EYEDROPPER")
        context.window_manager.modal_handler_add(self)
        self._show(context)
        return {"RUNNING_MODAL"}

    def modal(self, context: "Context", event: "Event") -> "set[OperatorReturnItems]":
        """Assign the marker that is clicked; keys skip, go back and finish; views can be navigated."""
        state = SESSION.assigning_markers
        if state is None or bpy.data.objects.get(state.markers) is None or event.type == "ESC":
            self.cancel(context)
            return {"CANCELLED"}
        if event.type == "MOUSEMOVE":
            state.hovered = marker_at(context, event, bpy.data.objects[state.markers])
            redraw_views(context)
        if event.value == "PRESS":
            if event.type in ("RET", "NUMPAD_ENTER"):
                return self._finish(context, state)
            if event.type == "LEFTMOUSE":
                self._click(context, event, state)
                return {"RUNNING_MODAL"}
            if event.type in STEP_KEYS:
                state.hands[state.side] = STEP_KEYS[event.type](state.hand)
            elif event.type == "TAB":
                state.side = "left" if state.side == "right" else "right"
            self._show(context)
        return {"PASS_THROUGH"} if navigates(event) or event.type in FRAME_KEYS else {"RUNNING_MODAL"}

    def _click(self, context: "Context", event: "Event", state: AssigningMarkers) -> None:
        """Assign the marker under the mouse to the current step, and take it from the other hand."""
        label = marker_at(context, event, bpy.data.objects[state.markers])
        if label:
            state.hands = {
                side: hand if side == state.side else hand.without(label) for side, hand in state.hands.items()
            }
            state.hands[state.side] = state.hand.assign(label)
            state.hovered = label
        self._show(context)

    def _finish(self, context: "Context", state: AssigningMarkers) -> "set[OperatorReturnItems]":
        """Store the marker map in the scene."""
        groups = combine(state.hands, MIN_MAP_LABELS)
        if not groups:
            report_message(
                self, "WARNING", f"{len(state.hand.spots)} markers are assigned, expected {MIN_MAP_LABELS} or more"
            )
            return {"RUNNING_MODAL"}
        settings = context.scene.knuckle
        settings.marker_map = json.dumps(to_json(groups))
        if settings.labels != "auto":
            settings.labels = "auto"
        self.cancel(context)
        counts = ", ".join(f"{side}: {len(spots)} markers" for side, spots in groups.items())
        report_message(self, "INFO", f"Markers assigned: {counts}")
        return {"FINISHED"}

    def cancel(self, context: "Context") -> None:
        """Restore the cursor and the status bar."""
        SESSION.assigning_markers = None
        # Blender also calls this while it loads another file, which may leave no window.
        if context.window:
            context.window.cursor_modal_restore()
            context.workspace.status_text_set(None)
        redraw_views(context)

    def _show(self, context: "Context") -> None:
        state = SESSION.assigning_markers
        assert state is not None
        step = state.hand.step
        instruction = (
            f"{step.words} ({state.hand.step_index + 1} of {len(STEPS)})" if step else "all are assigned, press Enter"
        )
        context.workspace.status_text_set(f"{state.side.capitalize()} hand: {instruction}    {KEYS}")
        redraw_views(context)


FRAME_KEYS = {"LEFT_ARROW", "RIGHT_ARROW"}
"""Keys that change the frame, to see markers that are hidden in this one."""
STEP_KEYS = {
    "SPACE": MarkerAssignment.keep,
    "S": MarkerAssignment.skip,
    "BACK_SPACE": MarkerAssignment.back,
}
"""Key -> its effect on the hand's assignment."""


def guessed_map(context: "Context") -> Groups:
    """Return the scene's marker map, or the one that the import found, without labels that the capture lacks."""
    description = context.scene.knuckle.markers[markers_object.CAPTURE_PROPERTY]
    names = set(description["names"])
    for text in (context.scene.knuckle.marker_map, description.get("guess", "")):
        try:
            groups = from_json(decode_json(text, "marker map"), "marker map") if text else {}
        except KnuckleError:
            continue
        labels_present = {
            side: {label: spot for label, spot in spots.items() if label in names} for side, spots in groups.items()
        }
        if any(labels_present.values()):
            return labels_present
    return {}


def first_side(context: "Context", guess: Groups) -> Side:
    """Return the side to begin with: as chosen, as guessed, as the file's name says, or right."""
    settings = context.scene.knuckle
    description = settings.markers[markers_object.CAPTURE_PROPERTY]
    named_side = side_of_file(str(description["source"]))
    for side in SIDES:
        if settings.hand == side or (settings.hand not in SIDES and list(guess) == [side]):
            return side
    return named_side or "right"


def marker_at(context: "Context", event: "Event", markers: "Object") -> str:
    """Return the label of the marker nearest to the mouse in the view under it; empty if none is near."""
    view_under_mouse = view_at(context, event.mouse_x, event.mouse_y)
    if view_under_mouse is None:
        return ""
    region, view = view_under_mouse
    mouse = np.array([event.mouse_x - region.x, event.mouse_y - region.y], float)
    nearest, found = PICK_RADIUS * context.preferences.system.ui_scale, ""
    positions = markers_object.positions_at(markers, context.scene.frame_current_final)
    for label, position in zip(markers[markers_object.CAPTURE_PROPERTY]["names"], positions, strict=True):
        pixel = location_3d_to_region_2d(region, view, Vector(position.tolist())) if np.isfinite(position[0]) else None
        distance = float(np.linalg.norm(np.array(pixel) - mouse)) if pixel is not None else np.inf
        if distance < nearest:
            nearest, found = distance, label
    return found


CLASSES = (KNUCKLE_OT_assign_markers,)
