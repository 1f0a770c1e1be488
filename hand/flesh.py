"""The flesh of a hand's digits and palm: tapered capsules on its bones, and their depths in each other.

A digit's phalanges have half its thickness as radii, which grow or shrink from joint to joint; the palm is the flesh
below its four metacarpals. Overlaps of straight fingers, as at their webs, do not count as depth. Tkach et al. (2016)
track hands with such capsules, sphere-meshes, and keep fingers apart by them.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from .calibration.joint_radii import radii_of_size
from .joints import CHAIN_JOINTS, DIGITS, JOINT_INDEX
from .kinematics import Pose, joint_frames
from .lengths import dots, lengths, squared_lengths
from .model import HandModel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Reals = TypeVar("Reals", NDArray[np.float32], NDArray[np.float64])
"""Points at either precision: a whole take is searched in single precision, a pose is solved in double."""

PALM = len(DIGITS)
"""Index of the palm among a hand's parts, after the digits."""
TIP_RADIUS_RATIO = 0.8
"""Radius at a fingertip relative to that at the last joint."""
PALM_FLESH_RATIO = 1.2
"""Flesh of the palm below its metacarpals, relative to the finger's radius at its knuckle."""

NEAR_JOINT = 0.3
"""Fraction of a bone within which skin is near a joint."""
TIP_POSITION = 0.6
"""Position on the last bone, as a fraction of it, at which a tip's thickness is measured: it is rounded beyond."""
THICKNESS_QUANTILE = 0.2
"""Quantile of the skin's distances from a bone that is taken for half the thickness, since digits are wider than
thick."""
MIN_SKIN_POINTS = 6
"""Minimum number of skin points that determine a joint's thickness."""

_BONES = [[JOINT_INDEX[joint] for joint in CHAIN_JOINTS[digit]] for digit in DIGITS]
STARTS: Ints = np.array([*(bones[k] for bones in _BONES for k in range(3)), *(bones[0] - 1 for bones in _BONES[1:])])
ENDS: Ints = np.array([*(bones[k + 1] for bones in _BONES for k in range(3)), *(bones[0] for bones in _BONES[1:])])
"""(19,) joints at the starts of the capsules and at their ends: three capsules for each digit, four for the palm. The
joint at the start moves the capsule."""
PARTS_OF_CAPSULES: Ints = np.array([*np.repeat(np.arange(len(DIGITS)), 3), *[PALM] * 4])
"""(19,) the digit of each capsule, or PALM."""
LINKS_OF_CAPSULES: Ints = np.array([*np.tile([0, 1, 2], len(DIGITS)), *[0] * 4])
"""(19,) index of each capsule in its digit, from the palm outwards."""
_TIPS = np.flatnonzero(LINKS_OF_CAPSULES == 2)


@dataclass(frozen=True, slots=True, eq=False)
class Flesh:
    """The flesh of a hand: 19 capsules, and K pairs of capsules that may touch."""

    radii: Floats
    """(19, 2) m, at the start and end of each capsule."""
    pairs: Ints
    """(2, K)"""
    overlaps: Floats
    """(K,) m, at least 0: how deep each pair overlaps with straight fingers."""

    @classmethod
    def of(cls, hand: HandModel, radii: Floats | None = None, digits: Collection[str] = DIGITS) -> "Flesh":
        """Return the flesh on a hand's bones.

        radii: (5, 4) m, half the thickness of its digits at their joints and tips; usual values by default and for NaN.
        digits: the digits that the hand has.
        """
        straight = Pose.at_origin(hand, np.zeros((1, hand.dofs)))
        # Single precision, as for takes, makes the depth of straight fingers exactly zero.
        positions = joint_frames(hand, straight)[..., :3, 3].astype(np.float32)
        joint_radii = usual_radii(float(np.linalg.norm(positions[0, JOINT_INDEX["middle-finger-tip"]])))
        if radii is not None:
            joint_radii = np.where(np.isnan(radii), joint_radii, radii)
        phalanges = np.stack([joint_radii[:, :-1], joint_radii[:, 1:]], axis=2).reshape(-1, 2)
        palm = np.repeat(PALM_FLESH_RATIO * joint_radii[1:, :1], 2, axis=1)
        capsules = [index for index, part in enumerate(PARTS_OF_CAPSULES) if part == PALM or DIGITS[part] in digits]
        touching = [(a, b) for a in capsules for b in capsules if a < b and _may_touch(a, b)]
        pairs = np.array(touching, int).reshape(-1, 2).T
        flesh = cls(np.concatenate([phalanges, palm]), pairs, np.zeros(pairs.shape[1]))
        overlaps = touches(flesh, positions, np.zeros(pairs.shape[1], int), np.arange(pairs.shape[1])).depths
        return cls(flesh.radii, pairs, np.maximum(overlaps, 0.0))

    @property
    def parts(self) -> Ints:
        """(2, K) the parts to which the capsules of each pair belong: a digit, or PALM."""
        return PARTS_OF_CAPSULES[self.pairs]


