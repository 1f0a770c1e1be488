"""The Knuckle tab of the sidebar: Capture, Hand and Solve."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import bpy
from bl_ui.utils import PresetPanel

from ..capture.devices.raw_take import SUFFIX as RAW_TAKE
from ..capture.scene_files import armature_name
from ..operators.presets import SUBFOLDER, SUFFIX, KNUCKLE_OT_add_preset, KNUCKLE_OT_load_preset
from ..operators.purposes import ADVANCED, purpose_of
from ..operators.reading_properties import CAMERA_PROPERTIES
from ..operators.setting_properties import changed
from ..operators.solver_settings import REGISTRIES, chosen_settings
from ..rig import markers_object
from ..rig.linked import library_of
from .text_format import pair, paragraph

if TYPE_CHECKING:
    from bpy.types import Context, UILayout


class _Panel:
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "Knuckle"


class KNUCKLE_PT_capture(_Panel, bpy.types.Panel):
    """The recording"""

    bl_label = "Capture"

    def draw(self, context: "Context") -> None:
        """Draw the file, its facts, the display of markers, and overrides."""
        layout, chosen = self.layout, context.scene.knuckle
        layout.operator("knuckle.import_capture", text="Import Capture", icon="IMPORT")
        row = layout.row(align=True)
        row.prop(chosen, "source", text="", icon="ARMATURE_DATA", placeholder="Animated Armature")
        row.operator("knuckle.capture_armature", text="", icon="IMPORT")
        markers_obj = chosen.markers if markers_object.is_markers(chosen.markers) else None
        if markers_obj is None:
            paragraph(layout, context, "Or drop a file on the view")
            return
        about = markers_obj[markers_object.CAPTURE_PROPERTY]
        if armature_name(chosen.capture) is None:
            row = layout.row(align=True)
            row.prop(chosen, "capture", text="")
            row.operator("knuckle.import_capture", text="", icon="FILE_REFRESH").filepath = chosen.capture
        _about_capture(layout.column(align=True), about)
        for warning in about["warnings"]:
            paragraph(layout, context, warning, "ERROR")
        row = layout.row(align=True)
        row.prop(markers_obj, "hide_viewport", text="Show Markers", icon="NONE", toggle=True, invert_checkbox=True)
        row.prop(*markers_object.size_property(markers_obj), text="Size")
        # A hand is small in a view of a room. It is selected after import and after solving.
        row.operator("view3d.view_selected", text="", icon="ZOOM_SELECTED")
        header, body = layout.panel("knuckle_overrides", default_closed=True)
        header.label(text="Import Settings")
        if body:
            body.use_property_split = True
            body.use_property_decorate = False
            body.prop(chosen, "unit")
            body.prop(chosen, "up")
            body.prop(chosen, "rate")
            body.prop(chosen, "animation")
            for name in CAMERA_PROPERTIES:
                body.prop(chosen, name)
            body.prop(chosen, "subject")
            row = body.row()
            row.alignment = "RIGHT"
            row.label(text="Reimport to apply", icon="FILE_REFRESH")


def _about_capture(layout: "UILayout", about: Any) -> None:
    pair(layout, "Format", f"{about['format']}, {about['unit']}")
    pair(layout, "Length", f"{about['frames']} frames, {about['duration']:.2f} s")
    pair(layout, "Rate", f"{about['rate']:.4g} Hz")
    pair(layout, "Markers", f"{len(about['names'])}")
    pair(layout, "Gaps", f"{about['gaps']:.1%}" if about["gaps"] else "none")


class KNUCKLE_PT_hand(_Panel, bpy.types.Panel):
    """The performer's hand"""

    bl_label = "Hand"

    def draw(self, context: "Context") -> None:
        """Draw the choice of hand, markers and performer."""
        layout, chosen = self.layout, context.scene.knuckle
        row = layout.row(align=True)
        row.prop(chosen, "hand", expand=True)
        row.prop(chosen, "mirror", text="", icon="MOD_MIRROR")
        # The label does not fit beside its field.
        identify = layout.column(align=True)
        identify.label(text="Identify Markers By")
        identify.prop(chosen, "labels", text="")
        markers_obj = chosen.markers if markers_object.is_markers(chosen.markers) else None
        column = layout.column(align=True)
        if chosen.marker_map:
            _stored(column, "Markers", "from a map", "marker_map")
        elif markers_obj is not None:
            about = markers_obj[markers_object.CAPTURE_PROPERTY]
            if about.get("problem"):
                paragraph(column, context, about["problem"], "ERROR")
            else:
                pair(column, "Markers", about.get("marker_set", ""))
                pair(column, "Confidence", f"{about.get('confidence', 0):.0%}")
                for hand in filter(None, about.get("hands", "").split(", ")):
                    pair(column, *hand.capitalize().split(": "))
                for line in about.get("facts", ()):
                    pair(column, *line.split(": "))
        row = column.row(align=True)
        row.operator("knuckle.assign_markers", icon="EYEDROPPER")
        row.operator("knuckle.load_markers", icon="FILE_FOLDER", text="")
        row.operator("knuckle.save_markers", icon="FILE_TICK", text="")
        column = layout.column(align=True)
        if chosen.performer:
            _stored(column, "Performer", "measured", "performer")
        else:
            pair(column, "Performer", "measured while solving")
        row = column.row(align=True)
        row.operator("knuckle.calibrate", icon="DRIVER_DISTANCE")
        row.operator("knuckle.load_performer", icon="FILE_FOLDER", text="Load")
        row.operator("knuckle.save_performer", icon="FILE_TICK", text="Save")


