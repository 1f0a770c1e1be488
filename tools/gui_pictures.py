"""Cuts the documentation's pictures of Blender's window out of the screenshots of `make test-gui` in build/gui."""

import json
import struct
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).parents[1]
GUI, DOCS = ROOT / "build" / "gui", ROOT / "docs" / "pictures"

SHOWN_SOLVERS = ("fabrik", "cga", "table", "dynamical")
"""The solvers whose settings are shown side by side."""
DEVICES = ("vmc", "rokoko", "landmarks", "leap", "natnet", "qualisys", "xsens", "quest", "quest-tcp", "webxr")
"""Devices in the order of docs/how-to/live.md."""


def main() -> None:
    """Write all pictures."""
    left, top, width, height = json.loads((GUI / "solve.json").read_text())["result"]["sidebar"]
    panels = read_png(GUI / "solve_panels.png")
    write_png(DOCS / "sidebar.png", panels[top : top + height, left : left + width])
    write_png(DOCS / "blender.png", read_png(GUI / "solve_after.png"))
    rig_hands()
    glove()
    dragged()
    tutorial("first-hand")
    tutorial("first-take")
    tutorial("mend-a-take")
    ten_mends()
    live()
    sliders()
    algebra()
    touch_and_follow()
    video()
    write_png(DOCS / "review.png", read_png(GUI / "review_seen.png")[80:878, :1066])
    write_png(DOCS / "heat-strips.png", read_png(GUI / "review_zoomed.png")[565:878, :1066])
    write_png(DOCS / "corrections.png", read_png(GUI / "mend_a_take_07.png")[55:755, :1066])
    (DOCS / "report-page.png").write_bytes((GUI / "report_page.png").read_bytes())
    keys = [read_png(GUI / f"keys_{which}.png")[55:700, :1066] for which in ("dense", "reduced")]
    write_png(DOCS / "keys.png", np.vstack(keys))
    (DOCS / "camera-page.png").write_bytes((GUI / "camera_page.png").read_bytes())
    left, top, width, height = json.loads((GUI / "solver_settings.json").read_text())["result"]["panel"]
    columns = [read_png(GUI / f"solver_settings_{solver}.png") for solver in SHOWN_SOLVERS]
    write_png(DOCS / "solver-settings.png", np.hstack([c[top : top + height, left : left + width] for c in columns]))


def ten_mends() -> None:
    """Write the last of ten corrections, and the corrections after a new solve, without the other editors."""
    for number, picture in ((11, "10"), (12, "13_corrections")):
        cropped = read_png(GUI / f"ten_mends_tsv_{picture}.png")[:, :1066]
        write_png(DOCS / f"mend-a-take-{number}.png", fewer(cropped))


def rig_hands() -> None:
    """Write a hand of a rig with its axes, beside its panel."""
    left, top, width, height = json.loads((GUI / "rig_hands.json").read_text())["result"]["sidebar"]
    screenshot = read_png(GUI / "rig_hands_makehuman.png")
    write_png(DOCS / "rig-hands.png", screenshot[top : top + height, left - 560 : left + width])


def glove() -> None:
    """Write the menu that Blender shows where an FBX is dropped, beside the panel."""
    write_png(DOCS / "glove.png", read_png(GUI / "glove_drop.png")[:905, :1320])


def video() -> None:
    """Write a frame of a video, a new hand in front of it through the same camera, and MakeHuman's hand from its
    back."""
    lefts = {"video": 130, "hand": 130, "body": 190}
    screenshots = [read_png(GUI / f"video_drop_{name}_6.png")[170:826, x : x + 560] for name, x in lefts.items()]
    write_png(DOCS / "camera-video.png", np.hstack([smaller(picture, 2) for picture in screenshots]))


def live() -> None:
    """Write hands driven by every device: new hands above, MakeHuman's below."""
    rows = []
    for rig, (top, bottom) in {"new": (235, 805), "makehuman": (250, 670)}.items():
        for devices in (DEVICES[:5], DEVICES[5:]):
            screenshots = [read_png(GUI / f"live_{rig}_{device}.png")[top:bottom, 118:898] for device in devices]
            rows.append(np.hstack([smaller(picture, 3) for picture in screenshots]))
    write_png(DOCS / "live-devices.png", np.vstack(rows))


