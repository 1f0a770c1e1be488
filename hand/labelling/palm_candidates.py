"""Find a palm first: three markers at constant distances are fitted to three spots of a palm and locate the rest."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from .. import rotations as rot
from ..joints import TIPS
from .hungarian import IMPOSSIBLE, Costs, assigned
from .shape_model import HandShape

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

MOST_TRIPLES = 240
"""Triples of markers per triple of spots, the most similar ones."""
QUICK = 16
"""Frames in which these are compared."""
MOST_TRIED = 6
"""Palms for which all markers are assigned."""
RIGID = (0.0006, 0.004)
"""m: bounds of the standard deviation of distances between markers on one bone, through noise and skin."""
OWN = 0.12
"""Relative standard deviation of a person's distances about the mean hand's."""
ASIDE = 0.008
"""m, standard deviation of a marker's position about its spot."""
EXACT = 0.25
"""Factor on both if the performer was measured."""
UNIT = 0.04
"""m, unit of the costs: a marker that may be anywhere within this distance says nothing."""
STRAY = 0.003
"""m, standard deviation of a palm marker through skin movement."""
TOLD = 2.5
"""Cost of a spot without a marker, relative to that of a marker of no hand."""
PROMISING = 0.6
"""Palms whose estimate is below this fraction of the best one's are not tried."""
UNUSUAL = 2.5
"""Cost of a fingertip with a marker beside one that usually has a marker first but has none."""
LEAST_SEEN = 3
"""Frames in which two markers must be seen together to be compared."""


@dataclass(frozen=True, slots=True, eq=False)
class TrajectorySample:
    """Some trajectories in some frames, and the distances between them."""

    positions: Floats
    """(N, T, 3) m, NaN where not seen."""
    apart: Floats
    """(T, T) m, mean distances; NaN where two are not seen together."""
    sway: Floats
    """(T, T) m², variances of the distances, without outliers."""
    rigid: float
    """m, standard deviation of constant distances in this capture."""

    @classmethod
    def of(cls, positions: Floats) -> "TrajectorySample":
        """Compute the distances of positions (N, T, 3) m, NaN where not seen."""
        count = positions.shape[1]
        apart, sway = np.full((count, count), np.nan), np.full((count, count), np.nan)
        for index in range(count):
            distance = np.linalg.norm(positions - positions[:, index, None], axis=-1)
            known = np.isfinite(distance)
            enough = known.sum(0) >= min(LEAST_SEEN, len(positions))
            ordered = np.sort(distance[:, enough], axis=0)
            many = known.sum(0)[enough]
            # Leave out a tenth of each pair's distances at both ends: swaps and spikes.
            row = np.arange(len(ordered))[:, None]
            cut = many // 10
            kept = (row >= cut) & (row < many - cut)
            total = np.maximum(kept.sum(0), 1)
            mean = np.where(kept, ordered, 0).sum(0) / total
            apart[index, enough] = mean
            sway[index, enough] = (np.where(kept, ordered - mean, 0) ** 2).sum(0) / total
        return cls(positions, apart, sway, _least_stray(apart, sway))

    def only(self, which: Ints) -> "TrajectorySample":
        """Return the same for some of the trajectories."""
        grid = np.ix_(which, which)
        return TrajectorySample(self.positions[:, which], self.apart[grid], self.sway[grid], self.rigid)


def _least_stray(apart: Floats, sway: Floats) -> float:
    """m: the median over trajectories of the distance's standard deviation to the steadiest neighbour."""
    near = np.where((apart < 0.15) & (apart > 1e-9), sway, np.inf).min(axis=1, initial=np.inf)
    near = near[np.isfinite(near)]
    return float(np.clip(1.5 * np.sqrt(np.median(near)), *RIGID)) if len(near) else RIGID[1]


