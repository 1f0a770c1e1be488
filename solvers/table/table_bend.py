"""A digit's bend in its plane by its table: the step in which this solver differs from the other planar ones."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..planar.planar_chain import BendResult, Chain, ChainMarker, MarkerHint
from .linkage import Complex, Floats, Linkage, linkage, tip
from .marker_hints import HintedGoal, SeenMarker
from .nearest_bend import LimitFaces, faces, nearest
from .scalar_lookup import ScalarLookup, reader
from .table_lookup import TableRows, shelf
from .uniform_table import build

Ints = NDArray[np.intp]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class PlanarTable:
    """How one digit brings one of its markers to its goal."""

    chain: Chain
    radii: Floats
    """(3,) m, of its joints."""
    linkage: Linkage
    ways: LimitFaces
    shelves: tuple[TableRows, ...]
    """With three bones, the table's branches that are not empty, forwards first; fewer bones have a closed form."""
    reader: ScalarLookup | None
    """The first of these branches for single frames."""

    @property
    def sunk(self) -> float:
        """m, the depth of the first joint's centre below its marker."""
        return float(self.radii[0])

    def one(self, u: float, v: float, hints: list[MarkerHint[float]]) -> BendResult[float]:
        """See PlanarBend."""
        if self.reader is not None and not hints:
            found = self.reader.read(u, v - self.reader.sunk)
            if found is not None:
                return found
        arrays = [MarkerHint(hint.rider, *(np.array([number]) for number in hint[1:])) for hint in hints]
        first, middle, last, error = (float(each[0]) for each in self.many(np.array([u]), np.array([v]), arrays))
        return first, middle, last, error

    def many(self, u: Floats, v: Floats, hints: list[MarkerHint[Floats]]) -> BendResult[Floats]:
        """See PlanarBend."""
        told, v = np.zeros(len(u), bool), v - self.sunk
        for hint in hints:
            told |= hint.weight > 0
        if told.all() or not self.shelves:
            bent, left = [np.empty(len(u)) for _ in range(4)], ~told
        else:
            bent, good = self._tabled(self.shelves[0], u, v)
            left = ~(good | told)
        for branch in self.shelves[1:]:
            rows = np.flatnonzero(left)
            found, good = self._tabled(branch, u[rows], v[rows])
            _put(bent, rows[good], [each[good] for each in found])
            left[rows[good]] = False
        chosen: list[tuple[Bools, list[MarkerHint[Floats]]]] = [(left, []), (told, hints)]
        for which, heeded in chosen:
            rows = np.flatnonzero(which)
            if len(rows):
                _put(bent, rows, self._nearest(rows, u[rows] + 1j * v[rows], heeded))
        first, middle, last, error = bent
        if self.linkage.bones == 1:
            middle = last = np.full(len(u), np.nan)
        if self.linkage.bones == 2:
            last = self.linkage.last(middle)
        return first, middle, last, error

    def _tabled(self, branch: TableRows, u: Floats, v: Floats) -> tuple[list[Floats], Bools]:
        """Look up goals (N,) in a branch of the table: three flexions and the error, and where they are valid."""
        squared = u * u + v * v
        found = branch.look_up(squared[None])
        along, towards = found.along[0], found.towards[0]
        first = np.arctan2(v * along - u * towards, u * along + v * towards)
        low, high = self.linkage.limits[0]
        good = found.reached[0] & (first >= low) & (first <= high)
        error = np.sqrt(np.maximum(squared, branch.farthest[0])) - np.sqrt(branch.farthest[0])
        return [first, found.bend[0], found.last[0], error], good

    def _nearest(self, rows: Ints, goal: Complex, hints: list[MarkerHint[Floats]]) -> list[Floats]:
        """Three flexions and the error of the nearest pose to goals (N,), in frames `rows` of the hints."""
        if hints and self.linkage.bones > 1:
            bent = HintedGoal(self.ways, goal, [self._seen(hint, rows) for hint in hints]).flexions()
        else:
            bent = nearest(self.ways, goal)
        return [*bent.T, np.abs(tip(self.linkage.links, bent) - goal)]

    def _seen(self, hint: MarkerHint[Floats], rows: Ints) -> SeenMarker:
        at_end = hint.rider == ChainMarker(hint.rider.bone, float(self.chain.lengths[hint.rider.bone]))
        return SeenMarker(
            linkage(self.chain, hint.rider, self.radii),
            hint.rider.bone + 1 if at_end and not np.any(self.radii) else 0,
            hint.u[rows] + 1j * (hint.v[rows] - self.sunk),
            hint.weight[rows] > 0,
        )


def _put(values: list[Floats], rows: Ints, better: list[Floats]) -> None:
    for value, some in zip(values, better, strict=True):
        value[rows] = some


def planar_table(chain: Chain, end: ChainMarker, radii: Floats) -> PlanarTable:
    """Prepare the bend of a chain up to the marker `end`; radii (3,) m of its joints."""
    links = linkage(chain, end, radii)
    ways = faces(links)
    if links.bones < 3:
        return PlanarTable(chain, radii, links, ways, (), None)
    table = build(links)
    branches = [branch for branch in (table.forwards, table.backwards) if not branch.empty]
    shelves = tuple(shelf([(table, branch)]) for branch in branches)
    return PlanarTable(
        chain, radii, links, ways, shelves, reader(table, branches[0], float(radii[0])) if branches else None
    )
