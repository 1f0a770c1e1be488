"""Plays a scenario inside a real Blender and writes what it found as JSON; started by tools/real_blender.sh.

A scenario is a file in scenarios/ with one generator, `play(screen)`. It yields the seconds to wait, so that Blender
draws and handles events in between, and returns a dictionary for the test that asked for it. It presses keys, clicks
and drops files through the X server, the way a person's do.
"""

import hashlib
import json
import os
import runpy
import struct
import subprocess
import sys
import traceback
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import bpy
import numpy as np
from mathutils import Vector
from numpy.typing import NDArray

HERE = Path(__file__).parent
OUT = Path("/tmp/out")
FRAME_BUFFER = Path("/tmp/screen/Xvfb_screen0")

Steps = Generator[float, None, dict[str, Any]]
BUTTON = 20
"""Pixels: how high a button is."""


class Screen:
    """What a person at the screen sees and does. Points are in pixels from the top left of the screen."""

    repository = HERE.parents[1]

    def __init__(self, *arguments: str) -> None:
        """arguments: what the scenario was asked for beside its name."""
        self.arguments = arguments
        self.found: dict[tuple[str, float, str], int] = {}
        """The height at which a button was last."""

    def picture(self, name: str) -> None:
        """Save the whole window as OUT/name.png."""
        write_png(OUT / f"{name}.png", self.pixels())

    def pixels(self) -> NDArray[np.uint8]:
        """The whole window (H, W, 3) as a person sees it."""
        return read_xwd(FRAME_BUFFER.read_bytes())[: self.window.height, : self.window.width]

    def resize(self, width: int, height: int) -> Iterator[float]:
        """Give the window so many pixels: `yield from screen.resize(1200, 800)`. Drawing fewer is quicker."""
        xdotool("search", "--onlyvisible", "--class", "blender", "windowsize", str(width), str(height))
        yield from self.wait_until(lambda: self.window.width == width and self.window.height == height)
        yield 0.5

    def key(self, *names: str) -> None:
        """Press keys, by their X names: "Escape", "ctrl+z"."""
        xdotool("key", *names)

    def move(self, x: int, y: int) -> None:
        """Move the mouse."""
        xdotool("mousemove", str(x), str(y))

    def click(self, x: int, y: int) -> None:
        """Move the mouse and click."""
        xdotool("mousemove", str(x), str(y), "click", "1")

    def drop(self, path: Path, x: int, y: int) -> Iterator[float]:
        """Drag a file from outside and let it fall: `yield from screen.drop(…)`."""
        command = ["/usr/bin/python3", str(HERE / "drop.py"), str(x), str(y), str(path)]
        dropping = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        while dropping.poll() is None:
            yield 0.05
        _, complaint = dropping.communicate()
        assert dropping.returncode == 0, complaint

    def wait_until(self, happened: Callable[[], object], seconds: float = 20.0) -> Iterator[float]:
        """Wait for something, at most so long: `yield from screen.wait_until(lambda: …)`."""
        for _ in range(int(seconds / 0.05)):
            if happened():
                return
            yield 0.05
        raise TimeoutError(f"waited {seconds} s in vain")

    @property
    def window(self) -> bpy.types.Window:
        """Blender's window: asked for every time, since a loaded file brings another."""
        return bpy.context.window_manager.windows[0]

    def area(self, kind: str = "VIEW_3D") -> bpy.types.Area:
        """The largest area of a kind."""
        areas = [area for area in self.window.screen.areas if area.type == kind]
        return max(areas, key=lambda area: area.width * area.height)

    def middle(self, region: bpy.types.Region) -> tuple[int, int]:
        """The middle of a region on the screen."""
        return region.x + region.width // 2, self.window.height - region.y - region.height // 2

    def view_middle(self) -> tuple[int, int]:
        """The middle of the 3D viewport on the screen, left of the sidebar."""
        x, y = self.middle(self.region(self.area()))
        return x - 150, y

    def frame_selected(self) -> None:
        """Turn the view to the selected objects, left of the sidebar."""
        with self.in_view():
            bpy.ops.view3d.view_selected()
        view = self.area().spaces.active.region_3d
        view.view_distance *= 1.35
        view.view_location += view.view_rotation @ Vector((0.1 * view.view_distance, 0.0, 0.0))

    @property
    def scene(self) -> bpy.types.Scene:
        """Asked for every time, since an undo replaces it."""
        return self.window.scene

    def dump(self) -> dict[str, str]:
        """Everything in the file that is a person's, to be compared."""
        return scene_dump()

    def drag(
        self, start: tuple[int, int], end: tuple[int, int], *, escape: bool = False, button: str = "1"
    ) -> Iterator[float]:
        """Press at one point, let go at another: `yield from screen.drag(…)`; escape: leave it by that key before."""
        xdotool("mousemove", *map(str, start), "mousedown", button)
        for part in (0.5, 1.0):  # a jump is not a drag
            yield 0.1
            self.move(*(round(a + (b - a) * part) for a, b in zip(start, end, strict=True)))
        yield 0.1
        if escape:
            self.key("Escape")
            yield 0.1
        xdotool("mouseup", button)

    def copied(self, x: int, y: int, keys: str = "ctrl+c") -> Generator[float, None, str]:
        """What Blender copies of what is under the mouse: a button's command, by Ctrl+Shift+Alt+C a field's path."""
        self.move(x - 3, y)
        yield 0.04
        self.move(x, y)
        yield 0.04
        bpy.context.window_manager.clipboard = ""
        self.key(keys)
        yield 0.06
        return bpy.context.window_manager.clipboard

    def button(self, operator: str, across: float = 0.5, holding: str = "") -> Generator[float, None, tuple[int, int]]:
        """Where the sidebar has an operator's button: `place = yield from screen.button("knuckle.solve")`.

        The mouse goes down the sidebar, once it was where it was last, until Blender copies the command looked for,
        whose arguments hold a text: in its middle, or at another part of its width. From above, so that it is found by
        its upper edge.
        """
        region, asked = self.region(self.area(), "UI"), (operator, across, holding)
        x, top = region.x + round(across * region.width), self.window.height - region.y - region.height
        last = [self.found[asked]] if asked in self.found else []
        for y in (*last, *range(top + 4, top + region.height, BUTTON - 4)):
            if not (yield from self.is_button(operator, holding, x, y)):
                continue
            # Rows that appear meanwhile move a panel's buttons.
            if (yield from self.is_button(operator, holding, x, y + 4)):
                self.found[asked] = y
                return x, y + 4
        raise LookupError(f"the sidebar has no button for {operator}")

    def is_button(self, operator: str, holding: str, x: int, y: int) -> Generator[float, None, bool]:
        """Whether the button of an operator, whose arguments hold a text, is at a place."""
        command = yield from self.copied(x, y)
        return command.startswith(f"bpy.ops.{operator}(") and holding in command

    def region(self, area: bpy.types.Area, kind: str = "WINDOW") -> bpy.types.Region:
        """The region of a kind in an area."""
        return next(region for region in area.regions if region.type == kind)

    @contextmanager
    def in_view(self) -> Iterator[None]:
        """Operators called inside find the 3D viewport, as if the mouse were in it."""
        area = self.area()
        with bpy.context.temp_override(window=self.window, area=area, region=self.region(area)):
            yield

    def fill_window(self, alone: bool = False) -> Iterator[float]:
        """Let the viewport take the whole window, or give it back: `yield from screen.fill_window()`.

        Alone, it has no bars around it either.
        """
        with self.in_view():
            bpy.ops.screen.screen_full_area(use_hide_panels=alone)
        yield 1.0

    def turn_wheel(self, notches: int, *held: str) -> None:
        """Turn the mouse's wheel down, or up if negative, while keys are held."""
        for key in held:
            xdotool("keydown", key)
        xdotool("click", "--delay", "20", "--repeat", str(abs(notches)), "5" if notches > 0 else "4")
        for key in held:
            xdotool("keyup", key)

    def widen_sidebar(self, pixels: int) -> Iterator[float]:
        """Drag the sidebar's edge: `yield from screen.widen_sidebar(100)`."""
        region = self.region(self.area(), "UI")
        _, y = self.middle(region)
        yield from self.drag((region.x, y), (region.x - pixels, y))
        yield 0.5

    def show_sidebar(self, tab: str) -> Iterator[float]:
        """Open the viewport's sidebar at a tab: `yield from screen.show_sidebar("Knuckle")`."""
        area = self.area()
        area.spaces.active.show_region_ui = True
        yield 0.5  # drawn once, the region knows its tabs
        self.region(area, "UI").active_panel_category = tab  # type: ignore[assignment]  # the stubs know no tabs
        area.tag_redraw()
        yield 0.5

    def open_panels(self, *names: str) -> None:
        """Open those of Knuckle's panels that are called so or so on, and fold its others; a person does it by their
        titles.
        """
        panels = [kind for kind in bpy.types.Panel.__subclasses__() if "Knuckle" in getattr(kind, "bl_category", "")]
        parents_first = sorted(panels, key=lambda panel: bool(getattr(panel, "bl_parent_id", "")))
        for panel in reversed(parents_first):
            if panel.is_registered:
                bpy.utils.unregister_class(panel)
        for panel in parents_first:
            if vars(panel).get("bl_idname", "").endswith("_open"):
                del panel.bl_idname  # only_panel's
            panel.bl_options = set() if panel.__name__.startswith(names) else {"DEFAULT_CLOSED"}
            bpy.utils.register_class(panel)

    def only_panel(self, name: str) -> None:
        """Leave this one of Knuckle's panels, open; open_panels brings the others back."""
        panels = [kind for kind in bpy.types.Panel.__subclasses__() if "Knuckle" in getattr(kind, "bl_category", "")]
        for panel in sorted(panels, key=lambda panel: not getattr(panel, "bl_parent_id", "")):
            bpy.utils.unregister_class(panel)
        left = next(panel for panel in panels if panel.__name__ == name)
        # A panel that was drawn folded stays so under its name.
        left.bl_idname, left.bl_options = f"{name}_open", set()
        bpy.utils.register_class(left)

    def empty_scene_with_panel(self, name: str) -> Iterator[float]:
        """Delete all objects, and open this panel of the tab Knuckle: `yield from` it."""
        for obj in list(bpy.data.objects):
            bpy.data.objects.remove(obj)
        self.open_panels(name)
        yield from self.show_sidebar("Knuckle")

    def reports(self) -> Generator[float, None, list[str]]:
        """Blender's reports so far, line by line: `lines = yield from screen.reports()`."""
        area = min(self.window.screen.areas, key=lambda area: (area.type == "VIEW_3D", -area.width * area.height))
        kind, area.type = area.type, "INFO"
        yield 0.5
        bpy.context.window_manager.clipboard = ""
        with bpy.context.temp_override(window=self.window, area=area, region=self.region(area)):
            bpy.ops.info.select_all(action="SELECT")
            bpy.ops.info.report_copy()
        area.type = kind
        yield 0.5
        return bpy.context.window_manager.clipboard.splitlines()

    def reported(self, then: Callable[[str], None] | None = None) -> list[str]:
        """From now on, the texts given to the status bar, None as an empty one: the list grows as they come.

        `then` is called with each of them, inside of what gives it.
        """
        texts: list[str] = []
        give: Callable[[bpy.types.WorkSpace, str | None], None] = bpy.types.WorkSpace.status_text_set

        def note_and_give(workspace: bpy.types.WorkSpace, text: str | None) -> None:
            texts.append(text or "")
            give(workspace, text)
            if then is not None:
                then(text or "")

        bpy.types.WorkSpace.status_text_set = note_and_give  # type: ignore[assignment,method-assign]
        return texts


