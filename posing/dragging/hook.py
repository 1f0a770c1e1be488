"""Keep a finger from hooking while its tip is dragged: it curls instead.

If the tip of a straight finger is dragged straight at the palm, it stays under the mouse only if the MCP joint extends
or abducts while the PIP joint flexes: a hook, which people do not make. So the MCP joint flexes with the PIP joint
instead. The tip then moves along an arc, at the mouse's distance from the MCP joint, and stays under the mouse if it
can do so at another depth.
"""

import numpy as np
from numpy.typing import NDArray

from ...hand.jacobians import ROOT_DOFS
from ...hand.joints import CHAIN_JOINTS, digit_of
from ...hand.kinematics import Pose
from ...hand.model import HandModel
from ...solvers.pose_problem import PoseProblem

Floats = NDArray[np.float64]
_FingerDofs = tuple[int, int, int, int | None]
"""Indices of a finger's angles: MCP, PIP and DIP flexion, and MCP abduction if it has one."""

MAX_PIP_PER_MCP = 2.5
"""rad of PIP flexion for each rad of MCP flexion, above which a finger hooks."""
FREE_PIP = np.deg2rad(10.0)
"""rad by which the PIP joint of a straight finger may flex alone."""
FREE_PIP_PER_START = 3.0
"""Additional rad for each rad of PIP flexion at the start: a bent finger may be dragged into a claw."""
EXTENSION_PER_PIP = 4.0
"""rad by which the MCP joint may extend for each rad that the PIP joint stays below its free flexion."""
DIP_PER_PIP = 2 / 3
"""rad of DIP flexion for each rad of PIP flexion."""
FULL_CORRECTION = np.deg2rad(10.0)
"""rad of missing MCP flexion from which abduction and DIP flexion are corrected in full."""
MIN_ABDUCTION, MAX_ABDUCTION = np.deg2rad(4.0), np.deg2rad(10.0)
"""rad by which abduction may always change, and by which it may change at most, to bring a curled finger under the
mouse."""


def unhooked(problem: PoseProblem, pose: Pose) -> tuple[Pose, Floats] | None:
    """Return the pose with the dragged finger curled instead of hooked, and limits (2, k) rad that prevent hooking.

    None if the finger does not hook, or if the dragged point is not a fingertip.
    """
    hand, joint = pose.hand, pose.hand.sites[problem.objectives[0].site].name
    digit = digit_of(joint)
    dofs = _finger_dofs(hand, digit) if digit is not None and joint == CHAIN_JOINTS[digit][3] else None
    curled = None if dofs is None else _curled(problem.start, pose, dofs)
    return None if dofs is None or curled is None else (curled, _limits(problem, pose, curled, dofs))


def _finger_dofs(hand: HandModel, digit: str) -> _FingerDofs | None:
    """Return the indices of a finger's angles; None if it lacks a flexion."""
    chain = CHAIN_JOINTS[digit]
    mcp, pip, dip = (hand.dof(joint, "flexion") for joint in chain[:3])
    if mcp is None or pip is None or dip is None:
        return None
    return mcp, pip, dip, hand.dof(chain[0], "abduction")


def _curled(start: Pose, pose: Pose, dofs: _FingerDofs) -> Pose | None:
    """Return the pose with the MCP joint flexed as far as its PIP joint requires; None if it already is."""
    mcp, pip, dip, abduction = dofs
    before, angles = start.angles[0], pose.angles[0].copy()
    excess = angles[pip] - before[pip] - FREE_PIP - FREE_PIP_PER_START * max(before[pip], 0.0)
    min_mcp = before[mcp] + (excess / MAX_PIP_PER_MCP if excess > 0.0 else EXTENSION_PER_PIP * excess)
    min_mcp = min(min_mcp, pose.hand.limits[mcp, 1])
    missing = min_mcp - angles[mcp]
    if missing <= 0.0:
        return None
    angles[mcp], correction = min_mcp, min(missing / FULL_CORRECTION, 1.0)
    max_dip = before[dip] + DIP_PER_PIP * (angles[pip] - before[pip])
    angles[dip] -= correction * max(angles[dip] - max_dip, 0.0)
    if abduction is not None:
        change = np.clip(angles[abduction] - before[abduction], -MAX_ABDUCTION, MAX_ABDUCTION)
        angles[abduction] = before[abduction] + (1.0 - correction) * change
    return Pose(pose.hand, pose.root, angles[None])


def _limits(problem: PoseProblem, pose: Pose, curled: Pose, dofs: _FingerDofs) -> Floats:
    """Return limits (2, k) rad of the problem's free variables that exclude poses more hooked than `curled`.

    Abduction stays within its change in `pose`, but MIN_ABDUCTION at least and MAX_ABDUCTION at most.
    """
    low, high = problem.limits.copy()
    mcp, pip, _, abduction = dofs
    low[_column(problem, mcp)] = curled.angles[0, mcp]
    high[_column(problem, pip)] = curled.angles[0, pip]
    if abduction is not None:
        start, column = problem.start.angles[0, abduction], _column(problem, abduction)
        max_change = np.clip(abs(pose.angles[0, abduction] - start), MIN_ABDUCTION, MAX_ABDUCTION)
        low[column], high[column] = max(low[column], start - max_change), min(high[column], start + max_change)
    return np.stack([low, high])


def _column(problem: PoseProblem, angle: int) -> int:
    """Return the column of an angle among the problem's free variables."""
    return int(np.searchsorted(problem.free, ROOT_DOFS + angle))
