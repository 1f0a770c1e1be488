"""The meshes that an armature deforms: which joints move their vertices, and the thickness of the hand by them."""

from typing import TYPE_CHECKING, Any

import bpy
import numpy as np
from numpy.typing import NDArray

from ..hand import rotations as rot
from ..hand.flesh import radii_of_skin
from ..hand.joints import JOINT_INDEX, JOINTS, PARENTS
from .armature_hands import FoundHand
from .binding import joint_points

if TYPE_CHECKING:
    from bpy.types import Object

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ABOUT = 0.2
"""Fraction of the extent of a hand's joints: skin farther from them is not the hand's."""
MOSTLY = 0.5
"""Minimum fraction of the hand in a vertex's weights; vertices with less are the arm's."""
BEHIND = 0.1
"""Hand lengths behind the wrist, beyond which a bone is the arm's."""


def skin_radii(armature: "Object", found: FoundHand) -> Floats | None:
    """Return half the thickness (5, 4) m of a hand's digits at their joints and tips, in its size in the world.

    Of the meshes as they are modelled, which is at rest. NaN where they have no skin; None if they have none at all.
    """
    bones, points, joints = joints_of_bones(armature, found), [], []
    positions = joint_points(armature, found.bones)
    lowest, highest = np.nanmin(positions, axis=0), np.nanmax(positions, axis=0)
    margin = ABOUT * float(np.linalg.norm(highest - lowest))
    for mesh in skins(armature):
        moves = {group.index: bones[group.name] for group in mesh.vertex_groups if group.name in bones}
        if not moves:
            continue
        skin = modelled_points(mesh, np.array(armature.matrix_world.inverted_safe() @ mesh.matrix_world))
        # Weights are read one vertex at a time, so only those about the hand are.
        about = np.flatnonzero(((skin > lowest - margin) & (skin < highest + margin)).all(axis=1))
        moved = _moved_most(mesh, about.tolist(), moves)
        points.append(skin[about[moved >= 0]])
        joints.append(moved[moved >= 0])
    if not sum(map(len, points)):
        return None
    size = float(np.abs(np.linalg.det(np.array(armature.matrix_world)[:3, :3]))) ** (1 / 3)
    radii: Floats = size * radii_of_skin(positions, np.concatenate(points), np.concatenate(joints))
    return radii


def modelled_points(mesh: "Object", to_armature: Floats) -> Floats:
    """Return the vertices (V, 3) of a mesh as it is modelled, in armature space."""
    positions = np.empty(3 * len(mesh.data.vertices), np.float32)
    mesh.data.vertices.foreach_get("co", positions)
    moved: Floats = positions.reshape(-1, 3) @ to_armature[:3, :3].T + to_armature[:3, 3]
    return moved


def _moved_most(mesh: "Object", rows: list[int], moves: dict[int, int]) -> Ints:
    """Return the joint (V,) that moves each of some vertices most, -1 for none; moves: vertex group -> joint."""
    vertices, joints = mesh.data.vertices, np.full(len(rows), -1)
    for number, row in enumerate(rows):
        heaviest = max(vertices[row].groups, key=lambda group: group.weight, default=None)
        joints[number] = -1 if heaviest is None else moves.get(heaviest.group, -1)
    return joints


def skins(armature: "Object") -> "list[Object]":
    """Return the visible meshes that an armature deforms."""
    return [
        obj
        for obj in bpy.context.view_layer.objects
        if obj.type == "MESH" and not obj.hide_get() and not obj.hide_viewport and is_skin(obj, armature)
    ]


def is_skin(obj: "Object", armature: "Object") -> bool:
    """Return whether an armature deforms an object in the viewport."""
    return any(
        modifier.type == "ARMATURE" and modifier.object == armature and modifier.show_viewport
        for modifier in obj.modifiers
    )


def preserves_volume(obj: "Object", armature: "Object") -> bool:
    """Return whether an armature deforms an object by dual quaternions, its modifier's *Preserve Volume*."""
    return any(
        modifier.type == "ARMATURE" and modifier.object == armature and modifier.use_deform_preserve_volume
        for modifier in obj.modifiers
    )


def weights_in_hand(obj: "Object", mesh: Any, bones: dict[str, int]) -> tuple[Ints, Floats]:
    """Return the vertices (V,) of a mesh of an object that are a hand's, and their weights (V, J) of its joints.

    bones: as joints_of_bones returns them.
    """
    joints = [bones.get(group.name, -1) for group in obj.vertex_groups]
    rows, columns, values = [], [], []
    for row, vertex in enumerate(mesh.vertices):
        for group in vertex.groups:
            if group.group < len(joints):
                rows.append(row)
                columns.append(joints[group.group])
                values.append(group.weight)
    weights = np.zeros((len(mesh.vertices), len(JOINTS) + 1))
    # The last column is for bones that are not the hand's.
    np.add.at(weights, (np.array(rows, int), np.array(columns, int)), np.array(values))
    total = weights.sum(axis=1)
    vertices = np.flatnonzero(weights[:, :-1].sum(axis=1) > MOSTLY * np.maximum(total, 1e-9))
    own = weights[vertices, :-1]
    return vertices, own / own.sum(axis=1, keepdims=True)


def joints_of_bones(armature: "Object", found: FoundHand) -> dict[str, int]:
    """Return bone -> the joint that it moves with.

    That is its own joint, or the one along whose bone it lies, as the deforming bones of a rig with controls do.
    """
    own = {name: JOINT_INDEX[joint] for joint, name in found.bones.items()}
    points = joint_points(armature, found.bones)
    wrist, knuckle = points[0], np.nanmean(points[[JOINT_INDEX["middle-finger-phalanx-proximal"]]], axis=0)
    if not (np.isfinite(wrist).all() and np.isfinite(knuckle).all()):
        return own
    ahead, size = rot.unit_vector(knuckle - wrist), 2.0 * float(np.linalg.norm(knuckle - wrist))
    located = np.all(np.isfinite(points), axis=1)
    segments = []
    for joint in np.flatnonzero(located)[1:].tolist():
        # Without metacarpals the palm reaches from the wrist to the knuckles.
        parent = PARENTS[joint]
        while not located[parent]:
            parent = PARENTS[parent]
        segments.append((parent, points[parent], points[joint]))
    result = dict(own)
    if found.carrier is not None:
        result[found.carrier] = 0
    for bone in armature.data.bones:
        if bone.name in result or not bone.use_deform:
            continue
        middle = 0.5 * (np.array(bone.head_local) + np.array(bone.tail_local))
        if (middle - wrist) @ ahead < -BEHIND * size * 0.5:
            continue
        distance, joint = min((_beside(middle, start, end), joint) for joint, start, end in segments)
        if distance < 0.12 * size:
            result[bone.name] = joint
    return result


def _beside(point: Floats, start: Floats, end: Floats) -> float:
    along = end - start
    part = np.clip((point - start) @ along / max(float(along @ along), 1e-18), 0.0, 1.0)
    return float(np.linalg.norm(point - start - part * along))
