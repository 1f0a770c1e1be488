"""Hands of rigs take hold of things: measured on the skin and the mesh as Blender evaluates them, by another way."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import bmesh
import bpy
import numpy as np
import pytest
from mathutils import Matrix
from numpy.typing import NDArray

from knuckle.errors import HandError, RigError
from knuckle.hand import proportions
from knuckle.hand.joints import JOINTS, Side
from knuckle.hand.kinematics import joint_frames
from knuckle.hand.mesh.surface import surface
from knuckle.posing.grasping import contact_frames
from knuckle.posing.grasping.skin_samples import fitted_skin
from knuckle.rig.armature_hands import FoundHand, find_hands
from knuckle.rig.keys.take_scene import new_hand
from knuckle.rig.posing.grasping import Grasped, grasp, pose
from knuckle.rig.posing.posable_hand import make_rig_hand
from knuckle.rig.posing.rig_skin import flesh_of
from knuckle.rig.skin_bones import skins
from knuckle.rig.solid_mesh import solid_of
from knuckle.solvers.solver import limit_excess
from knuckle.tests.blender import things
from knuckle.tests.blender.linked_action import link_action
from knuckle.tests.blender.test_posing_follow import opened

Floats = NDArray[np.float64]
MM = 1e-3
THINGS: dict[str, Callable[[], bpy.types.Object]] = {"mug": things.mug, "pen": things.pen, "ball": things.ball}
GRIPS = {"mug": "wrap", "pen": "write", "ball": "ball"}
HOLDING = {"mug": (0, 1, 2, 3, 4), "pen": (0, 1, 2), "ball": (0, 1, 2, 3)}
"""Digits whose skin is to touch."""


def own(side: Side = "right") -> bpy.types.Object:
    measures = proportions.adult(side)
    return new_hand(measures, proportions.build(measures), bpy.context.scene.collection)[0]


def found_hand(armature: bpy.types.Object, side: Side = "right") -> FoundHand:
    return next(found for found in find_hands(armature) if found.side == side)


def beside_hand(thing: bpy.types.Object, armature: bpy.types.Object, side: Side = "right") -> None:
    """Scales a thing as a hand is larger than an adult's, and stands it before the palm; an arm at rest is nearly
    stretched, for that it stands nearer to the body."""
    held = make_rig_hand(armature, found_hand(armature, side))
    root, size = held.read().pose.root[0], contact_frames.hand_length(held.hand) / 0.185
    place = root[:3, 3] + size * (root[:3, :3] @ [0.0, 0.03, -0.12])
    if len(armature.data.bones) > len(JOINTS):
        place[:2] *= 0.75
    thing.scale = (size, size, size)
    thing.location = place.tolist()
    bpy.context.view_layer.update()


@pytest.mark.parametrize(("roll", "side"), [(-20.0, "right"), (0.0, "right"), (20.0, "right"), (20.0, "left")])
def test_an_upright_mug_is_held_with_the_thumb_above(roll: float, side: Side) -> None:
    armature = own(side)
    armature.rotation_euler.y = np.deg2rad(roll)
    bpy.context.view_layer.update()
    mug = things.mug()
    beside_hand(mug, armature, side)
    done = grasp(armature, found_hand(armature, side), mug, None)
    pose(done, len(done.times) - 1)
    bpy.context.view_layer.update()
    index, little = (
        np.array(armature.matrix_world @ armature.pose.bones[f"{digit}-finger-phalanx-proximal"].head)
        for digit in ("index", "pinky")
    )
    up = (index - little)[2] / np.linalg.norm(index - little)
    assert done.hold.grip.name == "wrap" and up > 0.5, f"its index side points {up:.2f} up"


def check(done: Grasped, thing: bpy.types.Object, what: str, skin: Floats) -> None:
    deepest = things.depths(skin, thing).max()
    assert deepest <= 1 * MM, f"{deepest / MM:.2f} mm deep > 1 mm"
    gaps = done.hold.gaps
    for digit in HOLDING[what]:
        assert gaps[digit].min() < 1 * MM, f"digit {digit} is {gaps[digit].min() / MM:.1f} mm away"
    excess = limit_excess(done.hand_arm.rig_hand.hand, done.hold.angles[None])
    assert np.rad2deg(excess.max()) < 1e-6


def held_skin(armature: bpy.types.Object, side: Side) -> Floats:
    """(V, 3) m, the skin that a hand without one of its own is closed with."""
    found = found_hand(armature, side)
    held = make_rig_hand(armature, found)
    skin: Floats = flesh_of(armature, found, held).posed(joint_frames(held.hand, held.read().pose))[0]
    return skin


@pytest.mark.parametrize(
    ("rig", "side", "what"),
    [
        ("Knuckle's own", "right", "mug"),
        ("Knuckle's own", "right", "pen"),
        ("MakeHuman", "right", "mug"),
        ("MakeHuman", "left", "pen"),
        ("Knuckle's own", "left", "ball"),
        ("Rigify generated, FK", "right", "mug"),
    ],
)
def test_a_thing_is_held_without_going_into_it(rig: str, side: Side, what: str) -> None:
    armature = own(side) if rig == "Knuckle's own" else opened(rig)
    bpy.context.view_layer.update()
    thing = THINGS[what]()
    beside_hand(thing, armature, side)
    done = grasp(armature, found_hand(armature, side), thing)
    bpy.context.view_layer.update()
    assert done.hold.grip.name == GRIPS[what]
    shown = skins(armature)
    assert bool(shown) == (rig in {"Knuckle's own", "MakeHuman"})
    skin = np.concatenate([things.evaluated(mesh)[0] for mesh in shown]) if shown else held_skin(armature, side)
    check(done, thing, what, skin)
    surround(skin, thing)


@pytest.mark.parametrize("turned", [0, 60, 120])
@pytest.mark.parametrize("size", [(0.06, 0.09, 0.04), (0.072, 0.15, 0.008)], ids=["box", "phone"])
def test_a_block_before_the_body_is_held_as_an_arm_comes_to_it(size: tuple[float, float, float], turned: int) -> None:
    armature = opened("MakeHuman")
    block = things.block(size)
    block.rotation_euler.z = np.deg2rad(turned)
    done, shoulder, elbow, wrist = held_at(armature, block, (-0.1, -0.62, -0.35))
    knuckle = arm_points(armature)[-1]
    fore, hand = ((end - begin) / np.linalg.norm(end - begin) for begin, end in ((elbow, wrist), (wrist, knuckle)))
    assert np.rad2deg(np.arccos(fore @ hand)) < 50, "how far the wrist bends"
    assert elbow[2] < shoulder[2]
    assert things.depths(things.evaluated(skins(armature)[0])[0], block).max() < 1 * MM
    assert done.hold.gaps[0].min() < 1 * MM and done.hold.gaps[1:].min() < 1 * MM


def test_an_elbow_stays_below_the_shoulder_where_it_may() -> None:
    _, shoulder, elbow, _ = held_at(opened("MakeHuman"), things.plate(), (-0.3, -0.5, -0.1))
    assert elbow[2] < shoulder[2]


def arm_points(armature: bpy.types.Object) -> list[Floats]:
    """(3,) m in the world: the right shoulder, elbow, wrist and middle knuckle of MakeHuman's rig."""
    seen = armature.evaluated_get(bpy.context.evaluated_depsgraph_get()).pose.bones
    names = "upperarm01.R", "lowerarm01.R", "wrist.R", "finger3-1.R"
    return [np.array(armature.matrix_world @ seen[name].head) for name in names]


