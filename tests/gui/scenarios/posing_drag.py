"""Hands of three rigs are dragged by the mouse: a fingertip, a joint, a knuckle, the palm, of both sides; with
auto-keying off, on and by a keying set; with fine steps; fingertips pinned to the world, to a surface and to each
other. Each is undone by one step.
"""

import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import bpy
from mathutils import Vector

if TYPE_CHECKING:
    from knuckle.tests.gui.driver import Screen, Steps

hands = SimpleNamespace(**runpy.run_path(str(Path(__file__).parents[1] / "hands.py")))
INDEX, MIDDLE, RING = "index-finger-tip", "middle-finger-tip", "ring-finger-tip"
KNUCKLE, JOINT = "middle-finger-phalanx-proximal", "middle-finger-phalanx-intermediate"


def play(screen: "Screen") -> "Steps":
    yield from screen.resize(1000, 720)
    reported: dict[str, Any] = {}
    for name in ("own", "makehuman", "rigify"):
        yield from hands.opened(screen, name, sides=("left", "right"))
        yield from hands.look(screen)
        rig = reported[name] = {"built": hands.outside(screen), "built left": hands.outside(screen, "left")}
        before = hands.channels(screen)
        screen.picture(f"drag_{name}_before")
        rig |= yield from fingertip(screen, name)
        rig |= yield from keyed(screen)
        for joint in (KNUCKLE, JOINT):
            rig[joint] = yield from hands.drag(screen, joint, (20, 40))
            yield from hands.undone(screen)
        rig["palm"] = yield from palm_under_pins(screen, name)
        rig["pinch"] = yield from pinned_to_each_other(screen, name)
        rig["left hand"] = yield from left_hand(screen, name)
        rig["all undone"] = hands.channels(screen) == before
    yield from hands.opened(screen, "own")
    yield from hands.look(screen)
    reported["surface"] = yield from on_surface(screen)
    return reported


def fingertip(screen: "Screen", name: str) -> "Steps":
    """Dragged, finely by Shift, and left by Esc."""
    before = hands.channels(screen)
    reported: dict[str, Any] = {"tip": (yield from hands.drag(screen, INDEX, (32, 48)))}
    screen.picture(f"drag_{name}_tip")
    reported["limits"] = hands.outside(screen)
    yield from hands.undone(screen)
    reported["undone"] = hands.channels(screen) == before
    reported["unkeyed"] = hands.keyed(screen)
    reported["fine"] = yield from hands.drag(screen, INDEX, (150, 200), held="shift")
    yield from hands.undone(screen)
    yield from hands.drag(screen, INDEX, (40, 48), left=True)
    reported["left as before"] = hands.channels(screen) == before
    return reported


def keyed(screen: "Screen") -> "Steps":
    """With auto-keying, and with a keying set; what moved and what was keyed."""
    before, scene = hands.channels(screen), screen.scene
    reported: dict[str, Any] = {"undone with keys": True}
    scene.tool_settings.use_keyframe_insert_auto = True
    for name in ("", "Location"):
        tools = screen.scene.tool_settings
        tools.use_keyframe_insert_keyingset = bool(name)
        if name:
            screen.scene.keying_sets_all.active = screen.scene.keying_sets_all[name]
        yield from hands.drag(screen, INDEX, (30, 50))
        after = hands.channels(screen)
        reported[f"moved {name}".strip()] = sorted(bone for _, bone in moved(before, after))
        reported[f"keyed {name}".strip()] = hands.keyed(screen)
        yield from hands.undone(screen)
        reported["undone with keys"] &= hands.channels(screen) == before and not hands.keyed(screen)
    tools = screen.scene.tool_settings
    tools.use_keyframe_insert_auto = tools.use_keyframe_insert_keyingset = False
    return reported


def moved(before: dict[Any, Any], after: dict[Any, Any]) -> list[Any]:
    """What is no more as it was."""
    return [name for name in after if after[name] != before[name]]


