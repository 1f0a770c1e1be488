"""The runs of frames that a correction keys: its range, and the frame beside it where a curve has no key."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from knuckle.rig.keys.corrections.composing import runs_with_ends


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=2, max_size=12))
def test_runs_are_the_range_and_unkeyed_frames_beside_it(rows: list[tuple[bool, bool]]) -> None:
    in_range, keyed = np.array(rows).T
    found = list(runs_with_ends(in_range, keyed))
    covered = [row for first, last in found for row in range(first, last + 1)]
    beside = [in_range[max(row - 1, 0) : row + 2].any() for row in range(len(rows))]
    assert covered == [row for row in range(len(rows)) if in_range[row] or (beside[row] and not keyed[row])]
    assert all(last + 1 < following for (_, last), (following, _) in pairwise(found))
