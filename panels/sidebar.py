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
        layout, settings = self.layout, context.scene.knuckle
        layout.operator("knuckle.import_capture", text="Import Capture", icon="IMPORT")
        row = layout.row(align=True)
        row.prop(settings, "source", text="", icon="ARMATURE_DATA", placeholder="Animated Armature")
        row.operator("knuckle.capture_armature", text="", icon="IMPORT")
        markers_obj = settings.markers if markers_object.is_markers(settings.markers) else None
        if markers_obj is None:
            paragraph(layout, context, "Or drop a file on the view")
            return
        description = markers_obj[markers_object.CAPTURE_PROPERTY]
        if armature_name(settings.capture) is None:
            row = layout.row(align=True)
            row.prop(settings, "capture", text="")
            row.operator("knuckle.import_capture", text="", icon="FILE_REFRESH").filepath = settings.capture
        _about_capture(layout.column(align=True), description)
        for warning in description["warnings"]:
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
            body.prop(settings, "unit")
            body.prop(settings, "up")
            body.prop(settings, "rate")
            body.prop(settings, "animation")
            for name in CAMERA_PROPERTIES:
                body.prop(settings, name)
            body.prop(settings, "subject")
            row = body.row()
            row.alignment = "RIGHT"
            row.label(text="Reimport to apply", icon="FILE_REFRESH")


def _about_capture(layout: "UILayout", description: Any) -> None:
    pair(layout, "Format", f"{description['format']}, {description['unit']}")
    pair(layout, "Length", f"{description['frames']} frames, {description['duration']:.2f} s")
    pair(layout, "Rate", f"{description['rate']:.4g} Hz")
    pair(layout, "Markers", f"{len(description['names'])}")
    pair(layout, "Gaps", f"{description['gaps']:.1%}" if description["gaps"] else "none")


class KNUCKLE_PT_hand(_Panel, bpy.types.Panel):
    """The performer's hand"""

    bl_label = "Hand"

    def draw(self, context: "Context") -> None:
        """Draw the choice of hand, markers and performer."""
        layout, settings = self.layout, context.scene.knuckle
        row = layout.row(align=True)
        row.prop(settings, "hand", expand=True)
        row.prop(settings, "mirror", text="", icon="MOD_MIRROR")
        # The label does not fit beside its field.
        identify = layout.column(align=True)
        identify.label(text="Identify Markers By")
        identify.prop(settings, "labels", text="")
        markers_obj = settings.markers if markers_object.is_markers(settings.markers) else None
        column = layout.column(align=True)
        if settings.marker_map:
            _stored(column, "Markers", "from a map", "marker_map")
        elif markers_obj is not None:
            description = markers_obj[markers_object.CAPTURE_PROPERTY]
            if description.get("problem"):
                paragraph(column, context, description["problem"], "ERROR")
            else:
                pair(column, "Markers", description.get("marker_set", ""))
                pair(column, "Confidence", f"{description.get('confidence', 0):.0%}")
                for hand in filter(None, description.get("hands", "").split(", ")):
                    pair(column, *hand.capitalize().split(": "))
                for line in description.get("facts", ()):
                    pair(column, *line.split(": "))
        row = column.row(align=True)
        row.operator("knuckle.assign_markers", icon="EYEDROPPER")
        row.operator("knuckle.load_markers", icon="FILE_FOLDER", text="")
        row.operator("knuckle.save_markers", icon="FILE_TICK", text="")
        column = layout.column(align=True)
        if settings.performer:
            _stored(column, "Performer", "measured", "performer")
        else:
            pair(column, "Performer", "measured while solving")
        row = column.row(align=True)
        row.operator("knuckle.calibrate", icon="DRIVER_DISTANCE")
        row.operator("knuckle.load_performer", icon="FILE_FOLDER", text="Load")
        row.operator("knuckle.save_performer", icon="FILE_TICK", text="Save")