def palm_under_pins(screen: "Screen", name: str, side: str = "right") -> "Steps":
    """Thumb and index finger pinned to the world, then the palm is dragged."""
    before, tips = hands.channels(screen), ("thumb-tip", INDEX)
    for joint in tips:
        yield from hands.pinned(screen, joint, side)
    there = [hands.place(screen, joint, side) for joint in tips]
    wrist = hands.place(screen, "wrist", side)
    reported: dict[str, Any] = {"pins": [pin[:3] for pin in hands.pins(screen)]}
    yield from hands.drag(screen, "wrist", (-14, -22) if side == "right" else (14, -22), side=side)
    reported["went"] = hands.apart(hands.place(screen, "wrist", side), wrist)
    reported["held"] = max(
        hands.apart(hands.place(screen, *where), at) for *where, at in zip(tips, [side] * 2, there, strict=True)
    )
    reported["limits"] = hands.outside(screen, side)
    yield from hands.look(screen, "front", side)
    screen.picture(f"drag_{name}_{side}_palm")
    yield from hands.look(screen, "thumb", side)
    for _ in range(3):
        yield from hands.undone(screen)
    reported["undone"] = hands.channels(screen) == before and hands.pins(screen) == []
    return reported


def pinned_to_each_other(screen: "Screen", name: str) -> "Steps":
    """The ring fingertip is brought to the middle one and pinned to it; then that is dragged, and the palm."""
    before = hands.channels(screen)
    ring, middle = hands.spot(screen, RING), hands.spot(screen, MIDDLE)
    yield from hands.drag(screen, RING, (round(0.8 * (middle[0] - ring[0])), round(0.8 * (middle[1] - ring[1]))))
    side = {"side": "right", "armature": hands.armature_of(screen).name}
    with screen.in_view():
        bpy.ops.knuckle.pin_fingertip(**side, digit="ring-finger", to="middle-finger")
        bpy.ops.ed.undo_push(message="Pin Fingertip")  # which Blender does for what a person starts
    reported: dict[str, Any] = {"pins": [pin[:3] for pin in hands.pins(screen)], "held": [], "went": [], "limits": []}
    for joint, way in ((MIDDLE, (25, 35)), (RING, (-15, -20)), ("wrist", (-14, -22))):
        at, between = hands.place(screen, joint), from_wrist(screen)
        yield from hands.drag(screen, joint, way)
        reported["went"].append(hands.apart(hands.place(screen, joint), at))
        reported["held"].append(hands.apart(from_wrist(screen), between))
        reported["limits"].append(hands.outside(screen))
        screen.picture(f"drag_{name}_pinch_{joint.split('-')[0]}")
    for _ in range(5):
        yield from hands.undone(screen)
    reported["undone"] = hands.channels(screen) == before and hands.pins(screen) == []
    return reported


def from_wrist(screen: "Screen") -> Any:
    """(3,) m from the middle fingertip to the ring one, in the axes of the wrist."""
    way = hands.place(screen, RING) - hands.place(screen, MIDDLE)
    return way @ hands.frame(screen, "wrist")[:3, :3]


def left_hand(screen: "Screen", name: str) -> "Steps":
    """The other hand: a fingertip, and the palm under pins."""
    yield from hands.look(screen, "thumb", "left")
    before = hands.channels(screen)
    reported: dict[str, Any] = {"tip": (yield from hands.drag(screen, INDEX, (-32, 48), side="left"))}
    screen.picture(f"drag_{name}_left")
    reported["limits"] = hands.outside(screen, "left")
    yield from hands.undone(screen)
    reported["undone"] = hands.channels(screen) == before
    reported["palm"] = yield from palm_under_pins(screen, name, "left")
    yield from hands.look(screen)
    return reported


def on_surface(screen: "Screen") -> "Steps":
    """A ball under the index finger: the tip is dragged onto it with Ctrl, pinned to it by P, and goes along."""
    reported: dict[str, Any] = {}
    made = yield from hands.ball_under(screen, INDEX)
    ball = made["ball"]
    yield from hands.drag(screen, INDEX, made["onto"], held="ctrl")
    tip = hands.place(screen, INDEX)
    reported["gap"] = hands.gap(screen, ball)
    yield from hands.pinned(screen, INDEX)
    reported["pins"] = [pin[:3] for pin in hands.pins(screen)]
    screen.picture("drag_own_surface")
    ball.location += Vector((0.0, -0.004, 0.003))
    bpy.context.view_layer.update()
    with screen.in_view():
        bpy.ops.knuckle.reach_pins("INVOKE_DEFAULT")
    reported["went along"] = hands.apart(hands.place(screen, INDEX), tip + [0.0, -0.004, 0.003])
    return reported
