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


def roots(hand: HandModel, targets: Targets, last: Floats, turn_worth: float) -> Floats:
    """(F, 4, 4) T_world_wrist from the palm's targets; `last` (4, 4) is that of the frame before.

    Three position targets on the palm that are not in a line determine its rotation. Where there are fewer, the palm's
    rotation targets are used as well, a radian counting as `turn_worth` m.
    """
    base = palm_targets(hand, targets.sites.tolist())
    # A lone frame is fitted as a batch of two: the scalar code rounds differently, which flat minima would amplify.
    many = targets.select(np.zeros(2, int)) if len(targets) == 1 else targets
    if many.rotation_weights is not None:
        told = spans_a_plane(base.palm.at_rest, many.weights[:, base.palm.columns])
        many = replace(many, rotation_weights=np.where(told[:, None], 0.0, many.rotation_weights))
    laid = fit_wrist(base, many, last, turn_worth)[: len(targets)]
    return np.broadcast_to(laid, (len(targets), 4, 4)).copy()


def laid_on_all(hand: HandModel, targets: Targets, begun: Floats) -> Floats:
    """(F, 4, 4) the roots `begun`; where the palm's targets do not determine them and there are three targets or more,
    the neutral hand fitted to all of them."""
    base = palm_targets(hand, targets.sites.tolist())
    seen = targets.weights > 0
    palm = seen[:, base.palm.columns]
    told = spans_a_plane(base.palm.at_rest, targets.weights[:, base.palm.columns])
    if targets.rotation_weights is not None:
        told |= np.any(palm, axis=1) & np.any(targets.rotation_weights[:, base.rotation_columns] > 0, axis=1)
    lost = ~told & (seen.sum(-1) >= 3)
    if not lost.any():
        return begun
    at_ease = jacobians.pose_joints(hand, np.eye(4)[None], hand.neutral[None]).site_positions(targets.sites)
    positions = np.where(seen[lost][..., None], targets.positions[lost], 0.0)
    laid = begun.copy()
    laid[lost] = rot.fit_rigid(np.broadcast_to(at_ease, positions.shape), positions, targets.weights[lost])
    return laid
