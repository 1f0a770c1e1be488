"""A page of the documentation walked through: what is pressed is found by its words on the screen.

Each step tells the words that were read and the keys that were pressed, which are those of the page.
"""

import importlib
import shutil
import subprocess
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bpy

if TYPE_CHECKING:
    from knuckle.tests.gui.driver import Screen, Steps

reading: Any = importlib.import_module("reading")

Actions = Generator[float, None, Any]
Box = tuple[int, ...]

ZIP = "knuckle-0.1.0.zip"
MODULE = "bl_ext.user_default.knuckle"


class Walk:
    """One step of the page: what is read, pressed and pictured on the way."""

    def __init__(self, screen: "Screen", page: str, number: int) -> None:
        self.screen, self.page, self.number = screen, page, number
        self.words: list[str] = []
        self.keys: list[str] = []
        self.marks: list[Box] = []

    def read(self, text: str, which: int = 0, **where: Any) -> Actions:
        """`look`, for words that the page names."""
        found = yield from self.look(text, which, **where)
        self.words.append(text)
        return found

    def look(self, text: str, which: int = 0, **where: Any) -> Actions:
        """The words on the screen, of several places the one of this number from the top, as soon as they are there."""
        scale = bpy.context.preferences.system.ui_scale
        for _ in range(30):
            found = reading.find(self.screen.pixels(), text, scale, **where)
            if len(found) > max(which, 0):
                return found[which]
            yield 0.2
        raise LookupError(f"step {self.number}: '{text}' cannot be read on the screen")

    def settled(self, text: str, which: int = 0, **where: Any) -> Actions:
        """`read`, once the words stay where they are: panels that open, close or scroll move those below."""
        found, before = (yield from self.read(text, which, **where)), None
        while found != before:
            yield 0.2
            found, before = (yield from self.look(text, which, **where)), found
        return found

    def press(self, text: str, which: int = 0, **where: Any) -> Actions:
        """Clicks on the words."""
        found = yield from self.settled(text, which, **where)
        x, y = found.middle
        self.screen.move(x - 2, y)
        yield 0.25
        self.marks.append(found)
        self.screen.click(x, y)
        yield 0.5

    def choose(self, text: str, choice: str, which: int = 0) -> Actions:
        """Opens the menu beside some words, and presses one of its choices."""
        found = yield from self.settled(text, which)
        x, y = found.left + found.width + 60, found.middle[1]
        self.screen.move(x - 2, y)
        yield 0.3
        self.screen.click(x, y)
        yield 0.5
        yield from self.press(choice)

    def key(self, name: str, command: str = "") -> Actions:
        """Presses a key, by the name that the page gives it."""
        self.keys.append(name)
        self.screen.key(command or name.lower())
        yield 0.5

    def typed(self, text: str, values: tuple[str, ...], **where: Any) -> Actions:
        """Types into the fields beside and below some words, from one to the next by Tab."""
        found = yield from self.read(text, **where)
        x, y = found.left + found.width + 60, found.middle[1]
        self.screen.move(x, y)
        yield 0.3
        subprocess.run(["xdotool", "click", "--repeat", "2", "--delay", "60", "1"], check=True)
        yield 0.5
        for number, value in enumerate(values):
            if number:
                yield from self.key("Tab", "Tab")
            self.screen.key("ctrl+a")
            subprocess.run(["xdotool", "type", "--", value], check=True)
            yield 0.5
        yield from self.key("Enter", "Return")
        self.marks.append((found.left, found.top, found.width + 120, len(values) * 21))

    def picture(self, *box: int) -> None:
        """What the page shows of this step."""
        self.screen.picture(f"{self.page}_{self.number:02}")
        self.box = box

    def done(self, **reported: Any) -> dict[str, Any]:
        return {"words": self.words, "keys": self.keys, "marks": self.marks, "box": self.box, **reported}


def play_steps(screen: "Screen", page: str, steps: tuple[Any, ...]) -> "Steps":
    """Walk the steps of a page: generators of the screen and a Walk."""
    reported = {}
    for number, step in enumerate(steps, 1):
        reported[str(number)] = yield from step(screen, Walk(screen, page, number))
    return reported


