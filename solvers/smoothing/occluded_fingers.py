"""Fingers that no marker shows for a while in a whole take: where they were before and after, and what the others do.

Fingers move together (the transdigital correlations of Aristidou 2018, Hand tracking with physiological constraints).
How, is learned from the take itself: a ridge regression of a finger's angles on those of the fingers that are seen.
What it does not explain goes straight from where the gap begins to where it ends.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.intp]

FEWEST = 200
"""Frames from which on the take tells how its fingers move together."""
RIDGE = 0.01
"""rad²: the variance of an angle below which it tells hardly anything of another."""


def filled(angles: Floats, seen: Bools, times: Floats) -> Floats:
    """Angles (F, G, N) of digits, thumb first, with those of digits that are not seen (F, G) filled in.

    A digit that is never seen stays as it is; so does a gap's end that there is not.
    """
    result = angles.copy()
    for digit in np.flatnonzero(np.any(seen, axis=0) & ~np.all(seen, axis=0)).tolist():
        for gap in _gaps(seen[:, digit]):
            # The thumb goes its own way.
            others = [o for o in range(1, seen.shape[1]) if digit > 0 and o != digit and np.all(seen[gap, o])]
            told = _told_by(others, digit, angles, seen)
            result[gap, digit] = told[gap] + _between(gap, times, angles[:, digit] - told, seen[:, digit])
    return result


def _gaps(seen: Bools) -> list[Ints]:
    """The frames of each gap."""
    missing = np.flatnonzero(~seen)
    return np.split(missing, np.flatnonzero(np.diff(missing) > 1) + 1)


def _told_by(others: list[int], digit: int, angles: Floats, seen: Bools) -> Floats:
    """(F, N) the digit's angles as the others tell; zero where the take does not say how."""
    known = np.flatnonzero(np.all(seen[:, [digit, *others]], axis=1))
    if not others or len(known) < FEWEST:
        return np.zeros(angles[:, digit].shape)
    causes = angles[:, others].reshape(len(angles), -1)
    causes = causes - causes[known].mean(axis=0)
    square = causes[known].T @ causes[known] + RIDGE * len(known) * np.eye(causes.shape[1])
    effects = angles[known, digit] - angles[known, digit].mean(axis=0)
    told: Floats = causes @ np.linalg.solve(square, causes[known].T @ effects)
    return told


def _between(gap: Ints, times: Floats, rest: Floats, seen: Bools) -> Floats:
    """(n, N) on the straight way between the ends of a gap of what (F, N) is left; level where one end is missing."""
    ends = [frame for frame in (gap[0] - 1, gap[-1] + 1) if 0 <= frame < len(seen)]
    return np.stack([np.interp(times[gap], times[ends], rest[ends, dof]) for dof in range(rest.shape[1])], axis=1)
