"""What is dragged onto a surface touches it by the skin as Blender evaluates it, and stands above where it was put."""

import bmesh
import bpy
import numpy as np
import pytest
from mathutils import Matrix
from numpy.typing import NDArray

from knuckle.hand.joints import CHAIN_JOINTS, JOINT_INDEX, Side, digit_of
from knuckle.hand.kinematics import Pose
from knuckle.rig.armature_hands import FoundHand, find_hands
from knuckle.rig.posing.dragging import start_rig_drag
from knuckle.rig.posing.following import HandArm, hand_arm_of
from knuckle.rig.posing.rig_hand import HandState
from knuckle.rig.posing.surface_contact import SurfaceHit, padded
from knuckle.rig.skin_bones import skins
from knuckle.tests.blender import things
from knuckle.tests.blender.test_posing_follow import opened
from knuckle.tests.blender.test_posing_grasp import own, rigify_with_a_skin

Floats = NDArray[np.float64]
MM = 1e-3
RIGS = {
    "Knuckle's own": own,
    "MakeHuman": lambda side: opened("MakeHuman"),
    "Rigify with a skin": lambda side: rigify_with_a_skin(),
}


def mostly_of(armature: bpy.types.Object, bones: set[str]) -> Floats:
    """(V, 3) m in the world, the vertices as evaluated that bones carry by more than half."""
    found = []
    for obj in skins(armature):
        groups = {group.index for group in obj.vertex_groups if group.name in bones}
        rows = [
            vertex.index
            for vertex in obj.data.vertices
            if sum(each.weight for each in vertex.groups if each.group in groups) > 0.5
        ]
        found.append(things.evaluated(obj)[0][rows])
    return np.concatenate(found)


def bend(hand_arm: HandArm) -> None:
    """Somewhat, so that there is room to all sides."""
    hand, stands = hand_arm.rig_hand.hand, hand_arm.rig_hand.read()
    angles = np.where(np.array(hand.movements) == "flexion", np.clip(0.5, *hand.limits.T), 0.0)[None]
    hand_arm.rig_hand.write(HandState(Pose(hand, stands.pose.root, angles), stands.beyond))
    bpy.context.view_layer.update()


def spot(obj: bpy.types.Object, place: Floats, normal: Floats) -> SurfaceHit:
    """As the mouse finds it."""
    return SurfaceHit(obj, obj.matrix_world.copy(), place, normal)


def plane(place: Floats, normal: Floats) -> bpy.types.Object:
    """A square of a metre."""
    across = np.cross(normal, np.eye(3)[np.abs(normal).argmin()])
    across /= np.linalg.norm(across)
    corners = [place + a * across + b * np.cross(normal, across) for a, b in ((1, 1), (-1, 1), (-1, -1), (1, -1))]
    mesh = bpy.data.meshes.new("Table")
    mesh.from_pydata([corner.tolist() for corner in corners], [], [(0, 1, 2, 3)])
    obj = bpy.data.objects.new("Table", mesh)
    bpy.context.scene.collection.objects.link(obj)
    bpy.context.view_layer.update()
    return obj


@pytest.mark.parametrize("tilt", [0.0, -0.3, -0.6])
@pytest.mark.parametrize("joint", ["index-finger-tip", "thumb-tip", "ring-finger-phalanx-distal"])
@pytest.mark.parametrize(
    ("rig", "side"),
    [("Knuckle's own", "right"), ("Knuckle's own", "left"), ("MakeHuman", "left"), ("Rigify with a skin", "right")],
)
def test_skin_lies_on_the_surface_and_not_in_it(rig: str, side: Side, joint: str, tilt: float) -> None:
    armature = RIGS[rig](side)
    bpy.context.view_layer.update()
    found = next(found for found in find_hands(armature) if found.side == side)
    hand_arm = hand_arm_of(armature, found)
    bend(hand_arm)
    frames, at = hand_arm.rig_hand.evaluated_frames(), JOINT_INDEX[joint]
    along, back = frames[at - 1, :3, 1], frames[at - 1, :3, 2]
    normal = (back + tilt * along) / np.hypot(1.0, tilt)
    size = np.linalg.norm(frames[at, :3, 3] - frames[at - 1, :3, 3])
    place = frames[at, :3, 3] - 0.3 * size * normal - 0.15 * size * along
    _, goal = padded(start_rig_drag(hand_arm, joint), found).lay(spot(plane(place, normal), place, normal))
    bpy.context.view_layer.update()
    tip = hand_arm.rig_hand.evaluated_frames()[at, :3, 3]
    np.testing.assert_allclose(tip, goal, atol=0.1 * MM)
    chain = CHAIN_JOINTS[str(digit_of(joint))]
    bone = found.bones[chain[chain.index(joint) - 1]]
    above = (mostly_of(armature, {bone, f"DEF-{bone}"}) - place) @ normal
    assert abs(above.min()) < 0.5 * MM, f"{above.min() / MM:.2f} mm above the surface"
    aside = (tip - place) - (tip - place) @ normal * normal
    assert np.linalg.norm(aside) < 0.1 * MM


