"""Captures spoiled by script, so that it is known which of their columns is what in which frame."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from knuckle.capture.markers import Markers
from knuckle.hand import rotations
from knuckle.hand.joints import Side
from knuckle.hand.labelling.handedness import handedness
from knuckle.hand.labelling.labelling_result import Labelling
from knuckle.hand.labelling.shape_model import LAYOUTS
from knuckle.hand.marker_sets import Spot, on_palm, suggest
from knuckle.tests.pure.hand.people import posed, someone

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Truth = dict[int, tuple[str, Spot]]
"""Column of the capture before it was spoiled -> side and spot."""


@dataclass(frozen=True, eq=False)
class Spoiled:
    positions: Floats
    """(F, M, 3) m"""
    owner: Ints
    """(F, M) which column of the capture each position was, −1 for a ghost and where nothing is seen."""


def truth_of(markers: Markers) -> Truth:
    """By the capture's own labels and, where they name the wrong side, by its shape."""
    found: Truth = {}
    for spots in suggest(markers.names).groups.values():
        columns = [markers.names.index(name) for name in spots]
        side, _ = handedness(tuple(spots.values()), markers.positions[:, columns])
        assert side is not None
        found |= {column: (side, spot) for column, spot in zip(columns, spots.values(), strict=True)}
    return found


def spoil(positions: Floats, seed: int, swaps: int = 0, cuts: int = 0, ghosts: int = 0) -> Spoiled:
    """Columns shuffled; neighbours swapped for a while; markers lost and found under another name; ghosts near them."""
    rng = np.random.default_rng(seed)
    frames, count = positions.shape[:2]
    positions, owner = positions.copy(), np.tile(np.arange(count), (frames, 1))
    apart = np.linalg.norm(positions[::10, :, None] - positions[::10, None], axis=-1)
    apart = np.median(np.where(np.isnan(apart), np.inf, apart), axis=0)
    for _ in range(swaps):
        one = int(rng.integers(count))
        pair = [one, int(rng.choice(np.argsort(apart[one])[1:5]))]
        start = int(rng.integers(10, frames - 10))
        span = slice(start, start + int(rng.integers(6, max(8, frames // 6))))
        positions[span, pair], owner[span, pair] = positions[span, pair[::-1]], owner[span, pair[::-1]]
    added: list[tuple[Floats, Ints]] = []
    for _ in range(cuts):
        one, start = int(rng.integers(count)), int(rng.integers(10, frames - 10))
        found = start + int(rng.integers(5, 40))
        path, whose = np.full((frames, 3), np.nan), np.full(frames, -1)
        path[found:], whose[found:] = positions[found:, one], owner[found:, one]
        positions[start:, one] = np.nan
        added.append((path, whose))
    for _ in range(ghosts):
        start, near = int(rng.integers(0, frames - 10)), int(rng.integers(count))
        rows = np.arange(start, min(frames, start + int(rng.integers(3, 60))))
        path = np.full((frames, 3), np.nan)
        path[rows] = positions[start, near] + rng.normal(0, 0.03, 3) + rng.normal(0, 0.0005, (len(rows), 3))
        added.append((path, np.full(frames, -1)))
    if added:
        positions = np.concatenate([positions, np.stack([path for path, _ in added], axis=1)], axis=1)
        owner = np.concatenate([owner, np.stack([whose for _, whose in added], axis=1)], axis=1)
    order = rng.permutation(positions.shape[1])
    positions, owner = positions[:, order], owner[:, order]
    return Spoiled(positions, np.where(np.all(np.isfinite(positions), axis=-1), owner, -1))


@dataclass(frozen=True)
class Score:
    """Marker-frames of hands, as parts of all that there are."""

    right: float
    wrong: float


def score(found: Labelling, spoiled: Spoiled, truth: Truth) -> Score:
    """How much of what is known was found, and how much was found that is not so."""
    right = wrong = 0
    for hand in found.hands:
        for c, spot in enumerate(hand.layout.spots.values()):
            rows = np.flatnonzero(hand.columns[:, c] >= 0)
            owners = spoiled.owner[rows, hand.columns[rows, c]]
            good = sum(int((owners == one).sum()) for one in truth if truth[one] == (hand.side, spot))
            right, wrong = right + good, wrong + len(rows) - good
    total = int(np.isin(spoiled.owner, list(truth)).sum())
    return Score(right / total, wrong / total)


def made(layout: int, side: Side, seed: int, frames: int = 150) -> tuple[Floats, Floats, Truth]:
    """A hand of its own proportions with a layout's markers, see `made_with`."""
    return made_with(tuple(LAYOUTS[layout].spots.values()), side, seed, frames)


def made_with(spots: tuple[Spot, ...], side: Side, seed: int, frames: int = 150) -> tuple[Floats, Floats, Truth]:
    """A hand of its own proportions that moves each digit on its own while the whole turns about."""
    rng = np.random.default_rng(seed)
    time = np.linspace(0, 3, frames)[:, None]
    beats = rng.uniform(0.4, 1.5, 5), rng.uniform(0, 6, 5)
    curl = 0.5 + 0.5 * np.sin(2 * np.pi * beats[0] * time / 2 + beats[1])
    angles = np.deg2rad(curl[..., None] * [60.0, 70.0, 45.0])
    angles[:, 0] *= [0.4, 0.6, 0.9]
    local = posed(someone(side, seed), spots, angles, noise=0.0004, seed=seed)
    axis = rng.normal(0, 1, 3)
    turn = rotations.to_matrix(
        rotations.from_axis_angle(axis / np.linalg.norm(axis), 2 * time[:, 0] + rng.uniform(0, 6))
    )
    way = rng.normal(0, 1, 3) + 0.3 * np.sin(time + rng.uniform(0, 6, 3))
    places = np.einsum("fij,fmj->fmi", turn, local) + way[:, None]
    return time[:, 0], places, {c: (side, spot) for c, spot in enumerate(spots)}


ON_PALM = ("index-finger-phalanx-proximal", "pinky-finger-phalanx-proximal", "wrist")
"""Of the markers that ride on the palm, those that are left."""


def stripped(
    times: Floats, positions: Floats, truth: Truth, digits: tuple[str, ...], palm: bool = True
) -> tuple[Floats, Floats, Truth]:
    """A recording with no more of its hands' markers than some digits' tips and those on the palm, and all others."""
    tips = {f"{digit}-tip" for digit in digits}
    kept = {
        column: spot.joint in tips or (palm and on_palm(spot) and spot.joint in ON_PALM)
        for column, (_, spot) in truth.items()
    }
    own = [column for column in truth if kept[column]]
    others = [column for column in range(positions.shape[1]) if column not in truth]
    return times, positions[:, own + others], {new: truth[column] for new, column in enumerate(own)}
