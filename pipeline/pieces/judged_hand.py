"""Compute figures and problems of one hand of a long take from all frames: a worker process's task."""

from dataclasses import dataclass
from typing import Any

from ..evidence.evidence import Evidence, HandEvidence
from ..evidence.ranking import Problem, rank
from ..report import HandReportInputs, hand_report
from .solve_piece import FRAME_INPUTS, HandOfPiece, LongTake


@dataclass(frozen=True, slots=True)
class JudgedHand:
    """Figures and problems of a hand over all frames."""

    figures: dict[str, Any]
    """The hand's part of the report, JSON-ready, without contacts."""
    problems: tuple[Problem, ...]


def judge_hand(long: LongTake, first: HandOfPiece) -> JudgedHand:
    """Compute figures and problems of a hand from its rows on the disk. first: the hand in the first piece."""
    arrays = {name: long.parts.joined(f"{first.side}_{name}") for name in FRAME_INPUTS}
    figures = hand_report(HandReportInputs(first.hand, first.sites, first.labels, **arrays))
    del arrays
    evidence = HandEvidence(first.side, long.parts.joined(f"{first.side}_evidence"))
    return JudgedHand(figures, rank(Evidence(long.parts.joined("times"), (evidence,))))
