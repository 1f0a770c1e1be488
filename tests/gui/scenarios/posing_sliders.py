"""The sliders of three rigs' hands are dragged with the mouse, undone, left by Esc, and dragged with auto-keying on, as
one of Blender's own fields is; hands are mirrored.
"""

import runpy
from collections.abc import Generator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import bpy
import numpy as np
from mathutils import Euler, Vector

if TYPE_CHECKING:
    from knuckle.tests.gui.driver import Screen, Steps

hands = SimpleNamespace(**runpy.run_path(str(Path(__file__).parents[1] / "hands.py")))
WORDS = {
    "own": {"index": "curl_index", "spread": "spread", "oppose": "oppose", "fist": "curl"},
    "makehuman": {"index": "curl_index", "oppose": "oppose", "cup": "cup"},
    "rigify": {"index": "curl_index", "spread": "spread", "oppose": "oppose", "cup": "cup", "fist": "curl"},
}
"""Rig -> picture -> the slider that is dragged for it."""
ROW = 22
"""Pixels between rows of buttons."""
Places = dict[str, tuple[int, int]]


def play(screen: "Screen") -> "Steps":
    yield from screen.resize(1200, 800)
    screen.open_panels("KNUCKLE_PT_posing")
    yield from own_hand(screen)
    yield from screen.show_sidebar("Knuckle Pose")
    yield from screen.widen_sidebar(130)
    places = yield from sliders(screen)
    reported: dict[str, Any] = {"own": (yield from dragged(screen, places, "own"))}
    reported["own"]["at once"] = yield from at_once(screen, places, "own")
    reported["escaped"] = yield from escaped(screen, places["curl"])
    reported["keyed"] = yield from keyed(screen, places)
    reported["escaped with keys"] = yield from escaped_with_keys(screen, places["curl"])
    for rig in ("makehuman", "rigify"):
        yield from body(screen, rig)
        reported[rig] = yield from dragged(screen, places, rig)
        reported[rig]["at once"] = yield from at_once(screen, places, rig)
        if rig == "makehuman":
            reported["mirrored"] = yield from mirrored(screen, places)
    region = screen.region(screen.area(), "UI")
    reported["sidebar"] = [region.x, screen.window.height - region.y - region.height, region.width, region.height]
    reported["blender's own"] = yield from blenders_own(screen)
    return reported


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


def body(screen: "Screen", rig: str) -> "Steps":
    """A rig's right hand in Pose Mode, as it was built."""
    yield from hands.opened(screen, rig, sides=())
    screen.scene.knuckle_posing.side = "right"
    with screen.in_view():
        bpy.ops.wm.tool_set_by_id(name="builtin.select_box")
    screen.scene.tool_settings.use_keyframe_insert_auto = False
    if rig == "makehuman":
        yield from look(screen, "wrist.R")
    else:
        yield from hands.look(screen, "front")
    return {}


def dragged(screen: "Screen", places: Places, rig: str) -> "Steps":
    """Each slider from its middle to the right, undone and brought back by one step each: what its hand was like."""
    bpy.ops.ed.undo_push()
    reported: dict[str, Any] = {}
    screen.move(20, screen.window.height - 20)
    yield 0.4
    screen.picture(f"posing_sliders_{rig}_before")
    for name, word in WORDS[rig].items():
        before, stood = hands.channels(screen), getattr(screen.scene.knuckle_posing, word)
        limits = hands.outside(screen)
        yield from slid(screen, places[word], 110)
        after, shows = hands.channels(screen), getattr(screen.scene.knuckle_posing, word)
        screen.move(20, screen.window.height - 20)
        yield 0.4
        screen.picture(f"posing_sliders_{rig}_{name}")
        further = max(degrees - limits[joint] for joint, degrees in hands.outside(screen).items())
        yield from hands.undone(screen)
        reported[name] = {
            "from": stood,
            "to": shows,
            "moved": [bone for armature, bone in sorted(after) if after[armature, bone] != before[armature, bone]],
            "further out of limits": further,
            "undone": hands.channels(screen) == before,
        }
    return reported


