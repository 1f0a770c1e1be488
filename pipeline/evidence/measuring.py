"""Evidence of a solved hand, computed by forward kinematics of the keyed pose."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...hand import rotations as rot
from ...hand.flesh import Flesh
from ...hand.joints import CHAIN_JOINTS, DIGITS, JOINT_INDEX
from ...hand.kinematics import Pose
from ...hand.lengths import lengths
from ...hand.model import HandModel
from ...hand.targets import Targets
from ...solvers.solver import residuals
from .evidence import MEASURE_INDEX, MEASURES, PALM, PARTS, HandEvidence
from .skin_depth import depths

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

AT_LIMIT_TOLERANCE = np.deg2rad(0.1)
"""rad, distance from a limit within which an angle counts as being at it."""
MIN_LEVER = 0.01
"""m, minimum bone length by which a marker's motion is converted to a rotation."""

_PART_OF_JOINT = np.full(len(JOINT_INDEX), PALM)
for _part, _digit in enumerate(DIGITS):
    _PART_OF_JOINT[[JOINT_INDEX[_joint] for _joint in CHAIN_JOINTS[_digit]]] = _part
_TIPS = [JOINT_INDEX[joints[-1]] for joints in CHAIN_JOINTS.values()]


@dataclass(frozen=True, eq=False)
class SolvedFrames:
    """The inputs of a hand's evidence: F frames, T targets, J joints."""

    targets: Targets
    """The cleaned markers, not smoothed."""
    pose: Pose
    """The solved hand."""
    keyed: Pose
    """The keyed pose, of the solved hand or a rig's hand."""
    measured: Bools
    """(F, T) whether a target was seen, not filled in or removed."""
    predicted: Bools
    """(F, J) where no measured marker determines the joint."""
    corrected: Bools
    """(F, T) where cleaning removed the marker's position, or a swap was undone."""
    doubt: Floats
    """(F, T) 0..1, probability that the marker's label is wrong."""
    flesh: Flesh
    """Flesh of the keyed hand."""
    ever_measured: Bools | None = None
    """(T,) whether a target is measured anywhere in the take of which these frames are a piece; None for a whole
    take."""
    depths: Floats | None = None
    """(F, P) mm, depth of each part in other parts; None if not measured yet."""
    hidden: Bools | None = None
    """(F, T) whether a correction hides a marker that was seen; None without such corrections."""

    @cached_property
    def errors(self) -> Floats:
        """(F, T) mm, distance of each marker from the solved hand; NaN where not measured."""
        return np.where(self.measured, 1000 * residuals(self.pose.hand, self.targets, self.pose), np.nan)


def part_of_sites(hand: HandModel, sites: Ints) -> Ints:
    """Return the index of the part (T,) of each site."""
    parts: Ints = _PART_OF_JOINT[[JOINT_INDEX[hand.joints[hand.sites[site].joint]] for site in sites]]
    return parts


def measure_hand(solved: SolvedFrames) -> HandEvidence:
    """Compute the evidence of a hand."""
    hand, targets = solved.pose.hand, solved.targets
    errors = solved.errors
    part = part_of_sites(hand, targets.sites)
    is_tip = np.isin([hand.sites[site].joint for site in targets.sites], _TIPS)
    inside = _in_wrist(solved.pose.root, targets.positions)
    worn = solved.measured.any(axis=0) if solved.ever_measured is None else solved.ever_measured
    dof_joints = solved.keyed.hand.axis_joint
    values = np.full((len(targets), len(PARTS), len(MEASURES)), np.nan, np.float32)

    def put(name: str, part_values: Floats) -> None:
        values[..., MEASURE_INDEX[name]] = part_values

    put("tip_error", _maximum(np.where(is_tip, errors, np.nan), part))
    put("marker_error", _maximum(errors, part))
    put("marker_leap", _maximum(_leaps(inside, solved.measured), part))
    put("joint_leap", _joint_leaps(solved, inside, part))
    joints = solved.keyed.joints_in_wrist
    put("jerk", _jerk(joints[:, _TIPS], solved.keyed.root, targets.times))
    put("depth", depths(solved.flesh, joints) if solved.depths is None else solved.depths)
    put("predicted", _mean(solved.predicted.astype(float), _PART_OF_JOINT))
    # Markers that the user has hidden need no evidence.
    unseen = ~solved.measured if solved.hidden is None else ~(solved.measured | solved.hidden)
    put("unseen", _mean(unseen[:, worn].astype(float), part[worn]))
    put("corrected", _mean(solved.corrected.astype(float), part))
    put("at_limit", _mean(at_limit(solved.keyed).astype(float), _PART_OF_JOINT[dof_joints]))
    put("label_doubt", _maximum(solved.doubt, part))
    return HandEvidence(hand.side, values)


