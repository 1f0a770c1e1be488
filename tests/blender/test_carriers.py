"""What carries a hand may move: the hand points where the performer's does all the same, on every key."""

from collections.abc import Callable

import bpy
import numpy as np
import pytest
from mathutils import Quaternion

from knuckle.errors import RigError
from knuckle.hand import kinematics, proportions
from knuckle.rig.armature_hands import find_hands
from knuckle.rig.binding import bind
from knuckle.rig.keys.hand_motion import KeyedHand
from knuckle.rig.keys.keyframes import check_keyable, key_hands
from knuckle.rig.keys.parent_motion import carriers_move, check_depth
from knuckle.tests.blender.making import evaluated, everything, motion, rig, worst_direction

FRAMES = 12


def _turned(thing: bpy.types.Object | bpy.types.PoseBone) -> None:
    """Turns something by 1.2 rad from frame 1 to the last."""
    thing.rotation_mode = "QUATERNION"
    for frame, angle in ((1, 0.0), (FRAMES, 1.2)):
        thing.rotation_quaternion = Quaternion((1.0, 2.0, 0.5), angle)
        thing.keyframe_insert("rotation_quaternion", frame=frame)


def _into_nla(obj: bpy.types.Object) -> None:
    animation = obj.animation_data
    action, slot = animation.action, animation.action_slot
    animation.action = None
    animation.nla_tracks.new().strips.new("Arm", 1, action).action_slot = slot


def _empty(name: str) -> bpy.types.Object:
    empty = bpy.data.objects.new(name, None)
    bpy.context.scene.collection.objects.link(empty)
    return empty


def strip_on_forearm(armature: bpy.types.Object) -> None:
    _turned(armature.pose.bones["fore"])
    _into_nla(armature)


def action_on_forearm(armature: bpy.types.Object) -> None:
    _turned(armature.pose.bones["fore"])


def strip_on_object(armature: bpy.types.Object) -> None:
    _turned(armature)
    _into_nla(armature)


def parent_moves(armature: bpy.types.Object) -> None:
    armature.parent = _empty("Body")
    armature.parent.location = (1.0, 2.0, 3.0)
    _turned(armature.parent)


def driver_on_forearm(armature: bpy.types.Object) -> None:
    armature.pose.bones["fore"].rotation_mode = "XYZ"
    armature.pose.bones["fore"].driver_add("rotation_euler", 0).driver.expression = "frame / 10"


def bone_follows_what_moves(armature: bpy.types.Object) -> None:
    constraint = armature.pose.bones["upper"].constraints.new("COPY_ROTATION")
    constraint.target = _empty("Aim")
    constraint.target.parent = _empty("Above")
    _turned(constraint.target.parent)


ARM_MOVES = [strip_on_forearm, action_on_forearm, driver_on_forearm, bone_follows_what_moves]
MOVES = [*ARM_MOVES, strip_on_object, parent_moves]
CARRIED = [({"arm": True}, move) for move in MOVES] + [
    ({"flat": True}, move) for move in MOVES if move not in ARM_MOVES
]


def keyed(armature: bpy.types.Object) -> np.ndarray:
    """Keys a motion on frames with halves between them; the solved joints (F, J, 4, 4)."""
    (found,) = find_hands(armature)
    hand = proportions.build(proportions.adult(found.side))
    pose = motion(hand, 2 * FRAMES - 1)
    binding = bind(armature, found.side, found.bones, hand)
    key_hands(armature, [KeyedHand(binding, hand, pose)], np.arange(1.0, FRAMES + 0.25, 0.5), "Take")
    return kinematics.joint_frames(hand, pose)


