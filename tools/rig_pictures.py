"""Renders the hands of the test rigs: at rest, curled by 60 degrees, and with baked recordings.

    python tools/rig_pictures.py [--out docs/pictures] [--pixels 200]

The bones of a rig without skin are drawn. Needs bpy and, without a screen, Mesa's EGL; and ../shared.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import pairwise
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
from knuckle.hand.joints import CHAIN_JOINTS, DIGITS, JOINT_INDEX  # noqa: E402
from knuckle.hand.kinematics import Pose  # noqa: E402
from knuckle.rig.armature_hands import FoundHand, find_hands  # noqa: E402
from knuckle.rig.bound_hand import bound_hand  # noqa: E402
from knuckle.rig.keys.hand_motion import KeyedHand  # noqa: E402
from knuckle.rig.keys.keyframes import key_hands  # noqa: E402
from knuckle.tests.blender import baking  # noqa: E402
from knuckle.tests.blender.rigs import RIGS, placed, strange  # noqa: E402

Floats = NDArray[np.floating[Any]]

CAPTURES = ROOT.parent / "shared" / "data" / "captures"
CURL = np.deg2rad(60.0)
SKIN = (0.78, 0.6, 0.5)
VIEWS = {"palm": ((0.0, 0.0, -1.0), (0.0, 1.0, 0.0)), "thumb": ((-0.9, 0.0, -0.45), (0.0, 1.0, 0.0))}
"""Direction to the camera and up vector, in the frame of a right hand's wrist."""
SHEETS: dict[str, tuple[str | None, tuple[str, ...]]] = {
    "rigs-webxr": (None, ("WebXR, left", "WebXR, right")),
    "rigs-makehuman": (None, ("MakeHuman", "MakeHuman for games")),
    "rigs-named": (None, ("named as Mixamo", "named as Unreal")),
    "rigs-rigify": (None, ("Rigify metarig", "Rigify generated")),
    "rigs-renamed": ("a hundredth, turned", ("WebXR, right", "MakeHuman", "Rigify metarig")),
    "rigs-mirrored": ("mirrored", ("WebXR, right", "MakeHuman", "Rigify metarig")),
}
"""Picture -> modification of its rigs, and their names."""
BAKED = ("MakeHuman", "Rigify metarig", "Rigify generated")
BAKES = ("asl s", "pinch", "grab", "asl l")
"""The headset's poses that are baked."""
GLOVE = 430
"""The frame of the glove recording that is shown."""


class Hand:
    """A hand of an armature, with its model and binding."""

    def __init__(self, armature: bpy.types.Object, found: FoundHand) -> None:
        self.armature, self.found, self.side = armature, found, found.side
        self.model = proportions.build(proportions.adult(found.side))
        self.binding = bound_hand(armature, found, self.model)
        wrist = JOINT_INDEX["wrist"]
        self.from_bone = np.linalg.inv(self.binding.rest_to_bone[wrist, :3, :3])

    def frame(self) -> Floats:
        """Return the wrist's current axes (3, 3) in the world, X towards the little finger."""
        pose = np.array(self._posed().pose.bones[self.found.bones["wrist"]].matrix)[:3, :3]
        axes = np.array(self._posed().matrix_world)[:3, :3] @ pose @ self.from_bone
        z, y = axes[:, 2] / np.linalg.norm(axes[:, 2]), axes[:, 1] / np.linalg.norm(axes[:, 1])
        x = np.cross(y, z) * (1 if self.side == "right" else -1)
        return np.stack([x, y, z], axis=1)

    def segments(self) -> list[tuple[Floats, Floats]]:
        """Return the world head (3,) and tail (3,) of every bone of the digits and the palm that deforms the skin."""
        posed = self._posed()
        world = np.array(posed.matrix_world)
        joined = []
        for digit in DIGITS:
            names = [joint for joint in CHAIN_JOINTS[digit] if joint in self.found.bones]
            ends = baking.joint_ends(posed, [self.found.bones[joint] for joint in names], tip=names[-1].endswith("tip"))
            wrist = np.array(posed.pose.bones[self.found.carrier or self.found.bones["wrist"]].head)
            points = [world[:3, :3] @ end + world[:3, 3] for end in (wrist, *ends)]
            joined += list(pairwise(points))
        return joined

    def curl(self) -> None:
        """Key frame 1 with every joint of every digit bent by CURL and the wrist unchanged."""
        bends = np.array([movement == "flexion" for movement in self.model.movements])
        thumb = np.array([self.model.joints[j] == CHAIN_JOINTS["thumb"][0] for j in self.model.axis_joint])
        angles = np.where(bends & ~thumb, CURL, self.model.neutral)
        root = np.eye(4)
        frame = self.frame() * [1 if self.side == "right" else -1, 1, 1]
        root[:3, :3] = frame
        root[:3, 3] = self.segments()[0][0]
        key_hands(
            self.armature,
            [KeyedHand(self.binding, self.model, Pose(self.model, root[None], angles[None]))],
            np.ones(1),
            "Curl",
        )

    def _posed(self) -> bpy.types.Object:
        return self.armature.evaluated_get(bpy.context.evaluated_depsgraph_get())


