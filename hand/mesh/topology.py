"""Topology of the hand's mesh: a sleeve for the palm, closed at the wrist, with tubes for the digits.

The layout is that of a box-modelled hand. The far end of a box of COLUMNS x LAYERS quads has a window of 4 x 4 quads
for each finger and two columns of web between neighbours; the thumb's window is in the box's side. Edge loops around
every digit make joints bend along edges. The topology is the same for every hand; only vertex positions differ.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Scalar = TypeVar("Scalar", np.int64, np.float64)

LAYERS = 4
"""Quads from the back of the hand to the palm side."""
FINGER_COLUMNS = 4
WEB_COLUMNS = 2
COLUMNS = 4 * FINGER_COLUMNS + 3 * WEB_COLUMNS
ROWS = 30
"""Rows of quads from the wrist to the fingers."""
THUMB_ROWS = (14, 20)
"""Rows of the sleeve between which the thumb's window lies."""
FINGER_RINGS = 34
THUMB_RINGS = 35
"""Rings of a digit beyond its window."""


NAIL_RINGS = (27, 33)
"""Rings of a finger between which the nail lies; those of the thumb are equally far from its last ring. The rings'
positions are `vertex_placement.FINGER_STATIONS`."""


@dataclass(frozen=True, slots=True, eq=False)
class NailPlate:
    """A nail's vertices: the skin around it, the groove and the plate."""

    rim: Ints
    """(2·(A+B),) the skin around the nail, from the rear corner on the thumb's side along the rear edge."""
    groove: Ints
    """(2·(A+B),) vertices adjacent to the rim, below the plate's edge."""
    plate: Ints
    """(A+1, B+1) the plate, A quads across and B along."""
    half: int
    """A/2: vertices of a ring from the nail's middle to its sides."""


@dataclass(frozen=True, slots=True, eq=False)
class DigitTube:
    """A digit's part of the mesh, in rings from the window outwards."""

    rings: Ints
    """(K+1, N) vertices; the first ring is the window's rim. Each ring starts in the middle of the window's back."""
    cap: Ints
    """(A+1, B+1) vertices of the grid that closes the tip; its rim is the last ring."""
    cap_start: int
    """Index on the ring of the cap's corner [0, 0]."""
    middle: int
    """Index on a ring of the middle of the digit's back."""
    nail: NailPlate


@dataclass(frozen=True, slots=True, eq=False)
class Topology:
    """Vertices by their location in the layout, and the quads, which face outwards on a right hand."""

    count: int
    quads: Ints
    """(Q, 4)"""
    sleeve: Ints
    """(ROWS+1, 2·COLUMNS + 2·LAYERS) vertices, −1 inside the thumb's window; see `rim_index`."""
    wrist: Ints
    """(COLUMNS+1, LAYERS+1) the grid that closes the wrist."""
    end: Ints
    """(COLUMNS+1, LAYERS+1) the grid at the far end, −1 inside the fingers' windows."""
    tubes: tuple[DigitTube, ...]
    """Thumb first."""
    nails: Ints
    """Indices of the quads of nail plates."""


def rim_index(column: int, layer: int) -> int:
    """Return the index, on a row of the sleeve, of a point of the box's outline.

    The outline runs along the back, the little finger's side, the palm and the thumb's side.
    """
    if layer == 0:
        return column
    if column == COLUMNS:
        return COLUMNS + layer
    if layer == LAYERS:
        return COLUMNS + LAYERS + (COLUMNS - column)
    return 2 * COLUMNS + LAYERS + (LAYERS - layer)


def finger_columns(finger: int) -> tuple[int, int]:
    """Return the first and last line of columns of a finger; finger 0 is the index."""
    first = finger * (FINGER_COLUMNS + WEB_COLUMNS)
    return first, first + FINGER_COLUMNS


