"""A camera and light for a take, so that a new file shows the hand when opened and rendered."""

from typing import TYPE_CHECKING

import bpy
import numpy as np
from mathutils import Matrix
from numpy.typing import NDArray

from ..hand import rotations as rot
from ..hand.kinematics import joint_frames
from ..pipeline.take import Take
from .keys.keyframes import BoneCurves, new_action

if TYPE_CHECKING:
    from bpy.types import Collection, Object, Scene

Floats = NDArray[np.float64]

LENS, SENSOR = 50.0, 36.0
"""mm"""
MARGIN = 1.2
SMOOTHING_S = 0.8
"""s before and after each frame over which a moving camera's path is smoothed."""
FOLLOW_RATIO = 1.5
"""The camera follows the hands if a static one would have to be this many times further away."""


def add_view(take: Take, frames: Floats, scene: "Scene", collection: "Collection") -> "Object":
    """Add the scene's camera, framing the hands over the whole take, and a sun; 3D views look through the camera."""
    rotation = back_view(take)
    camera = add_camera(scene, collection, hand_points(take), rotation, times=take.times, frames=frames)
    add_sun(collection, rotation)
    _show_camera()
    return camera


GREY = (0.22, 0.23, 0.25)


def add_surroundings(scene: "Scene") -> None:
    """Set the picture size, and a plain grey world unless the scene has one."""
    scene.render.resolution_x, scene.render.resolution_y, scene.render.resolution_percentage = 1280, 720, 100
    if scene.world is None:
        scene.world = bpy.data.worlds.new("World")
        scene.world.color = GREY
        if bpy.app.version < (5, 0, 0):  # since 5.0 every world has nodes
            scene.world.use_nodes = True
        scene.world.node_tree.nodes["Background"].inputs["Color"].default_value = (*GREY, 1.0)


def hand_points(take: Take) -> Floats:
    """Return points (F, N, 3) m that must be in the picture: the joints, and where the skin ends below the wrist."""
    points = []
    for solved in take.hands:
        joints = joint_frames(solved.hand, solved.pose)
        skin_end = joints[:, 0] @ np.array([0.0, -0.25 * solved.proportions.size, 0.0, 1.0])
        points += [joints[..., :3, 3], skin_end[:, None, :3]]
    return np.concatenate(points, axis=1)


def back_view(take: Take) -> Floats:
    """Return the rotation (3, 3) of a camera that sees the backs of the hands, slightly from above and from a side."""
    back_axis = np.asarray(sum(hand.pose.root[:, :3, 2].mean(axis=0) for hand in take.hands))
    return view_along(-back_axis / max(float(np.linalg.norm(back_axis)), 1e-9) - [0.25, -0.35, 0.35])


def add_camera(
    scene: "Scene", collection: "Collection", points: Floats, rotation: Floats, *, times: Floats, frames: Floats
) -> "Object":
    """Add a camera with a `rotation` (3, 3) that keeps points (F, N, 3) m in its picture.

    times: (F,) s; frames: (F,) the scene frames at these times. The camera is static if the points stay together, and
    otherwise follows them smoothly, its distance following their spread.
    """
    in_view = points @ rotation
    centres = (in_view.min(axis=1) + in_view.max(axis=1)) / 2
    middle = (in_view.min(axis=(0, 1)) + in_view.max(axis=(0, 1))) / 2
    static = _needed_distance(in_view - middle, scene).max() <= FOLLOW_RATIO * np.median(
        _needed_distance(in_view - centres[:, None], scene)
    )
    if static:
        positions = middle[None] + [0.0, 0.0, _needed_distance(in_view - middle, scene).max()]
    else:
        half_window = _half_window(times)
        positions = _moving_mean(centres, half_window)
        # A moving maximum, averaged over the same window, is nowhere less than the distance needed.
        positions[:, 2] += _moving_mean(
            _moving_maximum(_needed_distance(in_view - positions[:, None], scene), half_window), half_window
        )
    camera = _camera(scene, collection)
    camera.rotation_mode = "QUATERNION"
    camera.rotation_quaternion = rot.from_matrix(rotation).tolist()
    camera.location = rotation @ positions[0]
    if not static:
        step = max(len(frames) // 400, 1)
        new_action(camera, [BoneCurves("", "location", frames[::step], positions[::step] @ rotation.T)], "Camera")
    return camera


def _needed_distance(points: Floats, scene: "Scene") -> Floats:
    """Return the distances (F,) m at which a camera looking at the origin along −Z has points (F, N, 3) in its picture.

    A point x, y, z is in it if |x| <= (d − z) tan a, with d the camera's z and a half its angle of view; likewise y.
    """
    width, height = scene.render.resolution_x, scene.render.resolution_y
    half_tangent = SENSOR / 2 / LENS / max(width, height) / MARGIN
    across = np.maximum(
        np.abs(points[..., 0]) / (half_tangent * width), np.abs(points[..., 1]) / (half_tangent * height)
    )
    distances: Floats = np.maximum((points[..., 2] + across).max(axis=-1), 0.05)
    return distances


def view_along(direction: Floats, up: Floats | None = None) -> Floats:
    """Return the rotation (3, 3) of a camera whose −Z, its line of sight, is along a vector, with `up` upwards."""
    towards = -direction / np.linalg.norm(direction)
    if up is None:
        up = np.array([0.0, 0.0, 1.0]) if abs(towards[2]) < 0.95 else np.array([0.0, 1.0, 0.0])
    x = np.cross(up, towards)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(towards, x), towards], axis=-1)


def _half_window(times: Floats) -> int:
    """Return SMOOTHING_S in frames."""
    return max(round(SMOOTHING_S * (len(times) - 1) / max(float(times[-1] - times[0]), 1e-9)), 1)


def _windows(values: Floats, half_window: int) -> Floats:
    """Return windows (F, ..., 2 half_window + 1) around each frame, padded with the first and last frame."""
    padded = np.concatenate([values[:1].repeat(half_window, 0), values, values[-1:].repeat(half_window, 0)])
    return np.lib.stride_tricks.sliding_window_view(padded, 2 * half_window + 1, axis=0)


def _moving_mean(values: Floats, half_window: int) -> Floats:
    result: Floats = _windows(values, half_window).mean(axis=-1)
    return result


def _moving_maximum(values: Floats, half_window: int) -> Floats:
    result: Floats = _windows(values, half_window).max(axis=-1)
    return result


def _camera(scene: "Scene", collection: "Collection") -> "Object":
    data = bpy.data.cameras.new("Camera")
    data.lens, data.sensor_width, data.clip_start = LENS, SENSOR, 0.001
    camera = bpy.data.objects.new("Camera", data)
    collection.objects.link(camera)
    scene.camera = camera
    return camera


def add_sun(collection: "Collection", camera_rotation: Floats) -> None:
    """Add a sun that shines from above and left of the camera."""
    light = bpy.data.lights.new("Sun", "SUN")
    light.energy, light.angle = 3.0, 0.2
    sun = bpy.data.objects.new("Sun", light)
    direction = -camera_rotation[:, 2] + 0.6 * camera_rotation[:, 0] - 0.8 * camera_rotation[:, 1]
    sun.matrix_world = Matrix(view_along(direction).tolist()).to_4x4()
    collection.objects.link(sun)


def _show_camera() -> None:
    """Let all 3D views look through the camera: a hand is too small for the default view."""
    for screen in bpy.data.screens:
        for area in screen.areas:
            if area.type == "VIEW_3D":
                area.spaces.active.region_3d.view_perspective = "CAMERA"
                area.spaces.active.clip_start = 0.001
