"""Poses that a person saved on one rig: applied to others, made assets, shown by pictures, and found."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest

from knuckle.hand.poses import POSES, SAVED, from_dict, pose_of_angles, to_dict
from knuckle.operators import saved_poses as saving
from knuckle.operators.saved_poses import pose_path, saved_poses
from knuckle.operators.session import SESSION
from knuckle.panels.pose_icons import make_icons
from knuckle.panels.poses_panel import matches
from knuckle.rig import detection_cache
from knuckle.rig.posing.posable_cache import posable_hand
from knuckle.tests.blender import rigs
from knuckle.tests.blender.test_held import default
from knuckle.tools.panel_drawing import draw_panels

pytestmark = pytest.mark.usefixtures("extension")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder instead of the user's."""
    monkeypatch.setattr(saving, "user_folder", lambda: tmp_path)
    saving._read.cache_clear()
    yield tmp_path / "poses"
    saving._read.cache_clear()


def active(armature: bpy.types.Object) -> bpy.types.Object:
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="POSE")
    detection_cache.detect(armature)
    return armature


def angles_of(armature: bpy.types.Object, side: Any) -> Any:
    bpy.context.view_layer.update()
    return posable_hand(armature, side).read_pose().angles[0]


def save(name: str, **options: Any) -> set[str]:
    return set(bpy.ops.knuckle.save_hand_pose(name=name, **options))


def posed_own_hand(pose: str = "ok") -> bpy.types.Object:
    armature = active(default())
    bpy.ops.knuckle.apply_hand_pose(pose=pose)
    bpy.context.view_layer.update()
    return armature


def test_a_pose_saved_on_one_rig_is_applied_to_both_hands_of_another() -> None:
    own = posed_own_hand("victory")
    assert save("Mine") == {"FINISHED"}
    wanted = {side: posable_hand(own, "right").hand for side in ("right",)}
    saved = angles_of(own, "right")
    other = active(rigs.RIGS["MakeHuman"]()[0])
    assert bpy.ops.knuckle.apply_hand_pose(saved="Mine", side="BOTH") == {"FINISHED"}
    for side in ("left", "right"):
        rig_hand, found = posable_hand(other, side), angles_of(other, side)
        for dof in range(rig_hand.hand.dofs):
            same = wanted["right"].dof(
                rig_hand.hand.joints[rig_hand.hand.axis_joint[dof]], rig_hand.hand.movements[dof]
            )
            assert same is not None
            expected = np.clip(saved[same], *rig_hand.hand.limits[dof])
            assert np.rad2deg(abs(found[dof] - expected)) < 2.0, (side, rig_hand.hand.dof_name(dof))


def test_a_saved_pose_is_an_asset_of_its_rig_with_a_picture() -> None:
    armature = posed_own_hand()
    save("Mine")
    (action,) = [action for action in bpy.data.actions if action.asset_data]
    assert action.name.startswith("Mine")
    preview: Any = action.preview
    pixels = np.array(preview.image_pixels_float).reshape(*preview.image_size, 4)
    assert 0.1 < (pixels[..., 3] > 0.5).mean() < 0.8, "a hand before a transparent ground"
    before = angles_of(armature, "right")
    bpy.ops.knuckle.pose_reset()
    armature.animation_data_create().action = action
    armature.animation_data.action_slot = action.slots[0]
    bpy.context.scene.frame_set(1)
    np.testing.assert_allclose(angles_of(armature, "right"), before, atol=2e-3)


def test_saved_poses_are_added_to_the_shelf_of_another_rig() -> None:
    posed_own_hand()
    save("Mine")
    bpy.ops.wm.read_factory_settings(use_empty=True)
    active(default())
    bpy.ops.knuckle.add_hand_poses()
    names = [action.name for action in bpy.data.actions if action.asset_data]
    assert len(names) == len(POSES) + 1 and any(name.startswith("Mine") for name in names)


