"""Solve a long take in pieces, on several cores, in memory that does not grow with the take.

Each piece is solved with additional frames before and after it, to fill gaps and to let filters settle. Where two
pieces meet, both have solved the frames on either side. If their poses differ there, for instance because a digit was
hidden for longer than the overlap, the later piece is solved again from the final solver state of the earlier one.
"""

import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import BrokenExecutor, Future, wait
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from ...capture import LongCapture, open_long
from ...capture.cleaning import resampled_count
from ...capture.scene_files import needs_blender
from ...errors import KnuckleError
from ...hand.generators import Progress, Steps, part_of
from ..assignment import chosen_frames, label_markers_stepwise
from ..prepared import MAX_MEASURED, Prepared, measured_frames, prepare
from ..recipe import Recipe
from .joined_report import Joins, joined_report
from .joined_take import JoinedTake
from .joints_file import JointsFile, joints_file
from .judged_hand import judge_hand
from .parts import Parts
from .piece import CONTEXT_S, PIECE_FRAMES, Piece, cut, overlap_s
from .pool import PieceWorkers, workers_of
from .solve_piece import LongTake, PieceResult, solve_piece

Result = TypeVar("Result")

SAME_POSE, SAME_SMOOTHED_POSE = 1e-6, 0.02
"""rad and m, maximum difference of two pieces where they meet, without and with smoothing; above it the later one is
solved again. Smoothed pieces differ, as each estimates the noise of its own markers."""
MIN_FPS = 2 / CONTEXT_S
"""Hz, minimum rate of solved frames with which every piece has frames."""
TICK = 0.5
"""s between two reports of progress."""


def open_if_long(recipe: Recipe, longer_than: int = MAX_MEASURED) -> LongCapture | None:
    """Open a recipe's capture if it can be solved in pieces; return None if it is to be solved as a whole.

    Pieces require a long capture in a format that is read in pieces, and a recipe without corrections, a rig, alignment
    or labelling by shape. Raises KnuckleError if the capture cannot be read.
    """
    if needs_blender(recipe.capture):
        return None
    if recipe.rig != "default" or recipe.corrections or recipe.align != "off" or recipe.labels == "shape":
        return None
    if recipe.fps is not None and recipe.fps < MIN_FPS:
        return None
    capture = open_long(recipe.capture, recipe.unit, recipe.up, recipe.rate, min_frames=longer_than + 1)
    if capture is None:
        return None
    capture = capture.select(chosen_frames(recipe, capture.source, len(capture)))
    return capture if len(capture) > longer_than else None


@dataclass(frozen=True, slots=True)
class _Solved:
    """All pieces of a take."""

    results: Sequence[PieceResult]
    again: int
    """Number of pieces that were solved again, see SAME_POSE."""
    greatest: float
    """Greatest difference of two pieces where they meet; see Joins."""


class LongSolve:
    """Solve a long capture. Iterate `steps()` to the end, then read `joined`."""

    def __init__(
        self,
        recipe: Recipe,
        capture: LongCapture,
        folder: Path,
        processes: int,
        length: int = PIECE_FRAMES,
        *,
        joints: bool = True,
    ) -> None:
        self.recipe, self.capture, self.folder = recipe, capture, folder
        self.processes, self.length = processes, length
        self.writes_joints = joints
        self.joined: JoinedTake | None = None

    def steps(self) -> Steps[bool]:
        """Solve the take and return True, or return False if its markers must be labelled by shape in all frames."""
        started = time.perf_counter()
        stretches = self.capture.markers(measured_frames(len(self.capture)))
        labelled = yield from part_of(0.0, 0.02, "Reading", label_markers_stepwise(self.recipe, stretches))
        if labelled.facts.get("by") != "names":
            return False
        prepared: Prepared = yield from part_of(0.02, 0.1, "", prepare(self.recipe, labelled.markers))
        seconds = {"read": time.perf_counter() - started}
        overlap = overlap_s(self.recipe, prepared)
        pieces = cut(len(self.capture), int(np.ceil(overlap * self.capture.clock.rate)), self.length)
        recipe = replace(self.recipe, start=None, end=None)
        long = LongTake(recipe, self.capture, prepared, Parts(self.folder, len(pieces)))
        joints, times = self.folder / "joints.npz", self.capture.clock.times
        frames = len(times) if self.recipe.fps is None else resampled_count(times, self.recipe.fps)
        with workers_of(long, min(self.processes, len(pieces))) as workers:
            with joints_file(joints, long.parts, frames) if self.writes_joints else nullcontext() as file:
                solved = yield from part_of(0.1, 0.95, "", self._solve_all(workers, pieces, file))
            seconds["solve"] = time.perf_counter() - started - seconds["read"]
            yield Progress(0.95, "Judging the take")
            waiting = {hand.side: workers.submit(judge_hand, hand) for hand in solved.results[0].hands}
            judged = {}
            for side, future in waiting.items():
                judged[side] = yield from _result(future, Progress(0.95))
        joins = Joins(len(pieces), overlap, solved.again, solved.greatest)
        report, problems = joined_report(replace(long, recipe=self.recipe), solved.results, judged, joins, seconds)
        models = tuple(hand.hand for hand in solved.results[0].hands)
        self.joined = JoinedTake(long.parts, joints, report, problems, models)
        return True

    def _solve_all(self, workers: PieceWorkers, pieces: Sequence[Piece], joints: JointsFile | None) -> Steps[_Solved]:
        """Solve all pieces, and write the joints of each to the file."""
        tolerance = SAME_POSE if self.recipe.smoothing == "off" else SAME_SMOOTHED_POSE
        results, waiting, repeat_count, max_difference = list[PieceResult](), deque[Future[PieceResult]](), 0, 0.0
        for piece in pieces:
            previous, progress = results[-1] if results else None, len(results) / len(pieces)
            states = previous.states if previous is not None else {}
            for next_piece in pieces[piece.number + len(waiting) : piece.number + workers.max_unfinished]:
                waiting.append(workers.submit(solve_piece, next_piece, states if workers.max_unfinished == 1 else {}))
            result = yield from _result(waiting.popleft(), Progress(progress, f"Solving {len(pieces)} pieces"))
            difference = _difference(previous, result)
            if workers.max_unfinished > 1 and difference > tolerance:
                repeat_count += 1
                future = workers.submit(solve_piece, piece, states)
                result = yield from _result(future, Progress(progress, "Solving a piece again"))
                difference = _difference(previous, result)
            max_difference = max(max_difference, difference)
            if joints is not None:
                joints.add(result)
            results.append(result)
        if joints is not None:
            joints.finish()
        return _Solved(results, repeat_count, max_difference)


def _result(future: Future[Result], progress: Progress) -> Steps[Result]:
    """Wait for the result of a task."""
    yield progress
    while not future.done():
        wait([future], timeout=TICK)
        yield progress
    try:
        return future.result()
    except BrokenExecutor as error:
        raise KnuckleError(
            "a worker process ended before it had solved its part of the take, perhaps for lack of memory, "
            "expected 1 GB for each core: fewer cores need less (taskset)"
        ) from error


def _difference(earlier: PieceResult | None, later: PieceResult) -> float:
    """Return the greatest difference of two pieces in the two frames where they meet; 0 for the first piece."""
    if earlier is None:
        return 0.0
    pairs = zip(earlier.hands, later.hands, strict=True)
    return max(float(np.abs(piece.around_stop - next_piece.around_first).max()) for piece, next_piece in pairs)
