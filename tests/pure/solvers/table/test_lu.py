"""Lu's table, held against the thesis's listings followed step by step."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knuckle.solvers.planar.planar_chain import Chain, ChainMarker, MarkerHint
from knuckle.solvers.table.linkage import tip
from knuckle.solvers.table.lu_bend import planar_lu
from knuckle.solvers.table.lu_table import build_index_table, build_thumb_table, joint_angles, nearest_filled_bin
from knuckle.solvers.table.table_bend import planar_table

from .chains import FINGER, THESIS, THUMB, coupled, five_links, up_to_tip

few = settings(max_examples=40, deadline=None)
INDEX = Chain(THESIS, FINGER.limits, 2 / 3, 0.0)
RADII = (0.0, 0.009, 0.007)
LU = planar_lu(planar_table(INDEX, ChainMarker(2, float(THESIS[2])), np.zeros(3)), 1.0, coupled=False)


def listing_c1(lengths, radii, precision):
    """Appendix C.1 as it is printed, mended as seeds/README.md says: index -> angles in degrees."""
    table: dict[int, list[tuple[float, float]]] = {}
    for step_2 in range(int(100 / precision) + 1):
        for step_3 in range(int(60 / precision) + 1):
            two, three = step_2 * precision, step_3 * precision
            x, y = 1000 * five_links(lengths, radii, np.deg2rad([0, two, three]))
            table.setdefault(int(np.hypot(x, y) / precision), []).append((two, three))
    return table


@pytest.mark.parametrize("radii", [(0.0, 0.0, 0.0), RADII])
def test_the_table_files_the_angles_that_listing_c1_files(radii):
    precision = 2.0
    expected = listing_c1(THESIS, radii, precision)
    table = build_index_table(up_to_tip(INDEX, radii), precision, coupled=False)
    assert table.filled == len(expected)
    for row, angles in expected.items():
        entries = slice(table.bin_starts[row], table.bin_starts[row + 1])
        found = np.rad2deg(np.stack([table.middle[entries], table.last[entries]], -1))
        assert np.abs(found - angles).max() < 1e-9


def test_rho_files_one_angle_of_the_last_joint_with_each_of_the_middle_one():
    table = build_index_table(up_to_tip(INDEX), 0.5, coupled=True)
    assert len(table.middle) == 201
    assert np.abs(table.last - np.minimum(2 / 3 * table.middle, np.deg2rad(60))).max() < 1e-12


def listing_c2(table, distance, alpha, before):
    """Appendix C.2 step by step, for an entry that there is."""
    row = nearest_filled_bin(table, int(distance / table.step))
    while True:
        best = None
        for entry in range(table.bin_starts[row], table.bin_starts[row + 1]):
            two, three, beta = table.middle[entry], table.last[entry], table.beta[entry]
            if beta <= alpha:
                error = np.linalg.norm(np.array([alpha - beta, two, three]) - before)
                if best is None or error < best[0]:
                    best = error, (alpha - beta, two, three)
        if best:
            return best[1]
        row += 1


@few
@given(distance=st.floats(0.04, 0.0859), alpha=st.floats(0.6, 1.6), before=st.tuples(*[st.floats(0, 1.5)] * 3))
def test_the_search_finds_what_listing_c2_finds(distance, alpha, before):
    table = build_index_table(up_to_tip(INDEX, RADII), 1.0, coupled=False)
    found = joint_angles(table, distance, alpha, before)
    expected = listing_c2(table, distance, alpha, np.array(before))
    assert np.abs(np.array(found) - expected).max() < 1e-12


@few
@given(shares=st.tuples(*[st.floats(0.02, 0.98)] * 3), precision=st.sampled_from([0.5, 1.0]), tied=st.booleans())
def test_a_pose_that_bends_forwards_is_met_to_the_precision(shares, precision, tied):
    links = up_to_tip(INDEX, RADII)
    low, high = np.maximum(INDEX.limits, 0.0).T
    truth = low + np.array(shares) * (high - low)
    if tied:
        truth = coupled(INDEX, truth[0], truth[1])
    table = build_index_table(links, precision, coupled=tied)
    goal = tip(links.links, truth)
    found = joint_angles(table, float(abs(goal)), float(np.angle(goal)), tuple(truth))
    # One step of the index, and with one angle filed per degree a gap of at most another.
    off = 1000 * abs(tip(links.links, np.array(found)) - goal)
    assert off < 2 * precision + 1e-9, f"{off:.2f} mm > {2 * precision} mm"
    assert found[0] >= 0.0


@settings(max_examples=10, deadline=None)
@given(shares=st.tuples(*[st.floats(0.02, 0.98)] * 3))
def test_with_the_end_of_the_first_bone_seen_the_others_meet_the_tip(shares):
    low, high = np.maximum(INDEX.limits, 0.0).T
    truth = low + np.array(shares) * (high - low)
    goal = complex(*five_links(THESIS, (0.0, 0.0, 0.0), truth))
    seen = THESIS[0] * np.exp(1j * truth[0])
    hint = MarkerHint(ChainMarker(0, float(THESIS[0])), float(seen.real), float(seen.imag), 1.0)
    first, middle, last, off = LU.after(tuple(truth)).bend_frame(goal.real, goal.imag, [hint])
    assert first == pytest.approx(truth[0], abs=1e-9)
    found = complex(*five_links(THESIS, (0.0, 0.0, 0.0), (first, middle, last)))
    assert 1000 * abs(found - goal) < 2.0 + 1e-9
    assert off == pytest.approx(abs(found - goal), abs=1e-12)


def test_of_several_entries_the_nearest_to_the_frame_before_is_taken():
    links = up_to_tip(INDEX)
    table = build_index_table(links, 1.0, coupled=False)
    one, other = np.deg2rad([[30, 50, 20], [40, 30, 55]])
    for truth in (one, other):
        goal = tip(links.links, truth)
        found = joint_angles(table, float(abs(goal)), float(np.angle(goal)), tuple(truth))
        assert np.rad2deg(np.abs(np.array(found) - truth).max()) < 1.5


def test_out_of_reach_and_bent_backwards_end_with_the_straight_finger():
    """The thesis's search has no end where the finger bends backwards (5.3.1)."""
    links = up_to_tip(INDEX)
    table = build_index_table(links, 1.0, coupled=False)
    for distance, alpha in ((0.2, 0.3), (0.08, -0.4), (0.0, -0.4)):
        found = joint_angles(table, distance, alpha, (0.1, 0.1, 0.1))
        reached = tip(links.links, np.array(found))
        assert abs(reached) > THESIS.sum() - 0.001
        assert abs(np.angle(reached) - alpha) < 1e-9


def test_the_thumb_table_has_one_angle_a_distance_step():
    links = up_to_tip(THUMB, (0.0, 0.0, 0.008))
    table = build_thumb_table(links, 0.1)
    assert len(table.middle) == 951
    truth = np.deg2rad(35.0)
    t = links.links[1] + links.links[2] * np.exp(1j * truth)
    first, middle, last = joint_angles(table, abs(t), 1.2, (1.2 - float(np.angle(t)), float(truth), 0.0))
    assert np.rad2deg(abs(middle - truth)) < 0.7
    assert last == 0.0
    assert abs(first - (1.2 - np.angle(t))) < 0.01
