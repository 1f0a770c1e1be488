"""The quadratic programs of dynamical inverse kinematics, against daqp and against the conditions of an optimum."""

from dataclasses import fields, replace

import daqp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import lsq_linear

from knuckle.errors import SolverError
from knuckle.solvers.qp.quadratic_program import QuadraticProgram, Status, solve, solve_all

from .quadratics import Kind, degenerate, infeasible, programs

TIPS = Kind(digits=5, joints=4, wrist=6, seen=24, damping=1e-3, rows=5)
GLOVE = Kind(digits=5, joints=5, wrist=6, seen=50, damping=1e-2, rows=8)
STILL = Kind(digits=5, joints=5, wrist=0, seen=15, damping=1e-4, rows=0)
DIGIT = Kind(digits=1, joints=4, wrist=0, seen=3, damping=1e-3, rows=1)
THUMB = Kind(digits=1, joints=6, wrist=0, seen=6, damping=1e-6, rows=2)
SHARES = [(TIPS, 12_000), (GLOVE, 12_000), (STILL, 16_000), (DIGIT, 30_000), (THUMB, 30_000)]
"""100 000 in all, a third of them degenerate, and of these a third impossible."""
KINDS = [kind for kind, _ in SHARES]
NONE = np.zeros((0, 2))
few = settings(max_examples=20, deadline=None)
seeds = st.integers(0, 2**32 - 1)
kinds = st.sampled_from(KINDS)


def vars_of(record):
    return [getattr(record, field.name) for field in fields(record)]


def select(record, which):
    """Some of a batch of programs or solutions."""
    return type(record)(*(array[which] for array in vars_of(record)))


one = select


def by_daqp(program: QuadraticProgram):
    """(N, n) daqp's solutions and (N,) whether it finds one."""
    answers = [
        daqp.solve(*map(np.ascontiguousarray, (p.hessian, p.gradient, p.rows, p.high, p.low)), primal_tol=1e-11)
        for p in (one(program, index) for index in range(len(program.low)))
    ]
    return np.array([answer[0] for answer in answers]), np.array([answer[2] > 0 for answer in answers])


def assert_optimal(program: QuadraticProgram, solution):
    """The conditions of an optimum, which are enough for one where H is positive definite."""
    x, multipliers = solution.x, solution.multipliers
    values = np.hstack((x, (program.rows @ x[:, :, None])[:, :, 0]))
    pull = (program.hessian @ x[:, :, None])[:, :, 0] + program.gradient
    pull += multipliers[:, : x.shape[1]]
    pull += (program.rows.swapaxes(1, 2) @ multipliers[:, x.shape[1] :, None])[:, :, 0]
    assert np.abs(pull).max() < 1e-9
    assert (np.maximum(values - program.high, program.low - values)).max() < 1e-9
    room = np.where(multipliers > 0, program.high - values, values - program.low)
    assert np.where(np.abs(multipliers) > 1e-9, np.abs(room), 0.0).max() < 1e-9


