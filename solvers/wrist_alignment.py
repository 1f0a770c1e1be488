"""The wrist's pose from the targets on the palm: positions and rotations together, by least squares."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..hand import kinematics
from ..hand import rotations as rot
from ..hand.jacobians import hand_topology
from ..hand.model import HandModel
from ..hand.scalar_math import ARRAY
from ..hand.targets import Targets
from .planar.palm_pose import PalmMarkers, attitude, palm_markers, spans_a_plane
from .solver import hold_last

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class PalmTargets:
    """The targets that are fixed to the palm."""

    markers: PalmMarkers
    rotation_columns: list[int]
    """(R,) the targets whose rotation is the palm's, because no degree of freedom rotates their joint."""
    rest_rotations: Floats
    """(R, 3, 3) in the wrist's frame."""

    def has_positions(self, targets: Targets) -> bool:
        """Return whether any frame has a position target on the palm."""
        return bool(self.markers.columns) and bool(np.any(targets.weights[:, self.markers.columns] > 0))

    def has_rotations(self, targets: Targets) -> bool:
        """Return whether any frame has a rotation target on the palm."""
        weights = targets.rotation_weights
        return (
            bool(self.rotation_columns) and weights is not None and bool(np.any(weights[:, self.rotation_columns] > 0))
        )

    def seen(self, targets: Targets) -> Bools:
        """Return (F,) whether the frame has a target on the palm, position or rotation."""
        visible: Bools = np.any(targets.weights[:, self.markers.columns] > 0, axis=1)
        if targets.rotation_weights is not None:
            visible = visible | np.any(targets.rotation_weights[:, self.rotation_columns] > 0, axis=1)
        return visible


def palm_targets(hand: HandModel, sites: list[int]) -> PalmTargets:
    """Find the sites that are fixed to the palm."""
    joints = [hand.sites[site].joint for site in sites]
    columns = [column for column, joint in enumerate(joints) if not hand_topology(hand).affected_by[joint].any()]
    rest_pose = kinematics.Pose(hand, np.eye(4)[None], np.zeros((1, hand.dofs)))
    rotations = kinematics.joint_frames(hand, rest_pose)[0, [joints[column] for column in columns], :3, :3]
    return PalmTargets(palm_markers(hand, sites), columns, rotations)


def fit_wrist(palm: PalmTargets, targets: Targets, last: Floats, length_per_radian: float) -> Floats:
    """Fit the wrist to the targets on the palm by weighted least squares.

    What the targets of a frame do not determine stays as in the previous frame.

    Args:
        palm: the targets on the palm.
        targets: F frames.
        last: (4, 4) T_world_wrist of the frame before the first one.
        length_per_radian: m, the position error that an error of one radian counts as.

    Returns:
        (F, 4, 4) T_world_wrist; (1, 4, 4), `last`, if no target is on the palm.
    """
    weights = targets.rotation_weights
    if targets.rotations is None or weights is None or not palm.has_rotations(targets):
        return palm.markers.roots(targets, last) if palm.has_positions(targets) else last[None]
    rotation_weights = weights[:, palm.rotation_columns]
    rotations = rotation_matrices(targets.rotations[:, palm.rotation_columns], rotation_weights)
    position_weights = targets.weights[:, palm.markers.columns]
    positions = np.where(position_weights[..., None] > 0, targets.positions[:, palm.markers.columns], 0.0)
    total = np.maximum(position_weights.sum(1), 1e-12)[:, None]
    centroid, rest_centroid = (
        (position_weights[..., None] * positions).sum(1) / total,
        position_weights @ palm.markers.rest_positions / total,
    )
    covariance = np.einsum(
        "fp,fpi,fpj->fij",
        position_weights,
        positions - centroid[:, None],
        palm.markers.rest_positions - rest_centroid[:, None],
    )
    # Positions cost a constant minus 2 tr(Rᵀ B), rotations a constant minus tr(Rᵀ M) with M = R_i R_restᵀ.
    covariance = covariance + length_per_radian**2 / 2 * np.einsum(
        "fr,frij,rkj->fik", rotation_weights, rotations, palm.rest_rotations
    )
    attitudes, determined = attitude(ARRAY, [[covariance[:, i, j] for j in range(3)] for i in range(3)])
    has_rotation: Any = determined & np.any(rotation_weights > 0, axis=1)
    roots = palm.markers.roots(targets, last)
    roots = np.broadcast_to(roots, (len(targets), 4, 4)).copy()
    fitted = np.moveaxis(np.array(attitudes), -1, 0)
    rotation = hold_last(
        np.where(has_rotation[:, None, None], fitted, roots[:, :3, :3]),
        has_rotation | spans_a_plane(palm.markers.rest_positions, position_weights),
        last[:3, :3],
    )
    roots[:, :3, :3] = rotation
    translation = centroid - np.einsum("fij,fj->fi", rotation, rest_centroid)
    roots[:, :3, 3] = hold_last(translation, position_weights.sum(1) > 0, last[:3, 3])
    return roots


def rotation_matrices(quaternions: Floats, weights: Floats) -> Floats:
    """Convert quaternions (F, R, 4) of any length to matrices (F, R, 3, 3), the identity where the weight is zero."""
    quaternions_or_identity = np.where(weights[..., None] > 0, quaternions, rot.IDENTITY)
    return rot.to_matrix(quaternions_or_identity / np.linalg.norm(quaternions_or_identity, axis=-1, keepdims=True))
