"""What a person does in a day, again for a number of seconds, twice at least: hands are posed,
a capture is imported, solved and undone, a device followed and recorded, the file saved and opened, the extension
switched off and on. What Blender holds is noted after each round.
"""

import contextlib
import ctypes
import gc
import json
import runpy
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import bpy

if TYPE_CHECKING:
    from knuckle.tests.gui.driver import Screen, Steps

HERE = Path(__file__).parent
OUT = Path("/tmp/out")
PACKAGE = "bl_ext.user_default.knuckle"
hands = SimpleNamespace(**runpy.run_path(str(HERE.parent / "hands.py")))
live = SimpleNamespace(**runpy.run_path(str(HERE / "live.py")))
panel = SimpleNamespace(**runpy.run_path(str(HERE / "posing_sliders.py")))
wander = SimpleNamespace(**runpy.run_path(str(HERE / "posing_wander.py")))
RIGS = ("own", "makehuman", "rigify")
ACTS = 6
"""Things done to the hands of a rig."""
CLEAN_ALL_BUFFERS = 0
"""TBBMALLOC_CLEAN_ALL_BUFFERS of oneTBB's scalable_allocator.h."""
RECORDED = 3.0
"""s of a take."""


def play(screen: "Screen") -> "Steps":
    seconds = float(screen.arguments[0])
    yield from screen.resize(1000, 720)
    screen.area().spaces.active.show_gizmo_navigate = False
    screen.open_panels("KNUCKLE_PT_posing")
    yield from wander.opened(screen, "own")
    yield from screen.show_sidebar("Knuckle Pose")
    yield from hands.look(screen)
    places = yield from panel.sliders(screen)
    person = wander.Wander(screen, {word: at for word, at in places.items() if word not in ("bottom", "dip_lock")})
    began, rounds = time.monotonic(), list[dict[str, Any]]()
    while len(rounds) < 2 or time.monotonic() < began + seconds:
        yield from posed(screen, person, RIGS[len(rounds) % len(RIGS)])
        yield from solved(screen)
        yield from followed(screen)
        yield from saved_and_opened(screen)
        rounds.append({"minutes": round((time.monotonic() - began) / 60, 1), **held()})
        (OUT / "mixed_use_rounds.json").write_text(json.dumps(rounds))
    screen.picture("mixed_use")
    return {"rounds": rounds, "done": person.done, "faults": person.reported["faults"]}


def posed(screen: "Screen", person: Any, rig: str) -> "Steps":
    """The hands of a rig, by mouse and keys."""
    yield from wander.opened(screen, rig)
    for _ in range(ACTS):
        yield from person.act()
    yield 0.5
    return {}


def solved(screen: "Screen") -> "Steps":
    """A capture: imported and solved as jobs, undone and done again by keys."""
    bpy.ops.wm.read_homefile(use_empty=True, load_ui=False)
    yield 0.5
    status = bpy.context.window_manager.knuckle
    with screen.in_view():
        bpy.ops.knuckle.import_capture(filepath=str(screen.repository / "data" / "leap_finger_tap.json"))
        bpy.ops.knuckle.solve("INVOKE_DEFAULT")
    yield from screen.wait_until(lambda: screen.scene.knuckle.result and not status.running, 60)
    screen.move(*screen.view_middle())
    for keys, there in (("ctrl+z", False), ("ctrl+shift+z", True)):
        yield 0.5
        screen.key(keys)
        yield from screen.wait_until(lambda there=there: bool(screen.scene.knuckle.result) == there, 60)
    return {}


def followed(screen: "Screen") -> "Steps":
    """A device, by new hands: a take is recorded and keyed."""
    port = json.loads((OUT / "live_ports.json").read_text())["vmc"]
    chosen = screen.scene.knuckle_live
    chosen.device, chosen.port, chosen.folder = "vmc", port, str(OUT / "live takes")
    live.ask(f"vmc {port}")
    with screen.in_view():
        bpy.ops.knuckle.live_start()
    yield from screen.wait_until(lambda: len(live.run().displayed_hands) == 2, 60)
    with screen.in_view():
        bpy.ops.knuckle.live_record()
    yield RECORDED
    status = bpy.context.window_manager.knuckle
    with screen.in_view():
        bpy.ops.knuckle.live_stop("INVOKE_DEFAULT")
    yield from screen.wait_until(lambda: not status.running, 60)
    live.ask("")
    assert "Left Hand" in bpy.data.objects and bpy.data.objects["Left Hand"].animation_data.action
    return {}


def saved_and_opened(screen: "Screen") -> "Steps":
    """The file, and the extension between."""
    path = str(OUT / "mixed_use.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.preferences.addon_disable(module=PACKAGE)
    yield 0.5
    bpy.ops.preferences.addon_enable(module=PACKAGE)
    bpy.ops.wm.open_mainfile(filepath=path, load_ui=False)
    yield 1.0
    return {}


def held() -> dict[str, float]:
    """What Blender holds, without what the allocator only keeps for later."""
    gc.collect()
    free_unused()
    handlers = (getattr(bpy.app.handlers, name) for name in dir(bpy.app.handlers))
    session = __import__(f"{PACKAGE}.operators.session", fromlist=["SESSION"]).SESSION
    return {
        "memory MB": round(wander.resident(), 1),
        "threads": threading.active_count(),
        "handlers": sum(len(each) for each in handlers if isinstance(each, list)),
        "draw callbacks": sum(map(len, session.draw_handlers.values())),
        "gizmo groups": _alive("KNUCKLE_GGT_hand"),
        "live runs": _alive("LiveRun"),
    }


def free_unused() -> None:
    """Have the allocator give back what it only keeps for later: Debian's Blender allocates by oneTBB."""
    with contextlib.suppress(OSError):
        ctypes.CDLL("libtbbmalloc.so.2").scalable_allocation_command(CLEAN_ALL_BUFFERS, None)
    ctypes.CDLL("libc.so.6").malloc_trim(0)


def _alive(name: str) -> int:
    """How many objects of a class there are."""
    return sum(type(thing).__name__ == name for thing in gc.get_objects())
