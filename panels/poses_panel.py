"""The Poses panel: pictures of hand poses, for the active armature's hand."""

from typing import TYPE_CHECKING, Any

import bpy
from bpy.props import StringProperty

from ..hand.joints import Side
from ..hand.poses import GROUPS, POSES, SAVED, NamedPose
from ..operators.posed_hands import chosen_hand
from ..operators.saved_poses import saved_poses
from .pose_icons import icon_of
from .sliders_panel import KNUCKLE_PT_posing

if TYPE_CHECKING:
    from bpy.types import Context, UILayout

PICTURE = 4.0
"""Height of a picture, in buttons."""


class KNUCKLE_PT_hand_poses(bpy.types.Panel):
    """Poses to click"""

    bl_label = "Poses"
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "Knuckle Pose"
    bl_parent_id = KNUCKLE_PT_posing.__name__

    def draw(self, context: "Context") -> None:
        """Draw the search field, the pictures of the poses found, and the buttons that save poses."""
        hand = chosen_hand(context)
        if hand is None:
            return
        layout, manager = self.layout, context.window_manager
        column = layout.column(align=True)
        column.operator("knuckle.save_hand_pose", text="Save Pose", icon="FILE_TICK")
        column.operator("knuckle.add_hand_poses", text="Add to Asset Shelf", icon="ASSET_MANAGER").side = "BOTH"
        layout.prop(manager, "knuckle_pose_search", text="", icon="VIEWZOOM")
        grid = layout.grid_flow(row_major=True, columns=0, even_columns=True, even_rows=True, align=True)
        for pose in (*saved_poses().values(), *POSES.values()):
            if matches(pose, manager.knuckle_pose_search):
                _pose(grid.column(align=True), pose, hand[1])


def matches(pose: NamedPose, query: str) -> bool:
    """Return whether each word that is sought begins a word of the pose's name, group or tags."""
    words = " ".join((pose.label, pose.name, GROUPS.get(pose.group, SAVED), *pose.tags)).lower()
    pose_words = words.replace("-", " ").replace(":", " ").split()
    return all(any(word.startswith(part) for word in pose_words) for part in query.lower().split())


def _pose(layout: "UILayout", pose: NamedPose, side: Side) -> None:
    """Draw the picture of a pose, and a button with its name that applies it."""
    layout.template_icon(icon_value=icon_of(pose), scale=PICTURE)
    row = layout.row(align=True)
    row.operator_context = "EXEC_DEFAULT"
    apply: Any = row.operator("knuckle.apply_hand_pose", text=pose.label)
    apply.side = side
    if pose.group == SAVED:
        apply.saved = pose.label
        remove: Any = row.operator("knuckle.remove_hand_pose", text="", icon="X")
        remove.name = pose.label
    else:
        apply.pose = pose.name


CLASSES = (KNUCKLE_PT_hand_poses,)
PROPERTIES = (
    (
        bpy.types.WindowManager,
        "knuckle_pose_search",
        StringProperty(
            name="Search", description="Show poses of this name, group or tag", options={"TEXTEDIT_UPDATE", "SKIP_SAVE"}
        ),
    ),
)
