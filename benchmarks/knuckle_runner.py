"""Knuckle's solvers on the standard hand problem: a runner with the interface of the bench's harness.

python run.py knuckle_runner A --opt solver=fabrik
"""

import sys
import time
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np

import hand as standard

if "knuckle" not in sys.modules:
    # The harness runs this file from anywhere; Knuckle need not be installed.
    root = Path(__file__).resolve().parents[1]
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
from knuckle.solvers import SOLVERS

NAME = "Knuckle"
SETTINGS = "planar FABRIK with limits, DIP = 2/3 PIP"
KINDS = {"tips"}
PACKAGES = ("numpy",)

PALM = ("wrist", *names.KNUCKLES)
_COLUMNS = ((0, "abduction"), (0, "flexion"), (1, "abduction"), (1, "flexion"), (2, "flexion"))


def standard_hand() -> HandModel:
    """The bench's hand as a HandModel: its lengths, frames and limits, no twist."""
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


def targets_of(hand: HandModel, problem: dict, frames: slice = slice(None)) -> Targets:
    """The problem's fingertips in the palm's frame, and the palm itself, as markers."""
    tips = problem["tip_target"][frames] / 1000
    sites = [hand.site_index(name) for name in (*PALM, *names.TIPS)]
    still = np.array([[0, 0, 0], *standard.BASE_P[1:]]) / 1000
    positions = np.concatenate([np.broadcast_to(still, (len(tips), *still.shape)), tips], axis=1)
    times = np.arange(len(tips)) * float(problem["dt"])
    return Targets(times, np.array(sites), positions, np.ones(positions.shape[:2]))


def columns(hand: HandModel) -> list[tuple[int, int, int]]:
    """The bench's digit and column of each degree of freedom, and its index in the HandModel."""
    found = [
        (digit, column, hand.dof(names.CHAIN_JOINTS[name][joint], movement))
        for digit, name in enumerate(names.DIGITS)
        for column, (joint, movement) in enumerate(_COLUMNS)
    ]
    return [(digit, column, dof) for digit, column, dof in found if dof is not None]


def _columns(hand: HandModel, angles: np.ndarray) -> np.ndarray:
    """(F, 5, 5) the bench's order of angles."""
    result = np.zeros((len(angles), 5, 5))
    for digit, column, dof in columns(hand):
        result[:, digit, column] = angles[:, dof]
    return result


def solve(problem: dict, solver: str = "fabrik") -> dict:
    """Frame by frame, as live."""
    hand, method = standard_hand(), SOLVERS[solver]()
    angles, seconds, state = [], [], None
    for frame in range(len(problem["q_true"])):
        targets = targets_of(hand, problem, slice(frame, frame + 1))
        begin = time.perf_counter()
        pose, state = method.solve(hand, targets, state)
        seconds.append(time.perf_counter() - begin)
        angles.append(pose.angles)
    return {"angles": _columns(hand, np.concatenate(angles)), "positions": None, "per_frame_seconds": seconds}


def solve_batch(problem: dict, solver: str = "fabrik") -> dict:
    """All frames at once, as offline."""
    hand = standard_hand()
    targets = targets_of(hand, problem)
    begin = time.perf_counter()
    pose, _ = SOLVERS[solver]().solve(hand, targets)
    return {"angles": _columns(hand, pose.angles), "positions": None, "total_seconds": time.perf_counter() - begin}