def held_at(
    armature: bpy.types.Object, thing: bpy.types.Object, at: tuple[float, float, float]
) -> tuple[Grasped, Floats, Floats, Floats]:
    """Something held that is so many lengths of the arm from the shoulder; and where shoulder, elbow and wrist are."""
    shoulder, elbow, wrist, _ = arm_points(armature)
    reach = np.linalg.norm(elbow - shoulder) + np.linalg.norm(wrist - elbow)
    thing.location = (shoulder + reach * np.array(at)).tolist()
    bpy.context.view_layer.update()
    done = grasp(armature, found_hand(armature), thing)
    bpy.context.view_layer.update()
    shoulder, elbow, wrist, _ = arm_points(armature)
    return done, shoulder, elbow, wrist


def rigify_with_a_skin(arm: Literal["IK", "FK"] = "IK") -> bpy.types.Object:
    """A generated Rigify rig whose deforming bones carry a skin of the right hand; its arms are in IK by themselves."""
    armature = opened("Rigify generated, FK" if arm == "FK" else "Rigify generated")
    bpy.context.view_layer.update()
    held = make_rig_hand(armature, found_hand(armature))
    flesh = fitted_skin(held.hand)
    data = bpy.data.meshes.new("Skin")
    places = flesh.posed(joint_frames(held.hand, held.read().pose))[0]
    data.from_pydata(places.tolist(), [], surface(proportions.adult("right")).quads.tolist())
    skin = bpy.data.objects.new("Skin", data)
    bpy.context.scene.collection.objects.link(skin)
    controls = held.binding.bones
    carried = [f"DEF-{controls[joint]}" if joint else "DEF-hand.R" for joint in range(len(JOINTS))]
    for row, (joints, weights) in enumerate(zip(flesh.joints.tolist(), flesh.weights.tolist(), strict=True)):
        for joint, weight in zip(joints, weights, strict=True):
            name = carried[joint]
            if weight > 0:
                if name not in skin.vertex_groups:
                    skin.vertex_groups.new(name=name)
                skin.vertex_groups[name].add([row], weight, "ADD")
    modifier: Any = skin.modifiers.new("Armature", "ARMATURE")
    modifier.object = armature
    bpy.context.view_layer.update()
    return armature


