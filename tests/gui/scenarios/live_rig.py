"""A VMC sender is followed by MakeHuman's rig; it is put back; another file is opened while it is followed."""

import json
import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import bpy

if TYPE_CHECKING:
    from knuckle.tests.gui.driver import Screen, Steps

OUT = Path("/tmp/out")
RIG = str(OUT / "makehuman_default.blend")
live = SimpleNamespace(**runpy.run_path(str(Path(__file__).parent / "live.py")))


def play(screen: "Screen") -> "Steps":
    port = json.loads((OUT / "live_ports.json").read_text())["vmc"]
    live.ask(f"vmc {port}")
    yield from live.prepare(screen)
    bpy.ops.wm.open_mainfile(filepath=RIG, load_ui=False)
    yield 1.5
    armature = live.choose_makehuman(screen)
    before = live.basis(armature)
    live.look_at_wrists(screen, armature)
    start(screen, port)
    yield from screen.wait_until(lambda: len(live.run().displayed_hands) == 2, 40)
    reported: dict[str, Any] = yield from live.open_and_closed(
        screen, "makehuman", f"vmc {port}", live.hands_of("makehuman")
    )
    with screen.in_view():
        bpy.ops.knuckle.live_stop()
    yield 0.5
    screen.picture("live_makehuman_after")
    reported["put back"] = live.basis(armature) == before
    live.ask(f"vmc {port}")
    start(screen, port)
    yield from screen.wait_until(lambda: live.run().displayed_hands, 40)
    reported["loaded"] = yield from opened_while_recording()
    return reported


def opened_while_recording() -> "Steps":
    """Another file is opened: whether anything is followed still, and how many packets came in the take."""
    before, thread = live.run().receiver.stats.packets, live.run().receiver._thread
    live.run().record(OUT / "live takes", "Opened")
    yield 1.0
    packets = live.run().receiver.stats.packets - before
    bpy.ops.wm.open_mainfile(filepath=RIG, load_ui=False)
    yield 1.5
    return {"followed": live.run() is not None or thread.is_alive(), "packets": packets}


def start(screen: "Screen", port: int) -> None:
    chosen = screen.scene.knuckle_live
    chosen.device, chosen.port = "vmc", port
    with screen.in_view():
        bpy.ops.knuckle.live_start()
