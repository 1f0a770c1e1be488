"""Hand poses that the user saved: files in a separate folder, for any rig in any file."""

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import bpy
from bpy.props import BoolProperty, StringProperty

from ..errors import HandError, KnuckleError
from ..files import make_folder, write_json
from ..hand import poses
from ..hand.poses import NamedPose
from ..pipeline.recipe import read_json
from ..rig.keys.keyframes import check_keyable
from ..rig.posing.posable_cache import posable_hand
from ..rig.posing.pose_assets import add_pose_assets
from .posed_hands import hand_to_pose
from .posing_operator import PosingOperator
from .preferences import user_folder
from .reports import report_message
from .session import SESSION

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems
    from bpy.types import Context, Event

SUFFIX = ".json"
MAX_POSES = 500
"""Maximum saved poses that are shown."""
_PUNCTUATION = str.maketrans(dict.fromkeys('<>:"/\\|?*.', "_"))


def folder() -> Path:
    """Return the folder of the saved poses, which may not exist yet."""
    return user_folder() / "poses"


def saved_poses() -> dict[str, NamedPose]:
    """Return label -> saved pose, in alphabetical order. Files that are no poses are left out."""
    pose_folder = folder()
    return _read(pose_folder, pose_folder.stat().st_mtime_ns) if pose_folder.is_dir() else {}


@lru_cache(maxsize=1)
def _read(pose_folder: Path, _modified: int) -> dict[str, NamedPose]:
    """Read a folder, cached until its files change, since panels call it whenever they are drawn."""
    pose_of_label = {}
    for path in sorted(pose_folder.glob(f"*{SUFFIX}"))[:MAX_POSES]:
        try:
            pose = poses.from_dict(read_json(path), path.name)
        except KnuckleError:
            continue
        pose_of_label[pose.label] = pose
    return pose_of_label


def pose_path(label: str) -> Path:
    """Return the path of a saved pose."""
    return folder() / f"{label.translate(_PUNCTUATION)}{SUFFIX}"


class KNUCKLE_OT_save_hand_pose(PosingOperator, bpy.types.Operator):
    """Save the pose of this hand for any rig in any file. It is also added to this file as a pose asset"""

    bl_idname = "knuckle.save_hand_pose"
    bl_label = "Save Hand Pose"
    # The dialog starts with the name field.
    bl_property = "name"
    keys_pose = False

    name: StringProperty(
        name="Name",
        description="Name of the pose",
        default="Pose",
        maxlen=poses.MAX_LABEL_LENGTH,
        options={"SKIP_SAVE"},
    )
    replace: BoolProperty(
        name="Replace", description="Replace a saved pose of this name", default=False, options={"SKIP_SAVE"}
    )

    def invoke(self, context: "Context", _event: "Event") -> "set[OperatorReturnItems]":
        """Ask for the name."""
        return context.window_manager.invoke_props_dialog(self)

    def change(self, context: "Context") -> str:
        """Read the hand, write the file, and make the asset."""
        label = self.name.strip()
        if not label:
            raise HandError("the pose has no name, type one")
        if pose_path(label).exists() and not self.replace:
            raise HandError(f"there is a saved pose '{label}' already, choose another name or Replace")
        armature, side = hand_to_pose(context)
        check_keyable(armature)
        hand = posable_hand(armature, side)
        pose = poses.pose_of_angles(hand.hand, hand.read_pose().angles[0], label)
        make_folder(folder())
        write_json(pose_path(label), poses.to_dict(pose))
        _read.cache_clear()
        SESSION.pose_icons.pop(pose.name, None)
        add_pose_assets(armature, [hand], [pose])
        return ""


class KNUCKLE_OT_remove_hand_pose(bpy.types.Operator):
    """Remove this saved pose. Pose assets that were made of it are kept"""

    bl_idname = "knuckle.remove_hand_pose"
    bl_label = "Remove Saved Hand Pose"
    bl_options = {"INTERNAL"}

    name: StringProperty(name="Name", options={"SKIP_SAVE", "HIDDEN"})

    def invoke(self, context: "Context", event: "Event") -> "set[OperatorReturnItems]":
        """Ask first, since this cannot be undone."""
        return context.window_manager.invoke_confirm(self, event)

    def execute(self, _context: "Context") -> "set[OperatorReturnItems]":
        """Delete the file."""
        try:
            pose_path(self.name).unlink()
        except OSError as error:
            report_message(self, "ERROR", f"{pose_path(self.name)}: cannot be removed ({error.strerror})")
            return {"CANCELLED"}
        _read.cache_clear()
        return {"FINISHED"}


CLASSES = (
    KNUCKLE_OT_save_hand_pose,
    KNUCKLE_OT_remove_hand_pose,
)
