"""Hands with a skin whose joints are known: Knuckle's own and MakeHuman's, each in six proportions.

Both become the same thing: vertices, faces, each joint's weights, and the joints' frames at rest in Knuckle's
convention (+Y along the bone, +Z out of the back), of which a HandModel is made. Blender builds an armature of exactly
these joints and moves the skin by it (skin_made.py).
"""

from dataclasses import dataclass, field, replace
from pathlib import Path

import bpy
import numpy as np
from numpy.typing import NDArray
from skin_takes import ROOT

from knuckle.hand.joints import CHAIN_JOINTS, DIGIT_JOINTS, DIGITS, JOINT_INDEX, JOINTS, PARENTS, Side
from knuckle.hand.mesh.surface import surface
from knuckle.hand.model import HandModel
from knuckle.hand.proportions import Proportions, adult, build, rest_frames_in_wrist

Floats = NDArray[np.float64]

MAKEHUMAN = ROOT.parent / "shared" / "data" / "rigs" / "makehuman_default.blend"
SIZE = 0.185
"""m, from the wrist to the middle finger's tip, of a hand of ordinary proportions."""


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """Proportions of a hand, as factors on an average one."""

    name: str
    size: float = 1.0
    fingers: float = 1.0
    width: float = 1.0
    thumb: float = 1.0
    little: float = 1.0
    bones: Floats = field(default_factory=lambda: np.ones((5, 3)))
    """(5, 3) factors on the bones' lengths."""


SHAPES = (
    Shape("ordinary"),
    Shape("small", size=0.86),
    Shape("large", size=1.12),
    Shape("long fingers", fingers=1.1, width=0.95),
    Shape("broad, short fingers", fingers=0.92, width=1.1),
    Shape("long thumb, short little finger", thumb=1.1, little=0.88),
)


@dataclass(frozen=True, slots=True, eq=False)
class SkinnedHand:
    """A hand at rest, in the wrist's frame."""

    name: str
    vertices: Floats
    """(V, 3) m"""
    faces: tuple[tuple[int, ...], ...]
    weights: Floats
    """(V, 25), rows sum to 1."""
    frames: Floats
    """(25, 4, 4) T_wrist_joint."""
    model: HandModel
    """The model of the hand; at zero angles it is at rest."""
    rest_angles: Floats
    """(26,) rad, how far the joints are bent at rest, as an anatomist counts."""


def hands() -> list[SkinnedHand]:
    """Return twelve hands: Knuckle's right ones, and MakeHuman's left ones."""
    return [hand_of(number) for number in range(2 * len(SHAPES))]


def hand_of(number: int, bones: Floats | float = 1.0) -> SkinnedHand:
    """Return one of the twelve hands, its bones scaled by factors (5, 3)."""
    shape = SHAPES[number % len(SHAPES)]
    shape = replace(shape, bones=shape.bones * bones)
    return _knuckle(shape) if number < len(SHAPES) else _makehuman(shape)


def _knuckle(shape: Shape) -> SkinnedHand:
    """Return Knuckle's own hand with other proportions; its skin is built over them."""
    plain = adult("right", SIZE * shape.size)
    digits = np.array([shape.thumb, *[shape.fingers] * 3, shape.fingers * shape.little])
    phalanges = plain.phalanges * digits[:, None] * shape.bones
    proportions = Proportions("right", plain.palm * [shape.width, 1, 1], phalanges, plain.digit_rotations)
    skin, model = surface(proportions), build(proportions)
    faces = tuple(tuple(int(corner) for corner in quad) for quad in skin.quads)
    frames = rest_frames_in_wrist(proportions)
    return SkinnedHand(
        f"Knuckle, {shape.name}", skin.vertices, faces, skin.weights, frames, model, np.zeros(model.dofs)
    )


def _makehuman(shape: Shape) -> SkinnedHand:
    """Return MakeHuman's left hand, with bones and skin stretched."""
    vertices, faces, weights, points = _read_makehuman(MAKEHUMAN)
    factors = np.ones((len(JOINTS), 3))
    for digit in DIGITS:
        longer = {"thumb": shape.thumb, "pinky-finger": shape.fingers * shape.little}.get(digit, shape.fingers)
        chain = [JOINT_INDEX[joint] for joint in CHAIN_JOINTS[digit]]
        factors[chain, 1] = longer * np.append(shape.bones[DIGITS.index(digit)], 1.0)
    frames = _frames(points, "left")
    scale = SIZE * shape.size / np.linalg.norm(np.diff(points[_chain("middle-finger")], axis=0), axis=1).sum()
    inverse = np.linalg.inv(frames)
    stretched, vertices_at = frames.copy(), np.zeros((len(JOINTS), len(vertices), 3))
    for joint, parent in enumerate(PARENTS):
        if parent >= 0:
            local = (inverse[parent] @ frames[joint])[:3, 3] * factors[parent]
            stretched[joint, :3, 3] = stretched[parent, :3, :3] @ local + stretched[parent, :3, 3]
        local = (vertices @ inverse[joint, :3, :3].T + inverse[joint, :3, 3]) * factors[joint]
        vertices_at[joint] = local @ stretched[joint, :3, :3].T + stretched[joint, :3, 3]
    skin = np.einsum("vj,jvi->vi", weights, vertices_at)
    to_wrist = np.linalg.inv(stretched[0])
    skin = (skin @ to_wrist[:3, :3].T + to_wrist[:3, 3]) * scale * [shape.width, 1, 1]
    points = (stretched[:, :3, 3] @ to_wrist[:3, :3].T + to_wrist[:3, 3]) * scale * [shape.width, 1, 1]
    frames = _frames(points, "left")
    model, rest_angles = _model(frames)
    return SkinnedHand(f"MakeHuman, {shape.name}", skin, faces, weights, frames, model, rest_angles)


