"""What is remembered of an armature's hands: nothing stale, little looked for, and refusals are reported."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import bpy
import numpy as np
import pytest

from knuckle.errors import RigError
from knuckle.panels import axes_overlay
from knuckle.rig import detection_cache
from knuckle.rig import hand_axes as axes
from knuckle.rig.armature_hands import find_hands
from knuckle.rig.binding import posed_frames
from knuckle.rig.detection_cache import DetectedHands
from knuckle.rig.mapping import save_mapping, saved_mappings
from knuckle.rig.mapping_corrections import user_mapping
from knuckle.tests.blender.making import rig

pytestmark = pytest.mark.usefixtures("extension")
Object = bpy.types.Object


@pytest.fixture
def armature() -> Object:
    """A left hand on an arm, as the scene's."""
    detection_cache.clear()
    made = rig("left", arm=True)
    bpy.context.scene.knuckle.rig, bpy.context.scene.knuckle.armature = "ARMATURE", made
    return made


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The armatures for whose hands was looked, one entry each time."""
    looked: list[str] = []
    find = detection_cache._detected_hands

    def counted(armature: Object) -> DetectedHands:
        looked.append(armature.name)
        return find(armature)

    monkeypatch.setattr(detection_cache, "_detected_hands", counted)
    return looked


def unparented(armature: Object) -> None:
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    for digit in ("ring", "pinky"):
        armature.data.edit_bones[f"{digit}-finger-metacarpal"].parent = None
    bpy.ops.object.mode_set(mode="OBJECT")


def without_deform(armature: Object) -> None:
    for bone in armature.data.bones:
        bone.use_deform = not bone.name.startswith("thumb")


def alone_in_turns(armature: Object) -> None:
    armature.data.bones["thumb-metacarpal"].use_inherit_rotation = False


@pytest.mark.parametrize("change", [unparented, without_deform, alone_in_turns])
def test_nothing_is_remembered_of_bones_that_hang_or_move_otherwise(
    change: Callable[[Object], None], armature: Object
) -> None:
    detection_cache.detect(armature)
    assert detection_cache.cached(armature) is not None
    change(armature)
    assert detection_cache.cached(armature) is None


def test_what_is_kept_is_what_is_found_now_whatever_was_remembered(armature: Object, tmp_path: Path) -> None:
    detection_cache.detect(armature)
    assert len(find_hands(armature)[0].confidence) == 5
    for name in ("thumb-metacarpal", "thumb-phalanx-proximal", "thumb-phalanx-distal"):
        constraint = armature.pose.bones[name].constraints.new("COPY_ROTATION")
        constraint.target, constraint.subtarget = armature, "upper"
    with pytest.raises(RigError, match="constraints drive the bones of the left hand"):
        find_hands(armature)
    assert detection_cache.cached(armature) is None, "what is drawn is looked for anew"
    with pytest.raises(RuntimeError):
        bpy.ops.knuckle.export_mapping(filepath=str(tmp_path / "own.json"), side="left")
    with pytest.raises(RuntimeError):
        bpy.ops.knuckle.save_mapping(side="left")
    assert saved_mappings(armature) == {}


def test_a_constraint_that_is_switched_is_another_answer_and_back_the_same(armature: Object) -> None:
    constraint = armature.pose.bones["wrist"].constraints.new("COPY_ROTATION")
    constraint.target, constraint.subtarget, constraint.influence = armature, "upper", 0.0
    off = detection_cache.detect(armature)
    constraint.influence = 1.0
    assert detection_cache.cached(armature) is None
    detection_cache.detect(armature)
    constraint.mute = True
    assert detection_cache.cached(armature) is off


def test_a_turn_that_is_dragged_looks_once_and_is_bound_as_a_look_would_bind_it(
    armature: Object, looks: list[str]
) -> None:
    hand = bpy.context.scene.knuckle_rig.left
    detection_cache.detect(armature)
    hand.ring_finger_turn = np.deg2rad(1.0)
    looks.clear()
    for angle in range(2, 12):
        hand.ring_finger_turn = np.deg2rad(angle)
    assert looks == []
    dragged = detection_cache.cached(armature)
    assert dragged is not None
    anew = detection_cache.detect(armature)
    assert anew.hands == dragged.hands
    assert anew.hands["left"].curl_angles == {"ring-finger": 11.0}
    np.testing.assert_array_equal(
        posed_frames(armature, anew.bindings["left"]), posed_frames(armature, dragged.bindings["left"])
    )


def test_an_uneven_scale_that_is_animated_is_looked_at_now_and_then(armature: Object, looks: list[str]) -> None:
    frames = 60
    for size in np.linspace(1.0, 2.0, frames):
        armature.scale = (1.0, 1.0, size)
        bpy.context.view_layer.update()
        if detection_cache.cached(armature) is None:
            detection_cache.detect(armature)
    assert 2 <= len(looks) <= frames // 4


def test_what_is_asked_for_all_the_time_is_not_dropped_for_what_is_not(armature: Object) -> None:
    detection_cache.detect(armature)
    others = [armature.copy() for _ in range(detection_cache.CACHE_SIZE)]
    for other in others:
        detection_cache.store(other, DetectedHands())
        assert detection_cache.cached(armature) is not None
    assert detection_cache.cached(others[0]) is None, "the one that nobody asked for again"
    assert detection_cache.cached(others[-1]) is not None


def test_a_name_that_a_field_refuses_is_reported_until_something_else_is_done(
    armature: Object, capsys: pytest.CaptureFixture[str]
) -> None:
    hand = bpy.context.scene.knuckle_rig.left
    detection_cache.detect(armature)
    hand.thumb_tip = "no such bone"
    known = detection_cache.cached(armature)
    assert known is not None
    assert "has no bone 'no such bone' for thumb-tip" in known.refused
    assert capsys.readouterr().out == ""
    assert known.hands == detection_cache.detect(armature).hands
    hand.thumb_tip = "no such bone"
    hand.thumb_tip = ""
    known = detection_cache.cached(armature)
    assert known is not None
    assert not known.refused


def test_a_preset_of_a_linked_armature_can_be_exported(armature: Object, tmp_path: Path) -> None:
    library = str(tmp_path / "library.blend")
    armature.name = "Linked"
    bpy.data.libraries.write(library, {armature})
    with bpy.data.libraries.load(library, link=True) as (_, into):
        into.objects = ["Linked"]
    linked = into.objects[0]
    bpy.context.scene.collection.objects.link(linked)
    bpy.context.scene.knuckle.armature = linked
    assert not linked.is_editable
    path = tmp_path / "own.json"
    assert bpy.ops.knuckle.export_mapping(filepath=str(path), side="left") == {"FINISHED"}
    assert json.loads(path.read_text())["bones"] == find_hands(linked)[0].bones
    assert not bpy.ops.knuckle.save_mapping.poll()


@pytest.mark.parametrize("scale", [(1.0, 0.0, 1.0), (0.0, 0.0, 0.0), (float("nan"), 1.0, 1.0)])
@pytest.mark.parametrize("corrected", [False, True])
def test_an_armature_without_a_volume_is_reported(
    armature: Object, scale: tuple[float, float, float], *, corrected: bool
) -> None:
    """A mapping that is kept on it makes that its bones are bound though no hand is found."""
    if corrected:
        save_mapping(armature, user_mapping(find_hands(armature)[0]))
    armature.scale = scale
    bpy.context.view_layer.update()
    known = detection_cache.detect(armature)
    assert "scaled to zero" in known.problem and not known.bindings
    with pytest.raises(RigError, match="scaled to zero"):
        find_hands(armature)


def test_names_are_where_the_axes_end_and_lay_out_no_axes(armature: Object, monkeypatch: pytest.MonkeyPatch) -> None:
    bpy.context.scene.knuckle_rig.axes = True
    binding = detection_cache.detect(armature).bindings["left"]
    for gone in ((), ("index-finger-tip", "thumb-tip")):
        kept = replace(binding, bones=tuple(None if bone in gone else bone for bone in binding.bones))
        frames = posed_frames(armature, kept)
        drawn, (tips, normal) = axes.hand_axes(frames), axes.label_positions(frames)
        assert {one.digit: one.joints[-1].tolist() for one in drawn.digits} == {k: v.tolist() for k, v in tips.items()}
        np.testing.assert_array_equal(normal, drawn.normal)
    assert axes.label_positions(np.full((25, 4, 4), np.nan))[0] == {}
    monkeypatch.setattr(axes_overlay, "hand_axes", None)
    reported = [text for _, text, _ in axes_overlay._labels(bpy.context, armature)]
    assert reported == ["Thumb", "Index", "Middle", "Ring", "Little", "Left palm"]
