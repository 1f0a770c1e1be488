"""Statistics of marker positions on a hand over its poses: in the palm's frame, and mutual distances."""

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from .. import kinematics
from .. import rotations as rot
from ..joints import CHAIN_JOINTS, DIGITS, JOINTS, TIPS, Side, digit_of
from ..marker_sets import MarkerSet, Spot, marker_set_named, on_palm
from ..mirror import POINT_SIGNS, other_side
from ..model import HandModel
from ..proportions import adult, build
from ..targets import assign

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

SAMPLED_POSES = 300
"""Number of poses from which statistics are computed."""


@dataclass(frozen=True, slots=True)
class MarkerLayout:
    """A set of markers known by their positions, without labels in the capture."""

    name: str
    """Display name."""
    spots: dict[str, Spot]
    """Label to give to a marker -> where it sits."""


def _joints(*joints: str) -> dict[str, Spot]:
    return {joint: Spot(joint) for joint in joints}


def _labels_with_affix(marker_set: MarkerSet, *affixes: str) -> dict[str, Spot]:
    """Return the labels of a set that begin or end with one of the affixes, with their spots."""
    return {
        label: spot for label, spot in marker_set.labels.items() if label.startswith(affixes) or label.endswith(affixes)
    }


ABOVE_BONE_M, ABOVE_NAIL_M = 0.0115, 0.007
"""m, height of a marker on the skin above a bone's axis, and above a fingertip."""
ALONG_BONE = 0.65
"""Fraction of the bone's length at which a marker on the skin sits, from the named joint."""


def _on_bones(marker_set: MarkerSet) -> dict[str, Spot]:
    """Return the labels of a set on the skin, with each marker on the bone that starts at the joint its label names."""
    lengths = adult("right").phalanges
    spots: dict[str, Spot] = {}
    for label, spot in marker_set.labels.items():
        digit = digit_of(spot.joint)
        if digit is None:
            spots[label] = spot
        elif spot.joint in TIPS:
            spots[label] = Spot(spot.joint, (0.0, 0.0, ABOVE_NAIL_M))
        else:
            length = float(lengths[DIGITS.index(digit), CHAIN_JOINTS[digit].index(spot.joint)])
            spots[label] = Spot(spot.joint, (0.0, ALONG_BONE * length, ABOVE_BONE_M))
    return spots


_CHAINS = tuple(joint for digit in DIGITS for joint in CHAIN_JOINTS[digit])
_KNUCKLES_AND_WRIST = (CHAIN_JOINTS[DIGITS[1]][0], CHAIN_JOINTS[DIGITS[4]][0], "wrist")

_TIP_AND_MIDDLE = marker_set_named("tip and middle")
_NINE = marker_set_named("wrist, knuckles and tips")
_ON_SKIN = marker_set_named("19 markers on the skin (Han et al. 2018)")

LAYOUTS: tuple[MarkerLayout, ...] = (
    MarkerLayout("20 joints and wrist", _joints("wrist", *_CHAINS)),
    MarkerLayout("25 joints", _joints(*JOINTS)),
    MarkerLayout(
        "three on the back of the hand, five fingertips and five finger middles",
        _TIP_AND_MIDDLE.labels,
    ),
    MarkerLayout("wrist, two knuckles and five fingertips", _joints(*_KNUCKLES_AND_WRIST, *TIPS)),
    MarkerLayout(
        "three on the back of the hand and five fingertips", _labels_with_affix(_TIP_AND_MIDDLE, "hand", "tip")
    ),
    MarkerLayout("two on the wrist, two knuckles and five fingertips", _NINE.labels),
)
"""Layouts with a palm and fingers. They are also found if tips, or the wrist of the 20 joints, have no marker."""
SKIN_LAYOUTS: tuple[MarkerLayout, ...] = (MarkerLayout("19 on the skin", _on_bones(_ON_SKIN)),)
"""Layouts of markers between the joints, for which the articulated hand is needed."""
PALM_ONLY = MarkerLayout("wrist and two knuckles", _joints(*_KNUCKLES_AND_WRIST))


@dataclass(frozen=True, slots=True, eq=False)
class HandShape:
    """Statistics of a hand's C markers over its poses, in the wrist's frame, in m."""

    side: Side
    spots: tuple[Spot, ...]
    mean: Floats
    """(C, 3) m, mean positions."""
    covariances: Floats
    """(C, 3, 3) m², covariances of the positions."""
    mean_distances: Floats
    """(C, C) m, mean distances between two markers."""
    distance_variances: Floats
    """(C, C) m², variances of these distances."""
    palm: Bools
    """(C,) whether each marker is on the palm."""
    pair_weights: Floats
    """(C, C) weight of each pair's distance: highest for neighbours on a digit and on the palm."""
    is_measured: bool
    """Whether the hand is a performer's measured hand, not the mean hand."""


def shape_of(model: HandModel, spots: tuple[Spot, ...], is_measured: bool = False) -> HandShape:
    """Compute a hand's shape over poses in which each digit is separately between open and closed."""
    positions = _sampled_positions(model, spots)
    mean = positions.mean(0)
    deviation = positions - mean
    distances = np.linalg.norm(positions[:, :, None] - positions[:, None], axis=-1)
    palm = np.array([on_palm(spot) for spot in spots])
    return HandShape(
        model.side,
        spots,
        mean,
        np.einsum("nci,ncj->cij", deviation, deviation) / len(positions),
        distances.mean(0),
        distances.var(0),
        palm,
        _pair_weights(spots, palm),
        is_measured,
    )


def mirror_shape(shape: HandShape) -> HandShape:
    """Return the shape of the other side's hand."""
    return replace(
        shape,
        side=other_side(shape.side),
        mean=shape.mean * POINT_SIGNS,
        covariances=shape.covariances * np.outer(POINT_SIGNS, POINT_SIGNS),
    )


