"""Residuals of targets, couplings and posture, and their Jacobians, for all parts of a hand.

A part is a set of joint angles that is solved separately, usually one digit (see parts.py). A row of the batch is one
part in one frame. With the weights in metres per radian, the cost is

    Σ w |p − p̂|² + rotation² Σ w |log R R̂ᵀ|² + coupling² Σ (distance of c·q from its bounds)²
        + posture² Σ ((q − q₀) / range)²

The gradient of |log R R̂ᵀ|² is exact with the plain rotation Jacobian, as the logarithm's derivative keeps its axis.

Shapes: F frames, N rows, G parts, each padded to n angles, t targets and c couplings; r unknowns of a floating root, 0
if it is fixed; D angles and C couplings of the hand. Index D or C is the padding.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...hand import jacobians
from ...hand.jacobians import ROOT_DOFS
from ...hand.model import HandModel
from ...hand.rotations import cross
from .parts import HandParts
from .relative_targets import RelativePoses, RelativeTargets

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ROOT_WEIGHT = 1e-3
"""Weight that keeps a floating wrist at its start, relative to a target's: for directions that no target determines."""
ROOT_ROTATION_ARM = 0.1
"""m, position error that one radian of the wrist's rotation counts as."""
MIN_RANGE = 1e-3
"""rad, lower bound of the joint ranges that the posture is scaled by."""
TWIST_POSTURE_FACTOR = 10.0
"""Factor on a twist's distance from the posture, since no muscle drives a twist alone."""


@dataclass(frozen=True, slots=True)
class AngleWeights:
    """Weights: position error in m that one radian counts as."""

    rotation: float
    coupling: float
    posture: float
    """m for a joint's whole range instead of a radian."""


@dataclass(frozen=True, slots=True, eq=False)
class ResidualRows:
    """Residuals and derivatives of N rows at a pose."""

    errors: Floats
    """(N, m) m, target minus current value, weighted."""
    jacobian_t: Floats
    """(N, n, m) the transposed Jacobian, weighted."""
    second_order: Floats
    """(N, n, n) second derivatives of the positions times their errors: what Gauss-Newton leaves out of the Hessian."""
    posture_errors: Floats
    """(N, n) scaled distance from the posture, in m for a posture weight of 1."""

    def where(self, better: NDArray[np.bool_], candidate: "ResidualRows") -> "ResidualRows":
        """Return these rows, replaced by the candidate's where `better` (N,) is true."""
        pairs = zip(self.arrays, candidate.arrays, strict=True)
        return ResidualRows(*(np.where(better.reshape(-1, *[1] * (a.ndim - 1)), b, a) for a, b in pairs))

    def select(self, which: Ints) -> "ResidualRows":
        """Return some of the rows."""
        return ResidualRows(*(array[which] for array in self.arrays))

    @property
    def arrays(self) -> tuple[Floats, Floats, Floats, Floats]:
        """The arrays, in the order of the fields."""
        return self.errors, self.jacobian_t, self.second_order, self.posture_errors

    def cost(self, posture: Floats | float) -> Floats:
        """Return the sum (N,) m² of squares with this posture weight, m."""
        squares: Floats = (self.errors**2).sum(-1) + posture**2 * (self.posture_errors**2).sum(-1)
        return squares


