"""A fingertip that is dragged over the thumb's tip touches it, by Blender's own evaluated mesh.

The generated Rigify rig has no mesh.
"""

from collections.abc import Iterator

import bpy
import numpy as np
import pytest
from mathutils import Vector
from mathutils.bvhtree import BVHTree
from numpy.typing import NDArray

from knuckle.hand.joints import CHAIN_JOINTS, JOINT_INDEX
from knuckle.hand.kinematics import Pose
from knuckle.hand.model import HandModel
from knuckle.hand.poses import angles
from knuckle.rig import detection_cache
from knuckle.rig.posing.dragging import begin
from knuckle.rig.posing.pinching import pinching
from knuckle.rig.posing.posable_cache import posable_hand_arm
from knuckle.rig.posing.rig_hand import HandState, RigHand
from knuckle.rig.posing.rig_skin import skins
from knuckle.tests.blender.making import Floats
from knuckle.tests.blender.test_drag_files import HANDS

Bools = NDArray[np.bool_]

VIEWS = {"side": (1.0, 0.0, 0.2), "front": (0.2, -0.6, 0.8), "oblique": (0.6, -0.3, 0.5)}


def gap(armature: bpy.types.Object, hand: RigHand, digits: tuple[str, str]) -> float:
    """mm between the skins of two digits; below 0 where one is inside."""
    bpy.context.view_layer.update()
    graph, gaps = bpy.context.evaluated_depsgraph_get(), []
    last = [{str(hand.binding.bones[JOINT_INDEX[CHAIN_JOINTS[digit][2]]])} for digit in digits]
    bones = [{str(hand.binding.bones[JOINT_INDEX[joint]]) for joint in CHAIN_JOINTS[digit][1:3]} for digit in digits]
    for skin in skins(armature):
        seen, names = skin.evaluated_get(graph), [group.name for group in skin.vertex_groups]
        assert isinstance(seen.data, bpy.types.Mesh)
        vertices = np.array([seen.matrix_world @ vertex.co for vertex in seen.data.vertices])
        heaviest = [
            max(((group.weight, names[group.group]) for group in vertex.groups), default=(0.0, ""))[1]
            for vertex in seen.data.vertices
        ]
        faces = [np.array([name in own for name in heaviest]) for own in bones]
        tips = [np.array([name in own for name in heaviest]) for own in last]
        gaps += [*heights(seen.data, vertices, tips[0], faces[1]), *heights(seen.data, vertices, tips[1], faces[0])]
    return 1000 * float(min(gaps))


def opposed(hand: HandModel) -> Floats:
    """Angles (D,) rad of a relaxed hand whose thumb stands as in a pinch."""
    thumb = np.isin(hand.axis_joint, [JOINT_INDEX[joint] for joint in CHAIN_JOINTS["thumb"]])
    return np.asarray(np.where(thumb, angles(hand, "pinch"), angles(hand, "relaxed")))


def heights(mesh: bpy.types.Mesh, vertices: Floats, own: Bools, other: Bools) -> Iterator[float]:
    """m of some vertices above the faces of others, below 0 inside; where the faces end there is no inside."""
    polygons = [list(face.vertices) for face in mesh.polygons]
    faces = [face for face in polygons if other[face].all()]
    ends = {vertex for face in polygons if not other[face].all() for vertex in face}
    tree = BVHTree.FromPolygons([Vector(vertex) for vertex in vertices], faces)
    for vertex in vertices[own]:
        at, normal, face, distance = tree.find_nearest(Vector(vertex))
        if face is not None and not ends & set(faces[face]):
            yield distance if (Vector(vertex) - at).dot(normal) >= 0.0 else -distance


@pytest.mark.parametrize(("rig", "view"), [("Knuckle's own", "oblique"), *(("MakeHuman", view) for view in VIEWS)])
@pytest.mark.usefixtures("extension")
def test_the_skins_of_a_fingertip_and_the_thumb_touch(rig: str, view: str) -> None:
    armature = HANDS[rig]()
    bpy.context.view_layer.update()
    detection_cache.look(armature)
    who = posable_hand_arm(armature, "right")
    hand, state = who.rig_hand, who.rig_hand.read()
    posed = opposed(hand.hand)
    hand.write(HandState(Pose(hand.hand, state.pose.root, posed[None]), state.beyond))
    bpy.context.view_layer.update()
    dragged = begin(who, CHAIN_JOINTS["index-finger"][-1])
    pinch = pinching(dragged, detection_cache.found(armature, "right"))
    along = hand.seen_frames()[0, :3, :3] @ np.array(VIEWS[view])
    along /= np.linalg.norm(along)
    thumb, last = pinch.others["thumb"].place, None
    for part in np.linspace(0.2, 1.0, 5):
        last = dragged.drag.step(dragged.position + part * (thumb - dragged.position), last, along)
    done = pinch.pinch("thumb", thumb, along, last)
    assert done is not None
    for _ in range(3):
        done = pinch.pinch("thumb", thumb, along, done[0]) or done
    between = gap(armature, hand, ("index-finger", "thumb"))
    assert abs(between) <= 1.0, f"{between:.2f} mm"
