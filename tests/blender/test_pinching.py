"""A fingertip that is dragged over the thumb's tip touches it, by Blender's own evaluated mesh.

The generated Rigify rig has no mesh.
"""

import bpy
import numpy as np
import pytest

from knuckle.hand.joints import CHAIN_JOINTS, JOINT_INDEX
from knuckle.hand.kinematics import Pose
from knuckle.hand.model import HandModel
from knuckle.hand.poses import angles
from knuckle.rig import detection_cache
from knuckle.rig.posing.dragging import start_rig_drag
from knuckle.rig.posing.pinching import pinching
from knuckle.rig.posing.posable_cache import posable_hand_arm
from knuckle.rig.posing.rig_hand import HandState, RigHand
from knuckle.rig.skin_bones import skins
from knuckle.tests.blender.making import Floats
from knuckle.tests.blender.test_drag_files import HANDS
from knuckle.tests.blender.things import evaluated, heights

VIEWS = {"side": (1.0, 0.0, 0.2), "front": (0.2, -0.6, 0.8), "oblique": (0.6, -0.3, 0.5)}


def gap(armature: bpy.types.Object, hand: RigHand, digits: tuple[str, str]) -> float:
    """mm between the outer phalanges of two digits; below 0 where one is inside the other digit."""
    bpy.context.view_layer.update()
    gaps: list[Floats] = []
    for skin in skins(armature):
        vertices, triangles = evaluated(skin)
        bones = heaviest_bones(skin)
        for one, other in (digits, digits[::-1]):
            tip, whole = (np.isin(bones, bones_of(hand, *each)) for each in ((one, 2), (other, 0)))
            gaps.append(heights(vertices[tip], vertices[triangles[whole[triangles].all(axis=1)]]))
    return 1000 * float(np.concatenate(gaps).min())


def bones_of(hand: RigHand, digit: str, first: int) -> list[str]:
    """The bones of a digit's phalanges from one on, counted from the palm."""
    return [str(hand.binding.bones[JOINT_INDEX[joint]]) for joint in CHAIN_JOINTS[digit][first:3]]


def heaviest_bones(skin: bpy.types.Object) -> list[str]:
    """The bone that moves each vertex of the evaluated skin most; empty for none."""
    mesh = skin.evaluated_get(bpy.context.evaluated_depsgraph_get()).data
    assert isinstance(mesh, bpy.types.Mesh)
    names = [group.name for group in skin.vertex_groups]
    return [
        max(((group.weight, names[group.group]) for group in vertex.groups), default=(0.0, ""))[1]
        for vertex in mesh.vertices
    ]


def opposed(hand: HandModel) -> Floats:
    """Angles (D,) rad of a relaxed hand whose thumb stands as in a pinch."""
    thumb = np.isin(hand.axis_joint, [JOINT_INDEX[joint] for joint in CHAIN_JOINTS["thumb"]])
    return np.asarray(np.where(thumb, angles(hand, "pinch"), angles(hand, "relaxed")))


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("rig", ["Knuckle's own", "MakeHuman"])
@pytest.mark.usefixtures("extension")
def test_the_skins_of_a_fingertip_and_the_thumb_touch(rig: str, view: str) -> None:
    armature = HANDS[rig]()
    bpy.context.view_layer.update()
    detection_cache.detect(armature)
    who = posable_hand_arm(armature, "right")
    hand, state = who.rig_hand, who.rig_hand.read()
    posed = opposed(hand.hand)
    hand.write(HandState(Pose(hand.hand, state.pose.root, posed[None]), state.beyond))
    bpy.context.view_layer.update()
    dragged = start_rig_drag(who, CHAIN_JOINTS["index-finger"][-1])
    pinch = pinching(dragged, detection_cache.usable_hand(armature, "right"))
    along = hand.evaluated_frames()[0, :3, :3] @ np.array(VIEWS[view])
    along /= np.linalg.norm(along)
    thumb, last = pinch.others["thumb"].position, None
    for part in np.linspace(0.2, 1.0, 5):
        last = dragged.drag.step(dragged.position + part * (thumb - dragged.position), last, along)
    done = pinch.pinch("thumb", thumb, along, last)
    assert done is not None
    for _ in range(3):
        done = pinch.pinch("thumb", thumb, along, done[0]) or done
    between = gap(armature, hand, ("index-finger", "thumb"))
    assert abs(between) <= 1.0, f"{between:.2f} mm"
