"""A glove's BVH with a body is dropped on a character that dances, and drives its wrists, by the panels' words."""

import importlib
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import bpy

sys.path.append("/tmp/knuckle/tests/gui")
if TYPE_CHECKING:
    from knuckle.tests.gui import walking
    from knuckle.tests.gui.driver import Screen, Steps
else:
    walking = importlib.import_module("walking")

RECORDING = "glove_body.bvh"
ARMS = {"Left": ("upperarm_l", "lowerarm_l"), "Right": ("upperarm_r", "lowerarm_r")}
PARTS = ("Hand", "HandIndex1", "HandMiddle1", "HandPinky1")
LAST = 24


def play(screen: "Screen") -> "Steps":
    shutil.copy(f"/tmp/out/{RECORDING}", Path.home())
    bpy.ops.wm.open_mainfile(filepath="/tmp/out/rigs/mixamo.blend", load_ui=False)
    yield 1.0
    dance(walking.armature(screen))
    before = places(screen)
    yield from screen.show_sidebar("Knuckle")
    walk = walking.Walk(screen, "glove_body", 1)
    yield from walking.targeted(screen, walk)
    yield from walking.dropped(screen, walk, RECORDING)
    yield from walking.scrolled(screen, -40)
    yield from walk.choose("Drive", "Wrist")
    yield from screen.wait_until(lambda: screen.scene.knuckle.drive == "wrist")
    yield from walking.solved(screen, walk)
    screen.picture("glove_body")
    animation = walking.armature(screen).animation_data
    return {
        "take": animation.action.name,
        "below": [strip.action.name for track in animation.nla_tracks for strip in track.strips],
        "before": before,
        "after": places(screen),
        "reported": (yield from screen.reports()),
    }


def dance(armature: bpy.types.Object) -> None:
    """Key arms that are lifted, and bent."""
    for frame, lifted in ((1, 0.0), (LAST, 0.7)):
        for name in (*ARMS["Left"], *ARMS["Right"]):
            bone = armature.pose.bones[name]
            bone.rotation_mode = "XYZ"
            bone.rotation_euler = (lifted, 0.3, 0.0)
            bone.keyframe_insert("rotation_euler", frame=frame)
    armature.animation_data.action.name = "Dance"


def places(screen: "Screen") -> dict[str, list[list[list[float]]]]:
    """For each side and frame, where the elbow, the wrist and three knuckles are."""
    armature = walking.armature(screen)
    found: dict[str, list[list[list[float]]]] = {side: [] for side in ARMS}
    for frame in range(1, LAST + 1):
        screen.scene.frame_set(frame)
        posed = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
        for side, (_, forearm) in ARMS.items():
            bones = [posed.pose.bones[name] for name in (forearm, *(side + part for part in PARTS))]
            found[side].append([list((posed.matrix_world @ bone.head).to_tuple()) for bone in bones])
    return found
