"""Iterates of the search: poses with their cost and its first and second derivatives."""

from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from ...hand.jacobians import ROOT_DOFS, rotation_errors
from .chains import Chains, Placed, chains, cross
from .problem import PoseProblem

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

UNITS: Floats = np.eye(3)


@dataclass(frozen=True, slots=True, eq=False)
class Aims:
    """A problem's objectives as arrays over the frames being searched."""

    problem: PoseProblem
    chains: Chains
    ends: tuple[tuple[tuple[int, float], ...], ...]
    """(W,) each objective's sites: row in the chains, and sign."""
    positions: Floats
    """(N, W, 3)"""
    weights: Floats
    """(N, W)"""
    root: Floats
    """(N, 4, 4) T_world_wrist of the start."""
    angles: Floats
    """(N, D) rad, of the start."""
    wrist: tuple[bool, bool]
    """Whether the wrist moves, and whether it rotates."""

    @classmethod
    def of(cls, problem: PoseProblem) -> "Aims":
        """Prepare all frames of a problem."""
        count, sites, objectives = len(problem.start), problem.sites, problem.objectives
        positions, weights = np.empty((count, len(objectives), 3)), np.empty((count, len(objectives)))
        ends = []
        for row, objective in enumerate(objectives):
            positions[:, row], weights[:, row] = objective.position, objective.weight
            pair = (objective.site, 1.0), (objective.relative, -1.0)
            ends.append(tuple((sites.index(site), sign) for site, sign in pair if site is not None))
        # Zero times NaN would be NaN.
        positions[weights == 0.0] = 0.0
        start = problem.start
        wrist = problem.wrist_moves, problem.wrist_rotates
        own = chains(problem.hand, sites)
        return cls(problem, own, tuple(ends), positions, weights, start.root, start.angles, wrist)

    def select(self, rows: Ints) -> "Aims":
        """Return some of the frames."""
        positions, weights, root, angles = self.positions[rows], self.weights[rows], self.root[rows], self.angles[rows]
        return replace(self, positions=positions, weights=weights, root=root, angles=angles)

    def at(self, root: Floats, angles: Floats) -> "Iterate":
        """Compute the iterate at poses (N, 4, 4) and (N, D) rad."""
        problem, free = self.problem, self.problem.free
        off = np.zeros((len(angles), ROOT_DOFS + angles.shape[1]))
        off[:, ROOT_DOFS:] = angles - self.angles
        if self.wrist[0]:
            off[:, :3] = (root - self.root)[:, :3, 3]
        if self.wrist[1]:
            off[:, 3:ROOT_DOFS] = rotation_errors(root[:, :3, :3], self.root[:, :3, :3])
        own = problem.posture * off[:, free]
        errors, slopes, bends = self._objectives(root, angles)
        square = slopes.swapaxes(-1, -2) @ slopes
        gradient = (errors[:, None] @ slopes)[:, 0] + problem.posture * own
        cost = (errors * errors).sum(-1) + (own * own).sum(-1)
        diagonal = np.arange(len(free))
        square[:, diagonal, diagonal] += problem.posture**2
        if len(problem.couplings):
            # x + x³ / give² with its derivatives; summed so that a frame's result does not depend on the batch.
            rows = problem.couplings
            astray = (rows * off[:, None, free]).sum(-1)
            parts = astray / problem.give
            value, slope = astray * (1.0 + parts**2), 1.0 + 3.0 * parts**2
            stiffness = slope**2 + value * 6.0 * parts / problem.give
            cost += (value * value).sum(-1)
            gradient += ((slope * value)[:, None] @ rows)[:, 0]
            square += rows.T @ (stiffness[..., None] * rows)
        return Iterate(root, angles, cost / 2, gradient, square, bends)

    def _objectives(self, root: Floats, angles: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the objectives' weighted errors (N, 3 W) m, their Jacobian (N, 3 W, k) and the curvature (N, k, k).

        The curvature is the Hessian's second-order part, Σ error · second derivative.
        """
        chains, free, turn = self.chains, self.problem.free, root[:, :3, :3]
        placed = chains.at(angles)
        own = placed.slopes @ turn[:, None].swapaxes(-1, -2)
        count, size = len(angles), ROOT_DOFS + angles.shape[1] + 1
        errors = np.empty((count, len(self.ends), 3))
        slopes, bends = np.zeros((count, len(self.ends), size, 3)), np.zeros((count, size, size))
        for row, ends in enumerate(self.ends):
            weight, position = self.weights[:, row, None], self.positions[:, row]
            error = errors[:, row] = weight * _off(placed, root, ends, position)
            inside = (error[:, None] @ turn)[:, 0]
            for site, sign in ends:
                dofs, signed = chains.dofs[site], (sign * weight)[..., None]
                slopes[:, row, dofs] += signed * own[:, site]
                # The derivative of an outer column J by a rotation about a is a × J, and e·(a × J) = (e × a)·J.
                product = cross(inside[:, None], placed.axes[:, site]) @ placed.slopes[:, site].swapaxes(-1, -2)
                half = chains.above * (signed * product)
                bends[:, dofs[:, None], dofs] += half + chains.below * half.swapaxes(-1, -2)
            if self.wrist[0]:
                slopes[:, row, :3] = weight[..., None] * UNITS if len(ends) == 1 else 0.0
                lever = error + weight * (position - root[:, :3, 3]) if len(ends) == 1 else error
                slopes[:, row, 3:ROOT_DOFS] = cross(UNITS, lever[:, None])
        whole = slopes[:, :, free].swapaxes(-1, -2).reshape(count, -1, len(free))
        return errors.reshape(count, -1), whole, bends[:, free[:, None], free]


@dataclass(frozen=True, slots=True, eq=False)
class Iterate:
    """Poses of N frames with the cost, its gradient and its Hessian."""

    root: Floats
    """(N, 4, 4)"""
    angles: Floats
    """(N, D) rad"""
    cost: Floats
    """(N,) m², half the sum of squares."""
    gradient: Floats
    """(N, k)"""
    square: Floats
    """(N, k, k) Gauss-Newton part of the Hessian."""
    bends: Floats
    """(N, k, k) second-order part of the Hessian."""

    def select(self, rows: Ints) -> "Iterate":
        """Return some of the frames."""
        return Iterate(*(getattr(self, field.name)[rows] for field in fields(self)))

    def where(self, rows: Ints, other: "Iterate") -> "Iterate":
        """Return the iterate with the given rows replaced."""
        if len(rows) == len(self.cost):
            return other
        arrays = []
        for field in fields(self):
            array = getattr(self, field.name).copy()
            array[rows] = getattr(other, field.name)
            arrays.append(array)
        return Iterate(*arrays)


def _off(placed: Placed, root: Floats, ends: tuple[tuple[int, float], ...], position: Floats) -> Floats:
    """Return an objective's error (N, 3) m in the world: actual minus desired position."""
    turn, found = root[:, :3, :3], placed.positions
    if len(ends) == 1:
        moved: Floats = (turn @ found[:, ends[0][0], :, None])[..., 0] + root[:, :3, 3] - position
        return moved
    apart = found[:, ends[0][0]] - found[:, ends[1][0]] - position
    return np.asarray((turn @ apart[..., None])[..., 0])
