"""Parameters of a hand fitted to free motion, and their prior.

Unknown and shared by all frames are the hand's size, the position and direction at which each digit begins in the palm,
the lengths of its bones, how far each finger's DIP follows its PIP, and each marker's offset from its joint. The prior
is a mean hand with the markers where the marker set has them, each with a standard deviation. It decides what no motion
shows: a bone's length against an offset along it, the angle that counts as straight against an offset across the bone.
AddBiomechanics (Werling et al. 2023) regularises scales and marker offsets in this way, MoSh (Loper et al. 2014) its
latent markers.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .. import rotations as rot
from ..jacobians import PosedJoints, cross_matrix
from ..joints import CHAIN_JOINTS, DIGITS, JOINT_INDEX
from ..marker_sets import Spot, on_palm
from ..model import Site
from ..proportions import PALM_JOINTS, Proportions, site_positions

Floats = NDArray[np.float64]

FIRST = [PALM_JOINTS.index(CHAIN_JOINTS[digit][0]) for digit in DIGITS]
"""Rows of the digits' first joints in a palm."""
SIZE_SPREAD = 0.1
"""Relative standard deviation of the size that the palm markers indicate: they sit within a centimetre of where the
marker set has them."""
PALM_SPREAD = np.array([8.0, 4.0, 4.0, 4.0, 4.0]) / 1000
"""(5,) m on each axis, standard deviations of the digits' first joints about those of a mean hand of the same size."""
BONE_SPREAD = 0.07
"""Relative standard deviation of a bone's length among hands of the same size. Buryanov & Kotiuk (2010) have 11 to 14 %
for mixed sizes and sexes."""
DIRECTION_SPREAD = np.deg2rad([20.0, 5.0, 5.0, 5.0, 5.0])
"""(5,) rad about each axis, standard deviations of the digits' directions."""
OFFSET_SPREAD = np.array([5.0, 8.0, 8.0]) / 1000
"""(3,) m, standard deviations of markers about the marker set's positions: towards the little finger, along the bone,
and out of the back, where markers over joints are half a finger and half a marker above them."""

ALONE = 0.1
"""Factor on OFFSET_SPREAD for a digit's only marker: the digit can bend to wherever that marker is."""


@dataclass(frozen=True, slots=True, eq=False)
class SharedParameters:
    """The parameters that all frames share."""

    size: float
    """Scale of the mean hand that serves as prior."""
    palm: Floats
    """(5, 3) m, positions of the digits' first joints in the wrist's frame."""
    frames: Floats
    """(5, 4) unit quaternions wxyz, rotations of the digits in the wrist's frame."""
    lengths: Floats
    """(5, 3) m, bone lengths."""
    rho: Floats
    """(5,) DIP flexion per PIP flexion, thesis (4.3); for the thumb IP per MCP."""
    offsets: Floats
    """(M, 3) m, the markers in the frames of the joints that carry them."""

    def vector(self) -> Floats:
        """Return the parameters (P,), with zeros for the digits' rotations."""
        turns = np.zeros(3 * len(DIGITS))
        parts = ([self.size], self.palm.ravel(), turns, self.lengths.ravel(), self.rho, self.offsets.ravel())
        return np.concatenate(parts)

    def moved(self, step: Floats) -> "SharedParameters":
        """Return the parameters after a step (P,). Digits rotate about the wrist's axes; bone lengths stay positive."""
        turns = step[TURNS].reshape(-1, 3)
        angles = np.linalg.norm(turns, axis=-1)
        turned = rot.multiply(rot.from_axis_angle(turns / np.maximum(angles, 1e-300)[:, None], angles), self.frames)
        longer = self.lengths + step[LENGTHS].reshape(-1, 3)
        return SharedParameters(
            size=self.size + float(step[0]),
            palm=self.palm + step[PALM].reshape(-1, 3),
            frames=turned / np.linalg.norm(turned, axis=-1, keepdims=True),
            lengths=np.maximum(longer, 0.2 * self.lengths),
            rho=self.rho + step[RHO],
            offsets=self.offsets + step[OFFSETS:].reshape(-1, 3),
        )


