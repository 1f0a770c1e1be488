"""docs/tutorials/mend-a-take.md, walked through: problems are found, mended, kept through a new solve, and reduced."""

import json
from pathlib import Path

import pytest

from knuckle.tests.gui.conftest import OUT, play_scenario
from knuckle.tests.gui.page_steps import steps_of_page
from knuckle.tests.resources import Folder


def shortened(shared: Folder) -> None:
    """Ten seconds of each recording, beside the pictures: the glove has four gaps there, the camera contacts."""
    OUT.mkdir(parents=True, exist_ok=True)
    lines = shared.file("data/captures/qualisys_glove.tsv").read_text().splitlines()
    head = next(number for number, line in enumerate(lines) if line.startswith("Frame\t")) + 1
    part = lines[head + 3050 : head + 4050]
    lines = [f"NO_OF_FRAMES\t{len(part)}", *lines[1:head], *part]
    (OUT / "qualisys_glove.tsv").write_text("\n".join(lines) + "\n")
    video = json.loads(shared.file("data/captures/mediapipe_video.json").read_text())
    video["frames"] = video["frames"][:330]
    (OUT / "mediapipe_video.json").write_text(json.dumps(video))


def test_the_page_leads_from_a_solved_take_to_one_that_can_be_shown(shared: Folder, rigs: Path) -> None:
    shortened(shared)
    seen = play_scenario("mend_a_take")
    page = steps_of_page("mend-a-take")
    assert [*page] == [number for number in seen if number.isdigit()]
    for number, (words, keys, picture) in page.items():
        assert words == set(seen[number]["words"]), f"step {number}: what it names is what was read on the screen"
        assert keys <= set(seen[number]["keys"]), f"step {number}: what it says to press was pressed"
        assert picture == f"pictures/mend-a-take-{int(number):02}.png"
    assert seen["1"]["range"] == [1, 240]
    visited = [seen[number] for number in ("2", "4", "5", "6")]
    assert [place["rank"] for place in visited] == [0, 1, 2, 4]
    assert all(place["bones"] and place["frame"] == place["worst"] for place in visited)
    kinds = ["difference", "solve", "pose", "hide"]
    for number, count in (("3", 1), ("4", 2), ("5", 3), ("6", 4), ("7", 4)):
        mends = seen[number]["mends"]
        assert [*mends] == kinds[:count] and all(state == "on" for state, _ in mends.values()), f"step {number}"
    # The pose was turned by 15 degrees in each joint of the digits; the named pose is far from the take.
    for number in ("6", "7"):
        assert seen[number]["mends"]["difference"][1] == pytest.approx(15, abs=0.1)
        assert seen[number]["mends"]["pose"][1] > 5
    assert seen["7"]["action"] != seen["6"]["action"], "it is another take"
    assert seen["8"]["mends"]["motion"][0] == "on"
    # Out of reach is the ring finger while the thumb is on the palm; the others are in a fist that the camera solves
    # through itself.
    contacts = seen["9"]["contacts"]
    held = [one for one in contacts if max(one.get("off_mm", 9), one.get("slip_mm", 9)) <= 1]
    in_fist = [one for one in contacts if 8.5 < one["start"] < one["end"] < 9.5]
    assert [(one["digit"], one["other"]) for one in held] == [("thumb", "palm"), ("thumb", "index-finger")]
    others = [(one["digit"], one["other"]) for one in contacts if one not in held and one not in in_fist]
    assert others == [("thumb", "ring-finger")] and len(contacts) == 8
    dense, reduced = seen["10"]["counts"]
    assert reduced < 0.5 * dense