def at_once(screen: "Screen", places: Places, rig: str) -> "Steps":
    """Relax and Reset are clicked, and undone one after the other; then Select."""
    (x, y), across = places["bottom"], 120
    before = hands.channels(screen)
    reported: dict[str, Any] = {"at ease before": from_ease(screen)}
    yield from clicked(screen, x, y - ROW)
    yield from screen.wait_until(lambda: hands.channels(screen) != before)
    relaxed = hands.channels(screen)
    reported["at ease"] = from_ease(screen)
    yield from clicked(screen, x + across, y - ROW)
    yield from screen.wait_until(lambda: hands.channels(screen) != relaxed)
    bones = hands.known(hands.armature_of(screen)).hands["right"].bones
    posed = hands.armature_of(screen).pose.bones
    reported["turned after reset"] = [
        bone
        for joint, bone in bones.items()
        if joint != "wrist" and abs(np.array(posed[bone].matrix_basis) - np.eye(4)).max() > 1e-6
    ]
    screen.picture(f"posing_sliders_{rig}_reset")
    yield from hands.undone(screen)
    reported["reset undone"] = hands.channels(screen) == relaxed
    yield from hands.undone(screen)
    reported["relax undone"] = hands.channels(screen) == before
    yield from clicked(screen, x, y)
    yield from screen.wait_until(lambda: selected(screen))
    reported["selected"] = selected(screen)
    screen.picture(f"posing_sliders_{rig}_selected")
    return reported


def clicked(screen: "Screen", x: int, y: int) -> "Steps":
    screen.move(x - 5, y)
    yield 0.3
    screen.click(x, y)
    return {}


def from_ease(screen: "Screen") -> float:
    """Degrees, in the mean, by which the right hand's joints are from how a hand hangs at ease."""
    held = hands.held_hand(screen)
    angles = held.read().pose.angles[0]
    return float(np.degrees(np.abs(angles - held.hand.neutral).mean()))


def selected(screen: "Screen") -> list[str]:
    return sorted(bone.name for bone in hands.armature_of(screen).pose.bones if bone.select)


def escaped(screen: "Screen", place: tuple[int, int]) -> "Steps":
    """A drag that is left by Escape: how far any channel then is from where it was, and was while it was dragged."""
    before, (x, y) = hands.channels(screen), place
    screen.move(x - 5, y)
    yield 0.3
    meanwhile = 0.0
    for wait in screen.drag((x, y), (x + 40, y), escape=True):
        meanwhile = max(meanwhile, furthest(hands.channels(screen), before))
        yield wait
    yield 0.4
    return {"dragged": meanwhile, "left": furthest(hands.channels(screen), before)}


def escaped_with_keys(screen: "Screen", place: tuple[int, int]) -> "Steps":
    """A drag that is left by Escape with auto-keying on: what is keyed then, where nothing was and where something was
    on another frame and on this one.
    """
    reported: dict[str, Any] = {"before": animation(screen)}
    screen.scene.tool_settings.use_keyframe_insert_auto = True
    for name, frame in (("nothing keyed", None), ("keyed elsewhere", 5), ("keyed here", 1)):
        if frame is not None:
            screen.scene.frame_set(frame)
            for bone in hands.armature_of(screen).pose.bones[:9]:
                bone.keyframe_insert("rotation_quaternion", group="Mine")
            screen.scene.frame_set(1)
        before = animation(screen)
        there = yield from escaped(screen, place)
        reported[name] = {**there, "as before": animation(screen) == before, "left over": len(animation(screen))}
    screen.scene.tool_settings.use_keyframe_insert_auto = False
    return reported


def blenders_own(screen: "Screen") -> "Steps":
    """The same of a bone's rotation in the tab Item."""
    armature = hands.armature_of(screen)
    known_bone = hands.known(armature).hands["right"].bones["index-finger-phalanx-proximal"]
    for bone in armature.pose.bones:
        bone.select = bone.name == known_bone
    armature.data.bones.active = armature.data.bones[known_bone]
    # A field of Blender's own is keyed where it has keys already.
    bone = armature.pose.bones[known_bone]
    for channel in ("rotation_quaternion", "rotation_euler"):
        bone.keyframe_insert(channel, frame=5)
    screen.scene.frame_set(1)
    yield from screen.show_sidebar("Item")
    found = yield from field(screen, ".rotation_")
    screen.scene.tool_settings.use_keyframe_insert_auto = True
    before = animation(screen)
    reported: dict[str, Any] = {"left": (yield from escaped(screen, found)), "as before": animation(screen) == before}
    yield from slid(screen, found)
    yield 0.5
    reported["let go as before"] = animation(screen) == before
    screen.picture("posing_sliders_blenders_own")
    return reported


def animation(screen: "Screen") -> list[Any]:
    """All curves that are played, their groups and their keys; whether there is an action at all."""
    found: list[Any] = []
    for armature in hands.posed(screen):
        data = armature.animation_data
        if data is not None and data.action is not None:
            found.append((data.action.name, data.action_slot.identifier if data.action_slot else ""))
        for curve in hands.curves(armature):
            keys = [
                (*key.co, *key.handle_left, *key.handle_right, key.interpolation, key.type)
                for key in curve.keyframe_points
            ]
            found.append((curve.data_path, curve.array_index, curve.group.name if curve.group else "", keys))
    return found


