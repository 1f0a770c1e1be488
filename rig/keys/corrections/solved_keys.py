"""Find keys of a take that were edited by hand since the solve, by a checksum for each frame."""

import json
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..fcurves import FRAME_TOLERANCE, key_values

if TYPE_CHECKING:
    from bpy.types import Action, FCurve

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

FRAMES_PROPERTY = "knuckle_solved_frames"
"""Custom property of a take's action: the frames of its keys as they were solved."""
NUMBERS_PROPERTY = "knuckle_solved_numbers"
"""Custom property of a take's action: a checksum of the keys of each of these frames."""
PATHS_PROPERTY = "knuckle_solved_paths"
"""Custom property of a take's action: the data paths that were solved, as JSON; others are the user's."""
EDITED = " Edited"
"""Suffix of the names of actions with edited keys that were replaced."""
NO_KEYS = -1
"""The checksum of a frame without keys."""


def remember_keys(action: "Action", part: tuple[float, float] | None = None) -> None:
    """Store checksums of a take's keys; part: only on the frames from the first to the last, so that edits elsewhere
    stay known."""
    paths = _solved_paths(action)
    if part is None or paths is None:
        paths = {curve.data_path for curve in _curves(action)}
    frames, numbers = _numbers(action, paths)
    if part is not None and action.get(PATHS_PROPERTY) is not None:
        known_frames, known = _known(action)
        outside = [_outside(all_frames, part) for all_frames in (frames, known_frames)]
        frames = np.concatenate([frames[~outside[0]], known_frames[outside[1]]])
        numbers = np.concatenate([numbers[~outside[0]], known[outside[1]]])
    action[FRAMES_PROPERTY], action[NUMBERS_PROPERTY] = frames.tolist(), numbers.tolist()
    action[PATHS_PROPERTY] = json.dumps(sorted(paths))


def edited_frames(action: "Action") -> Floats:
    """Return the frames (F,) on which keys of a take were edited since the solve; empty if that is unknown."""
    paths = _solved_paths(action)
    if paths is None:
        return np.empty(0)
    current, known = _numbers(action, paths), _known(action)
    all_frames = np.unique(np.concatenate([_steps(current[0]), _steps(known[0])]))
    both = np.full((2, len(all_frames)), NO_KEYS)
    for row, (frames, numbers) in zip(both, (current, known), strict=True):
        row[np.searchsorted(all_frames, _steps(frames))] = numbers
    return np.asarray(all_frames[both[0] != both[1]] * FRAME_TOLERANCE)


def edits_in(frames: Floats, ranges: Sequence[tuple[float, float]]) -> str:
    """Describe which of the edited frames (F,) are in ranges; empty if there is none."""
    inside = [frames[(frames > first - FRAME_TOLERANCE) & (frames < last + FRAME_TOLERANCE)] for first, last in ranges]
    found = np.unique(np.concatenate([np.empty(0), *inside]))
    if len(found) < 2:
        return f"frame {found[0]:.0f}" if len(found) else ""
    return f"{len(found)} frames from {found[0]:.0f} to {found[-1]:.0f}"


def keep_edits(base: "Action", ranges: Sequence[tuple[float, float]]) -> list[str]:
    """If keys in ranges were edited by hand, keep the take as another action and return a sentence about it; else
    return an empty one."""
    edits = edits_in(edited_frames(base), ranges)
    if not edits:
        return []
    copy = base.copy()
    copy.name, copy.use_fake_user = base.name + EDITED, True
    return [f"keys that were edited by hand on {edits} were replaced, and are kept in the action '{copy.name}'"]


def _outside(frames: Floats, part: tuple[float, float]) -> NDArray[np.bool_]:
    return np.asarray((frames < part[0] - FRAME_TOLERANCE) | (frames > part[1] + FRAME_TOLERANCE))


def _steps(frames: Floats) -> Numbers:
    """Return frames (F,) as integers that are equal for frames that Blender merges."""
    return np.round(frames / FRAME_TOLERANCE).astype(np.int64)


def _curves(action: "Action") -> "list[FCurve]":
    bags = [bag for layer in action.layers for strip in layer.strips for bag in strip.channelbags]
    return [curve for bag in bags for curve in bag.fcurves]


def _solved_paths(action: "Action") -> set[str] | None:
    """Return the data paths that were solved, None if that is unknown."""
    text = action.get(PATHS_PROPERTY)
    try:
        parsed = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        parsed = None
    return set(map(str, parsed)) if isinstance(parsed, list) else None


def _known(action: "Action") -> tuple[Floats, Numbers]:
    """Return the frames (F,) and checksums (F,) that an action stores; empty if they are damaged."""
    try:
        frames = np.array(action.get(FRAMES_PROPERTY), float)
        numbers = np.array(action.get(NUMBERS_PROPERTY), np.int64)
    except (TypeError, ValueError, OverflowError):
        return np.empty(0), np.empty(0, np.int64)
    fits = frames.ndim == 1 and frames.shape == numbers.shape and bool(np.isfinite(frames).all())
    return (frames, numbers) if fits else (np.empty(0), np.empty(0, np.int64))


def _numbers(action: "Action", paths: set[str]) -> tuple[Floats, Numbers]:
    """Return the frames (F,) with keys of curves with these data paths, and their checksums (F,)."""
    frames, numbers = [np.empty(0)], [np.empty(0, np.int64)]
    for curve in _curves(action):
        if curve.data_path not in paths:
            continue
        co = key_values(curve, "co").reshape(-1, 2)
        salt = zlib.crc32(f"{curve.data_path}[{curve.array_index}]".encode())
        mixed = (co[:, 1].copy().view(np.uint32).astype(np.uint64) ^ np.uint64(salt)) * np.uint64(0x9E3779B97F4A7C15)
        frames.append(co[:, 0].astype(float))
        numbers.append((mixed >> np.uint64(40)).astype(np.int64))
    found, rows = np.unique(_steps(np.concatenate(frames)), return_inverse=True)
    sums = np.bincount(rows, np.concatenate(numbers), len(found)).astype(np.int64)
    # Use 24 bits of each key, so that sums stay exact in floating point and fit into a custom property's 32 bits.
    return np.asarray(found * FRAME_TOLERANCE, float), sums % (1 << 31)
