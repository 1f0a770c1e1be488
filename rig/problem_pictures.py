"""Pictures of the worst frames of a take for its report page."""

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bpy
import numpy as np
from numpy.typing import NDArray

from ..hand.joints import Side
from ..pipeline.report_page.content import Pictures, ProblemPicture, ReviewedTake
from . import detection_cache
from .binding import posed_frames
from .blend_file import in_background
from .camera_framing import add_camera, view_along
from .drawn_flesh import drawn_flesh
from .keys.take_problems import playing_with
from .render import RenderSettings, render_still, usable_engine

if TYPE_CHECKING:
    from bpy.types import Object, Scene

Floats = NDArray[np.float64]

MAX_PICTURES = 6
"""Problems that get pictures."""
SECONDS = 20.0
"""s that pictures may take; with the first that takes longer they end."""
SIZE = RenderSettings(360, 270)
VIEWS = {"from the back": (0.25, 0.35, -1.0), "from the thumb's side": (1.0, 0.15, -0.25)}
"""View -> its direction in the frame of a right wrist, which has +Y along the fingers and +Z out of the back."""


def problem_pictures(take: ReviewedTake, armature: "Object") -> Pictures:
    """Return pictures of a take's worst problems, and why there are no more. The scene is left as it was."""
    scene = bpy.context.scene
    if not take.problems:
        return Pictures()
    if in_background() and usable_engine() != "BLENDER_WORKBENCH":
        return Pictures(note="No pictures: Blender cannot draw here because there is no OpenGL.")
    end, found, note = time.monotonic() + SECONDS, list[ProblemPicture](), ""
    with _temporary_camera(scene), tempfile.TemporaryDirectory(prefix="knuckle-pictures-") as folder:
        for rank, problem in enumerate(take.problems[:MAX_PICTURES]):
            if time.monotonic() > end:
                note = f"Pictures end here: they may take {SECONDS:.0f} s."
                break
            frame = take.frame(problem.worst)
            scene.frame_set(int(frame // 1), subframe=frame % 1)
            displayed = _shown_hand(armature, scene, problem.side)
            if displayed is None:
                note = f"No pictures of the {problem.side} hand: it is hidden, or was not found in the scene."
                continue
            posed_hand, frames = displayed
            with drawn_flesh(scene, posed_hand, frames[:, :3, 3]):
                pictures = _pictures(scene, frames, problem.side, Path(folder) / "picture.jpg")
                found += [ProblemPicture(rank, view, jpeg, SIZE.width, SIZE.height) for view, jpeg in pictures]
    return Pictures(tuple(found), note)


def _shown_hand(armature: "Object", scene: "Scene", side: Side) -> "tuple[Object, Floats] | None":
    """Return the armature that has a hand, and its joints' frames (J, 4, 4) in the world; None without such a hand.

    Frames are NaN for joints without a bone.
    """
    for candidate in playing_with(armature, scene):
        binding = detection_cache.detected(candidate).bindings.get(side)
        if binding is not None and candidate.visible_get():
            frames: Floats = np.array(candidate.matrix_world) @ posed_frames(candidate, binding)
            return candidate, frames
    return None


def _pictures(scene: "Scene", frames: Floats, side: Side, path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield each view of a hand and its picture."""
    points = frames[:, :3, 3]
    points = points[np.isfinite(points).all(axis=1)]
    wrist = frames[0, :3, :3] / np.linalg.norm(frames[0, :3, :3], axis=0)
    for view, direction in VIEWS.items():
        seen = np.array(direction) * ([1.0, 1.0, 1.0] if side == "right" else [-1.0, 1.0, 1.0])
        rotation = view_along(wrist @ seen, up=wrist[:, 1])
        camera = add_camera(
            scene, scene.collection, points[None], rotation, times=np.zeros(1), frames=np.array([scene.frame_current])
        )
        try:
            render_still(path, SIZE, file_format="JPEG")
            yield view, path.read_bytes()
        finally:
            lens: Any = camera.data
            bpy.data.objects.remove(camera)
            bpy.data.cameras.remove(lens)


@contextmanager
def _temporary_camera(scene: "Scene") -> Iterator[None]:
    """Give the scene its camera, its picture's size and its frame back in the end; its markers switch no camera."""
    render = scene.render
    camera, size = scene.camera, (render.resolution_x, render.resolution_y)
    frame, part = scene.frame_current, scene.frame_subframe
    bound = [(marker, marker.camera) for marker in scene.timeline_markers if marker.camera]
    for marker, _ in bound:
        marker.camera = None
    render.resolution_x, render.resolution_y = SIZE.width, SIZE.height
    try:
        yield
    finally:
        render.resolution_x, render.resolution_y = size
        for marker, of_marker in bound:
            marker.camera = of_marker
        scene.frame_set(frame, subframe=part)
        scene.camera = camera