def opened(name: str, *, odd: str | None = None) -> list[Hand]:
    """Open a rig in an empty scene, ready for pictures, and find its hands. odd: how the rig is modified and placed."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    armature, truth = RIGS[name]()
    if odd is not None:
        strange(armature, truth)
        placed(armature, odd)
    hand_pictures.set_up(bpy.context.scene)
    shading = bpy.context.scene.display.shading
    shading.color_type, shading.single_color = "SINGLE", SKIN
    shading.show_cavity = False
    for obj in bpy.context.scene.objects:
        obj.hide_render = not _is_skin(obj, armature)
        if _is_skin(obj, armature):
            obj.data.polygons.foreach_set("use_smooth", [True] * len(obj.data.polygons))
    bpy.context.view_layer.update()
    return [Hand(armature, found) for found in find_hands(armature)]


def _is_skin(obj: bpy.types.Object, armature: bpy.types.Object) -> bool:
    return obj.type == "MESH" and any(m.type == "ARMATURE" and m.object == armature for m in obj.modifiers)


def tile(hand: Hand, view: str, pixels: int) -> Floats:
    """Return a picture (pixels, pixels, 3) of a hand in its current pose."""
    scene = bpy.context.scene
    segments = hand.segments()
    points = np.array(segments).reshape(-1, 3)
    size = float(np.linalg.norm(np.ptp(points, axis=0)))
    sticks = None
    if not any(_is_skin(obj, hand.armature) for obj in scene.objects):
        sticks = _sticks(segments, 0.035 * size)
    back, up = (hand.frame() @ np.array(axis) for axis in VIEWS[view])
    side = np.cross(up, back)
    side /= np.linalg.norm(side)
    axes = np.stack([side, np.cross(back / np.linalg.norm(back), side), back / np.linalg.norm(back)])
    projected = points @ axes.T
    middle = (projected.min(0) + projected.max(0)) / 2
    camera: Any = scene.camera
    camera.data.ortho_scale = float(1.3 * np.ptp(projected[:, :2], axis=0).max())
    # Clip what is behind the hand, such as the body.
    camera.data.clip_start, camera.data.clip_end = 0.001 * size, 0.6 * size + float(np.ptp(projected[:, 2]))
    matrix = Matrix(axes.T.tolist()).to_4x4()
    matrix.translation = Vector(
        (axes.T @ np.array([middle[0], middle[1], projected[:, 2].max() + 0.4 * size])).tolist()
    )
    camera.matrix_world = matrix
    scene.render.resolution_x = scene.render.resolution_y = pixels
    with tempfile.TemporaryDirectory() as folder:
        scene.render.filepath = str(Path(folder) / "view.png")
        bpy.ops.render.render(write_still=True)
        picture: Floats = hand_pictures.read_picture(scene.render.filepath)
    if sticks is not None:
        bpy.data.objects.remove(sticks)
    return picture


def _sticks(segments: Sequence[tuple[Floats, Floats]], thick: float) -> bpy.types.Object:
    """Return an octahedron along every bone, as Blender draws them."""
    corners: list[list[float]] = []
    faces = []
    for head, tail in segments:
        direction = tail - head
        length = float(np.linalg.norm(direction))
        across = np.cross(direction, np.eye(3)[np.abs(direction).argmin()])
        across *= min(thick, 0.2 * length) / np.linalg.norm(across)
        side_vector = np.cross(direction / length, across)
        waist = head + 0.15 * direction
        first = len(corners)
        ring = [waist + across, waist + side_vector, waist - across, waist - side_vector]
        corners += [point.tolist() for point in (head, tail, *ring)]
        for k in range(4):
            a, b = first + 2 + k, first + 2 + (k + 1) % 4
            faces += [(first, b, a), (first + 1, a, b)]
    mesh = bpy.data.meshes.new("Sticks")
    mesh.from_pydata(corners, [], faces)
    obj = bpy.data.objects.new("Sticks", mesh)
    bpy.context.scene.collection.objects.link(obj)
    return obj


def curled_row(name: str, pixels: int, *, odd: str | None = None) -> Floats:
    """Return each hand of a rig at rest and curled, from the palm and from the thumb's side; two hands side by side."""
    rows = []
    for index in range(len(opened(name, odd=odd))):
        hand = opened(name, odd=odd)[index]
        at_rest = [tile(hand, view, pixels) for view in VIEWS]
        hand.curl()
        bpy.context.scene.frame_set(1)
        curled = [tile(hand, view, pixels) for view in VIEWS]
        rows += [picture for pair in zip(at_rest, curled, strict=True) for picture in pair]
    blank = np.broadcast_to(rows[0][0, 0], (pixels, pixels, 3))
    return np.concatenate(rows + [blank] * (8 - len(rows)), axis=1)


