"""Divide a long take into pieces, each solved with additional frames before and after it."""

from dataclasses import dataclass
from itertools import pairwise

from ..prepared import Prepared
from ..recipe import Recipe

PIECE_FRAMES = 8000
"""Number of frames of a piece without its overlaps; solving two hands with skin markers takes half a GB."""
SETTLING_S = 18.0
"""s of overlap if a frame's pose depends on all frames. On a glove with skin markers, errors from the ends of a piece
fall by a factor of e in 0.6 s, so to 1e-9 here."""
CONTEXT_S = 3.0
"""s of overlap if a pose depends on its own markers: enough to fill gaps, and for contacts and jerks."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a capture, in frames counted from 0: `first` to `stop` is kept, `start` to `end` is solved."""

    number: int
    first: int
    stop: int
    """End of the kept frames, exclusive."""
    start: int
    end: int
    """End of the solved frames, exclusive."""
    next_start: int
    """First solved frame of the next piece."""


def overlap_s(recipe: Recipe, prepared: Prepared) -> float:
    """Return the overlap in s of the pieces of a take."""
    on_skin = any(hand.skin_fit is not None for hand in prepared.performer.hands.values())
    settling = SETTLING_S if on_skin or recipe.smoothing != "off" else CONTEXT_S
    # A gap at the end of a piece is filled from both sides, as in a whole take.
    return max(settling, 2 * recipe.cleaning.gap_limit)


def cut(frames: int, overlap: int, length: int = PIECE_FRAMES) -> tuple[Piece, ...]:
    """Return pieces of equal length, about `length` frames, of a take."""
    count = max(1, round(frames / length))
    bounds = [frames * number // count for number in range(count + 1)]
    starts = [max(0, first - overlap) for first in bounds[:-1]]
    return tuple(
        Piece(number, first, stop, starts[number], min(frames, stop + overlap), (*starts, frames)[number + 1])
        for number, (first, stop) in enumerate(pairwise(bounds))
    )
