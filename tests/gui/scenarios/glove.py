"""A glove's FBX, a Rigify body with animated hands, is dropped on MakeHuman's scene, chosen as a capture and solved.

Then the same FBX is imported by Blender, and its armature is captured by the panel's button.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import addon_utils
import bpy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knuckle.tests.gui.driver import Screen, Steps

RIGS = Path("/tmp/out/rigs")
GLOVE = Path("/tmp/out/glove.fbx")


def write_glove(screen: "Screen") -> "Iterator[float]":
    """Solve a recording onto a Rigify rig and export it as a glove's program would: bones along X, no tips."""
    bpy.ops.wm.open_mainfile(filepath=str(RIGS / "rigify.blend"), load_ui=False, use_scripts=True)
    yield 1.0
    body = next(obj for obj in screen.scene.objects if obj.type == "ARMATURE")
    chosen = screen.scene.knuckle
    with screen.in_view():
        bpy.ops.knuckle.import_capture(filepath=str(screen.repository / "data" / "leap_finger_tap.json"))
        chosen.rig, chosen.armature = "ARMATURE", body
        bpy.ops.knuckle.solve()
    screen.scene.frame_end = round(body.animation_data.action.frame_range[1])
    addon_utils.enable("io_scene_fbx")
    for obj in screen.scene.objects:
        obj.select_set(obj == body)
    bpy.context.view_layer.objects.active = body
    with screen.in_view():
        bpy.ops.export_scene.fbx(
            filepath=str(GLOVE),
            use_selection=True,
            object_types={"ARMATURE"},
            add_leaf_bones=False,
            primary_bone_axis="X",
            secondary_bone_axis="Y",
        )
    yield 0.5


def blocks() -> dict[str, list[str]]:
    """The names of all data of the open file."""
    kinds = [kind.identifier for kind in bpy.data.bl_rna.properties if kind.type == "COLLECTION"]
    aside = {"all_ids", "screens", "window_managers", "workspaces", "brushes"}
    return {kind: sorted(block.name for block in getattr(bpy.data, kind)) for kind in kinds if kind not in aside}


def drop_and_choose(screen: "Screen") -> "Iterator[float]":
    """Drop the glove's file on the view; of the importers that Blender then offers, choose ours by its letter."""
    yield from screen.drop(GLOVE, *screen.view_middle())
    yield 1.0
    screen.picture("glove_drop")
    screen.key("h")
    yield 0.3
    yield from screen.wait_until(lambda: screen.scene.knuckle.markers and not status().running, 120)
    yield 1.0


def solve(screen: "Screen", rig_name: str) -> "Iterator[float]":
    """Solve onto the character, and picture its hand on three frames."""
    chosen = screen.scene.knuckle
    chosen.rig, chosen.armature = "ARMATURE", bpy.data.objects[rig_name]
    with screen.in_view():
        bpy.ops.knuckle.solve("INVOKE_DEFAULT")
    yield from screen.wait_until(lambda: screen.scene.knuckle.result and not status().running, 120)
    yield 1.0
    screen.area().spaces.active.overlay.show_overlays = False
    for number, frame in enumerate((1, 20, 40)):
        screen.scene.frame_set(frame)
        show_hand(screen, bpy.data.objects[rig_name], "wrist.R")
        yield 1.0
        screen.picture(f"glove_solved_{number}")
    screen.area().spaces.active.overlay.show_overlays = True


def show_hand(screen: "Screen", armature: bpy.types.Object, bone: str) -> None:
    """Turn the view to a hand."""
    area = screen.area()
    view = area.spaces.active.region_3d
    view.view_location = armature.matrix_world @ armature.pose.bones[bone].tail
    view.view_distance = 0.75
    area.tag_redraw()


def capture_armature(screen: "Screen") -> "Iterator[float]":
    """Import the file as Blender does, and press the button beside the field of the source armature."""
    with screen.in_view():
        bpy.ops.wm.fbx_import(filepath=str(GLOVE))
    yield 0.5
    screen.scene.frame_set(17)
    place = yield from screen.button("knuckle.capture_armature", across=0.83)
    screen.click(*place)
    yield from screen.wait_until(
        lambda: screen.scene.knuckle.capture.startswith("armature:") and not status().running, 120
    )
    yield 1.0
    screen.picture("glove_armature")


def status() -> "bpy.types.PropertyGroup":
    """Whether a job is running."""
    found: bpy.types.PropertyGroup = bpy.context.window_manager.knuckle
    return found


def play(screen: "Screen") -> "Steps":
    yield from write_glove(screen)
    bpy.ops.wm.open_mainfile(filepath=str(RIGS / "makehuman.blend"), load_ui=False)
    yield 1.0
    rig_name = next(obj.name for obj in screen.scene.objects if obj.type == "ARMATURE")
    yield from screen.show_sidebar("Knuckle")
    before = blocks()
    yield from drop_and_choose(screen)
    made = {kind: sorted(set(names) - set(before[kind])) for kind, names in blocks().items()}
    about = dict(screen.scene.knuckle.markers["knuckle_capture"])
    screen.frame_selected()
    yield 1.0
    screen.picture("glove_markers")
    yield from solve(screen, rig_name)
    yield from capture_armature(screen)
    return {
        "made": {kind: names for kind, names in made.items() if names},
        "about": {name: about[name] for name in ("format", "frames", "rate", "hands", "problem")},
        "capture": screen.scene.knuckle.capture,
        "body": bpy.context.scene.knuckle.source.name,
        "frame": screen.scene.frame_current,
        "scenes": bpy.data.scenes.keys(),
    }
