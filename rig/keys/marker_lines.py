"""A take's markers on a frame, with the points of the posed hand that they belong to."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...hand.joints import JOINT_INDEX
from ..binding import RigBinding, posed_frames
from ..markers_object import CAPTURE_PROPERTY, positions_at

if TYPE_CHECKING:
    from bpy.types import Object

Floats = NDArray[np.float64]

MAX_MARKERS = 500
"""Maximum number of markers of a hand that are drawn."""
MAX_OFFSET = 1.0
"""m, maximum distance of a marker from its joint; a larger one means a damaged report."""


@dataclass(frozen=True, slots=True, eq=False)
class MarkerLines:
    """The N visible markers of one hand. Positions in m in the world."""

    markers: Floats
    """(N, 3)"""
    solved: Floats
    """(N, 3)"""

    @property
    def errors(self) -> Floats:
        """(N,) mm"""
        errors: Floats = 1000 * np.linalg.norm(self.markers - self.solved, axis=1)
        return errors


def marker_lines(armature: "Object", binding: RigBinding, worn: Any, shown: "Object", frame: float) -> MarkerLines:
    """Return the lines of a hand on a frame.

    worn: label -> joint and offset, as the report of the take has it, without damaged entries. shown: an object
    that is_markers.
    """
    sites = _sites(worn, [str(name) for name in shown[CAPTURE_PROPERTY]["names"]])
    if not sites:
        return MarkerLines(np.zeros((0, 3)), np.zeros((0, 3)))
    columns, joints = [column for column, _, _ in sites], [joint for _, joint, _ in sites]
    offsets = np.array([offset for _, _, offset in sites])
    frames = np.array(armature.matrix_world) @ posed_frames(armature, binding)[joints]
    axes = frames[:, :3, :3] / np.linalg.norm(frames[:, :3, :3], axis=1, keepdims=True)
    solved = frames[:, :3, 3] + np.einsum("nij,nj->ni", axes, offsets)
    markers = positions_at(shown, frame)[columns]
    known = np.isfinite(markers).all(axis=1) & np.isfinite(solved).all(axis=1)
    return MarkerLines(markers[known], solved[known])


def _sites(worn: Any, names: list[str]) -> list[tuple[int, int, list[float]]]:
    """Return column, joint and offset (3,) m of the markers of a report that the object shows."""
    found = []
    for label, site in list(worn.items())[:MAX_MARKERS] if isinstance(worn, dict) else ():
        joint = site.get("joint") if isinstance(site, dict) else None
        offset = site.get("offset_m") if isinstance(site, dict) else None
        if label in names and isinstance(joint, str) and joint in JOINT_INDEX and _is_offset(offset):
            found.append((names.index(label), JOINT_INDEX[joint], [float(length) for length in offset]))
    return found


def _is_offset(offset: Any) -> bool:
    """Return whether a value of a report is three lengths."""
    return (
        isinstance(offset, list)
        and len(offset) == 3
        and all(isinstance(length, int | float) and abs(length) <= MAX_OFFSET for length in offset)
    )
