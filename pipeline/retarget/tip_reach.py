"""Fingertips to places: of all poses whose tips are there, or as near as limits let them, the one nearest to a pose.

The steps are those of Levenberg-Marquardt inside limits (solvers/jacobian), with the pose that is given as the posture:
a digit has five or six angles, its tip takes three, and the rest of them stays as near to the performer's as it can.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...hand.jacobians import linkage
from ...hand.joints import CHAIN_JOINTS, DIGITS
from ...hand.model import HandModel
from ...hand.targets import Targets
from ...solvers.jacobian.iteration import CAREFUL, Method, search
from ...solvers.jacobian.parts import cut
from ...solvers.jacobian.problem import Poses, Wanted
from ...solvers.jacobian.residual_rows import Task, Worth
from .character_hand import Character, size

Floats = NDArray[np.float64]

USUAL = 0.19
"""m, the length of the hands that the solver's own measures are meant for: others are solved as if they had it."""
WORTH = Worth(turn=0.0, coupling=0.0, posture=1e-2)
"""A joint's whole range away from the pose counts like 10 mm of a tip's distance. With less, joints swing from limit to
limit for a fraction of a millimetre where they hardly move the tip; what it costs is put right by CORRECTIONS."""
METHOD = Method(CAREFUL, damping=0.003, homing=0.2, iterations=40, tolerance=1e-4)
BENT = 0.1
"""Part of the way to the hand at ease where the search begins: from straight no step leads to a bend."""
CORRECTIONS = 2
"""How often places are shifted by what the posture has left of the way to them,"""
MOST = 0.003
"""m, at most by so much each time: what is out of reach stays out of reach."""
THERE = 1e-8
"""Part of the hand's length: a tip so near to its place is left alone."""
CHUNK = 1000
"""Frames solved at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class Reach:
    """What brings the fingertips of a hand to places."""

    hand: HandModel
    """Of usual length and without couplings that yield: the pose that is given has what they ask for."""
    unit: float
    """How many times longer the real hand is."""
    real: Character

    @classmethod
    def of(cls, real: Character) -> "Reach":
        """The same for a hand of any size."""
        hand = real.hand
        unit = float(size(hand).max()) / USUAL
        rest = np.array(hand.rest)
        rest[:, :3, 3] /= unit
        holds = tuple(row for row in hand.couplings if not row.soft)
        return cls(replace(hand, rest=rest, couplings=holds), unit, real)

    @property
    def length(self) -> float:
        """m, of the real hand."""
        return USUAL * self.unit

    def tips(self, angles: Floats) -> Floats:
        """(F, 5, 3) m in the wrist's frame, where the real hand's tips are."""
        return self.real.tips(angles)

    def nearest(self, angles: Floats, digits: Sequence[str], begun: Floats, places: Floats) -> Floats:
        """(F, D) rad with the tips of some digits at places (F, T, 3) m in the wrist's frame, as near to angles (F, D)
        as may be; `begun` (F, T, 3) is where these have the tips. A tip that is there leaves its digit as it is."""
        result = angles.copy()
        away = np.linalg.norm(places - begun, axis=-1) > THERE * self.length
        frames = np.flatnonzero(np.any(away, axis=1)) if len(digits) else np.empty(0, int)
        for part in np.array_split(frames, -(-len(frames) // CHUNK)) if len(frames) else ():
            solved = self._solved(angles[part], digits, places[part] / self.unit)
            for column, digit in enumerate(digits):
                dofs = np.flatnonzero(linkage(self.hand).moves[self.hand.joints.index(CHAIN_JOINTS[digit][-1])])
                rows = part[away[part, column]]
                result[np.ix_(rows, dofs)] = solved[np.ix_(away[part, column], dofs)]
        return result

    def _solved(self, angles: Floats, digits: Sequence[str], places: Floats) -> Floats:
        sites = np.array([self.hand.site_index(CHAIN_JOINTS[digit][-1]) for digit in digits])
        rows = [DIGITS.index(digit) for digit in digits]
        roots = np.tile(np.eye(4), (len(angles), 1, 1))
        posture = np.concatenate([angles, np.zeros((len(angles), 1))], axis=1)
        low, high = np.append(self.hand.limits, [[0.0, 0.0]], axis=0).T
        ease = np.append(self.hand.neutral, 0.0)
        now = Poses(roots, np.clip(posture + BENT * (ease - posture), low, high))
        shifted = places
        for _ in range(CORRECTIONS + 1):
            targets = Targets(np.zeros(len(angles)), sites, shifted, np.ones(places.shape[:2]))
            wanted = Wanted.of(self.hand, targets, roots)
            asked = wanted.asked((True,) * len(sites), (False,) * len(sites))
            (parts,) = cut(self.hand, asked, "digits")
            now, _ = search(Task(self.hand, parts, wanted, WORTH, False, posture), METHOD, now)
            left = places - self.tips(now.angles[:, :-1])[:, rows] / self.unit
            length = np.linalg.norm(left, axis=-1, keepdims=True)
            shifted = shifted + left * np.minimum(1.0, MOST / np.maximum(length, 1e-12))
        solved: Floats = now.angles[:, :-1]
        return solved