SHOWN = {"rna_type", "knuckle_posing"}
"""What is worked out as it is drawn: the sliders are read from the bones once the hands are found."""
OF_THE_SCREEN = {"WINDOWMANAGER", "SCREEN", "WORKSPACE", "BRUSH", "LIBRARY"}
"""Data that is not the scene's."""


def scene_dump() -> dict[str, str]:
    """Everything in the file that is a person's: each data-block and its settings, and a digest of what is in it."""
    bpy.context.view_layer.update()
    dump = {}
    for block in sorted(bpy.data.user_map(), key=lambda block: (block.id_type, block.name)):
        if block.id_type in OF_THE_SCREEN:
            continue
        key = f"{block.id_type} {block.name}"
        dump[key] = f"{block.users} users"
        dump.update({f"{key}.{name}": value for name, value in settings(block).items()})
        for name, value in block.items():
            dump[f"{key}[{name}]"] = plain(value)
        if block.id_type == "SCENE":
            for part in ("render", "knuckle"):
                dump.update({f"{key}.{part}.{name}": value for name, value in settings(getattr(block, part)).items()})
        if block.id_type == "OBJECT":
            dump[f"{key} selected"] = str(block.select_get())
            dump[f"{key} modifiers"] = str(block.modifiers.keys())
        if block.id_type == "COLLECTION":
            dump[f"{key} objects"] = str(block.objects.keys())
        if block.id_type == "MESH":
            dump[f"{key} points"] = digest(block.vertices, "co", 3)
        if block.id_type == "ARMATURE":
            dump[f"{key} bones"] = str([(bone.name, [round(x, 6) for x in bone.head_local]) for bone in block.bones])
        if isinstance(block, bpy.types.Action):
            dump[f"{key} curves"] = str([(*curve, of_keys) for *curve, of_keys in action_curves(block)])
    dump["frame"] = str(bpy.context.scene.frame_current)
    return dump


