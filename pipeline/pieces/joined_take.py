"""A take that was solved in pieces, whose rows are on the disk."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...hand.model import HandModel
from ..evidence.angle_curves import AngleCurves
from ..evidence.evidence import Evidence, HandEvidence
from ..evidence.ranking import Problem
from ..joint_arrays import angle_names, rotations_name
from .joined_report import Joins, joined_report
from .parts import Parts, write_npz
from .solve_piece import HandOfPiece, LongTake, PieceResult

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class JoinedTake:
    """A take that is solved, and whose rows are on the disk."""

    parts: Parts
    report: dict[str, Any]
    problems: tuple[Problem, ...]
    """The worst first."""
    joints: tuple[str, ...]
    """Names of the arrays of joints."""
    evidence: tuple[str, ...]
    signs: dict[str, list[Floats]]
    """Array -> (J, 1) of each piece, the factor by which its rotations do not flip where it begins."""
    names: dict[str, NDArray[Any]]
    """Further arrays of the joints."""
    hands: tuple[HandModel, ...]

    def write_joints(self, path: Path) -> None:
        """Write the arrays that `knuckle.joints` describes as .npz."""
        write_npz(path, self.parts, self.joints, self.signs, self.names)

    def write_evidence(self, path: Path) -> None:
        """Write the arrays of the evidence as .npz."""
        none = Evidence(np.empty(0), ()).arrays()
        write_npz(path, self.parts, self.evidence, {}, {name: none[name] for name in none if name != "times"})

    def judged(self) -> Evidence:
        """Read the evidence of all frames: 264 bytes for a frame of a hand."""
        hands = (HandEvidence(hand.side, self.parts.joined(f"{hand.side}_evidence")) for hand in self.hands)
        return Evidence(self.parts.joined("times"), tuple(hands))

    def curves(self) -> tuple[AngleCurves, ...]:
        """Read the angles of all frames, a hand's at a time, for their curves."""
        return tuple(AngleCurves.of_angles(hand, self.parts.joined(f"{hand.side}_angles")) for hand in self.hands)


def joined_take(
    long: LongTake, results: Sequence[PieceResult], joins: Joins, seconds: Mapping[str, float]
) -> JoinedTake:
    """Return the take of all pieces, judged as a whole."""
    hands = results[0].hands
    report, problems = joined_report(long, results, joins, seconds)
    joints = ["times"]
    for hand in hands:
        joints += [f"{hand.side}_{name}" for name in ("positions", "rotations", "predicted", "angles")]
    signs = {
        rotations_name(hand.side): _signs([result.hands[index] for result in results])
        for index, hand in enumerate(hands)
    }
    names = {key: array for hand in hands for key, array in angle_names(hand.hand).items()}
    evidence = ("times", *(f"{hand.side}_evidence" for hand in hands))
    models = tuple(hand.hand for hand in hands)
    return JoinedTake(long.parts, report, problems, tuple(joints), evidence, signs, names, models)


def _signs(pieces: Sequence[HandOfPiece]) -> list[Floats]:
    """Return a factor (J, 1) for each piece: of q and -q the one nearer to the last rotation of the piece before."""
    found = [np.ones((len(pieces[0].rotations[0]), 1))]
    for before, after in pairwise(pieces):
        last = found[-1] * before.rotations[1]
        found.append(np.where((last * after.rotations[0]).sum(axis=1, keepdims=True) < 0, -1.0, 1.0))
    return found
