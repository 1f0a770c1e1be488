"""Cached results of a solve, for the next solve of the same capture.

They do not depend on corrections, so that only the ranges of new corrections need solving. A solve with another solver
reuses the found hands.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from ..capture.markers import Markers
from ..capture.scene_files import is_self_contained
from .assignment import Assignment
from .corrections.resolving import Resolved
from .labelling import LabelledMarkers
from .marker_cleaning import CleanedMarkers
from .performer import Performer
from .recipe import Recipe, to_dict
from .take import SolvedHand

FINDING_FIELDS = (
    *("capture", "unit", "up", "rate", "animation", "landmarks", "angle_of_view", "hand_length", "start", "end"),
    *("hand", "subject", "markers", "labels", "markers_on", "performer", "cleaning"),
)
"""Fields of a recipe on which finding and measuring hands depends."""
SOLVING_FIELDS = ("solver", "settings", "smoothing", "smoothing_settings", "angles", "fps", "mirror")
"""Further fields on which the solve depends, besides the rig's limits."""


@dataclass(frozen=True, slots=True, eq=False)
class FoundHands:
    """The hands of a capture, before they are solved."""

    key: str
    """Key of the inputs; empty if they are more than a recipe and one file."""
    labels: LabelledMarkers
    """Assignment with the labelled markers of the recipe's frames, not cleaned."""
    cleaned: CleanedMarkers
    assigned: Assignment
    performer: Performer
    """The performer as measured, without the rig's limits."""

    @property
    def raw(self) -> Markers:
        """The labelled markers, not cleaned."""
        return self.labels.markers


@dataclass(frozen=True, slots=True, eq=False)
class SolvedCapture:
    """A solved capture without corrections, before it is retargeted."""

    found: FoundHands
    key: str
    """Key of the solver's inputs other than `found`."""
    markers: Markers
    """Cleaned, at the rate of the solved frames."""
    solved: tuple[SolvedHand, ...]
    resolved: Resolved | None = None
    """The hands with the ranges of the last corrections solved again."""


def finding_key(recipe: Recipe) -> str:
    """Return the key of the hands found in a capture: the recipe's choices, and the state of its file.

    Empty for a capture that is not a single file: an armature, or other files of the capture, may have changed.
    """
    if not is_self_contained(recipe.capture):
        return ""
    try:
        state = Path(recipe.capture).stat()
    except (OSError, ValueError):
        return ""
    # A copy may preserve the modification time of a file, but changes the time of its inode.
    of_file = [state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino]
    return json.dumps([_chosen(recipe, FINDING_FIELDS), of_file])


def solving_key(recipe: Recipe, performer: Performer) -> str:
    """Return the key of a solve of hands that were found; performer: with the rig's limits."""
    limits = [
        [
            side,
            sorted([*joint, *map(float, low_high)] for joint, low_high in hand.limits.items()),
            sorted(hand.uncoupled),
        ]
        for side, hand in performer.hands.items()
    ]
    return json.dumps([_chosen(recipe, SOLVING_FIELDS), limits])


def _chosen(recipe: Recipe, names: tuple[str, ...]) -> list[object]:
    values = to_dict(recipe)
    return [values[name] for name in names]