@pytest.mark.parametrize("what", ["mug", "ball"])
def test_deforming_bones_carry_the_palm_as_well(what: str) -> None:
    """A rig without metacarpals: what no joint is named after carries the skin of the palm, which must not be gone
    into either."""
    armature, thing = rigify_with_a_skin(), THINGS[what]()
    (skin,) = skins(armature)
    assert {group.name for group in skin.vertex_groups} <= set(armature.data.bones.keys())
    found = found_hand(armature)
    assert len(flesh_of(armature, found, make_rig_hand(armature, found)).points) == len(skin.data.vertices)
    beside_hand(thing, armature)
    done = grasp(armature, found, thing)
    bpy.context.view_layer.update()
    check(done, thing, what, things.evaluated(skin)[0])


@pytest.mark.parametrize("arm", ["IK", "FK"])
@pytest.mark.parametrize("what", ["mug", "pen", "ball"])
def test_a_wrist_bends_no_further_than_a_person_bends_it(what: str, arm: Literal["IK", "FK"]) -> None:
    """Also where the arm goes along with the control that the hand is placed by, its elbow where the rig has it."""
    armature, thing = rigify_with_a_skin(arm), THINGS[what]()
    (skin,) = skins(armature)
    before_body(thing, armature)
    found = found_hand(armature)
    done = grasp(armature, found, thing)
    bpy.context.view_layer.update()
    check(done, thing, what, things.evaluated(skin)[0])
    _, elbow, wrist = arm_places(armature, posed=True)
    forearm = (wrist - elbow) / np.linalg.norm(wrist - elbow)
    x, y, z = forearm @ done.hand_arm.rig_hand.read().pose.root[0, :3, :3]
    assert np.rad2deg(np.arccos(y)) < 50.0
    assert abs(np.rad2deg(np.arctan2(z, y))) < 45.0 and abs(np.rad2deg(np.arcsin(x))) < 20.0


def test_the_control_of_an_arm_in_ik_alone_is_moved() -> None:
    armature, thing = rigify_with_a_skin(), things.ball()
    before_body(thing, armature)
    before = {bone.name: np.array(bone.matrix_basis) for bone in armature.pose.bones}
    done = grasp(armature, found_hand(armature), thing)
    now = {bone.name: np.array(bone.matrix_basis) for bone in armature.pose.bones}
    moved = {name for name, stood in before.items() if np.abs(now[name] - stood).max() > 1e-5}
    fingers = {str(bone) for bone in done.hand_arm.rig_hand.binding.bones[1:]}
    assert "hand_ik.R" in moved and moved - {"hand_ik.R"} <= fingers
    pose(done, 0)
    for bone in armature.pose.bones:
        np.testing.assert_array_equal(np.array(bone.matrix_basis), before[bone.name])