@pytest.mark.parametrize("side", ["right", "left"])
def test_skin_lies_on_a_ball_and_not_on_its_tangent(side: Side) -> None:
    armature = own(side)
    bpy.context.view_layer.update()
    found = next(found for found in find_hands(armature) if found.side == side)
    hand_arm = hand_arm_of(armature, found)
    bend(hand_arm)
    frames, at = hand_arm.rig_hand.evaluated_frames(), JOINT_INDEX["index-finger-tip"]
    normal = frames[at, :3, 2] - 0.5 * frames[at, :3, 1]
    normal /= np.linalg.norm(normal)
    place = frames[at, :3, 3] - 8 * MM * normal
    ball = things.ball(0.02)
    ball.location = (place - 0.02 * normal).tolist()
    bpy.context.view_layer.update()
    padded(start_rig_drag(hand_arm, "index-finger-tip"), found).lay(spot(ball, place, normal))
    bpy.context.view_layer.update()
    skin = mostly_of(armature, {"index-finger-phalanx-distal"})
    gap = np.linalg.norm(skin - np.array(ball.location), axis=-1).min() - 0.02
    assert abs(gap) < 0.5 * MM, f"{gap / MM:.2f} mm"


def boxes(*sizes_and_places: tuple[Floats, Floats], frame: Floats) -> bpy.types.Object:
    """One mesh of boxes with sizes (3,) m at places (3,) m in a frame (4, 4)."""
    mesh = bmesh.new()
    for size, place in sizes_and_places:
        bmesh.ops.create_cube(mesh, size=1.0, matrix=Matrix.Translation(place.tolist()) @ Matrix.Diagonal((*size, 1.0)))
    data = bpy.data.meshes.new("Boxes")
    mesh.to_mesh(data)
    mesh.free()
    obj = bpy.data.objects.new("Boxes", data)
    bpy.context.scene.collection.objects.link(obj)
    obj.matrix_world = Matrix(frame.tolist())
    bpy.context.view_layer.update()
    return obj


@pytest.fixture
def index() -> tuple[bpy.types.Object, FoundHand, HandArm, Floats]:
    """Knuckle's own right hand, somewhat bent, and (4, 4) a frame 8 mm under its index finger's tip, +Z away from the
    pad, +Y along the bone."""
    armature = own("right")
    bpy.context.view_layer.update()
    found = find_hands(armature)[0]
    hand_arm = hand_arm_of(armature, found)
    bend(hand_arm)
    frame = hand_arm.rig_hand.evaluated_frames()[JOINT_INDEX["index-finger-tip"]].copy()
    frame[:3, :3] = frame[:3, :3] @ Matrix.Rotation(0.4, 3, "X")
    frame[:3, 3] -= 8 * MM * frame[:3, 2]
    return armature, found, hand_arm, frame


def laid(index: tuple[bpy.types.Object, FoundHand, HandArm, Floats], on: SurfaceHit) -> Floats:
    """(V, 3) m, the skin of the last phalanx in the frame, laid on a spot."""
    armature, found, hand_arm, frame = index
    padded(start_rig_drag(hand_arm, "index-finger-tip"), found).lay(on)
    bpy.context.view_layer.update()
    skin = mostly_of(armature, {"index-finger-phalanx-distal"})
    return (skin - frame[:3, 3]) @ frame[:3, :3]