class _MeshBuilder:
    """Collects vertices and quads."""

    def __init__(self) -> None:
        self.count = 0
        self.quads: list[tuple[int, int, int, int]] = []
        self.plates: list[int] = []

    def add_vertices(self, number: int) -> Ints:
        first, self.count = self.count, self.count + number
        return np.arange(first, self.count)

    def add_quad(self, a: int, b: int, c: int, d: int) -> None:
        self.quads.append((int(a), int(b), int(c), int(d)))

    def add_tube(self, loop: Ints, rings: int, middle: int, sides: tuple[int, int]) -> DigitTube:
        """Extrude a window's rim `loop` into a tube, closed by a grid whose first side is centred on the back."""
        ids, loop_length = [loop], len(loop)
        half = sides[0] // 2
        first, last = (rings - FINGER_RINGS + ring for ring in NAIL_RINGS)
        for k in range(rings):
            ids.append(self.add_vertices(loop_length))
            for n in range(loop_length):
                m = (n + 1) % loop_length
                is_below_nail = first <= k < last and (n - middle + half) % loop_length < sides[0]
                if not is_below_nail:
                    self.add_quad(ids[k][n], ids[k][m], ids[k + 1][m], ids[k + 1][n])
        start = (middle - half) % loop_length
        table = np.array(ids)
        nail = self.add_nail(np.roll(table, -start, axis=1)[first : last + 1, : sides[0] + 1].T)
        return DigitTube(table, self.add_grid(np.roll(ids[-1], -start), sides), start, middle, nail)

    def add_nail(self, window: Ints) -> NailPlate:
        """Inset a window (A+1, B+1) of the skin twice, to a groove and a plate, which uses the window's inner
        vertices."""
        rim = grid_outline(window)
        groove, edge = self.add_vertices(len(rim)), self.add_vertices(len(rim))
        for outer, inner in ((rim, groove), (groove, edge)):
            for i in range(len(rim)):
                j = (i + 1) % len(rim)
                self.add_quad(outer[i], outer[j], inner[j], inner[i])
        plate = self.add_grid(edge, (window.shape[0] - 1, window.shape[1] - 1), inner=window[1:-1, 1:-1])
        count = (window.shape[0] - 1) * (window.shape[1] - 1)
        self.plates.extend(range(len(self.quads) - count, len(self.quads)))
        return NailPlate(rim, groove, plate, (window.shape[0] - 1) // 2)

    def add_grid(
        self,
        loop: Ints,
        sides: tuple[int, int],
        skip: tuple[tuple[int, int], ...] = (),
        inner: Ints | None = None,
    ) -> Ints:
        """Fill a loop, which runs from [0, 0] along the first side, with a grid of a x b quads.

        Each pair in `skip` is a range of columns that stay open, without vertices. Other inner vertices are new, or
        those of `inner` (a-1, b-1).
        """
        a, b = sides
        grid = np.full((a + 1, b + 1), -1, np.int64)
        grid[:, 0] = loop[: a + 1]
        grid[a, :] = loop[a : a + b + 1]
        grid[:, b] = loop[a + b : 2 * a + b + 1][::-1]
        grid[0, 1:] = loop[2 * a + b :][::-1]
        for i in range(1, a):
            if not any(low < i < high for low, high in skip):
                grid[i, 1:b] = self.add_vertices(b - 1) if inner is None else inner[i - 1]
        for i in range(a):
            if not any(low <= i < high for low, high in skip):
                for j in range(b):
                    self.add_quad(grid[i, j], grid[i + 1, j], grid[i + 1, j + 1], grid[i, j + 1])
        return grid


def grid_outline(grid: NDArray[Scalar]) -> NDArray[Scalar]:
    """Return the border of a grid (A+1, B+1, ...), from [0, 0] along its first side."""
    return np.concatenate([grid[:, 0], grid[-1, 1:], grid[-2::-1, -1], grid[0, -2:0:-1]])


def _add_sleeve(builder: _MeshBuilder) -> Ints:
    loop_length = 2 * COLUMNS + 2 * LAYERS
    first, last = THUMB_ROWS
    side = rim_index(0, LAYERS)
    sleeve = np.full((ROWS + 1, loop_length), -1, np.int64)
    for row in range(ROWS + 1):
        vertices_in_row = loop_length - (LAYERS - 1 if first < row < last else 0)
        sleeve[row, :vertices_in_row] = builder.add_vertices(vertices_in_row)
    for row in range(ROWS):
        for j in range(loop_length):
            if not (first <= row < last and j >= side):
                k = (j + 1) % loop_length
                builder.add_quad(sleeve[row, j], sleeve[row, k], sleeve[row + 1, k], sleeve[row + 1, j])
    return sleeve


def _thumb_window(sleeve: Ints) -> Ints:
    """Return the rim of the thumb's window from the middle of its back, in the order of the fingers' rims."""
    first, last = THUMB_ROWS
    back, palm = 0, rim_index(0, LAYERS)
    middle = (first + last) // 2
    loop = [
        *sleeve[middle:last, back],
        sleeve[last, back],
        *sleeve[last, palm + 1 :][::-1],
        *sleeve[first : last + 1, palm][::-1],
        *sleeve[first, palm + 1 :],
        *sleeve[first:middle, back],
    ]
    return np.array(loop)


@lru_cache(maxsize=1)
def topology() -> Topology:
    """Return the topology, built once."""
    builder = _MeshBuilder()
    sleeve = _add_sleeve(builder)
    wrist = builder.add_grid(sleeve[0], (COLUMNS, LAYERS))
    wrist_quads = len(builder.quads)
    end = builder.add_grid(sleeve[-1], (COLUMNS, LAYERS), tuple(finger_columns(f) for f in range(4)))
    tubes = []
    for finger in range(4):
        low, high = finger_columns(finger)
        loop = [
            *end[low:high, 0],
            *end[high, :LAYERS],
            *end[high:low:-1, LAYERS],
            *end[low, LAYERS:0:-1],
        ]
        from_middle = np.roll(np.array(loop), -FINGER_COLUMNS // 2)
        tubes.append(builder.add_tube(from_middle, FINGER_RINGS, 0, (FINGER_COLUMNS, LAYERS)))
    first, last = THUMB_ROWS
    thumb = builder.add_tube(_thumb_window(sleeve), THUMB_RINGS, 17, (last - first, LAYERS))
    quads = np.array(builder.quads)
    wrist_face = slice(wrist_quads - COLUMNS * LAYERS, wrist_quads)
    quads[wrist_face] = quads[wrist_face, ::-1]
    return Topology(builder.count, quads, sleeve, wrist, end, (thumb, *tubes), np.array(builder.plates))
