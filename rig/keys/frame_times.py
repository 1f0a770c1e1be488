"""When things happen in a scene: the one place where seconds become frames."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from bpy.types import Scene

Floats = NDArray[np.float64]


def scene_rate(scene: "Scene") -> float:
    """Frames per second of a scene: 30 / 1.001 where fps is 30 and fps_base 1.001."""
    # Blender keeps the base in 32 bits, as 1.00100005; after an hour that is a frame's tenth.
    return float(scene.render.fps) / float(f"{scene.render.fps_base:.7g}")


def scene_frames(times: ArrayLike, origin: float, start: float, rate: float) -> Floats:
    """(F,) the frames at which things happen that happened at `times` (F,) s.

    `origin` s is what falls on the frame `start`: the capture's first frame, so that a take of a part of it
    lies on the part of the markers that it was made from. Frames may have fractions.
    """
    frames = start + (np.asarray(times, float) - origin) * rate
    # A frame that is a whole number but for rounding is meant to be one, and keys there are found by the person.
    whole = np.round(frames)
    return np.where(np.abs(frames - whole) < 1e-4, whole, frames)


def set_scene_rate(scene: "Scene", rate: float) -> None:
    """Gives a scene a rate in Hz: a whole fps, and a base where the rate is not a whole number (29.97 = 30 / 1.001)."""
    fps = min(max(round(rate), 1), 32767)
    scene.render.fps = fps
    scene.render.fps_base = 1.0 if abs(rate - fps) < 1e-6 * rate else fps / rate