def settings(block: bpy.types.bpy_struct) -> dict[str, str]:
    """The values and references among the properties of something of Blender's."""
    found = {}
    for item in block.bl_rna.properties:
        if item.type == "COLLECTION" or (item.is_readonly and item.type != "POINTER") or item.identifier == "use_nodes":
            continue
        value = getattr(block, item.identifier, None)
        if item.type == "POINTER":
            if isinstance(value, bpy.types.ID) and item.identifier not in {"original", "id_data"}:
                found[item.identifier] = value.name
            elif isinstance(value, bpy.types.PropertyGroup) and item.identifier not in SHOWN:
                found.update({f"{item.identifier}.{name}": inner for name, inner in settings(value).items()})
        else:
            found[item.identifier] = plain(value)
    return found


def plain(value: object) -> str:
    """Text that is the same for the same value."""
    if hasattr(value, "to_dict"):
        return str(value.to_dict())
    if hasattr(value, "to_list"):
        return str(value.to_list())
    if isinstance(value, str | int | float | set | None):
        return repr(value)
    return repr(np.array(value).tolist())


def digest(items: Any, name: str, width: int) -> str:
    """The number of items, and a digest of a property that all of them have."""
    values = np.empty(len(items) * width, np.float32)
    items.foreach_get(name, values)
    return f"{len(items)} {hashlib.sha256(values.tobytes()).hexdigest()[:16]}"