def install(screen: "Screen", walk: Walk) -> "Steps":
    """From Edit > Preferences by the file browser."""
    shutil.copy("/tmp/out/knuckle.zip", Path.home() / ZIP)
    for text in ("Edit", "Preferences..."):
        yield from walk.press(text)
    yield from screen.wait_until(lambda: len(windows()) > 1)
    walk.marks.clear()
    yield from walk.press("Get Extensions")
    x, y = (yield from walk.look("Repositories")).middle
    arrow = x + 97, y
    screen.click(*arrow)
    yield 0.7
    walk.marks.append((arrow[0] - 12, y - 11, 24, 22))
    found = yield from walk.read("Install from Disk...", within=(x - 100, y, 220, 200))
    walk.marks.append(found)
    walk.picture(*window_box(screen))
    screen.click(*found.middle)
    yield from screen.wait_until(lambda: len(windows()) > 2)
    yield 1.0
    yield from walk.press(ZIP)
    yield from walk.press("Install from Disk")
    yield from screen.wait_until(lambda: MODULE in bpy.context.preferences.addons)
    yield 0.5
    with bpy.context.temp_override(window=windows()[1]):
        bpy.ops.wm.window_close()
    yield 0.5
    # A window manager does this where there is one.
    subprocess.run(["xdotool", "search", "--name", "Blender", "windowfocus"], check=True)
    yield 0.3
    return walk.done(enabled=MODULE in bpy.context.preferences.addons)


def windows() -> list[bpy.types.Window]:
    return [*bpy.context.window_manager.windows]


def window_box(screen: "Screen") -> Box:
    """That of the window which was opened last."""
    window = windows()[-1]
    return window.x, screen.window.height - window.y - window.height, window.width, window.height


def area_box(screen: "Screen") -> Box:
    area = screen.area()
    return area.x, screen.window.height - area.y - area.height, area.width, area.height


def beside_hand(screen: "Screen") -> tuple[int, int]:
    left, top, width, height = area_box(screen)
    return left + width // 2, top + height - 60


def targeted(screen: "Screen", walk: Walk) -> Actions:
    """Choose the active armature as the target."""
    yield from walk.press("New Hand")
    yield from walk.press("Armature", -1)
    yield from screen.wait_until(lambda: screen.scene.knuckle.armature)


def dropped(screen: "Screen", walk: Walk, recording: str) -> Actions:
    """A recording of the home falls on the view."""
    walk.words.append(recording)
    yield from screen.drop(Path.home() / recording, *screen.view_middle())
    yield from screen.wait_until(lambda: screen.scene.knuckle.markers and not running(), 60)
    yield 1.0


def solved(screen: "Screen", walk: Walk) -> Actions:
    """Press Solve: the button, with its word in the middle of the sidebar; the panel's title is at its edge."""
    before = report(screen)
    yield from scrolled(screen, -40)
    yield from scrolled(screen, 10)
    # Off the button, whose word the mouse may cover; what was pressed before is elsewhere now.
    screen.move(*beside_hand(screen))
    yield 0.3
    walk.marks.clear()
    region = screen.region(screen.area(), "UI")
    top = screen.window.height - region.y - region.height
    middle = (region.x + round(0.36 * region.width), top, round(0.28 * region.width), region.height)
    yield from walk.press("Solve", within=middle)
    yield from screen.wait_until(lambda: report(screen) not in ("", before) and not running(), 40)
    screen.move(*beside_hand(screen))
    yield 1.0


def running() -> bool:
    return bool(bpy.context.window_manager.knuckle.running)


def armature(screen: "Screen") -> bpy.types.Object:
    return next(obj for obj in screen.scene.objects if obj.type == "ARMATURE")


def report(screen: "Screen") -> str:
    """The name and the report of the take that is played, as text."""
    animation = armature(screen).animation_data
    action = animation.action if animation else None
    return f"{action.name} {action.get('knuckle_result')}" if action else ""


def scrolled(screen: "Screen", notches: int) -> Actions:
    """Turn the wheel over the sidebar."""
    screen.move(*screen.middle(screen.region(screen.area(), "UI")))
    yield 0.2
    screen.turn_wheel(notches)
    yield 0.7
