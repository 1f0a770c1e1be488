"""Parameters of a hand fitted to free motion, and their prior.

All frames share the hand's size, the position and direction at which each digit starts in the palm, the lengths of its
bones, ρ of each finger, and each marker's offset from its joint. The prior is a mean hand with the markers at the
marker set's positions, each with a standard deviation. It resolves what motion leaves ambiguous: a bone's length
against an offset along the bone, and a joint's zero angle against an offset across it. AddBiomechanics (Werling et al.
2023) regularises scales and marker offsets in this way, MoSh (Loper et al. 2014) its latent markers.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .. import rotations as rot
from ..jacobians import PosedJoints, cross_matrix
from ..joints import CHAIN_JOINTS, DIGITS, JOINT_INDEX
from ..marker_sets import Spot, on_palm
from ..model import Site
from ..proportions import FIRST_JOINT_ROWS, Proportions, site_positions

Floats = NDArray[np.float64]

SIZE_SPREAD = 0.1
"""Relative standard deviation of the size estimated from the palm markers, which sit within a centimetre of the marker
set's positions."""
PALM_SPREAD = np.array([8.0, 4.0, 4.0, 4.0, 4.0]) / 1000
"""(5,) m on each axis, standard deviations of the digits' first joints about those of a mean hand of the same size."""
BONE_SPREAD = 0.07
"""Relative standard deviation of a bone's length among hands of the same size. Buryanov & Kotiuk (2010) report 11 to
14 % for mixed sizes and sexes."""
DIRECTION_SPREAD = np.deg2rad([20.0, 5.0, 5.0, 5.0, 5.0])
"""(5,) rad about each axis, standard deviations of the digits' directions."""
OFFSET_SPREAD = np.array([5.0, 8.0, 8.0]) / 1000
"""(3,) m, standard deviations of markers about the marker set's positions: towards the little finger, along the bone,
and out of the back. Markers over joints are half a finger and half a marker above them."""

LONE_MARKER_FACTOR = 0.1
"""Factor on OFFSET_SPREAD for a digit's only marker: its offset is ambiguous, since the digit can bend to reach it."""


@dataclass(frozen=True, slots=True, eq=False)
class SharedParameters:
    """The parameters that all frames share."""

    size: float
    """Scale of the mean hand that serves as prior."""
    first_joints: Floats
    """(5, 3) m, positions of the digits' first joints in the wrist's frame."""
    digit_rotations: Floats
    """(5, 4) unit quaternions wxyz, rotations of the digits in the wrist's frame."""
    lengths: Floats
    """(5, 3) m, bone lengths."""
    rho: Floats
    """(5,) DIP flexion per PIP flexion, thesis (4.3); for the thumb IP per MCP."""
    offsets: Floats
    """(M, 3) m, positions of the markers in the frames of the joints that carry them."""

    def vector(self) -> Floats:
        """Return the parameters (P,), with zeros for the digits' rotations."""
        rotations = np.zeros(3 * len(DIGITS))
        parts = (
            [self.size],
            self.first_joints.ravel(),
            rotations,
            self.lengths.ravel(),
            self.rho,
            self.offsets.ravel(),
        )
        return np.concatenate(parts)

    def apply_step(self, step: Floats) -> "SharedParameters":
        """Return the parameters after a step (P,). Digits rotate about the wrist's axes; bone lengths stay positive."""
        rotations = step[ROTATIONS].reshape(-1, 3)
        angles = np.linalg.norm(rotations, axis=-1)
        rotated = rot.multiply(
            rot.from_axis_angle(rotations / np.maximum(angles, 1e-300)[:, None], angles), self.digit_rotations
        )
        lengths = self.lengths + step[LENGTHS].reshape(-1, 3)
        return SharedParameters(
            size=self.size + float(step[0]),
            first_joints=self.first_joints + step[FIRST_JOINTS].reshape(-1, 3),
            digit_rotations=rotated / np.linalg.norm(rotated, axis=-1, keepdims=True),
            lengths=np.maximum(lengths, 0.2 * self.lengths),
            rho=self.rho + step[RHO],
            offsets=self.offsets + step[OFFSETS:].reshape(-1, 3),
        )


FIRST_JOINTS, ROTATIONS, LENGTHS, RHO, OFFSETS = slice(1, 16), slice(16, 31), slice(31, 46), slice(46, 51), 51
"""Slices of the parameter vector, which starts with the size; OFFSETS is the index of the first offset."""


