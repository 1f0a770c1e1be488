"""Every registered solver bakes every recording of a hand: a key on each frame, finite and within limits."""

import json
import pickle
import re
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
from mathutils import Quaternion

from knuckle.capture.files.mediapipe_json import LANDMARKS
from knuckle.hand.joints import JOINTS
from knuckle.rig.keys.take_report import report_of
from knuckle.rig.limits.limit_constraints import CONSTRAINT_NAME
from knuckle.solvers import SOLVERS

pytestmark = pytest.mark.usefixtures("extension")

FRAMES = 24
"""Of each recording, from its middle."""
ROUNDING = 1e-4
"""rad that a keyed turn may be beyond a limit, for keys are of 32 bits."""

CAPTURES = {
    "leap_finger_tap.json": 1,
    "mediapipe_video.json": 1,
    "mediapipe_right.pkl": 1,
    "qualisys_glove.tsv": 1,
    "two_hands_glove.c3d": 2,
    "webxr_poses_right.js": 1,
    **{f"webxr/{pose}.handpose": 2 for pose in ("fist", "flat", "point", "relax", "shaka")},
}
"""The recordings of hands beside the checkout, and how many hands each holds."""


def test_no_recording_of_a_hand_is_left_out(shared: Path) -> None:
    folder = shared / "data/captures"
    about = {".md", ".LICENSE", ".png"}
    files = {
        path.as_posix().partition("data/captures/")[2]
        for path in folder.rglob("*")
        if path.is_file() and path.suffix not in about
    }
    assert files == set(CAPTURES)


@pytest.mark.parametrize("name", CAPTURES)
def test_every_solver_bakes_a_recording(name: str, shared: Path, tmp_path: Path, subtests: pytest.Subtests) -> None:
    bpy.ops.knuckle.import_capture(filepath=str(readable(shared / "data/captures" / name, tmp_path)))
    chosen = bpy.context.scene.knuckle
    first = max(1, chosen.last // 2 - FRAMES // 2)
    frames = min(FRAMES, chosen.last)
    chosen.use_range, chosen.first, chosen.last, chosen.keys = True, first, first + frames - 1, "CAPTURE"
    for solver in SOLVERS:
        with subtests.test(solver=solver):
            chosen.solver = solver
            assert bpy.ops.knuckle.solve() == {"FINISHED"}
            solved = [obj for obj in bpy.data.objects if (report_of(obj) or {}).get("solver") == solver]
            assert len(solved) == CAPTURES[name]
            for armature in solved:
                check_keys(armature, frames)


def readable(path: Path, folder: Path) -> Path:
    """The recording; as a table of joints where it is kept in a form that only programs of its makers read."""
    if path.suffix == ".pkl":
        names, places = LANDMARKS, np.reshape(pickle.loads(path.read_bytes()), (-1, len(LANDMARKS), 3))
    elif path.suffix == ".js":
        poses = re.findall(r'^\s*(\{"names":.*\}),?\s*$', path.read_text(), re.M)
        names, places = JOINTS, np.array([json.loads(pose.rstrip(","))["jointPositions"] for pose in poses]) / 1000
    else:
        return path
    table = folder / f"{path.stem}.csv"
    header = ",".join(["time", *(f"right_{name}.{axis}" for name in names for axis in "xyz")])
    rows = np.column_stack([np.arange(len(places)) / 30, places.reshape(len(places), -1)])
    np.savetxt(table, rows, delimiter=",", header=header, comments="", fmt="%.6f")
    return table


def check_keys(armature: Any, frames: int) -> None:
    """A key for each frame on all bones that move, finite, and inside of what the bone's constraint lets it turn."""
    (bag,) = armature.animation_data.action.layers[0].strips[0].channelbags
    for bone in armature.pose.bones:
        limit = bone.constraints.get(CONSTRAINT_NAME)
        if limit is None:
            continue
        path = f'pose.bones["{bone.name}"].rotation_quaternion'
        keys = np.array([keys_of(bag.fcurves.find(path, index=part)) for part in range(4)])
        assert keys.shape == (4, frames), f"{bone.name}: {keys.shape[1]} keys, {frames} frames"
        assert np.all(np.isfinite(keys)), f"{bone.name} has keys that are no numbers"
        assert np.abs(np.linalg.norm(keys, axis=0) - 1).max() < 1e-5, f"{bone.name} has keys that are no turns"
        turns = np.array([Quaternion(key).to_euler(limit.euler_order) for key in keys.T])
        low = np.array([limit.min_x, limit.min_y, limit.min_z]) - ROUNDING
        high = np.array([limit.max_x, limit.max_y, limit.max_z]) + ROUNDING
        beyond = np.degrees(np.maximum(low - turns, turns - high).max())
        assert beyond <= 0, f"{bone.name} is turned {beyond:.3f} degrees beyond its limits"


def keys_of(curve: bpy.types.FCurve) -> np.ndarray:
    values = np.empty(2 * len(curve.keyframe_points))
    curve.keyframe_points.foreach_get("co", values)
    return values[1::2]