PALM, TURNS, LENGTHS, RHO, OFFSETS = slice(1, 16), slice(16, 31), slice(31, 46), slice(46, 51), 51
"""Slices of the parameter vector; the size comes first, OFFSETS is where the offsets begin."""


@dataclass(frozen=True, slots=True, eq=False)
class FitMarkers:
    """The markers in the fit: palm markers are carried by the wrist, others by the joint of the marker set."""

    spots: tuple[Spot, ...]
    """(M,) positions by the marker set."""
    joints: tuple[int, ...]
    """(M,) the joints that carry them."""

    @classmethod
    def of(cls, spots: tuple[Spot, ...]) -> "FitMarkers":
        """Find the joints that carry these spots."""
        return cls(spots, tuple(0 if on_palm(spot) else JOINT_INDEX[spot.joint] for spot in spots))

    def digit(self, marker: int) -> int | None:
        """Return the row of the digit that carries a marker, None for the palm."""
        return _CHAIN[self.joints[marker]][0] if self.joints[marker] else None

    def places(self, hand: Proportions, spots: tuple[Spot, ...]) -> Floats:
        """Positions (M, 3) m of spots in the frames of the joints that carry the markers."""
        beside = np.array([spot.on(hand.side) for spot in spots]).reshape(-1, 3)
        return np.where(np.array(self.joints)[:, None] == 0, site_positions(hand, spots), beside)

    def begin(self, hand: Proportions, spots: tuple[Spot, ...], rho: Floats) -> SharedParameters:
        """Return the parameters of a hand with its markers at these spots."""
        return SharedParameters(
            1.0, hand.palm[FIRST], hand.digit_rotations, hand.phalanges, rho, self.places(hand, spots)
        )

    def proportions(self, mean: Proportions, anatomy: SharedParameters) -> Proportions:
        """Return the proportions; palm joints that no parameter covers are the mean hand's, scaled."""
        palm = mean.palm * anatomy.size
        palm[FIRST] = anatomy.palm
        return replace(mean, palm=palm, phalanges=anatomy.lengths, digit_rotations=anatomy.frames)

    def sites(self, anatomy: SharedParameters) -> tuple[Site, ...]:
        """Return the markers as sites (M,) of the hand."""
        rows = anatomy.offsets.tolist()
        return tuple(Site(f"marker {i}", joint, (*rows[i],)) for i, joint in enumerate(self.joints))

    def found(self, side: str, anatomy: SharedParameters) -> tuple[Spot, ...]:
        """Return the fitted positions of the markers (M,)."""
        mirror = 1.0 if side == "right" else -1.0
        names = list(JOINT_INDEX)
        rows = anatomy.offsets.tolist()
        return tuple(Spot(names[joint], (mirror * x, y, z)) for joint, (x, y, z) in zip(self.joints, rows, strict=True))

    def jacobian(self, placed: PosedJoints, markers: Floats) -> Floats:
        """Jacobian (F, M, 3, P) of marker positions (F, M, 3) m in the world with respect to the shared parameters."""
        count = len(markers)
        slopes = np.zeros((count, len(self.joints), 3, OFFSETS + 3 * len(self.joints)))
        wrist = placed.rotations[:, 0]
        for m, joint in enumerate(self.joints):
            slopes[:, m, :, OFFSETS + 3 * m : OFFSETS + 3 * m + 3] = placed.rotations[:, joint]
            if joint == 0:
                continue
            row, place = _CHAIN[joint]
            chain = [JOINT_INDEX[name] for name in CHAIN_JOINTS[DIGITS[row]]]
            arm = markers[:, m] - placed.positions[:, chain[0]]
            slopes[:, m, :, 1 + 3 * row : 4 + 3 * row] = wrist
            slopes[:, m, :, 16 + 3 * row : 19 + 3 * row] = -cross_matrix(arm) @ wrist
            for bone in range(place):
                slopes[:, m, :, 31 + 3 * row + bone] = placed.rotations[:, chain[bone], :, 1]
        return slopes


_CHAIN = {
    JOINT_INDEX[joint]: (row, place)
    for row, digit in enumerate(DIGITS)
    for place, joint in enumerate(CHAIN_JOINTS[digit])
}
"""Joint -> row of its digit, and index in the digit's chain."""


