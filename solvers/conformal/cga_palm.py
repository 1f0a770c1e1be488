"""The palm's pose, FABRIK-CGA (3.1)-(3.6): from three markers by their plane, from two by the circle about them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...hand.model import HandModel
from ...hand.scalar_math import ARRAY, SCALAR, Point
from ...hand.targets import Targets
from ..chunks import in_chunks
from ..planar.palm_pose import PalmMarkers, fit_roots, follow_markers, palm_markers, spans_a_plane
from ..planar.planar_hand import digits
from ..solver import hold_last
from .three_marker_palm import ThreeMarkerPalm, three_marker_palm
from .two_marker_palm import LEAST_DISTANCE_M, TwoMarkerPalm, least_rotations, two_marker_palm

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class ConformalPalm:
    """Finds the palm's pose from its markers in the algebra.

    Three markers that span a plane, the paper's p, q and r, determine the plane and the joints in it. With more, the
    palm is fitted by least squares as in every planar solver. With two, the palm rotates as little as possible; with
    one it keeps its rotation and follows the marker; with none it stays.
    """

    palm: PalmMarkers
    trio: ThreeMarkerPalm | None
    """None unless the palm has exactly three markers that are not in a line."""
    joints: Floats
    """(J, 3) m in the wrist's frame: the wrist and each digit's first joint."""

    def roots(self, targets: Targets, last: Floats) -> Floats:
        """See PalmStep."""
        columns = self.palm.columns
        if len(columns) < 2:
            return self.palm.roots(targets, last)
        weights = targets.weights[:, columns]
        told: Bools = spans_a_plane(self.palm.at_rest, weights)
        positions = targets.positions[:, columns]
        if len(targets) == 1 and told[0] and self.trio:
            return self._one(self.trio, positions, weights)
        roots = np.tile(np.eye(4), (len(targets), 1, 1))
        if told.any():
            roots[told] = self._many(positions[told], np.ascontiguousarray(weights[told]))
        return roots if told.all() else self._carried(targets, roots, told, last)

    def _one(self, trio: ThreeMarkerPalm, positions: Floats, weights: Floats) -> Floats:
        """Return the root (1, 4, 4) of one frame in which all three markers are seen."""
        points = [(x, y, z) for x, y, z in positions[0].tolist()]
        (a, b, c), (x, y, z), told = trio.laid(SCALAR, points, weights[0].tolist())
        if not told:
            return fit_roots(self.palm, positions, weights)
        return np.array([[[*a, x], [*b, y], [*c, z], [0.0, 0.0, 0.0, 1.0]]])

    def _many(self, positions: Floats, weights: Floats) -> Floats:
        """Return the roots (N, 4, 4) of frames with enough markers: positions (N, P, 3) m, weights (N, P)."""
        roots = np.empty((len(positions), 4, 4))

        def lay(chunk: slice) -> None:
            if self.trio is None:
                roots[chunk] = fit_roots(self.palm, positions[chunk], weights[chunk])
            else:
                roots[chunk] = self._by_trio(self.trio, positions[chunk], weights[chunk])

        in_chunks(len(positions), lay)
        return roots

    def _by_trio(self, trio: ThreeMarkerPalm, positions: Floats, weights: Floats) -> Floats:
        points = np.ascontiguousarray(np.transpose(positions, (1, 2, 0)))
        turn, move, told = trio.laid(ARRAY, [(x, y, z) for x, y, z in points], list(weights.T))
        roots = np.zeros((len(positions), 4, 4))
        for i in range(3):
            for j in range(3):
                roots[:, i, j] = turn[i][j]
            roots[:, i, 3] = move[i]
        roots[:, 3, 3] = 1.0
        if not told.all():
            roots[~told] = fit_roots(self.palm, positions[~told], weights[~told])
        return roots

    def _carried(self, targets: Targets, roots: Floats, told: Bools, last: Floats) -> Floats:
        """Return the roots (F, 4, 4), those without three markers (not `told` (F,)) by the frame before them."""
        weights = targets.weights[:, self.palm.columns]
        positions = np.where(weights[..., None] > 0, targets.positions[:, self.palm.columns], 0.0)
        pairs, which = self._pairs(positions, weights, told)
        known = told | (which >= 0)
        roots = hold_last(roots, told, last)
        if np.any(which >= 0):
            self._turn(pairs, which, positions, roots, told)
        return follow_markers(hold_last(roots, known, last), known, self.palm.at_rest, positions, weights)

    def _pairs(self, positions: Floats, weights: Floats, told: Bools) -> tuple[list[TwoMarkerPalm], Ints]:
        """Return the pairs of markers that are seen, and each frame's pair (F,): -1 if it is `told` or has none."""
        which = np.full(len(weights), -1)
        patterns, seen = np.unique(weights[~told] > 0, axis=0, return_inverse=True)
        found = [
            two_marker_palm(self.palm.at_rest, np.flatnonzero(pattern).tolist(), self.joints) for pattern in patterns
        ]
        pairs = [pair for pair in found if pair]
        numbers = np.array([pairs.index(pair) if pair else -1 for pair in found])
        which[~told] = numbers[seen.reshape(-1)]
        for number, pair in enumerate(pairs):
            near = np.linalg.norm(positions[:, pair.other] - positions[:, pair.one], axis=1) < LEAST_DISTANCE_M
            which[(which == number) & near] = -1
        return pairs, which

    def _turn(self, pairs: list[TwoMarkerPalm], which: Ints, positions: Floats, roots: Floats, told: Bools) -> None:
        """Overwrite the roots of the frames with a pair, which hold the last root determined by three markers.

        The midpoint of the pair is placed at the midpoint of the two markers as seen.
        """
        frames = np.flatnonzero(which >= 0)
        ends = np.array([(pair.one, pair.other) for pair in pairs])[which[frames]]
        seen = positions[frames[:, None], ends]
        lines = seen[:, 1] - seen[:, 0]
        lines = lines / np.linalg.norm(lines, axis=1)[:, None]
        follows = np.diff(np.cumsum(told)[frames], prepend=-1) == 0
        turns = least_rotations(pairs, which[frames], lines, roots[frames, :3, :3], follows)
        roots[frames, :3, :3] = turns
        roots[frames, :3, 3] = seen.mean(1) - np.einsum("fij,fj->fi", turns, self.palm.at_rest[ends].mean(1))


@dataclass(frozen=True, slots=True)
class ConformalPalmFactory:
    """Prepares the palm's step: see planar_plan.PalmFactory."""

    share: float
    """Weight of a joint found from two markers, relative to a marker."""

    def __call__(self, hand: HandModel, sites: list[int]) -> ConformalPalm:
        """Return the step for a hand and the sites of its targets. Raises HandError if the palm is not rigid."""
        palm = palm_markers(hand, sites)
        bases: list[Point[float]] = [tuple(digit.T_wrist_base[:3, 3].tolist()) for digit in digits(hand)]
        trio = three_marker_palm(palm.places, bases, self.share) if palm.wide and len(palm.places) == 3 else None
        return ConformalPalm(palm, trio, np.array([(0.0, 0.0, 0.0), *bases]))