@dataclass(frozen=True, eq=False)
class PartsProblem:
    """The least-squares problem of some parts of a hand; for the shapes see the top of the file."""

    hand: HandModel
    parts: HandParts
    targets: RelativeTargets
    weights: AngleWeights
    floating: bool
    postures: Floats | None = None
    """(F, D + 1) rad, the posture of each frame; None for the neutral pose in all."""

    @property
    def root_dofs(self) -> int:
        """r, the number of unknowns of a floating root, which precede the angles of a part; 0 if the root is fixed."""
        return ROOT_DOFS if self.floating else 0

    @cached_property
    def limits(self) -> tuple[Floats, Floats]:
        """(D + 1,) rad, lower and upper limits."""
        low, high = np.append(self.hand.limits, [[0.0, 0.0]], axis=0).T
        return low, high

    @cached_property
    def couplings(self) -> tuple[Floats, Floats, Floats]:
        """(C + 1, D + 1) coefficients, (C + 1,) lower and upper bounds; the last coupling is unbounded padding."""
        return padded_couplings(self.hand)

    @cached_property
    def neutral(self) -> Floats:
        """(G, n) rad, the neutral angles."""
        angles: Floats = np.append(self.hand.neutral, 0.0)[self.parts.dofs]
        return angles

    @cached_property
    def scales(self) -> Floats:
        """(G, r + n) factors that scale the distances of the unknowns from the posture."""
        ranges = np.append(np.maximum(np.ptp(self.hand.limits, axis=1), MIN_RANGE), 1.0)
        ranges[:-1][np.array(self.hand.movements) == "twist"] /= TWIST_POSTURE_FACTOR
        root = [ROOT_WEIGHT] * 3 + [ROOT_WEIGHT * ROOT_ROTATION_ARM] * 3
        root_scales = np.repeat([root], len(self.parts.dofs), axis=0)[:, : self.root_dofs]
        return np.concatenate([root_scales / self.weights.posture, 1.0 / ranges[self.parts.dofs]], axis=1)

    def rows(self, frames: Ints, parts: Ints, poses: RelativePoses) -> ResidualRows:
        """Return the rows of `parts` (N,) in `frames` (N,), ascending, at the given poses."""
        used, rows = np.unique(frames, return_inverse=True)
        posed = jacobians.pose_joints(self.hand, poses.root[used], poses.angles[used, :-1])
        targets, dofs = self.parts.targets[parts], np.minimum(self.parts.dofs[parts], self.hand.dofs - 1)
        rows = rows[:, None]
        joints, axis_joints = self.targets.joints[targets], self.hand.axis_joint[dofs]
        rotations = posed.rotations[rows, joints]
        current = (rotations @ self.targets.offsets[targets])[..., 0] + posed.positions[rows, joints]
        arms = current[:, None] - posed.positions[rows, axis_joints][:, :, None]
        axes = self.parts.affected_by[parts].swapaxes(-1, -2)[..., None] * posed.axes[rows, dofs][:, :, None]
        if self.floating:
            # The unknowns of the wrist come first: three translations, then three rotations about its origin.
            translations, root_axes = np.zeros((2, len(rows), 3, targets.shape[1], 3))
            root_axes += np.eye(3)[:, None]
            arms = np.concatenate([np.repeat((current - posed.positions[rows, [0]])[:, None], 6, axis=1), arms], axis=1)
            axes = np.concatenate([translations, root_axes, axes], axis=1)
        positions, second_order = self._positions(frames, targets, current, axes, arms)
        blocks = [positions, self._couplings(frames, parts, poses.angles)]
        if self.targets.rotations is not None:
            blocks.append(self._rotations(frames, targets, rotations, axes))
        errors, jacobian_t = (np.concatenate(block, axis=-1) for block in zip(*blocks, strict=True))
        return ResidualRows(errors, jacobian_t, second_order, self._posture_errors(frames, parts, poses))

    def _positions(
        self, frames: Ints, targets: Ints, current: Floats, axes: Floats, arms: Floats
    ) -> tuple[tuple[Floats, Floats], Floats]:
        """Return (N, 3 t) errors and (N, r + n, 3 t) transposed Jacobian of positions, and (N, r + n, r + n) their
        second-order term."""
        scales = self.targets.position_scales[frames[:, None], targets]
        errors = scales[..., None] * (self.targets.positions[frames[:, None], targets] - current)
        jacobian_t = cross(axes, arms)
        if self.floating:
            jacobian_t[:, :3] += np.eye(3)[:, None]
        jacobian_t = (scales[:, None, :, None] * jacobian_t).reshape(*jacobian_t.shape[:2], -1)
        # A rotation about a changes the Jacobian column J of an axis farther out by a × J, and e·(a × J) = (e × a)·J.
        half = np.triu(cross(errors[:, None], axes).reshape(jacobian_t.shape) @ jacobian_t.swapaxes(-1, -2))
        second_order = half + np.triu(half, 1).swapaxes(-1, -2)
        return (errors.reshape(len(frames), -1), jacobian_t), second_order

    def _rotations(self, frames: Ints, targets: Ints, rotations: Floats, axes: Floats) -> tuple[Floats, Floats]:
        """Return (N, 3 t) errors and (N, r + n, 3 t) transposed Jacobian of rotations."""
        assert self.targets.rotations is not None
        scales = self.weights.rotation * self.targets.rotation_scales[frames[:, None], targets]
        target_rotations = self.targets.rotations[frames[:, None], targets]
        errors = scales[..., None] * jacobians.rotation_errors(target_rotations, rotations)
        jacobian_t = scales[:, None, :, None] * axes
        return errors.reshape(len(frames), -1), jacobian_t.reshape(*jacobian_t.shape[:2], -1)

    def _couplings(self, frames: Ints, parts: Ints, angles: Floats) -> tuple[Floats, Floats]:
        """Return (N, c) errors and (N, r + n, c) transposed Jacobian of the soft couplings."""
        coefficients, low, high = self.couplings
        soft = self.parts.soft[parts]
        values = coupling_values(coefficients[soft], angles[frames])
        violations = np.maximum(low[soft] - values, 0.0) + np.minimum(high[soft] - values, 0.0)
        active = (violations != 0) | (low == high)[soft]
        jacobian_t = coefficients[soft[:, None], self.parts.dofs[parts][..., None]] * active[:, None]
        jacobian_t = np.concatenate([np.zeros((len(frames), self.root_dofs, soft.shape[1])), jacobian_t], axis=1)
        return self.weights.coupling * violations, self.weights.coupling * jacobian_t

    def _posture_errors(self, frames: Ints, parts: Ints, poses: RelativePoses) -> Floats:
        """Return the scaled distances (N, r + n) from the posture."""
        index = frames[:, None], self.parts.dofs[parts]
        errors = poses.angles[index] - (self.neutral[parts] if self.postures is None else self.postures[index])
        if self.floating:
            root = poses.root[frames]
            rotation = jacobians.rotation_errors(root[:, :3, :3], np.eye(3))
            errors = np.concatenate([root[:, :3, 3], rotation, errors], axis=1)
        scaled: Floats = errors * self.scales[parts]
        return scaled


def coupling_values(coefficients: Floats, angles: Floats) -> Floats:
    """Return the weighted sums (N, c) of angles (N, D + 1) with the coefficients (N, c, D + 1) of couplings.

    A matrix product would round a frame differently depending on the others in the batch.
    """
    values: Floats = (coefficients * angles[:, None]).sum(-1)
    return values


def padded_couplings(hand: HandModel) -> tuple[Floats, Floats, Floats]:
    """Return (C + 1, D + 1) coefficients, (C + 1,) lower and upper bounds; the last coupling is unbounded padding."""
    rows = np.zeros((len(hand.couplings) + 1, hand.dofs + 1))
    for number, row in enumerate(hand.couplings):
        rows[number, :-1] = row.coefficients
    low = np.array([*(row.lower for row in hand.couplings), -np.inf])
    high = np.array([*(row.upper for row in hand.couplings), np.inf])
    return rows, low, high
