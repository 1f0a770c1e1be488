"""Hands of three rigs are dragged at random by the mouse for as many seconds as are asked for, and all else that a
person does meanwhile: pins, undo, sliders, keys, frames, modes. What must hold after each is checked as it goes.
"""

import gc
import os
import random
import runpy
import subprocess
import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import bpy

if TYPE_CHECKING:
    from knuckle.tests.gui.driver import Screen, Steps

HERE = Path(__file__).parent
hands = SimpleNamespace(**runpy.run_path(str(HERE.parent / "hands.py")))
panel = SimpleNamespace(**runpy.run_path(str(HERE / "posing_sliders.py")))

ROUNDS = 4
"""How often each rig is opened, if there is time: what a file leaves behind would be seen."""
LEAST = 4.0
"""s at least with a rig."""
ACTS = 6
"""At least with a rig, however slow the machine is."""
DOES = {
    "drag": 20,
    "drag and undo": 5,
    "pin": 4,
    "unpin": 1,
    "slide": 3,
    "frame": 2,
    "mode": 1,
    "turn": 2,
    "key": 1,
    "rename": 1,
}
"""What is done, and how often among the rest."""
FURTHER = 0.1
"""degrees by which a bone may leave its limits more than before: they are read back of 32 bits."""


def play(screen: "Screen") -> "Steps":
    seconds = float(screen.arguments[0]) if screen.arguments else 20.0
    yield from screen.resize(1000, 720)
    screen.area().spaces.active.show_gizmo_navigate = False  # its buttons would take the mouse from rings under them
    screen.open_panels("KNUCKLE_PT_posing")
    yield from opened(screen, "own")
    yield from screen.show_sidebar("Knuckle Pose")
    yield from hands.look(screen)
    places = yield from panel.sliders(screen)
    wander = Wander(screen, {word: place for word, place in places.items() if word not in ("bottom", "dip_lock")})
    began, each = time.monotonic(), max(LEAST, seconds / (3 * ROUNDS))
    number = 0
    while number < 3 or time.monotonic() < began + seconds:
        rig = ("own", "makehuman", "rigify")[number % 3]
        yield from opened(screen, rig)
        yield from wander.rename()
        until, acts = time.monotonic() + each, 0
        while acts < ACTS or time.monotonic() < until:
            yield from wander.act()
            acts += 1
            wander.remember(rig, time.monotonic() - began)
        yield 0.5
        wander.ended(rig, time.monotonic() - began)
        screen.picture(f"wander_{rig}")
        number += 1
    return wander.reported


