"""The report of a take that was solved in pieces, with the same figures as one that was solved as a whole."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...hand.joints import Side
from ..evidence.ranking import Problem, limit_notes, problems_as_json, worst_first
from ..labelling import SWAP_RESULTS, describe_swaps
from ..marker_cleaning import cleaning_warnings
from ..report import TakeReportInputs, take_report
from .judged_hand import JudgedHand
from .solve_piece import HandOfPiece, LongTake, PieceResult


@dataclass(frozen=True, slots=True)
class Joins:
    """Measures of how well pieces fit together."""

    pieces: int
    overlap_s: float
    """s, additional frames that are solved before and after a piece."""
    solved_again: int
    """Number of pieces that were solved again, from the state of the piece before."""
    greatest: float
    """Greatest difference of two pieces in a frame where they meet: rad of an angle, m of the wrist."""


def joined_report(
    long: LongTake,
    results: Sequence[PieceResult],
    judged: Mapping[Side, JudgedHand],
    joins: Joins,
    seconds: Mapping[str, float],
) -> tuple[dict[str, Any], tuple[Problem, ...]]:
    """Return the report of a take, JSON-ready, and its problems, the worst first."""
    hands = _hands(results)
    swaps, fragments = Counter[str](), Counter[str]()
    for result in results:
        swaps.update(result.swaps)
        fragments.update(result.fragments)
    order = {label: fragments[label] for label in long.capture.reader.head.names if fragments[label]}
    take = TakeReportInputs(
        long.recipe,
        long.capture.reader.head.format,
        long.capture.unit,
        results[0].rate,
        long.capture.clock.rate,
        sum(result.frames for result in results),
        long.prepared.assigned,
        {side: judged[side].figures | _figures(pieces, results) for side, pieces in hands.items()},
        [
            *long.capture.warnings,
            *_swap_warnings(swaps),
            *cleaning_warnings(order, sum(result.spikes for result in results)),
        ],
        {side: pieces[0].guessed for side, pieces in hands.items()},
        [pieces[0].proportions for pieces in hands.values()],
        seconds,
    )
    report = take_report(take)
    problems = worst_first(problem for hand in judged.values() for problem in hand.problems)
    report["warnings"] += limit_notes(problems, report["hands"])
    labels = {"by": "names", "swaps": {kind: swaps[kind] for kind in SWAP_RESULTS}}
    fitted = {
        "count": joins.pieces,
        "overlap_s": joins.overlap_s,
        "solved_again": joins.solved_again,
        "greatest_difference": float(f"{joins.greatest:.3g}"),
    }
    report |= {"problems": problems_as_json(problems), "labels": labels, "dropped_fragments": order, "pieces": fitted}
    return report, problems


def _hands(results: Sequence[PieceResult]) -> dict[Side, list[HandOfPiece]]:
    """Return each hand in all pieces."""
    hands: dict[Side, list[HandOfPiece]] = {}
    for result in results:
        for hand in result.hands:
            hands.setdefault(hand.side, []).append(hand)
    return hands


def _figures(pieces: Sequence[HandOfPiece], results: Sequence[PieceResult]) -> dict[str, Any]:
    """Return the figures of a hand from all pieces, with the frames of contacts counted from the take's start."""
    contacts, first_frame = list[dict[str, Any]](), 0
    for piece, result in zip(pieces, results, strict=True):
        contacts += [
            contact | {"first": contact["first"] + first_frame, "last": contact["last"] + first_frame}
            for contact in piece.contacts
        ]
        first_frame += result.frames
    return {"contacts": contacts, "hand_length_mm": round(1000 * pieces[0].proportions.size, 1)}


def _swap_warnings(swaps: Mapping[str, int]) -> list[str]:
    return [describe_swaps(kind, swaps[kind]) for kind in SWAP_RESULTS if swaps[kind]]
