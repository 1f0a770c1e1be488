"""Which corrections mend a problem: those on all of its parts and frames, and what the evidence cannot judge."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from knuckle.pipeline.corrections.correction import (
    Change,
    Correction,
    HiddenMarkers,
    OtherMethods,
    PoseDifference,
    PoseToHold,
    TimeRange,
)
from knuckle.rig.keys.corrections.mended_problems import Mend, mending
from knuckle.rig.keys.corrections.take_clock import TakeClock
from knuckle.rig.keys.take_problems import TakeProblem

CLOCK = TakeClock(1.0, 0.0, 24.0)
FIRST, LAST = 40.0, 52.0
TURN = np.array([np.cos(0.1), np.sin(0.1), 0.0, 0.0])


def problem(measure: str, *parts: str) -> TakeProblem:
    return TakeProblem("right", parts, FIRST, LAST, 44.0, 2.0, "it is off", measure)


def correction(change: Change, first: float = FIRST, last: float = LAST) -> Correction:
    start, end = CLOCK.times([first, last]).tolist()
    return Correction("a", "Mend", "right", TimeRange(start, end), change)


def mended(of: TakeProblem, *corrections: Correction) -> bool:
    return bool(mending(of, [Mend.of(each, CLOCK) for each in corrections], CLOCK))


def test_a_pose_mends_the_frames_and_parts_that_it_covers() -> None:
    off = problem("marker_leap", "thumb", "ring-finger")
    thumb, ring = (correction(PoseToHold("fist", (digit,))) for digit in off.parts)
    assert not mended(off) and not mended(off, thumb) and mended(off, thumb, ring)
    both = PoseToHold("fist", off.parts)
    assert mended(off, correction(both, FIRST - 9, LAST + 9))
    for span in ((FIRST + 1, LAST), (FIRST, LAST - 1)):
        assert not mended(off, correction(both, *span)), "a part of it is as it was"
    assert not mended(off, Correction("a", "Mend", "left", correction(both).range, both))


def frames(first: float, last: float, blend_in: float) -> TimeRange:
    """The range of frames of the take, blended in over so many s."""
    start, end = CLOCK.times([first, last]).tolist()
    return TimeRange(start, end, blend_in, 0.25)


@pytest.mark.parametrize(
    ("others", "is_mend"),
    [
        ({"factor": 0.5}, True),
        ({"factor": 0.4}, False),
        ({"muted": True}, False),
        ({"factor_keys": ((0.0, 0.0), (2.0, 0.0), (3.0, 1.0))}, False),
        ({"range": frames(FIRST - 6, LAST + 6, 0.25)}, True),
        ({"range": frames(FIRST, LAST + 60, 0.4)}, False),
    ],
    ids=["half", "less", "muted", "no factor there", "blended beside it", "blended in there"],
)
def test_what_hardly_counts_on_the_worst_frame_mends_nothing(others: dict[str, Any], is_mend: bool) -> None:
    off = problem("tip_error", "thumb")
    assert mended(off, replace(correction(PoseToHold("fist", ("thumb",))), **others)) == is_mend


def test_a_palm_is_mended_by_what_moves_the_wrist() -> None:
    off = problem("marker_error", "palm")
    finger, wrist = (PoseDifference({joint: TURN}) for joint in ("index-finger-phalanx-proximal", "wrist"))
    assert not mended(off, correction(finger)) and mended(off, correction(wrist))


@pytest.mark.parametrize("measure", ["marker_leap", "tip_error", "unseen"])
def test_what_the_solve_did_is_judged_by_its_evidence_but_for_a_guess_that_was_chosen(measure: str) -> None:
    off = problem(measure, "thumb")
    assert not mended(off, correction(HiddenMarkers(("thumb",))))
    assert mended(off, correction(OtherMethods("whole-hand"))) == (measure == "unseen")
