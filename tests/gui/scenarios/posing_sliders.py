"""The sliders of a hand are dragged with the mouse, undone, and dragged with auto-keying on; hands are mirrored."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import bpy
from mathutils import Euler

if TYPE_CHECKING:
    from knuckle.tests.gui.driver import Screen, Steps

RIGS = Path("/tmp/out/rigs")
OPEN = ("KNUCKLE_PT_posing",)
WORDS = {
    "own": {"index": "curl_index", "spread": "spread", "oppose": "oppose", "fist": "curl"},
    "makehuman": {"index": "curl_index", "oppose": "oppose", "cup": "cup"},
}
"""Rig -> picture -> the slider that is dragged for it."""
POSED_BY = ("location", "rotation_quaternion", "rotation_euler", "rotation_axis_angle", "scale")
Places = dict[str, tuple[int, int]]


def play(screen: "Screen") -> "Steps":
    panels = [kind for kind in bpy.types.Panel.__subclasses__() if getattr(kind, "bl_category", "") == "Knuckle"]
    fold(panels)
    yield from screen.show_sidebar("Knuckle")
    yield from screen.widen_sidebar(130)
    yield from own_hand(screen)
    places = yield from sliders(screen)
    told: dict[str, Any] = {"own": (yield from dragged(screen, places, "own"))}
    told["escaped"] = yield from escaped(screen, places)
    told["keyed"] = yield from keyed(screen, places)
    yield from makehuman(screen)
    told["makehuman"] = yield from dragged(screen, places, "makehuman")
    told["mirrored"] = yield from mirrored(screen, places)
    region = screen.region(screen.area(), "UI")
    told["sidebar"] = [region.x, screen.window.height - region.y - region.height, region.width, region.height]
    return told


def own_hand(screen: "Screen") -> "Steps":
    """Knuckle's own hand in Pose Mode, seen from the palm."""
    for thing in list(bpy.data.objects):
        bpy.data.objects.remove(thing)
    with screen.in_view():
        bpy.ops.knuckle.add_hand(side="right")
        bpy.ops.object.mode_set(mode="POSE")
    screen.scene.tool_settings.use_keyframe_insert_auto = False
    yield from look(screen, "wrist")
    return {}


def makehuman(screen: "Screen") -> "Steps":
    """A rig's right hand in Pose Mode."""
    bpy.ops.wm.open_mainfile(filepath=str(RIGS / "makehuman.blend"), load_ui=False)
    yield 1.0
    armature = next(thing for thing in screen.scene.objects if thing.type == "ARMATURE")
    screen.scene.knuckle_posing.side = "right"
    with screen.in_view():
        bpy.context.view_layer.objects.active = armature
        bpy.ops.object.mode_set(mode="POSE")
    yield from look(screen, "wrist.R")
    return {}


def dragged(screen: "Screen", places: Places, rig: str) -> "Steps":
    """Each slider from its middle to the right, undone and brought back by one step each: what its hand was like."""
    bpy.ops.ed.undo_push()
    yield 1.0
    told: dict[str, Any] = {}
    screen.move(20, screen.window.height - 20)
    yield 0.5
    screen.picture(f"posing_sliders_{rig}_before")
    for name, word in WORDS[rig].items():
        before, stood = channels(), getattr(screen.scene.knuckle_posing, word)
        yield from slid(screen, places[word])
        after, shows = channels(), getattr(screen.scene.knuckle_posing, word)
        screen.move(20, screen.window.height - 20)
        yield 0.7
        screen.picture(f"posing_sliders_{rig}_{name}")
        yield from pressed(screen, "ctrl+z")
        undone = channels()
        told[name] = {
            "from": stood,
            "to": shows,
            "moved": sorted(bone for bone in after if after[bone] != before[bone]),
            "undone": undone == before,
        }
    return told


def escaped(screen: "Screen", places: Places) -> "Steps":
    """A drag that is left by Escape: how far any channel then is from where it was, and was while it was dragged."""
    before, (x, y) = channels(), places["curl"]
    screen.move(x - 5, y)
    yield 0.3
    meanwhile = 0.0
    for wait in screen.drag((x, y), (x + 40, y), escape=True):
        meanwhile = max(meanwhile, furthest(channels(), before))
        yield wait
    yield 0.5
    return {"dragged": meanwhile, "left": furthest(channels(), before)}


def furthest(one: dict[str, list[float]], other: dict[str, list[float]]) -> float:
    """The largest difference of a channel."""
    return max(abs(a - b) for bone in one for a, b in zip(one[bone], other[bone], strict=True))


