"""Predict a marker's position between two frames in which it is known, and the tolerance of the prediction.

A marker's deviation from the straight line between the two frames is predicted from its neighbours' deviations by ridge
regression. The weights and their errors are learnt on the take itself, at gaps of about the same lengths.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..hand.finite_points import finite_points
from .cleaning import MAD_TO_SIGMA
from .markers import Bools, Floats

Ints = NDArray[np.intp]

NEIGHBOURS = 5
"""Maximum number of neighbours that predict a marker; more would overfit."""
MIN_FRAMES, MAX_FRAMES = 30, 900
"""Minimum and maximum number of frames from which a prediction is learnt."""
RIDGE = 10.0
"""Ridge regularisation, relative to the variance of a marker's noise."""
FOLDS = 5
"""Number of folds of the cross-validation that measures the errors of predictions."""
CORRELATION_FRAMES = 10.0
"""Number of consecutive frames that carry the information of one independent frame."""
QUANTILE, MARGIN = 0.995, 1.25
"""Quantile of the errors from which their bound is computed, and a safety factor, since few frames determine it."""
ACCEPTED_ERROR = 0.008
"""m, maximum error of a prediction that is always accepted."""


@dataclass(frozen=True, slots=True)
class Lags:
    """Offsets in frames from a position to the known positions before and after it."""

    first: int
    """Below 0, or equal to `second` if there is no known position before."""
    second: int
    """Above 0, or equal to `first` if there is no known position after."""

    @property
    def fraction(self) -> float:
        """Fraction 0..1 of the time from the first frame to the second."""
        return self.first / (self.first - self.second) if self.first != self.second else 0.0

    def rounded(self) -> "Lags":
        """Return rounded lags: similar lags share a prediction."""
        return Lags(_round_lag(self.first), _round_lag(self.second))


def _round_lag(lag: int) -> int:
    """Round a lag of more than 4 frames to a power of 2^(1/4)."""
    length = abs(lag)
    return int(np.sign(lag)) * (length if length <= 4 else round(2 ** (round(4 * np.log2(length)) / 4)))


@dataclass(frozen=True, slots=True, eq=False)
class Expectation:
    """A linear prediction of a marker's deviation from the deviations of its N neighbours, and its errors."""

    weights: Floats
    """(3 N, 3) factors on the neighbours' deviations."""
    inverse: Floats
    """(3 N, 3 N) 1/m², inverse of the training deviations' second moments."""
    still: float
    """m, typical error if the neighbours move along straight lines."""
    moving: float
    """Increase of the typical error for each metre of the neighbours' deviations."""
    bound: float
    """Maximum error of a correct position, as a multiple of the typical error."""

    def fits(self, deviation: Floats, neighbours: Floats) -> bool:
        """Return whether a deviation (1, 3) m is as predicted from the neighbours' deviations (1, 3 N) m."""
        error = float(np.linalg.norm(deviation - neighbours @ self.weights))
        typical = self.still + self.moving * float(_size(neighbours)[0])
        return error <= max(ACCEPTED_ERROR, self.bound * (typical * float(_error_factor(neighbours, self.inverse)[0])))


