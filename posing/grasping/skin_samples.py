"""Points of a hand's skin, deformed by its joints as by Blender's armature modifier."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...hand import rotations as rot
from ...hand.joints import CHAIN_JOINTS, DIGITS, JOINT_INDEX, JOINTS
from ...hand.kinematics import Pose, joint_frames
from ...hand.mesh.surface import surface
from ...hand.model import HandModel
from ...hand.proportions import adult, build

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LINKS: tuple[tuple[int, ...], ...] = tuple(
    tuple(JOINT_INDEX[joint] for joint in CHAIN_JOINTS[digit][:3]) for digit in DIGITS
)
"""(5, 3) joints that bend, by digit, outwards."""
_DIGIT_AND_LINK: dict[int, tuple[int, int]] = {
    joint: (digit, link) for digit, joints in enumerate(LINKS) for link, joint in enumerate(joints)
}
for _digit, _joint in enumerate(CHAIN_JOINTS[digit][3] for digit in DIGITS):
    _DIGIT_AND_LINK[JOINT_INDEX[_joint]] = (_digit, 2)
MIN_DIGIT_WEIGHT = 0.05
"""A point of the palm with more than this weight for a digit moves with the digit."""
MAX_JOINTS = 4
"""Maximum number of joints that deform a point."""


@dataclass(frozen=True, slots=True, eq=False)
class SkinPoints:
    """V points of a hand's skin and their weights."""

    points: Floats
    """(V, 3) m in the world with the joints at `bind_frames`."""
    joints: Ints
    """(V, 4) joints that deform each point."""
    weights: Floats
    """(V, 4) their weights; rows sum to 1."""
    bind_frames: Floats
    """(J, 4, 4) T_world_joint of the bind pose."""
    dual_quaternions: bool = False
    """Whether points are blended by dual quaternions (Preserve Volume) instead of matrices."""

    @property
    def digit(self) -> Ints:
        """(V,) digit of the joint with the greatest weight, -1 for the palm."""
        table = np.array([_DIGIT_AND_LINK.get(joint, (-1, -1))[0] for joint in range(len(JOINTS))])
        return table[self.heaviest]

    @property
    def link(self) -> Ints:
        """(V,) phalanx of the heaviest joint: 0 proximal (or the thumb's metacarpal), -1 in the palm."""
        table = np.array([_DIGIT_AND_LINK.get(joint, (-1, -1))[1] for joint in range(len(JOINTS))])
        return table[self.heaviest]

    @property
    def moving_digit(self) -> Ints:
        """(V,) digit that partly moves a point of the palm, -1 for none and for points of digits."""
        fractions = np.zeros((len(self.points), len(DIGITS)))
        for digit, joints in enumerate(LINKS):
            fractions[:, digit] = np.where(np.isin(self.joints, joints), self.weights, 0.0).sum(axis=1)
        digits = fractions.argmax(axis=1)
        moves_with_digit = (self.digit < 0) & (fractions.max(axis=1) > MIN_DIGIT_WEIGHT)
        return np.where(moves_with_digit, digits, -1)

    @property
    def heaviest(self) -> Ints:
        """(V,) the joint with the greatest weight."""
        return np.take_along_axis(self.joints, self.weights.argmax(axis=1)[:, None], axis=1)[:, 0]

    def local(self) -> Floats:
        """Return points (V, 3) m, each in the frame of its joint of greatest weight: +Y along the bone, +Z dorsal."""
        frames = self.bind_frames[self.heaviest]
        local_points: Floats = np.einsum("vji,vj->vi", frames[:, :3, :3], self.points - frames[:, :3, 3])
        return local_points

    def subset(self, rows: NDArray[np.generic]) -> "SkinPoints":
        """Return the points in some rows."""
        return replace(self, points=self.points[rows], joints=self.joints[rows], weights=self.weights[rows])

    def posed(self, frames: Floats) -> Floats:
        """Return the points (F, V, 3) m in the world with the joints at frames (F, J, 4, 4)."""
        blended = self._blended(frames @ np.linalg.inv(self.bind_frames))
        moved = (blended[:, :, :3] * self.points.T).sum(axis=2) + blended[:, :, 3]
        return np.ascontiguousarray(moved.swapaxes(1, 2))

    def rebound(self, points: Floats, frames: Floats) -> "SkinPoints":
        """Return the skin rebound so that its points are at `points` (V, 3) m with the joints at frames (J, 4, 4)."""
        blended = np.moveaxis(self._blended(frames[None] @ np.linalg.inv(self.bind_frames))[0], -1, 0)
        bind_points = np.linalg.solve(blended[:, :, :3], (points - blended[:, :, 3])[..., None])[..., 0]
        return replace(self, points=bind_points)

    def _blended(self, moves: Floats) -> Floats:
        """Return the transforms (F, 3, 4, V) of points for transforms (F, J, 4, 4) of joints, without their last row.

        Points are the last axis, so that each element is computed for all points in one operation.
        """
        if self.dual_quaternions:
            return self._dual(moves)
        blended = moves[:, :, :3].reshape(*moves.shape[:2], 12).swapaxes(1, 2) @ self._dense_weights.T
        return np.asarray(blended.reshape(len(moves), 3, 4, -1))

    @property
    def _dense_weights(self) -> Floats:
        """(V, J) the weights of all joints."""
        dense = np.zeros((len(self.points), len(JOINTS)))
        np.add.at(dense, (np.arange(len(self.points))[:, None], self.joints), self.weights)
        return dense

    def _dual(self, moves: Floats) -> Floats:
        """Return the transforms of _blended by dual quaternion linear blending (Kavan et al. 2007)."""
        real = rot.from_matrix(moves[..., :3, :3])
        shift = np.concatenate([np.zeros((*moves.shape[:2], 1)), moves[..., :3, 3]], axis=-1)
        parts = np.concatenate([real, 0.5 * rot.multiply(shift, real)], axis=-1)
        heaviest, dense = self.heaviest, self._dense_weights
        summed = np.empty((8, len(moves), len(self.points)))
        for joint in np.unique(heaviest).tolist():
            own = np.flatnonzero(heaviest == joint)
            # q and -q are the same rotation; take the one nearer to the joint with the greatest weight.
            signs = np.where((real * real[:, joint, None]).sum(axis=-1) < 0, -1.0, 1.0)
            summed[:, :, own] = np.moveaxis((signs[..., None] * parts).swapaxes(1, 2) @ dense[own].T, 1, 0)
        summed /= np.sqrt((summed[:4] ** 2).sum(axis=0))
        w, x, y, z = summed[:4]
        shifts = 2 * np.stack(rot.multiply_components(summed[4:], np.stack([w, -x, -y, -z]))[1:])
        rotations = np.stack(rot.matrix_elements(summed[:4])).reshape(3, 3, *w.shape)
        return np.moveaxis(np.concatenate([rotations, shifts[:, None]], axis=1), 2, 0)


