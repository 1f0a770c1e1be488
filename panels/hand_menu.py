"""The Hand menu in the menus Pose and Object, where F3 finds its operators, and a pie menu."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import bpy

from ..operators.help_pages import page_url
from ..operators.preferences import PACKAGE

if TYPE_CHECKING:
    from bpy.types import Context, UILayout


@dataclass(frozen=True, slots=True)
class Entry:
    """An operator of the menu. Labels name the hand, since F3 searches for them."""

    operator: str
    text: str
    icon: Any = "NONE"
    enum: str = ""
    """The property whose choices open as a submenu; empty for a plain entry."""
    properties: dict[str, Any] = field(default_factory=dict)

    def draw(self, layout: "UILayout") -> None:
        """Draw the entry."""
        if self.enum:
            properties = layout.operator_menu_enum(self.operator, self.enum, text=self.text, icon=self.icon)
        else:
            properties = layout.operator(self.operator, text=self.text, icon=self.icon)
        for name, value in self.properties.items():
            setattr(properties, name, value)


PREFERENCES = Entry("preferences.addon_show", "Knuckle Preferences", "PREFERENCES", properties={"module": PACKAGE})
RELAX = Entry("knuckle.pose_relax", "Relax Hand", "MOD_SMOOTH")
RESET = Entry("knuckle.pose_reset", "Reset Hand", "LOOP_BACK")
MIRROR = Entry("knuckle.pose_mirror", "Mirror Hand", "MOD_MIRROR", enum="direction")
SELECT = Entry("knuckle.pose_select", "Select Hand Bones", "RESTRICT_SELECT_OFF")
GRASP = Entry("knuckle.grasp", "Grasp Object", "VIEW_PAN")
SNAP_TO_PINS = Entry("knuckle.reach_pins", "Snap Fingertips to Pins", "PINNED")
SOLVE = Entry("knuckle.solve", "Solve Hand Capture", "PLAY")
APPLY = Entry("knuckle.apply_hand_pose", "Apply Hand Pose", "ARMATURE_DATA", enum="pose")

ENTRIES = (
    (
        Entry("knuckle.import_capture", "Import Hand Capture...", "IMPORT"),
        Entry("knuckle.capture_armature", "Capture from Armature", "ARMATURE_DATA"),
        Entry("knuckle.assign_markers", "Assign Hand Markers", "EYEDROPPER"),
        SOLVE,
        Entry("knuckle.calibrate", "Calibrate Performer's Hand", "DRIVER_DISTANCE"),
        Entry("knuckle.correct_pose", "Correct Pose of Hand Take", "POSE_HLT"),
        Entry("knuckle.snap_to_pose", "Snap Hand Take to Pose...", "VIEW_PAN"),
        Entry("knuckle.hide_marker", "Hide Marker of Hand Take...", "HIDE_ON"),
        Entry("knuckle.reduce_keys", "Reduce Keys of Hand", "IPO_BEZIER"),
        Entry("knuckle.restore_dense_keys", "Restore Dense Keys of Hand", "LOOP_BACK"),
        Entry("knuckle.fit_range", "Set Scene Frame Range to Hand Take", "PREVIEW_RANGE"),
        Entry("knuckle.export_report", "Export Report of Hand Take...", "EXPORT"),
        Entry("knuckle.export_report_page", "Export Report Page of Hand Take...", "URL"),
    ),
    (
        Entry("knuckle.live_start", "Start Live Hand Capture", "PLAY"),
        Entry("knuckle.live_record", "Record Live Hand Capture", "REC"),
        Entry("knuckle.live_stop", "Stop Live Hand Capture", "SNAP_FACE"),
    ),
    (
        APPLY,
        Entry("knuckle.save_hand_pose", "Save Hand Pose...", "FILE_TICK"),
        Entry("knuckle.add_hand_poses", "Add Hand Poses to Asset Shelf", "ASSET_MANAGER", properties={"side": "BOTH"}),
        RELAX,
        RESET,
        MIRROR,
        SELECT,
    ),
    (
        GRASP,
        Entry("knuckle.release_object", "Release Object", "UNLINKED"),
        Entry("knuckle.touch", "Snap Hand to Target", "EMPTY_SINGLE_ARROW"),
        Entry("knuckle.follow", "Follow Path with Hand", "CON_FOLLOWPATH"),
        SNAP_TO_PINS,
        Entry("knuckle.unpin_all", "Unpin All Fingertips", "UNPINNED"),
    ),
    (
        Entry("knuckle.detect_again", "Detect Hands Again", "FILE_REFRESH"),
        Entry("knuckle.add_limits", "Add Limits to Hand Bones", "CON_ROTLIMIT"),
        Entry("knuckle.remove_limits", "Remove Limits from Hand Bones", "X"),
    ),
    (PREFERENCES,),
)
"""The entries of the menu, by groups."""

PIE = (RELAX, GRASP, APPLY, SOLVE, RESET, SELECT, MIRROR, SNAP_TO_PINS)
"""The entries of the pie menu, in Blender's order: west, east, south, north, then the corners from the north-west."""


class KNUCKLE_MT_hand(bpy.types.Menu):
    """Capture, pose and grasp with hands"""

    bl_label = "Hand"

    def draw(self, _context: "Context") -> None:
        """Draw the entries, and one for the documentation."""
        layout = self.layout
        for group in ENTRIES:
            for entry in group:
                entry.draw(layout)
            if group is not ENTRIES[-1]:
                layout.separator()
        draw_help(layout, "Knuckle Help")


class KNUCKLE_MT_hand_pie(bpy.types.Menu):
    """The most used operators on hands"""

    bl_label = "Hand"

    def draw(self, _context: "Context") -> None:
        """Draw the entries around the mouse."""
        pie = self.layout.menu_pie()
        for entry in PIE:
            entry.draw(pie)


def draw_help(layout: "UILayout", text: str, page: str = "index") -> None:
    """Draw a button that opens a page of the documentation."""
    layout.operator("wm.url_open", text=text, icon="HELP").url = page_url(page)


def draw_menu(self: bpy.types.Menu, _context: "Context") -> None:
    """Draw the Hand menu in another menu."""
    self.layout.separator()
    self.layout.menu(KNUCKLE_MT_hand.__name__, icon="VIEW_PAN")


class _Help:
    """Mixin of the row at the end of a tab."""

    bl_label = "Help"
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_options = {"HIDE_HEADER"}
    bl_order = 100
    page = "index"
    layout: "UILayout"

    def draw(self, _context: "Context") -> None:
        """Draw buttons for the documentation and the preferences."""
        row = self.layout.row(align=True)
        draw_help(row, "Help", self.page)
        preferences: Any = row.operator(PREFERENCES.operator, text="", icon="PREFERENCES")
        preferences.module = PACKAGE


class KNUCKLE_PT_help(_Help, bpy.types.Panel):
    """Documentation and preferences"""

    bl_category = "Knuckle"


class KNUCKLE_PT_pose_help(_Help, bpy.types.Panel):
    """Documentation and preferences"""

    bl_category = "Knuckle Pose"
    page = "how-to/sliders"


CLASSES = (
    KNUCKLE_MT_hand,
    KNUCKLE_MT_hand_pie,
    KNUCKLE_PT_help,
    KNUCKLE_PT_pose_help,
)
MENUS = (
    (bpy.types.VIEW3D_MT_pose, draw_menu),
    (bpy.types.VIEW3D_MT_object, draw_menu),
)
