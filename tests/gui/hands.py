"""What scenarios that pose hands have in common: rigs opened, points of their hands found, dragged, measured."""

import importlib
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bpy
import numpy as np
from bpy_extras.view3d_utils import location_3d_to_region_2d
from mathutils import Matrix, Vector

if TYPE_CHECKING:
    from knuckle.tests.gui.driver import Screen, Steps

RIGS = Path("/tmp/out/rigs")
CHANNELS = ("location", "rotation_quaternion", "rotation_euler", "rotation_axis_angle", "scale")
SEEN_FROM = {
    "thumb": (-0.9, 0.1, -0.4),
    "front": (-0.25, 0.6, -0.8),
    "back": (-0.3, 0.75, 0.6),
    "side": (-1.0, 0.0, 0.0),
    "top": (0.0, 0.0, 1.0),
}
"""Where the eye is, in the axes of a right hand's wrist."""


def opened(screen: "Screen", name: str, sides: tuple[str, ...] = ("right",)) -> "Steps":
    """A rig in Pose Mode with the tool, its hands somewhat bent; Knuckle's own hands are an armature each."""
    if name == "own":
        bpy.ops.wm.read_homefile(use_empty=True, load_ui=False)
        yield 0.5
        for place, side in enumerate(reversed(sides)):
            with screen.in_view():
                bpy.ops.knuckle.add_hand(side=side, location=(-0.3 * place, 0.0, 0.0))
    else:
        bpy.ops.wm.open_mainfile(filepath=str(RIGS / f"{name}.blend"), load_ui=False, use_scripts=True)
        yield 0.5
    armatures = [obj for obj in screen.scene.objects if obj.type == "ARMATURE"]
    for armature in armatures:
        screen.window.view_layer.objects.active = armature
        armature.select_set(True)
    with screen.in_view():
        bpy.ops.object.mode_set(mode="POSE")
        bpy.ops.wm.tool_set_by_id(name="knuckle.hand_tool")
    bpy.context.preferences.edit.use_keyframe_insert_available = False
    for side in sides:
        bend(screen, side)
    with screen.in_view():
        bpy.ops.ed.undo_push(message="Bent")
    return {}


def ours(module: str) -> Any:
    return importlib.import_module(f"bl_ext.user_default.knuckle.{module}")


def posed(screen: "Screen") -> list[Any]:
    """The armatures in Pose Mode, asked for every time: an undo replaces them."""
    return [obj for obj in screen.window.view_layer.objects if obj.type == "ARMATURE" and obj.mode == "POSE"]


def known(armature: Any) -> Any:
    return ours("rig.detection_cache").detect(armature)


def armature_of(screen: "Screen", side: str = "right") -> Any:
    """The armature in Pose Mode that has a hand of a side."""
    return next(armature for armature in posed(screen) if side in known(armature).hands)


def held_hand(screen: "Screen", side: str = "right") -> Any:
    screen.window.view_layer.update()
    return ours("rig.posing.posable_cache").posable_hand(armature_of(screen, side), side)


def bend(screen: "Screen", side: str = "right") -> None:
    """A hand at ease."""
    held = held_hand(screen, side)
    stands = held.read()
    pose = ours("hand.kinematics").Pose(held.hand, stands.pose.root, held.hand.neutral[None])
    held.write(ours("rig.posing.rig_hand").HandState(pose, stands.beyond))
    screen.window.view_layer.update()


def frame(screen: "Screen", joint: str, side: str = "right") -> Any:
    """(4, 4) in the world."""
    index = ours("hand.joints").JOINT_INDEX[joint]
    return held_hand(screen, side).evaluated_frames()[index]


def place(screen: "Screen", joint: str, side: str = "right") -> Any:
    """(3,) m in the world."""
    return frame(screen, joint, side)[:3, 3]


def apart(one: Any, other: Any) -> float:
    """mm"""
    return 1000 * float(np.linalg.norm(one - other))


