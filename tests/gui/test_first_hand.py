"""docs/tutorials/first-hand.md, walked through by a newcomer in a Blender that has never seen Knuckle."""

from typing import Any

from knuckle.tests.gui.conftest import play_scenario
from knuckle.tests.gui.page_steps import steps_of_page

MM = 1e-3


def test_the_ten_steps_of_the_page_lead_from_the_zip_to_a_hand_that_holds_a_can() -> None:
    seen = play_scenario("first_hand", kind="bare")
    page = steps_of_page("first-hand")
    assert [*page] == [str(number) for number in range(1, 11)]
    for number, (words, keys, picture) in page.items():
        assert words == set(seen[number]["words"]), f"step {number}: what it names is what was read on the screen"
        assert keys <= set(seen[number]["keys"]), f"step {number}: what it says to press was pressed"
        assert picture == f"pictures/first-hand-{int(number):02}.png"
    check(seen)


def check(seen: dict[str, Any]) -> None:
    """Each step came to what the page says of it."""
    assert seen["1"]["enabled"]
    assert seen["2"]["objects"] == ["Camera", "Light", "Right Hand", "Right Hand Skin"]
    assert (seen["3"]["mode"], seen["3"]["tool"]) == ("POSE", "knuckle.hand_tool")
    assert seen["4"]["pixels off"] < 3
    assert [digit for digit, _ in seen["5"]["pins"]] == ["thumb", "index-finger"]
    assert seen["6"]["held"] <= 0.5, f"pinned tips went {seen['6']['held']:.2f} mm > 0.5 mm"
    assert seen["6"]["went"] > 2.0
    assert seen["7"]["curl"] > seen["7"]["before"] + 0.1 and seen["7"]["pins"] == 0
    assert seen["8"]["off"] < 1.0, "as the pose has it, to a degree"
    size, place = seen["9"]["size"], seen["9"]["location"]
    assert [round(each, 4) for each in (*size, *place)] == [0.07, 0.07, 0.12, 0.0, 0.09, -0.09]
    last = seen["10"]
    assert {"Cylinder", "Right Hand Skin"} == set(last["selected"])
    assert last["frames"] == [1.0, 25.0]
    assert last["deep"] <= 1 * MM, f"{last['deep'] / MM:.2f} mm deep > 1 mm"
    assert last["near"] <= 1 * MM, f"{last['near'] / MM:.2f} mm away"
