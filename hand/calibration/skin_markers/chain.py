"""Marker positions on a right hand in the wrist's frame, and their Jacobians.

Frames are the last axis of a chain's arrays, so that each step of its trigonometry is one operation over all of them.
With a the axis of an angle through the joint c, the derivative of a marker p is a × (p − c), plus its skin slide.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...jacobians import ROOT_DOFS
from ...joints import DIGITS
from ...limits import DIGIT_MOVEMENTS
from .skin_fit import COLUMNS, DOFS, FLEXION, HAS, PALM

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SEGMENTS, SLOTS = 3, len(DIGIT_MOVEMENTS)
JOINT_OF_SLOT = np.array([joint for joint, _ in DIGIT_MOVEMENTS])
DIGIT_OF_DOF, SLOT_OF_DOF = np.nonzero(HAS)
"""(D,) each, in the order of a hand's degrees of freedom."""
_OWN_DOFS = np.arange(len(DIGITS))[:, None] == DIGIT_OF_DOF
_DOFS_BEFORE = np.arange(SEGMENTS)[:, None] >= JOINT_OF_SLOT[SLOT_OF_DOF]
TURNED_BY = np.append(_OWN_DOFS[:, None] & _DOFS_BEFORE, np.zeros((1, SEGMENTS, DOFS), bool), axis=0)
"""(6, 3, D) whether a bone is rotated by a degree of freedom; the last row, PALM, is rotated by none."""


@dataclass(frozen=True, slots=True, eq=False)
class ShapeParameters:
    """The parameters of a right hand that all frames of a take share."""

    size: float
    """Scale of the mean hand that serves as prior."""
    first_joints: Floats
    """(5, 3) m, positions of the digits' first joints."""
    digit_rotations: Floats
    """(5, 3, 3) rotations of the digits at zero angles."""
    lengths: Floats
    """(5, 3) m, bone lengths."""
    digits: Ints
    """(M,) row in DIGITS; PALM for a palm marker."""
    bones: Ints
    """(M,) index of the bone that carries the marker."""
    offsets: Floats
    """(M, 3) m, in the bone's frame."""
    slides: Floats
    """(M, 2, 3) m/rad, skin slide per flexion of the joints at both ends of the bone."""


@dataclass(frozen=True, slots=True, eq=False)
class BoneChains:
    """The digits' bones in the wrist's frame over F frames."""

    rotations: Floats
    """(3 bones, 3 columns, 3 components, 5, F) rotation matrices."""
    joints: Floats
    """(3 bones, 3, 5, F) m, the bones' proximal joints."""
    axes: Floats
    """(6, 3, 5, F) unit"""
    angles: Floats
    """(5, 6, F) rad, zero for movements that the digit does not have."""


def bone_chains(shape: ShapeParameters, angles: Floats) -> BoneChains:
    """Forward kinematics of the digits at angles (F, D) rad: Rz(abduction) Ry(twist) Rx(−flexion) at each joint."""
    frames = len(angles)
    slots = np.zeros((len(DIGITS), SLOTS, frames))
    slots[HAS] = angles.T[COLUMNS[HAS]]
    cosine, sine = np.cos(slots), np.sin(slots)
    rotations = np.empty((SEGMENTS, 3, 3, len(DIGITS), frames))
    joints = np.empty((SEGMENTS, 3, len(DIGITS), frames))
    axes = np.empty((SLOTS, 3, len(DIGITS), frames))

    def rotate_columns(first: Floats, second: Floats, slot: int) -> tuple[Floats, Floats]:
        """Rotate two columns by a slot's angle, the first towards the second."""
        c, s = cosine[:, slot], sine[:, slot]
        return c * first + s * second, c * second - s * first

    x, y, z = shape.digit_rotations.transpose(2, 1, 0)[..., None]
    axes[0] = z
    x, y = rotate_columns(x, y, 0)
    axes[1] = y
    z, x = rotate_columns(z, x, 1)
    axes[2] = -x
    z, y = rotate_columns(z, y, 2)
    rotations[0], joints[0] = (x, y, z), shape.first_joints.T[..., None]
    axes[3] = z
    x, y = rotate_columns(x, y, 3)
    axes[4] = axes[5] = -x
    joints[1] = joints[0] + shape.lengths[:, 0, None] * rotations[0, 1]
    z, y = rotate_columns(z, y, 4)
    rotations[1] = (x, y, z)
    joints[2] = joints[1] + shape.lengths[:, 1, None] * y
    z, y = rotate_columns(z, y, 5)
    rotations[2] = (x, y, z)
    return BoneChains(rotations, joints, axes, slots)


