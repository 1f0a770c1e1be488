"""Fit the joint angles to the bone directions that the markers show, within the limits.

A solved hand has bones of fixed length and meets the positions of its fingertips. The distances between the markers on
a bone's ends vary (by 13 % at an optical glove's thumb), and digits are not quite planar, so that a solved bone
deviates from the direction between its markers by up to 34 degrees. A rig's hand has other bone lengths and no
positions to meet, but it can have exactly the directions. With u_k the directions of a digit's three bones, d_k the
observed ones, q the angles, L a length that converts directions to positions, and w the weight of the posture,

    min over the angles within limits    Σ W_k |L u_k − L d_k|² + w² Σ ((q − q_solved) / range)²

In a hand model whose bones have no length all joints coincide, and a site at distance L along a bone is at the bone's
direction times L. So directions become positions, and the Jacobian solver can be used. The posture term determines what
directions leave open (the twist of a straight digit), and is too weak to rotate a bone noticeably. A bone keeps its
solved direction unless both its ends are seen.
"""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ...hand import kinematics
from ...hand.joints import CHAIN_JOINTS, JOINT_INDEX, JOINTS
from ...hand.kinematics import Pose
from ...hand.model import HandModel, Site
from ...hand.smoothstep import smoothstep
from ...hand.targets import Targets
from ...solvers.jacobian.iteration import LEVENBERG_MARQUARDT, StepMethod, solve_parts
from ...solvers.jacobian.parts import split
from ...solvers.jacobian.relative_targets import RelativePoses, RelativeTargets
from ...solvers.jacobian.residual_rows import AngleWeights, PartsProblem
from ...solvers.smoothing.observability import digits_of, visible_digits
from ...solvers.unseen_fingers import estimate_unseen_fingers

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

CHAINS = np.array([[JOINT_INDEX[joint] for joint in chain] for chain in CHAIN_JOINTS.values()])
"""(5, 4) joints of each digit: the three that bend, and the tip."""
BONES = CHAINS[:, :3]
DIRECTION_LENGTH = 0.03
"""m, L, which converts directions of bones to positions."""
WEIGHTS = AngleWeights(rotation=0.0, coupling=0.0, posture=1e-3)
"""The posture term of a joint that deviates by its whole range equals that of a bone that is off by 2 degrees."""
LAST_BONE_WEIGHT = 4.0
"""W of a digit's last bone; 1 for the others. Hinges cannot follow directions out of the digit's plane, and errors at
fingertips are the most visible."""
STEP_METHOD = StepMethod(LEVENBERG_MARQUARDT, damping=0.003, homing=0.2, iterations=20, tolerance=3e-3)
"""Steps shrink quadratically: after a step of 0.003 rad, the remaining error is below 1e-7 rad."""
BLEND_SECONDS = 0.1
"""s in which a bone blends between its solved and its observed direction when its markers appear or disappear."""
PLAUSIBLE_LENGTHS = 0.6, 1.6
"""Plausible range of the distance of markers on a bone's ends, relative to its length. Outside it, labels are swapped
or a gap was filled wrongly."""
FRAMES_PER_CHUNK = 1000
"""Number of frames solved at a time, to limit memory."""


@dataclass(frozen=True, slots=True, eq=False)
class ObservedDirections:
    """Bone directions of F frames, from the markers on both ends of each bone."""

    directions: Floats
    """(F, 5, 3, 3) unit vectors of each digit's three bones in the wrist's frame; NaN where an end is not seen."""
    weights: Floats
    """(F, 5, 3) blend weights: 0 where the direction is unknown, 1 farther than BLEND_SECONDS from there."""


def observed_directions(performance: Pose, targets: Targets) -> ObservedDirections:
    """Compute bone directions from the targets on joints, in the wrist's frame of the performance."""
    joints = np.full((len(targets), len(JOINTS), 3), np.nan)
    for column, site in enumerate(performance.hand.sites[number] for number in targets.sites):
        if not any(site.offset):
            seen = targets.weights[:, [column]] > 0
            joints[:, site.joint] = np.where(seen, targets.positions[:, column], joints[:, site.joint])
    bones = np.diff(joints[:, CHAINS], axis=2)
    lengths = np.linalg.norm(bones, axis=-1, keepdims=True)
    rest_lengths = np.linalg.norm(performance.hand.rest[CHAINS[:, 1:], :3, 3], axis=-1)[..., None]
    low, high = (ratio * rest_lengths for ratio in PLAUSIBLE_LENGTHS)
    bones = np.where((lengths > low) & (lengths < high), bones / np.maximum(lengths, 1e-6), np.nan)
    directions: Floats = np.einsum("fij,fdbi->fdbj", performance.root[:, :3, :3], bones)
    return ObservedDirections(directions, _blend_weights(targets.times, np.isfinite(directions[..., 0])))


