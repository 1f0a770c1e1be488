"""Markers painted on the skins of simulated hands, moved by real captures, whose joints are known from the armature.

Blender's armature modifier moves the skin (linear blending, so that it slides a little by itself). On top of that a
marker slides towards the wrist and is pushed outwards by the bends of the joints beside it. It is hidden in a frame
where the hand's own mesh blocks all but one of six cameras. Made once, kept in build/skin.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import bpy
import numpy as np
from mathutils import Matrix, Vector
from mathutils.bvhtree import BVHTree
from numpy.typing import NDArray
from skin_hands import SkinnedHand, hands
from skin_motions import RATE, cached
from skin_paints import PAINTS, SETS
from skin_takes import ROOT, Clip

from knuckle.hand.joints import BENDING_JOINTS, JOINT_INDEX, JOINTS, PARENTS
from knuckle.hand.kinematics import joint_rotations
from knuckle.hand.rotations import to_matrix

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

BUILD = ROOT / "build" / "skin"
TESTS = ("headset", "glove", "Leap", "skin")
"""The motions that test; each hand is calibrated on 'range' and tested on one of them."""
RADIUS = 0.003
"""m from the skin to the centre of a marker."""
SLIDE, BULGE, NEAR = 0.001, 0.0008, 0.012
"""m a radian of bend that a marker moves along and out of the skin, and m from the joint at which a third is left."""
CAMERAS, CAMERA_DISTANCE = 6, 1.5
MIN_CAMERAS = 2
"""Minimum number of cameras that see a marker."""


@dataclass(frozen=True, slots=True, eq=False)
class Made:
    """A motion of a hand."""

    name: str
    side: str
    motion: str
    positions: Floats
    """(F, 19, 3) m, without noise, of all markers whether or not a camera sees them."""
    seen: Bools
    """(F, 19)"""
    frames: Floats
    """(F, 25, 4, 4) T_world_joint, of the armature."""

    def clip(self, markers: int, noise_mm: float, seed: int) -> Clip:
        """Return a simulated recording with a number of markers."""
        random = np.random.default_rng(seed)
        noisy = self.positions + random.normal(0, 1, self.positions.shape) * noise_mm / 1000
        noisy[~self.seen] = np.nan
        labels = tuple(paint.label for paint in PAINTS)
        clip = Clip(f"{self.name}, {self.motion}", self.side, RATE, labels, noisy)
        return clip.without(*(label for label in labels if label not in SETS[markers]))


class Studio:
    """A hand in Blender: its armature, its skin, and the markers on it."""

    def __init__(self, hand: SkinnedHand, seed: int) -> None:
        bpy.ops.wm.read_homefile(use_empty=True)
        self.hand = hand
        self._armature = build_armature(hand)
        self._skin = build_skin(hand, self._armature)
        self._triangles, self._shares, self._normals = self._painted(np.random.default_rng(seed))

    def _painted(self, random: np.random.Generator) -> tuple[NDArray[np.int64], Floats, Floats]:
        """Return the vertices (19, 3) around each marker, their weights (19, 3), and the signs (19,) of the
        normals, at rest."""
        tree = BVHTree.FromPolygons([Vector(v) for v in self.hand.vertices], self.hand.faces)
        triangles, fractions, signs = [], [], []
        for paint in PAINTS:
            joint = JOINT_INDEX[paint.joint]
            frame = self.hand.frames[joint]
            end = self.hand.frames[_next(paint.joint), :3, 3]
            length = np.linalg.norm(end - frame[:3, 3])
            angle = np.deg2rad(paint.around + random.normal(0, 8))
            fraction = np.clip(paint.along + random.normal(0, 0.04), 0.1, 0.95)
            direction = frame[:3, :3] @ np.array([np.sin(angle), 0, np.cos(angle)])
            middle = frame[:3, 3] + frame[:3, 1] * fraction * length
            hit, _, face, _ = tree.ray_cast(Vector(middle + 0.05 * direction), Vector(-direction))
            corners = self.hand.faces[face]
            corner = min(
                ((corners[0], corners[i], corners[i + 1]) for i in range(1, len(corners) - 1)),
                key=lambda three: np.abs(_barycentric(self.hand.vertices[list(three)], np.array(hit)) - 1 / 3).max(),
            )
            barycentric = _barycentric(self.hand.vertices[list(corner)], np.array(hit))
            triangles.append(corner)
            fractions.append(barycentric)
            signs.append(np.sign(_normal(self.hand.vertices[list(corner)]) @ direction))
        return np.array(triangles), np.array(fractions), np.array(signs)

    def film(self, motion: str, angles: Floats, roots: Floats) -> Made:
        """Return the markers of a motion: angles (F, 26) rad, roots (F, 4, 4)."""
        rotations = to_matrix(joint_rotations(self.hand.model, angles - self.hand.rest_angles))
        positions = np.zeros((len(angles), len(PAINTS), 3))
        is_seen = np.zeros(positions.shape[:2], bool)
        frames = np.zeros((len(angles), len(JOINTS), 4, 4))
        for number, root in enumerate(roots):
            self._pose(rotations[number])
            skin = self._moved_skin()
            local = self._joints()
            marks = self._marks(skin, local)
            is_seen[number] = self._seen(marks, root)
            positions[number] = marks @ root[:3, :3].T + root[:3, 3]
            frames[number] = root @ local
        return Made(self.hand.name, self.hand.model.side, motion, positions, is_seen, frames)

    def _pose(self, rotations: Floats) -> None:
        for joint, rotation in zip(JOINTS, rotations, strict=True):
            self._armature.pose.bones[joint].matrix_basis = Matrix(rotation).to_4x4()
        bpy.context.view_layer.update()

    def _joints(self) -> Floats:
        """Return T_wrist_joint (25, 4, 4), as Blender has them."""
        return np.array([self._armature.pose.bones[joint].matrix for joint in JOINTS])

    def _moved_skin(self) -> Floats:
        """Return (V, 3) m, as Blender evaluates it."""
        mesh = self._skin.evaluated_get(bpy.context.evaluated_depsgraph_get()).data
        flat = np.empty(3 * len(mesh.vertices), np.float32)
        mesh.vertices.foreach_get("co", flat)
        return flat.reshape(-1, 3).astype(float)

    def _marks(self, skin: Floats, frames: Floats) -> Floats:
        """Return the centres (19, 3) m of the markers on the moved skin."""
        corners = skin[self._triangles]
        centres = np.einsum("mc,mci->mi", self._shares, corners)
        normals = np.stack([_normal(three) for three in corners]) * self._normals[:, None]
        marks = centres + RADIUS * normals
        for number, paint in enumerate(PAINTS):
            joint, after = JOINT_INDEX[paint.joint], _next(paint.joint)
            for bend in {joint, after}:
                if JOINTS[bend] not in BENDING_JOINTS and not JOINTS[bend].endswith("proximal"):
                    continue
                rotation = _bend(frames, bend) - _bend(self.hand.frames, bend)
                weight = np.exp(-np.linalg.norm(centres[number] - frames[bend, :3, 3]) / NEAR)
                marks[number] += weight * rotation * (BULGE * normals[number] - SLIDE * frames[joint, :3, 1])
        return marks

    def _seen(self, marks: Floats, root: Floats) -> Bools:
        """Return (19,) whether at least MIN_CAMERAS cameras around the volume see each marker."""
        tree = BVHTree.FromObject(self._skin, bpy.context.evaluated_depsgraph_get())
        rotation = np.arange(CAMERAS) * 2 * np.pi / CAMERAS
        around = np.stack([np.cos(rotation), np.sin(rotation), np.where(np.arange(CAMERAS) % 2, 0.3, 0.9)], axis=1)
        cameras = (CAMERA_DISTANCE * around + [0, 0, 1] - root[:3, 3]) @ root[:3, :3]
        clear = np.zeros((len(marks), CAMERAS), bool)
        for i, mark in enumerate(marks):
            for j, camera in enumerate(cameras):
                clear[i, j] = tree.ray_cast(Vector(mark), Vector(camera - mark), CAMERA_DISTANCE)[0] is None
        return clear.sum(1) >= MIN_CAMERAS


def _next(joint: str) -> int:
    """Return the joint at the end of a bone."""
    return JOINT_INDEX[joint] + 1


def _bend(frames: Floats, joint: int) -> float:
    """Return the angle in rad between a joint's bone and the previous one."""
    return float(np.arccos(np.clip(frames[joint, :3, 1] @ frames[PARENTS[joint], :3, 1], -1, 1)))


