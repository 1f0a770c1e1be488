"""The standard hand problem A: exact fingertips, scored by the problem's own harness."""

import numpy as np
import pytest

from knuckle.solvers import SOLVERS


@pytest.fixture(scope="session")
def problem_a(standard):
    q = standard.motion(1000, 0.01, np.random.default_rng(20240601))
    points, _ = standard.hand.fk(q)
    return {"q_true": q, "points_true": points, "tip_target": points[:, :, 3], "dt": 0.01, "kind": "tips", "name": "A"}


@pytest.mark.parametrize("name", sorted(SOLVERS))
def test_fingertips_are_met_and_no_limit_is_broken(name, problem_a, standard):
    score = standard.score(problem_a, standard.runner.solve_batch(problem_a, solver=name), warm=0)
    assert score["viol"] == 0
    assert score["tip_mean_mm"] < 0.1, f"{score['tip_mean_mm']:.3f} mm > 0.1 mm"
    assert score["tip_max_mm"] < 0.5, f"{score['tip_max_mm']:.3f} mm > 0.5 mm"
    # The truth has DIP = 2/3 PIP and 2 degrees of noise: a solver that knows the ratio comes to about 0.9.
    assert score["ang_rmse_fingers_deg"] < 0.91
    assert score["mid_mean_mm"] < 0.7
