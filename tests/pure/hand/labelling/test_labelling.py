"""Labels found by shape: against other libraries, hands that are made, and captures whose labels are known."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knuckle import capture
from knuckle.hand.labelling.hungarian import AssignmentCosts, assign_markers, exchange_costs, minimum_cost_assignment
from knuckle.hand.labelling.label_search import label_hands
from knuckle.hand.labelling.trajectories import find_trajectories
from knuckle.tests.pure.hand.labelling.spoiled import Spoiled, made, score, spoil, truth_of


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 7), st.integers(0, 4), st.integers(0, 2**32 - 1), st.booleans())
def test_the_assignment_costs_what_scipys_does(rows, more, seed, whole):
    optimize = pytest.importorskip("scipy.optimize")
    costs = np.random.default_rng(seed).normal(0, 10, (rows, rows + more))
    costs = np.rint(costs) if whole else costs
    columns = minimum_cost_assignment(costs)
    assert len(set(columns)) == rows
    best = costs[optimize.linear_sum_assignment(costs)].sum()
    assert costs[np.arange(rows), columns].sum() == pytest.approx(best, abs=1e-9)


def pairwise(spots, markers, seed):
    rng = np.random.default_rng(seed)
    single = np.c_[rng.normal(0, 1, (spots, markers)), np.zeros(spots)]
    pairs = np.zeros((spots, spots, markers + 1, markers + 1))
    for a, b in itertools.combinations(range(spots), 2):
        pairs[a, b, :markers, :markers] = rng.normal(0, 1, (markers, markers)) * (1 - np.eye(markers))
        pairs[b, a] = pairs[a, b].T
    return AssignmentCosts(single, pairs)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_no_exchange_lowers_the_cost_of_what_was_assigned_and_each_is_foretold(seed):
    costs = pairwise(4, 5, seed)
    labels = assign_markers(costs)
    own = costs.total(labels)
    swaps, changes = exchange_costs(costs, labels)
    for a, b in itertools.combinations(range(4), 2):
        other = labels.copy()
        other[[a, b]] = other[[b, a]]
        if labels[a] != labels[b]:
            assert costs.total(other) - own == pytest.approx(swaps[a, b], abs=1e-9)
            assert swaps[a, b] > -1e-6
    for spot, marker in itertools.product(range(4), range(6)):
        if np.isfinite(changes[spot, marker]):
            other = labels.copy()
            other[spot] = marker
            assert costs.total(other) - own == pytest.approx(changes[spot, marker], abs=1e-9)
            assert changes[spot, marker] > -1e-6


def straight_lines(frames=60, apart=0.03):
    """Two markers that move side by side at 0.6 m/s, 100 Hz."""
    times = np.arange(frames) / 100
    path = np.stack([0.6 * times, 0 * times, 0.02 * np.sin(6 * times)], axis=1)
    return times, np.stack([path, path + [0, apart, 0]], axis=1)


def test_a_swap_is_followed_into_the_other_column():
    times, positions = straight_lines()
    positions[20:35] = positions[20:35, ::-1]
    tracks = find_trajectories(times, positions)
    assert len(tracks.first) == 2
    assert list(tracks.ids[[0, 25, 50], [0, 1, 0]]) == [tracks.ids[0, 0]] * 3


def test_a_marker_that_is_found_again_under_another_name_stays_one():
    times, positions = straight_lines()
    late = np.full((60, 1, 3), np.nan)
    late[30:, 0] = positions[30:, 0]
    positions[24:, 0] = np.nan
    tracks = find_trajectories(times, np.concatenate([positions, late], axis=1))
    assert len(tracks.first) == 2
    assert tracks.ids[10, 0] == tracks.ids[40, 2]


def test_a_gap_after_which_a_marker_could_be_either_of_two_is_left_open():
    times, positions = straight_lines(apart=0.004)
    positions[25:45] = np.nan
    positions[45:] += [0, 0.002, 0]
    tracks = find_trajectories(times, positions)
    assert tracks.ids[10, 0] not in tracks.ids[50]


def test_a_hand_that_is_shaken_has_as_many_tracks_as_markers_and_a_swap_in_it_is_seen():
    """3 cm at 20 Hz, more than a marker is believed to accelerate on its own."""
    times = np.arange(120) / 120
    shake = 0.03 * np.sin(2 * np.pi * 20 * times)[:, None, None] * [1.0, 0.5, 0.0]
    positions = np.random.default_rng(0).uniform(-0.05, 0.05, (1, 12, 3)) + shake
    assert len(find_trajectories(times, positions).first) == 12
    swapped = positions.copy()
    swapped[40:70, [2, 9]] = positions[40:70, [9, 2]]
    tracks = find_trajectories(times, swapped)
    assert not set(tracks.ids[:40, [2, 9]].ravel()) & set(tracks.ids[40:70, [2, 9]].ravel())


def test_nothing_seen_and_single_frames_have_no_tracks_that_leap():
    assert len(find_trajectories(np.arange(5.0), np.full((5, 3, 3), np.nan)).first) == 0
    assert len(find_trajectories(np.zeros(1), np.zeros((1, 2, 3))).first) == 2
    assert label_hands(np.arange(5.0), np.full((5, 3, 3), np.nan)).hands == ()
    assert label_hands(np.zeros(0), np.zeros((0, 0, 3))).hands == ()


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize(("layout", "least"), [(0, 0.99), (2, 0.99), (3, 0.9)])
def test_hands_that_are_made_are_labelled(layout, least, side):
    scores = []
    for seed in range(2):
        times, places, truth = made(layout, side, seed)
        spoiled = spoil(places, seed)
        scores.append(score(label_hands(times, spoiled.positions), spoiled, truth))
    assert np.mean([one.right for one in scores]) >= least, scores


@pytest.mark.parametrize(
    ("file", "least", "worst"),
    [
        ("two_hands_glove.c3d", 0.99, 0.002),
        ("qualisys_glove.tsv", 0.99, 0.002),
        ("leap_finger_tap.json", 0.99, 0.002),
        ("mediapipe_video.json", 0.99, 0.002),
    ],
)
def test_captures_without_their_labels_get_them_back_though_markers_swap(shared, file, least, worst):
    markers = capture.read(shared / "data/captures" / file)
    truth = truth_of(markers)
    spoiled = spoil(markers.positions, 1, swaps=8)
    found = score(label_hands(markers.times, spoiled.positions), spoiled, truth)
    assert found.right >= least
    assert found.wrong <= worst


@pytest.mark.parametrize("file", ["two_hands_glove.c3d", "qualisys_glove.tsv"])
def test_optical_captures_in_fragments_with_ghosts_are_labelled(shared, file):
    markers = capture.read(shared / "data/captures" / file)
    spoiled = spoil(markers.positions, 2, swaps=8, cuts=12, ghosts=6)
    found = score(label_hands(markers.times, spoiled.positions), spoiled, truth_of(markers))
    assert found.right >= 0.99
    assert found.wrong <= 0.005


def test_a_body_without_its_hands_has_none(shared):
    markers = capture.read(shared / "data/captures/two_hands_glove.c3d")
    body = [column for column in range(len(markers.names)) if column not in truth_of(markers)]
    assert len(body) > 15
    assert label_hands(markers.times, markers.positions[:, body]).hands == ()


def test_where_nothing_moves_the_hand_is_still_reported(shared):
    """A single pose seen from frame to frame, as from a still clip."""
    markers = capture.read(shared / "data/captures/two_hands_glove.c3d")
    order = np.random.default_rng(0).permutation(len(markers.names))
    still = Spoiled(markers.positions[:5, order], np.tile(order, (5, 1)))
    found = score(label_hands(markers.times[:5], still.positions), still, truth_of(markers))
    assert found.wrong < 0.1
    assert found.right > 0.9
