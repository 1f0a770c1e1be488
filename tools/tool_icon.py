"""Makes the icon of the tool that drags hands, panels/icons/hand.dat: triangles, as in Blender's own icons.

The file: VCO, a version of 0, width, height, two zeros; three points of two bytes for each triangle; then a colour of
four bytes for each point.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ICON = Path(__file__).parents[1] / "panels" / "icons" / "hand.dat"
WHITE, ORANGE = (230, 230, 230, 255), (255, 170, 60, 255)
FINGERS = (
    ((72, 96), (26, 138), 15.0),
    ((84, 118), (70, 196), 14.0),
    ((114, 124), (112, 218), 14.0),
    ((144, 120), (154, 204), 13.5),
    ((168, 106), (196, 170), 12.5),
)
"""Start, end and half width of each digit, thumb first."""
PALM = ((66, 44), (160, 36), (184, 70), (180, 112), (140, 132), (88, 130), (60, 92))
TIP = (112, 218)
RING = (20.0, 29.0)
ROUND = 10
"""Number of corners of a semicircle."""


def fan(points: Floats) -> Floats:
    """Return the triangles (N - 2, 3, 2) of a convex outline (N, 2)."""
    return np.stack([np.broadcast_to(points[0], points[2:].shape), points[1:-1], points[2:]], axis=1)


def stroke(start: tuple[float, float], end: tuple[float, float], half: float) -> Floats:
    """Return the triangles (T, 3, 2) of a line with round ends."""
    first, last = np.array(start, float), np.array(end, float)
    angle = np.arctan2(*(last - first)[::-1])
    halves = [angle - np.pi / 2 + np.linspace(0, np.pi, ROUND) + rotation for rotation in (0.0, np.pi)]
    rims = [
        centre + half * np.stack([np.cos(a), np.sin(a)], -1) for centre, a in zip((last, first), halves, strict=True)
    ]
    return fan(np.concatenate(rims))


def ring(centre: tuple[float, float], inner: float, outer: float) -> Floats:
    """Return the triangles (T, 3, 2) of a ring."""
    around = np.linspace(0, 2 * np.pi, 2 * ROUND + 1)
    way = np.stack([np.cos(around), np.sin(around)], -1)
    a, b = (np.array(centre) + radius * way for radius in (inner, outer))
    return np.concatenate([np.stack([a[:-1], b[:-1], b[1:]], 1), np.stack([a[:-1], b[1:], a[1:]], 1)])


def triangles() -> tuple[Floats, NDArray[np.uint8]]:
    """Return the points (T, 3, 2) and the colours (T, 4)."""
    white = np.concatenate([fan(np.array(PALM, float)), *(stroke(*finger) for finger in FINGERS)])
    orange = ring(TIP, *RING)
    colours = np.array([WHITE] * len(white) + [ORANGE] * len(orange), np.uint8)
    return np.concatenate([white, orange]), colours


def main() -> None:
    """Write the file."""
    points, colours = triangles()
    packed = np.clip(np.round(points), 0, 255).astype(np.uint8).tobytes()
    ICON.parent.mkdir(exist_ok=True)
    ICON.write_bytes(b"VCO\0" + bytes((255, 255, 0, 0)) + packed + np.repeat(colours, 3, axis=0).tobytes())


if __name__ == "__main__":
    main()
