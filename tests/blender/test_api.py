"""The Python API: what the documentation's examples do, and what the package costs to import."""

import re
import subprocess
import sys
from pathlib import Path

import bpy
import numpy as np
import pytest

import knuckle
from knuckle.cli.main import main

ROOT = Path(__file__).parents[2]
TAP = ROOT / "data" / "leap_finger_tap.json"


def keyed_curves(path):
    bpy.ops.wm.open_mainfile(filepath=str(path), load_ui=False)
    return [
        curve
        for action in bpy.data.actions
        for layer in action.layers
        for strip in layer.strips
        for bag in strip.channelbags
        for curve in bag.fcurves
    ]


def test_the_ten_lines_of_the_tutorial_key_a_hand_and_pose_one(tmp_path, monkeypatch, capsys):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / TAP.name).write_bytes(TAP.read_bytes())
    monkeypatch.chdir(tmp_path)
    [block] = re.findall(
        r"```python\n(.*?)```", (ROOT / "docs/tutorials/python.md").read_text(encoding="utf-8"), re.DOTALL
    )
    exec(compile(block, "python.md", "exec"), {})
    assert "(89, " in capsys.readouterr().out
    curves = keyed_curves(tmp_path / "take.blend")
    bending = [curve for curve in curves if "index-finger-phalanx-proximal" in curve.data_path]
    assert {len(curve.keyframe_points) for curve in bending} == {89}
    assert max(np.ptp([point.co.y for point in curve.keyframe_points]) for curve in bending) > 0.05
    assert keyed_curves(tmp_path / "fist.blend")


def test_what_is_done_to_the_joints_leaves_the_take_as_it_is():
    take = knuckle.solve(TAP, end=5)
    first = {name: array.copy() for name, array in knuckle.joints(take).items()}
    for array in knuckle.joints(take).values():
        if array.dtype.kind == "f":
            array[:] = 1000.0
    for name, array in knuckle.joints(take).items():
        assert (array == first[name]).all(), name


def test_the_api_and_the_shell_give_the_same_joints(tmp_path):
    out, joints = tmp_path / "take.blend", tmp_path / "joints.npz"
    assert main(["solve", str(TAP), "--out", str(out), "--joints", str(joints), "--set", "passes=9"]) == 0
    arrays = knuckle.joints(knuckle.solve(TAP, settings={"passes": 9}))
    with np.load(joints) as saved:
        assert set(saved) == set(arrays)
        for name in arrays:
            np.testing.assert_array_equal(saved[name], arrays[name])


def test_markers_that_were_read_solve_as_their_file_does():
    by_file = knuckle.joints(knuckle.solve(TAP, start=10, end=30))
    by_markers = knuckle.joints(knuckle.solve(knuckle.read(TAP), start=10, end=30))
    assert len(by_file["times"]) == 21
    np.testing.assert_array_equal(by_file["right_angles"], by_markers["right_angles"])


def test_a_recipe_is_overruled_by_choices():
    take = knuckle.solve(knuckle.Recipe(str(TAP), solver="table", end=20), end=5)
    assert (take.recipe.solver, len(take.times)) == ("table", 5)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: knuckle.solve(TAP, solvr="cga"), "solvr: not a field of a recipe"),
        (lambda: knuckle.solve(TAP, solver="magic"), "solver is 'magic'"),
        (lambda: knuckle.read("missing.c3d"), "missing.c3d"),
        (lambda: knuckle.pose("fist", "fist.txt"), "fist.txt"),
        (lambda: knuckle.pose("dance", "fist.blend"), "dance"),
        (lambda: knuckle.pose("fist", "fist.blend", hand="third"), "expected left, right or both"),
    ],
)
def test_mistakes_are_reported_in_a_sentence_and_write_nothing(call, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(knuckle.KnuckleError, match=sentence):
        call()
    assert list(tmp_path.iterdir()) == []


def test_every_name_is_there_and_the_version_is_the_manifests():
    assert all(hasattr(knuckle, name) for name in knuckle.__all__)
    assert set(knuckle.__all__) <= set(dir(knuckle))
    assert f'version = "{knuckle.__version__}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    with pytest.raises(AttributeError, match="has no attribute 'sovle'"):
        _ = knuckle.sovle


def test_importing_the_package_imports_nothing_else_of_it_nor_numpy():
    script = "import sys; before = set(sys.modules); import knuckle; print(*sorted(set(sys.modules) - before))"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    added = run.stdout.split()
    assert [name for name in added if name.startswith(("knuckle.", "numpy", "bpy"))] == []
    assert "knuckle" in added