def at_limit(pose: Pose) -> Bools:
    """Return (F, D) whether an angle with a range is at one of its limits."""
    low, high = pose.hand.limits.T
    free = high - low > 2 * AT_LIMIT_TOLERANCE
    at_limits: Bools = free & ((pose.angles < low + AT_LIMIT_TOLERANCE) | (pose.angles > high - AT_LIMIT_TOLERANCE))
    return at_limits


def _maximum(values: Floats, part: Ints) -> Floats:
    """Return the maximum (F, P) of the known values (F, N) of each part, NaN where there is none."""
    maxima = np.full((len(values), len(PARTS)), np.nan)
    for index in np.unique(part):
        maxima[:, index] = np.fmax.reduce(values[:, part == index], axis=1)
    return maxima


def _mean(values: Floats, part: Ints) -> Floats:
    """Return the mean (F, P) of the values (F, N) of each part, NaN for a part without any."""
    means = np.full((len(values), len(PARTS)), np.nan)
    for index in np.unique(part):
        means[:, index] = values[:, part == index].mean(axis=1)
    return means


def _in_wrist(root: Floats, points: Floats) -> Floats:
    """Transform points (F, N, 3) from the world to the wrist's frame. root: (F, 4, 4) T_world_wrist."""
    inside: Floats = np.matmul(points - root[:, None, :3, 3], root[:, :3, :3])
    return inside


def _leaps(positions: Floats, measured: Bools) -> Floats:
    """Return (F, T) mm, half the second difference of positions (F, T, 3) m, NaN next to unmeasured ones."""
    leaps = np.full(measured.shape, np.nan)
    if len(positions) > 2:
        second = positions[1:-1] - (positions[:-2] + positions[2:]) / 2
        is_measured = measured[1:-1] & measured[:-2] & measured[2:]
        leaps[1:-1] = np.where(is_measured, 1000 * lengths(second), np.nan)
    return leaps


def _joint_leaps(solved: SolvedFrames, inside: Floats, part: Ints) -> Floats:
    """Return (F, P) degrees by which joints rotate between frames beyond what the motion of their markers explains.

    A marker that moves by m on a bone of length l explains a rotation of m / l. inside: (F, T, 3) m, markers in the
    wrist's frame. NaN where no marker was measured in both frames.
    """
    keyed = solved.keyed
    leaps = np.full((len(keyed), len(PARTS)), np.nan)
    if len(keyed) < 2:
        return leaps
    angles = np.degrees(rot.angles_between(keyed.rotations[1:], keyed.rotations[:-1]))
    is_measured = solved.measured[1:] & solved.measured[:-1]
    movement = np.where(is_measured, lengths(inside[1:] - inside[:-1]), np.nan)
    explained = np.degrees(_maximum(movement, part)[:, _PART_OF_JOINT] / _levers(keyed.hand))
    leaps[1:] = _maximum(np.maximum(angles - explained, 0.0), _PART_OF_JOINT)
    leaps[:, PALM] = np.nan
    return leaps


def _levers(hand: HandModel) -> Floats:
    """Return (J,) m, the length of the bone that starts at each joint; at a fingertip, of the bone that ends there."""
    bone_lengths = np.linalg.norm(hand.rest[:, :3, 3], axis=1)
    levers = bone_lengths.copy()
    for joint, parent in enumerate(hand.parents):
        if parent > 0:
            levers[parent] = bone_lengths[joint]
    longest: Floats = np.maximum(levers, MIN_LEVER)
    return longest


def _jerk(tips: Floats, root: Floats, times: Floats) -> Floats:
    """Return (F, P) m/s³, the jerk of each fingertip in the wrist's frame, and of the wrist in the world.

    tips (F, 5, 3) m in the wrist's frame; root (F, 4, 4).
    """
    jerk = np.full((len(tips), len(PARTS)), np.nan)
    if len(tips) < 4:
        return jerk
    points = np.concatenate([tips, root[:, None, :3, 3]], axis=1)
    step = np.maximum((times[3:] - times[:-3]) / 3, 1e-6)[:, None]
    third = lengths(points[3:] - 3 * points[2:-1] + 3 * points[1:-2] - points[:-3])
    jerk[2:-1] = third / step**3
    return jerk
