"""A camera is followed: Start is pressed in the window, and a new hand moves as the hand before the camera."""

import json
import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import bpy

if TYPE_CHECKING:
    from knuckle.tests.gui.driver import Screen, Steps

live = SimpleNamespace(**runpy.run_path(str(Path(__file__).parent / "live.py")))
FINGERS = ("index", "middle", "ring", "pinky")


def play(screen: "Screen") -> "Steps":
    yield from screen.empty_scene_with_panel("KNUCKLE_PT_live")
    yield from screen.widen_sidebar(110)
    chosen = screen.scene.knuckle_live
    chosen.device = "camera"
    chosen.port = json.loads((live.OUT / "camera_port.json").read_text())
    start = yield from screen.button("knuckle.live_start")
    screen.click(*start)
    yield from screen.wait_until(lambda: live.run() and live.run().receiver.is_open, 30)
    yield 0.5
    screen.picture("live_camera_waiting")
    reported: dict[str, Any] = {"waiting": live.run().receiver.state()}
    yield from screen.wait_until(
        lambda: (
            live.run().receiver.stats.frames > 12 and live.run().displayed_hands and not live.run().session.unmeasured()
        ),
        180,
    )
    yield from screen.wait_until(lambda: not live.run().displayed_hands[0].predicted, 30)
    hand = next(obj for obj in bpy.data.objects if obj.type == "ARMATURE")
    palm = hand.matrix_world @ hand.pose.bones["middle-finger-phalanx-proximal"].head
    live.look(screen, palm, 0.5)
    yield 1.0
    screen.picture("live_camera")
    reported |= {"hand": hand.name, "directions": directions(hand), "state": live.run().receiver.state()}
    reported |= {"palm": palm_per_finger(hand), "away": hand.pose.bones["wrist"].head.y}
    reported["malformed"] = live.run().receiver.stats.malformed
    with screen.in_view():
        bpy.ops.knuckle.live_stop()
    return reported


def palm_per_finger(hand: "bpy.types.Object") -> float:
    """How long the palm is, from the wrist to the middle finger's knuckle, per length of that finger."""
    bones = hand.data.bones
    finger = [bones[f"middle-finger-phalanx-{part}"] for part in ("proximal", "intermediate", "distal")]
    return (finger[0].head_local - bones["wrist"].head_local).length / sum(bone.length for bone in finger)


def directions(hand: "bpy.types.Object") -> dict[str, list[float]]:
    """Where each finger points from its knuckle to its tip, in the wrist's axes, as Blender evaluates them."""
    posed = hand.evaluated_get(bpy.context.evaluated_depsgraph_get()).pose.bones
    to_wrist = posed["wrist"].matrix.to_3x3().inverted()
    ends = {f: (posed[f"{f}-finger-phalanx-proximal"].head, posed[f"{f}-finger-phalanx-distal"].tail) for f in FINGERS}
    return {f: list((to_wrist @ (tip - knuckle).normalized()).to_tuple()) for f, (knuckle, tip) in ends.items()}