@pytest.mark.parametrize("wide", [25, 35, 50])
def test_skin_lies_on_the_floor_of_a_slot_and_not_on_its_other_side(
    index: tuple[bpy.types.Object, FoundHand, HandArm, Floats], wide: float
) -> None:
    frame, thick = index[-1], 5 * MM
    size = np.array([0.1, 0.1, thick])
    floor, ceiling = np.array([0.0, 0.0, -thick / 2]), np.array([0.0, 0.0, wide * MM + thick / 2])
    slot = boxes((size, floor), (size, ceiling), frame=frame)
    skin = laid(index, spot(slot, frame[:3, 3], frame[:3, 2]))
    assert abs(skin[:, 2].min()) < 0.5 * MM, f"{skin[:, 2].min() / MM:.2f} mm"


@pytest.mark.parametrize("broad", [1, 3])
def test_skin_lies_on_a_rail_however_thin_it_is(
    index: tuple[bpy.types.Object, FoundHand, HandArm, Floats], broad: float
) -> None:
    frame = index[-1]
    ground = np.array([0.1, 0.1, 0.002]), np.array([0.0, 0.0, -0.011])
    rail = np.array([broad * MM, 0.1, 0.01]), np.array([0.0, 0.0, -0.005])
    skin = laid(index, spot(boxes(ground, rail, frame=frame), frame[:3, 3], frame[:3, 2]))
    above = skin[np.abs(skin[:, 0]) < 2 * MM]
    assert len(above) > 5 and abs(above[:, 2].min()) < 0.6 * MM, f"{above[:, 2].min() / MM:.2f} mm"


def test_skin_lies_on_an_instance_where_that_is_seen(
    index: tuple[bpy.types.Object, FoundHand, HandArm, Floats],
) -> None:
    frame = index[-1]
    block = boxes((np.array([0.1, 0.1, 0.01]), np.array([0.0, 0.0, -0.005])), frame=np.eye(4))
    skin = laid(index, SurfaceHit(block, Matrix(frame.tolist()), frame[:3, 3], frame[:3, 2]))
    assert abs(skin[:, 2].min()) < 0.5 * MM


def test_skin_lies_on_the_plane_of_what_has_no_mesh_there(
    index: tuple[bpy.types.Object, FoundHand, HandArm, Floats],
) -> None:
    frame = index[-1]
    elsewhere = boxes((np.ones(3), np.full(3, 9.0)), frame=np.eye(4))
    curve = bpy.data.objects.new("Curve", bpy.data.curves.new("Curve", "CURVE"))
    bpy.context.scene.collection.objects.link(curve)
    flat = boxes((np.ones(3), np.full(3, 7.0)), frame=np.diag([1.0, 1.0, 0.0, 1.0]))
    for obj in (elsewhere, curve, flat):
        bpy.context.view_layer.update()
        skin = laid(index, spot(obj, frame[:3, 3], frame[:3, 2]))
        assert abs(skin[:, 2].min()) < 0.5 * MM, obj.name


@pytest.mark.parametrize("side", ["right", "left"])
def test_a_knuckle_lies_on_a_surface_by_the_skin_of_the_palm(side: Side) -> None:
    armature = own(side)
    bpy.context.view_layer.update()
    found = find_hands(armature)[0]
    hand_arm, knuckle = hand_arm_of(armature, found), "middle-finger-phalanx-proximal"
    frames, at = hand_arm.rig_hand.evaluated_frames(), JOINT_INDEX[knuckle]
    wrist, normal = frames[0, :3, 3], -frames[0, :3, 2]
    place = frames[at, :3, 3] - 10 * MM * normal
    _, goal = padded(start_rig_drag(hand_arm, knuckle), found).lay(spot(plane(place, normal), place, normal))
    bpy.context.view_layer.update()
    seen = hand_arm.rig_hand.evaluated_frames()[at, :3, 3]
    reach = np.linalg.norm(frames[at, :3, 3] - wrist)
    np.testing.assert_allclose(seen, wrist + reach * (goal - wrist) / np.linalg.norm(goal - wrist), atol=0.2 * MM)
    palm = mostly_of(
        armature, {"wrist", "middle-finger-metacarpal", "ring-finger-metacarpal", "index-finger-metacarpal"}
    )
    above = (palm[np.linalg.norm(palm - seen, axis=-1) < 0.02] - place) @ normal
    assert abs(above.min()) < 1.5 * MM, f"{above.min() / MM:.2f} mm, as near as its way about the wrist comes"