@dataclass(frozen=True, slots=True, eq=False)
class FitMarkers:
    """The markers in the fit: palm markers are carried by the wrist, others by their joint in the marker set."""

    spots: tuple[Spot, ...]
    """(M,) spots of the marker set."""
    joints: tuple[int, ...]
    """(M,) the joints that carry them."""

    @classmethod
    def from_spots(cls, spots: tuple[Spot, ...]) -> "FitMarkers":
        """Find the joints that carry these spots."""
        return cls(spots, tuple(0 if on_palm(spot) else JOINT_INDEX[spot.joint] for spot in spots))

    def digit_row(self, marker: int) -> int | None:
        """Return the row of the digit that carries a marker, None for the palm."""
        return _CHAIN_INDEX[self.joints[marker]][0] if self.joints[marker] else None

    def local_positions(self, hand: Proportions, spots: tuple[Spot, ...]) -> Floats:
        """Return positions (M, 3) m of spots in the frames of the joints that carry the markers."""
        offsets = np.array([spot.offset_on(hand.side) for spot in spots]).reshape(-1, 3)
        return np.where(np.array(self.joints)[:, None] == 0, site_positions(hand, spots), offsets)

    def initial_parameters(self, hand: Proportions, spots: tuple[Spot, ...], rho: Floats) -> SharedParameters:
        """Return the parameters of a hand with its markers at these spots."""
        return SharedParameters(
            1.0,
            hand.first_joints,
            hand.digit_rotations,
            hand.phalanges,
            rho,
            self.local_positions(hand, spots),
        )

    def proportions(self, mean: Proportions, parameters: SharedParameters) -> Proportions:
        """Return the proportions; palm joints without parameters are those of the mean hand, scaled."""
        palm = mean.palm * parameters.size
        palm[FIRST_JOINT_ROWS] = parameters.first_joints
        return replace(mean, palm=palm, phalanges=parameters.lengths, digit_rotations=parameters.digit_rotations)

    def sites(self, parameters: SharedParameters) -> tuple[Site, ...]:
        """Return the markers as sites (M,) of the hand."""
        rows = parameters.offsets.tolist()
        return tuple(Site(f"marker {i}", joint, (*rows[i],)) for i, joint in enumerate(self.joints))

    def fitted_spots(self, side: str, parameters: SharedParameters) -> tuple[Spot, ...]:
        """Return the markers' spots (M,) at the fitted offsets."""
        mirror = 1.0 if side == "right" else -1.0
        names = list(JOINT_INDEX)
        rows = parameters.offsets.tolist()
        return tuple(Spot(names[joint], (mirror * x, y, z)) for joint, (x, y, z) in zip(self.joints, rows, strict=True))

    def jacobian(self, posed: PosedJoints, markers: Floats) -> Floats:
        """Return the Jacobian (F, M, 3, P) of marker positions (F, M, 3) m in the world with respect to the shared
        parameters."""
        count = len(markers)
        jacobian = np.zeros((count, len(self.joints), 3, OFFSETS + 3 * len(self.joints)))
        wrist = posed.rotations[:, 0]
        for m, joint in enumerate(self.joints):
            jacobian[:, m, :, OFFSETS + 3 * m : OFFSETS + 3 * m + 3] = posed.rotations[:, joint]
            if joint == 0:
                continue
            row, index = _CHAIN_INDEX[joint]
            chain = [JOINT_INDEX[name] for name in CHAIN_JOINTS[DIGITS[row]]]
            arm = markers[:, m] - posed.positions[:, chain[0]]
            jacobian[:, m, :, FIRST_JOINTS][..., 3 * row : 3 * row + 3] = wrist
            jacobian[:, m, :, ROTATIONS][..., 3 * row : 3 * row + 3] = -cross_matrix(arm) @ wrist
            for bone in range(index):
                jacobian[:, m, :, LENGTHS.start + 3 * row + bone] = posed.rotations[:, chain[bone], :, 1]
        return jacobian


_CHAIN_INDEX = {
    JOINT_INDEX[joint]: (row, index)
    for row, digit in enumerate(DIGITS)
    for index, joint in enumerate(CHAIN_JOINTS[digit])
}
"""Joint -> row of its digit, and index in the digit's chain."""