def _stored(layout: "UILayout", name: str, value: str, cleared: str) -> None:
    """Draw a setting that was loaded from a file, with the button `knuckle.clear_<cleared>` beside it."""
    row = layout.row()
    row.label(text=name)
    right = row.row(align=True)
    right.alignment = "RIGHT"
    right.label(text=value)
    right.operator(f"knuckle.clear_{cleared}", text="", icon="X")


class KNUCKLE_PT_presets(PresetPanel, bpy.types.Panel):
    """Settings for other captures"""

    bl_label = "Solve Presets"
    preset_subdir = SUBFOLDER
    preset_extensions: ClassVar = {SUFFIX}
    preset_operator = KNUCKLE_OT_load_preset.bl_idname
    preset_add_operator = KNUCKLE_OT_add_preset.bl_idname

    def path_menu(self, searchpaths: list[str], operator: str, **options: Any) -> None:
        """Draw Blender's menu of files, which says that paths are missing until the first preset makes their folder."""
        PresetPanel.path_menu(self, searchpaths or iter(()), operator, **options)


class KNUCKLE_PT_solve(_Panel, bpy.types.Panel):
    """From markers to keys"""

    bl_label = "Solve"

    def draw_header_preset(self, _context: "Context") -> None:
        """Draw the menu of presets."""
        KNUCKLE_PT_presets.draw_panel_header(self.layout)
        self.layout.separator()

    def draw(self, context: "Context") -> None:
        """Draw the settings of solving, and the button."""
        layout, chosen = self.layout, context.scene.knuckle
        layout.use_property_split = True
        layout.use_property_decorate = False
        layout.prop(chosen, "drive")
        layout.row().prop(chosen, "markers_on", expand=True)
        layout.prop(chosen, "purpose")
        advanced = purpose_of(chosen) == ADVANCED
        if advanced:
            layout.prop(chosen, "solver", text="Algorithm")
        if chosen.capture.endswith(RAW_TAKE):
            layout.row().prop(chosen, "angles", expand=True)
        if advanced:
            layout.prop(chosen, "smoothing")
        _target(layout, context, chosen)
        for what in REGISTRIES if advanced else ():
            _settings(layout, chosen, what)
        header, body = layout.panel("knuckle_frames", default_closed=True)
        header.label(text="Take and Frames")
        if body:
            _take(body, chosen)
            _frames(body, chosen)
        header, body = layout.panel("knuckle_cleaning", default_closed=True)
        header.label(text="Cleaning")
        if body:
            _cleaning(body, chosen)
        self._button(context)

    def _button(self, context: "Context") -> None:
        status = context.window_manager.knuckle
        if status.running:
            row = self.layout.split(factor=0.88, align=True)
            row.scale_y = 1.4
            row.progress(factor=status.fraction, text=f"{status.description}  {status.fraction:.0%}")
            row.label(text="Esc")
            return
        row = self.layout.row(align=True)
        row.scale_y = 1.4
        row.operator("knuckle.solve", icon="VIEW_PAN")
        row.menu("KNUCKLE_MT_recipe", text="", icon="DOWNARROW_HLT")


