"""The flesh on a right hand's bones: limbs for the digits, the palm and the webs, from tables for an adult hand in mm.

Widths and depths are those of a hand 185 mm long, between the means of women and men (Greiner 1991, Hand anthropometry
of US Army personnel); their profiles along a digit were drawn by eye.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .. import rotations as rot
from ..joints import CHAIN_JOINTS, DIGIT_JOINTS, DIGITS, JOINT_INDEX
from ..kinematics import Pose, joint_frames
from ..model import HandModel
from ..proportions import Proportions, adult, build
from ..smoothstep import smoothstep
from .implicit_surface import Limb, smooth_union

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Columns: station (0 MCP, 1 PIP, 2 DIP, 3 tip), half-width, height above and depth below the axis, centre in x and z.
FINGER_PROFILE = np.array(
    [
        [-0.20, 10.2, 10.4, 13.4, 0, 0],
        [0.00, 10.3, 10.9, 13.4, 0, 0],
        [0.20, 10.0, 10.0, 12.8, 0, 0],
        [0.42, 9.1, 8.8, 11.4, 0, 0],
        [0.58, 8.7, 8.3, 10.3, 0, 0],
        [0.76, 8.7, 8.2, 9.6, 0, 0],
        [0.92, 9.3, 8.8, 8.7, 0, 0],
        [1.00, 9.4, 9.0, 8.3, 0, 0],
        [1.12, 9.2, 8.5, 8.6, 0, 0],
        [1.35, 8.5, 7.4, 9.1, 0, 0],
        [1.65, 8.0, 6.8, 8.6, 0, 0],
        [1.90, 8.0, 6.9, 7.4, 0, 0],
        [2.00, 8.0, 6.8, 7.1, 0, 0],
        [2.15, 7.8, 6.2, 7.4, 0, 0],
        [2.45, 7.4, 5.2, 8.0, 0, 0],
        [2.70, 7.0, 4.8, 7.6, 0, 0],
        [3.00, 6.2, 4.3, 6.6, 0, 0],
    ]
)
DIGIT_THICKNESS = (1.0, 1.0, 1.03, 0.96, 0.86)
"""Scale of each digit relative to its profile."""

# Columns as above; stations: 0 CMC, 1 MCP, 2 IP, 3 tip.
THUMB_PROFILE = np.array(
    [
        [-0.28, 5.5, 6.0, 5.0, 0, 0],
        [-0.10, 10.0, 9.0, 10.5, 0, 0],
        [0.15, 12.5, 11.0, 14.0, 0, 0],
        [0.50, 12.0, 10.4, 13.5, 0, 0],
        [0.80, 10.6, 10.2, 11.6, 0, 0],
        [1.00, 10.2, 10.6, 10.2, 0, 0],
        [1.18, 9.4, 9.2, 9.4, 0, 0],
        [1.50, 8.7, 7.9, 9.0, 0, 0],
        [1.80, 9.4, 8.1, 8.6, 0, 0],
        [2.00, 10.0, 8.4, 8.0, 0, 0],
        [2.20, 9.9, 7.4, 8.8, 0, 0],
        [2.45, 9.8, 6.0, 9.7, 0, 0],
        [2.70, 9.2, 5.2, 9.0, 0, 0],
        [3.00, 7.8, 4.6, 7.4, 0, 0],
    ]
)

# Columns: station (0 metacarpal base, 1 MCP), half-width, height above and depth below the axis.
METACARPAL_PROFILE = np.array(
    [
        [-0.15, 12.5, 9.5, 11.0],
        [0.20, 13.3, 10.2, 11.5],
        [0.60, 13.2, 10.0, 13.2],
        [0.97, 12.4, 10.5, 13.2],
        [1.07, 11.0, 9.8, 12.6],
        [1.20, 8.0, 7.0, 9.5],
    ]
)
# Columns: mm along the forearm's axis, half-width, height above and depth below the axis.
WRIST_PROFILE = np.array([[-36, 26.0, 18.5, 18.5], [-14, 26.0, 16.5, 17.5], [8, 27.0, 12.5, 15.5], [30, 23, 8, 11]])
FOREARM_AXIS_MM = (1.0, -1.0)
"""Position of the forearm's axis in x and z, mm."""
MIN_WIDTH_FACTOR = 0.5
"""Lower bound of the factor on a finger's width that keeps it from touching its neighbours."""
WRIST_SHIFT_RANGE_MM = (-35.0, 0.0)
"""mm, bounds of the shift of the forearm's start along the hand."""
TIP_LENGTH = 1.25
"""Length of a rounded fingertip, relative to its half-width."""


