"""The hands of two rigs are shown with their axes; bones are picked with the eyedropper, a digit is flipped, the hands
are mirrored; each is undone.
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bpy
from bpy_extras.view3d_utils import location_3d_to_region_2d
from mathutils import Euler

if TYPE_CHECKING:
    from knuckle.tests.gui.driver import Screen, Steps

RIGS = Path("/tmp/out/rigs")


def play(screen: "Screen") -> "Steps":
    yield from shown(screen, "makehuman", "wrist.L")
    screen.open_panels("KNUCKLE_PT_solve", "KNUCKLE_PT_rig_hands")
    yield from screen.show_sidebar("Knuckle")
    yield from screen.widen_sidebar(130)
    yield from look(screen, "wrist.L")
    screen.move(20, screen.window.height - 20)
    yield 0.5
    screen.picture("rig_hands_makehuman")
    region = screen.region(screen.area(), "UI")
    top = screen.window.height - region.y - region.height
    reported: dict[str, Any] = {"sidebar": [region.x, top, region.width, region.height]}
    reported["kept first"] = kept()
    reported |= yield from picked(screen)
    reported["flipped"] = yield from clicked(
        screen, "knuckle.flip_digit", 0.83, "flipped", "side='left', digit='thumb'"
    )
    reported["mirrored"] = yield from clicked(screen, "knuckle.mirror_hand", 0.65, "mirrored")
    reported["turned"] = yield from turned(screen)
    reported["loaded"] = yield from saved_and_loaded()
    reported["filled"] = yield from rigify(screen)
    yield from nothing(screen)
    return reported


def picked(screen: "Screen") -> "Steps":
    """A bone is picked for a joint, after the eyedropper was left by Escape; the pick is undone."""
    reported: dict[str, Any] = {}
    _, y = yield from screen.button("knuckle.flip_digit", across=0.83, holding="side='left', digit='index-finger'")
    screen.click(screen.region(screen.area(), "UI").x + 60, y)  # the title of the digit, which opens
    yield 1.0
    what = 'what="index-finger-phalanx-intermediate"'
    place = yield from screen.button("knuckle.pick_bone", across=0.88, holding=what)
    wrong = on_screen(screen, "finger4-2.L")
    screen.click(*place)
    yield 0.5
    screen.move(*wrong)
    yield 1.0
    screen.picture("rig_hands_eyedropper")
    screen.key("Escape")
    yield 0.5
    reported["after escape"] = kept()
    screen.click(*place)
    yield 0.5
    screen.move(wrong[0] + 3, wrong[1])
    yield 0.3
    screen.click(*wrong)
    yield from screen.wait_until(kept)
    reported["picked"] = kept()
    yield from undone(screen)
    reported["undone"] = kept()
    return reported


def clicked(screen: "Screen", operator: str, across: float, name: str, holding: str = "") -> "Steps":
    """A button is clicked and what it did is undone; what the armature kept of both hands in between."""
    place = yield from screen.button(operator, across=across, holding=holding)
    screen.click(*place)
    yield from screen.wait_until(kept)
    reported = {side: kept(side) for side in ("left", "right")}
    screen.move(20, 20)
    yield 1.0
    screen.picture(f"rig_hands_{name}")
    yield from undone(screen)
    return reported


def turned(screen: "Screen") -> "Steps":
    """The slider of the index finger's curl plane is dragged, between its last joint and the next digit's title."""
    tip = yield from screen.button("knuckle.pick_bone", across=0.88, holding='what="index-finger-tip"')
    region = screen.region(screen.area(), "UI")
    y = tip[1] + 26
    start = region.x + 200, y
    screen.move(start[0] - 5, y)
    yield 0.5  # a slider that the mouse was over takes the drag
    yield from screen.drag(start, (start[0] + 80, y))
    yield from screen.wait_until(kept)
    yield 0.5
    reported = kept()
    screen.picture("rig_hands_turned")
    yield from undone(screen)
    return {"turns": reported["turns"]}


def undone(screen: "Screen") -> "Steps":
    """One undo takes back what was done first on the armature."""
    screen.move(*screen.view_middle())
    yield 0.5
    screen.key("ctrl+z")
    yield from screen.wait_until(lambda: not kept())
    yield 0.5
    return {}


def saved_and_loaded() -> "Steps":
    """A digit is flipped, the file saved and loaded; what the armature keeps then."""
    bpy.ops.knuckle.flip_digit(side="left", digit="thumb")
    bpy.ops.wm.save_as_mainfile(filepath="/tmp/flipped.blend")
    bpy.ops.wm.open_mainfile(filepath="/tmp/flipped.blend", load_ui=False)
    yield 1.5
    return {"left": kept()}


def rigify(screen: "Screen") -> "Steps":
    """A generated rig, at a hundredth, turned, in Pose Mode, with two fingers bent."""
    yield from shown(screen, "rigify", "DEF-hand.L")
    armature = screen.scene.knuckle.armature
    armature.scale = (0.01, 0.01, 0.01)
    armature.rotation_euler = Euler((0.3, 0.2, 0.5))
    for finger in ("f_index", "f_middle"):
        for part in ("02", "03"):
            bone = armature.pose.bones[f"{finger}.{part}.L"]
            bone.rotation_mode = "XYZ"
            bone.rotation_euler.x = 0.6
    bpy.ops.knuckle.select_bones(side="left", digit="index-finger")
    yield from look(screen, "DEF-hand.L")
    screen.picture("rig_hands_rigify")
    screen.move(*screen.middle(screen.region(screen.area(), "UI")))
    screen.turn_wheel(5)  # the row is below what the sidebar shows
    yield 1.0
    place = yield from screen.button("knuckle.pick_bone", across=0.88, holding='what="ring-finger"')
    screen.click(*place)
    yield 0.5
    spot = on_screen(screen, "f_ring.01.L")
    screen.move(spot[0] + 3, spot[1])
    yield 0.3
    screen.click(*spot)
    yield from screen.wait_until(kept)
    reported = kept()
    yield 1.0
    screen.picture("rig_hands_rigify_picked")
    return {"bones": reported["bones"], "carrier": reported.get("carrier")}


def nothing(screen: "Screen") -> "Steps":
    """An armature without a hand: the panel says so, and its bones can be picked."""
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.ops.object.armature_add()
    screen.scene.knuckle.armature = bpy.context.object
    yield 1.0
    screen.area().tag_redraw()
    yield 1.0
    screen.picture("rig_hands_nothing")
    return {}


def shown(screen: "Screen", rig: str, wrist: str) -> "Steps":
    """A rig's file is opened and its armature chosen, with its axes."""
    bpy.ops.wm.open_mainfile(filepath=str(RIGS / f"{rig}.blend"), load_ui=False, use_scripts=True)
    yield 1.0
    scene = screen.scene
    armature = next(obj for obj in scene.objects if obj.type == "ARMATURE" and wrist in obj.data.bones)
    scene.knuckle.rig, scene.knuckle.armature, scene.knuckle_rig.axes = "ARMATURE", armature, True
    bpy.ops.ed.undo_push()
    yield 0.5
    return {}