@dataclass(frozen=True, slots=True, eq=False)
class FitPrior:
    """The prior of the shared parameters, as residuals in standard deviations."""

    rows: Floats
    """(R, P) the linear residuals' matrix, divided by the standard deviations."""
    right: Floats
    """(R,) their right-hand side."""
    frames: Floats
    """(5, 4) unit quaternions, directions of a mean hand's digits."""

    @classmethod
    def of(cls, mean: Proportions, riders: FitMarkers, rho: Floats, rho_spread: Floats) -> "FitPrior":
        """Build the prior: a mean hand of the size that the palm markers indicate, with markers at their spots.

        Args:
            mean: the mean hand.
            riders: the markers.
            rho: (5,) expected ρ.
            rho_spread: (5,) its standard deviations.
        """
        many = OFFSETS + 3 * len(riders.joints)
        columns = np.eye(many)
        size = columns[:1]
        places = riders.places(mean, riders.spots)
        blocks = [
            (size, np.ones(1), np.array([SIZE_SPREAD])),
            (
                columns[PALM] - mean.palm[FIRST].reshape(-1, 1) * size,
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
        for m, (joint, spot) in enumerate(zip(riders.joints, riders.spots, strict=True)):
            own = columns[OFFSETS + 3 * m : OFFSETS + 3 * m + 3]
            alone = joint > 0 and sum(_CHAIN.get(other, (-1,))[0] == _CHAIN[joint][0] for other in riders.joints) == 1
            spread = OFFSET_SPREAD * (ALONE if alone else 1.0)
            known = _CHAIN.get(JOINT_INDEX[spot.joint])
            if joint:
                blocks.append((own, places[m], spread))
            elif known is not None:  # A marker over a knuckle moves with the knuckle's position.
                blocks.append((own - columns[1 + 3 * known[0] : 4 + 3 * known[0]], np.zeros(3), spread))
            else:
                blocks.append((own - places[m][:, None] * size, np.zeros(3), spread))
        return cls(
            np.concatenate([rows / spread[:, None] for rows, _, spread in blocks]),
            np.concatenate([right / spread for _, right, spread in blocks]),
            mean.digit_rotations,
        )

    def residuals(self, anatomy: SharedParameters) -> tuple[Floats, Floats]:
        """Residuals (R + 15,) in standard deviations, and their Jacobian (R + 15, P)."""
        away = _logarithms(rot.multiply(anatomy.frames, rot.conjugate(self.frames)))
        spreads = DIRECTION_SPREAD[:, None]
        slopes = np.zeros((15, self.rows.shape[1]))
        for row, turn in enumerate(away):
            slopes[3 * row : 3 * row + 3, 16 + 3 * row : 19 + 3 * row] = _log_slope(turn) / DIRECTION_SPREAD[row]
        linear = self.rows @ anatomy.vector() - self.right
        return np.concatenate([linear, (away / spreads).ravel()]), np.concatenate([self.rows, slopes])


def _logarithms(q: Floats) -> Floats:
    """Rotation vectors (N, 3) rad of unit quaternions (N, 4), the shorter way."""
    q = q * np.where(q[:, :1] < 0, -1.0, 1.0)
    sine = np.linalg.norm(q[:, 1:], axis=-1, keepdims=True)
    scale = np.where(sine > 1e-9, 2 * np.arctan2(sine, q[:, :1]) / np.maximum(sine, 1e-9), 2.0)
    turns: Floats = q[:, 1:] * scale
    return turns


def _log_slope(turn: Floats) -> Floats:
    """Derivative (3, 3) of log(exp(δ) exp(turn)) with respect to δ at 0: the inverse of SO(3)'s left Jacobian."""
    angle = float(np.linalg.norm(turn))
    cross = cross_matrix(turn)
    if angle < 1e-4:
        near: Floats = np.eye(3) - cross / 2
        return near
    square = (1 - angle / 2 / np.tan(angle / 2)) / angle**2
    slope: Floats = np.eye(3) - cross / 2 + square * cross @ cross
    return slope