@dataclass(frozen=True, slots=True, eq=False)
class Touches:
    """Nearest points of N pairs of capsules, each pair in one frame."""

    depths: Floats
    """(N,) m, depth in each other beyond that of straight fingers; negative where they are apart."""
    points: Floats
    """(2, N, 3) m, the nearest points of the two axes."""
    shares: Floats
    """(2, N) positions of these points on the axes, from 0 at the start to 1 at the end."""


def usual_radii(size: float) -> Floats:
    """Return half the usual thickness (5, 4) m of the digits at their joints and tips. size: the hand's length in m."""
    joints = radii_of_size(size)
    return np.concatenate([joints, TIP_RADIUS_RATIO * joints[:, 2:]], axis=1)


def radii_of_skin(joints: Floats, points: Floats, joint_of: Ints) -> Floats:
    """Return half the thickness (5, 4) m of a hand's digits at their joints and tips, NaN where few points are near.

    Args:
        joints: (J, 3) m, the joints of the hand at rest, NaN for those that it lacks.
        points: (V, 3) m, its skin at rest.
        joint_of: (V,) the joint that moves each point most.
    """
    radii = np.full((len(DIGITS), 4), np.nan)
    for digit, bones in enumerate(_BONES):
        # Distance of each point from the bone that moves it, and its position along that bone, 0..1.
        distance, along = (np.full((3, len(points)), np.nan) for _ in range(2))
        for link in range(3):
            rows = np.flatnonzero(joint_of == bones[link])
            bone = joints[bones[link + 1]] - joints[bones[link]]
            length = float(np.linalg.norm(bone))
            if length > 0.0:
                offsets = points[rows] - joints[bones[link]]
                along[link, rows] = offsets @ bone / length**2
                distance[link, rows] = np.linalg.norm(offsets - along[link, rows, None] * bone, axis=1)
        for joint in range(4):
            is_near = np.zeros_like(along, bool)
            if joint < 3:
                is_near[joint] = np.abs(along[joint]) < NEAR_JOINT
            if joint > 0:
                is_near[joint - 1] |= np.abs(along[joint - 1] - (TIP_POSITION if joint == 3 else 1.0)) < NEAR_JOINT
            if is_near.sum() >= MIN_SKIN_POINTS:
                radii[digit, joint] = np.quantile(distance[is_near], THICKNESS_QUANTILE)
    # The thumb's first joint is inside the ball of the thumb.
    radii[0, 0] = np.nan
    return radii


def _may_touch(a: int, b: int) -> bool:
    """Return whether two capsules belong to different parts that are not connected.

    The base of a digit is connected to the palm, and so is the thumb's proximal phalanx: its base is in the ball of the
    thumb, which moves with it, so its capsule is 3 to 8 mm deep in the palm even if the skin touches nothing.
    """
    last_connected_link = 1 if PARTS_OF_CAPSULES[a] == 0 else 0
    is_connected = PARTS_OF_CAPSULES[b] == PALM and LINKS_OF_CAPSULES[a] <= last_connected_link
    return bool(PARTS_OF_CAPSULES[a] != PARTS_OF_CAPSULES[b] and not is_connected)


