"""How long a step of a drag takes: solve, pose, evaluate; beside Blender's own IK constraint, in the same rounds.

    python tools/benchmarks/posing.py [--steps 400] [--minutes 10] [--write]

With --minutes hands are dragged at random for so long, undone or kept, and memory is reported at start and end.
"""

import argparse
import importlib.util
import os
import resource
import statistics
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RIGS = ROOT.parent / "shared" / "data" / "rigs"
HEAD = [
    "rig",
    "dragged",
    "ms of CPU a step, median / p99",
    "ms",
    "of it after posing",
    "ms, Blender's IK of a finger",
    "ratio",
]
DRAGGED = ("index-finger-tip", "thumb-tip", "middle-finger-phalanx-proximal", "wrist")


def load() -> None:
    """Import this checkout as the package `knuckle`."""
    spec = importlib.util.spec_from_file_location(
        "knuckle", ROOT / "__init__.py", submodule_search_locations=[str(ROOT)]
    )
    assert spec and spec.loader
    sys.modules["knuckle"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules["knuckle"])


def opened(name: str) -> Any:
    """Return the armature of a rig in a new file, in Pose Mode, its hands relaxed."""
    import bpy

    from knuckle.hand import proportions
    from knuckle.hand.kinematics import Pose
    from knuckle.rig import detection_cache
    from knuckle.rig.keys.take_scene import new_hand
    from knuckle.rig.posing.posable_cache import posable_hand
    from knuckle.rig.posing.rig_hand import HandState
    from knuckle.tests.blender.rigs import rig_file

    if name == "default hand":
        bpy.ops.wm.read_factory_settings(use_empty=True)
        measures = proportions.adult("right")
        armature = new_hand(measures, proportions.build(measures), bpy.context.scene.collection)[0]
    else:
        path = rig_file("makehuman_default.blend" if name == "MakeHuman" else "rigify_generated.blend")
        bpy.ops.wm.open_mainfile(filepath=str(path))
        armature = next(obj for obj in bpy.context.scene.objects if obj.type == "ARMATURE")
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="POSE")
    bpy.context.view_layer.update()
    for side in detection_cache.detect(armature).hands:
        posable = posable_hand(armature, side)
        stands = posable.read()
        posable.write(HandState(Pose(posable.hand, stands.pose.root, posable.hand.neutral[None]), stands.beyond))
    bpy.context.view_layer.update()
    return armature


def goals(count: int, size: float, seed: int = 0) -> Any:
    """Return (count, 3) m, ways of a mouse that wanders smoothly about where it began."""
    import numpy as np

    rng = np.random.default_rng(seed)
    rotations = np.linspace(0.0, 2 * np.pi * count / 60, count)[:, None]
    return 0.15 * size * np.sin(rotations * rng.uniform(0.5, 1.5, 3)) * rng.uniform(0.3, 1.0, 3)


def measured(armature: Any, joint: str, steps: int) -> tuple[list[float], ...]:
    """s of the main thread's own time of each step, s of each step, of its end after the bones were posed, and of a
    step of Blender's IK on the index finger."""
    import bpy
    import numpy as np
    from mathutils import Vector

    from knuckle.rig.posing.dragging import move, restore_pose, start_rig_drag
    from knuckle.rig.posing.posable_cache import posable_hand_arm

    hand_arm = posable_hand_arm(armature, "right")
    dragged = start_rig_drag(hand_arm, joint)
    size = float(np.linalg.norm(dragged.drag.start.hand.rest[1:, :3, 3], axis=-1).max())
    goal_offsets = goals(steps, 2 * size)
    cpu_seconds: list[float] = []
    step_seconds: list[float] = []
    update_seconds: list[float] = []
    drag_step = None
    for goal_offset in goal_offsets:
        start, cpu_start = time.perf_counter(), time.thread_time()
        drag_step = move(dragged, dragged.position + goal_offset, drag_step)
        posed_at = time.perf_counter()
        bpy.context.view_layer.update()
        end = time.perf_counter()
        cpu_seconds.append(time.thread_time() - cpu_start)
        step_seconds.append(end - start)
        update_seconds.append(end - posed_at)
    restore_pose(dragged)
    binding = hand_arm.rig_hand.binding
    from knuckle.hand.joints import CHAIN_JOINTS, JOINT_INDEX

    bone = armature.pose.bones[str(binding.bones[JOINT_INDEX[CHAIN_JOINTS["index-finger"][2]]])]
    target = bpy.data.objects.new("Target", None)
    bpy.context.scene.collection.objects.link(target)
    ik = bone.constraints.new("IK")
    ik.target, ik.chain_count = target, 3
    bpy.context.view_layer.update()
    home = armature.matrix_world @ bone.tail
    ik_seconds = []
    for goal_offset in goal_offsets:
        start = time.perf_counter()
        target.location = home + Vector(goal_offset.tolist())
        bpy.context.view_layer.update()
        ik_seconds.append(time.perf_counter() - start)
    bone.constraints.remove(ik)
    bpy.data.objects.remove(target)
    return cpu_seconds, step_seconds, update_seconds, ik_seconds


