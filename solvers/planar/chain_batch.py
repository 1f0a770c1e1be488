"""Steps of several digits at once, for the few frames in which limits keep the digits from their goals.

Iterations are NumPy calls, which take as long for ten rows as for hundreds. So the rows of all digits whose chains are
alike become one batch, in which each row has its own digit's lengths and limits. No row's result depends on others.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...hand.scalar_math import ARRAY, Point, map_numbers
from .closest_pose import DigitDof, coordinate_descent
from .digit_steps import BendGoal
from .planar_chain import BendResult
from .planar_fabrik import PlanarFabrik
from .planar_plan import PlanarBend

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]


class MissedGoals(NamedTuple):
    """The frames, at least one, in which a digit has not reached its goal."""

    dofs: tuple[DigitDof, ...]
    """The degrees of freedom that move its end."""
    rows: Rows
    """(N,) the frames."""
    goal: Point[Floats]
    """(N,) m in the frame of the digit's base."""


def bend_digits(bends: Sequence[PlanarBend], goals: Sequence[BendGoal[Floats]]) -> list[BendResult[Floats]]:
    """Bend several digits, each in its own frames; the results equal those of `bend_frames`."""
    results: dict[int, BendResult[Floats]] = {}
    for group in _group_by_kind([_batch_kind(bend) for bend in bends]):
        chains = [bend for bend in (bends[digit] for digit in group) if isinstance(bend, PlanarFabrik)]
        if chains:
            results.update(zip(group, _bend_chains(chains, [goals[digit] for digit in group]), strict=True))
        else:
            results.update({digit: bends[digit].bend_frames(*goals[digit][:2], goals[digit].hints) for digit in group})
    return [results[digit] for digit in range(len(bends))]


def _batch_kind(bend: PlanarBend) -> Hashable:
    """Return the kind of a bend; bends of one kind can share a batch, as only lengths and limits differ."""
    return (bend.bones.count, bend.stopping, bend.nearest) if isinstance(bend, PlanarFabrik) else None


def _bend_chains(bends: Sequence[PlanarFabrik], goals: Sequence[BendGoal[Floats]]) -> list[BendResult[Floats]]:
    """Bend digits of one kind."""
    results = [bend.closed_form(ARRAY, goal[:2], goal.hints) for bend, goal in zip(bends, goals, strict=True)]
    rows = [np.flatnonzero(bend.misses(result)) for bend, result in zip(bends, results, strict=True)]
    missed_digits = [digit for digit in range(len(bends)) if len(rows[digit])]
    improved_results = _in_batch(
        [bends[digit].bones for digit in missed_digits],
        [tuple(number[rows[digit]] for number in (*goals[digit][:2], *results[digit][:3])) for digit in missed_digits],
        lambda bones, u, v, *flexions: bends[0].search(ARRAY, bones, (u, v), flexions),
    )
    for digit, improved in zip(missed_digits, improved_results, strict=True):
        for number, new in zip(results[digit], improved, strict=True):
            number[rows[digit]] = new
    return [bend.of_digit(result) for bend, result in zip(bends, results, strict=True)]


def descend(missed: Sequence[MissedGoals], angles: Floats, sweeps: int) -> None:
    """Improve the angles (F, D) rad of digits that have missed their goals by cyclic coordinate descent."""
    for group in _group_by_kind([tuple(joint.movement for joint in digit.dofs) for digit in missed]):
        digits = [missed[digit] for digit in group]
        columns = [[joint.dof for joint in digit.dofs] for digit in digits]
        inputs = [
            (*digit.goal, *(angles[digit.rows, dof] for dof in dofs))
            for digit, dofs in zip(digits, columns, strict=True)
        ]
        improved_results = _in_batch(
            [digit.dofs for digit in digits],
            inputs,
            lambda dofs, x, y, z, *current: coordinate_descent(ARRAY, dofs, current, (x, y, z), sweeps),
        )
        for digit, dofs, improved in zip(digits, columns, improved_results, strict=True):
            for dof, new in zip(dofs, improved, strict=True):
                angles[digit.rows, dof] = new


def _group_by_kind(kinds: Sequence[Hashable]) -> Iterator[list[int]]:
    """Yield the indices of the items of each kind."""
    for kind in dict.fromkeys(kinds):
        yield [index for index, candidate in enumerate(kinds) if candidate == kind]


def _in_batch(
    digits: Sequence[Any], inputs: Sequence[tuple[Floats, ...]], compute: Callable[..., tuple[Floats, ...]]
) -> list[tuple[Floats, ...]]:
    """Return `compute(digit, *inputs)` for all digits, computed as one batch.

    digits: nested tuples of numbers; a number that differs between digits becomes an array with one entry for each row.
    inputs: for each digit, arrays (N,).
    """
    counts = [len(columns[0]) for columns in inputs]
    if not counts:
        return []

    def in_rows(*numbers: Any) -> Any:
        return numbers[0] if all(number == numbers[0] for number in numbers) else np.repeat(numbers, counts)

    results = compute(map_numbers(in_rows, *digits), *map(np.concatenate, zip(*inputs, strict=True)))
    bounds = np.cumsum(counts)[:-1]
    return list(zip(*(np.split(number, bounds) for number in results), strict=True))