def action_curves(action: bpy.types.Action) -> Iterator[tuple[str, int, str]]:
    """Path, index and a digest of the keys of every curve."""
    for layer in action.layers:
        for strip in layer.strips:
            for bag in strip.channelbags:
                for curve in bag.fcurves:
                    yield curve.data_path, curve.array_index, digest(curve.keyframe_points, "co", 2)


def xdotool(*arguments: str) -> None:
    subprocess.run(["xdotool", *arguments], check=True)


def read_xwd(data: bytes) -> NDArray[np.uint8]:
    """The picture (H, W, 3) in a dump of the X screen: 25 big-endian numbers, a table of colours, then the pixels."""
    header = struct.unpack(">25I", data[:100])
    width, height, line, colours = header[4], header[5], header[12], header[19]
    start = header[0] + 12 * colours
    pixels = np.frombuffer(data, np.uint8, line * height, start).reshape(height, line // 4, 4)
    return pixels[:, :width, 2::-1]  # stored as blue, green, red, unused


def write_png(path: Path, picture: NDArray[np.uint8]) -> None:
    """A PNG of a picture (H, W, 3), without any library that Blender may lack."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    height, width, _ = picture.shape
    rows = np.concatenate([np.zeros((height, 1), np.uint8), picture.reshape(height, -1)], axis=1)
    header = struct.pack(">2I5B", width, height, 8, 2, 0, 0, 0)
    chunks = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows.tobytes(), 1)) + chunk(b"IEND", b"")
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunks)


def draw_roughly() -> None:
    """Leave out what only makes pictures pretty: without a graphics card, a view then takes a third of the time."""
    system = bpy.context.preferences.system
    system.viewport_aa, system.use_overlay_smooth_wire = "OFF", False
    spaces = (area.spaces.active for screen in bpy.data.screens for area in screen.areas if area.type == "VIEW_3D")
    for space in spaces:
        overlay = space.overlay
        overlay.show_floor = overlay.show_axis_x = overlay.show_axis_y = False


def main(name: str, *arguments: str) -> None:
    """Start the scenario's clock; Blender's event loop then turns it."""
    bpy.context.preferences.view.show_splash = False
    bpy.context.preferences.view.smooth_view = 0  # a turned view is there at once
    bpy.context.preferences.system.viewport_aa = "FXAA"  # by default each picture is drawn eight times
    if os.environ.get("CI"):
        draw_roughly()
    screen = Screen(*arguments)

    def everything() -> Steps:
        yield from screen.wait_until(lambda: bpy.context.window_manager.windows)
        yield 1.0  # the first drawing, which compiles shaders
        play: Callable[[Screen], Steps] = runpy.run_path(str(HERE / "scenarios" / f"{name}.py"))["play"]
        return (yield from play(screen))

    steps = everything()

    def step() -> float | None:
        try:
            return next(steps)
        except StopIteration as end:
            result = {"result": end.value}
        except Exception:
            result = {"failure": traceback.format_exc()}
            screen.picture(f"{name}_failed")
        result["blender"] = bpy.app.version_string
        (OUT / f"{name}.json").write_text(json.dumps(result, indent=2))
        bpy.ops.wm.quit_blender()
        return None

    bpy.app.timers.register(step, persistent=True)


if __name__ == "__main__":
    main(*sys.argv[sys.argv.index("--") + 1 :])
