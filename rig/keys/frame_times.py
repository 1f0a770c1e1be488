"""Conversion of seconds to scene frames."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import RigError

if TYPE_CHECKING:
    from bpy.types import Scene

Floats = NDArray[np.float64]

LAST_FRAME = 1_048_574
"""The last frame of a Blender scene; the first is its negative. Keys beyond them would be moved to them."""


def scene_rate(scene: "Scene") -> float:
    """Return a scene's frames per second: 30 / 1.001 if fps is 30 and fps_base 1.001."""
    # Blender stores the base in 32 bits, as 1.00100005; after an hour the error would be a tenth of a frame.
    return float(scene.render.fps) / float(f"{scene.render.fps_base:.7g}")


def scene_frames(times: ArrayLike, origin: float, start: float, rate: float) -> Floats:
    """Return the scene frames (F,), possibly fractional, of times (F,) s.

    origin: the time in s that falls on frame `start`, normally that of the capture's first frame, so that a take of a
    part of the capture coincides with the markers from which it was solved. Raises RigError if Blender has no such
    frames.
    """
    frames = start + (np.asarray(times, float) - origin) * rate
    # Round frames that are whole up to rounding errors, so that the user finds keys on them.
    whole = np.round(frames)
    if not np.all(np.abs(whole) <= LAST_FRAME):
        raise RigError(
            f"the take would be on frames {whole.min():.0f} to {whole.max():.0f}, Blender's are {-LAST_FRAME} "
            f"to {LAST_FRAME}: choose another start, or a part of the take"
        )
    return np.where(np.abs(frames - whole) < 1e-4, whole, frames)


def set_scene_rate(scene: "Scene", rate: float) -> None:
    """Set a scene's frame rate in Hz: a whole fps, and a base if the rate is not whole (29.97 = 30 / 1.001)."""
    fps = min(max(round(rate), 1), 32767)
    scene.render.fps = fps
    scene.render.fps_base = fps / rate