class Wander:
    """A person at random, and what was seen of it."""

    def __init__(self, screen: "Screen", places: dict[str, tuple[int, int]]) -> None:
        self.screen, self.places = screen, places
        self.random = random.Random(0)
        self.done: Counter[str] = Counter()
        self.reported: dict[str, Any] = {
            "done": self.done,
            "minutes": [],
            "files": [],
            "faults": [],
            "rings": 0,
            "rings of what is gone": 0,
            "further": 0.0,
        }

    def act(self) -> "Steps":
        """One thing out of DOES, and what holds after it."""
        what = self.random.choices(list(DOES), list(DOES.values()))[0]
        poses = what in ("drag", "drag and undo", "slide")
        before = outside(self.screen) if poses else {}
        try:
            yield from getattr(self, what.replace(" ", "_"))()
        except TimeoutError:
            self.fault(f"{what}: nothing came of it")
            self.screen.key("Escape")
        yield 0.05
        if poses:
            self.check(what, before)
        self.done[what] += 1
        return {}

    def check(self, what: str, before: dict[str, float]) -> None:
        """No bone has left its limits further than it had."""
        for name, degrees in outside(self.screen).items():
            further = degrees - before.get(name, 0.0)
            self.reported["further"] = max(self.reported["further"], further)
            if not further < FURTHER:
                self.fault(f"{what} {self.last}: {name} is {degrees:.2f} degrees outside, before {before.get(name)}")

    def fault(self, sentence: str) -> None:
        self.reported["faults"].append(f"{self.done.total()}: {sentence}")
        self.screen.picture(f"wander_fault_{len(self.reported['faults'])}")

    def drag(self) -> "Steps":
        """A point under the mouse goes some way, with or without keys held; let go, or left."""
        spots = visible(self.screen)
        if not spots:
            yield from hands.look(self.screen, "thumb", self.random.choice(hands_now(self.screen)))
            return {}
        name, x, y = self.random.choice(spots)
        held = self.random.choices(("", "shift", "ctrl"), (7, 2, 1))[0]
        left = self.random.choices(("", "Escape", "right button"), (8, 2, 1))[0]
        self.last = f"{name} held '{held}' left '{left}'"
        before = everything(self.screen)
        self.screen.move(x - 12, y)
        yield 0.05
        self.screen.move(x, y)
        yield 0.15
        if held:
            subprocess.run(["xdotool", "keydown", held], check=True)
        subprocess.run(["xdotool", "mousedown", "1"], check=True)
        for _ in range(self.random.randint(5, 20)):
            # Without a window manager keys go to the window under the mouse.
            x = min(max(x + self.random.randint(-40, 40), 1), self.screen.window.width - 2)
            y = min(max(y + self.random.randint(-40, 40), 1), self.screen.window.height - 2)
            self.screen.move(x, y)
            self.done["steps"] += 1
            yield 0.02
        if left == "Escape":
            self.screen.key("Escape")
        elif left:
            subprocess.run(["xdotool", "click", "3"], check=True)
        if left:
            yield 0.1
        subprocess.run(["xdotool", "mouseup", "1"], check=True)
        if held:
            subprocess.run(["xdotool", "keyup", held], check=True)
        yield 0.1
        yield from self.screen.wait_until(lambda: not self.screen.window.modal_operators)
        if left and everything(self.screen) != before:
            self.fault(f"{self.last}: not as it was {different(before, everything(self.screen))}")
        elif everything(self.screen) != before:
            self.done["moved"] += 1
        return {}

    def drag_and_undo(self) -> "Steps":
        """What one undo takes back, and one redo brings again, to the last bit."""
        before = everything(self.screen)
        yield from self.drag()
        after = everything(self.screen)
        if after == before:
            return {}
        for keys, wanted in (("ctrl+z", before), ("ctrl+shift+z", after)):
            self.screen.move(*self.screen.view_middle())
            yield 0.1
            self.screen.key(keys)
            try:
                yield from self.screen.wait_until(lambda wanted=wanted: everything(self.screen) == wanted, 2.0)
            except TimeoutError:
                self.fault(f"{self.last}: {keys} did not bring back {different(everything(self.screen), wanted)}")
        return {}

    def pin(self) -> "Steps":
        """P over a fingertip: pinned, or let go."""
        tips = [spot for spot in visible(self.screen) if spot[0].endswith("-tip")]
        if tips:
            _, x, y = self.random.choice(tips)
            self.screen.move(x, y)
            yield 0.1
            self.screen.key("p")
        return {}

    def unpin(self) -> "Steps":
        """Without a pin Alt+P is Blender's own, a menu."""
        if not hands.pins(self.screen):
            return {}
        self.screen.move(*self.screen.view_middle())
        yield 0.1
        self.screen.key("alt+p")
        return {}

    def slide(self) -> "Steps":
        """A slider of the panel, one way or the other, or left by Esc."""
        word, (x, y) = self.random.choice(list(self.places.items()))
        self.last = word
        self.screen.move(x - 5, y)
        yield 0.2
        way = self.random.choice((-50, -20, 20, 50))
        yield from self.screen.drag((x, y), (x + way, y), escape=self.random.random() < 0.2)
        yield 0.2
        return {}

    def frame(self) -> "Steps":
        """Some frames on or back."""
        self.screen.move(*self.screen.view_middle())
        yield 0.1
        key = self.random.choice(("Left", "Right"))
        for _ in range(self.random.randint(1, 6)):
            self.screen.key(key)
            yield 0.05
        return {}

    def mode(self) -> "Steps":
        """To Object Mode and back."""
        self.screen.move(*self.screen.view_middle())
        yield 0.1
        for mode in ("OBJECT", "POSE"):
            self.screen.key("ctrl+Tab")
            yield from self.screen.wait_until(
                lambda mode=mode: self.screen.window.view_layer.objects.active.mode == mode
            )
        yield 0.2
        return {}

    def turn(self) -> "Steps":
        """The view, to one of the hands."""
        yield from hands.look(
            self.screen, self.random.choice(list(hands.SEEN_FROM)), self.random.choice(hands_now(self.screen))
        )
        return {}

    def key(self) -> "Steps":
        """Auto-keying on or off."""
        tools = self.screen.scene.tool_settings
        tools.use_keyframe_insert_auto = not tools.use_keyframe_insert_auto
        push(self.screen)
        yield 0.05
        return {}

    def rename(self) -> "Steps":
        """An armature, by which its rings are other ones."""
        self.random.choice(hands.posed(self.screen)).name = f"Body {self.done.total()}"
        push(self.screen)
        yield 0.05
        return {}

    def remember(self, rig: str, seconds: float) -> None:
        """Resident memory at each minute."""
        if seconds >= 60 * len(self.reported["minutes"]):
            self.reported["minutes"].append([round(seconds), rig, resident()])

    def ended(self, rig: str, seconds: float) -> None:
        """Memory as a rig is left, and how many gizmos there are."""
        gc.collect()
        self.reported["files"].append([round(seconds), rig, resident()])
        groups = [thing for thing in gc.get_objects() if type(thing).__name__ == "KNUCKLE_GGT_hand"]
        self.reported["rings"] = max(self.reported["rings"], sum(len(group.made) for group in groups))
        names = {armature.name for armature in hands.posed(self.screen)}
        self.reported["rings of what is gone"] += sum(key[0] not in names for group in groups for key in group.made)