def _target(layout: "UILayout", context: "Context", chosen: Any) -> None:
    """Draw the target that is keyed, and how the capture is matched to it."""
    layout.prop(chosen, "rig")
    if chosen.rig == "ARMATURE":
        layout.prop(chosen, "armature")
        if chosen.armature and (library := library_of(chosen.armature)):
            paragraph(layout, context, f"Linked from {library}: solving makes a library override of it", "INFO")
        if chosen.drive in ("wrist", "arm"):
            layout.operator_menu_enum("knuckle.align_capture", "method", icon="ORIENTATION_GLOBAL")
        layout.prop(chosen, "keep")
        if chosen.keep != "directions":
            layout.row().prop(chosen, "keep_scale", expand=True)
        layout.prop(chosen, "rig_limits")
        row = layout.row(align=True)
        row.operator("knuckle.add_limits", icon="CON_ROTLIMIT")
        row.operator("knuckle.remove_limits", text="", icon="X")
    if chosen.align:
        # Also without an armature, which it needs: a recipe may have it.
        _stored(layout, "Align to Character", "when solved", "align")
    if chosen.rig_file:
        _stored(layout, "Recipe's Target", Path(chosen.rig_file).name, "rig_file")
        if chosen.rig == "NEW":
            paragraph(layout, context, "Append its armature and choose it, or clear the target", "ERROR")
    if chosen.corrections:
        _stored(layout, "Corrections", "of a recipe", "recipe_corrections")


def _settings(layout: "UILayout", chosen: Any, what: str) -> None:
    """Draw the settings of the chosen solver or smoothing in a subpanel, if it has any."""
    if not getattr(chosen, what):
        return
    group, known = chosen_settings(chosen, what)
    if not known:
        return
    header, body = layout.panel(f"knuckle_{what}_settings", default_closed=True)
    header.label(text=f"{what.capitalize()} Settings")
    reset = header.row()
    reset.enabled = bool(changed(group, known))
    reset.operator("knuckle.reset_settings", text="", icon="LOOP_BACK", emboss=False).what = what
    for name in known if body else ():
        body.prop(group, name)


def _take(layout: "UILayout", chosen: Any) -> None:
    """Draw which take is keyed, and which digits."""
    column = layout.column(align=True)
    column.prop(chosen, "hold_contacts")
    column.prop(chosen, "keep_apart")
    layout.row().prop(chosen, "into", expand=True)
    if chosen.into == "this":
        column = layout.column(align=True)
        column.prop(chosen, "blend_in")
        column.prop(chosen, "blend_out")
    else:
        layout.prop(chosen, "reduce")
    layout.column(align=True).prop(chosen, "digits", expand=True)


def _frames(layout: "UILayout", chosen: Any) -> None:
    layout.prop(chosen, "start", text="Start Frame")
    layout.prop(chosen, "keys")
    if chosen.keys == "OTHER":
        layout.prop(chosen, "fps")
    layout.prop(chosen, "use_range")
    column = layout.column(align=True)
    column.active = chosen.use_range
    column.prop(chosen, "first")
    column.prop(chosen, "last")


def _cleaning(layout: "UILayout", chosen: Any) -> None:
    layout.prop(chosen, "gap_limit")
    layout.prop(chosen, "fragments")
    layout.prop(chosen, "spikes")
    row = layout.row(heading="Low-Pass Filter", align=True)
    row.prop(chosen, "use_cutoff", text="")
    value = row.row(align=True)
    value.active = chosen.use_cutoff
    value.prop(chosen, "cutoff", text="")


class KNUCKLE_MT_recipe(bpy.types.Menu):
    """All settings in a file"""

    bl_label = "Recipe"

    def draw(self, _context: "Context") -> None:
        """Draw the entries to load and save."""
        self.layout.operator("knuckle.load_recipe", icon="FILE_FOLDER")
        self.layout.operator("knuckle.save_recipe", icon="FILE_TICK")


CLASSES = (
    KNUCKLE_PT_capture,
    KNUCKLE_PT_hand,
    KNUCKLE_PT_presets,
    KNUCKLE_PT_solve,
    KNUCKLE_MT_recipe,
)