def _chain(digit: str) -> list[int]:
    return [0, *(JOINT_INDEX[joint] for joint in CHAIN_JOINTS[digit])]


def _read_makehuman(path: Path) -> tuple[Floats, tuple[tuple[int, ...], ...], Floats, Floats]:
    """Return the left hand: vertices (V, 3), faces, weights (V, 25) and joints (25, 3), as the file has them."""
    bpy.ops.wm.open_mainfile(filepath=str(path))
    body = next(thing for thing in bpy.data.objects if thing.type == "MESH")
    bones = next(thing for thing in bpy.data.objects if thing.type == "ARMATURE").data.bones
    bone_of_joint = {"wrist": "wrist.L"}
    for number, digit in enumerate(DIGITS, start=1):
        parts = [f"finger{number}-{bone}.L" for bone in (1, 2, 3)]
        parts = parts if digit == "thumb" else [f"metacarpal{number - 1}.L", *parts]
        bone_of_joint |= dict(zip(DIGIT_JOINTS[digit], parts, strict=False))
    points = np.zeros((len(JOINTS), 3))
    for joint, bone in bone_of_joint.items():
        points[JOINT_INDEX[joint]] = bones[bone].head_local
    for digit in DIGITS:
        points[JOINT_INDEX[CHAIN_JOINTS[digit][3]]] = bones[bone_of_joint[CHAIN_JOINTS[digit][2]]].tail_local
    # What belongs to the forearm moves with the wrist, because it occludes markers.
    of_group = {group.index: 0 for group in body.vertex_groups if group.name == "lowerarm02.L"}
    of_group |= {body.vertex_groups[bone].index: JOINT_INDEX[joint] for joint, bone in bone_of_joint.items()}
    weights = np.zeros((len(body.data.vertices), len(JOINTS)))
    for vertex in body.data.vertices:
        for group in vertex.groups:
            if group.group in of_group:
                weights[vertex.index, of_group[group.group]] += group.weight
    hand_vertices = np.flatnonzero(weights.sum(1) > 0.5)
    index = {int(old): new for new, old in enumerate(hand_vertices)}
    faces = tuple(
        tuple(index[corner] for corner in face.vertices)
        for face in body.data.polygons
        if all(corner in index for corner in face.vertices)
    )
    vertices = np.array([vertex.co for vertex in body.data.vertices])[hand_vertices]
    weights = weights[hand_vertices] / weights[hand_vertices].sum(1, keepdims=True)
    return vertices, faces, weights, points


def _frames(points: Floats, side: Side) -> Floats:
    """Return the joints' frames (25, 4, 4) at these points: +Y along each bone, +X across the plane of its digit."""
    knuckles = points[[JOINT_INDEX[CHAIN_JOINTS[digit][0]] for digit in DIGITS[1:]]]
    outwards = 1.0 if side == "right" else -1.0
    across = outwards * (knuckles[-1] - knuckles[0])
    frames = np.tile(np.eye(4), (len(JOINTS), 1, 1))
    frames[:, :3, 3] = points
    frames[0, :3, :3] = _basis(knuckles[1] - points[0], across)
    for digit in DIGITS:
        chain = [JOINT_INDEX[joint] for joint in CHAIN_JOINTS[digit]]
        bones = np.diff(points[chain], axis=0)
        # The fingers are bent at rest, and their X is across the plane of the bend, palmwards about -X.
        hinge = -(np.cross(bones[0], bones[1]) + np.cross(bones[1], bones[2]))
        for joint, bone in zip(chain, [*bones, bones[-1]], strict=True):
            frames[joint, :3, :3] = _basis(bone, hinge)
        if digit != "thumb":
            base = JOINT_INDEX[DIGIT_JOINTS[digit][0]]
            frames[base, :3, :3] = _basis(points[chain[0]] - points[base], across)
    return frames


def _basis(y: Floats, x: Floats) -> Floats:
    """Return a rotation (3, 3) with +Y along y and +X near x."""
    y = y / np.linalg.norm(y)
    x = x - (x @ y) * y
    x = x / np.linalg.norm(x)
    return np.stack([x, y, np.cross(x, y)], axis=1)


def _model(frames: Floats) -> tuple[HandModel, Floats]:
    """Return a HandModel of these frames at rest, and how far its middle and last joints are bent there (26,) rad."""
    plain = build(adult("left"))
    rest = frames.copy()
    parents = np.array(PARENTS)
    rest[1:] = np.linalg.inv(frames[parents[1:]]) @ frames[1:]
    flexions = np.zeros(plain.dofs)
    for digit in DIGITS:
        for joint in CHAIN_JOINTS[digit][1:3]:
            dof = plain.dof(joint, "flexion")
            rotation = rest[JOINT_INDEX[joint], :3, :3]
            flexions[dof] = np.arccos(np.clip((np.trace(rotation) - 1) / 2, -1, 1))
    return replace(plain, rest=rest), flexions
