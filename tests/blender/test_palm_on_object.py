"""Palms that corrections lay on objects: the evaluated skin rests on them, and other keys stay as they are."""

import re
from collections import Counter
from dataclasses import replace
from typing import Any

import bpy
import numpy as np
import pytest
from mathutils import Matrix, Quaternion, Vector
from mathutils.bvhtree import BVHTree
from numpy.typing import NDArray

from knuckle.hand import proportions
from knuckle.hand.generators import run_to_end
from knuckle.hand.joints import JOINTS
from knuckle.pipeline.corrections.correction import Correction, HeldOnObject, PalmPlace, TimeRange, is_palm
from knuckle.pipeline.recipe import DriveChoice
from knuckle.pipeline.take import Take
from knuckle.rig.default_hand import add_hand
from knuckle.rig.keys.corrections import palm_on_object
from knuckle.rig.keys.corrections.corrected_take import (
    corrections_of,
    hands_of_take,
    waiting_of,
)
from knuckle.rig.keys.corrections.place_on_object import chosen_on_object
from knuckle.rig.keys.corrections.waiting import shortened_of
from knuckle.rig.keys.take_scene import TakeTiming, write_take
from knuckle.tests.blender.test_held_touch import FIRST, LAST, RATE, half_closed
from knuckle.tests.blender.test_reduce_keys import two_armed
from knuckle.tests.blender.test_spliced_takes import keys
from knuckle.tests.blender.touching_objects import BLEND, HELD, hold, shown, still

pytestmark = pytest.mark.usefixtures("extension")
Floats = NDArray[np.float64]
TIPS = [f"{finger}-finger-phalanx-distal" for finger in ("index", "middle", "ring", "pinky")]
TILT = 8.0
"""Degrees by which the palm is tilted against the table."""


def flat_take(drive: DriveChoice = "wrist") -> Take:
    """A hand that is nearly flat, its thumb beside the palm, whose wrist sways by some millimetres and degrees."""
    made = still()
    (hand,) = made.hands
    model, angles, row = hand.hand, 0.3 * hand.pose.angles, np.arange(len(hand.pose))
    out = {("thumb-metacarpal", "abduction"): -0.9, ("thumb-metacarpal", "flexion"): -0.2}
    for axis, (joint, movement) in enumerate(zip(model.axis_joint.tolist(), model.movements, strict=True)):
        angles[:, axis] += out.get((JOINTS[joint], movement), 0.0)
    root = hand.pose.root.copy()
    root[:, :3, 3] += 3e-3 * np.stack([np.sin(row / 5), np.cos(row / 7), np.sin(row / 6)], axis=1)
    pose = replace(hand.pose, root=root, angles=np.clip(angles, *model.limits.T))
    return replace(made, hands=(replace(hand, pose=pose),), recipe=replace(made.recipe, drive=drive))


def playing(armature: bpy.types.Object, made: Take) -> bpy.types.Object:
    scene = bpy.context.scene
    scene.render.fps = round(RATE)
    bpy.context.view_layer.objects.active = armature
    write_take(made, armature, scene, scene.collection, TakeTiming())
    bpy.context.view_layer.objects.active = armature
    return armature


@pytest.fixture
def armature() -> bpy.types.Object:
    return playing(add_hand(proportions.adult("right"), "Rig", bpy.context.scene.collection), flat_take())


