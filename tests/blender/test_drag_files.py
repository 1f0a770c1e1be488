"""A step of a drag is readable as a whole: it enters at most ten files."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import bpy
import pytest

from knuckle.hand.kinematics import Pose
from knuckle.rig import detection_cache
from knuckle.rig.posing.dragging import move, restore_pose, start_rig_drag
from knuckle.rig.posing.posable_cache import posable_hand_arm
from knuckle.rig.posing.rig_hand import HandState
from knuckle.tests.blender import rigs
from knuckle.tests.blender.test_held import default

ROOT = Path(__file__).parents[2]
MOST = 10
HANDS: dict[str, Callable[[], bpy.types.Object]] = {
    "Knuckle's own": default,
    "MakeHuman": lambda: rigs.RIGS["MakeHuman"]()[0],
    "Rigify generated": lambda: rigs.RIGS["Rigify generated"]()[0],
}


def entered(call: Callable[[], Any]) -> set[str]:
    """The package's files whose functions a call enters."""
    files: set[str] = set()

    def note(frame: FrameType, event: str, _argument: Any) -> None:
        if event == "call":
            files.add(frame.f_code.co_filename)

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    paths = (Path(file).relative_to(ROOT) for file in files if file.startswith(str(ROOT)) and file != __file__)
    # Environments lie in .venv.
    return {str(path) for path in paths if not path.parts[0].startswith(".")}


@pytest.mark.parametrize("rig", HANDS)
@pytest.mark.usefixtures("extension")
def test_a_step_of_a_dragged_fingertip_enters_ten_files_at_most(rig: str) -> None:
    """From a relaxed hand, inside its limits, with Blender's evaluation and the handlers that follow it."""
    armature = HANDS[rig]()
    bpy.context.view_layer.update()
    detection_cache.detect(armature)
    hand_arm = posable_hand_arm(armature, "right")
    hand, state = hand_arm.rig_hand, hand_arm.rig_hand.read()
    hand.write(HandState(Pose(hand.hand, state.pose.root, hand.hand.neutral[None]), state.beyond))
    bpy.context.view_layer.update()
    dragged = start_rig_drag(hand_arm, "index-finger-tip")
    step = move(dragged, dragged.position + [0.004, 0.002, -0.006])
    bpy.context.view_layer.update()

    def once_more() -> None:
        move(dragged, dragged.position + [0.006, 0.004, -0.008], step)
        bpy.context.view_layer.update()

    files = entered(once_more)
    restore_pose(dragged)
    assert "rig/posing/dragging.py" in files
    assert len(files) <= MOST, "\n".join(sorted(files))
