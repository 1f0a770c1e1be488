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

TOUCHING = 1e-11
"""A constraint violated by less than this part of the size of x counts as met."""
DEPENDENT_SHARE = 1e-3
"""A row whose softness absorbs this share of a unit change of its bound is linearly dependent on the others."""


@dataclass(frozen=True, slots=True, eq=False)
class System:
    """N programs of n variables and p rows, m = n + p constraints each, scaled so that H and each row are of size 1."""

    matrix: Floats
    """(N, m, m) [[H, Aᵀ], [A, -soft]]."""
    linear: Floats
    """(N, m) g, then zeros."""
    low: Floats
    """(N, m) at most `high`; infinite where there is no bound."""
    high: Floats
    """(N, m)"""
    reach: Floats
    """(N, 1) the largest |g|, which bounds the size of x."""
    identity: Floats
    """(m, m)"""
    variables: int
    """n"""
    soft: float
    """Compliance of active rows: by how much a row yields for a unit of its multiplier."""

    def take(self, which: Ints) -> "System":
        """Some of the programs."""
        if len(which) == len(self.linear):
            return self
        arrays = (self.matrix[which], self.linear[which], self.low[which], self.high[which], self.reach[which])
        return System(*arrays, self.identity, self.variables, self.soft)

    def softened(self, soft: float) -> "System":
        """The systems with this compliance of rows."""
        matrix, rows = self.matrix.copy(), np.arange(self.variables, len(self.identity))
        matrix[:, rows, rows] = -soft
        return replace(self, matrix=matrix, soft=soft)

    def fixed_by(self, working: WorkingSet) -> Floats:
        """(N, m, m) the matrix for the unknowns x and μ of the rows, with `working` (N, m) active."""
        n = self.variables
        replaced = working != 0
        if n < len(self.identity):
            np.logical_not(replaced[:, n:], out=replaced[:, n:])
        return np.where(replaced[:, :, None], self.identity, self.matrix)

    def held(self, working: WorkingSet, right: Floats) -> Floats:
        """(N, m) the unknowns for the right side `right` (N, m), with `working` (N, m) active."""
        return solved(self.fixed_by(working), right[:, :, None])[:, :, 0]

    def independent(self, working: WorkingSet) -> Bools:
        """(N,) whether the active rows are linearly independent: whether none is met by its softness alone."""
        n = self.variables
        asked = np.broadcast_to(self.identity[:, n:], (*working.shape, len(self.identity) - n))
        answers = solved(self.fixed_by(working), asked)
        giving = np.einsum("kii->ki", answers[:, n:]) * self.soft
        stiff = np.abs(giving) < DEPENDENT_SHARE
        every: Bools = np.all(stiff | (working[:, n:] == 0), axis=1)
        return every

    def at(self, working: WorkingSet) -> tuple[Floats, Floats]:
        """(N, m) Cx and (N, m) signed multipliers of the optimum with `working` (N, m) active; NaN where singular."""
        ends = np.where(working > 0, self.high, self.low)
        unknowns = self.held(working, np.where(working == 0, -self.linear, ends))
        return self.answer(unknowns, self.linear)

    def refined(self, working: WorkingSet, multipliers: Floats) -> tuple[Floats, Floats]:
        """(N, m) the same with rows' bounds shifted to cancel their compliance under `multipliers`."""
        ends = np.where(working > 0, self.high, self.low)
        ends[:, self.variables :] -= self.soft * multipliers[:, self.variables :]
        unknowns = self.held(working, np.where(working == 0, -self.linear, ends))
        return self.answer(unknowns, self.linear)

    def answer(self, unknowns: Floats, pull: Floats) -> tuple[Floats, Floats]:
        """(N, m) Cx and multipliers from the unknowns (N, m), with the linear term `pull` (N, m), zero for rows."""
        n = self.variables
        product: Floats = (self.matrix @ unknowns[:, :, None])[:, :, 0] + pull
        if n == len(self.identity):
            return unknowns, -product
        rows = product[:, n:] + self.soft * unknowns[:, n:]
        values = np.concatenate((unknowns[:, :n], rows), axis=1)
        return values, np.concatenate((-product[:, :n], unknowns[:, n:]), axis=1)

    def size(self, values: Floats) -> Floats:
        """(N, 1) the scale for rounding errors of x: the largest |x| plus `reach`."""
        x = np.abs(values[:, : self.variables])
        largest: Floats = x.max(axis=1, keepdims=True) + self.reach
        return largest

    def excess(self, values: Floats) -> Floats:
        """(N, m) how far Cx is outside its bounds, negative inside."""
        outside: Floats = np.maximum(values - self.high, self.low - values)
        return outside


def solved(matrix: Floats, right: Floats) -> Floats:
    """(N, m, k) the solution of matrix (N, m, m) x = right (N, m, k), NaN where the matrix is singular."""
    try:
        x = np.asarray(np.linalg.solve(matrix, right), dtype=np.float64)
    except np.linalg.LinAlgError:
        half = len(matrix) // 2
        if not half:
            return np.full(right.shape, np.nan)
        return np.concatenate((solved(matrix[:half], right[:half]), solved(matrix[half:], right[half:])))
    return x
