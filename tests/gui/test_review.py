"""The Review panel: from problem to problem by buttons and by keys, and marks."""

import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from knuckle.tests.gui.conftest import OUT

ROOT = Path(__file__).parents[2]
TAP = ROOT / "data" / "leap_finger_tap.json"
ASTRAY = {"ring": (3, 20, 30, 40.0), "thumb": (0, 60, 70, 60.0)}
"""Digit -> Leap's number of it, first frame, first frame after, and how far its fingertip goes astray in mm."""


def spoilt(folder: Path, astray: dict[str, tuple[int, int, int, float]] = ASTRAY, loops: int = 0) -> None:
    """The bundled recording with fingertips astray for a while, in a folder.

    loops: how often it goes back and forth again after its end.
    """
    recording = json.loads(TAP.read_text())
    template, *rows = recording["frames"]
    there, (_, begin, *_), (_, end, *_) = rows[:], rows[0], rows[-1]
    step = (end - begin) // (len(rows) - 1)
    for loop in range(loops):
        rows += deepcopy(there[-2::-1] if loop % 2 == 0 else there[1:])
    for number, row in enumerate(rows):
        row[:2] = [there[0][0] + number, begin + number * step] if loops else row[:2]
    recording["frames"] = [template, *rows]
    place = next(k for k, spec in enumerate(template) if isinstance(spec, dict) and "pointables" in spec)
    names = template[place]["pointables"][0]
    for digit, first, stop, far in astray.values():
        for row in rows[first:stop]:
            finger = next(one for one in row[place] if one[names.index("type")] == digit)
            finger[names.index("btipPosition")][1] += far
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "spoilt_tap.json").write_text(json.dumps(recording))


def test_problems_are_visited_worst_first_and_marks_are_kept(play: Callable[[str], dict[str, Any]]) -> None:
    spoilt(OUT)
    seen = play("review")
    assert [visit["rank"] for visit in seen["visited"]] == [0, 1]
    assert [visit["parts"][0] for visit in seen["visited"]] == ["thumb", "ring-finger"]
    for visit in seen["visited"]:
        assert visit["frame"] == visit["worst"]
        assert visit["bones"] and all(name.startswith(tuple(visit["parts"])) for name in visit["bones"])
    assert seen["back"]["rank"] == 0
    assert seen["marked"] == [seen["visited"][0]["key"]]
    assert seen["unmarked"] == []
    # The thumb is off in frames 27 to 32 of the scene; in the low Timeline the playhead is on their end.
    for name, slack in (("timeline", 1.6), ("dope sheet", 0.3), ("zoomed", 0.2)):
        first, last = seen["strips"][name]
        assert (first, last) == (pytest.approx(27.5, abs=slack), pytest.approx(31.5, abs=slack)), name
    assert seen["strips"]["off"] == []
    page = (OUT / "review_page.html").read_text(encoding="utf-8")
    assert page.count("data:image/jpeg;base64,") == 6, "two faults and the thumb that they spoil, from two sides"
    assert seen["page"]["before"] == seen["page"]["after"]
    dense, reduced, undone = seen["keys"]
    assert reduced < 0.4 * dense
    assert undone == dense, "one undo brings the dense keys back"