UNSEEN_VARIANCE_FRACTION = 0.3
"""Fraction of the variance over all poses that is added to the observed variance, for poses in other frames."""


def update_shape(shape: HandShape, spots: Ints, positions: Floats) -> HandShape:
    """Update a shape with observed markers at some spots (S,).

    Args:
        shape: the shape.
        spots: (S,) indices of the spots.
        positions: (F, S, 3) m, NaN where not seen.
    """
    visible = np.all(np.isfinite(positions), axis=-1)
    palm_visible = visible & shape.palm[spots]
    rows = palm_visible.sum(1) >= 3
    if not rows.any():
        return shape
    positions = np.where(visible[..., None], positions, 0.0)[rows]
    visible, palm_weights = visible[rows], palm_visible[rows].astype(float)
    mean = shape.mean.copy()
    for _ in range(2):
        transforms = rot.fit_rigid(np.broadcast_to(mean[spots], positions.shape), positions, palm_weights)
        local = np.einsum("nji,nsj->nsi", transforms[:, :3, :3], positions - transforms[:, None, :3, 3])
        counts = np.maximum(visible.sum(0), 1)[:, None]
        mean[spots] = np.where(
            visible.any(0)[:, None], np.where(visible[..., None], local, 0).sum(0) / counts, mean[spots]
        )
    deviation = np.where(visible[..., None], local - mean[spots], 0)
    covariances, mean_distances = UNSEEN_VARIANCE_FRACTION * shape.covariances, shape.mean_distances.copy()
    distance_variances = UNSEEN_VARIANCE_FRACTION * shape.distance_variances
    covariances[spots] += np.einsum("nsi,nsj->sij", deviation, deviation) / counts[..., None]
    distances = np.linalg.norm(positions[:, :, None] - positions[:, None], axis=-1)
    both_visible = visible[:, :, None] & visible[:, None]
    pairs = np.maximum(both_visible.sum(0), 1)
    observed_mean = np.where(both_visible, distances, 0).sum(0) / pairs
    grid = np.ix_(spots, spots)
    mean_distances[grid] = np.where(both_visible.any(0), observed_mean, mean_distances[grid])
    distance_variances[grid] += (np.where(both_visible, distances - observed_mean, 0) ** 2).sum(0) / pairs
    return replace(
        shape,
        mean=mean,
        covariances=covariances,
        mean_distances=mean_distances,
        distance_variances=distance_variances,
        is_measured=True,
    )


@lru_cache(maxsize=32)
def mean_shape(side: Side, spots: tuple[Spot, ...]) -> HandShape:
    """Return the shape of a mean adult's hand."""
    return shape_of(build(adult(side)), spots)


def mutual_distances(positions: Floats) -> Floats:
    """Return mutual distances (N, P) m of markers (N, C, 3)."""
    first, second = np.triu_indices(positions.shape[1], 1)
    distances: Floats = np.linalg.norm(positions[:, first] - positions[:, second], axis=-1)
    return distances


def distance_statistics(spots: tuple[Spot, ...]) -> tuple[Floats, Floats]:
    """Return the mean (P,) m and covariance (P, P) m² of the distances between spots of a mean adult's hand, over its
    poses."""
    distances = mutual_distances(_sampled_positions(build(adult("right")), spots))
    deviation = distances - distances.mean(axis=0)
    mean: Floats = distances.mean(axis=0)
    covariance: Floats = deviation.T @ deviation / len(distances)
    return mean, covariance


def _sampled_positions(model: HandModel, spots: tuple[Spot, ...]) -> Floats:
    """Return the positions (N, C, 3) m of spots in N = SAMPLED_POSES random poses, always the same ones."""
    rng = np.random.default_rng(0)
    labels = {str(index): spot for index, spot in enumerate(spots)}
    hand, targets = assign(model, labels, np.zeros(1), np.zeros((1, len(spots), 3)))
    low, high = hand.limits.T
    # Hands are more often half open than closed, and seldom at their limits.
    fraction = rng.beta(1.2, 2.2, (SAMPLED_POSES, hand.dofs))
    curl = rng.beta(1.2, 2.0, (SAMPLED_POSES, len(DIGITS)))
    is_flexion = np.array([movement == "flexion" for movement in hand.movements])
    digit_index = np.array([DIGITS.index(digit_of(hand.joints[joint]) or DIGITS[0]) for joint in hand.axis_joint])
    closing = 0.6 * curl[:, digit_index] + 0.4 * fraction
    straight = np.clip(0.0, low, high)
    angles = np.where(
        is_flexion, straight + closing * (high - straight), hand.neutral + 0.5 * (fraction - 0.35) * (high - low)
    )
    pose = kinematics.Pose(hand, np.tile(np.eye(4), (SAMPLED_POSES, 1, 1)), np.clip(angles, low, high))
    positions: Floats = kinematics.site_positions(hand, kinematics.joint_frames(hand, pose), targets.sites)
    return positions


def _pair_weights(spots: tuple[Spot, ...], palm: Bools) -> Floats:
    count = len(spots)
    weight = np.full((count, count), 1.0 / max(count - 1, 1))
    weight[np.ix_(palm, palm)] = 1.0 / max(int(palm.sum()) - 1, 1)
    for digit in DIGITS:
        digit_spots = [i for i, spot in enumerate(spots) if spot.joint in CHAIN_JOINTS[digit]]
        digit_spots.sort(key=lambda i: (CHAIN_JOINTS[digit].index(spots[i].joint), spots[i].offset[1]))
        for a, b in pairwise(digit_spots):
            weight[a, b] = weight[b, a] = 1.0
    np.fill_diagonal(weight, 0.0)
    return weight
