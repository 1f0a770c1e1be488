"""How long each station of the path takes on 10 000 frames, against a peer that does the same in the same run.

    python tools/benchmarks/path.py

Prints medians of interleaved runs and their ratio. Needs bpy, scipy and ezc3d.
"""

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import bpy
import ezc3d
import numpy as np
from scipy.signal import butter, filtfilt

from knuckle import capture
from knuckle.capture.cleaning import low_pass
from knuckle.hand import kinematics
from knuckle.hand.joints import JOINTS
from knuckle.hand.proportions import adult, build
from knuckle.rig.keys.hand_motion import KeyedHand
from knuckle.rig.keys.keyframes import key_hands
from knuckle.rig.keys.take_scene import new_hand

FRAMES = 10_000
POINTS = 60
RUNS = 5


def compare(name: str, ours: Callable[[], object], peer_name: str, peer: Callable[[], object]) -> None:
    """Print our median, the peer's, and the ratio."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(RUNS):
        for run, seconds in zip((ours, peer), times, strict=True):
            start = time.perf_counter()
            run()
            seconds.append(time.perf_counter() - start)
    mine, theirs = (statistics.median(seconds) for seconds in times)
    print(f"{name}: {mine:.3f} s, {peer_name}: {theirs:.3f} s, ratio {mine / theirs:.2f}")


def reading(path: Path) -> None:
    """Compare reading C3D with ezc3d."""
    file = ezc3d.c3d()
    file["parameters"]["POINT"]["RATE"]["value"] = [100.0]
    file["parameters"]["POINT"]["LABELS"]["value"] = tuple(f"M{i}" for i in range(POINTS))
    file["parameters"]["POINT"]["UNITS"]["value"] = ("mm",)
    walk = np.cumsum(np.random.default_rng(0).normal(size=(FRAMES, POINTS, 3)), axis=0)
    points = np.ones((4, POINTS, FRAMES))
    points[:3] = walk.transpose(2, 1, 0)
    file["data"]["points"] = points
    file.write(str(path))
    compare("read C3D", lambda: capture.read(path), "ezc3d", lambda: ezc3d.c3d(str(path)))


def filtering(path: Path) -> None:
    """Compare the low-pass filter with scipy's."""
    markers = capture.read(path)
    b, a = butter(2, 6.0 / (markers.rate / 2))
    compare("low-pass", lambda: low_pass(markers, 6.0), "scipy", lambda: filtfilt(b, a, markers.positions, axis=0))


def keying() -> None:
    """Compare keying a hand in bulk with keyframe_insert on a fiftieth of the frames."""
    proportions = adult("right")
    hand = build(proportions)
    angles = np.random.default_rng(0).uniform(hand.limits[:, 0], hand.limits[:, 1], (FRAMES, hand.dofs))
    pose = kinematics.Pose(hand, np.tile(np.eye(4), (FRAMES, 1, 1)), angles)
    armature, binding = new_hand(proportions, hand, bpy.context.scene.collection)
    frames = np.arange(1.0, FRAMES + 1)

    def one_by_one() -> None:
        armature.animation_data_clear()
        for frame in range(FRAMES // 50):
            for bone, rotation in zip(JOINTS, pose.rotations[frame], strict=True):
                armature.pose.bones[bone].rotation_quaternion = rotation
                armature.pose.bones[bone].keyframe_insert("rotation_quaternion", frame=frame + 1)

    compare(
        f"key {FRAMES} frames",
        lambda: key_hands(armature, [KeyedHand(binding, hand, pose)], frames, "Take"),
        f"keyframe_insert, {FRAMES // 50} frames",
        one_by_one,
    )


def main() -> None:
    """Measure all stages."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    print(f"Blender {bpy.app.version_string}, numpy {np.__version__}, medians of {RUNS} interleaved runs")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "long.c3d"
        reading(path)
        filtering(path)
    keying()


if __name__ == "__main__":
    main()
