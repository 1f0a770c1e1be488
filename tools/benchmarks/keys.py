"""Keys that remain within 1 mm at fingertips and 1 degree at joints: Reduce Keys beside Blender's own operators.

    python tools/benchmarks/keys.py [--write]

Blender's *Decimate* (by ratio, and by allowed change) and *Clean Keyframes* know curves, not hands: of each the setting
with the fewest keys is sought, by bisection, with which the same dense take keeps within the same distance and angle on
the same frames. Errors are measured by the rig's forward kinematics from the curves' own evaluation
(rig/keys/reduction/keyed_hand.py), which tests/blender/test_reduce_keys.py compares with Blender's evaluation of the
armature. --write fills the table of docs/how-to/keys.md. Needs ../shared/data, and Blender's module.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import bpy
import numpy as np

from knuckle.pipeline import job
from knuckle.pipeline.recipe import Recipe
from knuckle.rig.armature_hands import find_hands
from knuckle.rig.blend_file import new_scene_with_take
from knuckle.rig.keys.fcurves import curves_on
from knuckle.rig.keys.hand_curves import HandCurves, read_hand_curves
from knuckle.rig.keys.reduced_take import reduce_keys
from knuckle.rig.keys.reduction.keyed_hand import Tolerance
from knuckle.rig.keys.reduction.reduce_hand import Reduction
from knuckle.tools.doc_sections import fill

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT.parent / "shared" / "data"
TAKES = {
    "Leap": "captures/leap_finger_tap.json",
    "skin markers, user 1": "sig18/user1/capture2_11_right.trc",
    "skin markers, user 2": "sig18/user2/capture4_10_right.trc",
    "camera landmarks": "captures/mediapipe_video.json",
    "optical glove, all joints": "captures/two_hands_glove.c3d",
    "optical glove, tips and middles": "captures/qualisys_glove.tsv",
}
TOLERANCE = Tolerance()
HALVINGS = 12
HEAD = (
    "capture",
    "Hz",
    "dense keys",
    "Reduce Keys",
    "Shared Frames",
    "Decimate, change",
    "Decimate, ratio",
    "Clean",
    "s",
)

Settings = dict[str, Any]
Peer = tuple[Callable[[float], Settings], Any]
PEERS: tuple[Peer, ...] = (
    (lambda share: {"mode": "ERROR", "remove_error_margin": share}, bpy.ops.graph.decimate),
    (lambda share: {"mode": "RATIO", "factor": share**0.5}, bpy.ops.graph.decimate),
    (lambda share: {"threshold": share}, bpy.ops.graph.clean),
)
"""Parameter 0..1 -> settings of an operator of Blender."""


def main() -> None:
    """Print the table, or write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="fill the table of docs/how-to/keys.md")
    parser.add_argument("--take", choices=TAKES, nargs="+", default=list(TAKES), help="takes to measure")
    parser.add_argument("--alone", action="store_true", help="leave Blender's own operators out, which take minutes")
    options = parser.parse_args()
    lines = [f"| {' | '.join(HEAD)} |", "|---|" + "--:|" * (len(HEAD) - 1)]
    for name in options.take:
        for row in rows(name, DATA / TAKES[name], alone=options.alone):
            lines.append(f"| {' | '.join(row)} |")
            print(lines[-1], flush=True)
    if options.write:
        fill(ROOT / "docs" / "how-to" / "keys.md", {"keys that remain": "\n".join(lines)})


def rows(name: str, file: Path, *, alone: bool) -> Iterator[list[str]]:
    """Yield a row for each hand of a capture."""
    take = job.run(Recipe(str(file)))
    armatures = new_scene_with_take(take).armatures
    for armature_name in armatures:
        armature = bpy.data.objects[armature_name]
        dense, slot = armature.animation_data.action, armature.animation_data.action_slot
        before = keys_of(armature)
        started = time.process_time()
        reduce_keys(armature, Reduction(TOLERANCE))
        seconds = time.process_time() - started
        counts = [keys_of(armature)]
        play(armature, dense, slot)
        reduce_keys(armature, Reduction(TOLERANCE, shared=True))
        counts.append(keys_of(armature))
        play(armature, dense, slot)
        peers = () if alone else PEERS
        counts += [fewest(armature, settings, operator) for settings, operator in peers]
        label = name if len(armatures) == 1 else f"{name}, {armature_name.split()[0].lower()}"
        fractions = [f"{count / before:.1%}".replace("%", " %") for count in counts]
        blank = ["–"] * (len(PEERS) - len(peers))
        yield [label, f"{take.markers.rate:.0f}", f"{before}", *fractions, *blank, f"{seconds:.1f}"]


def play(armature: Any, action: Any, slot: Any) -> None:
    """Let an armature play an action."""
    armature.animation_data.action, armature.animation_data.action_slot = action, slot


def keys_of(armature: Any) -> int:
    """Return the number of keys of an armature's action."""
    return sum(len(curve.keyframe_points) for curve in curves_on(armature))


def fewest(armature: Any, settings: Callable[[float], Settings], operator: Any) -> int:
    """Return the fewest keys that an operator of Blender's leaves within the tolerance; setting 0..1 is sought."""
    dense, slot = armature.animation_data.action, armature.animation_data.action_slot
    hand, _ = read_hand_curves(armature, find_hands(armature)[0], dense, slot)
    assert hand is not None
    low, high, best = 0.0, 1.0, keys_of(armature)
    for _ in range(HALVINGS):
        # Useful settings are small: squaring searches them more finely.
        middle = (low + high) / 2
        trial = dense.copy()
        play(armature, trial, next(candidate for candidate in trial.slots if candidate.identifier == slot.identifier))
        run(armature, operator, settings(middle**2))
        if within(armature, hand):
            low, best = middle, min(best, keys_of(armature))
        else:
            high = middle
        play(armature, dense, slot)
        bpy.data.actions.remove(trial)
    return best


def run(armature: Any, operator: Any, settings: Settings) -> None:
    """Run an operator of the Graph Editor on all keys of an armature."""
    for obj in bpy.context.scene.objects:
        obj.select_set(obj == armature)
    bpy.context.view_layer.objects.active = armature
    for bone in armature.pose.bones:
        bone.select = True
    for curve in curves_on(armature):
        curve.select = True
        curve.keyframe_points.foreach_set("select_control_point", np.ones(len(curve.keyframe_points), bool))
    window = bpy.context.window_manager.windows[0]
    area = window.screen.areas[0]
    area.type = "GRAPH_EDITOR"
    area.spaces.active.dopesheet.show_only_selected = True
    region = next(region for region in area.regions if region.type == "WINDOW")
    with bpy.context.temp_override(window=window, area=area, region=region):
        operator(**settings)


def within(armature: Any, dense: HandCurves) -> bool:
    """Return whether an armature's curves stay within the tolerance of a dense take."""
    curves = {(curve.data_path, curve.array_index): curve for curve in curves_on(armature)}
    frames, channels = dense.hand.frames.tolist(), {}
    for row, paths in enumerate(dense.paths):
        columns = []
        for path in paths:
            width = 4 if path.endswith("quaternion") else 3
            columns += [[curves[path, index].evaluate(frame) for frame in frames] for index in range(width)]
        if columns:
            channels[row] = np.array(columns).T
    distances, angles = dense.hand.errors(channels)
    return bool(distances.max() <= TOLERANCE.distance and angles.max() <= TOLERANCE.angle)


if __name__ == "__main__":
    main()
