"""Plays a scenario inside a real Blender and writes what it found as JSON; started by tools/real_blender.sh.

A scenario is a file in scenarios/ with one generator, `play(screen)`. It yields the seconds to wait, so that Blender
draws and handles events in between, and returns a dictionary for the test that asked for it. It presses keys, clicks
and drops files through the X server, the way a person's do.
"""

import json
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
from numpy.typing import NDArray

HERE = Path(__file__).parent
OUT = Path("/tmp/out")
FRAME_BUFFER = Path("/tmp/screen/Xvfb_screen0")

Steps = Generator[float, None, dict[str, Any]]


class Screen:
    """What a person at the screen sees and does. Points are in pixels from the top left of the screen."""

    repository = HERE.parents[1]

    def picture(self, name: str) -> None:
        """Save the whole screen as OUT/name.png."""
        write_png(OUT / f"{name}.png", read_xwd(FRAME_BUFFER.read_bytes()))

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

    def drag(self, start: tuple[int, int], end: tuple[int, int]) -> Iterator[float]:
        """Press at one point, let go at another: `yield from screen.drag(…)`."""
        xdotool("mousemove", *map(str, start), "mousedown", "1")
        for part in (0.5, 1.0):  # a jump is not a drag
            yield 0.1
            self.move(*(round(a + (b - a) * part) for a, b in zip(start, end, strict=True)))
        yield 0.1
        xdotool("mouseup", "1")

    def region(self, area: bpy.types.Area, kind: str = "WINDOW") -> bpy.types.Region:
        """The region of a kind in an area."""
        return next(region for region in area.regions if region.type == kind)

    @contextmanager
    def in_view(self) -> Iterator[None]:
        """Operators called inside find the 3D viewport, as if the mouse were in it."""
        area = self.area()
        with bpy.context.temp_override(window=self.window, area=area, region=self.region(area)):
            yield

    def show_sidebar(self, tab: str) -> Iterator[float]:
        """Open the viewport's sidebar at a tab: `yield from screen.show_sidebar("Knuckle")`."""
        area = self.area()
        area.spaces.active.show_region_ui = True
        yield 0.5  # drawn once, the region knows its tabs
        self.region(area, "UI").active_panel_category = tab  # type: ignore[assignment]  # the stubs know no tabs
        area.tag_redraw()
        yield 0.5


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
    chunks = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows.tobytes(), 6)) + chunk(b"IEND", b"")
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunks)


def main(name: str) -> None:
    """Start the scenario's clock; Blender's event loop then turns it."""
    bpy.context.preferences.view.show_splash = False
    screen = Screen()

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
    main(sys.argv[sys.argv.index("--") + 1])
