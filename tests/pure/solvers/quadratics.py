"""Random quadratic programs like those of a hand's step: velocities of a wrist and of coupled, limited joints."""

from dataclasses import dataclass, replace

import numpy as np

from knuckle.solvers.qp.quadratic_program import QuadraticProgram

FASTEST = 10.0
"""rad/s"""


@dataclass(frozen=True)
class Kind:
    """What the programs of one batch have in common."""

    digits: int
    joints: int
    """of each digit"""
    wrist: int
    """6 where it moves."""
    seen: int
    """measured coordinates"""
    damping: float
    rows: int

    @property
    def variables(self):
        return self.wrist + self.digits * self.joints


def programs(kind: Kind, count: int, rng: np.random.Generator) -> QuadraticProgram:
    """Each measured coordinate moves with the wrist and with the joints of one digit, by centimetres."""
    n = kind.variables
    digit = rng.integers(kind.digits, size=(count, kind.seen, 1))
    moves = (np.arange(n) < kind.wrist) | ((np.arange(n) - kind.wrist) // kind.joints == digit)
    jacobian = rng.normal(size=(count, kind.seen, n)) * moves * rng.choice([0.02, 0.1, 1.0], n)
    weights = rng.uniform(0.1, 1.0, (count, kind.seen, 1))
    wanted = rng.normal(size=(count, kind.seen, 1))
    transposed = (weights * jacobian).swapaxes(1, 2)
    hessian = transposed @ jacobian + kind.damping * np.eye(n)
    room = rng.choice([0.0, 0.02, 0.3, 1.5], (2, count, n), p=[0.05, 0.25, 0.4, 0.3])
    low, high = FASTEST * np.tanh(room * [[[-1]], [[1]]])
    low[:, : kind.wrist], high[:, : kind.wrist] = -np.inf, np.inf
    rows, lows, highs = _couplings(kind, count, rng)
    gradient = -(transposed @ wanted)[:, :, 0]
    return QuadraticProgram(hessian, gradient, np.hstack((low, lows)), np.hstack((high, highs)), rows)


def _couplings(kind: Kind, count: int, rng: np.random.Generator):
    """Two joints of one digit move in a ratio, or nearly."""
    rows = np.zeros((count, kind.rows, kind.variables))
    each, row = np.ogrid[:count, : kind.rows]
    first = kind.wrist + kind.joints * rng.integers(kind.digits, size=(count, kind.rows)) + kind.joints - 2
    rows[each, row, first] = -rng.uniform(0.3, 1.0, (count, kind.rows))
    rows[each, row, first + 1] = 1.0
    slack = rng.choice([0.0, 0.1, 2.0], (2, count, kind.rows))
    slack[1] = np.where(slack[0] == 0, 0, slack[1])
    return rows, -slack[0], slack[1]


def with_rows(program: QuadraticProgram, rows, low, high) -> QuadraticProgram:
    """The programs with further rows (N, k, n)."""
    return replace(
        program,
        rows=np.concatenate((program.rows, rows), axis=1),
        low=np.hstack((program.low, low)),
        high=np.hstack((program.high, high)),
    )


def degenerate(program: QuadraticProgram, kind: Kind, rng: np.random.Generator) -> QuadraticProgram:
    """The same programs with all that makes active sets stumble, and still a solution: bounds that the optimum touches
    of itself, every first row twice, a row of zeros, a row that only one corner of the box satisfies."""
    free = -np.linalg.solve(program.hessian, program.gradient[:, :, None])[:, :, 0]
    touched = (rng.random(free.shape) < 0.2) & (np.arange(kind.variables) >= kind.wrist)
    low, high = program.low.copy(), program.high.copy()
    joints = slice(0, kind.variables)
    low[:, joints] = np.where(touched & (free < 0), np.maximum(low[:, joints], free), low[:, joints])
    high[:, joints] = np.where(touched & (free > 0), np.minimum(high[:, joints], free), high[:, joints])
    program = replace(program, low=low, high=high)
    if kind.rows:
        first = kind.variables
        program = with_rows(program, 3 * program.rows[:, :1], 3 * low[:, [first]], 3 * high[:, [first]])
    rows, farthest = corner(program, kind, rng)
    nothing = np.zeros((len(low), 1))
    program = with_rows(program, 0 * rows, nothing, nothing)
    return with_rows(program, rows, np.where(rng.random(farthest.shape) < 0.5, farthest, -np.inf), farthest)


def corner(program: QuadraticProgram, kind: Kind, rng: np.random.Generator):
    """A row (N, 1, n) over two joints that no coupling knows, and (N, 1) the most that the box lets it be."""
    rows = np.zeros((len(program.low), 1, kind.variables))
    rows[:, :, kind.wrist : kind.wrist + 2] = rng.uniform(-1, 1, (len(rows), 1, 2))
    joints = slice(kind.wrist, kind.wrist + 2)
    picked = rows[:, 0, joints]
    most = np.where(picked > 0, picked * program.high[:, joints], picked * program.low[:, joints])
    return rows, most.sum(axis=1, keepdims=True)


def infeasible(program: QuadraticProgram, kind: Kind, rng: np.random.Generator) -> tuple[QuadraticProgram, np.ndarray]:
    """A third of the programs with a row that asks for more than the box or another row allows; and (N,) which."""
    rows, most = corner(program, kind, rng)
    if kind.rows:
        against = rng.random(len(rows)) < 0.5
        rows[against], most[against] = program.rows[against, :1], program.high[against, kind.variables, None]
    impossible = rng.random(len(rows)) < 1 / 3
    wanted = np.where(impossible[:, None], most + rng.choice([0.001, 0.1, 3.0], most.shape), -np.inf)
    return with_rows(program, rows, wanted, np.full(most.shape, np.inf)), impossible