def skin_points(points: Floats, weights: Floats, bind_frames: Floats, *, dual_quaternions: bool) -> SkinPoints:
    """Return the skin of points (V, 3) m with weights (V, J) for all joints; the MAX_JOINTS greatest are kept."""
    order = np.argsort(-weights, axis=1, kind="stable")[:, :MAX_JOINTS]
    largest_weights = np.take_along_axis(weights, order, axis=1)
    return SkinPoints(
        points, order, largest_weights / largest_weights.sum(axis=1, keepdims=True), bind_frames, dual_quaternions
    )


def fitted_skin(hand: HandModel) -> SkinPoints:
    """Return the skin of the standard hand, fitted to the bones of `hand`: for a rig without a skin.

    It is scaled along each bone to the bone's length, and across the bone by the hand's size.
    """
    measures = adult(hand.side)
    skin, own = surface(measures), build(measures)
    frames = [joint_frames(model, Pose(model, np.eye(4)[None], np.zeros((1, model.dofs))))[0] for model in (own, hand)]
    sizes = [float(np.linalg.norm(at[JOINT_INDEX["middle-finger-tip"], :3, 3])) for at in frames]
    moves = np.empty((len(JOINTS), 4, 4))
    for joint in range(len(JOINTS)):
        stretch = np.diag([sizes[1] / sizes[0]] * 3 + [1.0])
        if joint in _DIGIT_AND_LINK and not JOINTS[joint].endswith("tip"):
            lengths = [float(np.linalg.norm(model.rest[joint + 1, :3, 3])) for model in (own, hand)]
            stretch[1, 1] = max(lengths[1], 1e-3 * lengths[0]) / lengths[0]
        moves[joint] = frames[1][joint] @ stretch @ np.linalg.inv(frames[0][joint])
    fitted_points = np.einsum("vj,jab,vb->va", skin.weights, moves[:, :3, :3], skin.vertices)
    fitted_points += skin.weights @ moves[:, :3, 3]
    return skin_points(fitted_points, weights_of_moving_joints(skin.weights, hand), frames[1], dual_quaternions=False)


def weights_of_moving_joints(weights: Floats, hand: HandModel) -> Floats:
    """Return weights (V, J) with those of joints that do not move added to their nearest moving ancestor."""
    moving = {0, *hand.axis_joint.tolist()}
    result = weights.copy()
    for joint in reversed(range(len(JOINTS))):
        if joint not in moving:
            result[:, hand.parents[joint]] += result[:, joint]
            result[:, joint] = 0.0
    return result


def thinned(skin: SkinPoints, spacing: float) -> SkinPoints:
    """Return some of the points, about one for each cube of side `spacing` (m)."""
    cells = np.floor(skin.points / spacing).astype(np.int64)
    key = np.column_stack([cells, skin.digit, skin.link])
    _, first = np.unique(key, axis=0, return_index=True)
    return skin.subset(np.sort(first))
