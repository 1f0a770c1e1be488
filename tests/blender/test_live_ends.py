"""However following ends, and whatever becomes of file, scene and armature: no take is lost, no bone left as it was."""

import time
from collections.abc import Callable
from pathlib import Path

import bpy
import numpy as np
import pytest
from mathutils import Matrix

import knuckle
from knuckle.hand.kinematics import Pose
from knuckle.hand.proportions import adult, build
from knuckle.operators.live_device import _tick, update_people
from knuckle.operators.live_loop import LiveRun
from knuckle.operators.session import SESSION
from knuckle.pipeline.live import take_buffer as kept_module
from knuckle.pipeline.live.live_session import DisplayedHand
from knuckle.rig.keys.fcurves import curves_of
from knuckle.rig.keys.nla_layers import TAKE_PROPERTY
from knuckle.tests.pure.capture.devices.moments import moments
from knuckle.tests.pure.capture.devices.sockets import wait_for

from .test_live import followed, makehuman, play, port

__all__ = ["followed", "makehuman", "port"]

Follow = Callable[..., LiveRun]


def stands(armature: bpy.types.Object) -> dict[str, Matrix]:
    return {bone.name: bone.matrix_basis.copy() for bone in armature.pose.bones}


def recording(followed: Follow, port: int, armature: bpy.types.Object) -> tuple[LiveRun, dict[str, Matrix]]:
    """A run in the midst of a take, and how the bones stood before."""
    before = stands(armature)
    run = followed()
    sent = moments(110)
    play(run, port, sent[:60])
    wait_for(lambda: run.step() or len(run.displayed_hands) == 2)
    assert bpy.ops.knuckle.live_record() == {"FINISHED"}, "it began"
    play(run, port, sent[60:])
    assert stands(armature) != before
    return run, before


def is_kept(armature: bpy.types.Object) -> None:
    """The take is listed and keyed."""
    assert SESSION.live.run is None
    assert bpy.context.scene.knuckle_live.takes.keys() == ["Take 001"]
    take = armature.animation_data.action
    assert take[TAKE_PROPERTY] and take.frame_range[1] - take.frame_range[0] > 10


@pytest.mark.parametrize("content", [None, b"no blend file"])
def test_a_file_that_cannot_be_opened_leaves_the_take_keyed_and_the_bones_as_before(
    content, followed, makehuman, port, tmp_path
):
    _, before = recording(followed, port, makehuman)
    path = tmp_path / "other.blend"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(RuntimeError):
        bpy.ops.wm.open_mainfile(filepath=str(path))
    is_kept(makehuman)
    assert stands(makehuman) == before


def test_switching_the_extension_off_keeps_the_take(followed, makehuman, port):
    _, before = recording(followed, port, makehuman)
    takes: list[str] = []
    path = bpy.context.scene.knuckle_live.folder
    knuckle.unregister()
    try:
        assert SESSION.live.run is None and stands(makehuman) == before
        assert makehuman.animation_data.action[TAKE_PROPERTY]
        takes = [found.name for found in Path(path).glob("*.rawtake")]
    finally:
        knuckle.register()
    is_kept(makehuman)
    assert stands(makehuman) == before
    assert takes == ["Take 001.rawtake"]


def test_stop_keys_the_take(followed, makehuman, port):
    recording(followed, port, makehuman)
    assert bpy.ops.knuckle.live_stop() == {"FINISHED"}
    is_kept(makehuman)


def test_an_error_ends_it_with_a_sentence_and_keeps_the_take(followed, makehuman, port, monkeypatch):
    run, before = recording(followed, port, makehuman)

    def broken() -> bool:
        raise ZeroDivisionError("a mistake")

    monkeypatch.setattr(run, "step", broken)
    with pytest.raises(ZeroDivisionError):
        _tick()
    is_kept(makehuman)
    assert stands(makehuman) == before
    assert "a mistake" in SESSION.live.problem and "Take 001" in SESSION.live.problem
    followed()
    assert not SESSION.live.problem


def test_a_file_is_saved_with_the_bones_as_they_stood_before(followed, makehuman, port, tmp_path):
    before = stands(makehuman)
    run = followed()
    play(run, port, moments(80))
    path = str(tmp_path / "saved.blend")
    assert bpy.ops.wm.save_as_mainfile(filepath=path, copy=True) == {"FINISHED"}
    run.step()
    assert stands(makehuman) != before, "it goes on"
    bpy.ops.wm.open_mainfile(filepath=path)
    assert stands(bpy.data.objects[run.setup.armature.name]) == before


def test_what_is_called_otherwise_is_followed_on_and_keyed(followed, makehuman, port):
    run, _ = recording(followed, port, makehuman)
    bpy.context.scene.name, makehuman.name = "Other", "Hero"
    bpy.data.objects.new("default", None)
    before = stands(makehuman)
    sent = moments(200)[110:150]
    play(run, port, sent)
    _tick()
    assert stands(makehuman) != before and not run.rigs.problems
    assert bpy.ops.knuckle.live_record() == {"FINISHED"}
    assert makehuman.animation_data.action[TAKE_PROPERTY]


def test_a_scene_that_is_gone_ends_it_with_a_sentence(followed, port):
    scene = bpy.context.scene
    run = followed()
    play(run, port, moments(60))
    other = bpy.data.scenes.new("Other")
    bpy.data.scenes.remove(scene)
    other.frame_set(3)
    assert _tick() is None
    assert SESSION.live.run is None and "is gone" in SESSION.live.problem


