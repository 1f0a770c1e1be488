"""Coloured points, lines and triangles of an overlay, drawn in one batch."""

from typing import Any

import gpu
import numpy as np
from gpu_extras.batch import batch_for_shader
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Colour = tuple[float, float, float, float]


class Batch:
    """Points and their colours, drawn in one batch."""

    def __init__(self) -> None:
        self.points: list[Floats] = []
        self.colours: list[Colour] = []

    def add(self, points: Floats, colour: Colour) -> None:
        """Add points (N, 3): two for each line, three for each triangle."""
        self.points.append(points)
        self.colours += [colour] * len(points)

    def chain(self, points: Floats, colour: Colour) -> None:
        """Add a polyline through points (N, 3)."""
        if len(points) > 1:
            self.add(np.stack([points[:-1], points[1:]], axis=1).reshape(-1, 3), colour)

    def draw(self, kind: str, shader: str, width: float | None = None) -> None:
        """Draw everything with the current matrix."""
        if not self.points:
            return
        points: Any = np.concatenate(self.points).astype(np.float32)
        colours: Any = np.array(self.colours, np.float32)
        program = gpu.shader.from_builtin(shader)
        batch = batch_for_shader(program, kind, {"pos": points, "color": colours})
        program.bind()
        if width is not None:
            _, _, *size = gpu.state.viewport_get()
            program.uniform_float("viewportSize", size)
            program.uniform_float("lineWidth", width)
        batch.draw(program)
