"""The captured forearm of a hand."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..capture.arm_labels import ELBOW_WORDS, TRUNK_WORDS, forearm_rotation_labels, is_called
from ..capture.cleaning import Cleaning, clean
from ..capture.marker_labels import wrist_and_elbow
from ..capture.markers import Markers
from ..hand import mirror
from ..hand import rotations as rot
from ..hand.forearm import Forearm
from ..hand.joints import SIDES, Side
from ..solvers import Smoothing
from .recipe import Recipe
from .take import SolvedHand

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

MIN_SEEN = 0.8
"""Minimum fraction of frames in which a point of the arm must be seen to be used."""
MAX_STRETCH = 1.3
"""Maximum ratio of a forearm's longest to its shortest length: markers on the skin of an elbow slide."""
MIN_FOREARM = 0.3
"""Minimum length of a forearm relative to the palm: some skeletons have a joint of that name at the wrist."""
BACK_LENGTH = 0.1
"""m, distance from the wrist of the point by which the direction of a resting hand's back is cleaned: half a hand."""


def captured_forearm(recipe: Recipe, markers: Markers, hand: SolvedHand, smoothing: Smoothing) -> Forearm | None:
    """Return the forearm on which a solved hand was recorded, mirrored if the recipe says so.

    Its path relative to the wrist is cleaned and smoothed like the hand's markers: outliers of one or two frames, and
    gaps, are interpolated. None if the elbow is missing in many frames, or if the forearm's length varies or is
    implausibly short.
    """
    root, elbow = hand.pose.root, _elbow_path(recipe, markers, hand)
    if elbow is None:
        return None
    back = _resting_back(recipe, markers, hand)
    paths = elbow[:, None] if back is None else np.stack([elbow, BACK_LENGTH * back], axis=1)
    if len(paths) > 1:
        paths = smoothing.smooth_paths(markers.times, _clean(markers, paths, recipe.cleaning))
    world = np.einsum("fij,fpj->fpi", root[:, :3, :3], paths)
    wrist = root[:, :3, 3]
    backs = None if back is None else rot.unit_vectors(world[:, 1])
    return Forearm(world[:, 0] + wrist, wrist, backs, _trunk_path(recipe, markers, hand))


def _elbow_path(recipe: Recipe, markers: Markers, hand: SolvedHand) -> Floats | None:
    """Return the recorded elbow positions (F, 3) in the wrist's frame; see captured_forearm."""
    side, signs = performer_side(recipe, hand)
    column = _best_seen(markers, elbow_columns(markers, hand, side))
    if column is None:
        return None
    rotations, wrist = hand.pose.root[:, :3, :3], hand.pose.root[:, :3, 3]
    local = np.einsum("fji,fj->fi", rotations, markers.positions[:, column] * signs - wrist)
    lengths = np.linalg.norm(local, axis=-1)
    shortest, longest = np.nanpercentile(lengths, [5, 95])
    too_short = MIN_FOREARM * np.linalg.norm(hand.proportions.palm, axis=-1).max()
    return None if shortest < too_short or longest > MAX_STRETCH * shortest else _interpolate_gaps(local)


def _resting_back(recipe: Recipe, markers: Markers, hand: SolvedHand) -> Floats | None:
    """Return the direction (F, 3), in the wrist's frame, of the back of a hand at rest on its forearm.

    Only captures of whole bodies with rotations have it: a wrist at rest has the rotation of the elbow. None for other
    captures, and if it is missing in many frames.
    """
    _, signs = performer_side(recipe, hand)
    joints = forearm_rotation_labels(hand.labels, markers.names)
    if markers.rotations is None or joints is None:
        return None
    wrist_rotations, elbow_rotations = (
        rot.to_matrix(markers.rotations[:, markers.names.index(name)]) for name in joints
    )
    back = elbow_rotations @ np.swapaxes(wrist_rotations, -1, -2) @ (hand.pose.root[:, :3, 2] * signs)[..., None]
    local = np.einsum("fji,fj->fi", hand.pose.root[:, :3, :3], back[..., 0] * signs)
    return _interpolate_gaps(local) if np.isfinite(local).all(axis=-1).mean() >= MIN_SEEN else None


def _trunk_path(recipe: Recipe, markers: Markers, hand: SolvedHand) -> Floats | None:
    """Return the recorded positions (F, 3) of a point of the trunk on a hand's side; None unless both sides have
    one."""
    side, signs = performer_side(recipe, hand)
    for words in TRUNK_WORDS:
        columns = {trunk_side: _best_seen(markers, _columns(markers, hand, words, trunk_side)) for trunk_side in SIDES}
        column = columns[side]
        if column is not None and all(side_column is not None for side_column in columns.values()):
            return _interpolate_gaps(markers.positions[:, column] * signs)
    return None


def _clean(markers: Markers, paths: Floats, cleaning: Cleaning) -> Floats:
    """Return paths (F, P, 3) cleaned like a capture's markers."""
    names = tuple(map(str, range(paths.shape[1])))
    cleaned = clean(Markers(names, markers.times, paths, markers.source, markers.rate, "m"), cleaning).positions
    return np.stack([_interpolate_gaps(cleaned[:, column]) for column in range(len(names))], axis=1)


def _interpolate_gaps(path: Floats) -> Floats:
    """Return a path (F, 3) with unknown points interpolated from those before and after."""
    known_rows = np.flatnonzero(np.isfinite(path).all(axis=-1))
    return np.stack([np.interp(np.arange(len(path)), known_rows, axis) for axis in path[known_rows].T], axis=-1)


def _best_seen(markers: Markers, columns: Sequence[int]) -> int | None:
    """Return the marker that is seen in the most frames, None if that is not most of all frames."""
    seen = {column: float(np.isfinite(markers.positions[:, column]).all(axis=-1).mean()) for column in columns}
    best_column = max(seen, key=lambda column: seen[column], default=None)
    return None if best_column is None or seen[best_column] < MIN_SEEN else best_column


def performer_side(recipe: Recipe, hand: SolvedHand) -> tuple[Side, Floats | float]:
    """Return the performer's side of a solved hand, and the signs by which points of the capture are mirrored."""
    return (mirror.other_side(hand.side), mirror.POINT_SIGNS) if recipe.mirror else (hand.side, 1.0)


def elbow_columns(markers: Markers, hand: SolvedHand, side: Side) -> list[int]:
    """Return the columns of markers at an elbow of the hand's performer, without those of other subjects."""
    arm_labels = wrist_and_elbow(hand.labels, markers.names)
    return _columns(markers, hand, ELBOW_WORDS, side) if arm_labels is None else [markers.names.index(arm_labels[1])]


def _columns(markers: Markers, hand: SolvedHand, words: Sequence[str], side: Side) -> list[int]:
    """Return the columns of markers of the hand's performer whose labels contain one of the words, the best first."""
    subjects = {label.rpartition(":")[0] for label in hand.labels}
    named = [column for word in words for column, label in enumerate(markers.names) if is_called(label, word, side)]
    subject = {column: markers.names[column].rpartition(":")[0] for column in dict.fromkeys(named)}
    subject_columns = [column for column in subject if subject[column] in subjects]
    return subject_columns or [column for column in subject if "" in (subject[column], *subjects)]
