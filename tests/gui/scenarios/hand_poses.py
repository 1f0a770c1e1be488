"""A rig's poses are added to the asset shelf and shown; one is clicked, one blended by dragging, each undone."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import bpy
from mathutils import Matrix

if TYPE_CHECKING:
    from knuckle.tests.gui.driver import Screen, Steps

RIG = Path("/tmp/out/rigs/makehuman.blend")
BONE = "finger2-1.R"
OPEN = ("KNUCKLE_PT_posing", "KNUCKLE_PT_hand_poses")


def play(screen: "Screen") -> "Steps":
    bpy.ops.wm.open_mainfile(filepath=str(RIG), load_ui=False)
    yield 1.0
    armature = next(obj for obj in screen.scene.objects if obj.type == "ARMATURE")
    bpy.context.view_layer.objects.active = armature
    armature.select_set(True)
    with screen.in_view():
        bpy.ops.object.mode_set(mode="POSE")
    select(armature)
    bpy.ops.ed.undo_push(message="Ready")
    fold()
    yield from screen.show_sidebar("Knuckle Pose")
    yield from look(screen)
    told: dict[str, Any] = {"at first": channels()}
    place = yield from screen.button("knuckle.add_hand_poses")
    screen.picture("hand_poses_panel")
    screen.click(*place)
    yield from screen.wait_until(lambda: len(bpy.data.actions) > 20, 60)
    told["assets"] = len([action for action in bpy.data.actions if action.asset_data])
    told["after adding"] = channels()
    screen.area().spaces.active.show_region_ui = False
    screen.area().spaces.active.show_region_asset_shelf = True
    yield 4.0  # the shelf looks for assets by itself
    screen.picture("hand_poses_shelf")
    told |= yield from clicked(screen)
    told |= yield from blended(screen)
    told |= yield from by_menu(screen)
    return told


def fold() -> None:
    """Opens the panels that are looked at, closes the others; a person does it by their titles."""
    panels = [kind for kind in bpy.types.Panel.__subclasses__() if getattr(kind, "bl_category", "") == "Knuckle Pose"]
    parents_first = sorted(panels, key=lambda panel: bool(getattr(panel, "bl_parent_id", "")))
    for panel in reversed(parents_first):
        bpy.utils.unregister_class(panel)
    for panel in parents_first:
        panel.bl_options = set() if panel.__name__ in OPEN else {"DEFAULT_CLOSED"}
        bpy.utils.register_class(panel)


def clicked(screen: "Screen") -> "Steps":
    """The first pose of the shelf, found by typing into its search, is clicked."""
    yield from search(screen, "fist r")
    screen.click(*tile(screen))
    yield from screen.wait_until(moved)
    yield 1.0
    told = {"clicked": channels()}
    screen.move(*screen.view_middle())
    yield 1.0
    screen.picture("hand_poses_clicked")
    yield from undone(screen)
    return told | {"click undone": channels()}


def blended(screen: "Screen") -> "Steps":
    """A pose is dragged out of the shelf to the right: the further, the more of it."""
    x, y = tile(screen)
    yield from screen.drag((x, y), (x + 120, y))
    yield from screen.wait_until(moved)
    yield 1.0
    told = {"blended": channels()}
    screen.picture("hand_poses_blended")
    yield from undone(screen)
    return told | {"blend undone": channels()}


def by_menu(screen: "Screen") -> "Steps":
    """The operator of the panel, half of a pose, with its factor in the redo panel afterwards."""
    with screen.in_view():
        bpy.ops.knuckle.apply_hand_pose("EXEC_DEFAULT", True, pose="fist", side="right", factor=0.5)
    yield 1.0
    half = channels()
    screen.picture("hand_poses_half")
    yield from undone(screen)
    between = channels()
    with screen.in_view():
        bpy.ops.knuckle.apply_hand_pose("EXEC_DEFAULT", True, pose="fist", side="right")
    yield 1.0
    whole = channels()
    yield from undone(screen)
    return {"half": half, "half undone": between, "whole": whole, "menu undone": channels()}


def rig() -> bpy.types.Object:
    scene = bpy.context.window_manager.windows[0].scene
    return next(obj for obj in scene.objects if obj.type == "ARMATURE")


def channels() -> dict[str, list[float]]:
    """How each bone is turned and moved, exactly."""
    bones = rig().pose.bones
    return {bone.name: [*bone.location, *bone.rotation_quaternion, *bone.rotation_euler, *bone.scale] for bone in bones}


def moved() -> bool:
    return rig().pose.bones[BONE].rotation_quaternion.angle > 0.2


def select(armature: bpy.types.Object) -> None:
    """No bone: a pose then goes to all that it names."""
    for bone in armature.pose.bones:
        holder: Any = bone if hasattr(bone, "select") else bone.bone
        holder.select = False


def undone(screen: "Screen") -> "Steps":
    screen.move(*screen.view_middle())
    yield 0.5
    screen.key("ctrl+z")
    yield from screen.wait_until(lambda: not moved())
    yield 0.5
    return {}


def search(screen: "Screen", text: str) -> "Steps":
    """Types into the shelf's search."""
    head = screen.region(screen.area(), "ASSET_SHELF_HEADER")
    x, y = head.x + head.width - 100, screen.window.height - head.y - head.height // 2
    screen.click(x, y)
    yield 0.5
    for letter in text:
        screen.key({" ": "space"}.get(letter, letter))
        yield 0.05
    screen.key("Return")
    yield 1.0
    screen.picture("hand_poses_search")
    return {}


def tile(screen: "Screen") -> tuple[int, int]:
    """The first picture of the shelf."""
    region = screen.region(screen.area(), "ASSET_SHELF")
    return region.x + 40, screen.window.height - region.y - region.height + 40


def look(screen: "Screen") -> "Steps":
    """The view is turned to the back of the right hand, fingers up, a little from the thumb's side."""
    armature = rig()
    heads = [armature.matrix_world @ armature.pose.bones[name].head for name in ("wrist.R", BONE, "finger5-1.R")]
    wrist, index, little = heads
    up = ((index + little) / 2 - wrist).normalized()
    back = (little - wrist).cross(index - wrist).normalized() + 0.5 * (index - little).normalized()
    back = (back - back.dot(up) * up).normalized()
    view = screen.area().spaces.active.region_3d
    view.view_perspective = "ORTHO"
    axes: Any = (up.cross(back), up, back)
    view.view_rotation = Matrix(axes).transposed().to_quaternion()
    view.view_distance = 4.0 * (index - wrist).length
    view.view_location = (index + little) / 2
    for _ in range(2):
        screen.area().tag_redraw()
        yield 0.5
    return {}