def test_an_arm_in_ik_whose_hand_would_not_come_there_is_reported() -> None:
    armature, thing = opened("Rigify generated"), things.ball()
    bpy.context.view_layer.update()
    before = {bone.name: np.array(bone.matrix_basis) for bone in armature.pose.bones}
    thing.location = -2.0, 0.0, 1.0
    bpy.context.view_layer.update()
    with pytest.raises(RigError, match="out of reach"):
        grasp(armature, found_hand(armature), thing)
    for bone in armature.pose.bones:
        np.testing.assert_array_equal(np.array(bone.matrix_basis), before[bone.name])


def arm_places(armature: bpy.types.Object, *, posed: bool) -> Floats:
    """(3, 3) m, shoulder, elbow and wrist of Rigify's deforming bones."""
    names = ("DEF-upper_arm.R", "DEF-forearm.R", "DEF-hand.R")
    bones = [armature.pose.bones[name] for name in names]
    heads = [bone.head if posed else bone.bone.head_local for bone in bones]
    return np.array([armature.matrix_world @ head for head in heads])


def before_body(thing: bpy.types.Object, armature: bpy.types.Object) -> None:
    """Scales a thing to the hand and stands it where a person has what it looks at."""
    places = arm_places(armature, posed=False)
    reach = np.linalg.norm(np.diff(places, axis=0), axis=1).sum()
    size = contact_frames.hand_length(make_rig_hand(armature, found_hand(armature)).hand) / 0.185
    thing.scale = (size, size, size)
    thing.location = (places[0] + reach * np.array([-0.1, -0.62, -0.35])).tolist()
    thing.rotation_euler = {"Mug": (0.0, 0.0, -2.2), "Pen": (0.5, 0.2, 0.0), "Ball": (0.0, 0.0, 0.0)}[thing.name]
    bpy.context.view_layer.update()


def surround(skin: Floats, thing: bpy.types.Object) -> None:
    """What touches cannot be left in any direction: somewhere skin is in the way."""
    vertices, triangles = things.evaluated(thing)
    middle = (vertices.min(axis=0) + vertices.max(axis=0)) / 2
    solid = solid_of(thing)
    near = skin[np.linalg.norm(skin - middle, axis=1) < np.linalg.norm(np.ptp(vertices, axis=0))]
    touching = near[solid.distance(near) < 1.5 * MM]
    normals = np.array([-np.sign(solid.distance(point[None])) * solid.outwards(point) for point in touching])
    axis = np.linalg.svd(normals - normals.mean(axis=0))[2]
    # Along the axis of a bar friction holds: directions across it are asked.
    turn = np.linspace(0, 2 * np.pi, 90, endpoint=False)[:, None]
    ways = np.cos(turn) * axis[0] + np.sin(turn) * axis[1]
    least = (ways @ normals.T).max(axis=1).min()
    assert least > 0.1, f"the thing leaves the hand in a direction that skin is in by {least:.2f}"
    assert len(triangles)


def test_what_modifiers_make_of_a_thing_is_held() -> None:
    """A box that modifiers make a long rounded bar, on an object that is turned and scaled unevenly."""
    armature = own()
    bpy.ops.mesh.primitive_cube_add(size=0.02)
    thing = bpy.context.object
    thing.modifiers.new("Round", "SUBSURF").levels = 3
    array = thing.modifiers.new("Long", "ARRAY")
    array.count, array.relative_offset_displace = 3, (0.0, 0.0, 0.9)
    thing.rotation_euler, thing.scale = (0.7, 0.2, 1.1), (2.5, 3.0, 3.5)
    thing.location = 0.0, 0.05, -0.2
    bpy.context.view_layer.update()
    done = grasp(armature, found_hand(armature), thing)
    bpy.context.view_layer.update()
    deepest = things.depths(things.evaluated(skins(armature)[0])[0], thing).max()
    assert deepest <= 1 * MM and done.hold.gaps[0].min() < 1 * MM and done.hold.gaps[1:].min() < 1 * MM


