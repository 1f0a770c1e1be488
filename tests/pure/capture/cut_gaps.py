"""Cut gaps into takes, with fragments between them, right and wrong ones."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from knuckle.capture import Markers

GAPS_S = (0.02, 0.2)
"""Shortest and longest gap beside a fragment."""
AROUND = 12
"""Frames before and after a pair of gaps that are left as they are."""
PER_POSITIONS = 500
"""How many positions there are for each fragment."""


@dataclass(frozen=True, slots=True)
class Fragment:
    """Positions between two gaps."""

    column: int
    start: int
    stop: int
    off: float
    """m from where they were."""


def cut(
    markers: Markers, columns: Sequence[int], seed: int, off: tuple[float, float] = (0.010, 0.060), right: float = 0.5
) -> tuple[Markers, list[Fragment]]:
    """Cut gaps into the paths of some markers. Fragments are 1 to 3 frames long; a part of them stays where it was."""
    rng = np.random.default_rng(seed)
    positions, free = markers.positions.copy(), markers.seen.copy()
    wanted = int(np.clip(free[:, columns].sum() / PER_POSITIONS, 6, 60))
    fragments: list[Fragment] = []
    for _ in range(10 * wanted):
        column, frames = int(rng.choice(columns)), int(rng.integers(1, 4))
        before, after = (max(1, round(rng.uniform(*GAPS_S) * markers.rate)) for _ in range(2))
        begin = int(rng.integers(AROUND, max(AROUND + 1, len(positions) - before - frames - after - AROUND)))
        start, stop = begin + before, begin + before + frames
        around = slice(begin - AROUND, stop + after + AROUND)
        if len(fragments) == wanted or not free[around, column].all():
            continue
        free[around, column] = False
        positions[begin:start, column] = positions[stop : stop + after, column] = np.nan
        distance = 0.0 if rng.random() < right else float(rng.uniform(*off))
        direction = rng.normal(size=3)
        positions[start:stop, column] += distance * direction / np.linalg.norm(direction)
        fragments.append(Fragment(column, start, stop, distance))
    return replace(markers, positions=positions), fragments
