"""Find a hand by its palm: fit three markers at constant distances to three palm spots, and locate the others."""

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from .. import rotations as rot
from ..joints import TIPS
from .hungarian import IMPOSSIBLE_COST, AssignmentCosts, assign_markers
from .shape_model import HandShape

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

MAX_TRIPLES = 240
"""Maximum number of triples of markers compared with a triple of spots, the most similar ones."""
PROPOSAL_FRAMES = 16
"""Number of frames in which triples are compared."""
MAX_PROPOSALS = 6
"""Maximum number of palms for which all markers are assigned."""
RIGID_SD_RANGE_M = (0.0006, 0.004)
"""m: bounds of the standard deviation of distances between markers on one bone, through noise and skin."""
PERSON_DISTANCE_SD = 0.12
"""Relative standard deviation of a person's distances about the mean hand's."""
MARKER_PLACEMENT_SD_M = 0.008
"""m, standard deviation of a marker's position about its spot."""
MEASURED_SD_FACTOR = 0.25
"""Factor on both standard deviations above if the performer was measured."""
COST_UNIT_M = 0.04
"""m, unit of the costs: a marker that may be anywhere within this distance carries no information."""
SKIN_SD_M = 0.003
"""m, standard deviation of a palm marker through skin movement."""
EMPTY_SPOT_COST = 2.5
"""Cost of a spot without a marker, relative to that of a marker that belongs to no hand."""
MIN_PROMISING_FRACTION = 0.6
"""A palm is tried only if its estimated cost, which is negative, is at least this fraction of the best palm's."""
SKIPPED_TIP_COST = 2.5
"""Cost of a fingertip with a marker if its neighbour, which is usually marked first, has none."""
MAX_NEARBY = 64
"""Maximum number of trajectories among which a hypothetical hand's markers are sought, those that fit best."""
MIN_SHARED_FRAMES = 3
"""Minimum number of frames in which two markers must be seen together to be compared."""


@dataclass(frozen=True, slots=True, eq=False)
class TrajectorySample:
    """Some trajectories in some frames, and the distances between them."""

    positions: Floats
    """(N, T, 3) m, NaN where not seen."""
    mean_distances: Floats
    """(T, T) m, mean distances; NaN for two trajectories that are not seen together."""
    distance_variances: Floats
    """(T, T) m², variances of the distances, without outliers."""
    rigid_sd: float
    """m, standard deviation of constant distances in this capture."""

    @classmethod
    def of(cls, positions: Floats) -> "TrajectorySample":
        """Compute the distances of positions (N, T, 3) m, NaN where not seen."""
        count = positions.shape[1]
        mean_distances, distance_variances = np.full((count, count), np.nan), np.full((count, count), np.nan)
        for index in range(count):
            distance = np.linalg.norm(positions - positions[:, index, None], axis=-1)
            is_finite = np.isfinite(distance)
            comparable = is_finite.sum(0) >= min(MIN_SHARED_FRAMES, len(positions))
            ordered = np.sort(distance[:, comparable], axis=0)
            counts = is_finite.sum(0)[comparable]
            # Without the largest and smallest tenth of each pair's distances, which may be swaps and spikes.
            row = np.arange(len(ordered))[:, None]
            cut = counts // 10
            is_inner = (row >= cut) & (row < counts - cut)
            total = np.maximum(is_inner.sum(0), 1)
            mean = np.where(is_inner, ordered, 0).sum(0) / total
            mean_distances[index, comparable] = mean
            distance_variances[index, comparable] = (np.where(is_inner, ordered - mean, 0) ** 2).sum(0) / total
        return cls(positions, mean_distances, distance_variances, _rigid_sd(mean_distances, distance_variances))

    def only(self, track_ids: Ints) -> "TrajectorySample":
        """Return the sample with some of the trajectories."""
        grid = np.ix_(track_ids, track_ids)
        return TrajectorySample(
            self.positions[:, track_ids], self.mean_distances[grid], self.distance_variances[grid], self.rigid_sd
        )


