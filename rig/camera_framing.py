"""A camera and light for a take, so that a new file shows the hand when it is opened and rendered."""

from typing import TYPE_CHECKING

import bpy
import numpy as np
from mathutils import Matrix
from numpy.typing import NDArray

from ..hand import rotations as rot
from ..hand.kinematics import joint_frames
from ..pipeline.job import Take
from .keys.keyframes import BoneCurves, new_action

if TYPE_CHECKING:
    from bpy.types import Collection, Object, Scene

Floats = NDArray[np.float64]

LENS, SENSOR = 50.0, 36.0
"""mm"""
MARGIN = 1.2
FOLLOWED = 0.8
"""s to both sides over which the camera's path is smoothed where the hand wanders."""
WANDERS = 1.5
"""Hands for which a camera that stands still must be this many times further away are followed."""


def add_view(take: Take, frames: Floats, scene: "Scene", collection: "Collection") -> "Object":
    """The scene's camera, framing the hands over the whole take, and a sun; the views of the file look through it."""
    turn = facing(take)
    camera = add_camera(scene, collection, hand_points(take), turn, times=take.times, frames=frames)
    add_sun(collection, turn)
    _show_camera()
    return camera


GREY = (0.22, 0.23, 0.25)


def add_surroundings(scene: "Scene") -> None:
    """A picture size, and a plain grey behind the hand unless the file has a world of its own."""
    scene.render.resolution_x, scene.render.resolution_y, scene.render.resolution_percentage = 1280, 720, 100
    if scene.world is None:
        scene.world = bpy.data.worlds.new("World")
        scene.world.color = GREY
        if bpy.app.version < (5, 0, 0):  # from then on every world has nodes
            scene.world.use_nodes = True
        scene.world.node_tree.nodes["Background"].inputs["Color"].default_value = (*GREY, 1.0)


def hand_points(take: Take) -> Floats:
    """(F, N, 3) m, what a picture of the hands has to hold: the joints, and where the skin ends below the wrist."""
    clouds = []
    for solved in take.hands:
        joints = joint_frames(solved.hand, solved.pose)
        end = joints[:, 0] @ np.array([0.0, -0.25 * solved.proportions.size, 0.0, 1.0])
        clouds += [joints[..., :3, 3], end[:, None, :3]]
    return np.concatenate(clouds, axis=1)


def facing(take: Take) -> Floats:
    """(3, 3) a camera's rotation that sees the backs of the hands on the whole, a little from above and from aside."""
    back = np.asarray(sum(hand.pose.root[:, :3, 2].mean(axis=0) for hand in take.hands))
    return looking_along(-back / max(float(np.linalg.norm(back)), 1e-9) - [0.25, -0.35, 0.35])


def add_camera(
    scene: "Scene", collection: "Collection", points: Floats, turn: Floats, *, times: Floats, frames: Floats
) -> "Object":
    """A camera turned by `turn` (3, 3) that holds points (F, N, 3) at times (F,) s, which are scene frames (F,).

    It stands still if the points stay together, and otherwise follows them smoothly, near or far as they spread.
    """
    seen = points @ turn
    centres = (seen.min(axis=1) + seen.max(axis=1)) / 2
    middle = (seen.min(axis=(0, 1)) + seen.max(axis=(0, 1))) / 2
    still = _needed(seen - middle, scene).max() <= WANDERS * np.median(_needed(seen - centres[:, None], scene))
    if still:
        stand = middle[None] + [0.0, 0.0, _needed(seen - middle, scene).max()]
    else:
        reach = _reach(times)
        stand = _averaged(centres, reach)
        # The largest of a stretch, averaged over the same stretch, is nowhere less than what is needed.
        stand[:, 2] += _averaged(_largest(_needed(seen - stand[:, None], scene), reach), reach)
    camera = _camera(scene, collection)
    camera.rotation_mode = "QUATERNION"
    camera.rotation_quaternion = rot.from_matrix(turn).tolist()
    camera.location = turn @ stand[0]
    if not still:
        step = max(len(frames) // 400, 1)
        new_action(camera, [BoneCurves("", "location", frames[::step], stand[::step] @ turn.T)], "Camera")
    return camera


def _needed(points: Floats, scene: "Scene") -> Floats:
    """(F,) m from which a camera, looking at the origin along −Z, has points (F, N, 3) in its picture.

    A point at x, y, z is in it if |x| <= (d − z) tan a, with d the camera's z and a half its angle of view; so is y.
    """
    width, height = scene.render.resolution_x, scene.render.resolution_y
    half = SENSOR / 2 / LENS / max(width, height) / MARGIN
    across = np.maximum(np.abs(points[..., 0]) / (half * width), np.abs(points[..., 1]) / (half * height))
    away: Floats = np.maximum((points[..., 2] + across).max(axis=-1), 0.05)
    return away


def looking_along(direction: Floats, up: Floats | None = None) -> Floats:
    """(3, 3) the rotation of a camera that looks along a vector, with `up` upwards: a camera looks along its −Z."""
    back = -direction / np.linalg.norm(direction)
    if up is None:
        up = np.array([0.0, 0.0, 1.0]) if abs(back[2]) < 0.95 else np.array([0.0, 1.0, 0.0])
    x = np.cross(up, back)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(back, x), back], axis=-1)


def _reach(times: Floats) -> int:
    """FOLLOWED seconds in frames."""
    return max(round(FOLLOWED * (len(times) - 1) / max(float(times[-1] - times[0]), 1e-9)), 1)


def _stretches(values: Floats, reach: int) -> Floats:
    """(F, ..., 2 reach + 1) each frame with the frames around it, the ends held."""
    padded = np.concatenate([values[:1].repeat(reach, 0), values, values[-1:].repeat(reach, 0)])
    return np.lib.stride_tricks.sliding_window_view(padded, 2 * reach + 1, axis=0)


def _averaged(values: Floats, reach: int) -> Floats:
    result: Floats = _stretches(values, reach).mean(axis=-1)
    return result


def _largest(values: Floats, reach: int) -> Floats:
    result: Floats = _stretches(values, reach).max(axis=-1)
    return result


def _camera(scene: "Scene", collection: "Collection") -> "Object":
    data = bpy.data.cameras.new("Camera")
    data.lens, data.sensor_width, data.clip_start = LENS, SENSOR, 0.001
    camera = bpy.data.objects.new("Camera", data)
    collection.objects.link(camera)
    scene.camera = camera
    return camera


def add_sun(collection: "Collection", turn: Floats) -> None:
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