def smaller(picture: NDArray[np.uint8], by: int) -> NDArray[np.uint8]:
    """Downscale a picture (H, W, 3) by averaging blocks of `by` × `by` pixels."""
    height, width = (size // by for size in picture.shape[:2])
    parts = picture[: height * by, : width * by].reshape(height, by, width, by, 3)
    result: NDArray[np.uint8] = parts.mean(axis=(1, 3)).astype(np.uint8)
    return result


def sliders() -> None:
    """Write a hand posed with a slider, beside its sliders."""
    left, top, width, _ = json.loads((GUI / "posing_sliders.json").read_text())["result"]["sidebar"]
    screenshot = read_png(GUI / "posing_sliders_own_oppose.png")
    write_png(DOCS / "sliders-panel.png", screenshot[top : top + 520, max(left - 620, 0) : left + width])


def algebra() -> None:
    """Write steps of the solver over the default hand, and a body's arm, in two rows, without the views' edges."""
    left, top, width, height = json.loads((GUI / "algebra.json").read_text())["result"]["view"]
    middle, edge = left + width // 2, height // 10
    views = [
        read_png(GUI / f"{name}.png")[top + edge : top + height - 2 * edge, middle - 340 : middle + 340]
        for name in ("algebra_1", "algebra_2", "algebra_3", "algebra_makehuman_arm")
    ]
    write_png(DOCS / "algebra.png", np.vstack([np.hstack(views[:2]), np.hstack(views[2:])]))


def touch_and_follow() -> None:
    """Write a body's hand before and after it touches the 3D cursor, and following a ball."""
    left, top, width, height = json.loads((GUI / "touch_and_follow.json").read_text())["result"]["view"]
    middle, edge = left + width // 2, height // 10
    views = [
        read_png(GUI / f"{name}.png")[top + edge : top + height - edge, middle - 330 : middle + 330]
        for name in ("touch_before_makehuman", "touch_makehuman", "follow_makehuman")
    ]
    write_png(DOCS / "touch-and-follow.png", np.hstack([smaller(picture, 2) for picture in views]))


def dragged() -> None:
    """Write a hand with the tool's rings: a dragged fingertip, and pinned fingertips under a dragged palm."""
    for name, scene in (("drag", "makehuman_tip"), ("pin", "makehuman_right_palm")):
        write_png(DOCS / f"{name}.png", read_png(GUI / f"drag_{scene}.png")[28:646, :820])


def tutorial(name: str) -> None:
    """Write the steps of docs/tutorials/NAME.md, each with a frame around the buttons to press."""
    scenario = name.replace("-", "_")
    steps = json.loads((GUI / f"{scenario}.json").read_text())["result"]
    for number, step in ((int(number), step) for number, step in steps.items() if number.isdigit()):
        picture = read_png(GUI / f"{scenario}_{number:02}.png").copy()
        for left, top, width, height in step["marks"]:
            frame(picture, left - 4, top - 3, width + 8, height + 6)
        left, top, width, height = step["box"]
        cropped = picture[top : top + height, left : left + width]
        write_png(DOCS / f"{name}-{number:02}.png", cropped if width < 900 else fewer(cropped))


def frame(picture: NDArray[np.uint8], left: int, top: int, width: int, height: int) -> None:
    """Draw a frame of two pixels into a picture (H, W, 3), in place."""
    for edge in (
        np.s_[top : top + 2, left : left + width],
        np.s_[top + height - 2 : top + height, left : left + width],
        np.s_[top : top + height, left : left + 2],
        np.s_[top : top + height, left + width - 2 : left + width],
    ):
        picture[edge] = (255, 160, 40)


def fewer(picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Reduce the colour depth to 6 bits, which compresses better and is not visible."""
    return picture & np.uint8(0xFC)


def read_png(path: Path) -> NDArray[np.uint8]:
    """Read a picture (H, W, 3) from a PNG as the tests write it: 8 bits, RGB, unfiltered, one IDAT."""
    data = path.read_bytes()
    width, height = struct.unpack(">2I", data[16:24])
    start = data.index(b"IDAT")
    length = struct.unpack(">I", data[start - 4 : start])[0]
    rows = np.frombuffer(zlib.decompress(data[start + 4 : start + 4 + length]), np.uint8).reshape(height, -1)
    return rows[:, 1:].reshape(height, width, 3)


def write_png(path: Path, picture: NDArray[np.uint8]) -> None:
    """Write a picture (H, W, 3) as PNG, each row as its difference from the one above, which compresses better."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    height, width, _ = picture.shape
    rows = picture.reshape(height, -1)
    above = np.vstack([np.zeros_like(rows[:1]), rows[:-1]])
    filtered = np.hstack([np.full((height, 1), 2, np.uint8), rows - above])  # 2 is the filter "up"
    header = struct.pack(">2I5B", width, height, 8, 2, 0, 0, 0)
    chunks = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(filtered.tobytes(), 9)) + chunk(b"IEND", b"")
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunks)


if __name__ == "__main__":
    main()