def _rigid_sd(mean_distances: Floats, distance_variances: Floats) -> float:
    """Return the typical standard deviation in m of the distance to the neighbour whose distance changes least."""
    is_near = (mean_distances < 0.15) & (mean_distances > 1e-9)
    least_variances = np.where(is_near, distance_variances, np.inf).min(axis=1, initial=np.inf)
    least_variances = least_variances[np.isfinite(least_variances)]
    if not len(least_variances):
        return RIGID_SD_RANGE_M[1]
    return float(np.clip(1.5 * np.sqrt(np.median(least_variances)), *RIGID_SD_RANGE_M))


@dataclass(frozen=True, slots=True, eq=False)
class ShapeFit:
    """A hand's shape fitted to a sample."""

    sample: TrajectorySample
    shape: HandShape
    cost: float
    labels: Ints
    """(C,) the trajectory at each spot, T for none."""
    costs: AssignmentCosts
    local_labels: Ints
    """(C,) `labels` as indices into `costs`, which only covers trajectories near the hand."""
    scale: float


@dataclass(frozen=True, slots=True, eq=False)
class PalmProposal:
    """A hypothetical palm: three trajectories on three spots of a shape."""

    sample: TrajectorySample
    shape: HandShape
    anchors: Ints
    triple: Ints
    estimated_cost: float
    """Estimate of the hand's cost times the fraction of its spots that have a marker."""