@dataclass(frozen=True, slots=True, eq=False)
class ShapeFit:
    """A hand's shape fitted to a sample."""

    sample: TrajectorySample
    shape: HandShape
    cost: float
    labels: Ints
    """(C,) the trajectory at each spot, T for none."""
    costs: Costs
    local: Ints
    """(C,) the same as indices of `costs`, which only has the trajectories near the hand."""
    scale: float


@dataclass(frozen=True, slots=True, eq=False)
class PalmProposal:
    """A hypothetical palm: three trajectories on three spots of a shape."""

    sample: TrajectorySample
    shape: HandShape
    anchors: Ints
    triple: Ints
    promise: float
    """Estimate of the hand's cost, times the share of its spots that will have a marker."""


def propose(sample: TrajectorySample, shape: HandShape) -> list[PalmProposal]:
    """Propose palms of a shape in a sample, the most likely first."""
    found: list[PalmProposal] = []
    few = sample.positions[:: max(1, len(sample.positions) // QUICK)]
    for anchors in _anchors(shape):
        triples = _triples(sample, shape, anchors)
        if not len(triples):
            continue
        means, spreads, _ = _in_palms(few, shape, anchors, triples, sample)
        single = np.minimum(_single(shape, means, spreads), 0.0)
        least = single.min(axis=2)
        # The fit is no better than every spot with its best marker, nor than every marker at its best spot.
        promise = np.maximum(least.sum(1), single.min(axis=1).sum(1)) * (least < 0).mean(1)
        best = np.argsort(promise, kind="stable")[:MOST_TRIED]
        found += [PalmProposal(sample, shape, anchors, triples[h], float(promise[h])) for h in best]
    return sorted(found, key=lambda each: each.promise)


def settled(proposals: list[PalmProposal]) -> list[ShapeFit]:
    """Assign all markers for the most promising palms of one shape."""
    ordered = sorted(proposals, key=lambda each: each.promise)[:MOST_TRIED]
    laid = []
    for each in ordered:
        if each.promise > PROMISING * ordered[0].promise:
            break
        sample, shape = each.sample, each.shape
        means, spreads, scale = _in_palms(sample.positions, shape, each.anchors, each.triple[None], sample)
        laid.append(_settled(sample, shape, means[0], spreads[0], float(scale[0])))
    return laid


def lay(sample: TrajectorySample, shape: HandShape) -> ShapeFit | None:
    """Assign a sample's T trajectories to a shape's C spots at least cost; None if there is no rigid triple."""
    return min(settled(propose(sample, shape)), key=lambda laid: laid.cost, default=None)


def _anchors(shape: HandShape) -> list[Ints]:
    """Triples of palm spots that span the largest area, each without the first spot of those before it."""
    spots = np.flatnonzero(shape.palm)
    found: list[Ints] = []
    while len(spots) >= 3 and len(found) < 2:
        threes = [(a, b, c) for a in spots for b in spots if b > a for c in spots if c > b]
        areas = [
            np.linalg.norm(np.cross(shape.mean[b] - shape.mean[a], shape.mean[c] - shape.mean[a])) for a, b, c in threes
        ]
        if max(areas) < 3e-4:
            break
        found.append(np.array(threes[int(np.argmax(areas))]))
        spots = spots[spots != found[-1][0]]
    return found


def _triples(sample: TrajectorySample, shape: HandShape, anchors: Ints) -> Ints:
    """Triples (H, 3) of trajectories with distances like those of three spots, the most similar first."""
    wanted = shape.apart[np.ix_(anchors, anchors)]
    edges = ((0, 1), (0, 2), (1, 2))
    wide = 0.3 if shape.exact else 0.6
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = [np.log(sample.apart / wanted[a, b]) for a, b in edges]
        stray = np.sqrt(sample.sway) / (2 * sample.rigid + 0.02 * sample.apart)
        near = [(np.abs(each) < wide) & (stray < 2.5) for each in ratio]
    i, j = np.nonzero(near[0])
    row, k = np.nonzero(near[1][i] & near[2][j])
    i, j = i[row], j[row]
    logs = np.stack([ratio[0][i, j], ratio[1][i, k], ratio[2][j, k]])
    size = logs.mean(0)
    cost = ((logs - size) ** 2).sum(0) / OWN**2 + (size / 0.25) ** 2
    cost += (stray[i, j] ** 2 + stray[i, k] ** 2 + stray[j, k] ** 2) / 3
    order = np.argsort(cost, kind="stable")[:MOST_TRIPLES]
    return np.stack([i, j, k], axis=1)[order]


def _in_palms(
    positions: Floats, shape: HandShape, anchors: Ints, triples: Ints, sample: TrajectorySample
) -> tuple[Floats, Floats, Floats]:
    """Fit palms to triples of trajectories, and describe all trajectories in the palms' frames.

    Returns:
        Mean (H, T, 3) and covariance (H, T, 3, 3) of the trajectories in the shape's unit, NaN where a trajectory is
        not seen with the palm; and the palms' scales (H,).
    """
    corner = positions[:, triples]
    seen = np.all(np.isfinite(corner), axis=(2, 3))
    edges = np.array([[0, 1], [0, 2], [1, 2]])
    wanted = shape.apart[anchors[edges[:, 0]], anchors[edges[:, 1]]].sum()
    scale = sample.apart[triples[:, edges[:, 0]], triples[:, edges[:, 1]]].sum(1) / wanted
    source = shape.mean[anchors] * scale[None, :, None, None]
    target = np.where(seen[..., None, None], corner, 0.0)
    weights = np.repeat(seen[..., None], 3, -1).astype(float)
    moves = rot.fit_rigid(np.broadcast_to(source, target.shape), target, weights)
    return *_in_frames(positions, moves, seen, scale), scale


def _in_frames(positions: Floats, moves: Floats, seen: Bools, scale: Floats) -> tuple[Floats, Floats]:
    """Mean (H, T, 3) and covariance (H, T, 3, 3) of trajectories in palms' frames (N, H, 4, 4), in the shape's unit.

    NaN where a trajectory is not seen with the palm.
    """
    turns, places = moves[..., :3, :3], moves[..., :3, 3]
    local = (positions[:, None] - places[:, :, None]) @ turns / scale[:, None, None]
    known = np.all(np.isfinite(local), axis=-1) & seen[:, :, None]
    many = known.sum(0)
    local = np.where(known[..., None], local, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = local.sum(0) / many[..., None]
        away = np.moveaxis(np.where(known[..., None], local - mean, 0.0), -1, 0)
        spread = np.empty((*many.shape, 3, 3))
        for i in range(3):
            for j in range(i, 3):
                spread[..., i, j] = spread[..., j, i] = (away[i] * away[j]).sum(0) / many
    return mean, spread


def _single(shape: HandShape, means: Floats, spreads: Floats) -> Floats:
    """Cost (H, C, T) of trajectories with this mean and covariance at each spot, below zero where they fit well.

    Half the negative log likelihoods of the mean under the variation between people, and of the covariance under the
    spot's motion.
    """
    person = (ASIDE * (EXACT if shape.exact else 1.0)) ** 2
    eye = np.eye(3)
    where, moves = shape.spread * 0.5 + person * 2 * eye, shape.spread + STRAY**2 * eye
    inverse, about = np.linalg.inv(where), np.linalg.inv(moves)
    base = np.linalg.slogdet(where / UNIT**2)[1] + np.linalg.slogdet(moves / UNIT**2)[1]
    off = means[:, None] - shape.mean[:, None]
    cost = np.einsum("hcti,cij,hctj->hct", off, inverse, off, optimize=True)
    cost += np.einsum("cij,htji->hct", about, spreads)
    cost = (cost + base[:, None]) / 2 / 3 - TOLD
    single: Floats = np.where(np.isfinite(cost), cost, IMPOSSIBLE)
    return single


def pair_costs(shape: HandShape, sample: TrajectorySample, scale: float) -> Floats:
    """Weighted cost (C, C, T + 1, T + 1) of two trajectories' distance at two spots; zero with 'none'."""
    person = (OWN * shape.apart * (EXACT if shape.exact else 1.0) + STRAY) ** 2
    stray = (sample.rigid + 0.01 * shape.apart) ** 2
    mean, moves = shape.sway + person, shape.sway + stray
    count, trajectories = len(shape.spots), len(sample.apart)
    base = np.log(mean / UNIT**2) + np.log(moves / UNIT**2)
    apart, sway = sample.apart / scale, sample.sway / scale**2
    cost = (apart - shape.apart[..., None, None]) ** 2 / mean[..., None, None]
    cost += sway / moves[..., None, None] + base[..., None, None]
    cost = np.where(np.isfinite(cost), np.minimum(cost / 2, 50.0), 0.0) * shape.weight[..., None, None]
    result = np.zeros((count, count, trajectories + 1, trajectories + 1))
    result[..., :trajectories, :trajectories] = cost
    spots, each = np.arange(count), np.arange(trajectories)
    result[:, :, each, each] = 0.0
    result[spots, spots] = 0.0
    for inner, outer in _in_turn(shape):
        result[inner, outer, -1, :-1] = result[outer, inner, :-1, -1] = UNUSUAL
    return result


def _in_turn(shape: HandShape) -> list[tuple[int, int]]:
    """Pairs of fingertip spots, the second of which has no marker if the first has none, in sets with only tips.

    The ring finger's marker is omitted before the middle finger's, and that before the index finger's.
    """
    only_tips = all(inside or spot.joint in TIPS for spot, inside in zip(shape.spots, shape.palm, strict=True))
    if shape.exact or not only_tips:
        return []
    at = {spot.joint: index for index, spot in enumerate(shape.spots)}
    return [(at[inner], at[outer]) for inner, outer in pairwise(TIPS[1:4]) if inner in at and outer in at]


def _settled(sample: TrajectorySample, shape: HandShape, mean: Floats, spread: Floats, scale: float) -> ShapeFit:
    """Assign the markers, fit the hand to all of them, and repeat until nothing changes."""
    near = np.flatnonzero(_single(shape, mean[None], spread[None])[0].min(0) < 30.0)
    few = sample.only(near)
    mean, spread = mean[near], spread[near]
    best: tuple[float, Ints, Costs, float] | None = None
    for _ in range(4):
        single = _single(shape, mean[None], spread[None])[0]
        costs = Costs(np.c_[single, np.zeros(len(single))], pair_costs(shape, few, scale))
        labels = assigned(costs)
        cost = costs.of(labels)
        if best is not None and cost >= best[0] - 1e-6:
            break
        best = (cost, labels, costs, scale)
        mean, spread, scale = _relaid(shape, labels, mean, spread, scale)
    assert best is not None
    cost, labels, costs, scale = best
    return ShapeFit(sample, shape, cost, np.append(near, len(sample.apart))[labels], costs, labels, scale)


def _relaid(shape: HandShape, labels: Ints, mean: Floats, spread: Floats, scale: float) -> tuple[Floats, Floats, float]:
    """Means and covariances after the similarity transform that brings the assigned markers nearest to their spots."""
    spots = np.flatnonzero(labels < len(mean))
    if len(spots) < 3:
        return mean, spread, scale
    source, target = mean[labels[spots]], shape.mean[spots]
    weights = 1 / (np.trace(shape.spread[spots], axis1=1, axis2=2) + 3 * ASIDE**2)
    move = rot.fit_rigid(source, target, weights)
    share = weights / weights.sum()
    a, b = source - share @ source, target - share @ target
    grow = float(np.sqrt((share @ (b**2).sum(1)) / max(share @ (a**2).sum(1), 1e-12)))
    grow = 1.0 if shape.exact else float(np.clip(grow, 0.8, 1.25))
    turn = move[:3, :3]
    turned = grow * (mean - share @ source) @ turn.T + share @ target
    return turned, grow**2 * turn @ spread @ turn.T, scale / grow
