"""Fit the joint angles to the bone directions that the markers show, within the limits.

A solved hand has bones of fixed length and meets the positions of its fingertips. The distances between the markers on
a bone's ends vary (by 13 % at an optical glove's thumb), and digits are not quite planar, so that a solved bone
deviates from the direction between its markers by up to 34 degrees. A rig's hand has other bone lengths and no
positions to meet, but it can have exactly the directions. With u_k the directions of a digit's three bones, d_k the
observed ones, q the angles, L a length that converts directions to positions, and w the weight of the posture,

    min over the angles within limits    Σ W_k |L u_k − L d_k|² + w² Σ ((q − q_solved) / range)²

In a hand model whose bones have no length all joints coincide, and a site at distance L along a bone is at the bone's
direction times L. So directions become positions, and the Jacobian solver can be used. The posture term decides what
directions leave open (the twist of a straight digit); it is too weak to rotate a bone noticeably. Bones whose ends are
not both seen keep their solved directions.
"""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ...hand import kinematics
from ...hand.joints import CHAIN_JOINTS, JOINT_INDEX, JOINTS
from ...hand.kinematics import Pose
from ...hand.model import HandModel, Site
from ...hand.targets import Targets
from ...solvers.jacobian.iteration import LEVENBERG_MARQUARDT, StepMethod, solve_parts
from ...solvers.jacobian.parts import split
from ...solvers.jacobian.problem import RelativePoses, RelativeTargets
from ...solvers.jacobian.residual_rows import AngleWeights, PartsProblem
from ...solvers.smoothing.observability import digits_of, visible_digits
from ...solvers.unseen_fingers import estimate_unseen_fingers

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

CHAINS = np.array([[JOINT_INDEX[joint] for joint in chain] for chain in CHAIN_JOINTS.values()])
"""(5, 4) joints of each digit: the three that bend, and the tip."""
BONES = CHAINS[:, :3]
LENGTH = 0.03
"""m, L: makes rotations of bones comparable to positions of joints."""
WEIGHTS = AngleWeights(rotation=0.0, coupling=0.0, posture=1e-3)
"""A deviation from the solved pose by a joint's whole range counts like 2 degrees of a bone."""
LAST = 4.0
"""W of a digit's last bone; the others have 1. Hinges cannot follow directions out of the digit's plane, and errors of
the fingertips are seen most."""
METHOD = StepMethod(LEVENBERG_MARQUARDT, damping=0.003, homing=0.2, iterations=20, tolerance=3e-3)
"""Steps shrink quadratically: after one of less than 0.003 rad less than 1e-7 rad are left."""
EASE = 0.1
"""s in which a bone blends between its solved and its observed direction when its markers appear or disappear."""
LIKELY = 0.6, 1.6
"""Least and largest distance of the markers on a bone's ends, relative to its length. Beyond these, labels were swapped
or a gap was filled wrongly."""
CHUNK = 1000
"""Frames solved at a time, which limits the memory."""


@dataclass(frozen=True, slots=True, eq=False)
class SeenBones:
    """Bone directions of F frames, from the markers on both ends of each bone."""

    ways: Floats
    """(F, 5, 3, 3) unit vectors in the wrist's frame, of each digit's three bones; NaN where an end is not seen."""
    shares: Floats
    """(F, 5, 3) blend weights: 0 where the direction is unknown, rising to 1 within EASE seconds from there."""


def seen_bones(performance: Pose, targets: Targets) -> SeenBones:
    """Compute bone directions from the targets on joints, in the wrist's frame of the performance."""
    places = np.full((len(targets), len(JOINTS), 3), np.nan)
    for column, site in enumerate(performance.hand.sites[number] for number in targets.sites):
        if not any(site.offset):
            shown_here = targets.weights[:, [column]] > 0
            places[:, site.joint] = np.where(shown_here, targets.positions[:, column], places[:, site.joint])
    away = np.diff(places[:, CHAINS], axis=2)
    lengths = np.linalg.norm(away, axis=-1, keepdims=True)
    low, high = (
        part * np.linalg.norm(performance.hand.rest[CHAINS[:, 1:], :3, 3], axis=-1)[..., None] for part in LIKELY
    )
    away = np.where((lengths > low) & (lengths < high), away / np.maximum(lengths, 1e-6), np.nan)
    turned: Floats = np.einsum("fij,fdbi->fdbj", performance.root[:, :3, :3], away)
    return SeenBones(turned, _shares(targets.times, np.isfinite(turned[..., 0])))