@dataclass(frozen=True, slots=True, eq=False)
class FitPrior:
    """The prior of the shared parameters, as residuals in standard deviations."""

    matrix: Floats
    """(R, P) the linear residuals' matrix, divided by the standard deviations."""
    expected: Floats
    """(R,) the residuals' right-hand side, divided by the standard deviations."""
    digit_rotations: Floats
    """(5, 4) unit quaternions, directions of a mean hand's digits."""

    @classmethod
    def build(cls, mean: Proportions, markers: FitMarkers, rho: Floats, rho_spread: Floats) -> "FitPrior":
        """Build the prior.

        Args:
            mean: a mean hand of the size estimated from the palm markers.
            markers: the markers, expected at their spots.
            rho: (5,) expected ρ.
            rho_spread: (5,) standard deviations of ρ.
        """
        count = OFFSETS + 3 * len(markers.joints)
        columns = np.eye(count)
        size = columns[:1]
        positions = markers.local_positions(mean, markers.spots)
        blocks = [
            (size, np.ones(1), np.array([SIZE_SPREAD])),
            (
                columns[FIRST_JOINTS] - mean.first_joints.reshape(-1, 1) * size,
                np.zeros(15),
                np.repeat(PALM_SPREAD, 3) * mean.size / 0.18,
            ),
            (
                columns[LENGTHS] - mean.phalanges.reshape(-1, 1) * size,
                np.zeros(15),
                BONE_SPREAD * mean.phalanges.ravel(),
            ),
            (columns[RHO], rho, rho_spread),
        ]
        for m, (joint, spot) in enumerate(zip(markers.joints, markers.spots, strict=True)):
            offset = columns[OFFSETS + 3 * m : OFFSETS + 3 * m + 3]
            is_lone = (
                joint > 0
                and sum(_CHAIN_INDEX.get(other, (-1,))[0] == _CHAIN_INDEX[joint][0] for other in markers.joints) == 1
            )
            spread = OFFSET_SPREAD * (LONE_MARKER_FACTOR if is_lone else 1.0)
            digit_and_index = _CHAIN_INDEX.get(JOINT_INDEX[spot.joint])
            if joint:
                blocks.append((offset, positions[m], spread))
            elif digit_and_index is not None:  # The expected position of a marker over a knuckle is the knuckle's.
                knuckle = columns[FIRST_JOINTS][3 * digit_and_index[0] : 3 * digit_and_index[0] + 3]
                blocks.append((offset - knuckle, np.zeros(3), spread))
            else:
                blocks.append((offset - positions[m][:, None] * size, np.zeros(3), spread))
        return cls(
            np.concatenate([rows / spread[:, None] for rows, _, spread in blocks]),
            np.concatenate([right / spread for _, right, spread in blocks]),
            mean.digit_rotations,
        )

    def residuals(self, parameters: SharedParameters) -> tuple[Floats, Floats]:
        """Return residuals (R + 15,) in standard deviations, and their Jacobian (R + 15, P)."""
        rotations = _rotation_vectors(rot.multiply(parameters.digit_rotations, rot.conjugate(self.digit_rotations)))
        spreads = DIRECTION_SPREAD[:, None]
        jacobian = np.zeros((15, self.matrix.shape[1]))
        for row, rotation in enumerate(rotations):
            block = slice(3 * row, 3 * row + 3)
            jacobian[:, ROTATIONS][block, block] = _inverse_left_jacobian(rotation) / DIRECTION_SPREAD[row]
        linear = self.matrix @ parameters.vector() - self.expected
        return np.concatenate([linear, (rotations / spreads).ravel()]), np.concatenate([self.matrix, jacobian])


def _rotation_vectors(q: Floats) -> Floats:
    """Return the shortest rotation vectors (N, 3) rad of unit quaternions (N, 4)."""
    q = q * np.where(q[:, :1] < 0, -1.0, 1.0)
    sine = np.linalg.norm(q[:, 1:], axis=-1, keepdims=True)
    scale = np.where(sine > 1e-9, 2 * np.arctan2(sine, q[:, :1]) / np.maximum(sine, 1e-9), 2.0)
    vectors: Floats = q[:, 1:] * scale
    return vectors


def _inverse_left_jacobian(rotation: Floats) -> Floats:
    """Return the derivative (3, 3) of log(exp(δ) exp(rotation)) with respect to δ at 0: the inverse of SO(3)'s left
    Jacobian."""
    angle = float(np.linalg.norm(rotation))
    cross = cross_matrix(rotation)
    if angle < 1e-4:
        first_order: Floats = np.eye(3) - cross / 2
        return first_order
    square = (1 - angle / 2 / np.tan(angle / 2)) / angle**2
    jacobian: Floats = np.eye(3) - cross / 2 + square * cross @ cross
    return jacobian