def table(armature: bpy.types.Object, wrist_bone: str = "wrist", *, about: int = 0) -> bpy.types.Object:
    """A table that the hand is in, at an angle to the palm about an axis of it; it moves by some millimetres."""
    bpy.context.scene.frame_set((FIRST + LAST) // 2)
    wrist = np.array(armature.matrix_world @ armature.pose.bones[wrist_bone].matrix)
    bpy.ops.mesh.primitive_cube_add()
    made = bpy.context.object
    made.name, made.scale = "Table", (0.15, 0.2, 0.03)
    up = Quaternion(wrist[:3, about].tolist(), np.deg2rad(TILT)) @ Vector(wrist[:3, 2].tolist())
    made.rotation_euler = up.to_track_quat("Z", "Y").to_euler()
    made.location = Vector((wrist[:3, 3] + 0.08 * wrist[:3, 1] - 0.045 * wrist[:3, 2]).tolist())
    made.keyframe_insert("location", frame=FIRST - BLEND)
    made.location.x += 5e-3
    made.keyframe_insert("location", frame=LAST + BLEND)
    bpy.context.view_layer.objects.active = armature
    bpy.context.view_layer.update()
    return made


def measured(armature: bpy.types.Object, table: bpy.types.Object) -> tuple[Floats, Floats, list[str]]:
    """The distances (F, V) m of the skin's vertices from a table, negative in it, their places on it (F, V, 3), and the
    bones that move them most."""
    (mesh,) = (each for each in armature.children if each.vertex_groups)
    bones = [mesh.vertex_groups[max(v.groups, key=lambda of: of.weight).group].name for v in mesh.data.vertices]
    far, places = [], []
    for frame in (FIRST, (FIRST + LAST) // 2, LAST):
        bpy.context.scene.frame_set(frame)
        graph = bpy.context.evaluated_depsgraph_get()
        seen, solid = mesh.evaluated_get(graph), table.evaluated_get(graph)
        world = solid.matrix_world
        corners, faces = (
            [[*(world @ v.co)] for v in solid.data.vertices],
            [[*face.vertices] for face in solid.data.polygons],
        )
        tree, into = BVHTree.FromPolygons(corners, faces), np.array(world.normalized().inverted())
        points = np.array([seen.matrix_world @ vertex.co for vertex in seen.data.vertices])
        hits = [tree.find_nearest(point) for point in points.tolist()]
        inside = [(Vector(point) - hit[0]).dot(hit[1]) < 0 for point, hit in zip(points.tolist(), hits, strict=True)]
        far.append([-hit[3] if deep else hit[3] for hit, deep in zip(hits, inside, strict=True)])
        places.append(points @ into[:3, :3].T + into[:3, 3])
    return np.array(far), np.array(places), bones


def assert_others_stay(armature: bpy.types.Object, before: Any) -> None:
    """All keys outside the range are the same to the bit."""
    after = keys(armature)
    for place, of_curve in before.items():
        for frame, key in of_curve.items():
            if not FIRST - BLEND - 0.01 <= frame <= LAST + BLEND + 0.01:
                assert after[place][frame] == key, (place, frame)


def test_a_palm_rests_on_an_object_and_fingers_stay_out_of_it(
    armature: bpy.types.Object, monkeypatch: pytest.MonkeyPatch
) -> None:
    thing, before = table(armature), keys(armature)
    hold(tips={"palm", "index-finger"})
    (one,) = corrections_of(armature)
    assert (
        isinstance(one.change, HeldOnObject) and one.change.palm is not None and one.change.digits == ("index-finger",)
    )
    assert waiting_of(shown().base) == {} == shortened_of(shown().base)
    far, places, bones = measured(armature, thing)
    assert np.percentile(-far, 99) < 1e-3 and far.min() > -1.5e-3
    palm = np.array([bone == "wrist" or is_palm(bone) for bone in bones])
    touching = palm & (np.abs(far).max(axis=0) < 1e-3)
    assert touching.any(), "it is there in all frames"
    assert np.ptp(places[:, touching], axis=0).max() < 1e-3, "and does not slip"
    for side in ("index", "pinky"):
        assert far[:, [side in bone and is_palm(bone) for bone in bones]].min() < 2e-3, "and flat"
    finger = np.array([bone == "index-finger-phalanx-distal" for bone in bones])
    assert np.abs(far[:, finger].min(axis=1)).max() < 1e-3
    assert_others_stay(armature, before)

    held = keys(armature)
    with monkeypatch.context() as without:
        # A slider step rests no palm anew.
        for search in ("rest_on_surface", "_deepest_skin"):
            without.setattr(palm_on_object, search, None)
        shown().write((replace(one, factor=0.5),))
    assert waiting_of(shown().base) == {}
    half = keys(armature)
    path = ('pose.bones["wrist"].location', 2)
    middle = float((FIRST + LAST) // 2)
    at = [of[path][middle][-1][1] for of in (before, held, half)]
    assert abs(at[1] - at[0]) > 1e-3 and at[2] == pytest.approx((at[0] + at[1]) / 2, abs=1e-6)
    shown().write((replace(one, muted=True),))
    assert keys(armature) == before
    shown().write((one,))
    assert keys(armature) == held
    shown().write(())
    assert keys(armature) == before


def test_each_frame_is_evaluated_once(armature: bpy.types.Object) -> None:
    table(armature)
    seen = Counter[int]()

    def count(scene: bpy.types.Scene, *_: object) -> None:
        seen[scene.frame_current] += scene.name.startswith("Knuckle")

    bpy.app.handlers.frame_change_post.append(count)
    try:
        hold(tips={"palm"}, first=FIRST, last=LAST, blend=3)
    finally:
        bpy.app.handlers.frame_change_post.remove(count)
    assert waiting_of(shown().base) == {}
    assert set(range(FIRST, LAST + 1)) <= set(+seen)
    assert seen.total() <= LAST - FIRST + 2, "of the frame in the middle the surface is read as well"


def test_work_that_is_left_half_done_changes_nothing(armature: bpy.types.Object) -> None:
    table(armature)
    bpy.context.scene.frame_set(7)
    place = PalmPlace(np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]))
    start, end = shown().clock.times([FIRST - BLEND, LAST + BLEND])
    one = Correction("c1", "Palm", "right", TimeRange(start, end, 0.3, 0.3), HeldOnObject("Table", (), place))

    def state() -> tuple[object, ...]:
        animation = armature.animation_data
        there = [len(each) for each in (bpy.data.scenes, bpy.data.actions, bpy.data.objects)]
        return there, animation.action, bpy.context.scene, bpy.context.scene.frame_current, keys(armature)

    before, work = state(), shown().composing((one,), {})
    steps = [next(work).fraction for _ in range(3)]
    assert steps == sorted(steps), "it tells how far it is"
    work.close()
    assert state() == before


def test_fingertips_below_a_plane_do_not_turn_it_over() -> None:
    made = half_closed()
    armature = playing(
        add_hand(proportions.adult("right"), "Rig", bpy.context.scene.collection),
        replace(made, recipe=replace(made.recipe, drive="wrist")),
    )
    (of,) = hands_of_take(armature, shown().base)
    frames = of.frames[FIRST : FIRST + 3]
    bpy.context.scene.frame_set(int(frames[1]))
    wrist = armature.matrix_world @ armature.pose.bones["wrist"].matrix
    back, along = wrist.col[2].to_3d(), wrist.col[1].to_3d()
    bpy.ops.mesh.primitive_plane_add(size=0.4)
    bpy.context.object.name, bpy.context.object.rotation_mode = "Table", "QUATERNION"
    bpy.context.object.rotation_quaternion = back.to_track_quat("Z", "Y")
    bpy.context.object.location = wrist.translation + 0.05 * along - 0.018 * back
    tips = [armature.matrix_world @ armature.pose.bones[name].tail for name in TIPS]
    assert all((tip - bpy.context.object.location).dot(back) < -0.035 for tip in tips), "with their backs"
    palm = run_to_end(chosen_on_object(of, "Table", (), of.keys(frames), frames, palm=True)).palm
    assert palm is not None and palm.place[2] > 0.0, "it rests on the side that it faces"


def test_an_arm_brings_the_palm_to_an_object_from_where_its_shoulder_is() -> None:
    made = flat_take("arm")
    (hand,) = made.hands
    root = hand.pose.root.copy()
    root[:, :3, 3] += np.array([0.25, -0.05, 0.0]) - root[0, :3, 3]
    body = playing(two_armed(), replace(made, hands=(replace(hand, pose=replace(hand.pose, root=root)),)))
    bones, before = ("upper_arm.R", "forearm.R", "wrist.R"), keys(body)
    table(body, "wrist.R")
    was = heads(body, bones)
    hold(tips={"palm"})
    assert waiting_of(shown().base) == {}
    now = heads(body, bones)
    assert np.abs(now[:, 0] - was[:, 0]).max() < 1e-6, "the shoulder stays"
    lengths = [np.linalg.norm(np.diff(each, axis=1), axis=2) for each in (was, now)]
    assert np.abs(lengths[1] - lengths[0]).max() < 1e-5, "and no bone is longer"
    moved = np.linalg.norm(now - was, axis=2).max(axis=0)
    assert 5e-3 < moved[2] < 0.06 and moved[1] < moved[2], "the wrist moves, and the elbow less"
    held = now[HELD[0] - 1 : HELD[-1], 2] - places_of_table()
    assert np.ptp(held, axis=0).max() < 1e-3, "with the table"
    assert_others_stay(body, before)
    turned = {place[0].split('"')[1] for place, curve in keys(body).items() if curve != before[place]}
    assert {*bones} <= turned


def test_a_palm_that_rests_shorter_than_asked_says_in_which_frames(armature: bpy.types.Object) -> None:
    table(armature)
    first, last, blend = FIRST - BLEND, LAST + BLEND, 2
    hold(tips={"palm"}, first=first, last=last, blend=blend)
    (reported,) = shortened_of(shown().base).values()
    found = re.fullmatch(
        rf"it is held from frame (\d+) to (\d+), not {first + blend} to {last - blend}, because the motion there takes "
        r"(\d+) frames? more than its blend and the motion back takes (\d+) frames? more than its blend: "
        r"for all of them give it frames \d+ to \d+ and blends of \d+(?: and \d+)? frames?",
        reported,
    )
    assert found, reported
    held, longer = [int(each) for each in found.groups()[:2]], [int(each) for each in found.groups()[2:]]
    assert held == [first + blend + longer[0], last - blend - longer[1]]
    rests = np.array([by_table(armature, frame) for frame in range(first, last + 1)])
    there = rests[held[0] - first : held[1] - first + 1]
    assert np.ptp(there, axis=0).max() < 1e-5, "it does not move in these frames"
    away = np.linalg.norm(rests - there[0], axis=1)
    assert away[held[0] - first - 1] > 1e-5 < away[held[1] - first + 1], "and does in those beside them"
    made = shown().corrections
    assert shown().write(made) == (), "it was reported when it was made"


def by_table(armature: bpy.types.Object, frame: int) -> Floats:
    """(16,) where the wrist is in the table's axes."""
    bpy.context.scene.frame_set(frame)
    table = bpy.data.objects["Table"].matrix_world.normalized()
    posed = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
    return np.array(table.inverted() @ posed.matrix_world @ posed.pose.bones["wrist"].matrix).ravel()


def test_the_bones_of_a_forearm_share_what_the_palm_turns_about_it() -> None:
    """The forearm and its twist bone turn as the skin does in their middles: by a quarter, and by three."""
    made = flat_take("arm")
    (hand,) = made.hands
    root = hand.pose.root.copy()
    root[:, :3, 3] += np.array([0.25, -0.05, 0.0]) - root[0, :3, 3]
    body = playing(two_armed(), replace(made, hands=(replace(hand, pose=replace(hand.pose, root=root)),)))
    table(body, "wrist.R", about=1)
    names = ("forearm.R", "forearm_twist.R", "wrist.R")
    was = in_arm(body, names)
    hold(tips={"palm"})
    assert waiting_of(shown().base) == {}
    turns = [now @ before.inverted() for now, before in zip(in_arm(body, names), was, strict=True)]
    fore, twist, wrist = (2 * np.arctan(turn.to_quaternion().y / turn.to_quaternion().w) for turn in turns)
    assert abs(wrist) > np.deg2rad(TILT) / 2
    assert fore == pytest.approx(0.25 * wrist, rel=0.02) and twist == pytest.approx(0.75 * wrist, rel=0.02)


def in_arm(armature: bpy.types.Object, names: tuple[str, ...]) -> list[Matrix]:
    """The rotations of bones in the frame of their arm: along its forearm, and across the plane in which it bends."""
    bpy.context.scene.frame_set((FIRST + LAST) // 2)
    posed = armature.evaluated_get(bpy.context.evaluated_depsgraph_get()).pose.bones
    shoulder, elbow, wrist = (posed[name].head for name in ("upper_arm.R", "forearm.R", "wrist.R"))
    along = (wrist - elbow).normalized()
    across = (elbow - shoulder).cross(along).normalized()
    arm = Matrix([[*across], [*along], [*across.cross(along)]])
    return [arm @ posed[name].matrix.to_3x3() for name in names]


def heads(armature: bpy.types.Object, bones: tuple[str, ...]) -> Floats:
    """(F, N, 3) m where bones begin, from frame 1 on."""
    found = []
    for frame in range(1, 61):
        bpy.context.scene.frame_set(frame)
        posed = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
        found.append([posed.matrix_world @ posed.pose.bones[bone].head for bone in bones])
    return np.array(found)


def places_of_table() -> Floats:
    """(F, 3) m where the table is in the frames in which the palm is held."""
    found = []
    for frame in HELD:
        bpy.context.scene.frame_set(frame)
        found.append([*bpy.data.objects["Table"].matrix_world.translation])
    return np.array(found)


def test_a_hand_that_the_take_does_not_place_is_reported_with_what_it_needs(armature: bpy.types.Object) -> None:
    table(armature)
    playing(armature, flat_take("fingers"))
    before = keys(armature)
    with pytest.raises(RuntimeError, match=r"does not move the right hand to its place, .* solve with Drive: Wrist"):
        hold(tips={"palm"})
    assert keys(armature) == before and corrections_of(armature) == ()


def test_a_body_whose_wrist_alone_is_keyed_is_reported_with_the_arm_to_choose(armature: bpy.types.Object) -> None:
    table(armature)
    body = playing(two_armed(), flat_take("wrist"))
    before = keys(body)
    with pytest.raises(RuntimeError, match="solve with Drive: Arm, or hold fingertips alone"):
        hold(tips={"palm"})
    assert keys(body) == before and corrections_of(body) == ()


def test_a_palm_that_cannot_rest_is_reported_with_the_reason_and_no_correction_is_made(
    armature: bpy.types.Object,
) -> None:
    thing, before = table(armature), keys(armature)
    thing.animation_data_clear()
    place, up = thing.location.copy(), thing.rotation_euler.to_matrix() @ Vector((0.0, 0.0, 1.0))
    for shift, tilt, sentence in ((-1.0, 0.0, "does not reach 'Table': it stays"), (-0.1, 55.0, "would rotate by")):
        thing.location = place + shift * up
        turned = Quaternion(thing.rotation_euler.to_matrix().col[0], np.deg2rad(tilt))
        thing.rotation_euler = (turned @ thing.rotation_euler.to_quaternion()).to_euler()
        bpy.context.view_layer.update()
        with pytest.raises(RuntimeError, match=sentence):
            hold(tips={"palm"})
    assert keys(armature) == before and corrections_of(armature) == ()


def test_a_wrist_that_not_only_keys_move_is_told_by_what(armature: bpy.types.Object) -> None:
    table(armature)
    before, wrist = keys(armature), armature.pose.bones["wrist"]
    limit = wrist.constraints.new("LIMIT_LOCATION")
    with pytest.raises(RuntimeError, match="constraint 'Limit Location' of 'wrist' may keep the palm from its target"):
        hold(tips={"palm"})
    limit.mute = True
    wrist.driver_add("location", 2)
    with pytest.raises(RuntimeError, match="driver moves 'wrist'"):
        hold(tips={"palm"})
    wrist.driver_remove("location", 2)
    limit.mute = False
    place = PalmPlace(np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]))
    start, end = shown().clock.times([FIRST, LAST])
    one = Correction("c1", "Palm", "right", TimeRange(start, end), HeldOnObject("Table", (), place))
    shown().write((one,))
    assert "Limit Location" in waiting_of(shown().base)["c1"] and keys(armature) == before


def test_progress_of_composing_goes_from_nothing_to_all() -> None:
    armature = playing(add_hand(proportions.adult("right"), "Rig", bpy.context.scene.collection), flat_take())
    table(armature)
    hold(tips={"palm"})
    take, fractions = shown(), list[float]()
    run_to_end(take.composing(take.corrections, {}), lambda progress: fractions.append(progress.fraction))
    assert len(fractions) > 2
    assert min(fractions) >= 0.0 and max(fractions) <= 1.0 and np.diff(fractions).min() >= 0.0
