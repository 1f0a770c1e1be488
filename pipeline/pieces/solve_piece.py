"""Solve one piece of a long take, and write its rows: the task of a worker process."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...capture import LongCapture
from ...capture.cleaning import runs
from ...hand.generators import run_to_end
from ...hand.joints import Side
from ...hand.model import HandModel
from ...hand.proportions import Proportions
from ..evidence.measuring import measure_hand
from ..hand_solving import PieceContext
from ..job import SolveJob
from ..joint_arrays import joint_arrays, rotations_name
from ..prepared import Prepared
from ..recipe import Recipe
from ..report import HandReportInputs
from ..take import SolvedHand
from .parts import Parts
from .piece import Piece

Floats = NDArray[np.float64]

FRAME_INPUTS = ("errors", "predicted", "limit_hits", "beyond")
"""Fields of HandReportInputs that have a row for each frame."""


@dataclass(frozen=True, slots=True, eq=False)
class LongTake:
    """Data common to all pieces of a take, which can be sent to another process."""

    recipe: Recipe
    """The recipe without a range of frames, since the capture has no others."""
    capture: LongCapture
    prepared: Prepared
    parts: Parts
    """Arrays on the disk to which rows are written."""


@dataclass(frozen=True, slots=True, eq=False)
class HandOfPiece:
    """The part of a piece's hand that stays in memory."""

    side: Side
    hand: HandModel
    proportions: Proportions
    sites: NDArray[np.int64]
    """(T,) of the targets."""
    labels: tuple[str, ...]
    guessed: tuple[str, ...]
    contacts: tuple[dict[str, Any], ...]
    """Contacts that begin in the kept frames, which are counted from 1."""
    rotations: tuple[Floats, Floats]
    """(J, 4) of the joints in the first and the last frame that is kept."""
    around_first: Floats
    """(2, D + 12) angles and wrist in the frame before the first kept one, and in the first kept one."""
    around_stop: Floats
    """(2, D + 12) angles and wrist in the last kept frame, and in the frame after it."""


@dataclass(frozen=True, slots=True, eq=False)
class PieceResult:
    """The result of a solved piece, without the rows that are on the disk."""

    piece: Piece
    frames: int
    """Number of frames that are kept."""
    rate: float
    """Hz, of the solved frames."""
    hands: tuple[HandOfPiece, ...]
    states: Mapping[Side, Any]
    """Side -> state of the solver before the first frame of the next piece."""
    swaps: Mapping[str, int]
    """Label swaps, as in the report's `labels`."""
    fragments: Mapping[str, int]
    spikes: int


def solve_piece(long: LongTake, piece: Piece, states: Mapping[Side, Any]) -> PieceResult:
    """Solve a piece and write its rows.

    states: side -> the solver's state before the first frame; empty if unknown.

    Raises KnuckleError if its frames are damaged, or if it cannot be solved.
    """
    times = np.append(long.capture.clock.times, np.inf)
    seen, measured = long.prepared.seen_digits, long.prepared.measured_labels
    # One step, since no progress is shown.
    at_once = piece.end - piece.start
    context = PieceContext(seen, measured, states, float(times[piece.next_start]), frames_per_step=at_once)
    markers = long.capture.markers(np.arange(piece.start, piece.end))
    job = SolveJob(long.recipe, markers=markers, prepared=long.prepared, piece=context)
    solved = run_to_end(job.solve())
    labelled, cleaned, solved_times = solved.labelled, solved.cleaned, solved.markers.times
    # Rounding may put the first resampled frame before the first recorded one.
    begin = times[piece.first] if piece.first else -np.inf
    first, stop = np.searchsorted(solved_times, [begin, times[piece.stop]]).tolist()
    rows, recorded = slice(first, stop), slice(piece.first - piece.start, piece.stop - piece.start)
    joints = joint_arrays(solved_times, solved.hands)
    arrays = {name: array[rows] for name, array in joints.items() if not name.endswith("_names")}
    for hand, frames in zip(solved.hands, solved.frames, strict=True):
        inputs = HandReportInputs.of(frames, hand.labels)
        arrays[f"{hand.side}_evidence"] = measure_hand(frames).values[rows]
        arrays |= {f"{hand.side}_{name}": getattr(inputs, name)[rows] for name in FRAME_INPUTS}
    long.parts.write(piece.number, arrays)
    swaps = [_swaps(mask, recorded) for mask in (labelled.swapped, labelled.doubt)]
    return PieceResult(
        piece,
        stop - first,
        solved.markers.rate,
        tuple(_piece_of(hand, rows, joints[rotations_name(hand.side)]) for hand in solved.hands),
        context.handed_on,
        {"mended": swaps[0], "doubtful": swaps[1]},
        cleaned.fragments(recorded),
        int(cleaned.spikes[recorded].sum()),
    )


def _swaps(columns: NDArray[Any] | None, rows: slice) -> int:
    """Return the number of swaps that begin in some of the frames; each swap marks two columns."""
    if columns is None:
        return 0
    _, starts, _ = runs(columns > 0)
    return int(np.isin(starts, np.arange(len(columns))[rows]).sum()) // 2


def _piece_of(hand: SolvedHand, rows: slice, rotations: Floats) -> HandOfPiece:
    """Return the part of a hand that stays in memory if some of its frames are kept."""
    pose = hand.pose
    poses = np.concatenate([pose.angles, pose.root[:, :3].reshape(len(pose), -1)], axis=1)
    inside = np.clip([rows.start - 1, rows.start, rows.stop - 1, rows.stop], 0, len(poses) - 1)
    contacts = tuple(
        contact | {"first": contact["first"] - rows.start, "last": contact["last"] - rows.start}
        for contact in hand.contacts
        if rows.start < contact["first"] <= rows.stop
    )
    return HandOfPiece(
        hand.side,
        hand.hand,
        hand.proportions,
        hand.targets.sites,
        hand.labels,
        hand.guessed_fingers,
        contacts,
        (rotations[inside[1]], rotations[inside[2]]),
        poses[inside[:2]],
        poses[inside[2:]],
    )
