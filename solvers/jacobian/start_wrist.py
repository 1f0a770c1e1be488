"""The wrist's start pose: fitted to the palm's targets, else to all targets."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...hand import jacobians
from ...hand import rotations as rot
from ...hand.model import HandModel
from ...hand.targets import Targets
from ..planar.palm_pose import spans_a_plane
from ..wrist_alignment import fit_wrist, palm_targets

Floats = NDArray[np.float64]


def start_roots(hand: HandModel, targets: Targets, last: Floats, rotation_weight: float) -> Floats:
    """Return T_world_wrist (F, 4, 4) from the palm's targets; `last`: (4, 4), that of the previous frame.

    Three position targets on the palm that are not in a line determine its rotation. If there are fewer, the palm's
    rotation targets are also used, with `rotation_weight` m per radian.
    """
    palm = palm_targets(hand, targets.sites.tolist())
    markers = palm.markers
    # A lone frame is fitted as a batch of two: the scalar code rounds differently, which flat minima would amplify.
    batch = targets.select(np.zeros(2, int)) if len(targets) == 1 else targets
    if batch.rotation_weights is not None:
        determined = spans_a_plane(markers.rest_positions, batch.weights[:, markers.columns])
        batch = replace(batch, rotation_weights=np.where(determined[:, None], 0.0, batch.rotation_weights))
    roots = fit_wrist(palm, batch, last, rotation_weight)[: len(targets)]
    return np.broadcast_to(roots, (len(targets), 4, 4)).copy()


def fit_to_all_targets(hand: HandModel, targets: Targets, roots: Floats) -> Floats:
    """Return the roots (F, 4, 4), fitted again to all targets with the neutral hand in frames in which the palm's
    targets do not determine them and there are at least three targets."""
    palm = palm_targets(hand, targets.sites.tolist())
    markers = palm.markers
    seen = targets.weights > 0
    determined = spans_a_plane(markers.rest_positions, targets.weights[:, markers.columns])
    if targets.rotation_weights is not None:
        has_rotation = np.any(targets.rotation_weights[:, palm.rotation_columns] > 0, axis=1)
        determined |= np.any(seen[:, markers.columns], axis=1) & has_rotation
    refitted = ~determined & (seen.sum(-1) >= 3)
    if not refitted.any():
        return roots
    neutral = jacobians.pose_joints(hand, np.eye(4)[None], hand.neutral[None]).site_positions(targets.sites)
    positions = np.where(seen[refitted][..., None], targets.positions[refitted], 0.0)
    fitted = roots.copy()
    fitted[refitted] = rot.fit_rigid(np.broadcast_to(neutral, positions.shape), positions, targets.weights[refitted])
    return fitted
