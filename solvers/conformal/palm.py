"""Where the palm is, FABRIK-CGA (3.1)-(3.6): from three markers by their plane, from two by the circle about them."""

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ...cga.generated import Vector
from ...cga.nearest import nearest_on_circle
from ...hand.model import HandModel
from ...hand.numbers import MANY, ONE, Point
from ...hand.targets import Targets
from ..chunks import in_chunks
from ..planar.digits import digits
from ..planar.palm import Palm, laid_on, many_roots, palm_of, spans_a_plane
from .meeting import circle_about
from .trio import Trio, trio_of

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

APART = 0.005
"""m. Two markers nearer than this do not tell which way the palm lies."""


@dataclass(frozen=True, slots=True, eq=False)
class ConformalPalm:
    """The palm's markers, and how the algebra finds the palm from them.

    Three that span a plane, the paper's p, q and r, give the plane and the joints in it. More give the palm by least
    squares, as they do for every planar solver. With two the palm turns about their line as little as it may; with
    one it keeps its turn and goes along, and with none it stays.
    """

    palm: Palm
    trio: Trio | None
    """Where the palm has just three markers, not in a line."""
    joints: tuple[Point[float], ...]
    """m in the wrist's frame: the wrist and each digit's first joint."""

    def roots(self, targets: Targets, last: Floats) -> Floats:
        """See PalmStep."""
        columns = self.palm.columns
        if len(columns) < 2:
            return self.palm.roots(targets, last)
        weights = targets.weights[:, columns]
        told: Bools = spans_a_plane(self.palm.at_rest, weights)
        positions = targets.positions[:, columns]
        if len(targets) == 1 and told[0] and self.trio:
            return self._one(self.trio, positions, weights)
        roots = np.empty((len(targets), 4, 4))
        if told.any():
            roots[told] = self._many(positions[told], np.ascontiguousarray(weights[told]))
        self._carry(targets, roots, told, last)
        return roots

    def _one(self, trio: Trio, positions: Floats, weights: Floats) -> Floats:
        """(1, 4, 4) of one frame in which all three are seen."""
        points = [(x, y, z) for x, y, z in positions[0].tolist()]
        (a, b, c), (x, y, z), told = trio.laid(ONE, points, weights[0].tolist())
        if not told:
            return many_roots(self.palm, positions, weights)
        return np.array([[[*a, x], [*b, y], [*c, z], [0.0, 0.0, 0.0, 1.0]]])

    def _many(self, positions: Floats, weights: Floats) -> Floats:
        """(N, 4, 4) of frames in which enough is seen: positions (N, P, 3) m, weights (N, P)."""
        roots = np.empty((len(positions), 4, 4))

        def lay(chunk: slice) -> None:
            if self.trio is None:
                roots[chunk] = many_roots(self.palm, positions[chunk], weights[chunk])
            else:
                roots[chunk] = self._by_trio(self.trio, positions[chunk], weights[chunk])

        in_chunks(len(positions), lay)
        return roots

    def _by_trio(self, trio: Trio, positions: Floats, weights: Floats) -> Floats:
        points = np.ascontiguousarray(np.transpose(positions, (1, 2, 0)))
        turn, move, told = trio.laid(MANY, [(x, y, z) for x, y, z in points], list(weights.T))
        roots = np.zeros((len(positions), 4, 4))
        for i in range(3):
            for j in range(3):
                roots[:, i, j] = turn[i][j]
            roots[:, i, 3] = move[i]
        roots[:, 3, 3] = 1.0
        if not told.all():
            roots[~told] = many_roots(self.palm, positions[~told], weights[~told])
        return roots

    def _carry(self, targets: Targets, roots: Floats, told: Bools, last: Floats) -> None:
        """Writes the roots of frames in which too little is seen, each from that of the frame before it."""
        for frame in np.flatnonzero(~told):
            before = roots[frame - 1] if frame else last
            roots[frame] = self._carried(targets.select(slice(frame, frame + 1)), before)

    def _carried(self, targets: Targets, before: Floats) -> Floats:
        """(4, 4) of one frame, which markers in a line or fewer than three tell of."""
        columns = self.palm.columns
        seen = [mark for mark, column in enumerate(columns) if targets.weights[0, column] > 0]
        if len(seen) > 1:
            places = [self.palm.places[mark] for mark in seen]
            positions = targets.positions[0, [columns[mark] for mark in seen]]
            turned = self._about_a_line(places, positions, before)
            if turned is not None:
                return turned
        return self.palm.roots(targets, before)[0] if seen else before

    def _about_a_line(self, places: list[Point[float]], positions: Floats, before: Floats) -> Floats | None:
        """(4, 4) from two markers, the farthest apart of those at these places: None where they coincide.

        A third place of the palm is on the circle in which the spheres about the two meet, and of that circle it is
        where it comes nearest to where it was, gone along with the two (FABRIK-CGA 3.4.1, the case B² < 0).
        """
        here = np.array(places)
        one, other = max(combinations(range(len(places)), 2), key=lambda pair: math.dist(*here[list(pair)]))
        line, way = here[other] - here[one], positions[other] - positions[one]
        if np.linalg.norm(line) < APART or np.linalg.norm(way) < APART:
            return None
        third = max(self.joints, key=lambda joint: float(np.linalg.norm(np.cross(line, np.subtract(joint, here[one])))))
        # As far apart as at rest, about the middle of where they were seen.
        half = way * (np.linalg.norm(line) / np.linalg.norm(way) / 2)
        middle, seen = (here[one] + here[other]) / 2, (positions[one] + positions[other]) / 2
        was = before[:3, :3] @ (np.array(third) - middle)
        markers = Vector(*(-half).tolist()), Vector(*half.tolist())
        circle, _ = circle_about(markers, (math.dist(here[one], third), math.dist(here[other], third)))
        points: list[Point[float]] = [*markers, nearest_on_circle(circle, Vector(*was.tolist()))]
        rows, move = laid_on(ONE, [places[one], places[other], third], points, [1.0, 1.0, 1.0])
        root = np.eye(4)
        root[:3, :3], root[:3, 3] = rows, seen + move
        return root


@dataclass(frozen=True, slots=True)
class ConformalPalms:
    """Prepares the palm's step: see Palms."""

    share: float
    """How much a joint that is found from two markers counts beside a marker."""

    def __call__(self, hand: HandModel, sites: list[int]) -> ConformalPalm:
        """For a hand and the sites that are its targets. Raises HandError for a palm that is not rigid."""
        palm = palm_of(hand, sites)
        bases: list[Point[float]] = [tuple(digit.T_wrist_base[:3, 3].tolist()) for digit in digits(hand)]
        trio = trio_of(palm.places, bases, self.share) if palm.wide and len(palm.places) == 3 else None
        return ConformalPalm(palm, trio, ((0.0, 0.0, 0.0), *bases))
