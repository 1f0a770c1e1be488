"""The palm's pose, FABRIK-CGA (3.1)-(3.6): from three markers by their plane, from two by the circle about them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...hand.model import HandModel
from ...hand.scalar_math import ARRAY, SCALAR, Point
from ...hand.targets import Targets
from ..chunks import for_each_chunk
from ..planar.palm_pose import PalmMarkers, fit_roots, follow_markers, palm_markers, roots_from_elements, spans_a_plane
from ..planar.planar_hand import digits
from ..solver import hold_last
from .three_marker_palm import ThreeMarkerPalm, three_marker_palm
from .two_marker_palm import MIN_DISTANCE_M, TwoMarkerPalm, least_rotations, two_marker_palm

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class ConformalPalm:
    """Finds the palm's pose from its markers in CGA.

    Three markers that span a plane, the paper's p, q and r, determine the plane and the joints in it. With more, the
    palm is fitted by least squares as in every planar solver. With two markers, the palm rotates as little as possible;
    with one, it keeps its rotation and follows the marker; without any, it stays.
    """

    palm: PalmMarkers
    three_markers: ThreeMarkerPalm | None
    """None unless the palm has exactly three markers that are not in a line."""
    joints: Floats
    """(J, 3) m in the wrist's frame: the wrist and each digit's first joint."""

    def roots(self, targets: Targets, last: Floats) -> Floats:
        """See PalmStep."""
        columns = self.palm.columns
        if len(columns) < 2:
            return self.palm.roots(targets, last)
        weights = targets.weights[:, columns]
        determined: Bools = spans_a_plane(self.palm.rest_positions, weights)
        positions = targets.positions[:, columns]
        if len(targets) == 1 and determined[0] and self.three_markers:
            return self._fit_frame(self.three_markers, positions, weights)
        roots = np.tile(np.eye(4), (len(targets), 1, 1))
        if determined.any():
            roots[determined] = self._fit_many(positions[determined], np.ascontiguousarray(weights[determined]))
        return roots if determined.all() else self._fill_missing(targets, roots, determined, last)

    def _fit_frame(self, three_markers: ThreeMarkerPalm, positions: Floats, weights: Floats) -> Floats:
        """Return the root (1, 4, 4) of one frame in which all three markers are seen."""
        points = [(x, y, z) for x, y, z in positions[0].tolist()]
        (a, b, c), (x, y, z), determined = three_markers.fit(SCALAR, points, weights[0].tolist())
        if not determined:
            return fit_roots(self.palm, positions, weights)
        return np.array([[[*a, x], [*b, y], [*c, z], [0.0, 0.0, 0.0, 1.0]]])

    def _fit_many(self, positions: Floats, weights: Floats) -> Floats:
        """Return the roots (N, 4, 4) of frames with enough markers: positions (N, P, 3) m, weights (N, P)."""
        roots = np.empty((len(positions), 4, 4))

        def fit(chunk: slice) -> None:
            if self.three_markers is None:
                roots[chunk] = fit_roots(self.palm, positions[chunk], weights[chunk])
            else:
                roots[chunk] = self._fit_three_markers(self.three_markers, positions[chunk], weights[chunk])

        for_each_chunk(len(positions), fit)
        return roots

    def _fit_three_markers(self, three_markers: ThreeMarkerPalm, positions: Floats, weights: Floats) -> Floats:
        points = np.ascontiguousarray(np.transpose(positions, (1, 2, 0)))
        rotation, translation, determined = three_markers.fit(ARRAY, [(x, y, z) for x, y, z in points], list(weights.T))
        roots = roots_from_elements(rotation, translation)
        if not determined.all():
            roots[~determined] = fit_roots(self.palm, positions[~determined], weights[~determined])
        return roots

    def _fill_missing(self, targets: Targets, roots: Floats, determined: Bools, last: Floats) -> Floats:
        """Fill in the roots (F, 4, 4) of frames without three markers (not `determined` (F,)) from the previous
        frame."""
        weights = targets.weights[:, self.palm.columns]
        positions = np.where(weights[..., None] > 0, targets.positions[:, self.palm.columns], 0.0)
        pairs, pair_index = self._pairs(positions, weights, determined)
        has_pose = determined | (pair_index >= 0)
        roots = hold_last(roots, determined, last)
        if np.any(pair_index >= 0):
            self._rotate_to_pairs(pairs, pair_index, positions, roots, determined)
        return follow_markers(hold_last(roots, has_pose, last), has_pose, self.palm.rest_positions, positions, weights)

    def _pairs(self, positions: Floats, weights: Floats, determined: Bools) -> tuple[list[TwoMarkerPalm], Ints]:
        """Return the visible pairs of markers, and the index (F,) of each frame's pair: -1 if `determined` or without a
        pair."""
        pair_index = np.full(len(weights), -1)
        patterns, seen = np.unique(weights[~determined] > 0, axis=0, return_inverse=True)
        candidates = [
            two_marker_palm(self.palm.rest_positions, np.flatnonzero(pattern).tolist(), self.joints)
            for pattern in patterns
        ]
        pairs = [pair for pair in candidates if pair]
        pattern_pairs = np.array([pairs.index(pair) if pair else -1 for pair in candidates])
        pair_index[~determined] = pattern_pairs[seen.reshape(-1)]
        for number, pair in enumerate(pairs):
            too_close = np.linalg.norm(positions[:, pair.second] - positions[:, pair.first], axis=1) < MIN_DISTANCE_M
            pair_index[(pair_index == number) & too_close] = -1
        return pairs, pair_index

    def _rotate_to_pairs(
        self, pairs: list[TwoMarkerPalm], pair_index: Ints, positions: Floats, roots: Floats, determined: Bools
    ) -> None:
        """Overwrite the roots of frames with a pair. On input they are the last root determined by three markers.

        The midpoint of the pair is placed at the midpoint of the two observed markers.
        """
        frames = np.flatnonzero(pair_index >= 0)
        rows = np.array([(pair.first, pair.second) for pair in pairs])[pair_index[frames]]
        seen = positions[frames[:, None], rows]
        lines = seen[:, 1] - seen[:, 0]
        lines = lines / np.linalg.norm(lines, axis=1)[:, None]
        continues = np.diff(np.cumsum(determined)[frames], prepend=-1) == 0
        rotations = least_rotations(pairs, pair_index[frames], lines, roots[frames, :3, :3], continues)
        roots[frames, :3, :3] = rotations
        roots[frames, :3, 3] = seen.mean(1) - np.einsum("fij,fj->fi", rotations, self.palm.rest_positions[rows].mean(1))


@dataclass(frozen=True, slots=True)
class ConformalPalmFactory:
    """Prepares the palm's step: see planar_plan.PalmFactory."""

    joint_weight: float
    """Weight of a joint found from two markers, relative to a marker."""

    def __call__(self, hand: HandModel, sites: list[int]) -> ConformalPalm:
        """Return the step for a hand and the sites of its targets. Raises HandError if the palm is not rigid."""
        palm = palm_markers(hand, sites)
        bases: list[Point[float]] = [tuple(digit.T_wrist_base[:3, 3].tolist()) for digit in digits(hand)]
        three_markers = (
            three_marker_palm(palm.rest_points, bases, self.joint_weight)
            if palm.determines_rotation and len(palm.rest_points) == 3
            else None
        )
        return ConformalPalm(palm, three_markers, np.array([(0.0, 0.0, 0.0), *bases]))
