"""A digit's bend in its plane by its table: the step in which this solver differs from the other planar ones."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..planar.planar_chain import BendResult, Chain, ChainMarker, MarkerHint
from .linkage import Complex, Floats, Linkage, linkage, tip
from .marker_hints import HintedGoal, SeenMarker
from .nearest_bend import LimitFaces, limit_faces, nearest
from .scalar_lookup import ScalarLookup, scalar_lookup
from .table_lookup import TableRows, stack_branches
from .uniform_table import build

Ints = NDArray[np.intp]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class PlanarTable:
    """Bends a digit by its table to bring one marker to its goal."""

    chain: Chain
    radii: Floats
    """(3,) m, radii of the joints."""
    linkage: Linkage
    faces: LimitFaces
    branches: tuple[TableRows, ...]
    """With three bones, the non-empty branches of the table, forwards first; fewer bones have a closed form."""
    scalar: ScalarLookup | None
    """The first branch, for single frames."""

    @property
    def joint_depth(self) -> float:
        """m, the depth of the first joint's centre below its marker."""
        return float(self.radii[0])

    def bend_frame(self, u: float, v: float, hints: list[MarkerHint[float]]) -> BendResult[float]:
        """See PlanarBend."""
        if self.scalar is not None and not hints:
            result = self.scalar.read(u, v - self.scalar.joint_depth)
            if result is not None:
                return result
        arrays = [MarkerHint(hint.marker, *(np.array([number]) for number in hint[1:])) for hint in hints]
        first, middle, last, error = (
            float(values[0]) for values in self.bend_frames(np.array([u]), np.array([v]), arrays)
        )
        return first, middle, last, error

    def bend_frames(self, u: Floats, v: Floats, hints: list[MarkerHint[Floats]]) -> BendResult[Floats]:
        """See PlanarBend."""
        hinted, v = np.zeros(len(u), bool), v - self.joint_depth
        for hint in hints:
            hinted |= hint.weight > 0
        if hinted.all() or not self.branches:
            results, unsolved = [np.empty(len(u)) for _ in range(4)], ~hinted
        else:
            results, valid = self._look_up(self.branches[0], u, v)
            unsolved = ~(valid | hinted)
        for branch in self.branches[1:]:
            rows = np.flatnonzero(unsolved)
            columns, valid = self._look_up(branch, u[rows], v[rows])
            _assign(results, rows[valid], [values[valid] for values in columns])
            unsolved[rows[valid]] = False
        groups: list[tuple[Bools, list[MarkerHint[Floats]]]] = [(unsolved, []), (hinted, hints)]
        for which, used_hints in groups:
            rows = np.flatnonzero(which)
            if len(rows):
                _assign(results, rows, self._nearest(rows, u[rows] + 1j * v[rows], used_hints))
        first, middle, last, error = results
        if self.linkage.bones == 1:
            middle = last = np.full(len(u), np.nan)
        if self.linkage.bones == 2:
            last = self.linkage.coupled_flexion(middle)
        return first, middle, last, error

    def _look_up(self, branch: TableRows, u: Floats, v: Floats) -> tuple[list[Floats], Bools]:
        """Look up goals (N,) in a branch of the table: three flexions and the error, and where they are valid."""
        squared = u * u + v * v
        entry = branch.look_up(squared[None])
        end_x, end_y = entry.along[0], entry.towards[0]
        first = np.arctan2(v * end_x - u * end_y, u * end_x + v * end_y)
        low, high = self.linkage.limits[0]
        valid = entry.reached[0] & (first >= low) & (first <= high)
        error = np.sqrt(np.maximum(squared, branch.farthest[0])) - np.sqrt(branch.farthest[0])
        return [first, entry.bend[0], entry.last[0], error], valid

    def _nearest(self, rows: Ints, goal: Complex, hints: list[MarkerHint[Floats]]) -> list[Floats]:
        """Return three flexions and the error of the nearest pose to goals (N,), in frames `rows` of the hints."""
        if hints and self.linkage.bones > 1:
            flexions = HintedGoal(self.faces, goal, [self._seen(hint, rows) for hint in hints]).flexions()
        else:
            flexions = nearest(self.faces, goal)
        return [*flexions.T, np.abs(tip(self.linkage.links, flexions) - goal)]

    def _seen(self, hint: MarkerHint[Floats], rows: Ints) -> SeenMarker:
        at_end = hint.marker == ChainMarker(hint.marker.bone, float(self.chain.lengths[hint.marker.bone]))
        return SeenMarker(
            linkage(self.chain, hint.marker, self.radii),
            hint.marker.bone + 1 if at_end and not np.any(self.radii) else 0,
            hint.u[rows] + 1j * (hint.v[rows] - self.joint_depth),
            hint.weight[rows] > 0,
        )


def _assign(values: list[Floats], rows: Ints, better: list[Floats]) -> None:
    for value, some in zip(values, better, strict=True):
        value[rows] = some


def planar_table(chain: Chain, end: ChainMarker, radii: Floats) -> PlanarTable:
    """Prepare the bend of a chain up to the marker `end`; radii (3,) m of its joints."""
    links = linkage(chain, end, radii)
    faces = limit_faces(links)
    if links.bones < 3:
        return PlanarTable(chain, radii, links, faces, (), None)
    table = build(links)
    used = [branch for branch in (table.forwards, table.backwards) if not branch.empty]
    branches = tuple(stack_branches([(table, branch)]) for branch in used)
    return PlanarTable(
        chain, radii, links, faces, branches, scalar_lookup(table, used[0], float(radii[0])) if used else None
    )
