"""How a person's digit curls: all its joints together, in its plane.

A fingertip under the mouse leaves angles open. They are chosen as a person's: the middle joint bends with the knuckle,
the last with the middle one, and a finger does not bend its middle joint while its knuckle extends or leans sideways.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...hand.jacobians import ROOT_DOFS
from ...hand.joints import CHAIN_JOINTS, DIGITS, JOINT_INDEX
from ...hand.kinematics import Pose
from ...hand.model import HandModel
from ...solvers.pose_problem import REFERENCE_LENGTH, PoseProblem

Floats = NDArray[np.float64]

PIP_PER_MCP = 1.5
"""Flexion of a finger's middle joint for each radian of its knuckle's."""
MCP_PER_CMC, IP_PER_MCP = 1.2, 1.8
"""The same of the thumb's joints. All are first principal directions of the flexions in 11 takes of three performers of
Han et al. (2018) and in the bundled Leap recording, joined; the fingers' is that of all four."""
CURL_COST = 0.003
"""m, the marker error that a radian away from there costs, on a hand of the usual length."""
SIDEWAYS_COSTS = {"abduction": 0.004, "twist": 0.004}
"""m, the marker errors that a radian of a first joint's movement costs."""
HELD = np.deg2rad(5.0)
"""rad that a knuckle may extend while its finger hooks, or lean sideways for a goal that is not beside it."""
HOOKED = np.deg2rad(5.0)
"""rad of the middle joint's flexion from which a finger hooks."""
REACHED = 1e-4
"""m on a hand of the usual length: a point so near to its goal is there."""
BESIDE = 0.7
"""Cosine of the angle on the screen between the way sideways and that to a goal which is beside a finger."""
SIDEWAYS = 0.5
"""m for each radian, on a finger of 1 m: a knuckle leans only if that brings the point so much nearer to its goal."""
SEEN = 0.5
"""Part of its length from which the way sideways is seen."""


def curl_preferences(hand: HandModel, digit: str) -> list[Floats]:
    """Rows (D,) of soft couplings for PoseProblem.of, m/rad."""
    first, middle, last, _ = CHAIN_JOINTS[digit]
    if digit == "thumb":
        pairs = [(first, middle, MCP_PER_CMC), (middle, last, IP_PER_MCP)]
    else:
        pairs = [(first, middle, PIP_PER_MCP)]
    rows = []
    for inner, outer, ratio in pairs:
        bends, row = [_angle(hand, joint, "flexion") for joint in (outer, inner)], np.zeros(hand.dofs)
        if min(bends) >= 0:
            row[bends] = CURL_COST, -ratio * CURL_COST
            rows.append(row)
    for movement, cost in SIDEWAYS_COSTS.items():
        angle, row = _angle(hand, first, movement), np.zeros(hand.dofs)
        if angle >= 0:
            row[angle] = cost
            rows.append(row)
    return rows


@dataclass(frozen=True, slots=True)
class Knuckle:
    """The angles of a finger's knuckle, and of its middle joint."""

    extends: int
    leans: int
    bends: int

    @classmethod
    def of(cls, problem: PoseProblem) -> "Knuckle | None":
        """That of the finger whose angles are free; None for a thumb, and for a finger without one of the angles."""
        joints = problem.hand.axis_joint[problem.free - ROOT_DOFS]
        digit = next(digit for digit in DIGITS if JOINT_INDEX[CHAIN_JOINTS[digit][1]] in joints)
        first, middle, _, _ = CHAIN_JOINTS[digit]
        named = (first, "flexion"), (first, "abduction"), (middle, "flexion")
        angles = [_angle(problem.hand, *each) for each in named]
        return None if digit == "thumb" or min(angles) < 0 else cls(*angles)

    def held(self, problem: PoseProblem, extended: float = 0.0, leaned: float = 0.0) -> PoseProblem:
        """The problem in which a knuckle extends and leans no farther than HELD and so many rad more."""
        limits, start = problem.limits.copy(), problem.start.angles[0]
        extends, leans = np.searchsorted(problem.free, [ROOT_DOFS + self.extends, ROOT_DOFS + self.leans])
        limits[0, extends] = max(limits[0, extends], start[self.extends] - HELD - extended)
        most = HELD + leaned
        limits[:, leans] = np.clip([start[self.leans] - most, start[self.leans] + most], *limits[:, leans])
        return replace(problem, limits=limits)

    def released(self, problem: PoseProblem, held: Pose, found: Pose) -> PoseProblem:
        """The problem in which the knuckle moves as far as a pose found without holding it has reason to.

        It extends as long as the finger does not bend, and leans towards a goal beside it.
        """
        change = found.angles[0] - problem.start.angles[0]
        straight = 1.0 - min(1.0, max(0.0, float(change[self.bends]) / HOOKED))
        extended, leaned = (
            max(0.0, -float(change[self.extends]) - HELD),
            max(0.0, abs(float(change[self.leans])) - HELD),
        )
        nearer = miss(problem, held) - miss(problem, found)
        gains = nearer > SIDEWAYS * leaned * REFERENCE_LENGTH * problem.scale
        leans = _beside(problem, problem.start) or (gains and _beside(problem, held))
        return self.held(problem, straight * extended, leaned if leans else 0.0)


def miss(problem: PoseProblem, pose: Pose) -> float:
    """m from the first objective's point to where it should be."""
    return float(np.linalg.norm(_way_left(problem, pose)))


def _way_left(problem: PoseProblem, pose: Pose) -> Floats:
    """(3,) m in the world, from the first objective's point to where it should be."""
    objective, root = problem.objectives[0], pose.root[0]
    point = root[:3, :3] @ problem.chains.at(pose.angles).positions[0, 0] + root[:3, 3]
    return _across(objective.position - point, objective.along)


def _across(vector: Floats, along: Floats | None) -> Floats:
    """The part of a vector (3,) that is seen from a direction."""
    return vector if along is None else vector - (vector @ along) * along


def _beside(problem: PoseProblem, pose: Pose) -> bool:
    """Whether the first objective's goal is beside where a pose has its point, not along the finger or below it."""
    left = _way_left(problem, pose)
    sideways = _across(pose.root[0, :3, 0], problem.objectives[0].along)
    seen = float(np.linalg.norm(sideways))
    return seen > SEEN and abs(float(left @ sideways)) > BESIDE * seen * float(np.linalg.norm(left))


def _angle(hand: HandModel, joint: str, movement: str) -> int:
    """The index of a joint's angle; -1 if it does not have it."""
    joints = hand.axis_joint.tolist()
    found = [n for n, each in enumerate(joints) if each == JOINT_INDEX[joint] and hand.movements[n] == movement]
    return found[0] if found else -1