def test_a_sheet_without_an_inside_is_held_from_one_side() -> None:
    """A cup of one layer: no skin is on its other side, which rays from outside would not reach."""
    armature = own()
    bpy.ops.mesh.primitive_cylinder_add(radius=0.035, depth=0.12, end_fill_type="NOTHING", vertices=64)
    thing = bpy.context.object
    thing.location = 0.0, 0.05, -0.2
    bpy.context.view_layer.update()
    grasp(armature, found_hand(armature), thing)
    bpy.context.view_layer.update()
    local = things.evaluated(skins(armature)[0])[0] - np.array(thing.location)
    within = np.abs(local[:, 2]) < 0.06
    assert np.hypot(local[within, 0], local[within, 1]).min() > 0.0349


def test_the_rim_of_a_plate_is_pinched_and_not_gone_into() -> None:
    """Its slope is deep in the open hand at first."""
    armature, thing = own(), things.plate()
    armature.matrix_world = Matrix.Translation((-0.15, -0.1, 0.0)) @ Matrix.Rotation(-np.pi / 2, 4, "Y")
    bpy.context.view_layer.update()
    done = grasp(armature, found_hand(armature), thing)
    bpy.context.view_layer.update()
    deepest = things.depths(things.evaluated(skins(armature)[0])[0], thing).max()
    assert deepest <= 1 * MM, f"{deepest / MM:.2f} mm deep > 1 mm"
    assert done.hold.grip.name == "pinch" and np.all(done.hold.gaps[:3].min(axis=1) < 1 * MM)


def test_the_way_begins_where_the_hand_stood_and_keeps_clear_until_it_holds() -> None:
    armature, thing = own(), things.mug()
    beside_hand(thing, armature)
    found = found_hand(armature)
    before = make_rig_hand(armature, found).read().pose
    done = grasp(armature, found, thing, steps=5)
    np.testing.assert_allclose(done.approach.root[0], before.root[0], atol=1e-6)
    np.testing.assert_allclose(done.approach.angles[0], before.angles[0], atol=1e-6)
    np.testing.assert_allclose(done.approach.root[-1], done.hold.root, atol=1e-6)
    assert np.all(np.diff(done.times) > 0) and done.times[0] == 0 and done.times[-1] == pytest.approx(1.0)
    flesh, solid = flesh_of(armature, found, done.hand_arm.rig_hand), solid_of(thing)
    straight = flesh.posed(joint_frames(done.hand_arm.rig_hand.hand, done.approach)[6:])
    deepest = min(float(solid.distance(skin).min()) for skin in straight)
    assert deepest > -1 * MM


def test_an_arm_comes_from_where_it_stood() -> None:
    armature, thing = opened("MakeHuman"), things.ball()
    bpy.context.view_layer.update()
    beside_hand(thing, armature)
    before = np.array([bone.matrix_basis for bone in armature.pose.bones])
    done = grasp(armature, found_hand(armature), thing, steps=3)
    bpy.context.view_layer.update()
    held = np.array([bone.matrix for bone in armature.pose.bones])
    pose(done, 0)
    np.testing.assert_array_equal([np.array(bone.matrix_basis) for bone in armature.pose.bones], before)
    pose(done, len(done.times) - 1)
    bpy.context.view_layer.update()
    np.testing.assert_allclose([np.array(bone.matrix) for bone in armature.pose.bones], held, atol=1e-4)


@pytest.mark.parametrize("place", [(0.0, 0.0, 0.0), (-4.0, 7.0, 1.4)])
@pytest.mark.parametrize("flipped", [False, True])
def test_distances_from_a_mesh_are_those_by_every_triangle(flipped: bool, place: tuple[float, float, float]) -> None:
    thing = things.mug()
    thing.location = place
    thing.rotation_euler, thing.scale = (0.3, 1.0, 2.0), (1.0, 1.5, -0.8)
    if flipped:
        thing.data.flip_normals()
    bpy.context.view_layer.update()
    solid = solid_of(thing)
    points = np.random.default_rng(0).uniform(solid.vertices.min(0), solid.vertices.max(0), (400, 3))
    far, deep = solid.distance(points), things.depths(points, thing)
    assert solid.closed
    # Where the handle ends inside the wall what is inside both is reported too, also beside the wall.
    np.testing.assert_array_equal(far < 0, deep > 0)
    both = (far < 0) & (deep > 0)
    assert np.all(deep[both] <= -far[both] + 1e-5), "by every triangle also those inside the other piece are near"
    assert np.mean(-far[both] - deep[both] < 1e-5) > 0.9
    np.testing.assert_array_equal(far > 0, deep == 0)


