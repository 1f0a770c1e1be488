"""Renders contact sheets of the hand: each pose from the back, the palm, the thumb's side and the fingertips.

    python tools/hand_pictures.py [--out docs/pictures] [--side right] [--pixels 420] [POSE ...]
    blender --background --python tools/hand_pictures.py -- [...]

One picture for each pose, hand-POSE.png. Needs bpy (or Blender) and, without a screen, Mesa's EGL.
"""

import argparse
import sys
import tempfile
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import bpy
import numpy as np
from mathutils import Matrix, Vector
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]

ROOT = Path(__file__).resolve().parents[1]
BACKGROUND = (0.022, 0.024, 0.028)

# Direction to the camera and up vector, in the frame of a right hand's wrist.
VIEWS = {
    "back": ((0, 0, 1), (0, 1, 0)),
    "palm": ((0, 0, -1), (0, 1, 0)),
    "thumb": ((-1, 0, 0), (0, 1, 0)),
    "tips": ((0.0, 1, 0.0), (0, 0, 1)),
}


def load_package() -> None:
    """Make this checkout importable as knuckle, whatever its folder is called."""
    if "knuckle" not in sys.modules:
        spec = spec_from_file_location("knuckle", ROOT / "__init__.py", submodule_search_locations=[str(ROOT)])
        assert spec and spec.loader
        sys.modules["knuckle"] = module_from_spec(spec)
        spec.loader.exec_module(sys.modules["knuckle"])


def empty_scene() -> bpy.types.Scene:
    """Return a scene with a camera, set up for Workbench's studio light."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    assert scene
    set_up(scene)
    return scene


def set_up(scene: bpy.types.Scene) -> None:
    """Add an orthographic camera and Workbench's studio light."""
    render: Any = scene.render
    render.engine, render.dither_intensity = "BLENDER_WORKBENCH", 0.0
    scene.render.image_settings.file_format = "PNG"
    colours: Any = scene.view_settings
    colours.view_transform, colours.exposure = "Standard", 0.7
    scene.display.render_aa = "8"
    shading = scene.display.shading
    shading.light, shading.color_type = "STUDIO", "MATERIAL"
    shading.show_cavity, shading.cavity_type = True, "BOTH"
    shading.cavity_valley_factor, shading.cavity_ridge_factor = 1.2, 0.6
    shading.curvature_valley_factor, shading.curvature_ridge_factor = 0.8, 0.6
    shading.show_shadows, shading.shadow_intensity = True, 0.35
    scene.display.light_direction = (-0.35, 0.35, 0.85)
    scene.world = bpy.data.worlds.new("Backdrop")
    scene.world.color = BACKGROUND
    lens = bpy.data.cameras.new("Camera")
    lens.type = "ORTHO"
    camera = bpy.data.objects.new("Camera", lens)
    scene.collection.objects.link(camera)
    scene.camera = camera


def pose_hand(armature: bpy.types.Object, rotations: Floats) -> None:
    """Pose the bones, which are named after the joints, by rotations (25, 4) of a frame of a Pose."""
    from knuckle.hand.joints import JOINTS

    for name, rotation in zip(JOINTS, rotations, strict=True):
        armature.pose.bones[name].rotation_quaternion = rotation
    bpy.context.view_layer.update()


def skin_points(mesh: bpy.types.Object) -> Floats:
    """Return the world positions (V, 3) of a mesh's vertices after its modifiers."""
    evaluated = mesh.evaluated_get(bpy.context.evaluated_depsgraph_get())
    points = np.empty((len(evaluated.data.vertices), 3), np.float32)
    evaluated.data.vertices.foreach_get("co", points.ravel())
    world = np.array(mesh.matrix_world)
    world_points: Floats = points @ world[:3, :3].T + world[:3, 3]
    return world_points


