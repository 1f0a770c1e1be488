"""A hand that plays a take beside a thing of the scene, for tests of contacts with objects."""

from dataclasses import replace

import bpy
import numpy as np
from mathutils import Vector
from mathutils.bvhtree import BVHTree
from numpy.typing import NDArray

from knuckle.hand import proportions
from knuckle.operators.take_corrections import ShownTake, shown_take
from knuckle.pipeline.take import Take
from knuckle.rig.default_hand import add_hand
from knuckle.rig.keys.corrections.corrected_take import waiting_of
from knuckle.rig.keys.take_scene import TakeTiming, write_take
from knuckle.tests.blender.test_held_touch import FIRST, LAST, RATE, half_closed

Floats = NDArray[np.float64]
BLEND = 12
HELD = range(FIRST, LAST + 1)
TIP = "index-finger-phalanx-distal"


def still() -> Take:
    """A hand that is nearly flat and trembles, with a wrist that stays where it is."""
    made = half_closed()
    (hand,) = made.hands
    root, angles = np.tile(hand.pose.root[:1], (len(hand.pose), 1, 1)), 0.3 * hand.pose.angles
    pose = replace(hand.pose, root=root, angles=np.clip(angles, *hand.hand.limits.T))
    return replace(made, hands=(replace(hand, pose=pose),))


def playing_hand() -> bpy.types.Object:
    """Knuckle's own hand, with its skin, that plays it from frame 1."""
    scene = bpy.context.scene
    scene.render.fps = round(RATE)
    made = add_hand(proportions.adult("right"), "Rig", scene.collection)
    bpy.context.view_layer.objects.active = made
    write_take(still(), made, scene, scene.collection, TakeTiming())
    return made


def skin(armature: bpy.types.Object, *bones: str) -> Floats:
    """(V, 3) m in the world: the vertices of the evaluated skin that these bones move most."""
    (mesh,) = (each for each in armature.children if each.vertex_groups)
    groups = {group.index: group.name for group in mesh.vertex_groups}
    rows = [
        vertex.index
        for vertex in mesh.data.vertices
        if groups[max(vertex.groups, key=lambda group: group.weight).group] in bones
    ]
    seen = mesh.evaluated_get(bpy.context.evaluated_depsgraph_get())
    return np.array([seen.matrix_world @ seen.data.vertices[row].co for row in rows])


def thing(armature: bpy.types.Object, kind: str, gap: float = 4e-3) -> bpy.types.Object:
    """A thing as flat as the palm, a gap below the index finger in the middle of the contact; one moves."""
    scene, middle = bpy.context.scene, (FIRST + LAST) // 2
    scene.frame_set(middle)
    bone = np.array(armature.matrix_world @ armature.pose.bones["wrist"].matrix)
    up, points = bone[:3, 2], skin(armature, TIP)
    pad = points[(points @ up).argmin()]
    add = {"plane": bpy.ops.mesh.primitive_plane_add, "ball": bpy.ops.mesh.primitive_uv_sphere_add}
    add.get(kind, bpy.ops.mesh.primitive_cube_add)()
    made = bpy.context.object
    made.name, made.rotation_mode = "Table", "QUATERNION"
    made.scale = (0.03, 0.03, 0.03) if kind == "ball" else (0.06, 0.06, 0.01)
    made.rotation_quaternion = Vector(up.tolist()).to_track_quat("Z", "Y")
    away = {"plane": 0.0, "ball": 0.03}.get(kind, 0.01)
    made.location = Vector((pad - (gap + away) * up).tolist())
    if kind == "moving":
        made.keyframe_insert("location", frame=FIRST - 10)
        made.location += Vector((0.004 * bone[:3, 0] + 0.003 * up).tolist())
        made.keyframe_insert("location", frame=LAST + 10)
    bpy.context.view_layer.objects.active = armature
    bpy.context.view_layer.update()
    return made


def parented(table: bpy.types.Object, armature: bpy.types.Object, bone: str) -> None:
    """Parent a thing to an armature or a bone of it, where it is."""
    there = table.matrix_world.copy()
    table.parent, table.parent_type, table.parent_bone = armature, "BONE" if bone else "OBJECT", bone
    bpy.context.view_layer.update()
    table.matrix_world = there


def reason() -> str:
    """Why the correction waits once it is held anew, on the object as it is now; empty if it does not."""
    bpy.context.view_layer.update()
    shown().write(shown().corrections)
    return waiting_of(shown().base).get("c1", "")


def seen_on(armature: bpy.types.Object, table: bpy.types.Object) -> tuple[Floats, Floats]:
    """Where the pad's vertices (F, V, 3) m are in the table's axes, and the depth (F,) m of the finger in it."""
    places, depths = [], []
    for frame in HELD:
        bpy.context.scene.frame_set(frame)
        graph = bpy.context.evaluated_depsgraph_get()
        tree, into = BVHTree.FromObject(table, graph), table.evaluated_get(graph).matrix_world.inverted()
        scale = np.array(table.scale)
        places.append([scale * (into @ Vector(point)) for point in skin(armature, TIP).tolist()])
        finger = skin(armature, TIP, TIP.replace("distal", "intermediate"), TIP.replace("distal", "proximal"))
        depth = 0.0
        for point in finger.tolist():
            own = into @ Vector(point)
            foot, normal, _, _ = tree.find_nearest(own)
            if (own - foot).dot(normal) < 0:
                depth = max(depth, float(np.linalg.norm(scale * (own - foot))))
        depths.append(depth)
    return np.array(places), np.array(depths)


def hold(**given: object) -> None:
    asked = {"other": "OBJECT", "object": "Table", "tips": {"index-finger"}, "blend": BLEND}
    span = {"first": FIRST - BLEND, "last": LAST + BLEND}
    assert bpy.ops.knuckle.hold_contact(**asked | span | given) == {"FINISHED"}


def shown() -> ShownTake:
    found = shown_take(bpy.context)
    assert found is not None
    return found
