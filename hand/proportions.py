"""Proportions of a hand: bone lengths and palm joints, which differ between performers."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..errors import HandError
from . import rotations as rot
from .joints import CHAIN_JOINTS, DIGIT_JOINTS, DIGITS, JOINT_INDEX, JOINTS, PARENTS, Side
from .limits import DEFAULT_COUPLINGS, DEFAULT_LIMITS, NEUTRAL, AngleLimits, CouplingRow
from .marker_sets import Spot, on_palm
from .mirror import POINT_SIGNS, other_side
from .model import AXES, Coupling, HandModel, Movement, Site
from .value_equality import ValueEquality

Floats = NDArray[np.float64]

PALM_JOINTS: tuple[str, ...] = tuple(joint for digit in DIGITS for joint in DIGIT_JOINTS[digit][:-3])
"""The joints that do not move within the palm: the thumb's CMC and, for each finger, metacarpal base and MCP."""


FIRST_JOINT_ROWS = [PALM_JOINTS.index(CHAIN_JOINTS[digit][0]) for digit in DIGITS]
"""(5,) index in PALM_JOINTS of each digit's first moving joint."""

MIN_BONE_M = 1e-4
"""m, exclusive lower bound of a bone's length."""


@dataclass(frozen=True, slots=True, eq=False)
class Proportions(ValueEquality):
    """A hand's dimensions in the wrist's frame: +Y along the straight middle finger, +Z out of the back.

    Raises:
        HandError: a bone is not longer than `MIN_BONE_M`, or the palm joints coincide.
    """

    side: Side
    palm: Floats
    """(9, 3) m, positions of PALM_JOINTS."""
    phalanges: Floats
    """(5, 3) m, lengths of each digit's three moving bones; the thumb's first is its metacarpal."""
    digit_rotations: Floats
    """(5, 4) unit quaternions wxyz, rotation of each digit's first moving joint in the wrist's frame at zero angles."""

    def __post_init__(self) -> None:
        if not np.isfinite(self.palm).all() or not np.ptp(self.palm[:, 1]) > 0.01 * self.phalanges.max():
            raise HandError(f"{self.side} hand: the palm joints coincide, expected them spread over a palm")
        lengths = np.column_stack([self.metacarpals, self.phalanges])
        short = np.argwhere(~(lengths > MIN_BONE_M))
        if len(short):
            digit, bone = short[0]
            name = f"bone {bone}" if bone else "the metacarpal"
            raise HandError(
                f"{self.side} hand: {name} of the {DIGITS[digit]} is {1000 * lengths[digit, bone]:.2f} mm long, "
                f"it must be longer than {1000 * MIN_BONE_M:g} mm"
            )

    @property
    def size(self) -> float:
        """m, from the wrist along the straight middle finger to its tip."""
        return float(np.linalg.norm(self.first_joints[2]) + self.phalanges[2].sum())

    @property
    def first_joints(self) -> Floats:
        """(5, 3) m, positions of the digits' first moving joints."""
        return self.palm[FIRST_JOINT_ROWS]

    @property
    def metacarpals(self) -> Floats:
        """(5,) m, lengths of the metacarpals within the palm; infinite for the thumb, whose metacarpal moves."""
        lengths = np.linalg.norm(self.first_joints - self.palm[np.array(FIRST_JOINT_ROWS) - 1], axis=-1)
        return np.where(np.arange(len(DIGITS)) == DIGITS.index("thumb"), np.inf, lengths)

    def scaled(self, factor: float) -> "Proportions":
        """Return the same hand, larger or smaller."""
        return replace(self, palm=self.palm * factor, phalanges=self.phalanges * factor)

    def mirrored(self) -> "Proportions":
        """Return the other hand of the same person: the mirror image in X."""
        return Proportions(
            side=other_side(self.side),
            palm=self.palm * POINT_SIGNS,
            phalanges=self.phalanges,
            # Mirroring a rotation in X keeps its component about X and negates those about Y and Z.
            digit_rotations=self.digit_rotations * [1.0, 1.0, -1.0, -1.0],
        )


