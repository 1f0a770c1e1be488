"""A camera and light for a take, so that a new file shows the hand when it is opened and rendered."""

from typing import TYPE_CHECKING

import bpy
import numpy as np
from mathutils import Matrix
from numpy.typing import NDArray

from ..hand import rotations as rot
from ..hand.kinematics import joint_frames
from ..pipeline import Take
from .keyframes import Curves, new_action

if TYPE_CHECKING:
    from bpy.types import Collection, Object, Scene

Floats = NDArray[np.float64]

LENS, SENSOR = 50.0, 36.0
"""mm"""
MARGIN = 1.25
FOLLOWED = 0.8
"""s over which the camera's path is smoothed where the hand wanders too far for a camera that stands still."""
WANDERS = 2.0
"""A hand that needs a picture this many times its own size is followed."""


def add_view(take: Take, frames: Floats, scene: "Scene", collection: "Collection") -> "Object":
    """The scene's camera, framing the hands over the whole take and following them where they wander, and a sun."""
    points = np.concatenate([joint_frames(hand.hand, hand.pose)[..., :3, 3] for hand in take.hands], axis=1)
    centres = (points.min(axis=1) + points.max(axis=1)) / 2
    near = np.linalg.norm(points - centres[:, None], axis=-1).max()
    middle = (points.min(axis=(0, 1)) + points.max(axis=(0, 1))) / 2
    whole = np.linalg.norm(points - middle, axis=-1).max()
    turn = looking_along(-_backs(take))
    camera = _camera(scene, collection)
    camera.rotation_mode = "QUATERNION"
    camera.rotation_quaternion = rot.from_matrix(turn)
    if whole <= WANDERS * near:
        camera.location = middle + turn[:, 2] * distance(whole, scene)
    else:
        path = _smoothed(centres, take.times)
        reach = near + np.linalg.norm(path - centres, axis=-1).max()
        _follow(camera, frames, path + turn[:, 2] * distance(reach, scene))
    _sun(collection, turn)
    _show_camera()
    return camera


def distance(radius: float, scene: "Scene") -> float:
    """m from which a ball of this radius fills the picture."""
    width, height = scene.render.resolution_x, scene.render.resolution_y
    half_angle = np.arctan(SENSOR / 2 / LENS * min(1.0, height / width))
    return float(MARGIN * radius / np.sin(half_angle))


def looking_along(direction: Floats) -> Floats:
    """(3, 3) the rotation of a camera that looks along a vector, upright: a camera looks along its −Z."""
    back = -direction / np.linalg.norm(direction)
    up = np.array([0.0, 0.0, 1.0]) if abs(back[2]) < 0.95 else np.array([0.0, 1.0, 0.0])
    x = np.cross(up, back)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(back, x), back], axis=-1)


def _backs(take: Take) -> Floats:
    """The direction that the backs of the hands face on the whole, seen a little from above and from the side."""
    facing = sum(hand.pose.root[:, :3, 2].mean(axis=0) for hand in take.hands)
    facing = np.asarray(facing) / max(float(np.linalg.norm(facing)), 1e-9)
    direction: Floats = facing + [0.25, -0.35, 0.35]
    return direction


def _smoothed(path: Floats, times: Floats) -> Floats:
    """A path (F, 3) averaged over FOLLOWED seconds to both sides."""
    frames = max(round(FOLLOWED * (len(times) - 1) / max(times[-1] - times[0], 1e-9)), 1)
    padded = np.concatenate([path[:1].repeat(frames, 0), path, path[-1:].repeat(frames, 0)])
    sums = np.cumsum(np.concatenate([np.zeros((1, 3)), padded]), axis=0)
    width = 2 * frames + 1
    result: Floats = (sums[width:] - sums[:-width]) / width
    return result


def _follow(camera: "Object", frames: Floats, path: Floats) -> None:
    step = max(len(frames) // 200, 1)
    new_action(camera, [Curves("", "location", frames[::step], path[::step])], "Camera")


def _camera(scene: "Scene", collection: "Collection") -> "Object":
    data = bpy.data.cameras.new("Camera")
    data.lens, data.sensor_width, data.clip_start = LENS, SENSOR, 0.001
    camera = bpy.data.objects.new("Camera", data)
    collection.objects.link(camera)
    scene.camera = camera
    return camera


def _sun(collection: "Collection", turn: Floats) -> None:
    """Light from above the camera's left shoulder."""
    light = bpy.data.lights.new("Sun", "SUN")
    light.energy, light.angle = 3.0, 0.2
    sun = bpy.data.objects.new("Sun", light)
    along = -turn[:, 2] + 0.6 * turn[:, 0] - 0.8 * turn[:, 1]
    sun.matrix_world = Matrix(looking_along(along).tolist()).to_4x4()
    collection.objects.link(sun)


def _show_camera() -> None:
    """Lets the 3D views of a new file look through the camera: a hand is too small for the view of an empty file."""
    for screen in bpy.data.screens:
        for area in screen.areas:
            if area.type == "VIEW_3D":
                area.spaces.active.region_3d.view_perspective = "CAMERA"
                area.spaces.active.clip_start = 0.001
