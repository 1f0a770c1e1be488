"""Takes as a report page shows them, from the actions of a Blender file."""

from typing import TYPE_CHECKING

import numpy as np

from ...errors import RigError
from ...pipeline.evidence.angle_curves import MAX_COLUMNS, unpack_angles
from ...pipeline.evidence.evidence import Evidence
from ...pipeline.evidence.packing import unpack
from ...pipeline.report_page.content import ReviewedTake
from .frame_times import LAST_FRAME
from .take_problems import is_number
from .take_report import ANGLES_PROPERTY, EVIDENCE_PROPERTY, report_in

if TYPE_CHECKING:
    from bpy.types import Action

MAX_TIME = 1e9
"""s of a capture's clock, at most."""
MIN_SPAN = 1e-6
"""s or frames, minimum span of several frames, unless all have the same time."""


def reviewed_take(action: "Action", name: str = "") -> ReviewedTake:
    """Return the take in an action; name: by default that of the action.

    Raises RigError if the action has no report, or none of its frames.
    """
    report, evidence = report_in(action), unpack(action.get(EVIDENCE_PROPERTY))
    if report is None:
        raise RigError(f"action '{action.name}' has no report, expected a take that Knuckle has solved")
    if evidence is None or not _is_usable(evidence):
        raise RigError(f"action '{action.name}' has no evidence of its frames: solve the take again")
    count = len(evidence.times)
    at = report.get("at")
    known = isinstance(at, list) and len(at) == 2 and all(map(is_number, at))
    frames = (float(at[0]), float(at[1])) if known else (1.0, 1.0)
    if count > 1 and frames[1] - frames[0] < MIN_SPAN:
        frames = (1.0, float(min(count, LAST_FRAME)))
    columns = min(count, MAX_COLUMNS)
    angles = tuple(curves for curves in unpack_angles(action.get(ANGLES_PROPERTY)) if len(curves.low) == columns)
    return ReviewedTake(name or action.name, report, evidence, angles, frames)


def _is_usable(evidence: Evidence) -> bool:
    """Return whether evidence, which another add-on may have edited, has hands and frames in order."""
    times = evidence.times
    if not len(times) or not len(evidence.hands) or not (np.abs(times) < MAX_TIME).all():
        return False
    span = float(times[-1] - times[0])
    return bool((np.diff(times) >= 0).all()) and (span == 0 or span >= MIN_SPAN)
