"""Linear systems of poses in a row, each coupled with the two before it and the two after it, variable by variable."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class BandedMatrix:
    """A symmetric matrix of F times F blocks (N, N); the two blocks beside the diagonal are diagonal themselves."""

    blocks: Floats
    """(F, N, N) on the diagonal."""
    next: Floats
    """(F - 1, N) between a frame and the next."""
    second: Floats
    """(F - 2, N) between a frame and the one after the next."""

    def fixed(self, free: Bools) -> "BandedMatrix":
        """Return the matrix with the variables that are not free (F, N) held: their rows are those of the identity."""
        blocks = self.blocks * (free[:, :, None] & free[:, None, :])
        rows = np.arange(free.shape[1])
        blocks[:, rows, rows] += ~free
        return BandedMatrix(blocks, self.next * (free[:-1] & free[1:]), self.second * (free[:-2] & free[2:]))

    def damped(self, damping: float) -> "BandedMatrix":
        """Return the matrix with its diagonal multiplied by 1 + λ (Marquardt)."""
        blocks, rows = self.blocks.copy(), np.arange(self.blocks.shape[1])
        blocks[:, rows, rows] = blocks[:, rows, rows] * (1 + damping) + 1e-9
        return BandedMatrix(blocks, self.next, self.second)

    def solve(self, rhs: Floats) -> Floats:
        """Solve for rhs (F, N, K) by block elimination of two frames at a time."""
        frames, width, _ = self.blocks.shape
        pairs = -(-frames // 2)
        diagonal, above = self._pairs(pairs)
        padded = np.zeros((2 * pairs, *rhs.shape[1:]))
        padded[:frames] = rhs
        values = padded.reshape(pairs, 2 * width, -1)
        reduced, eliminated = [], np.zeros_like(diagonal[0])
        solved = np.zeros_like(values)
        for pair in range(pairs):
            block, value = diagonal[pair], values[pair]
            if pair:
                block = block - above[pair - 1].T @ eliminated
                value = value - above[pair - 1].T @ solved[pair - 1]
            coupling = above[pair] if pair + 1 < pairs else np.zeros_like(block)
            both = np.linalg.solve(block, np.concatenate([coupling, value], axis=1))
            eliminated, solved[pair] = both[:, : 2 * width], both[:, 2 * width :]
            reduced.append(eliminated)
        for pair in range(pairs - 2, -1, -1):
            solved[pair] -= reduced[pair] @ solved[pair + 1]
        result: Floats = solved.reshape(2 * pairs, width, -1)[:frames]
        return result

    def _pairs(self, pairs: int) -> tuple[Floats, Floats]:
        """Blocks (P, 2 N, 2 N) of two frames each, and those (P - 1, 2 N, 2 N) above them; an odd frame is padded."""
        frames, width, _ = self.blocks.shape
        own = np.arange(width)
        diagonal, above = np.zeros((pairs, 2 * width, 2 * width)), np.zeros((max(pairs - 1, 0), 2 * width, 2 * width))
        diagonal[:, :width, :width] = self.blocks[::2]
        diagonal[: frames // 2, width:, width:] = self.blocks[1::2]
        if frames % 2:
            diagonal[-1, width:, width:] = np.eye(width)
        diagonal[: frames // 2, own, width + own] = diagonal[: frames // 2, width + own, own] = self.next[::2]
        between = self.next[1::2]
        above[: len(between), width + own, own] = between
        for first in range(2):
            skipping = self.second[first::2]
            rows = first * width + own
            above[: len(skipping), rows, rows] = skipping
        return diagonal, above
