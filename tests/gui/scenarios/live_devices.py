"""Every device in turn moves new hands, or MakeHuman's rig, until its hands are held still and looked at."""

import json
import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import bpy
import numpy as np
from mathutils import Matrix

if TYPE_CHECKING:
    from knuckle.tests.gui.driver import Screen, Steps

OUT = Path("/tmp/out")
RIG = str(OUT / "makehuman_default.blend")
ARMS = (("upperarm01", "Y", 25.0), ("lowerarm01", "Z", -40.0), ("lowerarm01", "X", -25.0))
"""Bone, axis of the armature, degrees; on the right mirrored."""
live = SimpleNamespace(**runpy.run_path(str(Path(__file__).parent / "live.py")))


def play(screen: "Screen") -> "Steps":
    asked = json.loads((OUT / "live_devices_asked.json").read_text())
    yield from live.prepare(screen)
    if asked["rig"] == "makehuman":
        bpy.ops.wm.open_mainfile(filepath=RIG, load_ui=False)
        yield 1.5
        raise_arms(live.choose_makehuman(screen))
    reported: dict[str, Any] = {}
    for device in asked["devices"]:
        reported[device["name"]] = yield from followed(screen, asked["rig"], device)
    return reported


def followed(screen: "Screen", rig: str, device: dict[str, Any]) -> "Steps":
    """Where bones are once a device's hands are held at a step."""
    name, port = device["name"], device["port"]
    chosen = screen.scene.knuckle_live
    live.ask(f"{name} {port}")
    chosen.device, chosen.port = name, port
    with screen.in_view():
        bpy.ops.knuckle.live_start()
    yield from screen.wait_until(lambda: len(live.run().displayed_hands) == device["hands"], 60)
    look(screen, rig)
    yield from live.held(screen, f"{name} {port} hold {device['step']}")
    if device["anew"]:
        yield from measured_anew(screen)
    screen.picture(f"live_{rig}_{name}")
    reported = {"bones": bones(screen), "problems": list(live.run().rigs.problems.values())}
    stats = live.run().receiver.stats
    reported |= {count: getattr(stats, count) for count in ("frames", "malformed", "lost")}
    with screen.in_view():
        bpy.ops.knuckle.live_stop()
    if rig == "new":
        for obj in list(bpy.data.objects):
            bpy.data.objects.remove(obj)
    return reported


def measured_anew(screen: "Screen") -> "Steps":
    """The hands are measured again on what is held, and go over to that."""
    before = live.run().session.hands()
    with screen.in_view():
        bpy.ops.knuckle.live_measure()
    yield from screen.wait_until(
        lambda: all(hand is not before[name] for name, hand in live.run().session.hands().items()), 20
    )
    yield 0.7
    return {}


def bones(screen: "Screen") -> dict[str, dict[str, list[tuple[float, ...]]]]:
    """Armature -> bone of a hand -> where it begins and ends in the world, as Blender evaluates it."""
    graph = bpy.context.evaluated_depsgraph_get()
    found = {}
    for obj in screen.scene.objects:
        if obj.type == "ARMATURE":
            posed = obj.evaluated_get(graph)
            found[obj.name] = {
                bone.name: [(posed.matrix_world @ end)[:] for end in (bone.head, bone.tail)]
                for bone in posed.pose.bones
                if "finger" in bone.name or "thumb" in bone.name or bone.name == "wrist"
            }
    return found


def look(screen: "Screen", rig: str) -> None:
    """At both hands, from near."""
    if rig == "makehuman":
        live.look_at_wrists(screen, screen.scene.knuckle.armature)
        return
    ends = np.array([end for hand in bones(screen).values() for bone in hand.values() for end in bone])
    low, high = ends.min(axis=0), ends.max(axis=0)
    live.look(screen, (low + high) / 2, 1.7 * float(np.linalg.norm(high - low)))


def raise_arms(armature: Any) -> None:
    """Both hands before the body, where they are seen from near."""
    for bone, axis, degrees in ARMS:
        for side, sign in (("L", 1), ("R", -1)):
            posed = armature.pose.bones[f"{bone}.{side}"]
            turn = Matrix.Rotation(np.radians(degrees if axis == "X" else sign * degrees), 4, axis)
            about = Matrix.Translation(posed.head)
            posed.matrix = about @ turn @ about.inverted() @ posed.matrix
            bpy.context.view_layer.update()
