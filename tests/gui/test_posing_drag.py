"""The tool that drags hands, used by the mouse on three rigs: what goes where, what stays, what one undo gives back."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

KNUCKLE, JOINT = "middle-finger-phalanx-proximal", "middle-finger-phalanx-intermediate"


def test_hands_of_three_rigs_are_dragged_and_pinned_by_the_mouse(
    play: Callable[[str], dict[str, Any]], rigs: Path
) -> None:
    reported = play("posing_drag")
    for name in ("own", "makehuman", "rigify"):
        rig = reported[name]
        one_hand(rig, name)
        keyed(rig, name)
        pins_held(rig["palm"], "right", rig["built"], name)
        pinned_to_each_other(rig["pinch"], rig["built"], name)
        left = rig["left hand"]
        assert left["tip"]["pixels off"] < 3 and left["undone"], f"{name}, left: {left['tip']}"
        within(left["limits"], rig["built left"], f"{name}, left")
        pins_held(left["palm"], "left", rig["built left"], f"{name}, left")
        assert rig["all undone"], name
    surface = reported["surface"]
    assert abs(surface["gap"]) < 0.5, f"{surface['gap']} mm between skin and ball"
    assert surface["pins"] == [["right", "index-finger", "OBJECT"]]
    assert surface["went along"] < 0.5


def test_hands_are_dragged_beside_pins_keys_other_armatures_and_the_algebra(
    play: Callable[[str], dict[str, Any]],
) -> None:
    reported = play("posing_drag_more")
    words = {"index-finger-tip": "Index Finger Tip", JOINT: "Middle Finger Middle Joint"}
    words |= {KNUCKLE: "Middle Finger Knuckle", "wrist": "Palm"}
    for joint, texts in reported["header"].items():
        *meanwhile, after = texts
        assert after is None and len(meanwhile) >= 2
        assert all(text.startswith(f"{words[joint]}   Dx: ") for text in meanwhile), texts
        assert all(text.endswith("Solver: Nearest") for text in meanwhile), texts
    escape = reported["escape"]
    assert escape["exact"] == [True, True], "Esc gives back the channels to the last bit"
    assert escape["keys"] == [[], escape["keyed"]] and escape["keyed"], "and leaves the keys"
    other = reported["other"]
    assert other["tip"]["pixels off"] < 3
    assert other["moved"] == other["keyed"] == [other["own"]] and other["undone"]
    algebra = reported["algebra"]
    assert algebra["pixels off"] < 3 and algebra["undone"] and algebra["left as before"]
    assert algebra["asked"].keys() == {"index-finger"} and algebra["asked"]["index-finger"] < 0.5
    assert algebra["drawn"] > 3 and algebra["after"] is None
    assert algebra["header"].endswith("Solver: CGA")
    surface = reported["surface"]
    assert abs(surface["gap"]) < 0.5, f"{surface['gap']} mm between skin and ball"
    assert surface["held"] < 0.5 and surface["pin stays"]
    assert surface["pins"] == [["right", "thumb", "WORLD"]]


def one_hand(rig: dict[str, Any], name: str) -> None:
    """A fingertip under the mouse, a tenth of the way with Shift, back by undo and by Esc."""
    assert rig["tip"]["pixels off"] < 3, f"{name}: {rig['tip']}"
    # What turns about one joint comes no nearer to the mouse than its circle does.
    for joint in (KNUCKLE, JOINT):
        assert rig[joint]["pixels off"] < 0.95 * rig[joint]["way"], f"{name}: {joint} {rig[joint]}"
    within(rig["limits"], rig["built"], name)
    assert rig["undone"] and rig["left as before"], f"{name}: one undo, and Esc, give all back"
    along, down = rig["fine"]["went"]
    assert abs(along - 15) < 3 and abs(down - 20) < 3, f"{name}: {rig['fine']}"


def keyed(rig: dict[str, Any], name: str) -> None:
    """What moved is keyed with auto-keying on: how it was turned, or what the keying set says."""
    assert rig["unkeyed"] == {} and rig["undone with keys"], name
    assert list(rig["keyed"]) == rig["moved"] and len(rig["moved"]) == 3, f"{name}: {rig['keyed']} {rig['moved']}"
    assert all(len(of) == 1 and of[0].startswith("rotation") for of in rig["keyed"].values()), f"{name}: {rig['keyed']}"
    assert rig["keyed Location"] == {bone: ["location"] for bone in rig["moved Location"]} != {}, name


def pins_held(palm: dict[str, Any], side: str, built: dict[str, float], where: str) -> None:
    """Two fingertips stay where they are pinned while the palm goes."""
    assert palm["pins"] == [[side, "thumb", "WORLD"], [side, "index-finger", "WORLD"]], where
    assert palm["held"] < 0.5, f"{where}: {palm['held']:.2f} mm > 0.5 mm"
    assert palm["went"] > 2.0, f"{where}: the palm went {palm['went']:.1f} mm"
    assert palm["undone"], where
    within(palm["limits"], built, f"{where}, palm")


def pinned_to_each_other(pinch: dict[str, Any], built: dict[str, float], name: str) -> None:
    """Ring and middle fingertip keep their way, whichever of them is dragged, and under the palm."""
    assert pinch["pins"] == [["right", "ring-finger", "DIGIT"]], name
    for way, held, limits in zip(pinch["went"], pinch["held"], pinch["limits"], strict=True):
        assert way > 2.0 and held < 0.5, f"{name}: went {way:.1f} mm, {held:.2f} mm > 0.5 mm"
        within(limits, built, f"{name}, pinned to each other")
    assert pinch["undone"], name


def within(seen: dict[str, float], built: dict[str, float], where: str) -> None:
    """No bone is turned otherwise than a hand turns, further than its rig was built with."""
    for joint, degrees in seen.items():
        off = degrees - built[joint]
        assert off < 0.1, f"{where}: {joint} is {off:.2f} degrees further out of its limits"
