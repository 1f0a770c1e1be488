"""Renders hands grasping a mug, a pen and a ball: Knuckle's own hand, and MakeHuman's.

    python tools/grasp_pictures.py [--out docs/pictures] [--pixels 240]

One row for each object: three views of Knuckle's own hand, then two of MakeHuman's and one of its upper body. Needs bpy
and, without a screen, Mesa's EGL; and ../shared.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bpy
import numpy as np
from mathutils import Matrix, Vector
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))
import hand_pictures  # noqa: E402

hand_pictures.load_package()
from knuckle.hand import proportions  # noqa: E402
from knuckle.hand.joints import Side  # noqa: E402
from knuckle.hand.kinematics import Pose, joint_frames  # noqa: E402
from knuckle.posing.grasping import contact_frames  # noqa: E402
from knuckle.rig.armature_hands import find_hands  # noqa: E402
from knuckle.rig.keys.take_scene import new_hand  # noqa: E402
from knuckle.rig.posing import following  # noqa: E402
from knuckle.rig.posing.grasping import Grasped, grasp  # noqa: E402
from knuckle.rig.posing.rig_skin import flesh_of  # noqa: E402
from knuckle.rig.skin_bones import skins  # noqa: E402
from knuckle.tests.blender import things  # noqa: E402
from knuckle.tests.blender.rigs import RIGS  # noqa: E402

Floats = NDArray[np.floating[Any]]
Doubles = NDArray[np.float64]

SKIN = (0.66, 0.41, 0.31, 1.0)
THINGS: dict[str, Callable[[], bpy.types.Object]] = {"mug": things.mug, "pen": things.pen, "ball": things.ball}
VIEWS = {
    "thumb": ((-1.0, 0.0, -0.25), (0.0, 1.0, 0.0)),
    "tips": ((-0.7, 0.9, -0.6), (0.0, 0.0, 1.0)),
    "palm": ((-0.5, 0.0, -1.0), (0.0, 1.0, 0.0)),
}
"""Direction to the camera and up vector, in the frame of a right hand's wrist."""
BODY = ((-0.5, -1.0, 0.25), (0.0, 0.0, 1.0))
"""Direction to the camera for pictures of the body, in the world's axes."""
BEFORE = (-0.1, -0.62, -0.35)
"""Position of an object in front of a person, from the right shoulder, in arm lengths."""
TURNED = {"mug": (0.0, 0.0, -2.2), "pen": (0.5, 0.2, 0.0), "ball": (0.0, 0.0, 0.0)}


def own_hand(thing: str) -> tuple[Grasped, bpy.types.Object]:
    """Return Knuckle's own right hand grasping an object."""
    scene = hand_pictures.empty_scene()
    measures = proportions.adult("right")
    armature, _ = new_hand(measures, proportions.build(measures), scene.collection)
    armature.matrix_world = Matrix.Translation((-0.15, -0.1, 0.0)) @ Matrix.Rotation(-np.pi / 2, 4, "Y")
    return _grasp(armature, "right", THINGS[thing]())


def person(thing: str, side: Side = "right") -> tuple[Grasped, bpy.types.Object]:
    """Return MakeHuman's rig grasping an object in front of it."""
    armature, _ = RIGS["MakeHuman"]()
    hand_pictures.set_up(bpy.context.scene)
    for obj in bpy.context.scene.objects:
        obj.hide_render = obj not in skins(armature)
    for skin in skins(armature):
        skin.data.polygons.foreach_set("use_smooth", [True] * len(skin.data.polygons))
        material = bpy.data.materials.new("Skin")
        material.diffuse_color = SKIN
        skin.data.materials.clear()
        skin.data.materials.append(material)
    hand_arm = following.hand_arm_of(armature, next(hand for hand in find_hands(armature) if hand.side == side))
    arm = following.shoulder(hand_arm, None)
    assert arm is not None
    obj = THINGS[thing]()
    scale = contact_frames.hand_length(hand_arm.rig_hand.hand) / 0.185
    obj.scale = (scale, scale, scale)
    base = np.asarray(arm.base).reshape(-1)[:3] if np.shape(arm.base) == (3,) else arm.base[:3, 3]
    obj.location = (base + (arm.arm.upper + arm.arm.fore) * np.array(BEFORE)).tolist()
    obj.rotation_euler = TURNED[thing]
    return _grasp(armature, side, obj)


