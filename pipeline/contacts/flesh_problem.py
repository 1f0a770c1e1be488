"""The pose problem that parts flesh and holds contacts in some frames of a take."""

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
"""m of a hand of the usual length, maximum depth of flesh in flesh. The documentation promises 1 mm."""
NEAR_DISTANCE = 4e-3
"""m of a hand of the usual length: pairs farther apart than this are constrained only while they are being parted."""
HOLD_POSTURE = 0.01
"""m, cost of changing a joint by its whole range while contacts are held. With less, the last joints, which have the
shortest levers, would absorb the noise of the take."""
DEPTH_WEIGHT = 9.0
"""Relative weight of flesh that is too deep while something is held. It is three times that of held points, so that
held points yield before digits penetrate each other."""
STAY_WEIGHT = 0.1
"""Cost, in m of depth, of moving a middle joint or a tip by 1 m. It keeps movements small rather than angles."""


class Hold(Protocol):
    """A hold in some frames of a take: skin on the hand's own skin, or on a surface."""

    def is_held(self, rows: Ints) -> Bools:
        """Return whether anything is held in rows (N,) of the take."""

    def touching(self, rows: Ints, flesh: Flesh) -> Bools:
        """Return whether pairs of capsules (N, K) belong to digits that touch something in rows (N,)."""

    def objectives(self, rows: Ints, angles: Floats) -> tuple[HandModel, list[Objective]]:
        """Return the hand with additional sites, and the objectives in rows (N,), at angles (N, D) rad."""

    def approach_frames(self) -> dict[int, int]:
        """Return first row of each hold -> minimum number of frames of the approach before it."""

    def release_frames(self) -> dict[int, int]:
        """Return first row after each hold -> minimum number of frames of the release that starts there."""


@dataclass(frozen=True, slots=True, eq=False)
class FleshProblem:
    """The pose problem of a hand whose flesh is parted and whose contacts are held."""

    hand: HandModel
    flesh: Flesh
    free: Ints
    """Indices of the angles that may change, as in hand.jacobians."""
    hold: Hold | None = None

    @property
    def scale(self) -> float:
        """The length of the hand, relative to the usual length."""
        return relative_size(self.hand)

    def excess(self, deep: Floats) -> Floats:
        """Return the excess (F, K) m of depths (F, K) m over the maximum."""
        return np.maximum(deep - MAX_DEPTH * self.scale, 0.0)

    def solve(self, angles: Floats, rows: Ints, deep: Floats, decrease: Floats, *, patient: bool) -> Floats:
        """Return the angles (N, D) rad of some of a take's frames, from angles (N, D).

        Contacts are held, flesh is parted, and middle joints and tips stay near their positions.

        Args:
            angles: (N, D) rad, the angles in these frames.
            rows: (N,) their rows in the take.
            deep: (N, K) m, depths of pairs.
            decrease: (N, K) m, required decrease of the depths.
            patient: see pose_problem.search.solve.
        """
        allowed, hand, goals, weight = self._allowed(deep, decrease), self.hand, list[Objective](), np.ones(len(rows))
        if self.hold is not None:
            # Only limit the depth of touching flesh. Parting it smoothly would open the contact.
            is_touching = np.isfinite(allowed) & self.hold.touching(rows, self.flesh)
            allowed = np.where(is_touching, MAX_DEPTH * self.scale, allowed)
            hand, goals = self.hold.objectives(rows, angles)
            weight[self.hold.is_held(rows)] = DEPTH_WEIGHT
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
        solved_angles: Floats = solve(problem, patient=patient).pose.angles
        return solved_angles

    def _allowed(self, deep: Floats, decrease: Floats) -> Floats:
        """Return the allowed depths (N, K) m: `deep` reduced by `decrease`, and the maximum for other near pairs."""
        watched = np.where(deep > -NEAR_DISTANCE * self.scale, MAX_DEPTH * self.scale, np.inf)
        return np.where(
            (decrease > 0.0) & np.isfinite(deep), np.where(np.isfinite(deep), deep, 0.0) - decrease, watched
        )
