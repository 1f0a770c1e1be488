"""Keys are made piece by piece: the same as at once, and none where that is ended before its end."""

from collections.abc import Callable
from dataclasses import replace

import bpy
import numpy as np
import pytest

from knuckle.errors import RigError
from knuckle.hand import proportions
from knuckle.hand.generators import run_to_end
from knuckle.hand.joints import SIDES
from knuckle.hand.kinematics import Pose
from knuckle.rig.bound_hand import bound_hand
from knuckle.rig.data_reference import DataReference
from knuckle.rig.keys import hand_motion, keyframes
from knuckle.rig.keys.drive import with_arm
from knuckle.rig.keys.hand_motion import KeyedHand
from knuckle.rig.keys.keyframes import key_hands, key_hands_stepwise
from knuckle.rig.keys.nla_layers import TAKE_PROPERTY
from knuckle.rig.live_take import LiveTake, key_live
from knuckle.rig.posing import apply_pose
from knuckle.tests.blender.making import evaluated, everything, find_hand, motion, rig
from knuckle.tests.blender.rigs import RIGS
from knuckle.tests.blender.test_carriers import CARRIED

FRAMES = 23


def keys(action: bpy.types.Action) -> dict[tuple[str, int], np.ndarray]:
    """(path, index) -> frames and values of the keys."""
    (bag,) = action.layers[0].strips[0].channelbags
    return {
        (curve.data_path, curve.array_index): np.array([point.co[:] for point in curve.keyframe_points])
        for curve in bag.fcurves
    }


def keyed_hands(armature: bpy.types.Object, arm: bool) -> list[KeyedHand]:
    """Both hands of a rig, or the one that it has, at random."""
    hands = []
    for side in SIDES:
        try:
            found = find_hand(armature, side)
        except (StopIteration, RigError):
            continue
        hand = proportions.build(proportions.adult(side))
        one = KeyedHand(bound_hand(armature, found, hand), hand, motion(hand, FRAMES))
        hands.append(with_arm(armature, found, one) if arm else one)
    return hands


def same_in_pieces(armature: bpy.types.Object, hands: list[KeyedHand], monkeypatch: pytest.MonkeyPatch) -> None:
    frames = np.arange(FRAMES) / 2 + 1.0
    whole = keys(key_hands(armature, hands, frames, "Whole"))
    monkeypatch.setattr(hand_motion, "FRAMES_PER_PIECE", 5)
    pieces = keys(key_hands(armature, hands, frames, "Pieces"))
    assert whole.keys() == pieces.keys() and any(len(values) == FRAMES for values in whole.values())
    assert all(np.allclose(whole[curve], pieces[curve], atol=1e-5) for curve in whole)


def test_progress_advances_with_each_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (hand_motion, keyframes):
        monkeypatch.setattr(module, "FRAMES_PER_PIECE", 5)
    armature, fractions = rig("left"), [0.0]
    work = key_hands_stepwise(armature, keyed_hands(armature, arm=False), np.arange(1.0, FRAMES + 1), "Take")
    run_to_end(work, lambda progress: fractions.append(progress.fraction))
    steps = np.diff(fractions)
    assert steps.min() >= 0.0 and steps.max() < 0.2 and fractions[-1] == pytest.approx(1.0)


