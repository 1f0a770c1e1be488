"""The KKT conditions of quadratic programs as linear systems, one for each working set of active constraints.

Minimise ½ xᵀHx + gᵀx with low ≤ Cx ≤ high, where C = (I over A): the variables' bounds first, then the rows A. With
signed multipliers (positive at `high`, negative at `low`, zero between) the optimum satisfies

    H x + g + Cᵀμ = 0,   low ≤ Cx ≤ high.

A working set says which constraints are active, and at which bound. For an active bound of a variable, its row of the
system is replaced by x_i = bound; for an inactive row of A, by μ_j = 0. So the systems of all working sets have one
size, and a batch of them is solved by one call.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
WorkingSet = NDArray[np.int8]

FEASIBILITY_TOLERANCE = 1e-11
"""Fraction of the size of x; constraints violated by less count as met."""
DEPENDENCE_FRACTION = 1e-3
"""Fraction of a unit change of its bound; a row whose compliance absorbs more depends linearly on others."""


@dataclass(frozen=True, slots=True, eq=False)
class KktSystem:
    """N programs of n variables and p rows, m = n + p constraints each, scaled so that H and each row are of size 1."""

    matrix: Floats
    """(N, m, m) [[H, Aᵀ], [A, -compliance]]."""
    linear: Floats
    """(N, m) g, then zeros."""
    low: Floats
    """(N, m) at most `high`; infinite where there is no bound."""
    high: Floats
    """(N, m)"""
    linear_size: Floats
    """(N, 1) the largest |g|."""
    identity: Floats
    """(m, m)"""
    variables: int
    """n"""
    compliance: float
    """Compliance of an active row: its violation for a unit of its multiplier."""

    def select(self, which: Ints) -> "KktSystem":
        """Return some of the programs."""
        if len(which) == len(self.linear):
            return self
        arrays = (self.matrix[which], self.linear[which], self.low[which], self.high[which], self.linear_size[which])
        return KktSystem(*arrays, self.identity, self.variables, self.compliance)

    def with_compliance(self, compliance: float) -> "KktSystem":
        """Return the systems with this compliance of rows."""
        matrix, rows = self.matrix.copy(), np.arange(self.variables, len(self.identity))
        matrix[:, rows, rows] = -compliance
        return replace(self, matrix=matrix, compliance=compliance)

    def matrices(self, working: WorkingSet) -> Floats:
        """Return the matrix (N, m, m) for the unknowns x and μ of the rows, with `working` (N, m) active."""
        n = self.variables
        replaced = working != 0
        if n < len(self.identity):
            np.logical_not(replaced[:, n:], out=replaced[:, n:])
        return np.where(replaced[:, :, None], self.identity, self.matrix)

    def solve(self, working: WorkingSet, right: Floats) -> Floats:
        """Return the unknowns (N, m) for the right side `right` (N, m), with `working` (N, m) active."""
        return solve_or_nan(self.matrices(working), right[:, :, None])[:, :, 0]

    def has_independent_rows(self, working: WorkingSet) -> Bools:
        """Return (N,) whether the active rows are linearly independent: whether none is met by its compliance alone."""
        n = self.variables
        units = np.broadcast_to(self.identity[:, n:], (*working.shape, len(self.identity) - n))
        responses = solve_or_nan(self.matrices(working), units)
        yielded = np.einsum("kii->ki", responses[:, n:]) * self.compliance
        independent = np.abs(yielded) < DEPENDENCE_FRACTION
        result: Bools = np.all(independent | (working[:, n:] == 0), axis=1)
        return result

    def optimum(self, working: WorkingSet) -> tuple[Floats, Floats]:
        """Return (N, m) Cx and (N, m) signed multipliers of the optimum with `working` (N, m) active; NaN where
        singular."""
        bounds = np.where(working > 0, self.high, self.low)
        unknowns = self.solve(working, np.where(working == 0, -self.linear, bounds))
        return self.constraint_values(unknowns, self.linear)

    def refined(self, working: WorkingSet, multipliers: Floats) -> tuple[Floats, Floats]:
        """Return the optimum (N, m) with rows' bounds shifted to cancel their compliance under `multipliers`."""
        bounds = np.where(working > 0, self.high, self.low)
        bounds[:, self.variables :] -= self.compliance * multipliers[:, self.variables :]
        unknowns = self.solve(working, np.where(working == 0, -self.linear, bounds))
        return self.constraint_values(unknowns, self.linear)

    def constraint_values(self, unknowns: Floats, linear: Floats) -> tuple[Floats, Floats]:
        """Return (N, m) Cx and multipliers from the unknowns (N, m), with the linear term `linear` (N, m), zero for
        rows."""
        n = self.variables
        product: Floats = (self.matrix @ unknowns[:, :, None])[:, :, 0] + linear
        if n == len(self.identity):
            return unknowns, -product
        rows = product[:, n:] + self.compliance * unknowns[:, n:]
        values = np.concatenate((unknowns[:, :n], rows), axis=1)
        return values, np.concatenate((-product[:, :n], unknowns[:, n:]), axis=1)

    def scale(self, values: Floats) -> Floats:
        """Return the scale (N, 1) for rounding errors of x: the largest |x| plus the largest |g|."""
        x = np.abs(values[:, : self.variables])
        scale: Floats = x.max(axis=1, keepdims=True) + self.linear_size
        return scale

    def violation(self, values: Floats) -> Floats:
        """Return (N, m) how far Cx is outside its bounds, negative inside."""
        outside: Floats = np.maximum(values - self.high, self.low - values)
        return outside


def solve_or_nan(matrix: Floats, right: Floats) -> Floats:
    """Return the solution (N, m, k) of matrix (N, m, m) x = right (N, m, k), NaN where the matrix is singular."""
    try:
        x = np.asarray(np.linalg.solve(matrix, right), dtype=np.float64)
    except np.linalg.LinAlgError:
        half = len(matrix) // 2
        if not half:
            return np.full(right.shape, np.nan)
        return np.concatenate((solve_or_nan(matrix[:half], right[:half]), solve_or_nan(matrix[half:], right[half:])))
    return x