@dataclass(frozen=True, slots=True, eq=False)
class FleshVolume:
    """The volume of a right hand, as limbs."""

    hand: HandModel
    joints: Floats
    """(25, 4, 4) T_wrist_joint at angles of zero."""
    scale: float
    """Scale relative to the tables."""
    digits: tuple[Limb, ...]
    """Thumb first; each from its first moving joint to its tip."""
    joint_y: Floats
    """(5, 4) m, positions of each digit's joints along its axis, starting with 0."""
    wrist: Limb
    palm: tuple[tuple[Limb, float, float], ...]
    """The limbs of the palm, each with the width in m of its blend into the preceding limbs: on the back, and in the
    palm."""

    def palm_distance(self, points: Floats) -> Floats:
        """Return the signed distance (N,) m to the palm without its digits."""
        result = np.full(len(points), 1.0)
        # Bones show on the back of the hand; the palm side is padded.
        padded = smoothstep(-points[:, 2], 0, 0.008 * self.scale)
        for limb, back, front in self.palm:
            result = smooth_union(result, limb.distance(points), back + (front - back) * padded)
        return result

    def distance(self, points: Floats, owner: Ints) -> Floats:
        """Return the signed distance (N,) m to the skin of the palm and the digits' bases, negative inside.

        Args:
            points: (N, 3) m.
            owner: (N,) the digit to which each point belongs: only this digit and the palm count for its distance. −1
                for a point of the palm, for which all digits count.
        """
        palm = self.palm_distance(points)
        result = palm.copy()
        for digit, limb in enumerate(self.digits):
            affected = (owner == digit) | (owner < 0)
            if affected.any():
                width = self._blend_width(digit, points[affected])
                result[affected] = np.minimum(
                    result[affected], smooth_union(palm[affected], limb.distance(points[affected]), width)
                )
        return result

    def _blend_width(self, digit: int, points: Floats) -> Floats:
        """Return the width (N,) m of a digit's blend into the palm: wide for the thumb, but not beyond its MCP."""
        if digit:
            return np.full(len(points), 0.0035 * self.scale)
        y = self.digits[0].to_local(points)[:, 1]
        mcp_y = self.joint_y[0, 1]
        return np.asarray(0.018 * self.scale * (1 - smoothstep(y, 0.5 * mcp_y, 1.05 * mcp_y)))


def flesh_volume(proportions: Proportions) -> FleshVolume:
    """Build the volume of a right hand with these proportions."""
    hand = build(proportions)
    joints = joint_frames(hand, Pose(hand, np.eye(4)[None], np.zeros((1, hand.dofs))))[0]
    scale = _thickness_scale(proportions)
    joint_y = np.concatenate([np.zeros((5, 1)), np.cumsum(proportions.phalanges, axis=1)], axis=1)
    thickness = np.array(DIGIT_THICKNESS) * scale
    width_factors = _width_factors(joints, joint_y, thickness)
    digits = tuple(_digit(digit, joints, joint_y[digit], thickness[digit], width_factors[digit]) for digit in range(5))
    wrist = _wrist(proportions, scale)
    palm_limbs = [
        *((_metacarpal(digit, joints, scale), 0.008, 0.017) for digit in range(1, 5)),
        (wrist, 0.018, 0.018),
        (_first_web(joints, scale), 0.010, 0.010),
        (_thenar(joints, scale), 0.022, 0.022),
        (_hypothenar(joints, scale), 0.012, 0.012),
        *((_web(digit, joints, joint_y, scale), 0.006, 0.006) for digit in range(1, 4)),
    ]
    palm = tuple((limb, back * scale, front * scale) for limb, back, front in palm_limbs)
    return FleshVolume(hand, joints, scale, digits, joint_y, wrist, palm)


def _thickness_scale(proportions: Proportions) -> float:
    """Return the thickness of the hand relative to the tables: the geometric mean of length and breadth."""
    standard = adult("right")

    def breadth(hand: Proportions) -> float:
        return float(np.linalg.norm(hand.palm[2] - hand.palm[8]))

    return float(np.sqrt(proportions.size / standard.size * breadth(proportions) / breadth(standard)))


