"""The result of a solve: a take and its hands."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..capture.markers import Markers
from ..hand.flesh import Flesh
from ..hand.forearm import Forearm
from ..hand.joints import Side
from ..hand.kinematics import Pose
from ..hand.model import HandModel
from ..hand.proportions import Proportions
from ..hand.targets import Targets
from .evidence.evidence import Evidence
from .evidence.ranking import Problem
from .recipe import Recipe
from .retarget import RetargetedHand

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class SolvedHand:
    """One solved hand of a take: F frames, J joints, T targets."""

    side: Side
    hand: HandModel
    proportions: Proportions
    targets: Targets
    """The cleaned markers, not smoothed. Errors are measured to these."""
    smoothed_targets: Targets
    """The targets that the hand was solved to; smoothed if the recipe smooths markers."""
    pose: Pose
    predicted: Bools
    """(F, J) True where no measured marker determines the joint in that frame."""
    measured: Bools
    """(F, T) True where a target was seen: neither filled in nor rejected as an outlier."""
    labels: tuple[str, ...] = ()
    """(T,) the capture's label of each target."""
    guessed_fingers: tuple[str, ...] = ()
    """Fingers without a marker, which follow their neighbours."""
    contacts: tuple[dict[str, Any], ...] = ()
    """The performer's contacts, JSON-ready as pipeline.contacts.contact_report returns them."""
    depths: Floats | None = None
    """(F, P) mm, depth of each part of the keyed hand in other parts; None if not measured yet."""
    retargeted: RetargetedHand | None = None
    """The pose on the rig's hand, which has other proportions; None if Knuckle builds the hand."""
    forearm: Forearm | None = None
    """The performer's forearm, mirrored like the pose. None if the capture does not show it, and for a capture that was
    aligned: its hands keep their captured directions."""

    @property
    def keyed(self) -> Pose:
        """The pose that is keyed: the retargeted one if there is one, else the solved one."""
        return self.pose if self.retargeted is None else self.retargeted.pose

    @property
    def flesh(self) -> Flesh:
        """The flesh of the hand that is keyed."""
        return Flesh.of(self.hand) if self.retargeted is None else self.retargeted.character.flesh

    def with_keyed(self, pose: Pose) -> "SolvedHand":
        """Return the hand keyed with another pose."""
        if self.retargeted is None:
            return replace(self, pose=pose, depths=None)
        return replace(self, depths=None, retargeted=replace(self.retargeted, pose=pose))


@dataclass(frozen=True, slots=True, eq=False)
class Take:
    """A solved capture."""

    recipe: Recipe
    markers: Markers
    """The cleaned markers at the rate of the solved frames. Neither mirrored nor moved, even if the hands are."""
    times: Floats
    """(F,) s, times of the solved frames on the capture's clock."""
    hands: tuple[SolvedHand, ...]
    evidence: Evidence
    """Reliability of each frame."""
    problems: tuple[Problem, ...]
    """Ranges where something is wrong, the worst first."""
    report: dict[str, Any]
    """capture, frames, rate, solver, hands{side: ...}, seconds{read, solve}: JSON-ready."""
    waiting: Mapping[str, str] = field(default_factory=dict)
    """Id of a correction -> why it could not take effect in the solve."""