def propose_palms(sample: TrajectorySample, shape: HandShape) -> list[PalmProposal]:
    """Propose palms of a shape in a sample, the most likely first."""
    proposals: list[PalmProposal] = []
    sampled = sample.positions[:: max(1, len(sample.positions) // PROPOSAL_FRAMES)]
    for anchors in _palm_triples(shape):
        triples = _similar_triples(sample, shape, anchors)
        if not len(triples):
            continue
        means, covariances, _ = _statistics_in_palms(sampled, shape, anchors, triples, sample)
        single = np.minimum(_spot_costs(shape, means, covariances), 0.0)
        least_costs = single.min(axis=2)
        # A lower bound of the cost: every spot with its best marker, or every marker at its best spot.
        estimated_cost = np.maximum(least_costs.sum(1), single.min(axis=1).sum(1)) * (least_costs < 0).mean(1)
        best = np.argsort(estimated_cost, kind="stable")[:MAX_PROPOSALS]
        proposals += [PalmProposal(sample, shape, anchors, triples[h], float(estimated_cost[h])) for h in best]
    return sorted(proposals, key=lambda proposal: proposal.estimated_cost)


def fit_proposals(proposals: list[PalmProposal]) -> list[ShapeFit]:
    """Assign all markers for the most promising palms of one shape."""
    ordered = sorted(proposals, key=lambda proposal: proposal.estimated_cost)[:MAX_PROPOSALS]
    fits = []
    for proposal in ordered:
        if proposal.estimated_cost > MIN_PROMISING_FRACTION * ordered[0].estimated_cost:
            break
        sample, shape = proposal.sample, proposal.shape
        means, covariances, scale = _statistics_in_palms(
            sample.positions, shape, proposal.anchors, proposal.triple[None], sample
        )
        fits.append(_fit_proposal(sample, shape, means[0], covariances[0], float(scale[0])))
    return fits


def fit_shape(sample: TrajectorySample, shape: HandShape) -> ShapeFit | None:
    """Assign a sample's T trajectories to a shape's C spots at least cost; None if there is no rigid triple."""
    return min(fit_proposals(propose_palms(sample, shape)), key=lambda fit: fit.cost, default=None)


def _palm_triples(shape: HandShape) -> list[Ints]:
    """Return up to two triples of palm spots of large area; the second lacks the first spot of the first."""
    spots = np.flatnonzero(shape.palm)
    triples_found: list[Ints] = []
    while len(spots) >= 3 and len(triples_found) < 2:
        triples = [(a, b, c) for a in spots for b in spots if b > a for c in spots if c > b]
        areas = [
            np.linalg.norm(np.cross(shape.mean[b] - shape.mean[a], shape.mean[c] - shape.mean[a]))
            for a, b, c in triples
        ]
        if max(areas) < 3e-4:
            break
        triples_found.append(np.array(triples[int(np.argmax(areas))]))
        spots = spots[spots != triples_found[-1][0]]
    return triples_found


def _similar_triples(sample: TrajectorySample, shape: HandShape, anchors: Ints) -> Ints:
    """Return triples (H, 3) of trajectories whose distances are like those of three spots, the most similar first."""
    spot_distances = shape.mean_distances[np.ix_(anchors, anchors)]
    edges = ((0, 1), (0, 2), (1, 2))
    max_log_ratio = 0.3 if shape.is_measured else 0.6
    with np.errstate(invalid="ignore", divide="ignore"):
        log_ratio = [np.log(sample.mean_distances / spot_distances[a, b]) for a, b in edges]
        relative_sd = np.sqrt(sample.distance_variances) / (2 * sample.rigid_sd + 0.02 * sample.mean_distances)
        similar = [(np.abs(log_of_edge) < max_log_ratio) & (relative_sd < 2.5) for log_of_edge in log_ratio]
    i, j = np.nonzero(similar[0])
    row, k = np.nonzero(similar[1][i] & similar[2][j])
    i, j = i[row], j[row]
    log_ratios = np.stack([log_ratio[0][i, j], log_ratio[1][i, k], log_ratio[2][j, k]])
    log_size = log_ratios.mean(0)
    cost = ((log_ratios - log_size) ** 2).sum(0) / PERSON_DISTANCE_SD**2 + (log_size / 0.25) ** 2
    cost += (relative_sd[i, j] ** 2 + relative_sd[i, k] ** 2 + relative_sd[j, k] ** 2) / 3
    order = np.argsort(cost, kind="stable")[:MAX_TRIPLES]
    return np.stack([i, j, k], axis=1)[order]


def _statistics_in_palms(
    positions: Floats, shape: HandShape, anchors: Ints, triples: Ints, sample: TrajectorySample
) -> tuple[Floats, Floats, Floats]:
    """Fit palms to triples of trajectories, and describe all trajectories in the palms' frames.

    Returns:
        Mean (H, T, 3) and covariance (H, T, 3, 3) of the trajectories in the shape's unit, NaN where a trajectory is
        not seen with the palm; and the palms' scales (H,).
    """
    corners = positions[:, triples]
    visible = np.all(np.isfinite(corners), axis=(2, 3))
    edges = np.array([[0, 1], [0, 2], [1, 2]])
    shape_perimeter = shape.mean_distances[anchors[edges[:, 0]], anchors[edges[:, 1]]].sum()
    scale = sample.mean_distances[triples[:, edges[:, 0]], triples[:, edges[:, 1]]].sum(1) / shape_perimeter
    source = shape.mean[anchors] * scale[None, :, None, None]
    target = np.where(visible[..., None, None], corners, 0.0)
    weights = np.repeat(visible[..., None], 3, -1).astype(float)
    transforms = rot.fit_rigid(np.broadcast_to(source, target.shape), target, weights)
    return *_statistics_in_frames(positions, transforms, visible, scale), scale


def _statistics_in_frames(
    positions: Floats, transforms: Floats, visible: Bools, scale: Floats
) -> tuple[Floats, Floats]:
    """Return the mean (H, T, 3) and covariance (H, T, 3, 3) of trajectories in the frames (N, H, 4, 4) of palms.

    Both are in the shape's unit, and NaN where a trajectory is not seen with the palm.
    """
    rotations, origins = transforms[..., :3, :3], transforms[..., :3, 3]
    local = (positions[:, None] - origins[:, :, None]) @ rotations / scale[:, None, None]
    is_known = np.all(np.isfinite(local), axis=-1) & visible[:, :, None]
    counts = is_known.sum(0)
    local = np.where(is_known[..., None], local, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = local.sum(0) / counts[..., None]
        deviation = np.moveaxis(np.where(is_known[..., None], local - mean, 0.0), -1, 0)
        covariance = np.empty((*counts.shape, 3, 3))
        for i in range(3):
            for j in range(i, 3):
                covariance[..., i, j] = covariance[..., j, i] = (deviation[i] * deviation[j]).sum(0) / counts
    return mean, covariance


@dataclass(frozen=True, slots=True, eq=False)
class SpotDistributions:
    """Distributions of the mean and covariance of a trajectory at each of a shape's C spots."""

    whitening: Floats
    """(C, 3, 3) matrices W for which |(a − b) · W|² is the squared Mahalanobis distance of two means."""
    inverse_motion: Floats
    """(C, 3, 3) 1/m², inverse covariance of the spot's motion."""
    log_determinants: Floats
    """(C,) of both covariances, in `COST_UNIT_M`."""


@lru_cache(maxsize=32)
def spot_distributions(shape: HandShape) -> SpotDistributions:
    """Return the distributions at a shape's spots: of means, between people, and of positions, by motion."""
    person_variance = (MARKER_PLACEMENT_SD_M * (MEASURED_SD_FACTOR if shape.is_measured else 1.0)) ** 2
    eye = np.eye(3)
    of_mean = shape.covariances * 0.5 + person_variance * 2 * eye
    of_motion: Floats = shape.covariances + SKIN_SD_M**2 * eye
    _, log_determinants = np.linalg.slogdet(np.stack([of_mean, of_motion]) / COST_UNIT_M**2)
    return SpotDistributions(
        np.linalg.cholesky(np.linalg.inv(of_mean)), np.asarray(np.linalg.inv(of_motion)), log_determinants.sum(0)
    )


def _spot_costs(shape: HandShape, means: Floats, covariances: Floats) -> Floats:
    """Return the cost (H, C, T) of trajectories with these means and covariances at each spot; below zero if they fit.

    The cost is half the negative log likelihood of the mean given the variation between people, and of the covariance
    given the spot's motion.
    """
    spots = spot_distributions(shape)
    whitened = means[:, None] @ spots.whitening - shape.mean[:, None] @ spots.whitening
    cost = (whitened**2).sum(-1)
    # The trace of a product of symmetric matrices: one matrix product for all of them.
    traces = covariances.reshape(*covariances.shape[:2], 9) @ spots.inverse_motion.reshape(-1, 9).T
    cost += np.moveaxis(traces, 2, 1)
    cost = (cost + spots.log_determinants[:, None]) / 2 / 3 - EMPTY_SPOT_COST
    single: Floats = np.where(np.isfinite(cost), cost, IMPOSSIBLE_COST)
    return single


def pair_costs(shape: HandShape, sample: TrajectorySample, scale: float) -> Floats:
    """Return the weighted cost (C, C, T + 1, T + 1) of the distance between two trajectories at two spots; zero if one
    of them is 'none'."""
    person_variance = (
        PERSON_DISTANCE_SD * shape.mean_distances * (MEASURED_SD_FACTOR if shape.is_measured else 1.0) + SKIN_SD_M
    ) ** 2
    noise_variance = (sample.rigid_sd + 0.01 * shape.mean_distances) ** 2
    mean_variance = shape.distance_variances + person_variance
    motion_variance = shape.distance_variances + noise_variance
    count, trajectories = len(shape.spots), len(sample.mean_distances)
    log_variances = np.log(mean_variance / COST_UNIT_M**2) + np.log(motion_variance / COST_UNIT_M**2)
    distances, variances = sample.mean_distances / scale, sample.distance_variances / scale**2
    result = np.zeros((count, count, trajectories + 1, trajectories + 1))
    for spot in range(count):  # The array of all spots at once would not fit into the cache.
        cost = (distances - shape.mean_distances[spot, :, None, None]) ** 2 / mean_variance[spot, :, None, None]
        cost += variances / motion_variance[spot, :, None, None] + log_variances[spot, :, None, None]
        cost = np.where(np.isfinite(cost), np.minimum(cost / 2, 50.0), 0.0)
        result[spot, :, :trajectories, :trajectories] = cost * shape.pair_weights[spot, :, None, None]
    spots, track_ids = np.arange(count), np.arange(trajectories)
    result[:, :, track_ids, track_ids] = 0.0
    result[spots, spots] = 0.0
    for skipped, marked in _tip_order(shape):
        result[skipped, marked, -1, :-1] = result[marked, skipped, :-1, -1] = SKIPPED_TIP_COST
    return result


def _tip_order(shape: HandShape) -> list[tuple[int, int]]:
    """Return pairs (inner, outer) of fingertip spots: in a set of only tips, the outer one lacks a marker first.

    The ring finger's marker is omitted before the middle finger's, and the middle finger's before the index finger's.
    """
    only_tips = all(is_palm or spot.joint in TIPS for spot, is_palm in zip(shape.spots, shape.palm, strict=True))
    if shape.is_measured or not only_tips:
        return []
    spot_at = {spot.joint: index for index, spot in enumerate(shape.spots)}
    return [
        (spot_at[inner], spot_at[outer])
        for inner, outer in pairwise(TIPS[1:4])
        if inner in spot_at and outer in spot_at
    ]


def _fit_proposal(
    sample: TrajectorySample, shape: HandShape, means: Floats, covariances: Floats, scale: float
) -> ShapeFit:
    """Assign the markers, fit the hand to all of them, and repeat until nothing changes."""
    least_costs = _spot_costs(shape, means[None], covariances[None])[0].min(0)
    nearby = np.argsort(least_costs, kind="stable")[:MAX_NEARBY]
    nearby = np.sort(nearby[least_costs[nearby] < 30.0])
    nearby_sample = sample.only(nearby)
    means, covariances = means[nearby], covariances[nearby]
    best: tuple[float, Ints, AssignmentCosts, float] | None = None
    for _ in range(4):
        single = _spot_costs(shape, means[None], covariances[None])[0]
        costs = AssignmentCosts(np.c_[single, np.zeros(len(single))], pair_costs(shape, nearby_sample, scale))
        labels = assign_markers(costs)
        cost = costs.total(labels)
        if best is not None and cost >= best[0] - 1e-6:
            break
        best = (cost, labels, costs, scale)
        means, covariances, scale = _realign(shape, labels, means, covariances, scale)
    assert best is not None
    cost, labels, costs, scale = best
    return ShapeFit(sample, shape, cost, np.append(nearby, len(sample.mean_distances))[labels], costs, labels, scale)


def _realign(
    shape: HandShape, labels: Ints, means: Floats, covariances: Floats, scale: float
) -> tuple[Floats, Floats, float]:
    """Apply the similarity transform that brings the assigned markers nearest to their spots.

    Returns:
        The transformed means and covariances, and the new scale.
    """
    spots = np.flatnonzero(labels < len(means))
    if len(spots) < 3:
        return means, covariances, scale
    source, target = means[labels[spots]], shape.mean[spots]
    weights = 1 / (np.trace(shape.covariances[spots], axis1=1, axis2=2) + 3 * MARKER_PLACEMENT_SD_M**2)
    transform = rot.fit_rigid(source, target, weights)
    normalised = weights / weights.sum()
    source_centred, target_centred = source - normalised @ source, target - normalised @ target
    size_ratio = float(
        np.sqrt((normalised @ (target_centred**2).sum(1)) / max(normalised @ (source_centred**2).sum(1), 1e-12))
    )
    size_ratio = 1.0 if shape.is_measured else float(np.clip(size_ratio, 0.8, 1.25))
    rotation = transform[:3, :3]
    realigned = size_ratio * (means - normalised @ source) @ rotation.T + normalised @ target
    return realigned, size_ratio**2 * rotation @ covariances @ rotation.T, scale / size_ratio
