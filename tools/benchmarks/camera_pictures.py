"""Draws a fitted hand over the rendered pictures that it was found in: docs/pictures/camera-overlay.jpg.

    python tools/benchmarks/camera_pictures.py [--out docs/pictures]

Needs bpy and what tools/benchmarks/camera.py needs.
"""

import argparse
from pathlib import Path

import bpy
import numpy as np
from camera import solved
from camera_data import landmarks
from camera_scores import PARENTS
from camera_takes import ANGLE_OF_VIEW, BUILD, HEIGHT, VIDEOS, WIDTH
from numpy.typing import NDArray
from skin_takes import ROOT

Floats = NDArray[np.float64]

SHOWN = ((6, 40), (8, 30), (11, 150), (12, 100), (13, 60), (10, 50))
"""Video and frame of each picture, three in a row."""
GREEN, WHITE = np.array([0.1, 0.95, 0.3]), np.array([1.0, 1.0, 1.0])


def picture(number: int, frame: int) -> Floats:
    """Return a frame (HEIGHT, WIDTH, 3) of a video with both hands drawn."""
    video = VIDEOS[number]
    image = bpy.data.images.load(str(BUILD / video.name / f"{frame:04d}.jpg"))
    pixels = np.empty(4 * WIDTH * HEIGHT, np.float32)
    image.pixels.foreach_get(pixels)
    canvas = pixels.reshape(HEIGHT, WIDTH, 4)[::-1, :, :3].astype(float)
    for hand in landmarks(video)["frames"][frame]["hands"]:
        draw(canvas, np.array(hand["landmarks"])[:, :2] * [WIDTH, HEIGHT], WHITE, 0.6)
    joints = solved(video, landmarks(video))[1][frame]
    focal = WIDTH / 2 / np.tan(np.deg2rad(ANGLE_OF_VIEW) / 2)
    if np.isfinite(joints).all():
        draw(canvas, joints[:, :2] / joints[:, 2:] * focal + [WIDTH / 2, HEIGHT / 2], GREEN, 1.5)
    return canvas


def draw(canvas: Floats, points: Floats, colour: Floats, width: float) -> None:
    """Draw bones between points (21, 2) in pixels."""
    y, x = np.mgrid[: canvas.shape[0], : canvas.shape[1]]
    at = np.stack([x, y], axis=-1)
    for joint, parent in enumerate(PARENTS):
        start, along = points[parent], points[joint] - points[parent]
        part = np.clip(((at - start) @ along) / max(float(along @ along), 1e-9), 0, 1)
        distance = np.linalg.norm(at - start - part[..., None] * along, axis=-1)
        cover = np.clip(width + 0.5 - distance, 0, 1)[..., None]
        canvas += cover * (colour - canvas)


def main() -> None:
    """Write the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "pictures")
    options = parser.parse_args()
    drawn = [picture(*shown)[60:420, 140:500] for shown in SHOWN]
    sheet = np.concatenate([np.concatenate(drawn[row : row + 3], axis=1) for row in (0, 3)])
    height, width = sheet.shape[:2]
    image = bpy.data.images.new("sheet", width, height)
    flat = np.concatenate([sheet, np.ones((height, width, 1))], axis=2)[::-1].astype(np.float32)
    image.pixels.foreach_set(flat.ravel())
    image.filepath_raw, image.file_format = str(options.out / "camera-overlay.jpg"), "JPEG"
    image.save()


if __name__ == "__main__":
    main()