def furthest(one: dict[str, Any], other: dict[str, Any]) -> float:
    """The largest difference of a channel."""
    values = (
        (a, b) for bone in one for x, y in zip(one[bone], other[bone], strict=True) for a, b in zip(x, y, strict=True)
    )
    return float(max(abs(a - b) for a, b in values))


def keyed(screen: "Screen", places: Places) -> "Steps":
    """A slider is dragged with auto-keying on: the bones that have keys then, and after one undo."""
    screen.scene.tool_settings.use_keyframe_insert_auto = True
    bpy.context.preferences.edit.use_keyframe_insert_available = False
    bpy.ops.ed.undo_push()
    before = hands.channels(screen)
    yield from slid(screen, places["curl_index"])
    reported: dict[str, Any] = {"keyed": sorted(hands.keyed(screen))}
    yield from hands.undone(screen)
    screen.scene.tool_settings.use_keyframe_insert_auto = False
    return reported | {"undone": hands.channels(screen) == before, "left": sorted(hands.keyed(screen))}


def mirrored(screen: "Screen", places: Places) -> "Steps":
    """A fist on the right, brought to the left by the panel's menu."""
    yield from slid(screen, places["curl"])
    below = places["bottom"][0] + 120, places["bottom"][1]
    screen.move(below[0] - 5, below[1])
    yield 0.5
    screen.click(*below)
    yield 1.0
    screen.picture("posing_sliders_menu")
    before = hands.channels(screen)
    screen.key("r")  # Right to Left
    yield from screen.wait_until(lambda: hands.channels(screen) != before)
    posing = screen.scene.knuckle_posing
    right = posing.curl
    posing.side = "left"
    yield 0.2
    return {"right": right, "left": posing.curl}


def sliders(screen: "Screen") -> "Steps":
    """Slider -> where it is on the screen, and where the last row of buttons is: Blender copies what it is called."""
    region = screen.region(screen.area(), "UI")
    places: dict[str, tuple[int, int]] = {}
    top = screen.window.height - region.y - region.height
    x = region.x + round(0.36 * region.width)
    for y in range(top + 4, top + 340, 10):
        path = yield from screen.copied(x, y, "ctrl+shift+alt+c")
        found = path.partition("knuckle_posing.")[2]
        if found:
            places.setdefault(found, (x, y + 5))
            places["bottom"] = (x, y)
    lock = places["dip_lock"]
    places["bottom"] = (lock[0], lock[1] + 44)
    spread = places["curl"][0] + round(0.38 * region.width), places["curl"][1]
    return places | {"spread": spread}


def slid(screen: "Screen", place: tuple[int, int], pixels: int = 60) -> "Steps":
    """A slider is dragged to the right."""
    before = hands.channels(screen)
    screen.move(place[0] - 5, place[1])
    yield 0.2  # a slider that the mouse was over takes the drag
    yield from screen.drag(place, (place[0] + pixels, place[1]))
    yield from screen.wait_until(lambda: hands.channels(screen) != before)
    last: Any = None
    while last != hands.channels(screen):  # a busy machine is late
        last = hands.channels(screen)
        yield 0.3
    return {}


def field(screen: "Screen", path: str) -> Generator[float, None, tuple[int, int]]:
    """Where the sidebar's first field of a property is."""
    region = screen.region(screen.area(), "UI")
    top, x = screen.window.height - region.y - region.height, region.x + round(0.6 * region.width)
    for y in range(top + 4, top + 340, 10):
        if path in (yield from screen.copied(x, y, "ctrl+shift+alt+c")):
            return (x, y + 4)
    raise LookupError(f"the sidebar has no {path}")


def look(screen: "Screen", wrist: str) -> "Steps":
    """The view is turned to a hand, from the palm's side and a little from the fingertips."""
    bpy.context.view_layer.update()
    view, own = screen.area().spaces.active.region_3d, hands.armature_of(screen)
    bone = own.pose.bones[wrist]
    hand = [own.matrix_world @ point for one in bone.children_recursive for point in (one.head, one.tail)]
    middle = sum(hand[1:], hand[0]) / len(hand)
    view.view_perspective = "PERSP"
    turn = Euler((2.5, 0.0, 0.0)) if wrist == "wrist" else Euler((1.9, 0.0, 0.7))
    view.view_rotation = turn.to_quaternion()
    view.view_distance = 3.4 * max((place - middle).length for place in hand)
    # Left of the sidebar.
    view.view_location = middle + view.view_rotation @ Vector((0.17 * view.view_distance, 0.0, 0.0))
    screen.area().spaces.active.clip_start = 1e-4
    view.update()
    for _ in range(2):
        screen.area().tag_redraw()
        yield 0.3
    return {}
