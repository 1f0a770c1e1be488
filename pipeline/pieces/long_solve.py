"""Solve a long take in pieces, on several cores, in memory that does not grow with the take.

A piece is solved with frames before and after it, so that gaps are filled and filters have settled where it is kept.
Where two pieces meet, both have solved the frames on either side: their difference shows whether that was enough. If
not, because a digit was hidden for longer than the overlap for instance, the later piece is solved again from the
solver's state that the earlier one left there.
"""

import time
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from dataclasses import replace
from pathlib import Path

import numpy as np

from ...capture import LongCapture, open_long
from ...capture.scene_files import needs_blender
from ...errors import KnuckleError
from ...hand.generators import Progress, Steps, part_of
from ..assignment import chosen_frames, label_markers_stepwise
from ..prepared import MAX_MEASURED, Prepared, measured_frames, prepare
from ..recipe import Recipe
from .joined_report import Joins
from .joined_take import JoinedTake, joined_take
from .parts import Parts
from .piece import PIECE_FRAMES, Piece, cut, overlap_s
from .pool import PieceWorkers, workers_of
from .solve_piece import LongTake, PieceResult

SAME_POSE, SAME_SMOOTHED_POSE = 1e-6, 0.02
"""rad and m, difference of two pieces in a frame from which the later one is solved again, without and with smoothing:
each piece estimates the noise of its own markers."""
TICK = 0.5
"""s between two reports of progress."""


def opened_as_long(recipe: Recipe, longer_than: int = MAX_MEASURED) -> LongCapture | None:
    """Return the frames of a recipe's capture if its take is solved in pieces; None if it is solved as a whole.

    It is if its format is read in pieces and it is long, unless corrections, a rig or other methods need the whole
    take. Raises KnuckleError if it cannot be read.
    """
    if needs_blender(recipe.capture):
        return None
    if recipe.rig != "default" or recipe.corrections or recipe.align != "off" or recipe.labels == "shape":
        return None
    capture = open_long(recipe.capture, recipe.unit, recipe.up, recipe.rate, min_frames=longer_than + 1)
    if capture is None:
        return None
    capture = capture.select(chosen_frames(recipe, capture.source, len(capture)))
    return capture if len(capture) > longer_than else None


class LongSolve:
    """Solve a long capture. Iterate `steps()` to the end, then read `joined`."""

    def __init__(
        self, recipe: Recipe, capture: LongCapture, folder: Path, processes: int, length: int = PIECE_FRAMES
    ) -> None:
        self.recipe, self.capture, self.folder = recipe, capture, folder
        self.processes, self.length = processes, length
        self.joined: JoinedTake | None = None

    def steps(self) -> Steps[bool]:
        """Return whether the take can be solved in pieces; not if its markers are found by shape, which needs all."""
        started = time.perf_counter()
        stretches = self.capture.markers(measured_frames(len(self.capture)))
        labelled = yield from part_of(0.0, 0.02, "Reading", label_markers_stepwise(self.recipe, stretches))
        if labelled.facts.get("by") != "names":
            return False
        prepared: Prepared = yield from part_of(0.02, 0.1, "", prepare(self.recipe, labelled.markers))
        seconds = {"read": time.perf_counter() - started}
        over = overlap_s(self.recipe, prepared)
        pieces = cut(len(self.capture), int(np.ceil(over * self.capture.clock.rate)), self.length)
        recipe = replace(self.recipe, start=None, end=None)
        long = LongTake(recipe, self.capture, prepared, Parts(self.folder, len(pieces)))
        same = SAME_POSE if self.recipe.smoothing == "off" else SAME_SMOOTHED_POSE
        with workers_of(long, min(self.processes, len(pieces))) as workers:
            results, again = yield from part_of(0.1, 0.95, "", _solve_all(workers, pieces, same))
        seconds["solve"] = time.perf_counter() - started - seconds["read"]
        yield Progress(0.95, "Judging the take")
        joins = Joins(len(pieces), over, again, max(map(_difference, results, results[1:]), default=0.0))
        self.joined = joined_take(replace(long, recipe=self.recipe), results, joins, seconds)
        return True


def _solve_all(workers: PieceWorkers, pieces: Sequence[Piece], same: float) -> Steps[tuple[list[PieceResult], int]]:
    """Solve all pieces; return the results in order, and how many pieces were solved again: see SAME_POSE."""
    results: dict[int, PieceResult] = {}
    waiting: set[Future[PieceResult]] = set()
    description = f"Solving {len(pieces)} pieces"
    for piece in pieces:
        before = results.get(piece.number - 1)
        # In order, so that each piece starts from the state of the one before.
        waiting.add(workers.submit(piece, before.states if before is not None else {}))
        if workers.in_order:
            yield from _collected(waiting, results, len(pieces), description)
    yield from _collected(waiting, results, len(pieces), description)
    again = 0
    for number in range(1, len(pieces) if not workers.in_order else 0):
        if _difference(results[number - 1], results[number]) > same:
            again += 1
            waiting.add(workers.submit(pieces[number], results[number - 1].states))
            yield from _collected(waiting, results, len(pieces), "Solving a piece again")
    return [results[piece.number] for piece in pieces], again


def _collected(
    waiting: set["Future[PieceResult]"], results: dict[int, PieceResult], count: int, description: str
) -> Steps[None]:
    """Wait for all that is being solved."""
    while waiting:
        yield Progress(min(len(results) / count, 1.0), description)
        done, _ = wait(waiting, timeout=TICK, return_when=FIRST_COMPLETED)
        for future in done:
            try:
                result = future.result()
            except BrokenExecutor as error:
                raise KnuckleError(
                    "a worker process was ended while it solved a piece, perhaps for want of memory, expected 1 GB for "
                    "each core: fewer cores need less (taskset)"
                ) from error
            results[result.piece.number] = result
        waiting -= done


def _difference(before: PieceResult, after: PieceResult) -> float:
    """Return the greatest difference of two pieces in the two frames where they meet."""
    pairs = zip(before.hands, after.hands, strict=True)
    return max(float(np.abs(piece.around_stop - next_piece.around_first).max()) for piece, next_piece in pairs)
