"""A video is dropped on the window; its hand is solved onto MakeHuman's and onto a new one, seen before the video.

The browser is one outside: /tmp/out/browser/chromium tells the test which page to open.
"""

import json
import os
import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import bpy
import numpy as np
from bpy_extras.object_utils import world_to_camera_view
from mathutils import Matrix

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knuckle.tests.gui.driver import Screen, Steps

live = SimpleNamespace(**runpy.run_path(str(Path(__file__).parent / "live_camera.py")))
VIDEO = Path("/tmp/out/video/tap.mp4")
LANDMARKS = {"wrist": 0, **{f"{f}-finger-phalanx-proximal": 5 + 4 * i for i, f in enumerate(live.FINGERS)}}
"""Joint -> the detector's landmark."""
HAND = ("wrist.R", "finger2-1.R", "finger5-1.R")
"""MakeHuman's bones that begin at the wrist and at the knuckles of index and little finger."""
SHOWN = (1, 6)
"""Frames that are pictured."""


def play(screen: "Screen") -> "Steps":
    os.environ["PATH"] = f"/tmp/out/browser:{os.environ['PATH']}"
    bpy.ops.wm.open_mainfile(filepath="/tmp/out/rigs/makehuman.blend", load_ui=False)
    yield 1.0
    body = next(obj for obj in screen.scene.objects if obj.type == "ARMATURE")
    before = set(bpy.data.objects)
    yield from screen.show_sidebar("Knuckle")
    yield from screen.drop(VIDEO, *screen.view_middle())
    yield 1.0
    screen.picture("video_drop_asked")
    screen.key("i")
    yield from screen.wait_until(lambda: screen.scene.knuckle.markers and not running(), 150)
    yield 0.5
    screen.picture("video_drop")
    reported: dict[str, Any] = {
        "new": sorted(obj.type for obj in set(bpy.data.objects) - before),
        "scene": facts(screen.scene),
    }
    yield from solve(screen, body)
    reported["body_keys"] = keys(body)
    yield from pictures_of_body(screen, body)
    yield from solve(screen, None)
    hand = screen.scene.knuckle.result
    reported |= {"keys": keys(hand), "off": off_the_landmarks(screen.scene, hand), "directions": []}
    for frame in range(screen.scene.frame_start, screen.scene.frame_end + 1):
        screen.scene.frame_set(frame)
        reported["directions"].append(live.directions(hand))
    yield from pictures_of_hand(screen, hand)
    return reported


def running() -> bool:
    """Whether a job is."""
    return bool(bpy.context.window_manager.knuckle.running)


def facts(scene: bpy.types.Scene) -> dict[str, object]:
    """What the video made of the scene."""
    background = scene.camera.data.background_images[0]
    return {
        "rate": scene.render.fps / scene.render.fps_base,
        "range": [scene.frame_start, scene.frame_end],
        "size": [scene.render.resolution_x, scene.render.resolution_y],
        "background": Path(background.image.filepath).name,
        "capture": Path(scene.knuckle.capture).name,
    }


def solve(screen: "Screen", body: bpy.types.Object | None) -> "Iterator[float]":
    """Solve for a body's hand, or for a new one."""
    chosen = screen.scene.knuckle
    chosen.property_unset("rig")
    if body is not None:
        chosen.rig, chosen.armature = "ARMATURE", body
    last = chosen.result
    with screen.in_view():
        bpy.ops.knuckle.solve("INVOKE_DEFAULT")
    yield from screen.wait_until(lambda: screen.scene.knuckle.result != last and not running(), 120)
    yield 0.5


def keys(armature: bpy.types.Object) -> list[int]:
    """How many keys the curves of its action have."""
    bags = [
        bag for layer in armature.animation_data.action.layers for strip in layer.strips for bag in strip.channelbags
    ]
    return sorted({len(curve.keyframe_points) for bag in bags for curve in bag.fcurves})


def off_the_landmarks(scene: bpy.types.Scene, hand: bpy.types.Object) -> float:
    """Mean distance of wrist and knuckles from their landmarks in the camera's picture, in widths of it."""
    frames = json.loads(Path(bpy.path.abspath(scene.knuckle.capture)).read_text())["frames"]
    size = np.array([scene.render.resolution_x, scene.render.resolution_y]) / scene.render.resolution_x
    apart = []
    for number, frame in enumerate(frames):
        scene.frame_set(scene.frame_start + number)
        for joint, landmark in LANDMARKS.items():
            at = world_to_camera_view(scene, scene.camera, hand.matrix_world @ hand.pose.bones[joint].head)
            seen = frame["hands"][0]["landmarks"][landmark]
            apart.append(np.linalg.norm((np.array([at.x, 1 - at.y]) - seen[:2]) * size))
    return float(np.mean(apart))


def pictures_of_body(screen: "Screen", body: bpy.types.Object) -> "Iterator[float]":
    """The body's right hand from its back, as the video shows the one that it follows."""
    area = screen.area()
    area.spaces.active.overlay.show_overlays = False
    screen.move(20, screen.window.height - 20)
    for frame in SHOWN:
        screen.scene.frame_set(frame)
        wrist, index, little = (body.matrix_world @ body.pose.bones[name].head for name in HAND)
        up, right = ((index + little) / 2 - wrist).normalized(), (little - index).normalized()
        back = right.cross(up).normalized()
        view = area.spaces.active.region_3d
        view.view_perspective, view.view_distance = "PERSP", 0.31
        turned: Any = (up.cross(back), up, back)
        view.view_rotation = Matrix(turned).transposed().to_quaternion()
        view.view_location = (index + little) / 2 + 0.12 * view.view_distance * up.cross(back)
        yield 0.7
        screen.picture(f"video_drop_body_{frame}")
    area.spaces.active.overlay.show_overlays = True  # which the video is one of


def pictures_of_hand(screen: "Screen", hand: bpy.types.Object) -> "Iterator[float]":
    """The video through its camera, alone and with the new hand before it."""
    area = screen.area()
    area.spaces.active.region_3d.view_perspective = "CAMERA"
    skins = [child for child in hand.children if child.type == "MESH"]
    for obj in screen.scene.objects:
        obj.hide_set(obj != screen.scene.camera)
    with screen.in_view():
        bpy.ops.view3d.view_center_camera()
    for name, shown in (("video", []), ("hand", skins)):
        for skin in shown:
            skin.hide_set(False)
        for frame in SHOWN:
            screen.scene.frame_set(frame)
            yield 0.7
            screen.picture(f"video_drop_{name}_{frame}")
