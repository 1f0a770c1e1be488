"""Divide a long take into pieces, each solved with additional frames before and after it."""

from dataclasses import dataclass
from itertools import pairwise

from ..prepared import Prepared
from ..recipe import Recipe

PIECE_FRAMES = 8000
"""Frames of a piece that are kept: half a GB for two hands with skin markers."""
SETTLING_S = 18.0
"""s that a piece is solved beyond its ends where a frame's pose follows from all frames: until its start is forgotten
to 1e-9, measured on a glove with skin markers; errors fall by a factor of e in 0.6 s."""
CONTEXT_S = 3.0
"""s where it follows from its own markers: gaps are filled, and contacts and jerks are those of the whole take."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Frames of a capture, from 0; those before `stop` and before `end`."""

    number: int
    first: int
    stop: int
    """Kept."""
    start: int
    end: int
    """Solved."""
    next_start: int
    """Where the solve of the next piece begins."""


def overlap_s(recipe: Recipe, prepared: Prepared) -> float:
    """Return how far, in s, pieces of a take must overlap."""
    on_skin = any(hand.skin_fit is not None for hand in prepared.performer.hands.values())
    settling = SETTLING_S if on_skin or recipe.smoothing != "off" else CONTEXT_S
    # A gap at the end of a piece is filled from both sides, as in a whole take.
    return max(settling, 2 * recipe.cleaning.gap_limit)


def cut(frames: int, overlap: int, length: int = PIECE_FRAMES) -> tuple[Piece, ...]:
    """Return the pieces of a take of equal length, about that of `length` frames."""
    count = max(1, round(frames / length))
    bounds = [frames * number // count for number in range(count + 1)]
    starts = [max(0, first - overlap) for first in bounds[:-1]]
    return tuple(
        Piece(number, first, stop, starts[number], min(frames, stop + overlap), (*starts, frames)[number + 1])
        for number, (first, stop) in enumerate(pairwise(bounds))
    )