@pytest.mark.parametrize("current", [1, FRAMES])
@pytest.mark.parametrize(("kind", "move"), CARRIED)
def test_a_hand_that_is_carried_points_where_the_performers_does(
    kind: dict[str, bool], move: Callable[[bpy.types.Object], None], current: int
) -> None:
    armature = rig("left", **kind)
    move(armature)
    scene = bpy.context.scene
    scene.frame_set(current, subframe=0.25)
    solved = keyed(armature)
    assert (scene.frame_current, scene.frame_subframe) == (current, 0.25), "the person's frame must come back"
    for frame in (0, 3, 9, 22):
        scene.frame_set(1 + frame // 2, subframe=frame % 2 / 2)
        worst = worst_direction(armature, solved[frame])
        assert worst < 0.05, f"frame {1 + frame / 2}: {worst:.3f} degrees > 0.05"
        if "flat" in kind:
            away = np.abs(evaluated(armature)[0, :3, 3] - solved[frame, 0, :3, 3]).max()
            assert away < 1e-5, f"frame {1 + frame / 2}: the wrist is {1000 * away:.3f} mm away"


def test_a_scene_in_which_nothing_carries_the_hand_about_is_not_played_for_the_keys() -> None:
    armature = rig("left", arm=True)
    armature.parent = _empty("Body")
    aim = armature.pose.bones["fore"].constraints.new("IK")
    aim.target = _empty("Aim")
    _turned(_empty("Somebody else"))
    played: list[int] = []

    def note(scene: bpy.types.Scene, _graph: object = None) -> None:
        played.append(scene.frame_current)

    bpy.app.handlers.frame_change_post.append(note)
    try:
        keyed(armature)
    finally:
        bpy.app.handlers.frame_change_post.remove(note)
    assert not carriers_move(armature)
    assert played == []


@pytest.mark.parametrize("move", [strip_on_forearm, driver_on_forearm, parent_moves])
def test_keys_are_made_without_playing_all_that_is_to_be_seen(move: Callable[[bpy.types.Object], None]) -> None:
    """What hangs on the armature is not worked out, and the person's scene is played once, to come back."""
    armature = rig("left", arm=True)
    move(armature)
    scene = bpy.context.scene
    played: list[bool] = []
    seen: set[str] = set()

    def note(one: bpy.types.Scene, _graph: object = None) -> None:
        played.append(one == scene)
        if one != scene:
            seen.update(obj.name for obj in one.objects)

    mesh = bpy.data.objects.new("Skin", bpy.data.meshes.new("Skin"))
    mesh.parent = armature
    scene.collection.objects.link(mesh)
    bpy.app.handlers.frame_change_post.append(note)
    try:
        keyed(armature)
    finally:
        bpy.app.handlers.frame_change_post.remove(note)
    assert len(played) > FRAMES and sum(played) == 1 and seen == {"Rig"}
    assert list(bpy.data.scenes) == [scene] and bpy.context.scene == scene


def test_what_is_simulated_carries_the_hand() -> None:
    """A body that falls takes the armature along: it falls in its own scene only."""
    scene, armature = bpy.context.scene, rig("left", flat=True)
    bpy.ops.mesh.primitive_cube_add()
    body = bpy.context.object
    bpy.ops.rigidbody.object_add(type="ACTIVE")
    armature.parent = body
    for frame in range(1, FRAMES + 1):
        scene.frame_set(frame)
    solved = keyed(armature)
    scene.frame_set(1)
    for frame in range(1, FRAMES + 1):
        scene.frame_set(frame)
    fallen = body.evaluated_get(bpy.context.evaluated_depsgraph_get()).matrix_world.translation.z
    assert fallen < -0.1
    away = np.abs(evaluated(armature)[0, :3, 3] - solved[2 * FRAMES - 2, 0, :3, 3]).max()
    assert away < 1e-3, f"the wrist is {1000 * away:.1f} mm away"


def test_an_armature_without_depth_is_refused_and_keeps_what_it_plays() -> None:
    scene = bpy.context.scene
    armature = rig("left", arm=True)
    for scale in ((0.0, 0.0, 0.0), (1.0, 0.0, 1.0), (1.0, 1e-9, 1.0)):
        armature.scale = scale
        with pytest.raises(RigError, match="'Rig' is scaled to zero"):
            check_keyable(armature)
    armature.scale = (1e-3, 1e-3, 2e-3)
    check_keyable(armature)
    # Scaled to nothing on some of the frames only: reported while it is keyed, and then nothing has changed.
    armature.parent = _empty("Body")
    for frame, size in ((1, 1.0), (6, 0.0)):
        armature.parent.scale = (size, size, size)
        armature.parent.keyframe_insert("scale", frame=frame)
    _turned(armature)
    scene.frame_set(1)
    before, played = everything(scene), armature.animation_data.action
    with pytest.raises(RigError, match="scaled to zero"):
        keyed(armature)
    assert everything(scene) == before
    assert armature.animation_data.action == played
    assert armature.animation_data.action_slot in set(played.slots)
    armature.animation_data_clear()
    with pytest.raises(RigError, match="scaled to zero"):
        keyed(armature)
    assert armature.animation_data is None


@pytest.mark.parametrize("size", [1e-4, 1.0, 1e4])
def test_how_flat_an_armature_is_does_not_depend_on_its_size(size: float) -> None:
    check_depth("Rig", size * np.diag([1.0, 1e-5, 1.0, 1.0 / size]))
    with pytest.raises(RigError, match="scaled to zero"):
        check_depth("Rig", size * np.diag([1.0, 1e-7, 1.0, 1.0 / size]))


def test_a_forearm_that_is_scaled_to_nothing_is_reported_and_nothing_is_keyed() -> None:
    armature = rig("left", arm=True)
    armature.pose.bones["fore"].scale = (0.0, 0.0, 0.0)
    before = everything(bpy.context.scene)
    with pytest.raises(RigError, match="bone 'fore' is scaled to zero"):
        keyed(armature)
    assert everything(bpy.context.scene) == before


def test_an_armature_that_blender_does_not_work_out_is_refused() -> None:
    armature = rig("left")
    check_keyable(armature)
    aside = bpy.data.collections.new("Aside")
    bpy.context.scene.collection.children.link(aside)
    bpy.context.scene.collection.objects.unlink(armature)
    aside.objects.link(armature)
    check_keyable(armature)
    layer = bpy.context.view_layer.layer_collection.children["Aside"]
    layer.exclude = True
    # A pointer to it has Blender evaluate it, but not on each frame.
    bpy.types.Scene.some_pointer = bpy.props.PointerProperty(type=bpy.types.Object)
    for pointer in (None, armature):
        bpy.context.scene.some_pointer = pointer
        with pytest.raises(RigError, match="'Rig' is excluded from this view layer"):
            check_keyable(armature)
    del bpy.types.Scene.some_pointer
    layer.exclude = False
    for thing in (armature, aside):
        thing.hide_viewport = True
        with pytest.raises(RigError, match="disabled in viewports"):
            check_keyable(armature)
        thing.hide_viewport = False
    layer.hide_viewport = True
    check_keyable(armature)
    bpy.context.view_layer.objects.active = armature
    layer.hide_viewport = False
    bpy.ops.object.mode_set(mode="EDIT")
    with pytest.raises(RigError, match="leave Edit Mode"):
        check_keyable(armature)
    bpy.ops.object.mode_set(mode="OBJECT")