def _shares(times: Floats, known: Bools) -> Floats:
    """Blend weights (F, 5, 3): a smoothstep of the time to the nearest frame that is not known (F, 5, 3)."""
    at = np.broadcast_to(times[:, None, None], known.shape)
    before = np.maximum.accumulate(np.where(known, -np.inf, at), axis=0)
    after = np.minimum.accumulate(np.where(known, np.inf, at)[::-1], axis=0)[::-1]
    share = np.clip(np.minimum(at - before, after - at) / EASE, 0.0, 1.0)
    eased: Floats = np.where(known, share * share * (3.0 - 2.0 * share), 0.0)
    return eased


def as_seen(performance: Pose, limits: Floats, targets: Targets, how: SeenBones) -> Pose:
    """Return the performance with its bones in the observed directions, as far as limits (D, 2) in rad allow.

    A digit without any observed bone in a frame keeps its angles, clamped to the limits. Fingers without a marker
    follow their neighbours.
    """
    hand = performance.hand
    low, high = limits.T
    angles = np.clip(performance.angles, low, high)
    of_digit = np.any(how.shares > 0, axis=2)
    frames = np.flatnonzero(np.any(of_digit, axis=1))
    for part in np.array_split(frames, -(-len(frames) // CHUNK)) if len(frames) else ():
        found = _nearest(_pointer(hand, limits.tobytes()), angles[part], _asked(performance, part, how))
        for digit, filled in enumerate(digits_of(hand)):
            dofs, has = filled[filled >= 0], of_digit[part, digit]
            angles[np.ix_(part[has], dofs)] = found[np.ix_(has, dofs)]
    return estimate_unseen_fingers(replace(performance, angles=angles), np.any(visible_digits(hand, targets), axis=0))[
        0
    ]


def bones(pose: Pose) -> Floats:
    """Bone directions (F, 5, 3, 3) of a pose: unit vectors in the wrist's frame."""
    turns = kinematics.joint_frames(pose.hand, replace(pose, root=np.tile(np.eye(4), (len(pose), 1, 1))))
    ways: Floats = turns[..., :3, 1][:, BONES]
    return ways


@lru_cache(maxsize=8)
def _pointer(hand: HandModel, limits: bytes) -> HandModel:
    """Return the hand with bones of no length, a site at LENGTH along each bone, and other limits (D, 2)."""
    rest = np.array(hand.rest)
    rest[:, :3, 3] = 0.0
    sites = tuple(Site(f"along {JOINTS[joint]}", int(joint), (0.0, LENGTH, 0.0)) for joint in BONES.flat)
    own = np.frombuffer(limits).reshape(hand.limits.shape)
    return replace(hand, rest=rest, limits=own, couplings=(), sites=sites)


def _asked(performance: Pose, frames: NDArray[np.intp], how: SeenBones) -> Floats:
    """Target positions (N, 15, 3) in m for the sites along the bones."""
    solved = bones(Pose(performance.hand, performance.root[frames], performance.angles[frames]))
    share = how.shares[frames][..., None]
    ways = solved + share * (np.where(share > 0, how.ways[frames], solved) - solved)
    ways = ways / np.maximum(np.linalg.norm(ways, axis=-1, keepdims=True), 1e-6)
    asked: Floats = LENGTH * ways.reshape(len(frames), -1, 3)
    return asked


def _nearest(pointer: HandModel, angles: Floats, asked: Floats) -> Floats:
    """Solve the problem above for target positions (N, 15, 3), starting at angles (N, D). Returns angles (N, D)."""
    count, sites = len(angles), np.arange(len(pointer.sites))
    roots = np.tile(np.eye(4), (count, 1, 1))
    weights = np.tile([1.0, 1.0, LAST], (count, len(CHAINS)))
    wanted = RelativeTargets.of(pointer, Targets(np.zeros(count), sites, asked, weights), roots)
    (parts,) = split(pointer, wanted.targeted_sites((True,) * len(sites), (False,) * len(sites)), "digits")
    posture = np.concatenate([angles, np.zeros((count, 1))], axis=1)
    task = PartsProblem(pointer, parts, wanted, WEIGHTS, False, posture)
    solved: Floats = solve_parts(task, METHOD, RelativePoses(roots, posture), WEIGHTS.posture)[0].angles[:, :-1]
    return solved
