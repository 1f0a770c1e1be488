"""Three rigs' poses are added to the asset shelf and shown; one is clicked, one blended by dragging, each undone."""

import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import bpy

if TYPE_CHECKING:
    from knuckle.tests.gui.driver import Screen, Steps

hands = SimpleNamespace(**runpy.run_path(str(Path(__file__).parents[1] / "hands.py")))


def play(screen: "Screen") -> "Steps":
    yield from screen.resize(1200, 800)
    screen.open_panels("KNUCKLE_PT_posing", "KNUCKLE_PT_hand_poses")
    reported: dict[str, Any] = {}
    for rig in ("own", "makehuman", "rigify"):
        reported[rig] = yield from posed(screen, rig)
    return reported


def posed(screen: "Screen", rig: str) -> "Steps":
    """A rig's poses are added by the panel's button, and used."""
    yield from hands.opened(screen, rig)
    select_none(screen)
    bpy.ops.ed.undo_push(message="Ready")
    shelf(screen, shown=False)
    yield from screen.show_sidebar("Knuckle Pose")
    yield from hands.look(screen, "front")
    at_first = channels(screen)
    place = yield from screen.button("knuckle.add_hand_poses")
    screen.picture(f"hand_poses_panel_{rig}")
    screen.click(*place)
    yield from screen.wait_until(lambda: len(bpy.data.actions) >= 20, 60)
    reported: dict[str, Any] = {
        "at first": at_first,
        "assets": len([action for action in bpy.data.actions if action.asset_data]),
        "after adding": channels(screen),
    }
    shelf(screen, shown=True)
    yield 4.0  # the shelf looks for assets by itself
    screen.picture(f"hand_poses_shelf_{rig}")
    yield from search(screen, "fist r")
    reported |= yield from clicked(screen, rig)
    reported |= yield from blended(screen, rig)
    for name, factor in (("half", 0.5), ("whole", 1.0)):
        reported |= yield from by_operator(screen, rig, name, factor)
    return reported


def shelf(screen: "Screen", *, shown: bool) -> None:
    """The shelf of assets, or the sidebar."""
    space = screen.area().spaces.active
    space.show_region_ui, space.show_region_asset_shelf = not shown, shown


def clicked(screen: "Screen", rig: str) -> "Steps":
    """The first pose of the shelf."""
    before = channels(screen)
    screen.click(*tile(screen))
    return (yield from changed_and_back(screen, rig, "clicked", before))


def blended(screen: "Screen", rig: str) -> "Steps":
    """A pose is dragged out of the shelf to the right: the further, the more of it."""
    before, (x, y) = channels(screen), tile(screen)
    yield from screen.drag((x, y), (x + 120, y))
    return (yield from changed_and_back(screen, rig, "blended", before))


def by_operator(screen: "Screen", rig: str, name: str, factor: float) -> "Steps":
    """What the panel's menu does, and the factor that its redo panel offers."""
    before = channels(screen)
    with screen.in_view():
        bpy.ops.knuckle.apply_hand_pose("EXEC_DEFAULT", True, pose="fist", side="right", factor=factor)
    return (yield from changed_and_back(screen, rig, name, before))


def changed_and_back(screen: "Screen", rig: str, name: str, before: dict[str, list[float]]) -> "Steps":
    """Every channel once the hand is posed, and after one undo."""
    yield from screen.wait_until(lambda: channels(screen) != before)
    screen.move(*screen.view_middle())
    yield 1.0
    after = channels(screen)
    screen.picture(f"hand_poses_{name}_{rig}")
    yield from hands.undone(screen)
    yield 0.3
    return {name: after, f"{name} undone": channels(screen)}


def channels(screen: "Screen") -> dict[str, list[float]]:
    """How each bone is turned and moved, exactly."""
    return {bone: [x for of in channels for x in of] for (_, bone), channels in hands.channels(screen).items()}


def select_none(screen: "Screen") -> None:
    """No bone: a pose then goes to all that it names."""
    for bone in hands.armature_of(screen).pose.bones:
        holder: Any = bone if hasattr(bone, "select") else bone.bone
        holder.select = False


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
