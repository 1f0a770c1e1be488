"""Right hands of a body and of a Rigify rig take hold of a mug, a pen and a ball by the panel's button, each is undone;
then the body's is keyed, and what Rigify's holds is attached, carried and let go of."""

import runpy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bpy
import numpy as np
from mathutils import Euler, Vector

if TYPE_CHECKING:
    from knuckle.tests.gui.driver import Screen, Steps

RIGS = Path("/tmp/out/rigs")
THINGS = ("Mug", "Pen", "Ball")
HAND = 0.96
"""How large its hand is beside an adult's."""
ROW = 26
"""Pixels between buttons of the panel."""


def play(screen: "Screen") -> "Steps":
    yield from screen.resize(1200, 800)
    bpy.ops.wm.open_mainfile(filepath=str(RIGS / "makehuman.blend"), load_ui=False)
    yield 1.0
    screen.open_panels("KNUCKLE_PT_grasp")
    made = runpy.run_path(str(screen.repository / "tests" / "blender" / "things.py"))
    for name in THINGS:
        thing = made[name.lower()]()
        thing.location, thing.scale = before_body(screen), (HAND, HAND, HAND)
        thing.hide_set(True)
    bpy.context.view_layer.objects.active = rig(screen)
    bpy.ops.ed.undo_push()
    yield from screen.fill_window()
    yield from screen.show_sidebar("Knuckle Pose")
    look(screen, before_body(screen))
    yield 1.0
    screen.picture("grasp_nothing_chosen")
    reported = yield from each_held(screen, made)
    reported["keyed"] = yield from keyed(screen, made)
    return reported | {"rigify": (yield from rigify(screen, made))}


def rigify(screen: "Screen", made: dict[str, Any]) -> "Steps":
    """The same by a generated rig whose arm is in IK, with the things before it in the file."""
    bpy.ops.wm.open_mainfile(filepath=str(RIGS / "rigify_skin.blend"), load_ui=False, use_scripts=True)
    yield 1.0
    bpy.context.view_layer.objects.active = rig(screen)
    bpy.ops.ed.undo_push()
    screen.area().spaces.active.overlay.show_bones = False
    look(screen, screen.scene.objects["Ball"].location)
    yield 1.0
    reported = yield from each_held(screen, made, "rigify_")
    return reported | {"attached": (yield from attached(screen))}


def each_held(screen: "Screen", made: dict[str, Any], kind: str = "") -> "Steps":
    """Thing -> how it was held; each is undone."""
    before = channels(screen)
    reported: dict[str, Any] = {}
    for name in THINGS:
        show_only(screen, name)
        screen.scene.knuckle_grasp.target = screen.scene.objects[name]
        bpy.ops.ed.undo_push()
        yield 0.7
        place = yield from screen.button("knuckle.grasp")
        screen.click(*place)
        yield from screen.wait_until(lambda: channels(screen) != before, 120.0)
        yield 0.7
        screen.picture(f"grasp_{kind}{name.lower()}")
        reported[name] = {"deep": deepest(screen, name, made), "near": nearest(screen, name, made)}
        screen.move(*screen.view_middle())
        yield 0.5
        screen.key("ctrl+z")
        yield from screen.wait_until(lambda: channels(screen) == before)
        moves = rig(screen).animation_data  # Rigify's has drivers from the beginning
        reported[name]["action"] = moves is not None and moves.action is not None
    return reported


def attached(screen: "Screen") -> "Steps":
    """The ball attached, carried to another place and let go of: how far it went with the hand, and then without."""
    x, y = yield from screen.button("knuckle.grasp")
    yield from press(screen, x, y - ROW)
    yield from screen.wait_until(lambda: screen.scene.knuckle_grasp.attached)
    yield from press(screen, x, y)
    yield from screen.wait_until(lambda: ball(screen).constraints, 120.0)
    yield 0.7
    here = place_of_ball(screen)
    move_hand(screen, 0.1)
    yield 0.7
    there = place_of_ball(screen)
    screen.picture("grasp_rigify_carried")
    yield from press(screen, x, y + ROW)
    yield from screen.wait_until(lambda: not ball(screen).constraints)
    move_hand(screen, -0.1)
    yield 0.7
    screen.picture("grasp_rigify_let_go")
    return {"carried": (there - here).length, "off": (place_of_ball(screen) - there).length}


