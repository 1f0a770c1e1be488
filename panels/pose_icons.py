"""The pictures of hand poses as icons: read after drawing, since panels must not change Blender's data."""

from collections.abc import Iterable

import bpy
import bpy.utils.previews
import numpy as np

from ..hand.poses import NamedPose
from ..operators.job import redraw_views
from ..operators.session import SESSION
from ..posing.pose_picture import pose_picture
from ..rig.posing.pose_assets import pictures


def icon_of(pose: NamedPose) -> int:
    """Return the icon of a pose; 0, none, until it is read and the panels are drawn again."""
    if pose.name not in SESSION.pose_icons:
        SESSION.pose_icons[pose.name] = 0
        SESSION.poses_to_show.append(pose)
        if not bpy.app.timers.is_registered(_show):
            bpy.app.timers.register(_show, first_interval=0.0)
    return SESSION.pose_icons[pose.name]


def _show() -> None:
    poses, SESSION.poses_to_show = SESSION.poses_to_show, []
    make_icons(poses)
    redraw_views(bpy.context)


def make_icons(poses: Iterable[NamedPose]) -> None:
    """Make the icons of poses, for Knuckle's own poses from rendered pictures."""
    rendered = pictures()
    if SESSION.previews is None:
        SESSION.previews = bpy.utils.previews.new()
    for pose in poses:
        picture = rendered[pose.name] if pose.name in rendered else pose_picture(pose)
        SESSION.previews.pop(pose.name, None)
        preview = SESSION.previews.new(pose.name)
        preview.image_size = picture.shape[:2]
        preview.image_pixels_float.foreach_set(np.ascontiguousarray(picture, np.float32).ravel())
        SESSION.pose_icons[pose.name] = preview.icon_id


def unregister() -> None:
    """Free the pictures."""
    if bpy.app.timers.is_registered(_show):
        bpy.app.timers.unregister(_show)
    if SESSION.previews is not None:
        bpy.utils.previews.remove(SESSION.previews)