def spot(screen: "Screen", joint: str, side: str = "right") -> tuple[int, int]:
    """Where a point is taken hold of on the screen."""
    armature = armature_of(screen, side)
    return on_screen(screen, ours("rig.posing.handles").grab_points(armature, known(armature).bindings[side])[joint])


def on_screen(screen: "Screen", point: Any) -> tuple[int, int]:
    area = screen.area()
    region = screen.region(area)
    found = location_3d_to_region_2d(region, area.spaces.active.region_3d, Vector(point))
    return round(region.x + found.x), round(screen.window.height - region.y - found.y)


def look(screen: "Screen", eye: str = "thumb", side: str = "right") -> "Steps":
    """The view turned to a hand, which fills it."""
    view = screen.area().spaces.active.region_3d
    axes = frame(screen, "wrist", side)[:3, :3]
    across = 1.0 if side == "right" else -1.0
    back = Vector(axes @ (np.array(SEEN_FROM[eye]) * (across, 1.0, 1.0))).normalized()
    right = Vector(axes[:, 1]).cross(back).normalized()
    turned: Any = (right, back.cross(right), back)
    view.view_rotation = Matrix(turned).transposed().to_quaternion()
    knuckle, wrist = place(screen, "middle-finger-phalanx-proximal", side), place(screen, "wrist", side)
    view.view_location = Vector(0.35 * wrist + 0.65 * knuckle + 0.3 * (knuckle - wrist))
    view.view_distance = 4.2 * float(np.linalg.norm(knuckle - wrist))
    view.view_perspective = "ORTHO"
    view.update()
    screen.area().tag_redraw()
    yield 0.3
    return {}


def drag(
    screen: "Screen",
    joint: str,
    way: tuple[int, int],
    held: str = "",
    side: str = "right",
    *,
    left: bool = False,
    during: str = "",
    meanwhile: Callable[[], None] | None = None,
) -> "Steps":
    """A point is dragged so many pixels, with a key held; left: by Esc. In pixels, the way and how far off it ends.

    during: another key, which is held once the drag has begun. meanwhile: called before the button is let go.
    """
    x, y = spot(screen, joint, side)
    before = channels(screen)
    screen.move(x, y)
    yield 0.2
    with ExitStack() as keys:
        keys.enter_context(holding(held))
        subprocess.run(["xdotool", "mousedown", "1"], check=True)
        yield 0.05
        for part in (0.25, 0.6, 1.0):  # a jump is not a drag
            screen.move(round(x + part * way[0]), round(y + part * way[1]))
            yield 0.03
            if part == 0.25 and during:
                yield from screen.wait_until(lambda: screen.window.modal_operators)
                keys.enter_context(holding(during))
        # A busy machine is late.
        yield from screen.wait_until(lambda: channels(screen) != before)
        if meanwhile:
            yield 0.3  # until the last step is drawn
            meanwhile()
        if left:
            screen.key("Escape")
            yield from screen.wait_until(lambda: not screen.window.modal_operators)
        subprocess.run(["xdotool", "mouseup", "1"], check=True)
        yield from screen.wait_until(lambda: not screen.window.modal_operators)
    yield 0.05
    end = spot(screen, joint, side)
    went = end[0] - x, end[1] - y
    off = float(np.hypot(went[0] - way[0], went[1] - way[1]))
    return {"pixels off": off, "way": float(np.hypot(*way)), "went": went}


@contextmanager
def holding(key: str) -> Iterator[None]:
    """A key is held meanwhile, if any."""
    if key:
        subprocess.run(["xdotool", "keydown", key], check=True)
    yield
    if key:
        subprocess.run(["xdotool", "keyup", key], check=True)


def pinned(screen: "Screen", joint: str, side: str = "right") -> "Steps":
    """P over a fingertip."""
    before = len(pins(screen))
    screen.move(*spot(screen, joint, side))
    yield 0.2
    screen.key("p")
    yield from screen.wait_until(lambda: len(pins(screen)) > before)
    return {}