def test_a_saved_pose_is_not_replaced_unless_asked_and_can_be_removed() -> None:
    posed_own_hand("ok")
    save("Mine")
    before = pose_path("Mine").read_bytes()
    bpy.ops.knuckle.apply_hand_pose(pose="fist")
    with pytest.raises(RuntimeError, match="There is a saved pose 'Mine' already"):
        save("Mine")
    assert pose_path("Mine").read_bytes() == before
    assert save("Mine", replace=True) == {"FINISHED"}
    assert pose_path("Mine").read_bytes() != before
    assert bpy.ops.knuckle.remove_hand_pose(name="Mine") == {"FINISHED"}
    assert saved_poses() == {}


@pytest.mark.parametrize("name", ["", "   ", "../../outside", "a/b\\c:d", "é日本"])
def test_names_are_kept_and_files_stay_in_their_folder(name: str, folder: Path) -> None:
    posed_own_hand()
    if not name.strip():
        with pytest.raises(RuntimeError, match="The pose has no name"):
            save(name)
        return
    save(name)
    assert list(saved_poses()) == [name.strip()]
    assert [path.parent for path in folder.parent.rglob("*.json")] == [folder]


def test_an_unknown_saved_pose_says_which_there_are() -> None:
    posed_own_hand()
    save("Mine")
    with pytest.raises(RuntimeError, match="There is no saved pose 'Yours', only Mine"):
        bpy.ops.knuckle.apply_hand_pose(saved="Yours")


@pytest.mark.parametrize(
    "content",
    [
        "{}",
        "[1]",
        "not JSON",
        '{"label": "", "degrees": {}}',
        '{"label": 3, "degrees": {}}',
        '{"label": "x", "degrees": {"elbow flexion": 3}}',
        '{"label": "x", "degrees": {"index-finger-tip shear": 3}}',
        '{"label": "x", "degrees": {"index-finger-phalanx-proximal flexion": "3"}}',
        '{"label": "x", "degrees": {"index-finger-phalanx-proximal flexion": 1e400}}',
        '{"label": "x", "degrees": {"index-finger-phalanx-proximal flexion": NaN}}',
    ],
)
def test_files_that_are_no_poses_are_left_out(content: str, folder: Path) -> None:
    posed_own_hand()
    save("Mine")
    (folder / "strange.json").write_text(content)
    saving._read.cache_clear()
    assert list(saved_poses()) == ["Mine"]


def test_a_pose_is_the_same_after_writing_and_reading() -> None:
    own = posed_own_hand("letter-y")
    hand = posable_hand(own, "right").hand
    pose = pose_of_angles(hand, angles_of(own, "right"), "Mine")
    again = from_dict(json.loads(json.dumps(to_dict(pose))), "test")
    assert (again.degrees, again.label, again.group) == (pose.degrees, "Mine", SAVED)


def test_every_pose_has_a_picture_of_its_own_in_the_panel() -> None:
    posed_own_hand()
    save("Mine")
    shown = [*POSES.values(), *saved_poses().values()]
    assert draw_panels() == ""
    make_icons(shown)
    assert draw_panels() == ""
    assert set(SESSION.pose_icons) == {pose.name for pose in shown}
    pictures = {pose.name: np.array(SESSION.previews[pose.name].image_pixels_float) for pose in shown}
    assert all((picture[3::4] > 0.5).mean() > 0.1 for picture in pictures.values())
    assert np.abs(pictures["ok"] - pictures["fist"]).mean() > 0.02


@pytest.mark.parametrize(
    ("sought", "found"),
    [
        ("", len(POSES)),
        ("fist", 1),
        ("letter y", 1),
        ("sign", 13),
        ("grip pen", 1),
        ("closed", 1),
        ("nothing like this", 0),
    ],
)
def test_search_finds_poses_by_name_group_and_tag(sought: str, found: int) -> None:
    assert sum(matches(pose, sought) for pose in POSES.values()) == found
