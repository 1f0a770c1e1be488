"""Hands are followed by where they are: ghosts, swapped order and missing frames do not matter."""

import numpy as np
from numpy.typing import NDArray

from knuckle.hand.camera.detection_paths import follow_hands

Floats = NDArray[np.float64]

FRAMES = 30
SHAPE = 100 * np.random.default_rng(0).uniform(size=(21, 2))


def at(x: float) -> Floats:
    return SHAPE + [x, 0.0]


def columns(frames: list[list[Floats]], most: int = 4) -> list[NDArray[np.int64]]:
    """For each path (F,) which detection of each frame it has, -1 for none."""
    paths = follow_hands(frames, most)
    rows = [np.full(len(frames), -1) for _ in paths]
    for row, path in zip(rows, paths, strict=True):
        row[[step.frame for step in path]] = [step.index for step in path]
    return rows


def test_two_hands_keep_their_paths_while_the_detector_swaps_them() -> None:
    frames = [[at(3.0 * f), at(600 - 2.0 * f)] if f % 2 else [at(600 - 2.0 * f), at(3.0 * f)] for f in range(FRAMES)]
    first, second = columns(frames)
    for path in (first, second):
        xs = [float(frames[f][path[f]][0, 0]) for f in range(FRAMES)]
        assert np.abs(np.diff(xs)).max() < 4


def test_a_hand_found_twice_is_one_hand() -> None:
    frames = [[at(0.0), at(20.0)] for _ in range(FRAMES)]
    assert len(follow_hands(frames, 4)) == 1


def test_a_ghost_of_one_frame_is_left_out_and_misses_are_bridged() -> None:
    frames = [[] if f in (7, 8) else [at(2.0 * f)] for f in range(FRAMES)]
    frames[15] = [at(900.0), at(30.0)]
    (path,) = columns(frames)
    assert path[7] == path[8] == -1
    assert path[15] == 1
    assert (np.delete(path, [7, 8]) >= 0).all()


def test_no_detections_are_no_hands() -> None:
    assert follow_hands([[] for _ in range(FRAMES)], 4) == []


def test_a_hand_that_is_lost_for_long_has_two_stretches() -> None:
    frames = [[] if 8 <= f < 26 else [at(2.0 * f)] for f in range(40)]
    first, second = columns(frames)
    assert (np.flatnonzero(first >= 0).tolist(), np.flatnonzero(second >= 0).tolist()) == (
        list(range(26, 40)),
        list(range(8)),
    )


def test_of_many_stretches_the_longest_are_taken() -> None:
    lengths = [5, 9, 7, 4, 8]
    frames = [each for length in lengths for each in [[at(0.0)]] * length + [[]] * 20]
    assert [len(path) for path in follow_hands(frames, 3)] == [9, 8, 7]