def _normal(corners: Floats) -> Floats:
    normal = np.cross(corners[1] - corners[0], corners[2] - corners[0])
    return np.asarray(normal / np.linalg.norm(normal))


def _barycentric(corners: Floats, point: Floats) -> Floats:
    """Return the barycentric weights (3,) of a point."""
    fractions, *_ = np.linalg.lstsq(np.vstack([corners.T, np.full(3, 0.05)]), np.append(point, 0.05), rcond=None)
    return np.asarray(fractions)


def build_armature(hand: SkinnedHand) -> bpy.types.Object:
    """Add an armature with the hand's bones to the scene."""
    armature = bpy.data.objects.new("hand", bpy.data.armatures.new("hand"))
    bpy.context.collection.objects.link(armature)
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    for joint, parent in zip(JOINTS, PARENTS, strict=True):
        bone = armature.data.edit_bones.new(joint)
        bone.length = 0.02
        bone.matrix = Matrix(hand.frames[JOINT_INDEX[joint]])
        bone.parent = armature.data.edit_bones[parent] if parent >= 0 else None
    bpy.ops.object.mode_set(mode="OBJECT")
    return armature


def build_skin(hand: SkinnedHand, armature: bpy.types.Object) -> bpy.types.Object:
    """Add the hand's skin to the scene, deformed by the armature."""
    mesh = bpy.data.meshes.new("skin")
    mesh.from_pydata(hand.vertices.tolist(), [], hand.faces)
    skin = bpy.data.objects.new("skin", mesh)
    bpy.context.collection.objects.link(skin)
    for joint, column in zip(JOINTS, hand.weights.T, strict=True):
        group = skin.vertex_groups.new(name=joint)
        for vertex in np.flatnonzero(column > 1e-6):
            group.add([int(vertex)], float(column[vertex]), "REPLACE")
    modifier = skin.modifiers.new("armature", "ARMATURE")
    modifier.object = armature
    return skin