def baked_row(name: str, pixels: int, folder: Path) -> Floats:
    """Return poses of a headset and a frame of the glove recording on a rig's right hand."""
    pictures = []
    poses = {pose["names"][0]: pose for pose in baking.headset_poses(CAPTURES / "webxr_poses_right.js")}
    for capture, frame in [*_alone(folder, poses), (CAPTURES / "two_hands_glove.c3d", GLOVE)]:
        hand = next(hand for hand in opened(name) if hand.side == "right")
        baking.bake(hand.armature, capture, hand="auto", start=frame, end=frame)
        bpy.context.scene.frame_set(1)
        pictures += [tile(hand, view, pixels) for view in VIEWS]
    return np.concatenate(pictures, axis=1)


def _alone(folder: Path, poses: dict[str, Any]) -> Iterator[tuple[Path, int]]:
    """Yield the poses in BAKES, each as a capture of one frame."""
    for name in BAKES:
        path = folder / f"{name}.json"
        path.write_text(json.dumps(poses[name]))
        yield path, 1


def main() -> None:
    """Write a sheet for each family of rigs, for modified rigs, and for baked recordings."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "docs/pictures")
    parser.add_argument("--pixels", type=int, default=160)
    options = parser.parse_args()
    if not CAPTURES.is_dir():
        print("no rigs beside the checkout (../shared/data): their pictures stay as they are")
        return
    for sheet, (odd, names) in SHEETS.items():
        rows = [curled_row(name, options.pixels, odd=odd) for name in names]
        hand_pictures.write_picture(options.out / f"{sheet}.png", np.concatenate(rows))
    with tempfile.TemporaryDirectory() as folder:
        rows = [baked_row(name, options.pixels, Path(folder)) for name in BAKED]
    hand_pictures.write_picture(options.out / "rigs-baked.png", np.concatenate(rows))


if __name__ == "__main__":
    main()
