"""Fragments, positions of one to three frames between gaps, are dropped where they do not fit what is before and after.

Where a system loses a marker it sometimes takes another point for it for a moment. `expected_positions.py` finds where
the marker is expected, in the frame of the hand, so that a fast hand is not taken for a fragment.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..hand.finite_points import finite_points
from ..hand.generators import Progress, Steps
from ..hand.rotations import fit_rigid
from .cleaning import Ints, runs
from .expected_positions import PathExpectations
from .markers import Bools, Floats, Markers

LONGEST = 3
"""Frames of the longest fragment."""
FRAGMENTS_PER_STEP = 100
"""Fragments tested between two reports of progress."""


@dataclass(frozen=True, slots=True, eq=False)
class Body:
    """Markers that move together."""

    columns: Ints
    """(C,) indices into Markers.names."""
    rigid: Ints
    """(R,) indices into `columns`: those that do not move against each other."""


@dataclass(frozen=True, slots=True)
class Fragment:
    """A run of at most LONGEST positions of one marker."""

    column: int
    start: int
    stop: int
    """Exclusive."""


def drop_fragments(markers: Markers, bodies: Sequence[Body]) -> Steps[tuple[Markers, dict[str, int]]]:
    """Turn fragments of the bodies' markers that do not fit into gaps. Return how many of each label were dropped."""
    positions, dropped = markers.positions.copy(), dict.fromkeys(markers.names, 0)
    for body in bodies:
        paths = markers.positions[:, body.columns]
        fragments, solid = find_fragments(markers.seen[:, body.columns])
        tests = _Tests(paths, solid, body.rigid)
        for number, fragment in enumerate(fragments):
            if number % FRAGMENTS_PER_STEP == 0:
                yield Progress(number / len(fragments), "Testing fragments of markers")
            if not tests.fits(fragment):
                column = body.columns[fragment.column]
                positions[fragment.start : fragment.stop, column] = np.nan
                dropped[markers.names[column]] += 1
    predicted = markers.predicted & finite_points(positions)
    return replace(markers, positions=positions, predicted=predicted), {k: n for k, n in dropped.items() if n}


def find_fragments(seen: Bools) -> tuple[list[Fragment], Bools]:
    """Fragments of seen (F, C), and (F, C) True where a position belongs to a longer run."""
    solid = seen.copy()
    fragments = []
    for column, start, stop in zip(*map(np.ndarray.tolist, runs(seen)), strict=True):
        if stop - start <= LONGEST and stop - start < len(seen):
            fragments.append(Fragment(column, start, stop))
            solid[start:stop, column] = False
    return fragments, solid


class _Tests:
    """The tests of a body's fragments: in the frame of its rigid markers, and in the world where those are not seen."""

    def __init__(self, paths: Floats, solid: Bools, rigid: Ints) -> None:
        self._paths = paths
        self._solid = solid
        self._rigid = rigid
        self._made: dict[int | None, PathExpectations] = {}

    def fits(self, fragment: Fragment) -> bool:
        """Whether a fragment fits, or that is unknown; where few frames show such a gap, distances decide."""
        # A rigid marker must not pull the frame in which it is tested.
        left_out = fragment.column if fragment.column in self._rigid else -1
        for frame_without in (left_out, None):
            expectations = self._expectations(frame_without)
            verdicts = [expectations.fits(fragment.column, frame) for frame in range(fragment.start, fragment.stop)]
            if None not in verdicts:
                return all(verdicts)
        world = self._expectations(None)
        return all(world.keeps_distance(fragment.column, frame) for frame in range(fragment.start, fragment.stop))

    def _expectations(self, frame_without: int | None) -> PathExpectations:
        """Return expectations in the frame of the rigid markers without one of them; in the world for None."""
        if frame_without not in self._made:
            paths = self._paths
            if frame_without is not None:
                paths = in_frame_of(paths, self._solid, self._rigid[self._rigid != frame_without])
            self._made[frame_without] = PathExpectations(paths, self._solid)
        return self._made[frame_without]


def in_frame_of(paths: Floats, solid: Bools, rigid: Ints) -> Floats:
    """Paths (F, C, 3) in a frame that moves with the rigid markers; NaN where fewer than three of those are solid."""
    result = np.full_like(paths, np.nan)
    most = int(solid[:, rigid].sum(1).argmax())
    rigid = rigid[solid[most, rigid]]
    frames = np.flatnonzero(solid[:, rigid].sum(1) >= 3)
    if len(frames):
        shape = np.broadcast_to(paths[most, rigid], (len(frames), len(rigid), 3))
        weights = solid[np.ix_(frames, rigid)]
        seen = np.where(weights[..., None], paths[np.ix_(frames, rigid)], 0.0)
        transforms = fit_rigid(shape, seen, weights.astype(float))
        result[frames] = (paths[frames] - transforms[:, None, :3, 3]) @ transforms[:, :3, :3]
    return result