class PathExpectations:
    """Predictions for all C markers of a body, each learnt on first use.

    paths: (F, C, 3) m, NaN where unknown. reliable: (F, C) whether a position can be used for learning.
    """

    def __init__(self, paths: Floats, reliable: Bools) -> None:
        self._paths = paths
        self._reliable = reliable & finite_points(paths)
        self._known_frames = [np.flatnonzero(self._reliable[:, column]) for column in range(paths.shape[1])]
        self._filled = _fill_gaps(paths, self._known_frames)
        self._nearest = _sort_neighbours(paths, self._reliable)
        self._learnt: dict[tuple[int, Lags, tuple[int, ...]], Expectation | None] = {}
        self._spans: dict[tuple[int, int], tuple[float, float] | None] = {}

    def fits(self, column: int, frame: int) -> bool | None:
        """Return whether a marker is at its predicted position in a frame; None if that is unknown."""
        lags = self._lags(column, frame)
        if lags is None or not np.isfinite(self._paths[frame, column]).all():
            return None
        rows = frame + np.array([lags.first, 0, lags.second])
        visible = [int(neighbour) for neighbour in self._nearest[column] if self._reliable[rows, neighbour].all()]
        neighbours = tuple(visible[:NEIGHBOURS])
        expectation = self._expectation(column, lags.rounded(), neighbours)
        if expectation is None:
            return None
        return expectation.fits(*deviations(self._paths, np.array([frame]), lags, (column, *neighbours)))

    def keeps_distance(self, column: int, frame: int) -> bool:
        """Return whether a marker's distance to one of its two most rigid neighbours is in its range over the take.

        A single neighbour might be on another finger that happened not to move. It is true if no range is known.
        """
        neighbours = [int(marker) for marker in self._nearest[column] if self._reliable[frame, marker]][:NEIGHBOURS]
        ranges = [(span, marker) for marker in neighbours if (span := self._distances(column, marker)) is not None]
        if not ranges:
            return True
        ranges.sort(key=lambda entry: entry[0][1] - entry[0][0])
        for (minimum, maximum), neighbour in ranges[:2]:
            distance = float(np.linalg.norm(self._paths[frame, column] - self._paths[frame, neighbour]))
            tolerance = (maximum - minimum) / 2 + ACCEPTED_ERROR
            if minimum - tolerance <= distance <= maximum + tolerance:
                return True
        return False

    def _distances(self, column: int, neighbour: int) -> tuple[float, float] | None:
        """Return the minimum and maximum distance of two markers in m; None if too few frames show both."""
        key = (column, neighbour)
        if key not in self._spans:
            rows = np.flatnonzero(self._reliable[:, column] & self._reliable[:, neighbour])
            distances = np.linalg.norm(self._paths[rows, column] - self._paths[rows, neighbour], axis=1)
            self._spans[key] = (float(distances.min()), float(distances.max())) if len(rows) >= MIN_FRAMES else None
        return self._spans[key]

    def _lags(self, column: int, frame: int) -> Lags | None:
        """Return the lags from a frame to the nearest known positions before and after it."""
        known_frames = self._known_frames[column]
        after = int(np.searchsorted(known_frames, frame))
        lags = [int(known_frames[index]) - frame for index in (after - 1, after) if 0 <= index < len(known_frames)]
        return Lags(lags[0], lags[-1]) if lags else None

    def _expectation(self, column: int, lags: Lags, neighbours: tuple[int, ...]) -> Expectation | None:
        """Return the prediction for these lags and neighbours; None if there are too few frames to learn it."""
        key = (column, lags, neighbours)
        if key not in self._learnt:
            frames = self._known_frames[column]
            frames = frames[(frames >= -lags.first) & (frames < len(self._reliable) - lags.second)]
            frames = frames[self._reliable[frames + lags.first, column] & self._reliable[frames + lags.second, column]]
            frames = frames[:: max(1, -(-len(frames) // MAX_FRAMES))]
            learnt = None
            if len(frames) >= MIN_FRAMES:
                noise = _noise(self._paths[:, column], self._reliable[:, column])
                learnt = learn(*deviations(self._filled, frames, lags, (column, *neighbours)), noise)
            self._learnt[key] = learnt
        return self._learnt[key]


def deviations(paths: Floats, frames: Ints, lags: Lags, columns: tuple[int, ...]) -> tuple[Floats, Floats]:
    """Return the deviations in m of a marker (K, 3) and N others (K, 3 N) from straight lines between the lags."""
    current, first, second = (paths[frames + lag][:, columns] for lag in (0, lags.first, lags.second))
    offsets = current - (1 - lags.fraction) * first - lags.fraction * second
    return offsets[:, 0], offsets[:, 1:].reshape(len(frames), -1)


def learn(marker: Floats, neighbours: Floats, noise: float) -> Expectation:
    """Learn to predict a marker's deviations from those of its neighbours.

    marker: (K, 3) m. neighbours: (K, 3 N) m. noise: m per axis.
    """
    ridge = RIDGE * noise**2 * np.eye(neighbours.shape[1])
    folds = np.array_split(np.arange(len(marker)), FOLDS)
    moments = np.array([neighbours[fold].T @ neighbours[fold] for fold in folds])
    products = np.array([neighbours[fold].T @ marker[fold] for fold in folds])
    errors = np.empty(len(marker))
    for number, fold in enumerate(folds):
        inverse = np.linalg.inv(moments.sum(0) - moments[number] + ridge)
        weights = inverse @ (products.sum(0) - products[number])
        distance = np.linalg.norm(marker[fold] - neighbours[fold] @ weights, axis=1)
        errors[fold] = distance / _error_factor(neighbours[fold], inverse)
    size = _size(neighbours)
    still = max(float(np.median(errors)), noise)
    moving = max(0.0, float((errors - still) @ size) / max(float(size @ size), noise**2))
    bound = MARGIN * float(np.quantile(errors / (still + moving * size), QUANTILE))
    inverse = np.linalg.inv(moments.sum(0) + ridge)
    return Expectation(inverse @ products.sum(0), inverse, still, moving, bound)


def _error_factor(neighbours: Floats, inverse: Floats) -> Floats:
    """Return factors (K,) on typical errors, which grow with the leverage of deviations unlike the training data."""
    leverage = np.einsum("ki,ij,kj->k", neighbours, inverse, neighbours)
    return np.asarray(np.sqrt(1 + CORRELATION_FRAMES * np.maximum(leverage, 0.0)), np.float64)


def _size(neighbours: Floats) -> Floats:
    """Return the root mean square (K,) m of deviations; 0 without neighbours."""
    return np.asarray(np.sqrt((neighbours**2).sum(-1) / max(neighbours.shape[-1], 1)), np.float64)


def _fill_gaps(paths: Floats, known_frames: list[Ints]) -> Floats:
    """Return paths (F, C, 3) with gaps interpolated linearly; zero for a marker that is never known.

    known_frames: the frames in which each marker is known.
    """
    filled, rows = np.zeros_like(paths), np.arange(len(paths))
    for column, frames in enumerate(known_frames):
        for axis in range(3 if len(frames) else 0):
            filled[:, column, axis] = np.interp(rows, frames, paths[frames, column, axis])
    return filled


def _sort_neighbours(paths: Floats, reliable: Bools) -> list[Ints]:
    """Return, for each marker, the other markers sorted by their mean distance."""
    sampled = slice(None, None, max(1, len(paths) // 200))
    known_positions = np.where(reliable[sampled, :, None], paths[sampled], np.nan)
    order = []
    for column in range(known_positions.shape[1]):
        distances = np.linalg.norm(known_positions - known_positions[:, [column]], axis=-1)
        count = np.isfinite(distances).sum(0)
        mean = np.where(count > 0, np.nansum(distances, axis=0) / np.maximum(count, 1), np.inf)
        mean[column] = np.inf
        order.append(np.argsort(mean)[: int(np.isfinite(mean).sum())])
    return order


def _noise(path: Floats, reliable: Bools) -> float:
    """Return the noise in m per axis of a path (F, 3), by the deviation of each position from its neighbours' mean."""
    is_known = reliable[:-2] & reliable[1:-1] & reliable[2:]
    bends = (path[1:-1] - (path[:-2] + path[2:]) / 2)[is_known]
    measured = MAD_TO_SIGMA * float(np.median(np.abs(bends))) / np.sqrt(1.5) if len(bends) else 0.0
    return max(1e-5, measured)