def _rotation_zxy(z: float, x: float, y: float) -> Floats:
    """Return the quaternion of Rz · Rx · Ry, in degrees: a digit's spread, its tilt to the palm, its roll."""
    about_z, about_x, about_y = (
        rot.from_axis_angle(axis, np.deg2rad(angle))
        for axis, angle in zip(np.eye(3)[[2, 0, 1]], (z, x, y), strict=True)
    )
    return rot.multiply(rot.multiply(about_z, about_x), about_y)


_ADULT = Proportions(
    side="right",
    # Palm joints of an adult hand; the metacarpals have the lengths of Buryanov & Kotiuk (2010).
    palm=np.array(
        [
            [-22.0, 24.0, -12.0],
            [-13.0, 22.8, 0.0],
            [-24.0, 90.0, 0.0],
            [-1.0, 28.5, 1.0],
            [-2.0, 93.0, 2.0],
            [10.0, 28.6, 0.0],
            [18.0, 86.0, 0.0],
            [19.5, 27.0, -2.0],
            [36.0, 78.0, -4.0],
        ]
    )
    / 1000,
    # Buryanov & Kotiuk (2010), Proportions of hand segments: mean bone lengths, soft tissue added at the tip.
    phalanges=np.array(
        [
            [46.22, 31.57, 21.67 + 5.67],
            [39.78, 22.38, 15.82 + 3.84],
            [44.63, 26.33, 17.40 + 3.95],
            [41.37, 25.65, 17.30 + 3.95],
            [32.74, 18.11, 15.96 + 3.73],
        ]
    )
    / 1000,
    # The spread is that of a flat hand. The roll makes curling fingers converge on the thumb's base, as in ten headset
    # hands (npm handy-work). The thumb points sideways and towards the palm, and is rolled so that it flexes across it.
    digit_rotations=np.stack(
        [
            _rotation_zxy(50, -20, -70),
            _rotation_zxy(5, 0, -5),
            _rotation_zxy(0, 0, 0),
            _rotation_zxy(-5, 0, 6),
            _rotation_zxy(-12, 0, 15),
        ]
    ),
)


MIN_LENGTH, MAX_LENGTH = 0.01, 10.0
"""m, of a hand from the wrist to the middle finger's tip."""


def adult(side: Side, size: float = _ADULT.size) -> Proportions:
    """Return the proportions of a mean adult hand.

    Args:
        side: 'left' or 'right'.
        size: m, from the wrist to the middle finger's tip.

    Raises:
        HandError: the size is outside 0.01..10 m.
    """
    if not MIN_LENGTH <= size <= MAX_LENGTH:
        raise HandError(f"the hand's length is {size:.4g} m, expected {MIN_LENGTH:g} to {MAX_LENGTH:g} m")
    right = _ADULT.scaled(size / _ADULT.size)
    return right if side == "right" else right.mirrored()


def rest_frames_in_wrist(proportions: Proportions) -> Floats:
    """Return T_wrist_joint (J, 4, 4) m of the hand at zero angles."""
    world = np.tile(np.eye(4), (len(JOINTS), 1, 1))
    digit_frames = rot.to_matrix(proportions.digit_rotations)
    for digit, name in enumerate(DIGITS):
        chain = [JOINT_INDEX[joint] for joint in CHAIN_JOINTS[name]]
        first = proportions.first_joints[digit]
        distances = np.concatenate([[0.0], np.cumsum(proportions.phalanges[digit])])
        world[chain, :3, :3] = digit_frames[digit]
        world[chain, :3, 3] = first + distances[:, None] * digit_frames[digit][:, 1]
        if name != "thumb":
            base = JOINT_INDEX[DIGIT_JOINTS[name][0]]
            start = proportions.palm[PALM_JOINTS.index(JOINTS[base])]
            world[base, :3, :3] = rot.frame_from_yz(first - start, digit_frames[digit][:, 2])
            world[base, :3, 3] = start
    return world


