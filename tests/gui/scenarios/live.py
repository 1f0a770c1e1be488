"""A VMC sender is followed by new hands: a take, undo and redo, modes, hands that are deleted; in the end Blender is
left while it follows and records.
"""

import json
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bpy
import numpy as np
from mathutils import Euler, Vector

if TYPE_CHECKING:
    from knuckle.tests.gui.driver import Screen, Steps

OUT = Path("/tmp/out")
PACKAGE = "bl_ext.user_default.knuckle"
AHEAD = Euler((1.25, 0.0, 0.0)).to_quaternion()
"""From ahead, and a little from above."""
CLOSED = 59
"""The step in which the senders' hands are closed."""


def play(screen: "Screen") -> "Steps":
    ports = json.loads((OUT / "live_ports.json").read_text())
    vmc = f"vmc {ports['vmc']}"
    reported: dict[str, Any] = {}
    yield from prepare(screen)
    yield from complaints(screen, ports, reported)
    ask(vmc)
    reported["new"] = yield from new_hands(screen, vmc)
    yield from recorded(screen, reported)
    reported["after"] = {}
    yield from undone(screen, reported["after"])
    yield from modes(screen, reported["after"])
    reported["deleted"] = yield from deleted(screen)
    reported["last take"] = yield from recorded_to_the_end(screen)
    return reported


def prepare(screen: "Screen") -> "Steps":
    """Nothing but the Live panel, and a view that shows a person's height."""
    yield from screen.empty_scene_with_panel("KNUCKLE_PT_live")
    yield from screen.widen_sidebar(110)
    screen.move(20, screen.window.height - 20)
    screen.picture("live_before")
    return {}


def complaints(screen: "Screen", ports: dict[str, int], reported: dict[str, Any]) -> "Steps":
    """A port that another program has; then a sender that does not send."""
    chosen = screen.scene.knuckle_live
    chosen.folder = str(OUT / "live takes")
    chosen.device, chosen.port = "vmc", ports["taken"]
    start = yield from screen.button("knuckle.live_start")
    screen.click(*start)
    yield from screen.wait_until(lambda: run() and run().receiver.failed)
    yield 0.5
    screen.picture("live_port_in_use")
    reported["port in use"] = run().receiver.state()
    with screen.in_view():
        bpy.ops.knuckle.live_stop()
    chosen.port = ports["vmc"]
    screen.click(*start)
    yield from screen.wait_until(lambda: run() and "nothing received" in run().receiver.state(), 30)
    yield 0.5
    screen.picture("live_nobody_sends")
    reported["nobody sends"] = run().receiver.state()
    return {}


def new_hands(screen: "Screen", vmc: str) -> "Steps":
    yield from screen.wait_until(lambda: len(run().displayed_hands) == 2, 40)
    wrists = [bpy.data.objects[f"{side} Hand"].pose.bones["wrist"].head for side in ("Left", "Right")]
    look(screen, (wrists[0] + wrists[1]) / 2, 2.2 * (wrists[0] - wrists[1]).length)
    reported = yield from open_and_closed(screen, "new", vmc, hands_of("new"))
    ask(vmc)
    return reported


def recorded(screen: "Screen", reported: dict[str, Any]) -> "Steps":
    with screen.in_view():
        bpy.ops.knuckle.live_record()
    yield from screen.wait_until(lambda: run().receiver.recording)
    screen.move(24, screen.window.height - 24)  # no tooltip of a button that was there
    yield 2.0
    screen.picture("live_recording")
    with screen.in_view():
        bpy.ops.knuckle.live_record()
        bpy.ops.ed.undo_push(message="Record")  # as a click on the button does
    yield 1.0
    screen.picture("live_recorded")
    reported["takes"] = [take.name for take in screen.scene.knuckle_live.takes]
    action = bpy.data.objects["Left Hand"].animation_data.action
    curves = action.layers[0].strips[0].channelbags[0].fcurves
    reported["keyed"] = max(len(curve.keyframe_points) for curve in curves)
    return {}


def undone(screen: "Screen", after: dict[str, bool]) -> "Steps":
    """The take's keys are undone and done again."""
    screen.move(*screen.view_middle())
    for keys in ("ctrl+z", "ctrl+shift+z"):
        screen.key(keys)
        yield 1.0
        after[keys] = yield from goes_on()
    return {}


def modes(screen: "Screen", after: dict[str, bool]) -> "Steps":
    hand = bpy.data.objects["Left Hand"]
    bpy.context.view_layer.objects.active = hand
    for mode in ("POSE", "EDIT", "OBJECT"):
        with screen.in_view():
            bpy.ops.object.mode_set(mode=mode)
        yield 1.0
        after[mode] = yield from goes_on(moves=mode != "EDIT")
        screen.picture(f"live_mode_{mode.lower()}")
    return {}