@pytest.mark.parametrize(("kind", "move"), CARRIED)
def test_the_same_on_what_moves(
    kind: dict[str, bool], move: Callable[[bpy.types.Object], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    armature = rig("left", **kind)
    move(armature)
    same_in_pieces(armature, keyed_hands(armature, arm=False), monkeypatch)


@pytest.mark.parametrize("name", ["MakeHuman", "Rigify metarig"])
def test_the_same_with_arms(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    armature, _ = RIGS[name]()
    same_in_pieces(armature, keyed_hands(armature, arm=True), monkeypatch)


def live_take(armature: bpy.types.Object, times: np.ndarray) -> LiveTake:
    """What a device showed at times in s on the left hand of a rig."""
    hand = proportions.build(proportions.adult("left"))
    share = np.sin(times)[:, None] ** 2
    low, high = hand.limits.T
    root = np.tile(np.eye(4), (len(times), 1, 1))
    root[:, 0, 3] = 0.1 * times
    pose = Pose(hand, root, low + share * (high - low))
    rig_hand = apply_pose.make_driven_hand(armature, find_hand(armature, "left"), hand)
    return LiveTake("Live", times, {"left": pose}, {"left": rig_hand})


def played(armature: bpy.types.Object) -> tuple[object, list[str]]:
    """The name of the action that an armature plays, and those of its NLA strips."""
    animation = armature.animation_data
    strips = [strip.name for track in animation.nla_tracks for strip in track.strips]
    return animation.action and animation.action.name, strips


@pytest.mark.parametrize("share", [0.01, 0.5, 0.99])
def test_what_is_ended_before_its_end_changes_nothing(share: float) -> None:
    armature = rig("left", arm=True)
    for frame in (3, 9):
        armature.pose.bones["fore"].keyframe_insert("rotation_quaternion", frame=frame)
    take, scene = live_take(armature, np.arange(60) / 24), bpy.context.scene
    before = everything(scene), played(armature)
    for progress in (work := key_live(take, scene, 1)):
        if progress.fraction >= share:
            break
    else:
        pytest.fail("it ended")
    assert played(armature) != before[1]
    work.close()
    assert (everything(scene), played(armature)) == before


def test_progress_goes_from_nothing_to_all() -> None:
    armature = rig("left")
    reported = [
        progress.fraction
        for progress in key_hands_stepwise(
            armature, keyed_hands(armature, arm=False), np.arange(1.0, FRAMES + 1), "Take"
        )
    ]
    assert reported == sorted(reported) and 0.0 <= reported[0] < reported[-1] == 1.0


def test_an_armature_that_is_deleted_meanwhile_is_reported() -> None:
    armature = rig("left")
    hands = keyed_hands(armature, arm=False)
    for steps in (1, 3):
        work = key_hands_stepwise(armature, hands, np.arange(1.0, FRAMES + 1), "Take")
        for _ in range(steps):
            next(work)
        reference = DataReference.of(armature)
        bpy.data.objects.remove(armature)
        with pytest.raises(RigError, match=f"'{reference.name}' is gone, no keys were made"):
            list(work)
        assert not bpy.data.actions
        armature = rig("left")


def test_a_fast_device_gets_a_key_on_each_frame_of_the_scene() -> None:
    armature = rig("left")
    scene = bpy.context.scene
    take = live_take(armature, 5.0 + np.arange(241) / 240)
    list(key_live(take, scene, 10))
    action = armature.animation_data.action
    assert action[TAKE_PROPERTY]
    moving = [points for points in keys(action).values() if len(points) > 1]
    assert all(np.array_equal(points[:, 0], np.arange(10, 10 + scene.render.fps + 1)) for points in moving)
    fast = evaluated_on(armature, 10.0 + np.arange(1, scene.render.fps, 5))
    # Each tenth frame of the device is on a frame of a scene of 24 frames a second, and has its keys there.
    list(key_live(live_take(armature, take.times[::10]), scene, 10))
    assert np.allclose(fast, evaluated_on(armature, 10.0 + np.arange(1, scene.render.fps, 5)), atol=1e-5)


def evaluated_on(armature: bpy.types.Object, frames: np.ndarray) -> np.ndarray:
    """(N, J, 4, 4) the hand's bones on frames."""
    scene, result = bpy.context.scene, []
    for frame in frames:
        scene.frame_set(int(frame))
        result.append(evaluated(armature))
    return np.array(result)


def test_a_slow_device_gets_a_key_on_each_of_its_frames() -> None:
    armature = rig("left")
    take = live_take(armature, np.arange(40) / 10)
    list(key_live(take, bpy.context.scene, 1))
    moving = [points for points in keys(armature.animation_data.action).values() if len(points) > 1]
    assert all(np.allclose(points[:, 0], 1 + 2.4 * np.arange(40), atol=1e-4) for points in moving)


def test_keys_of_frames_in_which_a_live_hand_was_not_seen_are_of_another_type() -> None:
    armature, scene = rig("left"), bpy.context.scene
    lost = np.zeros(48, bool)
    lost[20:30] = True
    take = replace(live_take(armature, np.arange(48) / 48), predicted={"left": lost})
    run_to_end(key_live(take, scene, 1))
    action = armature.animation_data.action
    kinds = [
        [point.type for point in curve.keyframe_points]
        for layer in action.layers
        for strip in layer.strips
        for bag in strip.channelbags
        for curve in bag.fcurves
    ]
    marked = ["JITTER" if lost[2 * frame] else "KEYFRAME" for frame in range(24)]
    moving = [kind for kind in kinds if len(kind) > 1]
    assert scene.render.fps == 24 and len(moving) > 20 and all(kind == marked for kind in moving)
    assert [marker.frame for marker in action.pose_markers] == [11]