def keyed(screen: "Screen", places: Places) -> "Steps":
    """A slider is dragged with auto-keying on: the bones that have keys then, and after one undo."""
    screen.scene.tool_settings.use_keyframe_insert_auto = True
    bpy.context.preferences.edit.use_keyframe_insert_available = False
    bpy.ops.ed.undo_push()
    before = channels()
    yield from slid(screen, places["curl_index"])
    told: dict[str, Any] = {"keyed": sorted(keyed_bones())}
    yield from pressed(screen, "ctrl+z")
    return told | {"undone": channels() == before, "left": sorted(keyed_bones())}


def mirrored(screen: "Screen", places: Places) -> "Steps":
    """A fist on the right, brought to the left by the panel's menu."""
    yield from slid(screen, places["curl"])
    below = places["bottom"][0] + 120, places["bottom"][1]
    screen.move(below[0] - 5, below[1])
    yield 0.5
    screen.click(*below)
    yield 1.0
    screen.picture("posing_sliders_menu")
    before = channels()
    screen.key("r")  # Right to Left
    yield from screen.wait_until(lambda: channels() != before)
    yield 0.5
    posing = screen.scene.knuckle_posing
    right = posing.curl
    posing.side = "left"
    yield 0.5
    return {"right": right, "left": posing.curl}


def sliders(screen: "Screen") -> "Steps":
    """Slider -> where it is on the screen, and where the last row of buttons is: Blender copies what it is called."""
    manager, region = bpy.context.window_manager, screen.region(screen.area(), "UI")
    places: dict[str, tuple[int, int]] = {}
    top = screen.window.height - region.y - region.height
    x = region.x + round(0.36 * region.width)
    for y in range(top + 4, top + 340, 9):
        screen.move(x - 3, y)
        yield 0.03
        screen.move(x, y)
        yield 0.03
        manager.clipboard = ""
        screen.key("ctrl+shift+alt+c")
        yield 0.05
        found = manager.clipboard.partition("knuckle_posing.")[2]
        if found:
            places.setdefault(found, (x, y + 5))
            places["bottom"] = (x, y)
    lock = places["dip_lock"]
    places["bottom"] = (lock[0], lock[1] + 58)
    spread = places["curl"][0] + round(0.38 * region.width), places["curl"][1]
    return places | {"spread": spread}


def slid(screen: "Screen", place: tuple[int, int]) -> "Steps":
    """A slider is dragged to the right."""
    screen.move(place[0] - 5, place[1])
    yield 0.3  # a slider that the mouse was over takes the drag
    yield from screen.drag(place, (place[0] + 60, place[1]))
    yield 0.5
    return {}


def pressed(screen: "Screen", key: str) -> "Steps":
    """A key over the view."""
    screen.move(*screen.view_middle())
    yield 0.2
    screen.key(key)
    yield 0.6
    return {}


def armature() -> bpy.types.Object:
    found = bpy.context.window_manager.windows[0].view_layer.objects.active
    assert found is not None
    return found


def channels() -> dict[str, list[float]]:
    """Bone -> all that it is posed by, to the last bit."""
    bones = armature().pose.bones
    return {bone.name: [value for name in POSED_BY for value in getattr(bone, name)] for bone in bones}


def keyed_bones() -> set[str]:
    animation = armature().animation_data
    action = animation.action if animation else None
    return {
        curve.data_path.split('"')[1]
        for layer in (action.layers if action else ())
        for strip in layer.strips
        for bag in strip.channelbags
        for curve in bag.fcurves
    }


def look(screen: "Screen", wrist: str) -> "Steps":
    """The view is turned to a hand, from the palm's side and a little from the fingertips."""
    bpy.context.view_layer.update()
    view, own = screen.area().spaces.active.region_3d, armature()
    bone = own.pose.bones[wrist]
    hand = [own.matrix_world @ point for one in bone.children_recursive for point in (one.head, one.tail)]
    middle = sum(hand[1:], hand[0]) / len(hand)
    view.view_perspective = "PERSP"
    turn = Euler((2.5, 0.0, 0.0)) if wrist == "wrist" else Euler((1.9, 0.0, 0.7))
    view.view_rotation = turn.to_quaternion()
    view.view_distance = 3.4 * max((place - middle).length for place in hand)
    view.view_location = middle
    screen.area().spaces.active.clip_start = 1e-4
    for _ in range(3):
        screen.area().tag_redraw()
        yield 0.5
    return {}


def fold(panels: list[Any]) -> None:
    """Opens the panels that are looked at, closes the others; a person does it by their titles."""
    parents_first = sorted(panels, key=lambda panel: bool(getattr(panel, "bl_parent_id", "")))
    for panel in reversed(parents_first):
        bpy.utils.unregister_class(panel)
    for panel in sorted(parents_first, key=lambda panel: panel.__name__ not in OPEN):
        panel.bl_options = set() if panel.__name__ in OPEN else {"DEFAULT_CLOSED"}
        bpy.utils.register_class(panel)
