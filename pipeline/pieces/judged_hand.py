"""Judge one hand of a long take by all of its frames: the task of a worker process."""

from dataclasses import dataclass
from typing import Any

from ..evidence.evidence import Evidence, HandEvidence
from ..evidence.ranking import Problem, rank
from ..report import HandReportInputs, hand_report
from .solve_piece import FRAME_INPUTS, HandOfPiece, LongTake


@dataclass(frozen=True, slots=True)
class JudgedHand:
    """What all frames of a hand show."""

    figures: dict[str, Any]
    """Its part of the report, JSON-ready, without its contacts."""
    problems: tuple[Problem, ...]


def judge_hand(long: LongTake, first: HandOfPiece) -> JudgedHand:
    """Judge a hand whose rows are in the parts of a take. first: the hand in the first piece."""
    arrays = {name: long.parts.joined(f"{first.side}_{name}") for name in FRAME_INPUTS}
    figures = hand_report(HandReportInputs(first.hand, first.sites, first.labels, **arrays))
    del arrays
    evidence = HandEvidence(first.side, long.parts.joined(f"{first.side}_evidence"))
    return JudgedHand(figures, rank(Evidence(long.parts.joined("times"), (evidence,))))
