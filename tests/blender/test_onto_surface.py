"""What is dragged onto a surface touches it by the skin as Blender evaluates it, and stands above where it was put."""

import bpy
import numpy as np
import pytest
from numpy.typing import NDArray

from knuckle.hand.joints import CHAIN_JOINTS, JOINT_INDEX, Side, digit_of
from knuckle.hand.kinematics import Pose
from knuckle.rig.detect import find_hands
from knuckle.rig.dragging import begin
from knuckle.rig.following import Follower, follower
from knuckle.rig.held import Standing, seen_frames, show, standing
from knuckle.rig.onto_surface import Surface, padded
from knuckle.rig.skin import skins
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


def bend(who: Follower) -> None:
    """Somewhat, so that there is room to all sides."""
    hand, stands = who.held.hand, standing(who.held)
    angles = np.where(np.array(hand.movements) == "flexion", np.clip(0.5, *hand.limits.T), 0.0)[None]
    show(who.held, Standing(Pose(hand, stands.pose.root, angles), stands.beyond))
    bpy.context.view_layer.update()


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
    who = follower(armature, found)
    bend(who)
    frames, at = seen_frames(who.held), JOINT_INDEX[joint]
    along, back = frames[at - 1, :3, 1], frames[at - 1, :3, 2]
    normal = (back + tilt * along) / np.hypot(1.0, tilt)
    size = np.linalg.norm(frames[at, :3, 3] - frames[at - 1, :3, 3])
    place = frames[at, :3, 3] - 0.3 * size * normal - 0.15 * size * along
    _, goal = padded(begin(who, joint), found).lay(Surface(plane(place, normal), place, normal))
    bpy.context.view_layer.update()
    tip = seen_frames(who.held)[at, :3, 3]
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
    who = follower(armature, found)
    bend(who)
    frames, at = seen_frames(who.held), JOINT_INDEX["index-finger-tip"]
    normal = frames[at, :3, 2] - 0.5 * frames[at, :3, 1]
    normal /= np.linalg.norm(normal)
    place = frames[at, :3, 3] - 8 * MM * normal
    ball = things.ball(0.02)
    ball.location = (place - 0.02 * normal).tolist()
    bpy.context.view_layer.update()
    padded(begin(who, "index-finger-tip"), found).lay(Surface(ball, place, normal))
    bpy.context.view_layer.update()
    skin = mostly_of(armature, {"index-finger-phalanx-distal"})
    gap = np.linalg.norm(skin - np.array(ball.location), axis=-1).min() - 0.02
    # Its mesh is up to 0.2 mm within the ball.
    assert -0.3 * MM < gap < 0.3 * MM, f"{gap / MM:.2f} mm"
