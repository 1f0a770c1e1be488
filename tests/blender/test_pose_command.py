"""`knuckle pose`, looked at in the file that it saves."""

from pathlib import Path

import bpy
import pytest

from knuckle.cli.main import main
from knuckle.hand import poses
from knuckle.rig.posing.posed_file import posable_hands_of
from knuckle.tests.blender.test_hand_poses import worst

MAKEHUMAN = "data/rigs/makehuman_default.blend"


def test_the_saved_file_shows_a_rig_in_the_pose_on_every_frame(shared: Path, tmp_path: Path) -> None:
    out = tmp_path / "posed.blend"
    assert main(["pose", "letter-y", "--rig", str(shared / MAKEHUMAN), "--out", str(out)]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["posed.blend"]
    bpy.ops.wm.open_mainfile(filepath=str(out))
    armature = next(obj for obj in bpy.data.objects if obj.type == "ARMATURE")
    for frame in (1, 40):
        bpy.context.scene.frame_set(frame)
        hands = posable_hands_of(armature, ("left", "right"))
        assert [held.hand.side for held in hands] == ["left", "right"]
        for held in hands:
            off = worst(armature, held, "letter-y")
            assert off < 3, f"{held.hand.side}: {off:.1f} degrees > 3"
    assets = sorted(action.name for action in bpy.data.actions if action.asset_data)
    assert assets == ["Letter Y L", "Letter Y R"]


def test_one_hand_of_knuckles_own_and_all_poses_as_assets(tmp_path: Path) -> None:
    out = tmp_path / "hand.blend"
    assert main(["pose", "--assets", "--hand", "left", "--out", str(out)]) == 0
    bpy.ops.wm.open_mainfile(filepath=str(out))
    assert [obj.name for obj in bpy.data.objects if obj.type == "ARMATURE"] == ["Left Hand"]
    assert bpy.data.objects["Left Hand"].animation_data is None
    assert len([action for action in bpy.data.actions if action.asset_data]) == len(poses.POSES)


def test_the_list_has_every_pose(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pose", "--list"]) == 0
    reported = capsys.readouterr().out
    assert all(f"  {pose.name} " in reported and pose.about in reported for pose in poses.POSES.values())


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["wave", "--out", "OUT.blend"], "there is no pose 'wave', only open, relaxed"),
        (["fist"], "expected the NAME of a pose and --out OUT.blend, or --list"),
        (["--out", "OUT.blend"], "expected the NAME of a pose and --out OUT.blend, or --list"),
        (["fist", "--out", "OUT.png"], "OUT.png: expected a name that ends in .blend"),
        (["fist", "--out", "OUT.blend", "--rig", "nowhere.glb"], "nowhere.glb: there is no such file"),
        (["fist", "--out", "OUT.blend", "--mapping", "none.json"], "none.json"),
    ],
)
def test_what_cannot_be_done_is_a_sentence_and_writes_nothing(
    arguments: list[str],
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["pose", *arguments]) == 1
    reported = capsys.readouterr().err
    assert reported.startswith("knuckle: ") and sentence in reported and reported.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_hand_that_the_rig_lacks_is_reported(
    shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rig = shared / "data/rigs/generic_hand_right.glb"
    assert main(["pose", "ok", "--hand", "left", "--rig", str(rig), "--out", str(tmp_path / "o.blend")]) == 1
    assert "has no left hand, only a right one" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
