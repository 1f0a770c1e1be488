"""Named poses: put on a hand at once, or made pose assets that Blender's asset shelf shows."""

from typing import TYPE_CHECKING, Any

import bpy
from bpy.props import EnumProperty, FloatProperty

from ..errors import RigError
from ..hand.joints import SIDES
from ..hand.poses import POSES
from ..rig import known_hands
from ..rig.hand_poses import apply_pose, posed_joints
from ..rig.held import HeldHand
from ..rig.held_known import held_hand
from ..rig.keyframes import check_keyable
from ..rig.pose_assets import add_pose_assets
from .posing_hand import OfPosedHand, side_property
from .posing_keys import key_hand
from .rig_hands import SIDE_ITEMS

if TYPE_CHECKING:
    from bpy.types import Context, Object

POSE_ITEMS = [(pose.name, pose.label, pose.about) for pose in POSES.values()]


class KNUCKLE_OT_apply_hand_pose(OfPosedHand, bpy.types.Operator):
    """Pose the fingers of a hand as a named pose has them, all the way or a part of it. The wrist stays"""

    bl_idname = "knuckle.apply_hand_pose"
    bl_label = "Apply Hand Pose"

    pose: EnumProperty(name="Pose", description="Which pose", items=POSE_ITEMS)
    side: EnumProperty(
        name="Hand",
        description="Which hand",
        items=[
            ("BOTH", "Both", "Each hand that there is"),
            *SIDE_ITEMS,
            ("SELECTED", "Selected", "Each hand of which a bone is selected"),
        ],
    )
    factor: FloatProperty(
        name="Factor",
        description="How far from how the hand stands, at 0, to the pose, at 1",
        subtype="FACTOR",
        min=0.0,
        max=1.0,
        default=1.0,
        # A pose that is chosen next is meant whole again.
        options={"SKIP_SAVE"},
    )

    def change(self, context: "Context", armature: "Object") -> None:
        """Each hand that was asked for."""
        for held in self._asked(context, armature):
            apply_pose(held, self.pose, self.factor)
            if self.factor > 0:
                key_hand(context, held, posed_joints(held))

    def _asked(self, context: "Context", armature: "Object") -> list[HeldHand]:
        """Raises RigError where there is none."""
        if self.side != "SELECTED":
            return self.hands(armature)
        selected = {bone.name for bone in context.selected_pose_bones or () if bone.id_data == armature}
        known = known_hands.known(armature) or known_hands.look(armature)
        sides = [side for side in SIDES if side in known.hands and selected & {*known.hands[side].bones.values()}]
        if not sides:
            raise RigError("no bone of a hand is selected, select one in Pose Mode")
        return [held_hand(armature, side, known) for side in sides]


class KNUCKLE_OT_add_hand_poses(OfPosedHand, bpy.types.Operator):
    """Make the named poses of the hands pose assets of this file: the asset shelf of Pose Mode shows them, a click
    applies one, dragging blends it. Again, it brings them up to date"""

    bl_idname = "knuckle.add_hand_poses"
    bl_label = "Add Hand Poses"

    side: side_property()

    def change(self, _context: "Context", armature: "Object") -> None:
        """All poses of each hand that was asked for."""
        check_keyable(armature)
        made = add_pose_assets(armature, self.hands(armature))
        report: Any = self.report
        report({"INFO"}, f"{len(made)} hand poses of {armature.name} are in the asset shelf of Pose Mode")