def _grasp(armature: bpy.types.Object, side: Side, thing: bpy.types.Object) -> tuple[Grasped, bpy.types.Object]:
    bpy.context.view_layer.update()
    hand = next(hand for hand in find_hands(armature) if hand.side == side)
    grasp_result = grasp(armature, hand, thing)
    bpy.context.view_layer.update()
    print(f"{armature.name}, {thing.name}: {grasp_result.hold.grip.name}, {1e3 * grasp_result.distance:.2f} mm")
    return grasp_result, thing


def tile(points: Floats, view: tuple[Floats, Floats], pixels: int, *, margin: float = 1.1) -> Floats:
    """Return (pixels, pixels, 3) points (V, 3) seen from a direction (3,), with an up vector (3,); occluders are
    clipped."""
    scene = bpy.context.scene
    back, up = view
    back = back / np.linalg.norm(back)
    across = np.cross(up, back)
    across /= np.linalg.norm(across)
    axes = np.stack([across, np.cross(back, across), back])
    low, high = (points @ axes.T).min(axis=0), (points @ axes.T).max(axis=0)
    camera: Any = scene.camera
    camera.data.ortho_scale = float(margin * (high - low)[:2].max())
    camera.data.clip_start = 0.3 - 0.02
    centre = axes.T @ np.array([*((low + high) / 2)[:2], high[2] + 0.3])
    matrix = Matrix(axes.T.tolist()).to_4x4()
    matrix.translation = Vector(centre.tolist())
    camera.matrix_world = matrix
    scene.render.resolution_x = scene.render.resolution_y = pixels
    with tempfile.TemporaryDirectory() as folder:
        scene.render.filepath = str(Path(folder) / "view.png")
        bpy.ops.render.render(write_still=True)
        picture: Floats = hand_pictures.read_picture(scene.render.filepath)
    return picture


def of_hand(grasp_result: Grasped, thing: bpy.types.Object, names: tuple[str, ...], pixels: int) -> list[Floats]:
    """Return views of the hand and the object that it holds, in the hand's frame."""
    rig_hand = grasp_result.hand_arm.rig_hand
    armature = bpy.data.objects[rig_hand.binding.armature]
    hand = next(hand for hand in find_hands(armature) if hand.side == rig_hand.hand.side)
    pose = rig_hand.read().pose
    skin = flesh_of(armature, hand, rig_hand).posed(hand_frames(grasp_result, pose.root, pose.angles))[0]
    points = np.concatenate([skin, things.evaluated(thing)[0]])
    mirror = np.diag([1.0 if rig_hand.hand.side == "right" else -1.0, 1.0, 1.0])
    rotation = pose.root[0, :3, :3] @ mirror
    return [
        tile(points, (rotation @ np.array(back), rotation @ np.array(up)), pixels) for back, up in map(VIEWS.get, names)
    ]


def hand_frames(done: Grasped, root: Doubles, angles: Doubles) -> Doubles:
    """Return the joint frames (1, J, 4, 4) of a hand."""
    frames: Doubles = joint_frames(done.hand_arm.rig_hand.hand, Pose(done.hand_arm.rig_hand.hand, root, angles))
    return frames


def main() -> None:
    """Write grasp.png."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "docs/pictures")
    parser.add_argument("--pixels", type=int, default=240)
    options = parser.parse_args()
    rows = []
    for thing in THINGS:
        row = of_hand(*own_hand(thing), tuple(VIEWS), options.pixels)
        grasp_result, obj = person(thing)
        row += of_hand(grasp_result, obj, ("thumb", "tips"), options.pixels)
        upper = np.array([[-0.42, -0.45, 0.25], [0.3, 0.25, 0.85]])
        row.append(tile(upper, (np.array(BODY[0]), np.array(BODY[1])), options.pixels, margin=1.0))
        rows.append(np.concatenate(row, axis=1))
    hand_pictures.write_picture(options.out / "grasp.png", np.concatenate(rows))


if __name__ == "__main__":
    main()
