"""Apply a named pose to a hand, or add all named poses to Blender's asset shelf."""

from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any

import bpy
from bpy.props import EnumProperty, FloatProperty, StringProperty

from ..errors import HandError, RigError
from ..hand.poses import POSES, NamedPose
from ..rig.keys.keyframes import check_keyable
from ..rig.posing.hand_poses import apply_pose
from ..rig.posing.pose_assets import add_pose_assets
from ..rig.posing.rig_hand import RigHand
from .posed_hands import requested_hands
from .posing_operator import PosingOperator, channels_before, finish_posing, hands_to_pose, side_property
from .rig_hands import SIDE_ITEMS
from .saved_poses import saved_poses

if TYPE_CHECKING:
    from bpy.types import Context

POSE_ITEMS = [(pose.name, pose.label, pose.about.removesuffix(".")) for pose in POSES.values()]


class KNUCKLE_OT_apply_hand_pose(PosingOperator, bpy.types.Operator):
    """Apply a named pose to the digits of a hand, or blend towards it. The wrist does not move"""

    bl_idname = "knuckle.apply_hand_pose"
    bl_label = "Apply Hand Pose"

    pose: EnumProperty(name="Pose", description="Which pose", items=POSE_ITEMS)
    saved: StringProperty(
        name="Saved Pose",
        description="Name of a saved pose, which is applied instead if it is not empty",
        options={"SKIP_SAVE"},
    )
    side: EnumProperty(
        name="Hand",
        description="Which hand",
        items=[
            ("BOTH", "Both", "All hands"),
            *SIDE_ITEMS,
            ("SELECTED", "Selected", "Hands with a selected bone"),
        ],
    )
    factor: FloatProperty(
        name="Factor",
        description="0 keeps the current pose, 1 applies the pose fully",
        subtype="FACTOR",
        min=0.0,
        max=1.0,
        default=1.0,
        # The next pose is applied fully again.
        options={"SKIP_SAVE"},
    )

    def change(self, context: "Context") -> str:
        """Pose each requested hand."""
        pose: str | NamedPose = self.pose
        if self.saved:
            poses = saved_poses()
            if self.saved not in poses:
                raise HandError(f"there is no saved pose '{self.saved}', only {', '.join(poses) or 'none at all'}")
            pose = poses[self.saved]
        for rig_hand in self._requested_hands(context):
            before = channels_before(rig_hand)
            apply_pose(rig_hand, pose, self.factor)
            finish_posing(context, rig_hand, before)
        return ""

    def _requested_hands(self, context: "Context") -> list[RigHand]:
        """Return the requested hands. Raises RigError if there is none."""
        if self.side != "SELECTED":
            return hands_to_pose(context, self.side)
        selected = {(bone.id_data.name, bone.name) for bone in context.selected_pose_bones or ()}
        hands = [rig_hand for rig_hand in hands_to_pose(context, "BOTH") if selected.intersection(_bones(rig_hand))]
        if not hands:
            raise RigError("no bone of a hand is selected, select one in Pose Mode")
        return hands


def _bones(rig_hand: RigHand) -> Iterator[tuple[str, str]]:
    """Yield the names of armature and bone of each joint that has a bone."""
    binding, armature = rig_hand.binding, rig_hand.armature_object().name
    return ((armature, str(binding.bones[joint])) for joint in binding.mapped)


class KNUCKLE_OT_add_hand_poses(PosingOperator, bpy.types.Operator):
    """Add the named poses of the hands to this file as pose assets, shown in the asset shelf of Pose Mode. Poses that
    were added before are updated"""

    bl_idname = "knuckle.add_hand_poses"
    bl_label = "Add Hand Poses to Asset Shelf"
    keys_pose = False

    side: side_property()

    def change(self, context: "Context") -> str:
        """Make assets of all poses for each requested hand."""
        hands = requested_hands(context, self.side)
        by_armature = [(armature, list(rig_hands)) for armature, rig_hands in groupby(hands, RigHand.armature_object)]
        for armature, _ in by_armature:
            check_keyable(armature)
        poses: tuple[str | NamedPose, ...] = (*POSES, *saved_poses().values())
        count = sum(len(add_pose_assets(armature, rig_hands, poses)) for armature, rig_hands in by_armature)
        of_all = " and ".join(armature.name for armature, _ in by_armature)
        report: Any = self.report
        report({"INFO"}, f"{count} hand poses of {of_all} are in the asset shelf of Pose Mode")
        return ""


CLASSES = (
    KNUCKLE_OT_apply_hand_pose,
    KNUCKLE_OT_add_hand_poses,
)
