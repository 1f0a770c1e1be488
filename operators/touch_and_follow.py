"""Touch a point, or follow a line, a sphere or an object, with the wrist or a fingertip of the active hand."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import bpy
import numpy as np
from bpy.props import BoolProperty, EnumProperty, FloatProperty, IntProperty, PointerProperty
from numpy.typing import NDArray

from ..errors import RigError
from ..hand.joints import DIGITS, digit_label, digit_of
from ..posing.following import FollowedPath, HandPath, Tool, along_line, along_points, around_sphere
from ..rig import detection_cache
from ..rig.posing import guides
from ..rig.posing.channel_diff import channels_of
from ..rig.posing.following import Followed, HandArm, follow_path, hand_arm_of, key, pose, posed_bones
from ..rig.posing.pins import check_in_view_layer
from .posed_hands import hand_to_pose
from .posing_operator import PosingOperator, finish_posing
from .setting_properties import NOT_ANIMATED

if TYPE_CHECKING:
    from bpy.types import Context

Floats = NDArray[np.float64]

MISS_TOLERANCE = 5e-4
"""m: a warning is shown if the hand is farther than this from the path."""
CASE_WORDS = {
    "outside": "out of reach",
    "near": "too near to the shoulder",
}
AROUND = {"SPHERE": guides.sphere_of_object, "VERTICES": guides.sphere_through_selected}
"""Kind of sphere to follow -> the function that returns the sphere."""
END_ITEMS = [
    ("wrist", "Wrist", "The wrist"),
    *((f"{digit}-tip", digit_label(digit).title(), f"The tip of the {digit_label(digit)}") for digit in DIGITS),
]


class KnuckleFollow(bpy.types.PropertyGroup):
    """Settings of touching and following."""

    end: EnumProperty(
        name="End Effector",
        description="Part of the hand that is moved to the target or along the path",
        items=END_ITEMS,
        default="index-finger-tip",
        options=NOT_ANIMATED,
    )
    alone: BoolProperty(
        name="Digit Only",
        description="Move only the digit. Hand and arm do not move",
        options=NOT_ANIMATED,
    )
    kind: EnumProperty(
        name="Path",
        description="Path that is followed",
        items=[
            ("POINT", "Object", "Follow the location of an object frame by frame"),
            ("LINE", "Line", "Follow a curve, an edge of a mesh, or the intersection line of two planes"),
            ("SPHERE", "Sphere", "Move around an empty's sphere, or the bounding sphere of a mesh"),
            ("VERTICES", "Vertices", "Move around the sphere through four selected vertices of a mesh"),
        ],
        options=NOT_ANIMATED,
    )
    target: PointerProperty(
        name="Target",
        description="Object to snap to or follow. If empty, the hand snaps to the 3D cursor",
        type=bpy.types.Object,
    )
    other: PointerProperty(
        name="Second Plane",
        description="A second plane: the intersection line of the two is followed",
        type=bpy.types.Object,
    )
    first: IntProperty(
        name="Start Frame", description="Frame on which the motion starts", default=1, options=NOT_ANIMATED
    )
    last: IntProperty(name="End Frame", description="Frame on which the motion ends", default=48, options=NOT_ANIMATED)
    reverse: BoolProperty(name="Reverse", description="Move in the opposite direction", options=NOT_ANIMATED)
    turn: FloatProperty(
        name="Angle",
        description="Angle of the motion around the sphere",
        subtype="ANGLE",
        default=np.deg2rad(120.0),
        options=NOT_ANIMATED,
    )
    axis: EnumProperty(
        name="Axis",
        description="Local axis of the sphere's object to move around",
        items=[(axis, axis, f"The object's local {axis} axis") for axis in "XYZ"],
        default="Z",
        options=NOT_ANIMATED,
    )
    gap: FloatProperty(
        name="Distance",
        description="Distance from the sphere's surface",
        subtype="DISTANCE",
        options=NOT_ANIMATED,
    )
    aim: BoolProperty(
        name="Aim at Center",
        description="Aim the hand at the center of the sphere. Otherwise it keeps its rotation",
        default=True,
        options=NOT_ANIMATED,
    )


class _FollowOperator(PosingOperator):
    """Mixin of the operators that touch and follow."""

    def change(self, context: "Context") -> str:
        """Move the hand, and return a warning if it misses the path."""
        armature, side = hand_to_pose(context)
        return miss_warning(self.move_hand(context, hand_arm_of(armature, detection_cache.usable_hand(armature, side))))

    def move_hand(self, context: "Context", hand_arm: HandArm) -> FollowedPath:
        """Pose or key the hand. Raises KnuckleError, and then nothing has changed."""
        raise NotImplementedError


class KNUCKLE_OT_touch(_FollowOperator, bpy.types.Operator):
    """Move the end effector to the target, or to the 3D cursor if there is none. The arm follows the hand, and
    reaches towards a target that is too far away"""

    bl_idname = "knuckle.touch"
    bl_label = "Snap to Target"
    bl_options = {"REGISTER", "UNDO"}

    def move_hand(self, context: "Context", hand_arm: HandArm) -> FollowedPath:
        """Pose the hand on this frame, and key it as auto-keying would."""
        settings = context.scene.knuckle_follow
        check_in_view_layer(settings.target)
        goal = guides.origin(settings.target) if settings.target else np.array(context.scene.cursor.location)
        result = _follow(context, hand_arm, lambda tool: along_line(tool, goal, np.zeros(3), np.zeros(1)))
        # If only a finger moves, the arm stays unchanged, even in a pose that the arm's solver would change.
        hand_arm = replace(hand_arm, arm=None) if settings.alone and settings.end != "wrist" else hand_arm
        armature = hand_arm.rig_hand.armature_object()
        old_channels = channels_of(armature, [name for name, _ in posed_bones(hand_arm)])
        pose(hand_arm, result)
        finish_posing(context, hand_arm.rig_hand, old_channels, moved=digit_of(settings.end))
        return result.path


class KNUCKLE_OT_follow(_FollowOperator, bpy.types.Operator):
    """Key the end effector along a line, around a sphere or with an object, in a new action"""

    bl_idname = "knuckle.follow"
    bl_label = "Follow Path"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: "Context") -> bool:
        """Available if there is also something to follow."""
        if not super().poll(context):
            return False
        if context.scene.knuckle_follow.target is None:
            cls.poll_message_set("Choose a target to follow")
            return False
        return True

    def move_hand(self, context: "Context", hand_arm: HandArm) -> FollowedPath:
        """Key the hand on each frame, in a new action."""
        settings = context.scene.knuckle_follow
        if settings.last < settings.first:
            raise RigError(f"the last frame, {settings.last}, is before the first, {settings.first}")
        check_in_view_layer(settings.target, settings.other)
        frames = np.arange(settings.first, settings.last + 1, dtype=float)
        result = _follow(context, hand_arm, path_for(settings, frames), frames)
        key(hand_arm, result, frames, f"Follow {settings.target.name}")
        return result.path


def path_for(settings: Any, frames: Floats) -> Callable[[Tool], HandPath]:
    """Return the path that the settings choose over scene frames (N,). Raises RigError for an object without one."""
    parts = np.linspace(0.0, 1.0, len(frames))
    if settings.reverse:
        parts = parts[::-1]
    target, second_target = settings.target, settings.other
    if settings.kind == "POINT":
        positions = guides.origins(target, frames)
        return lambda tool: HandPath(positions, _wrists_at(tool, positions))
    if settings.kind in AROUND:
        ball, rotation = (
            AROUND[settings.kind](target),
            settings.turn * guides.axis_of(target, "XYZ".index(settings.axis)),
        )
        return lambda tool: around_sphere(tool, ball, rotation, parts, gap=settings.gap, aim=settings.aim)
    if second_target is not None and second_target != target:
        return lambda tool: along_line(tool, *guides.segment_between(target, second_target, tool.position), parts)
    points = guides.path_along(target)
    return lambda tool: along_points(tool, points, parts)


def miss_warning(result: FollowedPath) -> str:
    """Describe how far steps are off the path; empty if none is."""
    miss_distances = np.flatnonzero(~(result.distances <= MISS_TOLERANCE))
    if not len(miss_distances):
        return ""
    cases = {result.cases[step] for step in miss_distances}
    reason = " and ".join(words for case, words in CASE_WORDS.items() if case in cases) or "held back by the limits"
    subject = f"{len(miss_distances)} of {len(result.distances)} frames are" if len(result.distances) > 1 else "It is"
    return f"{subject} {reason}, by up to {1000 * float(result.distances[miss_distances].max()):.0f} mm"


def _follow(
    context: "Context", hand_arm: HandArm, path: Callable[[Tool], HandPath], frames: Floats | None = None
) -> Followed:
    settings = context.scene.knuckle_follow
    return follow_path(hand_arm, settings.end, path, frames, alone=settings.alone)


def _wrists_at(tool: Tool, positions: Floats) -> Floats:
    """Return poses of the wrist (N, 4, 4) that keep its rotation while the tool's tip is at positions (N, 3)."""
    wrists = np.tile(tool.wrist, (len(positions), 1, 1))
    wrists[:, :3, 3] = positions - tool.pointing
    return wrists


CLASSES = (
    KnuckleFollow,
    KNUCKLE_OT_touch,
    KNUCKLE_OT_follow,
)
PROPERTIES = ((bpy.types.Scene, "knuckle_follow", bpy.props.PointerProperty(type=KnuckleFollow)),)