@dataclass(frozen=True, slots=True, eq=False)
class MarkerPositions:
    """Marker positions in the wrist's frame over F frames, and the bones that carry them."""

    bones: BoneChains
    digit_markers: Ints
    """Indices of the markers on digits."""
    positions: Floats
    """(3, M, F) m"""
    rotations: Floats
    """(3 columns, 3 components, M, F) rotation of the frame that carries each marker."""
    flexions: Floats
    """(2, N, F) rad for the N markers on digits: flexion at both ends of their bones; zero beyond the last joint."""


def marker_positions(shape: ShapeParameters, angles: Floats) -> MarkerPositions:
    """Compute the markers of a hand at angles (F, D) rad."""
    bones = bone_chains(shape, angles)
    frames, count = len(angles), len(shape.digits)
    digit_markers = np.flatnonzero(shape.digits != PALM)
    digit, bone = shape.digits[digit_markers], shape.bones[digit_markers]
    rotations = np.zeros((3, 3, count, frames))
    rotations[[0, 1, 2], [0, 1, 2]] = 1.0
    rotations[:, :, digit_markers] = bones.rotations[bone, :, :, digit].transpose(1, 2, 0, 3)
    last = bone + 1 < SEGMENTS
    distal_flexion = bones.angles[digit, FLEXION[np.minimum(bone + 1, SEGMENTS - 1)]] * last[:, None]
    flexions = np.stack([bones.angles[digit, FLEXION[bone]], distal_flexion])
    offsets = np.repeat(shape.offsets.T[..., None], frames, axis=2)
    offsets[:, digit_markers] += np.einsum("mek,emf->kmf", shape.slides[digit_markers], flexions)
    positions = np.einsum("ckmf,cmf->kmf", rotations, offsets)
    positions[:, digit_markers] += bones.joints[bone, :, digit].transpose(1, 0, 2)
    return MarkerPositions(bones, digit_markers, positions, rotations, flexions)