def rest_frames(proportions: Proportions) -> Floats:
    """Return T_parent_joint (J, 4, 4) m of the hand at zero angles."""
    world = rest_frames_in_wrist(proportions)
    parents = np.array(PARENTS)
    local = world.copy()
    local[1:] = np.linalg.inv(world[parents[1:]]) @ world[1:]
    return local


def site_positions(proportions: Proportions, spots: tuple[Spot, ...]) -> Floats:
    """Return the positions (M, 3) m of spots in the wrist's frame at zero angles."""
    world = rest_frames_in_wrist(proportions)[[JOINT_INDEX[spot.joint] for spot in spots]]
    offsets = np.array([spot.offset_on(proportions.side) for spot in spots]).reshape(-1, 3)
    positions: Floats = np.einsum("mij,mj->mi", world[:, :3, :3], offsets) + world[:, :3, 3]
    return positions


def to_wrist_frame(proportions: Proportions, spots: tuple[Spot, ...], positions: Floats) -> Floats:
    """Transform markers into the wrist's frame, by fitting the hand to its palm markers in each frame.

    Args:
        proportions: the hand.
        spots: where the M markers sit.
        positions: (F, M, 3) m in the world, NaN where not seen.

    Returns:
        (F, M, 3) m.
    """
    palm = [i for i, spot in enumerate(spots) if on_palm(spot)]
    wrist = rot.fit_rigid_to_visible(site_positions(proportions, tuple(spots[i] for i in palm)), positions[:, palm])
    local: Floats = np.einsum("fji,fmj->fmi", wrist[:, :3, :3], positions - wrist[:, None, :3, 3])
    return local


def build(
    proportions: Proportions,
    limits: AngleLimits = DEFAULT_LIMITS,
    couplings: tuple[CouplingRow, ...] = DEFAULT_COUPLINGS,
) -> HandModel:
    """Build the HandModel of these proportions: 25 joints, a site on each, and a degree of freedom per row of `limits`.

    Raises:
        HandError: the ends of a limit are swapped, or a coupling names a movement that the hand does not have.
    """
    mirror = np.array([1.0, 1.0, 1.0] if proportions.side == "right" else [1.0, -1.0, -1.0])
    rows = sorted(limits.items(), key=lambda row: (JOINT_INDEX[row[0][0]], list(AXES).index(row[0][1])))
    keys = [key for key, _ in rows]
    return HandModel(
        side=proportions.side,
        joints=JOINTS,
        parents=PARENTS,
        rest=rest_frames(proportions),
        movements=tuple(movement for _, movement in keys),
        axes=np.array([AXES[movement] for _, movement in keys]) * mirror,
        axis_joint=np.array([JOINT_INDEX[joint] for joint, _ in keys]),
        limits=np.deg2rad(np.array([degrees for _, degrees in rows], float)),
        neutral=np.deg2rad(np.array([np.clip(NEUTRAL.get(key, 0.0), *limits[key]) for key in keys])),
        couplings=tuple(_coupling(coupling, keys) for coupling in couplings),
        sites=tuple(Site(name, index) for index, name in enumerate(JOINTS)),
    )


def _coupling(coupling: CouplingRow, keys: list[tuple[str, Movement]]) -> Coupling:
    coefficients = np.zeros(len(keys))
    for joint, movement, coefficient in coupling.terms:
        if (joint, movement) not in keys:
            raise HandError(f"a coupling names the {movement} of {joint}, which the hand does not have")
        coefficients[keys.index((joint, movement))] = coefficient
    return Coupling(coefficients, np.deg2rad(coupling.lower), np.deg2rad(coupling.upper), coupling.soft)