def look(screen: "Screen", wrist: str) -> "Steps":
    """The view is turned to a hand, a little from the side and from above."""
    armature = screen.scene.knuckle.armature
    bpy.context.view_layer.update()
    view = screen.area().spaces.active.region_3d
    bone = armature.pose.bones[wrist]
    hand = [armature.matrix_world @ point for one in bone.children_recursive for point in (one.head, one.tail)]
    middle = sum(hand[1:], hand[0]) / len(hand)
    view.view_perspective = "PERSP"
    view.view_rotation = (
        armature.matrix_world.to_3x3().normalized() @ Euler((1.0, 0.0, 0.6)).to_matrix()
    ).to_quaternion()
    view.view_distance = 3.2 * max((place - middle).length for place in hand)
    view.view_location = middle
    screen.area().spaces.active.clip_start = 1e-4
    for _ in range(3):
        screen.area().tag_redraw()
        yield 0.7
    return {}


def on_screen(screen: "Screen", name: str) -> tuple[int, int]:
    """The middle of a bone on the screen."""
    armature = screen.scene.knuckle.armature
    area = screen.area()
    region, view = screen.region(area), area.spaces.active.region_3d
    spot = location_3d_to_region_2d(region, view, armature.matrix_world @ armature.pose.bones[name].center)
    return region.x + round(spot.x), screen.window.height - region.y - round(spot.y)


def kept(side: str = "left") -> Any:
    """The mapping that the chosen armature keeps."""
    text = bpy.context.window_manager.windows[0].scene.knuckle.armature.get(f"knuckle_mapping_{side}")
    return json.loads(text) if text else None