def test_the_way_out_of_a_surface_is_that_of_a_ball_and_of_a_sheet() -> None:
    """Against their formulas; beside the edge of a sheet nothing is below it."""
    points = np.random.default_rng(0).uniform(-0.08, 0.08, (300, 3))
    bpy.ops.mesh.primitive_ico_sphere_add(radius=0.05, subdivisions=6)
    feet, outwards, far = solid_of(bpy.context.object).nearest_facing(points, np.zeros(3))
    from_middle = np.linalg.norm(points, axis=1)
    clear = from_middle > 0.01
    assert np.abs(far - (from_middle - 0.05))[clear].max() < 1e-4
    assert (np.einsum("ni,ni->n", outwards, points) / from_middle)[clear].min() > 0.999
    assert np.abs(feet + far[:, None] * outwards - points)[clear].max() < 1e-5
    bpy.ops.mesh.primitive_plane_add(size=0.1)
    sheet, over = solid_of(bpy.context.object), np.abs(points[:, :2]).max(axis=1) < 0.05
    for side in (1.0, -1.0):
        _, outwards, far = sheet.nearest_facing(points, np.array([0.0, 0.0, side]))
        assert np.abs(far - side * points[:, 2])[over].max() < 1e-6
        assert np.abs(outwards[over] - [0.0, 0.0, side]).max() < 1e-3
        beside = np.linalg.norm(np.maximum(np.abs(points[:, :2]) - 0.05, 0.0), axis=1) > 0.05
        assert (far[beside] > 0.0).all()


def test_what_is_hollow_has_no_inside_there() -> None:
    """A ball with a ball of air in it, and another ball that goes into it."""
    mesh = bmesh.new()
    for radius, place in ((0.05, 0.0), (0.03, 0.0), (0.02, 0.06)):
        made = bmesh.ops.create_icosphere(mesh, subdivisions=4, radius=radius, matrix=Matrix.Translation((place, 0, 0)))
        if radius == 0.03:
            faces = {face for vertex in made["verts"] for face in vertex.link_faces}
            bmesh.ops.reverse_faces(mesh, faces=list(faces))
    data = bpy.data.meshes.new("Hollow")
    mesh.to_mesh(data)
    thing = bpy.data.objects.new("Hollow", data)
    bpy.context.scene.collection.objects.link(thing)
    bpy.context.view_layer.update()
    along = np.linspace(-0.1, 0.1, 401)
    far = solid_of(thing).distance(np.stack([along, 0 * along, 0 * along], -1))
    ring = np.maximum(np.abs(along) - 0.05, 0.03 - np.abs(along))
    np.testing.assert_allclose(far, np.minimum(ring, np.abs(along - 0.06) - 0.02), atol=2e-4)


class TestWhatCannotBeHeld:
    """Each is reported in a sentence, and the hand stays as it was."""

    def refused(self, thing: bpy.types.Object, why: str, error: type[Exception] = HandError) -> None:
        armature = own()
        bpy.context.view_layer.update()
        before = [np.array(bone.matrix_basis) for bone in armature.pose.bones]
        with pytest.raises(error, match=why):
            grasp(armature, found_hand(armature), thing)
        np.testing.assert_array_equal([np.array(bone.matrix_basis) for bone in armature.pose.bones], before)

    def test_too_large(self) -> None:
        self.refused(things.ball(0.15), r"300 mm thick and the hand opens to 115 mm")

    def test_without_faces(self) -> None:
        bpy.ops.mesh.primitive_circle_add(fill_type="NOTHING")
        self.refused(bpy.context.object, "no surface", RigError)

    def test_flat(self) -> None:
        bpy.ops.mesh.primitive_plane_add(size=0.05)
        self.refused(bpy.context.object, "volume")

    @pytest.mark.parametrize("scale", [(0.0, 0.0, 0.0), (0.0, 0.0, 1.0)])
    def test_squeezed_to_nothing(self, scale: tuple[float, float, float]) -> None:
        thing = things.ball()
        thing.scale = scale
        bpy.context.view_layer.update()
        self.refused(thing, "no extent|no surface", RigError)

    def test_squeezed_flat(self) -> None:
        thing = things.ball()
        thing.scale = 1.0, 0.0, 1.0
        bpy.context.view_layer.update()
        self.refused(thing, "volume")

    def test_nowhere(self) -> None:
        thing = things.ball()
        thing.scale = float("nan"), 1.0, 1.0
        bpy.context.view_layer.update()
        self.refused(thing, "not finite", RigError)

    def test_an_empty(self) -> None:
        thing = bpy.data.objects.new("Nothing", None)
        bpy.context.scene.collection.objects.link(thing)
        self.refused(thing, "no surface", RigError)

    def test_the_hand_itself(self) -> None:
        armature = own()
        bpy.context.view_layer.update()
        with pytest.raises(RigError, match="belongs to the hand"):
            grasp(armature, found_hand(armature), skins(armature)[0])

    def test_out_of_the_arms_reach(self) -> None:
        armature, thing = opened("MakeHuman"), things.ball()
        thing.location = 3.0, 0.0, 1.0
        bpy.context.view_layer.update()
        with pytest.raises(RigError, match="out of reach"):
            grasp(armature, found_hand(armature), thing)