def opened(screen: "Screen", rig: str) -> "Steps":
    """A rig with both hands in Pose Mode; Knuckle's own are two armatures."""
    yield from hands.opened(screen, rig, sides=("left", "right"))
    yield from hands.look(screen, "thumb", "right")
    return {}


def push(screen: "Screen") -> None:
    """An undo step of its own, as a person's change has."""
    with screen.in_view():
        bpy.ops.ed.undo_push(message="Changed")


def active(screen: "Screen") -> Any:
    """Asked for every time: an undo replaces it."""
    return screen.window.view_layer.objects.active


def hands_now(screen: "Screen") -> list[str]:
    """The sides that there are."""
    return [side for armature in hands.posed(screen) for side in hands.known(armature).hands]


def visible(screen: "Screen") -> list[tuple[str, int, int]]:
    """What can be taken hold of, and where on the screen, well inside the view and not behind the sidebar."""
    area, found = screen.area(), []
    view, sidebar = screen.region(area), screen.region(area, "UI")
    top = screen.window.height - view.y - view.height
    for armature in hands.posed(screen):
        for side, binding in hands.known(armature).bindings.items():
            for joint, place in hands.ours("rig.posing.handles").grab_points(armature, binding).items():
                x, y = hands.on_screen(screen, place)
                if view.x + 80 < x < sidebar.x - 20 and top + 80 < y < top + view.height - 60:
                    found.append((f"{side} {joint}", x, y))
    return found


def everything(screen: "Screen") -> dict[str, Any]:
    """Every channel of every bone, and the pins."""
    return {**hands.channels(screen), "pins": hands.pins(screen)}


def different(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """What of everything differs, and how; the first few."""
    return [f"{name}: {one[name]} {other[name]}" for name in one if one[name] != other.get(name)][:3]


def outside(screen: "Screen") -> dict[str, float]:
    """Joint -> degrees by which its bone leaves its limits, of all hands."""
    return {
        f"{side} {joint}": degrees
        for side in hands_now(screen)
        for joint, degrees in hands.outside(screen, side).items()
    }


def resident() -> float:
    """MB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
