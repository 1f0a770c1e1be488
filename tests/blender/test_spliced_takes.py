"""A part of a take is solved again: its frames are replaced and blended in and out, all other keys stay bit for bit."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
from mathutils import Vector
from numpy.typing import NDArray

from knuckle.cli.commands import DEMO_CAPTURE
from knuckle.cli.main import main
from knuckle.errors import RigError
from knuckle.rig.armature_hands import find_hands
from knuckle.rig.keys.arm_keys import arm_of
from knuckle.rig.keys.fcurves import curves_on
from knuckle.rig.keys.reduced_take import dense_action, key_figures, reduce_keys
from knuckle.rig.keys.reduction.reduce_hand import Reduction
from knuckle.rig.keys.spliced_keys import KEY_SETTINGS, Blend, replace_keys
from knuckle.rig.keys.take_scene import TakeTiming, write_take
from knuckle.tests.blender.making import take
from knuckle.tests.blender.rigs import RIGS

Floats = NDArray[np.float64]
Object = bpy.types.Object
Key = tuple[Any, ...]
RATE, FIRST, LAST = 24.0, 11, 30
AUTOMATIC = [
    bpy.types.Keyframe.bl_rna.properties["handle_left_type"].enum_items[name].value for name in ("AUTO", "AUTO_CLAMPED")
]


def keys(armature: Object) -> dict[tuple[str, int], dict[float, Key]]:
    """Curve -> frame -> all that a key holds, but for handles that Blender works out from the keys beside it."""
    found: dict[tuple[str, int], dict[float, Key]] = {}
    for curve in curves_on(armature):
        points = curve.keyframe_points
        columns = []
        for name, (width, kind) in (KEY_SETTINGS | {"co": (2, np.float32)}).items():
            values = np.empty(width * len(points), kind)
            points.foreach_get(name, values)
            columns.append(values.reshape(len(points), width))
        frames, types = columns[-1][:, 0], dict(zip(KEY_SETTINGS, columns, strict=False))
        for handle in ("handle_left", "handle_right"):
            types[handle][np.isin(types[f"{handle}_type"][:, 0], AUTOMATIC)] = 0.0
        found[curve.data_path, curve.array_index] = {
            float(frame): tuple(tuple(column[row].tolist()) for column in columns) for row, frame in enumerate(frames)
        }
    return found


def rotations(armature: Object, bones: set[str]) -> dict[int, Floats]:
    """Frame -> (B, 3, 3) how bones are turned against their rest."""
    turned = {}
    for frame in range(1, 41):
        bpy.context.scene.frame_set(frame)
        turned[frame] = np.array([np.array(armature.pose.bones[name].matrix_basis)[:3, :3] for name in sorted(bones)])
    return turned


def written(armature: Object, first: float = 0.0, frames: int = 40, **recipe: Any) -> None:
    """Key a take of both hands, whose first frame is at `first` s; it falls on scene frame 1 + first · rate."""
    scene = bpy.context.scene
    scene.render.fps = round(RATE)
    solved = take(frames=frames, rate=RATE, first=first, **recipe)
    write_take(solved, armature, scene, scene.collection, TakeTiming(origin=0.0))


def part(armature: Object, **recipe: Any) -> None:
    """Key frames FIRST to LAST again, of hands that move otherwise: as they do half a second later."""
    scene, solved = bpy.context.scene, take(frames=20, rate=RATE, first=0.5, into="this", **recipe)
    write_take(solved, armature, scene, scene.collection, TakeTiming(float(FIRST), 0.5))


def fingers_of(armature: Object, *digits: str) -> set[str]:
    """The bones of digits."""
    return {
        bone
        for hand in find_hands(armature)
        for joint, bone in hand.bones.items()
        if joint != "wrist" and (not digits or joint.startswith(digits))
    }


@pytest.mark.parametrize("mode", ["QUATERNION", "XYZ", "ZYX", "AXIS_ANGLE"])
@pytest.mark.parametrize("blends", [(0, 0), (5, 4)])
def test_only_the_range_of_frames_is_replaced_and_blended(mode: str, blends: tuple[int, int]) -> None:
    armature, _ = RIGS["MakeHuman"]()
    for bone in armature.pose.bones:
        setattr(bone, "rotation_mode", mode)  # noqa: B010  # the stubs take each mode spelled out
    fingers = fingers_of(armature)
    written(armature)
    action, before, old = armature.animation_data.action, keys(armature), rotations(armature, fingers)
    for curve in curves_on(armature):  # a person edits a key after the range
        if len(curve.keyframe_points) > 35:
            curve.keyframe_points[34].interpolation, curve.keyframe_points[34].handle_left_type = "BEZIER", "FREE"
    before = keys(armature)
    part(armature, blend_in=blends[0], blend_out=blends[1])
    assert armature.animation_data.action == action and len(bpy.data.actions) == 1
    after, new = keys(armature), rotations(armature, fingers)
    assert after.keys() == before.keys()
    for place, of_curve in before.items():
        outside = {frame: key for frame, key in of_curve.items() if not FIRST <= frame <= LAST}
        assert {frame: key for frame, key in after[place].items() if not FIRST <= frame <= LAST} == outside, place
        assert list(after[place]) == list(of_curve), "one key on each frame"
    other, _ = RIGS["MakeHuman"]()
    alone = wanted(other, mode)
    for frame in range(FIRST + blends[0], LAST + 1 - blends[1]):
        assert np.abs(new[frame] - alone[frame - FIRST + 1]).max() < 1e-5, frame
    if blends != (0, 0):
        for frame in (FIRST, LAST):
            assert np.abs(new[frame] - old[frame]).max() < 1e-5, frame
        steps = [np.abs(new[frame + 1] - new[frame]).max() for frame in range(FIRST - 1, LAST + 1)]
        assert max(steps) < 0.5, "nothing jumps"
        middle = FIRST + 2
        apart = np.abs(new[middle] - old[middle]).max(), np.abs(new[middle] - alone[3]).max()
        assert min(apart) > 0.01, "it is between both"


def test_few_keys_go_on_outside_the_range_as_they_did() -> None:
    armature, _ = RIGS["MakeHuman"]()
    fingers = fingers_of(armature)
    written(armature)
    reduce_keys(armature, Reduction())
    old = rotations(armature, fingers)
    part(armature)
    new = rotations(armature, fingers)
    assert np.abs(new[FIRST + 8] - old[FIRST + 8]).max() > 0.01
    for frame in [*range(1, FIRST + 1), *range(LAST, max(old) + 1)]:
        assert np.abs(new[frame] - old[frame]).max() < 1e-4, frame


def test_reduced_keys_with_a_part_that_was_solved_again_are_a_take_of_their_own() -> None:
    """No dense action has the new part, and the figures of the reduction are of keys that are no longer there."""
    armature, _ = RIGS["MakeHuman"]()
    fingers = fingers_of(armature)
    written(armature)
    dense = armature.animation_data.action
    reduce_keys(armature, Reduction())
    part(armature)
    assert key_figures(armature) is None and dense_action(armature) is None and dense.use_fake_user
    spliced = rotations(armature, fingers)
    reduce_keys(armature, Reduction())
    again = rotations(armature, fingers)
    assert max(np.abs(again[frame] - spliced[frame]).max() for frame in spliced) < np.deg2rad(1.5)


def few_keys(kinds: Sequence[str], handles: str) -> bpy.types.FCurve:
    """A curve of four keys, each of a kind of interpolation."""
    action = bpy.data.actions.new("Few")
    slot = action.slots.new(id_type="OBJECT", name="Few")
    bag = action.layers.new("Few").strips.new(type="KEYFRAME").channelbag(slot, ensure=True)
    curve: bpy.types.FCurve = bag.fcurves.new("location", index=0)
    for frame, value, kind in zip((1, 11, 31, 41), (0.0, 1.0, -1.0, 2.0), kinds, strict=True):
        key: Any = curve.keyframe_points.insert(frame, value)
        key.interpolation, key.handle_left_type, key.handle_right_type = kind, handles, handles
    curve.update()
    return curve


@pytest.mark.parametrize(("kind", "other"), [("CONSTANT", "LINEAR"), ("LINEAR", "CONSTANT"), ("LINEAR", "BEZIER")])
def test_each_part_beside_the_range_keeps_its_own_interpolation(kind: str, other: str) -> None:
    curve = few_keys([other, kind, other, other], "FREE")
    frames = [frame for frame in np.arange(1, 42, 0.25).tolist() if not 15 < frame < 25]
    before = [curve.evaluate(frame) for frame in frames]
    replace_keys(curve, np.array([(frame, curve.evaluate(frame)) for frame in range(15, 26)], np.float32))
    assert [curve.evaluate(frame) for frame in frames] == pytest.approx(before, abs=1e-4)


def test_an_easing_in_which_the_range_ends_is_linear_from_frame_to_frame_and_the_next_one_stays() -> None:
    curve = few_keys(["SINE"] * 4, "FREE")
    beyond = np.arange(31, 41.1, 0.25).tolist()
    before = [curve.evaluate(frame) for frame in beyond]
    replace_keys(curve, np.array([(frame, curve.evaluate(frame)) for frame in range(15, 26)], np.float32))
    assert [curve.evaluate(frame) for frame in beyond] == pytest.approx(before, abs=1e-5)
    for frame in (*range(11, 15), *range(25, 31)):
        middle = (curve.evaluate(frame) + curve.evaluate(frame + 1)) / 2
        assert curve.evaluate(frame + 0.5) == pytest.approx(middle, abs=1e-5)


@pytest.mark.parametrize("kind", ["BEZIER", "LINEAR", "CONSTANT"])
def test_two_ranges_at_once_are_one_after_the_other_and_each_frame_has_one_key(kind: str) -> None:
    ranges = [np.array([(frame, 3.0 + frame) for frame in span], np.float32) for span in (range(5, 21), range(25, 36))]
    at_once, in_order = few_keys([kind] * 4, "FREE"), few_keys([kind] * 4, "FREE")
    replace_keys(at_once, *ranges)
    for new in ranges:
        replace_keys(in_order, new)
    found = [[(*key.co, key.interpolation) for key in curve.keyframe_points] for curve in (at_once, in_order)]
    assert found[0] == found[1]
    assert [frame for frame, _, _ in found[0]] == [1, *range(5, 21), *range(25, 36), 41]


@pytest.mark.parametrize("blends", [(0, 0), (4, 0), (0, 6), (4, 6)])
def test_new_keys_take_over_in_as_many_frames_as_the_blends_have(blends: tuple[int, int]) -> None:
    frames = np.arange(100.0, 131.0)
    weights = Blend(*blends).weights(frames, before=True, after=True)
    full = (frames >= 100 + blends[0]) & (frames <= 130 - blends[1])
    assert (weights[full] == 1).all() and (weights[~full] < 1).all() and weights.min() >= 0
    assert np.array_equal(Blend(*blends[::-1]).weights(frames, before=True, after=True), weights[::-1])
    if blends[0]:
        assert weights[0] == 0 and weights[blends[0] // 2] == 0.5
    assert (Blend(*blends).weights(frames, before=False, after=False) == 1).all(), "there is nothing to blend with"


def test_a_key_at_an_end_of_the_range_takes_the_handle_that_leads_out_along() -> None:
    curve = few_keys(["BEZIER"] * 4, "FREE")
    for key in curve.keyframe_points:
        key.handle_left, key.handle_right = key.co + Vector((-2.0, 0.7)), key.co + Vector((3.0, -0.4))
    replace_keys(curve, np.array([(11, 5.0), (20, 6.0), (31, 7.0)], np.float32))
    first, last = (next(key for key in curve.keyframe_points if key.co[0] == frame) for frame in (11, 31))
    assert (first.co[1], last.co[1]) == (5.0, 7.0)
    assert (first.handle_left - first.co).to_tuple() == pytest.approx((-2.0, 0.7), abs=1e-5)
    assert (last.handle_right - last.co).to_tuple() == pytest.approx((3.0, -0.4), abs=1e-5)


@pytest.mark.parametrize("handles", ["AUTO_CLAMPED", "AUTO", "VECTOR", "ALIGNED", "FREE"])
@pytest.mark.parametrize("kind", ["BEZIER", "LINEAR", "SINE", "BOUNCE", "CONSTANT"])
def test_a_curve_with_few_keys_goes_on_outside_the_range_as_it_did(kind: str, handles: str) -> None:
    """Also between whole frames, but for an easing, of which no part is one."""
    curve = few_keys([kind] * 4, handles)
    frames = np.arange(1, 42, 1.0 if kind in ("SINE", "BOUNCE") else 0.25)
    before = np.array([curve.evaluate(frame) for frame in frames.tolist()])
    new = np.array([(frame, curve.evaluate(frame)) for frame in range(15, 26)], np.float32)
    new[1:-1, 1] = 9.0
    replace_keys(curve, new)
    after = np.array([curve.evaluate(frame) for frame in frames.tolist()])
    outside = (frames <= 15) | (frames >= 25)
    assert np.abs(after - before)[outside].max() < 1e-4 and after[~outside].max() == pytest.approx(9.0)


def wanted(armature: Object, mode: str) -> dict[int, Floats]:
    """What a take of the part alone has, from frame 1."""
    for bone in armature.pose.bones:
        setattr(bone, "rotation_mode", mode)  # noqa: B010
    scene = bpy.context.scene
    scene.render.fps = round(RATE)
    write_take(take(frames=20, rate=RATE, first=0.5), armature, scene, scene.collection, TakeTiming())
    return rotations(armature, fingers_of(armature))


def test_only_the_chosen_digits_are_replaced() -> None:
    armature, _ = RIGS["MakeHuman"]()
    written(armature)
    before = keys(armature)
    part(armature, digits=["index-finger"])
    after = keys(armature)
    changed = {path.split('"')[1] for (path, index), of_curve in after.items() if of_curve != before[path, index]}
    assert changed and changed <= fingers_of(armature, "index-finger")


@pytest.mark.parametrize(
    ("drive", "moved"), [("fingers", set()), ("wrist", {"wrist", "fore"}), ("arm", {"wrist", "fore", "upper"})]
)
def test_a_part_moves_what_it_drives_and_leaves_the_rest_of_the_arm(drive: str, moved: set[str]) -> None:
    armature, _ = RIGS["MakeHuman"]()
    written(armature, drive="arm")
    before = keys(armature)
    part(armature, drive=drive)
    after = keys(armature)
    changed = {place[0].split('"')[1] for place in before if before[place] != after[place]}
    assert changed & fingers_of(armature)
    for hand in find_hands(armature):
        arm = arm_of(armature, hand)
        assert arm is not None
        bones = {"wrist": hand.bones["wrist"], "fore": arm.fore, "upper": arm.upper}
        assert {name for name, bone in bones.items() if bone in changed} == moved, hand.side


def test_a_new_take_of_some_digits_keys_only_these() -> None:
    armature, _ = RIGS["MakeHuman"]()
    written(armature, digits=["thumb", "pinky-finger"])
    keyed = {path.split('"')[1] for path, _ in keys(armature)}
    assert keyed == fingers_of(armature, "thumb", "pinky-finger")


def test_bones_that_the_take_did_not_key_are_added() -> None:
    armature, _ = RIGS["MakeHuman"]()
    written(armature, digits=["thumb"])
    before = keys(armature)
    part(armature, digits=["index-finger"])
    after = keys(armature)
    assert {curve: after[curve] for curve in before} == before
    added = {frame for curve in after.keys() - before.keys() for frame in after[curve]}
    assert added and min(added) == FIRST and max(added) <= LAST


def test_an_armature_without_a_take_is_reported_and_stays() -> None:
    armature, _ = RIGS["MakeHuman"]()
    with pytest.raises(RigError, match="plays no action, which is no take: solve into a new take first"):
        part(armature)
    armature.pose.bones[0].keyframe_insert("location", frame=1)
    name = armature.animation_data.action.name
    with pytest.raises(RigError, match=f"plays '{name}', which is no take"):
        part(armature)
    assert armature.animation_data.action.name == name and not armature.animation_data.nla_tracks


@pytest.mark.parametrize("hand", ["auto", "both"])
def test_both_new_hands_are_keyed_into_the_take_that_they_play(hand: str) -> None:
    scene = bpy.context.scene
    scene.render.fps = round(RATE)
    solved = take(frames=40, rate=RATE, first=0.0, hand=hand)
    hands = write_take(solved, None, scene, scene.collection, TakeTiming(origin=0.0))
    copied = hands[0].copy()
    copied.animation_data.action = hands[0].animation_data.action.copy()
    scene.collection.objects.link(copied)
    before, of_copy = [keys(armature) for armature in hands], keys(copied)
    part(hands[0], hand=hand)
    for armature, old in zip(hands, before, strict=True):
        changed = {
            frame
            for curve, of_curve in keys(armature).items()
            for frame, key in of_curve.items()
            if old[curve][frame] != key
        }
        assert changed and min(changed) >= FIRST and max(changed) <= LAST, armature.name
    assert keys(copied) == of_copy, "a copy of a hand is another take"


@pytest.mark.usefixtures("extension")
@pytest.mark.parametrize("rig", ["NEW", "ARMATURE"])
def test_the_panel_solves_a_part_into_the_take(rig: str) -> None:
    if rig == "ARMATURE":
        armature, _ = RIGS["MakeHuman"]()
    scene = bpy.context.scene
    scene.render.fps = 24
    bpy.ops.knuckle.import_capture(filepath=str(DEMO_CAPTURE))
    chosen = scene.knuckle
    if rig == "ARMATURE":
        chosen.rig, chosen.armature = rig, armature
    chosen.into = "this"
    with pytest.raises(RuntimeError, match=r"take"):
        bpy.ops.knuckle.solve()
    chosen.into = "new"
    bpy.ops.knuckle.solve()
    hand = chosen.result
    before, action = keys(hand), hand.animation_data.action
    chosen.into, chosen.use_range, chosen.first, chosen.last, chosen.solver = "this", True, 40, 80, "cga"
    bpy.ops.knuckle.solve()
    after = keys(hand)
    assert hand == chosen.result and hand.animation_data.action == action and len(bpy.data.actions) == 1
    changed = {
        frame for curve, of_curve in before.items() for frame, key in of_curve.items() if after[curve].get(frame) != key
    }
    times = json.loads(action["knuckle_result"])["recipe"]
    assert times["into"] == "this"
    assert changed and min(changed) >= 10 and max(changed) < max(max(of_curve) for of_curve in before.values())


@pytest.mark.usefixtures("extension")
def test_the_panel_solves_a_part_into_the_take_of_two_new_hands(glove: Path) -> None:
    scene = bpy.context.scene
    chosen = scene.knuckle
    bpy.ops.knuckle.import_capture(filepath=str(glove))
    chosen.use_range, chosen.first, chosen.last = True, 200, 240
    bpy.ops.knuckle.solve()
    hands = [armature for armature in scene.objects if armature.type == "ARMATURE"]
    before = [keys(armature) for armature in hands]
    chosen.into, chosen.first, chosen.last, chosen.solver = "this", 210, 230, "cga"
    bpy.ops.knuckle.solve()
    assert [armature for armature in scene.objects if armature.type == "ARMATURE"] == hands and len(hands) == 2
    for armature, old in zip(hands, before, strict=True):
        assert keys(armature).keys() == old.keys() and keys(armature) != old, armature.name


def test_a_shell_solves_a_part_into_the_take_of_a_rigs_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    RIGS["MakeHuman"]()
    rig, whole, mended = (str(tmp_path / name) for name in ("rig.blend", "whole.blend", "mended.blend"))
    bpy.ops.wm.save_as_mainfile(filepath=rig)
    solve = ["solve", str(DEMO_CAPTURE), "--fps", "24"]
    assert main([*solve, "--rig", rig, "--into", "this", "--out", whole]) == 1
    assert "plays no action, which is no take" in capsys.readouterr().err
    assert main([*solve, "--into", "this", "--out", whole]) == 1
    assert "a new hand has no take yet" in capsys.readouterr().err
    assert main([*solve, "--rig", rig, "--out", whole]) == 0
    before = keys(next(obj for obj in bpy.data.objects if obj.type == "ARMATURE"))
    part_of = ["--start", "40", "--end", "80", "--blend-in", "0", "--blend-out", "3", "--digits", "index-finger"]
    assert main([*solve, "--rig", whole, "--into", "this", *part_of, "--out", mended]) == 0
    armature = next(obj for obj in bpy.data.objects if obj.type == "ARMATURE")
    after = keys(armature)
    changed = {
        (path.split('"')[1], frame)
        for (path, index), of_curve in before.items()
        for frame, key in of_curve.items()
        if after[path, index].get(frame) != key
    }
    assert {bone for bone, _ in changed} <= fingers_of(armature, "index-finger")
    frames = [frame for _, frame in changed]
    every = max(max(of_curve) for of_curve in before.values())
    assert min(frames) > 5 and max(frames) < every