def deleted(screen: "Screen") -> "Steps":
    for name in ("Left Hand", "Right Hand"):
        bpy.data.objects.remove(bpy.data.objects[name])
    yield from screen.wait_until(lambda: run().rigs.problems)
    yield 1.0
    screen.picture("live_deleted")
    return next(iter(run().rigs.problems.values()))


def recorded_to_the_end(screen: "Screen") -> "Steps":
    """Blender is left while a take is recorded: how many packets came in it, with those of the second before."""
    before = run().receiver.stats.packets
    run().record(OUT / "live takes", "Last")
    yield 2.0
    screen.picture("live_left_while_recording")
    return {"packets": run().receiver.stats.packets - before}


# What all live scenarios use.


def run() -> Any:
    """What is followed, None where nothing is."""
    return __import__(f"{PACKAGE}.operators.session", fromlist=["SESSION"]).SESSION.live.run


def ask(sender: str) -> None:
    """Has the test begin a sender, and end the one before: 'DEVICE PORT', 'DEVICE PORT hold STEP'."""
    beside = OUT / "live_asked.new"
    beside.write_text(sender)
    beside.replace(OUT / "live_asked.txt")


def held(screen: "Screen", sender: str) -> Iterator[float]:
    """Has the test hold a step, and waits until that is shown."""
    ask(sender)
    yield from screen.wait_until(lambda: (OUT / "live_held.txt").read_text() == sender)
    # A hand that returns goes over to where it is seen, and the view of a busy machine is up to half a second late.
    yield 1.5


def choose_makehuman(screen: "Screen") -> Any:
    armature = next(obj for obj in screen.scene.objects if obj.type == "ARMATURE")
    screen.scene.knuckle.rig, screen.scene.knuckle.armature = "ARMATURE", armature
    screen.scene.knuckle.drive = "wrist"  # the phalanges are compared with what was sent, in the world
    return armature


def look(screen: "Screen", at: Any, distance: float) -> None:
    """The view is turned to a point, left of the sidebar, and the mouse goes away."""
    view = screen.area().spaces.active.region_3d
    view.view_perspective = "PERSP"
    view.view_rotation = AHEAD
    view.view_distance = distance
    view.view_location = Vector(at) + AHEAD @ Vector((0.12 * distance, 0.0, 0.0))
    screen.move(20, screen.window.height - 20)


def look_at_wrists(screen: "Screen", armature: Any) -> None:
    wrists = [armature.matrix_world @ armature.pose.bones[f"wrist.{side}"].head for side in "LR"]
    look(screen, (wrists[0] + wrists[1]) / 2, 2.2 * (wrists[0] - wrists[1]).length)


def basis(armature: Any) -> dict[str, list[float]]:
    return {bone.name: [value for row in bone.matrix_basis for value in row] for bone in armature.pose.bones}


Hands = dict[str, tuple[str, str, str]]
"""Side -> armature, and the first two bones of the index finger."""


def hands_of(rig: str) -> Hands:
    if rig == "new":
        bones = ("index-finger-phalanx-proximal", "index-finger-phalanx-intermediate")
        return {side: (f"{side.capitalize()} Hand", *bones) for side in ("left", "right")}
    name = bpy.context.scene.knuckle.armature.name
    return {side: (name, f"finger2-1.{side[0].upper()}", f"finger2-2.{side[0].upper()}") for side in ("left", "right")}


def curls(hands: Hands) -> dict[str, float]:
    """Degrees between two bones of each index finger, as Blender evaluates them."""
    found = {}
    for side, (name, *bones) in hands.items():
        posed = bpy.data.objects[name].evaluated_get(bpy.context.evaluated_depsgraph_get()).pose.bones
        ways = [np.array(posed[bone].tail) - np.array(posed[bone].head) for bone in bones]
        cosine = ways[0] @ ways[1] / np.linalg.norm(ways[0]) / np.linalg.norm(ways[1])
        found[side] = float(np.degrees(np.arccos(np.clip(cosine, -1, 1))))
    return found


def open_and_closed(screen: "Screen", name: str, sender: str, hands: Hands) -> "Steps":
    """The hands are held open, then closed, and pictures taken; their curls, and how it ran."""
    reported: dict[str, Any] = {}
    for state, step in (("open", 0), ("closed", CLOSED)):
        yield from held(screen, f"{sender} hold {step}")
        screen.picture(f"live_{name}_{state}")
        reported[state] = curls(hands)
    stats = run().receiver.stats
    reported["latency ms"] = [round(1000 * value, 1) for value in stats.latency()]
    reported["frames"], reported["rate"], reported["overrun"] = stats.frames, run().receiver.state(), stats.overrun
    return reported


def goes_on(moves: bool = True) -> Generator[float, None, bool]:
    """Whether frames are taken, and hands move within a turn of the sender's."""
    frames, before = run().receiver.stats.frames, curls(hands_of("new"))["left"]
    for _ in range(90):
        yield 0.1
        moved = abs(curls(hands_of("new"))["left"] - before) > 10
        if run().receiver.stats.frames > frames + 20 and (moved or not moves):
            return True
    return False