def both(values: list[float]) -> str:
    """Return the median and 99th percentile in ms."""
    ordered = sorted(values)
    return f"{1e3 * statistics.median(ordered):.2f} / {1e3 * ordered[int(0.99 * (len(ordered) - 1))]:.2f}"


def resident() -> float:
    """Return the resident memory of this process in MB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 1e6


def wander(minutes: float) -> str:
    """Drag hands at random for some time; return the results and the use of memory."""
    import bpy
    import numpy as np

    from knuckle.operators.pins import pins_of
    from knuckle.posing.dragging import DRAGGABLE
    from knuckle.rig.posing.dragging import move, restore_pose, start_rig_drag
    from knuckle.rig.posing.posable_cache import posable_hand_arm

    armature = opened("default hand")
    rng, end = np.random.default_rng(0), time.monotonic() + 60 * minutes
    drags = steps = 0
    start = 0.0
    while time.monotonic() < end:
        if drags == 50:
            start = resident()
        if drags % 7 == 0:
            bpy.ops.knuckle.pin_fingertip(  # type: ignore[attr-defined]
                side="right", digit=str(rng.choice(["thumb", "ring-finger", "pinky-finger"])), toggle=True, to="WORLD"
            )
        dragged = start_rig_drag(
            posable_hand_arm(armature, "right"), str(rng.choice(DRAGGABLE)), pins_of(armature, "right")
        )
        drag_step = None
        for goal_offset in goals(30, 0.2, drags):
            drag_step = move(dragged, dragged.position + goal_offset, drag_step)
            bpy.context.view_layer.update()
            steps += 1
        if rng.random() < 0.7:
            restore_pose(dragged)
        assert (
            drag_step is not None
            and np.isfinite(drag_step.pose.angles).all()
            and np.isfinite(drag_step.pose.root).all()
        )
        drags += 1
    return (
        f"{minutes:g} minutes of random drags, {drags} of them with {steps} steps, without an error: "
        f"{start:.0f} MB after the first fifty, {resident():.0f} MB at the end."
    )


def main() -> None:
    """Measure and print; with --write, also fill docs/reference/posing-figures.md."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--minutes", type=float, default=0.0)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    load()
    from standard_page import fill, table
    from standard_runs import machine

    import knuckle

    knuckle.register()
    rows = []
    try:
        for name in ("default hand", "MakeHuman", "Rigify generated") if RIGS.is_dir() else ("default hand",):
            armature = opened(name)
            for joint in DRAGGED:
                busy, *others = measured(armature, joint, options.steps)
                ratio = statistics.median(others[0]) / statistics.median(others[2])
                rows.append([name, joint, both(busy), *map(both, others), f"{ratio:.1f}"])
        wandering = wander(options.minutes) if options.minutes else ""
    finally:
        knuckle.unregister()
    load_now = Path("/proc/loadavg").read_text().split()[0]
    text = table(HEAD, rows) + f"\n\nOn {machine()}; load {load_now} on {os.cpu_count()} cores."
    print(text, wandering, sep="\n\n")
    if options.write:
        fill(
            ROOT / "docs" / "reference" / "posing-figures.md",
            {"drag": text} | ({"wander": wandering} if wandering else {}),
        )


if __name__ == "__main__":
    main()
