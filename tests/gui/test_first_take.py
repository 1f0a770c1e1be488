"""docs/tutorials/first-take.md, walked through by a newcomer in a Blender that has never seen Knuckle."""

from pathlib import Path

from knuckle.tests.gui.conftest import play_scenario
from knuckle.tests.gui.page_steps import steps_of_page

RIGS = ("mixamo", "rigify", "makehuman")


def test_the_ten_steps_of_the_page_lead_from_the_zip_to_takes_on_three_characters(characters: Path) -> None:
    seen = play_scenario("first_take", kind="bare")
    page = steps_of_page("first-take")
    assert [*page] == [str(number) for number in range(1, 11)]
    for number, (words, keys, picture) in page.items():
        assert words == set(seen[number]["words"]), f"step {number}: what it names is what was read on the screen"
        assert keys <= set(seen[number]["keys"]), f"step {number}: what it says to press was pressed"
        assert picture == f"pictures/first-take-{int(number):02}.png"
    assert seen["1"]["enabled"] and seen["3"]["target"] == "Mixamo" and seen["4"]["markers"] > 20
    for number in ("5", "7", "8", "9"):
        assert seen[number]["keys_range"][1] > 30, "the take is whole"
        assert seen[number]["degrees"] < 3.0, f"step {number}: bones are {seen[number]['degrees']:.1f} degrees off"
    assert seen["10"]["saved"]
