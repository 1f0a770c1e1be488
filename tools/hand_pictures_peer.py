"""Renders the MakeHuman hand in the same poses and from the same sides as Knuckle's, for comparison.

    python tools/hand_pictures_peer.py [--rig ../shared/data/rigs/makehuman_default.blend] [POSE ...]

Writes build/pictures/peer-POSE.png: Knuckle's hand above, MakeHuman's below. Its data may not be copied, so these
pictures stay out of docs.
"""

import argparse
import sys
from pathlib import Path
from typing import Any

import bpy
import numpy as np
from mathutils import Matrix, Vector

sys.path.insert(0, str(Path(__file__).parent))
import hand_pictures

SIDE = "R"
FINGERS = {
    digit: tuple(f"finger{number}-{part}.{SIDE}" for part in (1, 2, 3))
    for number, digit in enumerate(("thumb", "index-finger", "middle-finger", "ring-finger", "pinky-finger"), 1)
}


def peer_hand(path: Path, scene: bpy.types.Scene) -> tuple[bpy.types.Object, bpy.types.Object]:
    """Return MakeHuman's armature, and its body reduced to the right hand and a part of the forearm."""
    libraries: Any = bpy.data.libraries
    with libraries.load(str(path)) as (source, target):
        target.objects = source.objects
    armature = next(item for item in target.objects if item.type == "ARMATURE")
    body = next(item for item in target.objects if item.type == "MESH")
    for item in (armature, body):
        scene.collection.objects.link(item)
    names = ("wrist", "metacarpal", "finger")
    groups = {g.index for g in body.vertex_groups if g.name.endswith(f".{SIDE}") and g.name.startswith(names)}
    kept_vertices = {
        v.index for v in body.data.vertices if any(g.group in groups and g.weight > 0.02 for g in v.groups)
    }
    cut = cut_out(body, kept_vertices)
    scene.collection.objects.link(cut)
    modifier: Any = cut.modifiers.new("Armature", "ARMATURE")
    modifier.object = armature
    bpy.data.objects.remove(body)
    return armature, cut


def cut_out(body: bpy.types.Object, kept: set[int]) -> bpy.types.Object:
    """Return a copy of the faces whose vertices are all kept, with their weights, in Knuckle's skin material."""
    whole: Any = body.data
    faces = [list(face.vertices) for face in whole.polygons if kept.issuperset(face.vertices)]
    used = sorted({vertex for face in faces for vertex in face})
    new_index = {old: new for new, old in enumerate(used)}
    mesh = bpy.data.meshes.new("Peer")
    mesh.from_pydata([whole.vertices[old].co for old in used], [], [[new_index[v] for v in face] for face in faces])
    mesh.shade_smooth()
    mesh.materials.append(bpy.data.materials["Knuckle Skin"])
    cut = bpy.data.objects.new("Peer", mesh)
    for group in body.vertex_groups:
        cut.vertex_groups.new(name=group.name)
    for old in used:
        for member in whole.vertices[old].groups:
            cut.vertex_groups[member.group].add([new_index[old]], member.weight, "REPLACE")
    return cut


def joint(armature: bpy.types.Object, bone: str, tail: bool = False) -> hand_pictures.Floats:
    """Return the head or tail (3,) of a bone at rest."""
    bones: Any = armature.data
    data = bones.bones[bone]
    return np.array(data.tail_local if tail else data.head_local)


def peer_frame(armature: bpy.types.Object) -> hand_pictures.Floats:
    """Return the axes (3, 3) of the hand: towards the little finger, along the middle finger, out of the back."""
    index, middle, pinky = (joint(armature, FINGERS[d][0]) for d in ("index-finger", "middle-finger", "pinky-finger"))
    y = middle - joint(armature, f"wrist.{SIDE}")
    y /= np.linalg.norm(y)
    z = np.cross(pinky - index, y)
    z /= np.linalg.norm(z)
    return np.stack([np.cross(y, z), y, z], 1)


def bend(armature: bpy.types.Object, frame: hand_pictures.Floats, degrees: dict[str, tuple[float, ...]]) -> None:
    """Flex each finger's bones by degrees from straight, about the normal of its plane."""
    for digit, angles in degrees.items():
        if digit == "thumb":
            continue
        names = FINGERS[digit]
        bone_vectors = [joint(armature, n, True) - joint(armature, n) for n in names]
        axis = np.cross(frame[:, 2], joint(armature, names[0]) - joint(armature, f"wrist.{SIDE}"))
        axis /= np.linalg.norm(axis)
        # The rest pose is already bent, and the degrees are from straight.
        palm = frame[:, 1]
        before = [palm, bone_vectors[0], bone_vectors[1]]
        for name, angle, a, b in zip(names, angles, before, bone_vectors, strict=True):
            straight = [v - axis * (v @ axis) for v in (a, b)]
            bone_vector = np.degrees(np.arctan2(np.cross(straight[0], straight[1]) @ axis, straight[0] @ straight[1]))
            rotation = np.deg2rad(angle - abs(bone_vector) * np.sign(bone_vector if abs(bone_vector) > 1 else 1))
            bone = armature.pose.bones[name]
            rest = bone.bone.matrix_local.to_3x3()
            local = rest.transposed() @ Vector(axis.tolist())
            bone.rotation_mode = "QUATERNION"
            bone.rotation_quaternion = Matrix.Rotation(float(rotation), 3, local).to_quaternion()
    bpy.context.view_layer.update()


def main() -> None:
    """Render two rows for each pose."""
    hand_pictures.load_package()
    from knuckle.hand.joints import CHAIN_JOINTS
    from knuckle.hand.kinematics import joint_rotations
    from knuckle.hand.poses import angles, names_in_group
    from knuckle.hand.proportions import adult, build
    from knuckle.rig.default_hand import add_hand

    root = hand_pictures.ROOT
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rig", type=Path, default=root.parent / "shared/data/rigs/makehuman_default.blend")
    parser.add_argument("--pixels", type=int, default=420)
    parser.add_argument("poses", nargs="*")
    options = parser.parse_args(sys.argv[sys.argv.index("--") + 1 :] if "--" in sys.argv else None)
    scene = hand_pictures.empty_scene()
    hand = build(adult("right"))
    ours = add_hand(adult("right"), "Hand", scene.collection)
    theirs, cut = peer_hand(options.rig, scene)
    frame = peer_frame(theirs)
    for name in options.poses or names_in_group("everyday"):
        hand_pictures.pose_hand(ours, joint_rotations(hand, angles(hand, name)[None])[0])
        flexions = {
            digit: tuple(float(np.rad2deg(angles(hand, name)[hand.dof(j, "flexion")])) for j in joints[:3])
            for digit, joints in CHAIN_JOINTS.items()
        }
        if name != "open":
            bend(theirs, frame, flexions)
        rows = []
        for mesh, axes in ((ours.children[0], np.eye(3)), (cut, frame)):
            for other in (ours.children[0], cut):
                other.hide_render = other is not mesh
            rows.append(hand_pictures.view_sheet(scene, mesh, options.pixels, axes))
        hand_pictures.write_picture(root / f"build/pictures/peer-{name}.png", np.concatenate(rows))


if __name__ == "__main__":
    main()