def _stored(layout: "UILayout", name: str, value: str, clear_name: str) -> None:
    """Draw a setting that was loaded from a file, with the button `knuckle.clear_<cleared>` beside it."""
    row = layout.row()
    row.label(text=name)
    right = row.row(align=True)
    right.alignment = "RIGHT"
    right.label(text=value)
    right.operator(f"knuckle.clear_{clear_name}", text="", icon="X")


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
        layout, settings = self.layout, context.scene.knuckle
        layout.use_property_split = True
        layout.use_property_decorate = False
        layout.prop(settings, "drive")
        layout.row().prop(settings, "markers_on", expand=True)
        layout.prop(settings, "purpose")
        advanced = purpose_of(settings) == ADVANCED
        if advanced:
            layout.prop(settings, "solver", text="Algorithm")
        if settings.capture.endswith(RAW_TAKE):
            layout.row().prop(settings, "angles", expand=True)
        if advanced:
            layout.prop(settings, "smoothing")
        _target(layout, context, settings)
        for kind in REGISTRIES if advanced else ():
            _settings(layout, settings, kind)
        header, body = layout.panel("knuckle_frames", default_closed=True)
        header.label(text="Take and Frames")
        if body:
            _take(body, settings)
            _frames(body, settings)
        header, body = layout.panel("knuckle_cleaning", default_closed=True)
        header.label(text="Cleaning")
        if body:
            _cleaning(body, settings)
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


def _target(layout: "UILayout", context: "Context", settings: Any) -> None:
    """Draw the target that is keyed, and how the capture is matched to it."""
    layout.prop(settings, "rig")
    if settings.rig == "ARMATURE":
        layout.prop(settings, "armature")
        if settings.armature and (library := library_of(settings.armature)):
            paragraph(layout, context, f"Linked from {library}: solving makes a library override of it", "INFO")
        if settings.drive in ("wrist", "arm"):
            layout.operator_menu_enum("knuckle.align_capture", "method", icon="ORIENTATION_GLOBAL")
        layout.prop(settings, "keep")
        if settings.keep != "directions":
            layout.row().prop(settings, "keep_scale", expand=True)
        layout.prop(settings, "rig_limits")
        row = layout.row(align=True)
        row.operator("knuckle.add_limits", icon="CON_ROTLIMIT")
        row.operator("knuckle.remove_limits", text="", icon="X")
    if settings.align:
        # Also without an armature, which it needs: a recipe may have it.
        _stored(layout, "Align to Character", "when solved", "align")
    if settings.rig_file:
        _stored(layout, "Recipe's Target", Path(settings.rig_file).name, "rig_file")
        if settings.rig == "NEW":
            paragraph(layout, context, "Append its armature and choose it, or clear the target", "ERROR")
    if settings.corrections:
        _stored(layout, "Corrections", "of a recipe", "recipe_corrections")


def _settings(layout: "UILayout", settings: Any, what: str) -> None:
    """Draw the settings of the chosen solver or smoothing in a subpanel, if it has any."""
    if not getattr(settings, what):
        return
    group, defaults = chosen_settings(settings, what)
    if not defaults:
        return
    header, body = layout.panel(f"knuckle_{what}_settings", default_closed=True)
    header.label(text=f"{what.capitalize()} Settings")
    reset = header.row()
    reset.enabled = bool(changed(group, defaults))
    reset.operator("knuckle.reset_settings", text="", icon="LOOP_BACK", emboss=False).what = what
    for name in defaults if body else ():
        body.prop(group, name)


def _take(layout: "UILayout", settings: Any) -> None:
    """Draw which take is keyed, and which digits."""
    column = layout.column(align=True)
    column.prop(settings, "hold_contacts")
    column.prop(settings, "keep_apart")
    layout.row().prop(settings, "into", expand=True)
    if settings.into == "this":
        column = layout.column(align=True)
        column.prop(settings, "blend_in")
        column.prop(settings, "blend_out")
    else:
        layout.prop(settings, "reduce")
    layout.column(align=True).prop(settings, "digits", expand=True)


def _frames(layout: "UILayout", settings: Any) -> None:
    layout.prop(settings, "start", text="Start Frame")
    layout.prop(settings, "keys")
    if settings.keys == "OTHER":
        layout.prop(settings, "fps")
    layout.prop(settings, "use_range")
    column = layout.column(align=True)
    column.active = settings.use_range
    column.prop(settings, "first")
    column.prop(settings, "last")


def _cleaning(layout: "UILayout", settings: Any) -> None:
    layout.prop(settings, "gap_limit")
    layout.prop(settings, "fragments")
    layout.prop(settings, "spikes")
    row = layout.row(heading="Low-Pass Filter", align=True)
    row.prop(settings, "use_cutoff", text="")
    value = row.row(align=True)
    value.active = settings.use_cutoff
    value.prop(settings, "cutoff", text="")


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