@pytest.mark.parametrize(("kind", "count"), SHARES)
def test_a_hundred_thousand_programs_are_solved_as_daqp_solves_them(kind, count):
    rng = np.random.default_rng(kind.variables)
    plain = programs(kind, count * 2 // 3, rng)
    awkward, impossible = infeasible(degenerate(programs(kind, count - count * 2 // 3, rng), kind, rng), kind, rng)
    for program, without in ((plain, np.zeros(len(plain.low), dtype=bool)), (awkward, impossible)):
        ours = solve_all(program)
        theirs, found = by_daqp(program)
        assert np.array_equal(ours.status, np.where(without, Status.INFEASIBLE, Status.SOLVED))
        assert_optimal(select(program, ~without), select(ours, ~without))
        # So tight a tolerance makes daqp give up some programs of which ours was just shown to be the optimum.
        assert not np.any(found & without)
        assert np.mean(~found & ~without) < 0.02
        apart = np.abs(ours.x - theirs)[found].max()
        assert apart < 1e-9, f"{apart:.1e} rad/s > 1e-9"


@few
@given(kind=kinds, seed=seeds, damping=st.sampled_from([1e-6, 1e-8]))
def test_a_hessian_near_singular_still_ends_in_an_optimum(kind, seed, damping):
    program = programs(replace(kind, damping=damping), 50, np.random.default_rng(seed))
    solution = solve_all(program)
    assert np.all(solution.status == Status.SOLVED)
    assert_optimal(program, solution)


@few
@given(kind=kinds, seed=seeds)
def test_where_it_begins_decides_nothing(kind, seed):
    rng = np.random.default_rng(seed)
    program, impossible = infeasible(degenerate(programs(kind, 30, rng), kind, rng), kind, rng)
    cold = solve_all(program)
    anywhere = rng.integers(-1, 2, program.low.shape).astype(np.int8)
    for start in (cold.working, anywhere):
        warm = solve_all(program, start)
        assert np.array_equal(warm.status, cold.status)
        assert np.abs(warm.x - cold.x)[~impossible].max() < 1e-9
        assert np.abs(warm.x - cold.x).max() < 1e-5


@few
@given(kind=kinds, seed=seeds)
def test_a_motion_followed_from_frame_to_frame_is_solved_as_each_frame_alone(kind, seed):
    ends = programs(kind, 2, np.random.default_rng(seed))
    working = None
    for along in np.linspace(0, 1, 20):
        share = np.array([1 - along, along])
        arrays = [np.where(np.isinf(a[0]), a[0], np.einsum("k,k...", share, np.nan_to_num(a))) for a in vars_of(ends)]
        frame = QuadraticProgram(*arrays)
        followed, alone = solve(frame, working), solve(frame)
        assert np.abs(followed.x - alone.x).max() < 1e-9
        working = followed.working


@few
@given(kind=kinds, seed=seeds)
def test_no_answer_depends_on_the_other_programs_of_its_batch(kind, seed):
    rng = np.random.default_rng(seed)
    program, _ = infeasible(degenerate(programs(kind, 12, rng), kind, rng), kind, rng)
    together = solve_all(program)
    for index in range(12):
        alone = solve(one(program, index))
        assert np.array_equal(alone.working, together.working[index])
        assert np.abs(alone.x - together.x[index]).max() < 1e-12
        assert alone.status == together.status[index]


@few
@given(kind=kinds, seed=seeds, cost=st.sampled_from([2.0**-20, 2.0**20]), unit=st.sampled_from([2.0**-10, 2.0**10]))
def test_units_change_nothing_but_the_units(kind, seed, cost, unit):
    rng = np.random.default_rng(seed)
    program = degenerate(programs(kind, 20, rng), kind, rng)
    plain = solve_all(program)
    hessian, gradient = cost * program.hessian / unit**2, cost * program.gradient / unit
    scaled = solve_all(QuadraticProgram(hessian, gradient, program.low * unit, program.high * unit, program.rows))
    assert np.abs(scaled.x / unit - plain.x).max() < 1e-10
    low, high = program.low.copy(), program.high.copy()
    low[:, kind.variables :] *= unit
    high[:, kind.variables :] *= unit
    longer = solve_all(replace(program, low=low, high=high, rows=program.rows * unit))
    assert np.abs(longer.x - plain.x).max() < 1e-10


@few
@given(kind=kinds, seed=seeds)
def test_what_cannot_be_met_is_violated_least(kind, seed):
    rng = np.random.default_rng(seed)
    program, impossible = infeasible(programs(kind, 10, rng), kind, rng)
    solution = solve_all(program)
    n = kind.variables
    for index in np.flatnonzero(impossible):
        p, x = one(program, index), solution.x[index]
        assert solution.status[index] == Status.INFEASIBLE
        assert np.all((x >= p.low[:n]) & (x <= p.high[:n]))
        ours, least = violation(p, x), violation(p, least_violating(p))
        assert ours < least + 1e-6, f"{ours:.9f} > {least:.9f}"


def violation(program: QuadraticProgram, x):
    """How far x is from meeting the rows, each scaled by a power of two to coefficients up to 1."""
    n = program.rows.shape[1]
    values = program.rows @ x
    over = np.maximum(np.maximum(values - program.high[n:], program.low[n:] - values), 0.0)
    return np.linalg.norm(over / lengths(program))


def lengths(program: QuadraticProgram):
    return 2.0 ** (1 + np.floor(np.log2(np.abs(program.rows).max(axis=1))))


def least_violating(program: QuadraticProgram):
    """By scipy: least squares on the variables and on rows that have room of their own between their bounds."""
    p, n = program.rows.shape
    length = lengths(program)[:, None]
    room = np.eye(p) / length
    low, high = np.hstack((program.low[:n], program.low[n:])), np.hstack((program.high[:n], program.high[n:] + 1e-12))
    high[:n] = np.maximum(high[:n], low[:n] + 1e-12)
    return lsq_linear(np.hstack((program.rows / length, -room)), np.zeros(p), (low, high), tol=1e-14).x[:n]


def test_the_best_of_those_that_violate_least_is_taken():
    """x0 ≥ 2 against x0 ≤ 1 leaves x0 = 1; x1 is free for what it wants."""
    hessian = np.array([[2.0, 1.0], [1.0, 2.0]])
    solution = solve(
        QuadraticProgram(
            hessian, np.array([0.0, -5.0]), -np.ones(3) * [1, 9, -2], np.array([1.0, 9.0, np.inf]), np.eye(2)[:1]
        )
    )
    assert solution.status == Status.INFEASIBLE
    assert solution.x == pytest.approx([1.0, 2.0], abs=1e-7)


def test_bounds_that_cross_count_as_one_at_their_middle():
    solution = solve(
        QuadraticProgram(np.eye(2), np.array([-9.0, -3.0]), np.array([2.0, -np.inf]), np.array([1.0, np.inf]), NONE)
    )
    assert solution.status == Status.INFEASIBLE
    assert solution.x == pytest.approx([1.5, 3.0], abs=1e-12)


def test_without_bounds_it_is_the_solution_of_the_linear_system():
    program = programs(replace(GLOVE, rows=0), 20, np.random.default_rng(0))
    free = replace(program, low=np.full_like(program.low, -np.inf), high=np.full_like(program.high, np.inf))
    expected = -np.linalg.solve(program.hessian, program.gradient[:, :, None])[:, :, 0]
    assert np.abs(solve_all(free).x - expected).max() < 1e-11


@pytest.mark.parametrize("name", ["hessian", "gradient", "low", "high", "rows"])
def test_what_is_not_a_number_is_reported_with_its_place(name):
    program = programs(DIGIT, 4, np.random.default_rng(0))
    values = getattr(program, name).copy()
    values[(2, *[0] * (values.ndim - 1))] = np.nan
    with pytest.raises(SolverError, match=r"2, 0.* is nan"):
        solve_all(replace(program, **{name: values}))


def test_a_bound_that_no_number_meets_is_reported():
    with pytest.raises(SolverError, match=r"lower bound 0, 1 is inf"):
        solve(QuadraticProgram(np.eye(2), np.ones(2), np.array([0.0, np.inf]), np.full(2, np.inf), NONE))


@pytest.mark.parametrize("hessian", [np.zeros((2, 2)), -np.eye(2), np.diag([1.0, 0.0])])
def test_a_hessian_that_is_not_positive_definite_is_reported(hessian):
    with pytest.raises(SolverError, match="smallest eigenvalue of the Hessian 0, 0 is"):
        solve(QuadraticProgram(hessian, np.ones(2), -np.ones(2), np.ones(2), NONE))


def test_rows_may_be_shared_by_all_programs():
    program = programs(GLOVE, 20, np.random.default_rng(0))
    repeated = replace(program, rows=np.repeat(program.rows[:1], 20, axis=0))
    shared = solve_all(replace(program, rows=program.rows[0]))
    assert np.array_equal(shared.x, solve_all(repeated).x)
    assert_optimal(repeated, shared)


def test_no_programs_have_no_solutions():
    assert solve_all(select(programs(DIGIT, 3, np.random.default_rng(0)), slice(0, 0))).x.shape == (0, 4)


def test_the_arrays_given_are_left_alone():
    rng = np.random.default_rng(0)
    program, _ = infeasible(degenerate(programs(TIPS, 30, rng), TIPS, rng), TIPS, rng)
    start = rng.integers(-1, 2, program.low.shape).astype(np.int8)
    before = [array.copy() for array in (*vars_of(program), start)]
    solve_all(program, start)
    assert all(np.array_equal(a, b) for a, b in zip(before, (*vars_of(program), start), strict=True))