def ball_under(screen: "Screen", joint: str) -> "Steps":
    """A ball of 2 cm under a fingertip of the right hand, which goes on in Pose Mode, seen from the hand's back; and
    how far the mouse has to go from the tip to the top of the ball."""
    yield from look(screen, "back")
    tip, axes = place(screen, joint), frame(screen, "wrist")[:3, :3]
    armatures, active = posed(screen), armature_of(screen)
    with screen.in_view():
        bpy.ops.object.mode_set(mode="OBJECT")
        bpy.ops.mesh.primitive_uv_sphere_add(radius=0.02, location=tip + axes @ np.array([0.0, 0.0, -0.028]))
        ball = screen.window.view_layer.objects.active
        for armature in armatures:
            armature.select_set(True)
        screen.window.view_layer.objects.active = active
        bpy.ops.object.mode_set(mode="POSE")
        bpy.ops.wm.tool_set_by_id(name="knuckle.hand_tool")
        bpy.ops.ed.undo_push(message="Ball")
    yield 0.5
    at, top = spot(screen, joint), on_screen(screen, tip + axes @ np.array([0.0, 0.0, -0.008]))
    return {"ball": ball, "onto": (top[0] - at[0], top[1] - at[1])}


def gap(screen: "Screen", ball: Any) -> float:
    """mm between the skin of the active armature, by its vertices, and a ball of 2 cm; below 0 where it is inside."""
    bpy.context.view_layer.update()
    graph, gaps = bpy.context.evaluated_depsgraph_get(), []
    for skin in ours("rig.posing.rig_skin").skins(armature_of(screen)):
        seen = skin.evaluated_get(graph)
        gaps += [(seen.matrix_world @ vertex.co - ball.location).length - 0.02 for vertex in seen.data.vertices]
    return 1000 * float(min(gaps))


def undone(screen: "Screen", key: str = "ctrl+z") -> "Steps":
    """One undo."""
    before = channels(screen), pins(screen)
    screen.move(*screen.view_middle())
    yield 0.05
    screen.key(key)
    yield from screen.wait_until(lambda: (channels(screen), pins(screen)) != before)
    return {}


def channels(screen: "Screen") -> dict[tuple[str, str], list[list[float]]]:
    """Armature and bone -> every channel, of all that are posed."""
    return {
        (armature.name, bone.name): [list(getattr(bone, name)) for name in CHANNELS]
        for armature in posed(screen)
        for bone in armature.pose.bones
    }


def pins(screen: "Screen") -> list[tuple[str, str, str, list[float]]]:
    """Every pin."""
    there = [pin for armature in posed(screen) for pin in armature.knuckle_pins]
    return [(pin.side, pin.digit, pin.kind, list(pin.place)) for pin in there]


def outside(screen: "Screen", side: str = "right") -> dict[str, float]:
    """Joint -> degrees by which its bone, as it is seen, is turned otherwise than within a hand's limits."""
    held = held_hand(screen, side)
    beyond = held.read().beyond
    names = held.hand.joints
    return {
        names[joint]: 2 * float(np.degrees(np.arctan2(np.linalg.norm(q[1:]), abs(q[0]))))
        for joint, (_, q) in beyond.items()
    }


def curves(armature: Any) -> Iterator[Any]:
    """The curves that an armature plays."""
    animation = armature.animation_data
    action = animation.action if animation else None
    for layer in action.layers if action else ():
        for strip in layer.strips:
            for bag in strip.channelbags:
                yield from bag.fcurves


def keyed(screen: "Screen") -> dict[str, list[str]]:
    """Bone -> the channels that have curves in what the armatures play."""
    found: dict[str, set[str]] = {}
    for armature in posed(screen):
        for curve in curves(armature):
            _, bone, channel = curve.data_path.split('"')
            found.setdefault(bone, set()).add(channel.removeprefix("]."))
    return {bone: sorted(channels) for bone, channels in sorted(found.items())}
