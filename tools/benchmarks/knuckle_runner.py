"""Run Knuckle's solvers on the standard hand problem, as a plug-in of the benchmark's harness.

python run.py knuckle_runner A --opt solver=fabrik

The palm's pose is given to all solvers, by the initial state; targets are on the digits only. Targets with rotations
are only used for solvers with the attribute `takes_rotations`.
"""

import sys
import time
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np

import hand as standard

if "knuckle" not in sys.modules:
    # The harness may run this file from any folder, without Knuckle being installed.
    root = Path(__file__).resolve().parents[2]
    spec = spec_from_file_location("knuckle", root / "__init__.py", submodule_search_locations=[str(root)])
    assert spec and spec.loader
    sys.modules["knuckle"] = module_from_spec(spec)
    spec.loader.exec_module(sys.modules["knuckle"])

from knuckle.hand import joints as names
from knuckle.hand.limits import DIP_PER_PIP, AngleLimits, CouplingRow
from knuckle.hand.model import HandModel
from knuckle.hand.proportions import PALM_JOINTS, Proportions, adult, build
from knuckle.hand.rotations import from_matrix
from knuckle.hand.targets import Targets
from knuckle.solvers import SOLVERS, State
from knuckle.solvers.smoothing.angle_smoother import smooth_angles
from knuckle.solvers.smoothing.live_smoother import LiveSmoothedSolver, LiveSmoothedState
from knuckle.solvers.smoothing.take_smoother import smooth as smooth_take

NAME = "Knuckle"
SETTINGS = "limits, DIP = 2/3 PIP, the palm given; the solver by --opt solver=NAME"
KINDS = {"tips", "tip_pose", "phalanges"}
PACKAGES = ("numpy",)

_COLUMNS = ((0, "abduction"), (0, "flexion"), (1, "abduction"), (1, "flexion"), (2, "flexion"))


def standard_hand() -> HandModel:
    """Return the benchmark's hand as a HandModel with the same lengths, frames and limits, and no twist."""
    palm = adult("right").palm.copy()
    for digit, name in enumerate(names.DIGITS):
        palm[PALM_JOINTS.index(names.CHAIN_JOINTS[name][0])] = standard.BASE_P[digit] / 1000
    limits: AngleLimits = {}
    for digit, name in enumerate(names.DIGITS):
        for column, (joint, movement) in enumerate(_COLUMNS):
            if standard.ACTIVE[digit, column]:
                limits[names.CHAIN_JOINTS[name][joint], movement] = tuple(standard.LIM_DEG[digit, column])
    rows = tuple(
        CouplingRow(((joints[2], "flexion", 1.0), (joints[1], "flexion", -DIP_PER_PIP)))
        for name, joints in names.CHAIN_JOINTS.items()
        if name != "thumb"
    )
    shape = Proportions("right", palm, standard.LEN / 1000, from_matrix(standard.BASE_R))
    return build(shape, limits, rows)


def targets_of(hand: HandModel, problem: dict, with_rotations: bool = False) -> Targets:
    """Return a problem's targets in the palm's frame: poses of fingertips, or rotations of phalanges."""
    kind, times = str(problem["kind"]), np.arange(len(problem["q_true"])) * float(problem["dt"])
    if kind == "phalanges":
        sites = [hand.site_index(joint) for chain in names.CHAIN_JOINTS.values() for joint in chain[:3]]
        rotations = problem["phal_quat"].reshape(len(times), 15, 4)
        no_weights = np.zeros((len(times), 15))
        no_positions = np.zeros((*no_weights.shape, 3))
        return Targets(times, np.array(sites), no_positions, no_weights, rotations, no_weights + 1)
    sites = [hand.site_index(tip) for tip in names.TIPS]
    weights = np.ones((len(times), 5))
    rotations = (problem["tip_quat"], weights) if with_rotations and kind == "tip_pose" else ()
    return Targets(times, np.array(sites), problem["tip_target"] / 1000, weights, *rotations)


def columns(hand: HandModel) -> list[tuple[int, int, int]]:
    """Return the benchmark's digit and column of each angle, and its index in the HandModel."""
    result = [
        (digit, column, hand.dof(names.CHAIN_JOINTS[name][joint], movement))
        for digit, name in enumerate(names.DIGITS)
        for column, (joint, movement) in enumerate(_COLUMNS)
    ]
    return [(digit, column, dof) for digit, column, dof in result if dof is not None]


def columns_of(hand: HandModel, angles: np.ndarray) -> np.ndarray:
    """Return angles (F, D) as the benchmark's array (F, 5, 5)."""
    result = np.zeros((len(angles), 5, 5))
    for digit, column, dof in columns(hand):
        result[:, digit, column] = angles[:, dof]
    return result


def _set_up(problem: dict, solver: str) -> tuple[Any, HandModel, Targets]:
    if solver not in SOLVERS:
        raise KeyError(f"knuckle_runner: solver is '{solver}', expected one of {', '.join(SOLVERS)}")
    takes_rotations = getattr(SOLVERS[solver], "takes_rotations", False)
    if str(problem["kind"]) == "phalanges" and not takes_rotations:
        raise ValueError(f"knuckle_runner: the problem has only rotations, which the solver {solver} does not take")
    hand = standard_hand()
    return SOLVERS[solver](), hand, targets_of(hand, problem, takes_rotations)


def solve(problem: dict, solver: str = "fabrik", smooth: bool = False) -> dict:
    """Solve frame by frame, as live; each frame is timed, including the selection of its targets.

    smooth: smooth live, which delays poses by one frame. They are scored against the frames that they belong to; the
    last frame has the pose of the frame before it.
    """
    method, hand, targets = _set_up(problem, solver)
    angles, seconds, state = [], [], State(np.eye(4), hand.neutral)
    if smooth:
        method, state = LiveSmoothedSolver(method), LiveSmoothedState(state.root, state.angles, state, None, None)
    for frame in range(len(targets)):
        start = time.perf_counter()
        pose, state = method.solve(hand, targets.select(slice(frame, frame + 1)), state)
        seconds.append(time.perf_counter() - start)
        angles.append(pose.angles)
    if smooth:
        angles = [*angles[1:], angles[-1]]
    return {"angles": columns_of(hand, np.concatenate(angles)), "positions": None, "per_frame_seconds": seconds}


def solve_batch(problem: dict, solver: str = "fabrik", smooth: bool = False) -> dict:
    """Solve all frames at once, as offline. smooth: smooth the whole take."""
    method, hand, targets = _set_up(problem, solver)
    start = time.perf_counter()
    state = State(np.eye(4), hand.neutral)
    if smooth:
        smoothed = smooth_take(hand, targets)
        pose, _ = method.solve(hand, smoothed.targets, state)
        pose = smooth_angles(hand, smoothed.targets, pose, smoothed.noise)
    else:
        pose, _ = method.solve(hand, targets, state)
    return {"angles": columns_of(hand, pose.angles), "positions": None, "total_seconds": time.perf_counter() - start}
