"""The panel Pins is used by the mouse: thumb and index finger are pinned to each other by its menu, in two clicks; the
thumb is let go by its cross.
"""

import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from knuckle.tests.gui.driver import Screen, Steps

HERE = Path(__file__).parent
hands = SimpleNamespace(**runpy.run_path(str(HERE.parent / "hands.py")))
ROW = 20
"""pixels from a row of the panel to the next."""


def play(screen: "Screen") -> "Steps":
    reported: dict[str, Any] = {}
    yield from screen.resize(1200, 800)
    yield from hands.opened(screen, "own")
    screen.open_panels("KNUCKLE_PT_pins")
    yield from screen.show_sidebar("Knuckle Pose")
    yield from screen.widen_sidebar(60)
    yield from hands.look(screen, "front")
    _, y = yield from screen.button("knuckle.reach_pins", across=0.3)
    screen.move(*screen.view_middle())
    yield 0.5
    screen.picture("pins_free")
    region = screen.region(screen.area(), "UI")
    # The rows of five digits are above.
    thumb = region.x + round(0.6 * region.width), y - round(5.2 * ROW)
    screen.click(*thumb)
    yield 1.0
    screen.picture("pins_menu")
    screen.key("i")  # Index Finger, by its letter
    yield from screen.wait_until(lambda: there(screen))
    yield 0.5  # the mouse does not move meanwhile: the operator says what is to be drawn again
    screen.picture("pins_chosen")
    reported["pins"] = there(screen)
    cross = region.x + region.width - 50, thumb[1]
    screen.move(*cross)
    yield 0.3
    screen.click(*cross)
    yield from screen.wait_until(lambda: not there(screen))
    yield 0.5
    screen.picture("pins_let_go")
    yield from hands.undone(screen)
    reported["undone"] = there(screen)
    return reported


def there(screen: "Screen") -> list[tuple[str, str, str]]:
    return [(pin.digit, pin.kind, pin.other) for pin in hands.armature_of(screen).knuckle_pins]