def axes(flesh: Flesh, joints: Reals) -> tuple[Reals, Reals]:
    """Return the starts and ends (F, 19, 3) m of the capsules' axes, for joints (F, J, 3) m.

    The skin ends at the tip's joint, so the last capsule of a digit ends a radius before it.
    """
    starts, ends = joints[:, STARTS], joints[:, ENDS]
    directions = ends[:, _TIPS] - starts[:, _TIPS]
    length = np.maximum(lengths(directions), 1e-6)[..., None]
    ends[:, _TIPS] -= directions * np.minimum(flesh.radii[_TIPS, 1][:, None].astype(directions.dtype) / length, 1.0)
    return starts, ends


def near_pairs(flesh: Flesh, joints: NDArray[np.float32]) -> tuple[Ints, Ints]:
    """Return frame and pair (N,) of capsules whose bounding spheres touch; joints (F, J, 3) m."""
    starts, ends = axes(flesh, joints)
    a, b = flesh.pairs
    sphere_radii = lengths(ends - starts) / 2 + flesh.radii.max(axis=1).astype(np.float32)
    middle = (starts + ends) / 2
    offset = middle[:, a] - middle[:, b]
    spheres_touch = squared_lengths(offset) < (sphere_radii[:, a] + sphere_radii[:, b]) ** 2
    frames, pairs = np.nonzero(spheres_touch)
    return frames, pairs


def touches(flesh: Flesh, joints: NDArray[np.floating], frame: Ints, pair: Ints) -> Touches:
    """Return the nearest points of pairs (N,) of capsules in frames (N,) of joints (F, J, 3) m.

    Depth is the sum of the radii where the axes are nearest, less their distance.
    """
    starts, ends = (points.reshape(-1, 3) for points in axes(flesh, joints))
    first_capsule, second_capsule = (capsules.take(pair) for capsules in flesh.pairs)
    first, second = (len(flesh.radii) * frame + capsule for capsule in (first_capsule, second_capsule))
    p, q, r, v = (points.take(rows, axis=0) for rows in (first, second) for points in (starts, ends))
    s, t = nearest_on_segments(p, q, r, v)
    points = np.stack([p + s[:, None] * (q - p), r + t[:, None] * (v - r)])
    radius = radius_at(flesh, first_capsule, s) + radius_at(flesh, second_capsule, t)
    depth = radius - flesh.overlaps.take(pair) - lengths(points[0] - points[1])
    return Touches(depth, points, np.stack([s, t]))


def radius_at(flesh: Flesh, capsules: int | Ints, fractions: float | NDArray[np.floating]) -> Floats:
    """Return the radii (N,) m of capsules (N,), or of one, at fractions (N,) of their axes."""
    ends = flesh.radii.take(capsules, axis=0)
    radii: Floats = ends[..., 0] + fractions * (ends[..., 1] - ends[..., 0])
    return radii


def nearest_on_segments(p: Reals, q: Reals, r: Reals, s: Reals) -> tuple[Reals, Reals]:
    """Return the nearest points of segments p to q and r to s (N, 3), as fractions (N,) of each.

    Ericson, Real-Time Collision Detection (2005), 5.1.9.
    """
    u, v, w = q - p, s - r, p - r
    uu, vv, uv, uw, vw = (dots(x, y) for x, y in ((u, u), (v, v), (u, v), (u, w), (v, w)))
    uu, vv = np.maximum(uu, 1e-12), np.maximum(vv, 1e-12)
    denominator = uu * vv - uv * uv
    on_first = np.clip((uv * vw - uw * vv) / np.maximum(denominator, 1e-6 * uu * vv), 0.0, 1.0)
    on_second = np.clip((uv * on_first + vw) / vv, 0.0, 1.0)
    on_first = np.clip((uv * on_second - uw) / uu, 0.0, 1.0)
    return on_first, on_second