def press(screen: "Screen", x: int, y: int) -> "Steps":
    """A button beside the one that the mouse is over: Blender lets go of that one before a press counts here."""
    screen.move(*screen.view_middle())
    yield 0.3
    screen.move(x, y)
    yield 0.3
    screen.click(x, y)
    return {}


def move_hand(screen: "Screen", way: float) -> None:
    """m, along two axes of the control that the arm in IK goes after."""
    location = rig(screen).pose.bones["hand_ik.R"].location
    location.x, location.z = location.x + way, location.z + way
    bpy.ops.ed.undo_push()


def ball(screen: "Screen") -> bpy.types.Object:
    """Asked for every time, since an undo replaces it."""
    return screen.scene.objects["Ball"]


def place_of_ball(screen: "Screen") -> Vector:
    """(3,) m, as evaluated."""
    bpy.context.view_layer.update()
    return ball(screen).evaluated_get(bpy.context.evaluated_depsgraph_get()).matrix_world.translation.copy()


def keyed(screen: "Screen", made: dict[str, Any]) -> "Steps":
    """The ball with its approach keyed: how deep the skin is on the last frame, and how it stands on the first."""
    show_only(screen, "Ball")
    chosen = screen.scene.knuckle_grasp
    chosen.target, chosen.keyed, chosen.start, chosen.length = screen.scene.objects["Ball"], True, 1, 30
    before = channels(screen)
    yield 0.7
    place = yield from screen.button("knuckle.grasp")
    screen.click(*place)
    yield from screen.wait_until(lambda: rig(screen).animation_data and rig(screen).animation_data.action, 120.0)
    yield 0.7
    screen.scene.frame_set(1)
    off = float(np.abs(np.array(channels(screen)) - np.array(before)).max())
    screen.scene.frame_set(20)
    yield 0.5
    screen.picture("grasp_approach")
    screen.scene.frame_set(31)
    yield 0.5
    screen.picture("grasp_keyed")
    return {"off": off, "deep": deepest(screen, "Ball", made), "near": nearest(screen, "Ball", made)}


def body(screen: "Screen") -> bpy.types.Object:
    """What the armature carries."""
    return next(obj for obj in screen.scene.objects if obj.type == "MESH" and obj.name not in THINGS and obj.modifiers)


def deepest(screen: "Screen", name: str, made: dict[str, Any]) -> float:
    """m, of the skin in a thing, by every triangle in turn."""
    bpy.context.view_layer.update()
    skin, _ = made["evaluated"](body(screen))
    return float(made["depths"](skin, screen.scene.objects[name]).max())


def nearest(screen: "Screen", name: str, made: dict[str, Any]) -> float:
    """m, between the skin and the surface of a thing."""
    skin, _ = made["evaluated"](body(screen))
    vertices, triangles = made["evaluated"](screen.scene.objects[name])
    near = skin[np.linalg.norm(skin - vertices.mean(axis=0), axis=1) < 0.12]
    return float(min(made["_to_triangles"](point, vertices[triangles]).min() for point in near))


def show_only(screen: "Screen", name: str) -> None:
    for other in THINGS:
        screen.scene.objects[other].hide_set(other != name)


def rig(screen: "Screen") -> bpy.types.Object:
    """Asked for every time, since an undo replaces it."""
    return next(obj for obj in screen.scene.objects if obj.type == "ARMATURE")


def channels(screen: "Screen") -> list[list[float]]:
    """How every bone stands."""
    return [[value for row in bone.matrix_basis for value in row] for bone in rig(screen).pose.bones]


def before_body(screen: "Screen") -> Vector:
    """Where a person has a thing that it looks at."""
    armature = rig(screen)
    shoulder, elbow, wrist = (
        armature.matrix_world @ armature.data.bones[name].head_local
        for name in ("upperarm01.R", "lowerarm01.R", "wrist.R")
    )
    reach = (elbow - shoulder).length + (wrist - elbow).length
    return shoulder + reach * Vector((-0.1, -0.62, -0.35))


def look(screen: "Screen", place: Vector) -> None:
    """The view is turned to what is held, left of the sidebar."""
    view = screen.area().spaces.active.region_3d
    view.view_perspective, view.view_rotation = "PERSP", Euler((1.35, 0.0, -0.5)).to_quaternion()
    view.view_distance, view.view_location = 0.7, place + Vector((0.1, 0.0, 0.03))
    screen.area().spaces.active.clip_start = 1e-3
