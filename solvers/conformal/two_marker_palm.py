"""The palm's turn from two markers on it: about their line as little as it may, FABRIK-CGA 3.4.1, the case B² < 0.

A third place of the palm is on the circle in which the spheres about the two meet, and of that circle it is where it
comes nearest to where it was, gone along with the two. The two stand fixed on a rigid palm, and so does the circle:
its middle is on their line and its radius stays, which leaves one direction to find in each frame.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ...hand.scalar_math import Point

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

APART = 0.005
"""m. Two markers nearer than this do not tell which way the palm lies, nor does a third place so near to their line."""
SMALL = 1e-9
"""Part of a length across the line below which it has no direction."""


@dataclass(frozen=True, slots=True, eq=False)
class TwoMarkerPalm:
    """Two places on the palm and a third that is off their line."""

    one: int
    other: int
    """Which of the palm's markers."""
    arm: Floats
    """(3,) m, from the middle between the two to the third."""
    axes: Floats
    """(3, 3) its columns: from one to the other, across that to the third, and across both."""


def pair_of(places: Floats, seen: Sequence[int], joints: Floats) -> TwoMarkerPalm | None:
    """The two of the places (P, 3) m that are seen farthest apart, and of the joints (J, 3) m the one that is farthest
    from their line. None where they tell nothing."""
    if len(seen) < 2:
        return None
    one, other = max(combinations(seen, 2), key=lambda pair: math.dist(places[pair[0]], places[pair[1]]))
    line = places[other] - places[one]
    length = float(np.linalg.norm(line))
    if length < APART:
        return None
    line = line / length
    arms = joints - (places[one] + places[other]) / 2
    across = arms - (arms @ line)[:, None] * line
    far = int(np.linalg.norm(across, axis=1).argmax())
    radius = float(np.linalg.norm(across[far]))
    if radius < APART:
        return None
    axes = np.stack([line, across[far] / radius, np.cross(line, across[far] / radius)], axis=1)
    return TwoMarkerPalm(one, other, arms[far], axes)


def turns_about(pairs: list[TwoMarkerPalm], which: Ints, lines: Floats, before: Floats, follows: Bools) -> Floats:
    """(N, 3, 3) how the palm is turned in frames in which it turns about the lines (N, 3), of length one, of pairs.

    which (N,) tells whose. Its turn the frame before is the one found just before where it follows that (N,), else
    it is `before` (N, 3, 3).
    """
    axes, arms = np.stack([pair.axes for pair in pairs]), np.stack([pair.arm for pair in pairs])
    # Where each one's third place is as seen along the axes of each.
    among = np.einsum("kij,li->klj", axes, arms).tolist()
    was = np.einsum("nij,nj->ni", before, arms[which])
    across = np.array(_across(lines.tolist(), which.tolist(), was.tolist(), follows.tolist(), among))
    world = np.stack([lines, across, np.cross(lines, across)], axis=2)
    turns: Floats = world @ np.swapaxes(axes[which], 1, 2)
    return turns


def _across(
    lines: list[Point[float]],
    which: list[int],
    was: list[Point[float]],
    follows: list[bool],
    among: list[list[Point[float]]],
) -> list[Point[float]]:
    """The direction from each line to the third place. In plain floats: each frame needs the one before it."""
    found: list[Point[float]] = []
    last, a, b, c, u, v, w = 0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0
    for (x, y, z), pair, place, following in zip(lines, which, was, follows, strict=True):
        p, q, r = place
        if following:
            along, beside, above = among[last][pair]
            p = along * a + beside * u + above * (b * w - c * v)
            q = along * b + beside * v + above * (c * u - a * w)
            r = along * c + beside * w + above * (a * v - b * u)
        on = p * x + q * y + r * z
        u, v, w = p - on * x, q - on * y, r - on * z
        length = math.sqrt(u * u + v * v + w * w)
        if length <= SMALL * abs(on):
            # On the line, whence the whole circle is as near: any of its places, always the same.
            u, v, w = _square_on(x, y, z)
            length = math.sqrt(u * u + v * v + w * w)
        u, v, w = u / length, v / length, w / length
        found.append((u, v, w))
        last, a, b, c = pair, x, y, z
    return found


def _square_on(x: float, y: float, z: float) -> Point[float]:
    """Some direction at a right angle to a direction, not of length one."""
    if abs(x) <= abs(y) and abs(x) <= abs(z):
        return 0.0, -z, y
    return (z, 0.0, -x) if abs(y) <= abs(z) else (-y, x, 0.0)