def with_solved_directions(observed: ObservedDirections, performance: Pose) -> ObservedDirections:
    """Return the directions, where digits with no bone between two markers get the directions of their solved bones."""
    unseen = (observed.weights == 0).all(axis=(0, 2))
    directions = np.where(unseen[:, None, None], pose_directions(performance), observed.directions)
    return replace(observed, directions=directions)


def _blend_weights(times: Floats, is_known: Bools) -> Floats:
    """Blend weights (F, 5, 3): a smoothstep of the time to the nearest frame that is not is_known (F, 5, 3)."""
    frame_times = np.broadcast_to(times[:, None, None], is_known.shape)
    last_unknown = np.maximum.accumulate(np.where(is_known, -np.inf, frame_times), axis=0)
    next_unknown = np.minimum.accumulate(np.where(is_known, np.inf, frame_times)[::-1], axis=0)[::-1]
    return np.where(
        is_known, smoothstep(np.minimum(frame_times - last_unknown, next_unknown - frame_times) / BLEND_SECONDS), 0.0
    )


def follow_directions(performance: Pose, limits: Floats, targets: Targets, observed: ObservedDirections) -> Pose:
    """Rotate the bones of a performance to the observed directions, within limits (D, 2) in rad.

    A digit without any observed bone in a frame keeps its angles, clamped to the limits. Fingers without a marker
    follow their neighbours.
    """
    hand = performance.hand
    low, high = limits.T
    angles = np.clip(performance.angles, low, high)
    seen_digits = np.any(observed.weights > 0, axis=2)
    frames = np.flatnonzero(np.any(seen_digits, axis=1))
    model = _direction_model(hand, limits.tobytes())
    for chunk in np.array_split(frames, -(-len(frames) // FRAMES_PER_CHUNK)) if len(frames) else ():
        solved = _solve_angles(model, angles[chunk], _goals(performance, chunk, observed))
        for digit, digit_dofs in enumerate(digits_of(hand)):
            dofs, seen = digit_dofs[digit_dofs >= 0], seen_digits[chunk, digit]
            angles[np.ix_(chunk[seen], dofs)] = solved[np.ix_(seen, dofs)]
    visible = np.any(visible_digits(hand, targets), axis=0)
    return estimate_unseen_fingers(replace(performance, angles=angles), visible)[0]


def pose_directions(pose: Pose) -> Floats:
    """Return bone directions (F, 5, 3, 3) of a pose: unit vectors in the wrist's frame."""
    frames = kinematics.joint_frames(pose.hand, replace(pose, root=np.tile(np.eye(4), (len(pose), 1, 1))))
    directions: Floats = frames[..., :3, 1][:, BONES]
    return directions


@lru_cache(maxsize=8)
def _direction_model(hand: HandModel, limits: bytes) -> HandModel:
    """Return the hand with bones of no length, a site at DIRECTION_LENGTH along each bone, and other limits (D, 2)."""
    rest_transforms = np.array(hand.rest)
    rest_transforms[:, :3, 3] = 0.0
    sites = tuple(Site(f"along {JOINTS[joint]}", int(joint), (0.0, DIRECTION_LENGTH, 0.0)) for joint in BONES.flat)
    shape = hand.limits.shape
    return replace(hand, rest=rest_transforms, limits=np.frombuffer(limits).reshape(shape), couplings=(), sites=sites)


def _goals(performance: Pose, frames: NDArray[np.intp], observed: ObservedDirections) -> Floats:
    """Return target positions (N, 15, 3) in m of the sites along the bones."""
    solved = pose_directions(Pose(performance.hand, performance.root[frames], performance.angles[frames]))
    weights = observed.weights[frames][..., None]
    directions = solved + weights * (np.where(weights > 0, observed.directions[frames], solved) - solved)
    directions = directions / np.maximum(np.linalg.norm(directions, axis=-1, keepdims=True), 1e-6)
    goals: Floats = DIRECTION_LENGTH * directions.reshape(len(frames), -1, 3)
    return goals


def _solve_angles(model: HandModel, angles: Floats, goals: Floats) -> Floats:
    """Solve the problem above for target positions (N, 15, 3), starting at angles (N, D). Returns angles (N, D)."""
    count, sites = len(angles), np.arange(len(model.sites))
    roots = np.tile(np.eye(4), (count, 1, 1))
    weights = np.tile([1.0, 1.0, LAST_BONE_WEIGHT], (count, len(CHAINS)))
    targets = RelativeTargets.of(model, Targets(np.zeros(count), sites, goals, weights), roots)
    (parts,) = split(model, targets.targeted_sites((True,) * len(sites), (False,) * len(sites)), "digits")
    posture = np.concatenate([angles, np.zeros((count, 1))], axis=1)
    problem = PartsProblem(model, parts, targets, WEIGHTS, False, posture)
    solved: Floats = solve_parts(problem, STEP_METHOD, RelativePoses(roots, posture), WEIGHTS.posture)[0].angles[:, :-1]
    return solved