def made() -> Iterator[tuple[Made, Made]]:
    """Yield each hand's motion for calibration and its motion for the test."""
    motions = cached(BUILD)
    for number, hand in enumerate(hands()):
        test = TESTS[number % len(TESTS)]
        studio = Studio(hand, seed=number)
        yield studio.film("range", *motions["range"]), studio.film(test, *motions[test])


def stored() -> list[tuple[Made, Made]]:
    """Return the motions of `made`, read from build/skin if they are stored there."""
    path = BUILD / "made.npz"
    if not path.is_file():
        pairs = list(made())
        BUILD.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(path, **{key: value for i, pair in enumerate(pairs) for key, value in _arrays(i, pair)})
        return pairs
    with np.load(path) as arrays:
        count = sum(key.endswith("/0/words") for key in arrays.files)
        return [(_read(arrays, f"{i}/0"), _read(arrays, f"{i}/1")) for i in range(count)]


def _arrays(number: int, pair: tuple[Made, Made]) -> Iterator[tuple[str, NDArray[np.generic]]]:
    for which, one in enumerate(pair):
        yield f"{number}/{which}/words", np.array([one.name, one.side, one.motion])
        for name in ("positions", "seen", "frames"):
            yield f"{number}/{which}/{name}", getattr(one, name)


def _read(arrays: np.lib.npyio.NpzFile, key: str) -> Made:
    name, side, motion = map(str, arrays[f"{key}/words"])
    return Made(name, side, motion, *(arrays[f"{key}/{part}"] for part in ("positions", "seen", "frames")))