WIDTH_STATIONS = np.array([0.3, 0.42, 0.6, 0.8, 1, 1.25, 1.5, 1.75, 2, 2.25, 2.5, 2.75, 3])
"""Stations of FINGER_PROFILE at which the widths of neighbouring fingers are compared."""


def _width_factors(joints: Floats, joint_y: Floats, thickness: Floats) -> Floats:
    """Return factors (5, WIDTH_STATIONS) on each digit's width that keep neighbouring digits from touching."""
    factors = np.ones((5, len(WIDTH_STATIONS)))
    axes, widths = [], []
    for digit in range(1, 5):
        frame = joints[JOINT_INDEX[CHAIN_JOINTS[DIGITS[digit]][0]]]
        axes.append(frame[:3, 3] + np.interp(WIDTH_STATIONS, range(4), joint_y[digit])[:, None] * frame[:3, 1])
        widths.append(np.interp(WIDTH_STATIONS, FINGER_PROFILE[:, 0], FINGER_PROFILE[:, 1]) / 1000 * thickness[digit])
    for a in range(3):
        distances = np.linalg.norm(axes[a][:, None] - axes[a + 1][None], axis=-1)
        clearance = np.clip(0.87 * distances / (widths[a][:, None] + widths[a + 1][None]), MIN_WIDTH_FACTOR, 1)
        factors[a + 1] = np.minimum(factors[a + 1], clearance.min(1))
        factors[a + 2] = np.minimum(factors[a + 2], clearance.min(0))
    return factors


def _digit(digit: int, joints: Floats, joint_y: Floats, thickness: float, width_factors: Floats) -> Limb:
    table = THUMB_PROFILE if digit == 0 else FINGER_PROFILE
    stations = np.interp(table[:, 0], [-1, 0, 1, 2, 3], [-joint_y[1], *joint_y])
    profile = table[:, 1:] / 1000 * thickness
    # Proximal to the web, the palm determines the width.
    profile[:, 0] *= np.interp(table[:, 0], [0, *WIDTH_STATIONS], [1, *width_factors])
    frame = joints[JOINT_INDEX[CHAIN_JOINTS[DIGITS[digit]][0]]]
    return Limb.from_stations(frame, stations, profile, 2.3, back_power=2.2, tip_length=TIP_LENGTH * profile[-1, 0])


def _metacarpal(digit: int, joints: Floats, scale: float) -> Limb:
    base, knuckle = (joints[JOINT_INDEX[name]] for name in DIGIT_JOINTS[DIGITS[digit]][:2])
    length = float(np.linalg.norm(knuckle[:3, 3] - base[:3, 3]))
    profile = METACARPAL_PROFILE[:, 1:] / 1000 * scale * DIGIT_THICKNESS[digit]
    return Limb.from_stations(base, METACARPAL_PROFILE[:, 0] * length, profile, 2.4, back_power=2.2)


def _wrist(proportions: Proportions, scale: float) -> Limb:
    """Return the wrist and the end of the forearm, which starts further back for a longer palm."""
    mm = scale / 1000
    cmc_y, base_y = proportions.palm[0, 1], proportions.palm[1::2, 1].mean()
    adult_y = adult("right").palm[:, 1]
    shift = min(cmc_y / mm - adult_y[0] * 1000, base_y / mm - adult_y[1::2].mean() * 1000)
    stations = WRIST_PROFILE[:, 0] + np.clip(shift, *WRIST_SHIFT_RANGE_MM) * np.array([1, 1, 0.5, 0])
    frame = np.eye(4)
    frame[[0, 2], 3] = np.array(FOREARM_AXIS_MM) * mm
    return Limb.from_stations(frame, stations * mm, WRIST_PROFILE[:, 1:] * mm, 2.3)


