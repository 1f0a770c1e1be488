"""Drop fragments, runs of one to three frames between gaps, whose positions do not fit the rest of the marker's path.

When a system loses a marker, it sometimes takes another point for it in a few frames. `expected_positions.py` predicts
the marker's position in the hand's coordinate frame: a fast motion of the hand is not mistaken for such an error.
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

MAX_FRAGMENT_FRAMES = 3
"""Maximum number of frames of a fragment."""
FRAGMENTS_PER_STEP = 100
"""Number of fragments tested between two reports of progress."""


@dataclass(frozen=True, slots=True, eq=False)
class Body:
    """Markers that move together."""

    columns: Ints
    """(C,) indices into Markers.names."""
    rigid: Ints
    """(R,) indices into `columns`: markers that do not move relative to each other."""


@dataclass(frozen=True, slots=True)
class Fragment:
    """A run of at most MAX_FRAGMENT_FRAMES positions of one marker."""

    column: int
    start: int
    stop: int
    """Exclusive."""


def drop_fragments(markers: Markers, bodies: Sequence[Body]) -> Steps[tuple[Markers, dict[str, int]]]:
    """Replace fragments that do not fit by gaps, in the markers of all bodies.

    Returns:
        The markers, and label -> number of fragments dropped.
    """
    positions, dropped = markers.positions.copy(), dict.fromkeys(markers.names, 0)
    for body in bodies:
        paths = markers.positions[:, body.columns]
        fragments, reliable = find_fragments(markers.seen[:, body.columns])
        tests = _FragmentTests(paths, reliable, body.rigid)
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
    """Return the fragments in `seen` (F, C), and whether each position (F, C) is reliable: part of a longer run."""
    reliable = seen.copy()
    fragments = []
    for column, start, stop in zip(*map(np.ndarray.tolist, runs(seen)), strict=True):
        if stop - start <= MAX_FRAGMENT_FRAMES and stop - start < len(seen):
            fragments.append(Fragment(column, start, stop))
            reliable[start:stop, column] = False
    return fragments, reliable


class _FragmentTests:
    """Tests a body's fragments in the frame of its rigid markers, or in the world where too few of them are seen."""

    def __init__(self, paths: Floats, reliable: Bools, rigid: Ints) -> None:
        self._paths = paths
        self._reliable = reliable
        self._rigid = rigid
        self._expectations: dict[tuple[int, ...], PathExpectations] = {}

    def fits(self, fragment: Fragment) -> bool:
        """Return whether a fragment is at its expected position, or, if that is unknown, keeps its distances."""
        # A misplaced rigid marker would distort the frame in which it is tested.
        others = tuple(int(marker) for marker in self._rigid if marker != fragment.column)
        for rigid in (others, ()):
            expectations = self._path_expectations(rigid)
            fits = [expectations.fits(fragment.column, frame) for frame in range(fragment.start, fragment.stop)]
            if None not in fits:
                return all(fits)
        world = self._path_expectations(())
        return all(world.keeps_distance(fragment.column, frame) for frame in range(fragment.start, fragment.stop))

    def _path_expectations(self, rigid: tuple[int, ...]) -> PathExpectations:
        """Return the expected paths in the frame of rigid markers; in the world if there are none."""
        if rigid not in self._expectations:
            paths = transform_to_rigid_frame(self._paths, self._reliable, np.array(rigid)) if rigid else self._paths
            self._expectations[rigid] = PathExpectations(paths, self._reliable)
        return self._expectations[rigid]


def transform_to_rigid_frame(paths: Floats, reliable: Bools, rigid: Ints) -> Floats:
    """Transform paths (F, C, 3) to a frame that moves with the rigid markers; NaN where under three are reliable."""
    result = np.full_like(paths, np.nan)
    reference = int(reliable[:, rigid].sum(1).argmax())
    rigid = rigid[reliable[reference, rigid]]
    frames = np.flatnonzero(reliable[:, rigid].sum(1) >= 3)
    if len(frames):
        shape = np.broadcast_to(paths[reference, rigid], (len(frames), len(rigid), 3))
        weights = reliable[np.ix_(frames, rigid)]
        visible = np.where(weights[..., None], paths[np.ix_(frames, rigid)], 0.0)
        transforms = fit_rigid(shape, visible, weights.astype(float))
        result[frames] = (paths[frames] - transforms[:, None, :3, 3]) @ transforms[:, :3, :3]
    return result
