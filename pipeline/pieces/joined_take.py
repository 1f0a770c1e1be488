"""A take that was solved in pieces, with its rows on the disk."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...hand.model import HandModel
from ..evidence.angle_curves import AngleCurves
from ..evidence.evidence import Evidence, HandEvidence
from ..evidence.ranking import Problem
from .npz_file import NpzFile, RowsShape
from .parts import Parts


@dataclass(frozen=True, slots=True)
class JoinedTake:
    """A solved take with its rows on the disk."""

    parts: Parts
    """The rows of all arrays, except positions and rotations."""
    joints: Path
    """The file of the joints, in the folder of the parts; it exists only if requested."""
    report: dict[str, Any]
    problems: tuple[Problem, ...]
    """The worst first."""
    hands: tuple[HandModel, ...]

    def write_joints(self, path: Path) -> None:
        """Write the arrays that `knuckle.joints` describes as .npz, by moving the file, so only once."""
        shutil.move(self.joints, path)

    def write_evidence(self, path: Path) -> None:
        """Write the arrays of the evidence as .npz."""
        labels = Evidence(np.empty(0), ()).arrays()
        del labels["times"]
        names = ("times", *(_evidence(hand) for hand in self.hands))
        shapes = {name: RowsShape(self.parts.shape(name), self.parts.dtype(name)) for name in names}
        with path.open("wb") as file:
            npz = NpzFile(file, shapes, labels)
            for name in names:
                for rows in self.parts.rows(name):
                    npz.append(name, rows)
            npz.finish()

    def judged(self) -> Evidence:
        """Read the evidence of all frames: 264 bytes for a frame of a hand."""
        hands = (HandEvidence(hand.side, self.parts.joined(_evidence(hand))) for hand in self.hands)
        return Evidence(self.parts.joined("times"), tuple(hands))

    def curves(self) -> tuple[AngleCurves, ...]:
        """Return the curves of the angles, reading one hand at a time."""
        return tuple(AngleCurves.of_angles(hand, self.parts.joined(f"{hand.side}_angles")) for hand in self.hands)


def _evidence(hand: HandModel) -> str:
    return f"{hand.side}_evidence"