def _web(digit: int, joints: Floats, joint_y: Floats, scale: float) -> Limb:
    """Return the web between two fingers, out to half of their proximal phalanges on the palm side."""
    a, b = (joints[JOINT_INDEX[CHAIN_JOINTS[DIGITS[d]][0]]] for d in (digit, digit + 1))
    bone_length = min(joint_y[digit, 1], joint_y[digit + 1, 1])
    along, back, across = a[:3, 1] + b[:3, 1], a[:3, 2] + b[:3, 2], b[:3, 3] - a[:3, 3]
    frame = np.eye(4)
    frame[:3, :3] = rot.frame_from_yz(across, back)
    frame[:3, 3] = a[:3, 3] + along / 2 * 0.15 * bone_length - back / 2 * 0.0025 * scale
    # The limb's axis is across the hand, so its half-width is along the fingers.
    profile = np.array([[0.24 * bone_length, 0.0085 * scale, 0.0098 * scale]] * 2)
    return Limb.from_stations(frame, [0, float(np.linalg.norm(across))], profile, 2.2, back_power=2.0)


def _first_web(joints: Floats, scale: float) -> Limb:
    """Return the muscle and skin between the metacarpals of thumb and index finger."""
    cmc, mcp, _, _ = (joints[JOINT_INDEX[name]][:3, 3] for name in CHAIN_JOINTS["thumb"])
    base, knuckle = (joints[JOINT_INDEX[name]][:3, 3] for name in DIGIT_JOINTS["index-finger"][:2])
    thumb_end = cmc + 0.62 * (mcp - cmc)
    # The index end is as far distal of the thumb's end as in the standard hand, whatever the position of the thumb.
    index_fraction = (thumb_end[1] + 0.026 * scale - base[1]) / (knuckle[1] - base[1])
    index_end = base + np.clip(index_fraction, 0.3, 0.66) * (knuckle - base)
    root, across = (cmc + base) / 2, index_end - thumb_end
    middle = (thumb_end + index_end) / 2
    frame = np.eye(4)
    frame[:3, :3] = rot.frame_from_yz(middle - root, np.cross(across, middle - root))
    frame[:3, 3] = root
    length, half_width = float(np.linalg.norm(middle - root)), float(np.linalg.norm(across)) / 2
    mm = scale / 1000
    profile = np.array(
        [[0.3 * half_width, 9 * mm, 11 * mm], [0.7 * half_width, 7 * mm, 9 * mm], [half_width, 4 * mm, 5 * mm]]
    )
    return Limb.from_stations(frame, [0, 0.5 * length, length], profile, 2.2)


def _muscle(a: Floats, b: Floats, back: Floats, profile: Floats, scale: float) -> Limb:
    """Return a muscle from a to b. profile: (K, 3) mm at equal steps; back: the direction of its upper side."""
    frame = np.eye(4)
    frame[:3, :3], frame[:3, 3] = rot.frame_from_yz(b - a, back), a
    stations = np.linspace(0, float(np.linalg.norm(b - a)), len(profile))
    return Limb.from_stations(frame, stations, profile / 1000 * scale, 2.2)


def _thenar(joints: Floats, scale: float) -> Limb:
    """Return the ball of the thumb, from the middle of the wrist to the thumb's MCP."""
    cmc, mcp = (joints[JOINT_INDEX[name]][:3, 3] for name in CHAIN_JOINTS["thumb"][:2])
    middle = joints[JOINT_INDEX["middle-finger-metacarpal"]][:3, 3]
    a = 0.62 * cmc + 0.38 * middle + np.array([0, -0.018, -0.004]) * scale
    # Even if the thumb starts far from the palm, its ball starts at the wrist.
    a[2] = max(a[2], -0.0112 * scale)
    b = mcp + 0.06 * (cmc - mcp) + np.array([0.004, 0.002, 0]) * scale
    profile = np.array([[8, 8, 7], [12.5, 10, 11.5], [15, 10, 14], [12.5, 9, 12], [8.5, 8, 8.5]])
    return _muscle(a, b, np.array([-0.25, -0.1, 1.0]), profile, scale)


def _hypothenar(joints: Floats, scale: float) -> Limb:
    """Return the muscles along the little finger's side of the palm."""
    base, knuckle = (joints[JOINT_INDEX[name]][:3, 3] for name in DIGIT_JOINTS["pinky-finger"][:2])
    a = base + np.array([-1.0, -26, -4]) / 1000 * scale
    b = base + 0.86 * (knuckle - base) + np.array([1.5, 0, -4]) / 1000 * scale
    profile = np.array([[6, 8, 8], [9.5, 10, 11.5], [11.5, 10, 13], [10.8, 9, 11.5], [8.0, 8, 8]])
    return _muscle(a, b, np.array([0.15, 0, 1.0]), profile, scale)