@pytest.fixture
def scene(extension: None) -> bpy.types.Object:
    """Knuckle's own hand, active, and a ball before it."""
    armature, thing = own(), things.ball()
    beside_hand(thing, armature)
    bpy.context.view_layer.objects.active = armature
    bpy.context.scene.knuckle_grasp.target = thing
    return armature


def poses_of(armature: bpy.types.Object) -> Floats:
    return np.array([bone.matrix_basis for bone in armature.pose.bones])


@pytest.mark.usefixtures("extension")
def test_an_operator_without_an_object_says_what_it_needs() -> None:
    bpy.context.view_layer.objects.active = own()
    with pytest.raises(RuntimeError, match="expected one mesh object"):
        bpy.ops.knuckle.grasp()


def test_the_object_selected_beside_the_armature_is_held(scene: bpy.types.Object) -> None:
    thing, bpy.context.scene.knuckle_grasp.target = bpy.context.scene.knuckle_grasp.target, None
    for obj in bpy.context.scene.objects:
        obj.select_set(True)
    before = poses_of(scene)
    assert bpy.ops.knuckle.grasp() == {"FINISHED"}
    assert np.abs(poses_of(scene) - before).max() > 0.1 and thing.name == "Ball"
    assert scene.animation_data is None


def test_the_approach_is_keyed_if_asked_and_ends_as_the_hand_holds(scene: bpy.types.Object) -> None:
    chosen = bpy.context.scene.knuckle_grasp
    chosen.keyed, chosen.begins, chosen.start, chosen.length, chosen.steps = True, "FRAME", 10, 20, 4
    before = poses_of(scene)
    unkeyed = bpy.data.objects.new("Cup", None)
    unkeyed.keyframe_insert("location", frame=1)
    unkeyed.location.x = 2.0
    assert bpy.ops.knuckle.grasp() == {"FINISHED"}
    bpy.context.view_layer.update()
    assert unkeyed.location.x == 2.0, "what is animated and was moved without a key stays"
    np.testing.assert_allclose(poses_of(scene), before, atol=1e-5)
    bpy.context.scene.frame_set(10)
    np.testing.assert_allclose(poses_of(scene), before, atol=1e-5)
    bpy.context.scene.frame_set(30)
    bpy.context.view_layer.update()
    deepest = things.depths(things.evaluated(skins(scene)[0])[0], chosen.target).max()
    assert deepest <= 1 * MM
    held = make_rig_hand(scene, found_hand(scene))
    gaps = solid_of(chosen.target).distance(
        flesh_of(scene, found_hand(scene), held).posed(joint_frames(held.hand, held.read().pose))[0]
    )
    assert gaps.min() < 0.5 * MM