def test_recentring_in_the_midst_of_a_take_moves_no_frame_before(followed, port):
    run = followed()
    sent = moments(150)
    play(run, port, sent[:60])
    wait_for(lambda: run.step() or len(run.displayed_hands) == 2)
    bpy.ops.knuckle.live_record()
    play(run, port, sent[60:100])
    first = run.session.take.poses()["left"].root[0].copy()
    bpy.ops.knuckle.live_recentre()
    play(run, port, sent[100:])

    def roots():
        return run.session.take.poses()["left"].root

    assert np.array_equal(roots()[0], first)
    assert roots()[0] == pytest.approx(sent[60].hands["left"][0], abs=0.05)

    last = sent[-1].hands["left"][0]
    placed = run.device_transforms[""] @ last
    assert np.abs(placed - last).max() > 0.2, "it stands elsewhere since"

    def the_last_is_kept():
        run.step()
        # On a busy machine more may follow: a hand that is not seen for a while eases to rest.
        return np.abs(roots() - placed).max(axis=(1, 2)).min() < 0.05

    wait_for(the_last_is_kept)
    bpy.ops.knuckle.live_stop()
    again = followed()
    assert again.device_transforms is run.device_transforms, "who starts again stands where they stood"


def test_each_performer_is_recentred_by_their_own_hands_that_are_seen(followed, monkeypatch):
    run, hand = followed(), build(adult("left"))

    def shown(name: str, along: float, lost: bool = False) -> DisplayedHand:
        root = np.eye(4)[None].copy()
        root[0, 0, 3] = along
        return DisplayedHand(name, "left", Pose(hand, root, hand.neutral[None]), lost, 0)

    run.displayed_hands = [shown("Anna left", 1.0), shown("Ben left", 3.0), shown("Cleo left", 5.0, lost=True)]
    monkeypatch.setattr(run.rigs, "rest_transform", lambda _name: np.eye(4))
    run.recentre()
    assert sorted(run.device_transforms) == ["Anna", "Ben"]
    offsets = [run.device_transforms[name][:3, 3].tolist() for name in ("Anna", "Ben")]
    assert offsets == [[-1.0, 0.0, 0.0], [-3.0, 0.0, 0.0]]


def test_hands_that_are_recorded_one_after_the_other_lie_together(followed, makehuman, port):
    run, keyed = followed(), []

    def is_nobody_seen() -> bool:
        run.step()
        return all(shown.lost for shown in run.displayed_hands)

    for number, side in enumerate(("right", "left")):
        sent = moments(60 * (number + 1) + 60, sides=(side,))[-120:]
        wait_for(is_nobody_seen)
        play(run, port, sent[:60])
        bpy.ops.knuckle.live_record()
        play(run, port, sent[60:])
        assert bpy.ops.knuckle.live_record() == {"FINISHED"}
        animation = makehuman.animation_data
        keyed.append({curve.group.name[-2:] for curve in curves_of(animation.action, animation.action_slot)})
    assert keyed == [{".R"}, {".L"}]
    strips = [strip.action.name for track in makehuman.animation_data.nla_tracks for strip in track.strips]
    assert strips == ["Take 001"] and makehuman.animation_data.action.name == "Take 002"


def test_a_take_that_is_too_long_for_keys_says_so(followed, port, monkeypatch):
    monkeypatch.setattr(kept_module, "MAX_FRAMES", 20)
    run = followed()
    play(run, port, moments(60))
    wait_for(lambda: run.step() or len(run.displayed_hands) == 2)
    bpy.ops.knuckle.live_record()
    play(run, port, moments(120)[60:])
    assert run.session.take.full and len(run.session.take.times) == 20
    bpy.ops.knuckle.live_record()
    assert bpy.data.actions["Take 001"].frame_range[1] < 20


def test_starting_again_leaves_no_hands_over_but_those_that_were_touched(followed, port):
    def names() -> list[str]:
        return sorted(obj.name for obj in bpy.data.objects)

    for _ in range(2):
        run = followed()
        play(run, port, moments(60))
        wait_for(lambda run=run: run.step() or len(run.displayed_hands) == 2)
        assert names() == ["Left Hand", "Left Hand Skin", "Right Hand", "Right Hand Skin"]
        bpy.ops.knuckle.live_stop()
    bpy.data.objects["Left Hand"].location.x = 1.0
    bpy.data.objects["Right Hand"].keyframe_insert("location")
    bpy.context.view_layer.update()
    run = followed()
    play(run, port, moments(60))
    wait_for(lambda: run.step() or len(run.displayed_hands) == 2)
    assert len(names()) == 8
    assert bpy.data.objects["Left Hand"].location.x == 1.0


def test_the_first_performer_is_who_came_first(followed, port):
    run = followed()
    run.session.appeared += ["Ben right", "Anna left"]
    run._driven("Anna left")
    assert run.rigs.performers == ["Ben", "Anna"], "whoever is measured first"
    update_people(run, bpy.context.scene)
    assert bpy.context.scene.knuckle_live.people.keys() == ["Ben", "Anna"]


def test_skins_of_new_hands_are_worked_out_while_they_are_measured(followed, port, monkeypatch):
    def late(_measures: object) -> None:
        raise AssertionError("the skin was not there")

    monkeypatch.setattr("knuckle.rig.default_hand.surface", late)
    run = followed()
    play(run, port, moments(60))
    wait_for(lambda: run.step() or len(run.displayed_hands) == 2)
    assert not run.rigs.problems
    time.sleep(0.1)