def _cross(a: Floats, b: Floats) -> Floats:
    return np.stack([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def pose_jacobian(shape: ShapeParameters, markers: MarkerPositions, whitening: Floats | None = None) -> Floats:
    """Jacobian (F, M, 3, 6 + D) of the markers: by the wrist, along and about its own axes, and by the angles.

    whitening: (3, 3, M, F) by which each marker's is multiplied; nothing if None.
    """
    count, frames = markers.positions.shape[1:]
    # Most of it is zero: it is laid out as it is multiplied, rather than copied into that order.
    result = np.zeros((frames, count, 3, ROOT_DOFS + DOFS))

    def whitened(rows: Ints | slice, slopes: Floats) -> Floats:
        """Return slopes (3, N, F) of some markers as (N, F, 3)."""
        if whitening is not None:
            slopes = np.einsum("ckmf,kmf->cmf", whitening[:, :, rows], slopes)
        return slopes.transpose(1, 2, 0)

    for axis, unit in enumerate(np.eye(3)):
        along = np.broadcast_to(unit[:, None, None], markers.positions.shape)
        result[..., axis] = whitened(slice(None), along).swapaxes(0, 1)
        result[..., 3 + axis] = whitened(slice(None), _cross(along, markers.positions)).swapaxes(0, 1)
    turned, dofs = np.nonzero(TURNED_BY[shape.digits, shape.bones])
    digit, slot = DIGIT_OF_DOF[dofs], SLOT_OF_DOF[dofs]
    arms = markers.positions[:, turned] - markers.bones.joints[JOINT_OF_SLOT[slot], :, digit].swapaxes(0, 1)
    turns = _cross(markers.bones.axes[slot, :, digit].swapaxes(0, 1), arms)
    result[:, turned, :, ROOT_DOFS + dofs] = whitened(turned, turns)
    for end in range(2):
        sliding = markers.digit_markers[
            (shape.bones[markers.digit_markers] + end < SEGMENTS)
            & np.any(shape.slides[markers.digit_markers, end], axis=1)
        ]
        columns = ROOT_DOFS + COLUMNS[shape.digits[sliding], FLEXION[shape.bones[sliding] + end]]
        slides = np.einsum("ckmf,mc->kmf", markers.rotations[:, :, sliding], shape.slides[sliding, end])
        result[:, sliding, :, columns] += whitened(sliding, slides)
    return result


SIZE, FIRST_JOINTS, ROTATIONS, LENGTHS, MARKERS = 0, 1, 16, 31, 46
"""Where a shape's parameters begin in its vector: size, first joints, rotations, bone lengths; then offsets and
slides."""


def parameter_count(markers: int) -> int:
    """Number of parameters of a shape with so many markers."""
    return MARKERS + 9 * markers


def own_parameters(shape: ShapeParameters, marker: int) -> Ints:
    """Return indices (P,) of the shape's parameters that move a marker against the wrist."""
    count, digit, bone = len(shape.digits), shape.digits[marker], shape.bones[marker]
    offsets = MARKERS + 3 * marker + np.arange(3)
    if digit == PALM:
        return offsets
    first, rotation = (start + 3 * digit + np.arange(3) for start in (FIRST_JOINTS, ROTATIONS))
    lengths = LENGTHS + 3 * digit + np.arange(bone)
    slides = MARKERS + 3 * count + 6 * marker + np.arange(3 * (1 + (bone + 1 < SEGMENTS)))
    return np.concatenate([first, rotation, lengths, offsets, slides])


def own_slopes(shape: ShapeParameters, markers: MarkerPositions, marker: int) -> Floats:
    """Derivatives (F, 3, P) of a marker by its own parameters; digits rotate about the wrist's axes, rad."""
    rotations = markers.rotations[:, :, marker].transpose(2, 1, 0)
    digit, bone = shape.digits[marker], shape.bones[marker]
    if digit == PALM:
        return rotations
    x, y, z = markers.positions[:, marker] - shape.first_joints[digit][:, None]
    zero = np.zeros_like(x)
    turns = np.array([[zero, z, -y], [-z, zero, x], [y, -x, zero]]).transpose(2, 0, 1)
    lengths = markers.bones.rotations[:bone, 1, :, digit].transpose(2, 1, 0)
    flexions = markers.flexions[:, np.searchsorted(markers.digit_markers, marker), :, None, None]
    slides = [rotations * flexion for flexion in flexions[: 1 + (bone + 1 < SEGMENTS)]]
    first = np.broadcast_to(np.eye(3), rotations.shape)
    return np.concatenate([first, turns, lengths, rotations, *slides], axis=-1)


def shape_jacobian(shape: ShapeParameters, markers: MarkerPositions) -> Floats:
    """Jacobian (F, M, 3, S) of the markers by the shape's parameters."""
    count, frames = markers.positions.shape[1:]
    result = np.zeros((frames, count, 3, parameter_count(count)))
    for marker in range(count):
        result[:, marker, :, own_parameters(shape, marker)] = own_slopes(shape, markers, marker).transpose(2, 0, 1)
    return result
