"""A take that was solved in pieces, whose rows are on the disk."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...hand.model import HandModel
from ..evidence.angle_curves import AngleCurves
from ..evidence.evidence import Evidence, HandEvidence
from ..evidence.ranking import Problem
from .npz_file import ArrayShape, NpzFile
from .parts import Parts


@dataclass(frozen=True, slots=True)
class JoinedTake:
    """A take that is solved, and whose rows are on the disk."""

    parts: Parts
    """All but the positions and rotations of each hand."""
    joints: Path
    """The file of the joints, beside the parts."""
    report: dict[str, Any]
    problems: tuple[Problem, ...]
    """The worst first."""
    hands: tuple[HandModel, ...]

    def write_joints(self, path: Path) -> None:
        """Write the arrays that `knuckle.joints` describes as .npz, once: the file is moved. path: on the same disk."""
        self.joints.replace(path)

    def write_evidence(self, path: Path) -> None:
        """Write the arrays of the evidence as .npz."""
        none = Evidence(np.empty(0), ()).arrays()
        whole = {name: array for name, array in none.items() if name != "times"}
        names = ("times", *(_evidence(hand) for hand in self.hands))
        shapes = {name: ArrayShape(self.parts.shape(name), self.parts.dtype(name)) for name in names}
        shapes |= {name: ArrayShape(array.shape, array.dtype) for name, array in whole.items()}
        with path.open("wb") as file:
            npz = NpzFile(file, shapes)
            for name in names:
                for rows in self.parts.rows(name):
                    npz.append(name, rows)
            for name, array in whole.items():
                npz.append(name, array)
            npz.finish()

    def judged(self) -> Evidence:
        """Read the evidence of all frames: 264 bytes for a frame of a hand."""
        hands = (HandEvidence(hand.side, self.parts.joined(_evidence(hand))) for hand in self.hands)
        return Evidence(self.parts.joined("times"), tuple(hands))

    def curves(self) -> tuple[AngleCurves, ...]:
        """Read the angles of all frames, a hand's at a time, for their curves."""
        return tuple(AngleCurves.of_angles(hand, self.parts.joined(f"{hand.side}_angles")) for hand in self.hands)


def _evidence(hand: HandModel) -> str:
    return f"{hand.side}_evidence"