def render_view(scene: bpy.types.Scene, points: Floats, view: str, pixels: int, wrist_axes: Floats) -> Floats:
    """Render one view of the points, (pixels, pixels, 3); wrist_axes: (3, 3), as columns."""
    to_camera, up = (wrist_axes @ np.array(axis, float) for axis in VIEWS[view])
    right = np.cross(up, to_camera)
    axes = np.stack([right, up, to_camera])
    low, high = (points @ axes.T).min(0), (points @ axes.T).max(0)
    camera = scene.camera
    camera.data.ortho_scale = float(1.08 * (high - low)[:2].max())
    centre = axes.T @ np.array([*((low + high) / 2)[:2], high[2] + 0.3])
    matrix = Matrix(axes.T.tolist()).to_4x4()
    matrix.translation = Vector(centre.tolist())
    camera.matrix_world = matrix
    scene.render.resolution_x = scene.render.resolution_y = pixels
    with tempfile.TemporaryDirectory() as folder:
        scene.render.filepath = str(Path(folder) / "view.png")
        bpy.ops.render.render(write_still=True)
        return read_picture(scene.render.filepath)


def read_picture(path: str) -> Floats:
    """Return the pixels (H, W, 3) of a picture, top row first."""
    image = bpy.data.images.load(path)
    width, height = image.size
    pixels = np.empty(width * height * 4, np.float32)
    stored: Any = image.pixels
    stored.foreach_get(pixels)
    bpy.data.images.remove(image)
    return pixels.reshape(height, width, 4)[::-1, :, :3]


def write_picture(path: Path, pixels: Floats) -> None:
    """Save (H, W, 3) as a PNG, or (H, W, 4) with transparency."""
    height, width, channels = pixels.shape
    image = bpy.data.images.new(path.stem, width, height, alpha=channels == 4)
    rgba = pixels if channels == 4 else np.dstack([pixels, np.ones((height, width))])
    stored: Any = image.pixels
    stored.foreach_set(np.ascontiguousarray(rgba[::-1], np.float32).ravel())
    image.filepath_raw, image.file_format = str(path), "PNG"
    path.parent.mkdir(parents=True, exist_ok=True)
    image.save()
    bpy.data.images.remove(image)


def view_sheet(scene: bpy.types.Scene, mesh: bpy.types.Object, pixels: int, wrist_axes: Floats) -> Floats:
    """Render a mesh from every view, side by side: (pixels, 4·pixels, 3). wrist_axes: (3, 3), as columns."""
    points = skin_points(mesh)
    return np.concatenate([render_view(scene, points, view, pixels, wrist_axes) for view in VIEWS], axis=1)


def arguments() -> argparse.Namespace:
    """Parse the command line, after `--` when Blender itself runs this file."""
    args = sys.argv[sys.argv.index("--") + 1 :] if "--" in sys.argv else sys.argv[1:]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "docs/pictures")
    parser.add_argument("--side", choices=("left", "right"), default="right")
    parser.add_argument("--size", type=float, default=0.185, help="m, from the wrist to the middle finger's tip")
    parser.add_argument("--pixels", type=int, default=420)
    parser.add_argument("poses", nargs="*", help="names of poses; by default the everyday ones")
    return parser.parse_args(args)


def main() -> None:
    """Build the hand once and render each pose."""
    load_package()
    from knuckle.hand.kinematics import joint_rotations
    from knuckle.hand.poses import angles, names_in_group
    from knuckle.hand.proportions import adult, build
    from knuckle.rig.default_hand import add_hand

    options = arguments()
    scene = empty_scene()
    proportions = adult(options.side, options.size)
    armature = add_hand(proportions, "Hand", scene.collection)
    hand = build(proportions)
    axes = np.diag([-1.0 if options.side == "left" else 1.0, 1, 1])
    for name in options.poses or names_in_group("everyday"):
        pose_hand(armature, joint_rotations(hand, angles(hand, name)[None])[0])
        write_picture(options.out / f"hand-{name}.png", view_sheet(scene, armature.children[0], options.pixels, axes))


if __name__ == "__main__":
    main()
