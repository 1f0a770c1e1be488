"""Labelling of hostile captures: thousands of markers, or markers that jump in every frame, cost seconds and little."""

import itertools
import tracemalloc
from collections.abc import Callable, Generator
from types import SimpleNamespace

import numpy as np
import pytest

from knuckle.hand.labelling import few_markers, label_search, trajectories
from knuckle.hand.labelling.label_search import label_hands
from knuckle.hand.labelling.shape_model import LAYOUTS
from knuckle.hand.labelling.trajectories import find_trajectories

RATE = 100.0


def noise(frames: int, markers: int) -> np.ndarray:
    """(F, M, 3) m: each marker anywhere in a room, in each frame."""
    return np.random.default_rng(1).uniform(-1.0, 1.0, (frames, markers, 3))


def fragments(frames: int, markers: int) -> np.ndarray:
    """(F, M, 3) m: markers that drift, hidden in one frame of ten."""
    rng = np.random.default_rng(2)
    positions = rng.uniform(-0.3, 0.3, (1, markers, 3)) + np.cumsum(rng.normal(0, 0.002, (frames, markers, 3)), axis=0)
    positions[rng.random((frames, markers)) < 0.1] = np.nan
    return positions


def peak_bytes(work: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("chunk", [1, 50, 10**9])
def test_pairs_are_compared_in_chunks_of_any_size_alike(monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    times, positions = np.arange(60) / RATE, fragments(60, 30)
    positions[30:, [3, 4]] = positions[30:, [4, 3]]
    expected = find_trajectories(times, positions)
    monkeypatch.setattr(trajectories, "CHUNK_PAIRS", chunk)
    found = find_trajectories(times, positions)
    seen = np.isfinite(positions[..., 0])
    pieces = np.count_nonzero(seen[0]) + np.count_nonzero(seen[1:] & ~seen[:-1])
    assert len(expected.first) < pieces, "some are joined"
    np.testing.assert_array_equal(found.ids, expected.ids)


def test_noise_takes_little_memory_and_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """All pairs within the usual gap would take gigabytes."""
    monkeypatch.setattr(trajectories, "MAX_PAIRS", 1_000_000)
    times, positions = np.arange(100) / RATE, noise(100, 150)
    found = find_trajectories(times, positions)
    assert found.max_gap < trajectories.MAX_GAP_S
    assert peak_bytes(lambda: find_trajectories(times, positions)) < 100e6
    labelling = label_hands(times, positions)
    assert not labelling.hands
    assert len(labelling.notes) == 1 and "appear and jump so often" in labelling.notes[0]


def test_markers_that_are_seen_throughout_are_followed_however_many() -> None:
    positions = np.random.default_rng(3).uniform(-1.0, 1.0, (1, 5000, 3)) + np.zeros((40, 1, 1))
    found = find_trajectories(np.arange(40) / RATE, positions)
    np.testing.assert_array_equal(found.ids, np.tile(np.arange(5000), (40, 1)))
    assert found.max_gap == trajectories.MAX_GAP_S
    assert peak_bytes(lambda: few_markers.describe_few_markers(positions, tuple(map(str, range(5000))))) < 10e6


@pytest.mark.parametrize(("articulated", "count"), [(None, label_search.MAX_SEARCHES), (object(), 1)])
def test_a_crowd_of_hands_whose_side_cannot_be_decided_is_searched_a_few_times(
    monkeypatch: pytest.MonkeyPatch, articulated: object, count: int
) -> None:
    """A hundred markers in a few frames had 44 such hands, each of which takes a second to find.

    One that only the articulated hand finds takes several.
    """
    searches = itertools.count()

    def undecided(*_: object) -> Generator[None, None, SimpleNamespace]:
        yield
        return SimpleNamespace(
            track_ids=np.array([next(searches)]),
            side_confidence=0.5,
            layout=LAYOUTS[0],
            of_side=lambda side: None,
            hand=articulated,
        )

    monkeypatch.setattr(label_search, "_best_hand", undecided)
    labelling = label_hands(np.arange(3) / RATE, np.repeat(noise(1, 100), 3, axis=0))
    assert not labelling.hands
    assert next(searches) == count
