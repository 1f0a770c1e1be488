"""Captures with faults at places that are known, made by script from recorded ones."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from knuckle.capture.markers import Markers

Floats = NDArray[np.float64]

KINDS = ("swap", "leap", "drift", "gap", "ghost", "wrong side")
SHORTEST, LONGEST = 3, 40
"""Frames of a fault."""
DRIFT_FRAMES = (40, 80)
APART = 15
"""Frames between two faults, at least, so that each can be found by itself."""
OFFSET_M = (0.02, 0.06)
"""How far leaps, drifts and ghosts lead away: from a finger's breadth."""


@dataclass(frozen=True)
class Fault:
    kind: str
    columns: tuple[int, ...]
    first: int
    last: int


def seed_faults(markers: Markers, hand: list[int], count: int, seed: int) -> tuple[Markers, list[Fault]]:
    """Faults of random kind, place and length among the markers of one hand (columns)."""
    rng = np.random.default_rng(seed)
    positions, faults = markers.positions.copy(), list[Fault]()
    taken = np.zeros(len(positions), bool)
    for number in range(count):
        kind = KINDS[(number + seed) % len(KINDS)]
        first, length = _place(rng, kind, taken)
        rows = np.arange(first, first + length)
        columns = _columns(rng, kind, positions, hand, first)
        positions[rows[:, None], columns] = _spoilt(rng, kind, positions[rows[:, None], columns])
        taken[max(first - APART, 0) : first + length + APART] = True
        faults.append(Fault(kind, tuple(columns), first, first + length - 1))
    return replace(markers, positions=positions), faults


def _place(rng: np.random.Generator, kind: str, taken: NDArray[np.bool_]) -> tuple[int, int]:
    """First frame and length of a fault that lies apart from the others."""
    for _ in range(10_000):
        shortest, longest = DRIFT_FRAMES if kind == "drift" else (SHORTEST, LONGEST)
        length = int(np.exp(rng.uniform(np.log(shortest), np.log(longest + 1))))
        first = int(rng.integers(5, len(taken) - length - 5))
        if not taken[first : first + length].any():
            return first, length
    raise AssertionError("no room for another fault")


def _columns(rng: np.random.Generator, kind: str, positions: Floats, hand: list[int], first: int) -> list[int]:
    """The markers of a fault: all for a wrong side, two neighbours for a swap, else one."""
    seen = [column for column in hand if np.isfinite(positions[first, column]).all()]
    if kind == "wrong side":
        return hand
    one = int(rng.choice(seen))
    if kind != "swap":
        return [one]
    apart = np.linalg.norm(positions[first, seen] - positions[first, one], axis=-1)
    return [one, seen[int(rng.choice(np.argsort(apart)[1:5]))]]


def _spoilt(rng: np.random.Generator, kind: str, paths: Floats) -> Floats:
    """The positions (L, C, 3) m of a fault's markers."""
    direction = rng.normal(size=3)
    offset = direction / np.linalg.norm(direction) * rng.uniform(*OFFSET_M)
    if kind == "swap":
        return paths[:, ::-1]
    if kind == "leap":
        return paths + offset
    if kind == "drift":
        return paths + offset * np.sin(np.linspace(0, np.pi, len(paths)))[:, None, None]
    if kind == "gap":
        return np.full_like(paths, np.nan)
    if kind == "ghost":
        return np.broadcast_to(paths[0] + offset, paths.shape) + rng.normal(0, 0.0005, paths.shape)
    return _mirrored(paths)


def _mirrored(paths: Floats) -> Floats:
    """A hand (L, C, 3) as its mirror image, in the plane through its middle and along its longest two axes."""
    middle = np.nanmean(paths, axis=1, keepdims=True)
    away = paths - middle
    normals = [np.linalg.svd(np.nan_to_num(frame), full_matrices=False)[2][1] for frame in away]
    normal = np.array(normals)[:, None]
    mirrored: Floats = paths - 2 * (away * normal).sum(axis=-1, keepdims=True) * normal
    return mirrored
