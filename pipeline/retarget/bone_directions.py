"""Bones as they are seen: of all angles within limits those whose bones point as the markers on their ends do.

A solved hand has bones of one length and meets its fingertips' places. The markers' bones do not keep their lengths (an
optical glove's thumb changes by 13 %), and digits are not quite planar, so that a solved bone points up to 34 degrees
beside the way between the markers on its joints. A character's hand has other lengths anyway, and no places to meet:
what it can have exactly is how bones point. With u_k the directions of a digit's three bones, d_k those seen, q the
solved pose's angles, L the length that directions are given and w the worth of the posture,

    min over the angles within limits    Σ W_k |L u_k − L d_k|² + w² Σ ((q − q_solved) / range)²

A hand whose bones have no length has all its joints in one place, and a site at L along a bone is where the bone
points: so these are places for the steps of the Jacobian solver. The posture decides what directions do not tell (how a
straight digit is rolled), and is too weak to turn a bone by much. Where a bone's ends are not both seen, it points as
solved.
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
from ...solvers.jacobian.iteration import CAREFUL, StepMethod, search
from ...solvers.jacobian.parts import cut
from ...solvers.jacobian.problem import RelativePoses, RelativeTargets
from ...solvers.jacobian.residual_rows import AngleWeights, PartTargets
from ...solvers.smoothing.observability import digits_of, shown
from ...solvers.unseen_fingers import accompanied

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

CHAINS = np.array([[JOINT_INDEX[joint] for joint in chain] for chain in CHAIN_JOINTS.values()])
"""(5, 4) each digit's joints that bend, and its tip."""
BONES = CHAINS[:, :3]
LENGTH = 0.03
"""m, L: with it a turn of a bone counts like the place of a joint."""
WORTH = AngleWeights(turn=0.0, coupling=0.0, posture=1e-3)
"""A joint's whole range away from the solved pose counts like 2 degrees of a bone."""
LAST = 4.0
"""W of a digit's last bone, the others' are 1: what is out of a digit's plane no hinge can have, and people look at
fingertips."""
METHOD = StepMethod(CAREFUL, damping=0.003, homing=0.2, iterations=20, tolerance=3e-3)
"""Steps shrink quadratically: after one of less than 0.003 rad less than 1e-7 rad are left."""
EASE = 0.1
"""s over which a bone goes from how it is solved to how it is seen, where its markers come and go."""
LIKELY = 0.6, 1.6
"""Markers whose distance is not between these parts of the bone's length are not on its ends: labels were swapped, or a
place was filled in wrongly."""
CHUNK = 1000
"""Frames at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class SeenBones:
    """How the bones of F frames point by the markers on both their ends."""

    ways: Floats
    """(F, 5, 3, 3) unit, of each digit's three bones in the wrist's frame; NaN where not both ends are seen."""
    shares: Floats
    """(F, 5, 3) from 0 where that is not known to 1, EASE seconds away."""


def seen_bones(performance: Pose, targets: Targets) -> SeenBones:
    """What the targets in joints tell of how bones point, with the wrist where the performance has it."""
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
    """(F, 5, 3) how far, smoothly, from the nearest frame in which what is known (F, 5, 3) is not."""
    at = np.broadcast_to(times[:, None, None], known.shape)
    before = np.maximum.accumulate(np.where(known, -np.inf, at), axis=0)
    after = np.minimum.accumulate(np.where(known, np.inf, at)[::-1], axis=0)[::-1]
    share = np.clip(np.minimum(at - before, after - at) / EASE, 0.0, 1.0)
    eased: Floats = np.where(known, share * share * (3.0 - 2.0 * share), 0.0)
    return eased


def as_seen(performance: Pose, limits: Floats, targets: Targets, how: SeenBones) -> Pose:
    """The performance with its bones as they are seen, as near as limits (D, 2) rad let them.

    A digit of which nothing is seen in a frame stays as it is, within the limits; fingers without a marker go along.
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
    return accompanied(replace(performance, angles=angles), np.any(shown(hand, targets), axis=0))[0]


def bones(pose: Pose) -> Floats:
    """(F, 5, 3, 3) unit, how the bones of a pose point in the wrist's frame."""
    turns = kinematics.joint_frames(pose.hand, replace(pose, root=np.tile(np.eye(4), (len(pose), 1, 1))))
    ways: Floats = turns[..., :3, 1][:, BONES]
    return ways


@lru_cache(maxsize=8)
def _pointer(hand: HandModel, limits: bytes) -> HandModel:
    """The hand with all its joints in one place, a site at LENGTH along each bone, and limits (D, 2) of its own."""
    rest = np.array(hand.rest)
    rest[:, :3, 3] = 0.0
    sites = tuple(Site(f"along {JOINTS[joint]}", int(joint), (0.0, LENGTH, 0.0)) for joint in BONES.flat)
    own = np.frombuffer(limits).reshape(hand.limits.shape)
    return replace(hand, rest=rest, limits=own, couplings=(), sites=sites)


def _asked(performance: Pose, frames: NDArray[np.intp], how: SeenBones) -> Floats:
    """(N, 15, 3) m, where the sites of the pointer are to be."""
    solved = bones(Pose(performance.hand, performance.root[frames], performance.angles[frames]))
    share = how.shares[frames][..., None]
    ways = solved + share * (np.where(share > 0, how.ways[frames], solved) - solved)
    ways = ways / np.maximum(np.linalg.norm(ways, axis=-1, keepdims=True), 1e-6)
    asked: Floats = LENGTH * ways.reshape(len(frames), -1, 3)
    return asked


def _nearest(pointer: HandModel, angles: Floats, asked: Floats) -> Floats:
    """(N, D) rad, the angles nearest to angles (N, D) whose sites are at places (N, 15, 3), by the formula above."""
    count, sites = len(angles), np.arange(len(pointer.sites))
    roots = np.tile(np.eye(4), (count, 1, 1))
    weights = np.tile([1.0, 1.0, LAST], (count, len(CHAINS)))
    wanted = RelativeTargets.of(pointer, Targets(np.zeros(count), sites, asked, weights), roots)
    (parts,) = cut(pointer, wanted.asked((True,) * len(sites), (False,) * len(sites)), "digits")
    posture = np.concatenate([angles, np.zeros((count, 1))], axis=1)
    task = PartTargets(pointer, parts, wanted, WORTH, False, posture)
    solved: Floats = search(task, METHOD, RelativePoses(roots, posture), WORTH.posture)[0].angles[:, :-1]
    return solved
