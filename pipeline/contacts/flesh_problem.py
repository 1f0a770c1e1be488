"""The pose problem of flesh that is parted and contacts that are held, in some frames of a take."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ...hand.flesh import Flesh
from ...hand.joints import CHAIN_JOINTS, JOINT_INDEX
from ...hand.kinematics import Pose, joint_frames
from ...hand.model import HandModel
from ...solvers.pose_problem import (
    Objective,
    PoseProblem,
    Preferences,
    Separation,
    relative_size,
    solve,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

MAX_DEPTH = 0.8e-3
"""m of a hand of the usual length, how deep flesh is left in flesh: 1 mm is promised."""
NEAR = 4e-3
"""m of such a hand: pairs that are farther apart than this, and not parted, are not watched."""
HOLD_POSTURE = 0.01
"""m, what a change of a joint by its whole range costs while contacts are held: else the last joints alone, with the
least levers, would take up the noise of the take."""
DEPTH_WEIGHT = 9.0
"""How much more flesh that is too deep counts where something is held: three times what is held does, so that points
that meet give way along the direction in which flesh comes apart, rather than that digits are in each other."""
STAY_WEIGHT = 0.1
"""m of depth that moving a middle joint or a tip by 1 m costs: hands move little, rather than angles."""


class Held(Protocol):
    """What a hand holds in some frames of a take: skin on its own skin, or on a surface."""

    def counts(self, rows: Ints) -> Bools:
        """Return in which of some rows (N,) of the take anything is held."""

    def touching(self, rows: Ints, flesh: Flesh) -> Bools:
        """Return which pairs of capsules (N, K) are of digits that touch something in some of the frames."""

    def objectives(self, rows: Ints, angles: Floats) -> tuple[HandModel, list[Objective]]:
        """Return the objectives in some of the frames, at angles (N, D) rad, and the hand with their sites."""

    def starts(self) -> dict[int, int]:
        """Return row -> over how many frames before it, at least, the hand comes to what it holds from there."""

    def ends(self) -> dict[int, int]:
        """Return row -> over how many frames from it on, at least, the hand leaves what it held until there."""


@dataclass(frozen=True, slots=True, eq=False)
class FleshProblem:
    """A hand whose flesh is parted, and whose contacts are held."""

    hand: HandModel
    flesh: Flesh
    free: Ints
    """The angles that may change, as in hand.jacobians."""
    held: Held | None = None

    @property
    def scale(self) -> float:
        """The length of the hand, relative to that for which lengths are given."""
        return relative_size(self.hand)

    def excess(self, deep: Floats) -> Floats:
        """Return by how much pairs that are so deep (F, K) m are too deep."""
        return np.maximum(deep - MAX_DEPTH * self.scale, 0.0)

    def solve(self, angles: Floats, rows: Ints, deep: Floats, needed: Floats, *, patient: bool) -> Floats:
        """Return the angles (N, D) rad of some of a take's frames, from angles (N, D).

        Contacts are held, flesh is parted, and middle joints and tips stay near their positions.

        Args:
            angles: of these frames.
            rows: (N,) where these are in the take.
            deep: (N, K) m, how deep pairs are.
            needed: (N, K) m, how much less they must be.
            patient: as in pose_problem.solve.
        """
        allowed, hand, goals, weight = self._allowed(deep, needed), self.hand, list[Objective](), np.ones(len(rows))
        if self.held is not None:
            # What touches is just not too deep: parting it smoothly would open the contact.
            near = np.isfinite(allowed) & self.held.touching(rows, self.flesh)
            allowed = np.where(near, MAX_DEPTH * self.scale, allowed)
            hand, goals = self.held.objectives(rows, angles)
            weight[self.held.counts(rows)] = DEPTH_WEIGHT
        start = Pose.at_origin(hand, angles)
        sites = [JOINT_INDEX[joint] for joints in CHAIN_JOINTS.values() for joint in joints[1::2]]
        positions = joint_frames(hand, start)[..., :3, 3]
        stay = [Objective(site, positions[:, site], STAY_WEIGHT) for site in sites]
        problem = PoseProblem.of(
            start,
            self.free,
            [*stay, *goals],
            preferences=Preferences(posture=HOLD_POSTURE) if goals else Preferences(),
            separation=Separation(self.flesh, allowed, weight=weight),
        )
        found: Floats = solve(problem, patient=patient).pose.angles
        return found

    def _allowed(self, deep: Floats, needed: Floats) -> Floats:
        """Return how deep pairs may be (N, K) m: less by `needed` than `deep`, and no other that is near too deep."""
        watched = np.where(deep > -NEAR * self.scale, MAX_DEPTH * self.scale, np.inf)
        return np.where((needed > 0.0) & np.isfinite(deep), np.where(np.isfinite(deep), deep, 0.0) - needed, watched)
