"""A MakeHuman rig follows a device: Start is clicked, the hands close, it is stopped."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bpy
from mathutils import Euler

if TYPE_CHECKING:
    from knuckle.tests.gui.driver import Screen, Steps

ASKED = json.loads(Path("/tmp/out/live_avatar_asked.json").read_text())
OPEN = "KNUCKLE_PT_live"


def play(screen: "Screen") -> "Steps":
    bpy.ops.wm.open_mainfile(filepath="/tmp/out/rigs/makehuman.blend", load_ui=False, use_scripts=True)
    yield 1.0
    scene = screen.scene
    armature = next(obj for obj in scene.objects if obj.type == "ARMATURE")
    scene.knuckle.rig, scene.knuckle.armature = "ARMATURE", armature
    scene.knuckle_live.device, scene.knuckle_live.port = ASKED["device"], ASKED["port"]
    panels = [kind for kind in bpy.types.Panel.__subclasses__() if getattr(kind, "bl_category", "") == "Knuckle"]
    for panel in panels:
        panel.bl_options = set() if panel.__name__ == OPEN else {"DEFAULT_CLOSED"}
        bpy.utils.unregister_class(panel)
        bpy.utils.register_class(panel)
    yield from screen.show_sidebar("Knuckle")
    yield from screen.widen_sidebar(130)
    look(screen, armature)
    yield 0.5
    before = basis(armature)
    place = yield from screen.button("knuckle.live_start")
    screen.click(*place)
    live = next(module for name, module in sys.modules.items() if name.endswith("knuckle.operators.live")).Live
    yield from screen.wait_until(lambda: live.run is not None and len(live.run.shown) == 2, 60.0)
    Path("/tmp/out/live_avatar_seen").touch()
    yield from screen.wait_until(lambda: Path("/tmp/out/live_avatar_closed").exists(), 60.0)
    yield 3.0
    told: dict[str, Any] = {"bones": {name: list(way(armature, name)) for name in ASKED["bones"]}}
    tally = live.run.receiver.tally
    told["counts"] = {what: getattr(tally, what) for what in ("frames", "malformed", "late", "lost", "overrun")}
    told["latency"], told["state"] = tally.latency(), live.run.receiver.state()
    screen.move(20, screen.window.height - 20)
    yield 0.5
    screen.picture("live_avatar_" + ASKED["device"])
    with screen.in_view():
        bpy.ops.knuckle.live_stop()
    yield from screen.wait_until(lambda: live.run is None)
    told["put back"] = basis(armature) == before
    return told


def look(screen: "Screen", armature: bpy.types.Object) -> None:
    """From the front, a little from above, at both hands."""
    bpy.context.view_layer.update()
    view = screen.area().spaces.active.region_3d
    wrists = [armature.matrix_world @ armature.pose.bones[f"wrist.{side}"].head for side in "LR"]
    view.view_perspective = "PERSP"
    view.view_rotation = Euler((1.25, 0.0, 0.0)).to_quaternion()
    view.view_distance = 1.6 * (wrists[0] - wrists[1]).length
    view.view_location = (wrists[0] + wrists[1]) / 2


def way(armature: bpy.types.Object, bone: str) -> tuple[float, ...]:
    """Where a bone points in the world, as Blender evaluates it."""
    posed = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
    along = (posed.matrix_world @ posed.pose.bones[bone].matrix).col[1].xyz.normalized()
    return tuple(along)


def basis(armature: bpy.types.Object) -> dict[str, list[float]]:
    return {bone.name: [number for row in bone.matrix_basis for number in row] for bone in armature.pose.bones}