@pytest.mark.parametrize(("begins", "stands", "holds"), [("HERE", 7, 19), ("BEFORE", -5, 7)])
def test_the_approach_is_about_the_frame_that_is_shown(
    scene: bpy.types.Object, begins: Literal["HERE", "BEFORE"], stands: int, holds: int
) -> None:
    chosen = bpy.context.scene.knuckle_grasp
    assert chosen.begins == "HERE", "as it is without a choice"
    chosen.keyed, chosen.begins, chosen.length, chosen.steps = True, begins, 12, 2
    bpy.context.scene.frame_set(7)
    assert bpy.ops.knuckle.grasp() == {"FINISHED"}
    np.testing.assert_array_equal(scene.animation_data.action.frame_range, [stands, holds])


def test_older_keys_within_the_approach_are_not_gone_through(scene: bpy.types.Object) -> None:
    bone, other = (scene.pose.bones[name] for name in ("index-finger-phalanx-proximal", "thumb-tip"))
    for frame in (-8, 1, 4, 20, 25, 60):
        bone.rotation_quaternion = (1.0, -1.0 if frame == 4 else 0.01 * frame, 0.0, 0.0)
        bone.keyframe_insert("rotation_quaternion", frame=frame)
        bone.keyframe_insert("scale", frame=frame)
    bpy.context.scene.frame_set(1)
    curves = scene.animation_data.action.layers[0].strips[0].channelbag(scene.animation_data.action_slot).fcurves
    path = bone.path_from_id("rotation_quaternion")

    def keys(path: str) -> dict[float, float]:
        return {key.co[0]: key.co[1] for key in curves.find(path, index=1).keyframe_points}

    before, scaled = keys(path), keys(bone.path_from_id("scale"))
    chosen = bpy.context.scene.knuckle_grasp
    chosen.keyed, chosen.length = True, 24
    assert bpy.ops.knuckle.grasp() == {"FINISHED"}
    after = keys(path)
    assert set(after) == set(keys(other.path_from_id("rotation_quaternion"))) | {-8, 60}
    assert after[-8] == before[-8] and after[60] == before[60]
    assert keys(bone.path_from_id("scale")) == scaled, "a channel that is not keyed stays"
    bends = [curves.find(path, index=1).evaluate(frame) for frame in range(1, 26)]
    assert min(bends) > -0.6, "it does not close on frame 4"


@pytest.mark.parametrize("way", ["keyed", "auto-key"])
def test_an_action_that_takes_no_keys_is_reported_before_anything_is_posed(
    scene: bpy.types.Object, way: str, tmp_path: Path
) -> None:
    scene.keyframe_insert("location", frame=1)
    link_action(scene, tmp_path)
    bpy.context.scene.knuckle_grasp.keyed = way == "keyed"
    bpy.context.scene.tool_settings.use_keyframe_insert_auto = way == "auto-key"
    before = poses_of(scene)
    with pytest.raises(RuntimeError, match="takes no keys"):
        bpy.ops.knuckle.grasp()
    np.testing.assert_array_equal(poses_of(scene), before)


@pytest.fixture
def auto_key() -> None:
    """Keys whatever was changed."""
    bpy.context.scene.tool_settings.use_keyframe_insert_auto = True
    edit = bpy.context.preferences.edit
    edit.use_keyframe_insert_available = edit.use_auto_keyframe_insert_needed = False


@pytest.mark.usefixtures("auto_key")
def test_auto_keying_keys_the_bones_that_moved_and_no_others(scene: bpy.types.Object) -> None:
    before = poses_of(scene)
    assert bpy.ops.knuckle.grasp() == {"FINISHED"}
    away = np.abs(poses_of(scene) - before).max(axis=(1, 2))
    moved = {bone.name for bone, far in zip(scene.pose.bones, away, strict=True) if far > 1e-5}
    action = scene.animation_data.action
    curves = action.layers[0].strips[0].channelbag(scene.animation_data.action_slot).fcurves
    assert {curve.data_path.split('"')[1] for curve in curves} == moved


@pytest.mark.usefixtures("auto_key")
def test_auto_keying_keys_this_frame(scene: bpy.types.Object) -> None:
    bpy.context.scene.frame_set(7)
    assert bpy.ops.knuckle.grasp() == {"FINISHED"}
    held = poses_of(scene)
    bpy.context.scene.frame_set(3)
    bpy.context.scene.frame_set(7)
    np.testing.assert_allclose(poses_of(scene), held, atol=1e-5)
