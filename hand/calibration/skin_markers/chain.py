"""Marker positions on a right hand in the wrist's frame, and their Jacobians.

Frames are the last axis of a chain's arrays, so that each step of its trigonometry is one operation over all of them.
With a the axis of an angle through the joint c, the derivative of a marker p is a × (p − c), plus its skin slide.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...joints import DIGITS
from .model import COLUMNS, DOFS, HAS, MOVEMENTS, PALM

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SEGMENTS, SLOTS = 3, len(MOVEMENTS)
JOINT_OF_SLOT = np.array([joint for joint, _ in MOVEMENTS])
FLEXION = np.array([2, 4, 5])
"""The slot of each moving joint's flexion."""
BASE = 6
"""Degrees of freedom of the wrist, which come before the angles: m along and rad about its own axes."""


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """The parameters of a right hand that all frames of a take share."""

    size: float
    """Scale of the mean hand that serves as prior."""
    palm: Floats
    """(5, 3) m, positions of the digits' first joints."""
    bases: Floats
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
class Chains:
    """The digits' bones in the wrist's frame over F frames."""

    turned: Floats
    """(3 bones, 3 columns, 3 components, 5, F) rotation matrices."""
    joints: Floats
    """(3 bones, 3, 5, F) m, the bones' proximal joints."""
    axes: Floats
    """(6, 3, 5, F) unit"""
    angles: Floats
    """(5, 6, F) rad, zero for movements that the digit does not have."""


def chains(shape: Shape, angles: Floats) -> Chains:
    """Forward kinematics of the digits at angles (F, D) rad: Rz(abduction) Ry(twist) Rx(−flexion) at each joint."""
    frames = len(angles)
    slots = np.zeros((len(DIGITS), SLOTS, frames))
    slots[HAS] = angles.T[COLUMNS[HAS]]
    cosine, sine = np.cos(slots), np.sin(slots)
    turned = np.empty((SEGMENTS, 3, 3, len(DIGITS), frames))
    joints = np.empty((SEGMENTS, 3, len(DIGITS), frames))
    axes = np.empty((SLOTS, 3, len(DIGITS), frames))

    def mixed(first: Floats, second: Floats, slot: int) -> tuple[Floats, Floats]:
        """Rotate two columns by a slot's angle, the first towards the second."""
        c, s = cosine[:, slot], sine[:, slot]
        return c * first + s * second, c * second - s * first

    x, y, z = shape.bases.transpose(2, 1, 0)[..., None]
    axes[0] = z
    x, y = mixed(x, y, 0)
    axes[1] = y
    z, x = mixed(z, x, 1)
    axes[2] = -x
    z, y = mixed(z, y, 2)
    turned[0], joints[0] = (x, y, z), shape.palm.T[..., None]
    axes[3] = z
    x, y = mixed(x, y, 3)
    axes[4] = axes[5] = -x
    joints[1] = joints[0] + shape.lengths[:, 0, None] * turned[0, 1]
    z, y = mixed(z, y, 4)
    turned[1] = (x, y, z)
    joints[2] = joints[1] + shape.lengths[:, 1, None] * y
    z, y = mixed(z, y, 5)
    turned[2] = (x, y, z)
    return Chains(turned, joints, axes, slots)


@dataclass(frozen=True, slots=True, eq=False)
class Carried:
    """Marker positions in the wrist's frame over F frames, and the bones that carry them."""

    chains: Chains
    on: Ints
    """Indices of the markers on digits."""
    places: Floats
    """(3, M, F) m"""
    turned: Floats
    """(3 columns, 3 components, M, F) rotation of the frame that carries each marker."""
    bends: Floats
    """(2, len(on), F) rad, flexion of the joints at both ends of a marker's bone; zero beyond the last joint."""


def carried(shape: Shape, angles: Floats) -> Carried:
    """Compute the markers of a hand at angles (F, D) rad."""
    found = chains(shape, angles)
    frames, count = len(angles), len(shape.digits)
    on = np.flatnonzero(shape.digits != PALM)
    digit, bone = shape.digits[on], shape.bones[on]
    turned = np.zeros((3, 3, count, frames))
    turned[[0, 1, 2], [0, 1, 2]] = 1.0
    turned[:, :, on] = found.turned[bone, :, :, digit].transpose(1, 2, 0, 3)
    last = bone + 1 < SEGMENTS
    far = found.angles[digit, FLEXION[np.minimum(bone + 1, SEGMENTS - 1)]] * last[:, None]
    bends = np.stack([found.angles[digit, FLEXION[bone]], far])
    offsets = np.repeat(shape.offsets.T[..., None], frames, axis=2)
    offsets[:, on] += np.einsum("mek,emf->kmf", shape.slides[on], bends)
    places = np.einsum("ckmf,cmf->kmf", turned, offsets)
    places[:, on] += found.joints[bone, :, digit].transpose(1, 0, 2)
    return Carried(found, on, places, turned, bends)


def _cross(a: Floats, b: Floats) -> Floats:
    return np.stack([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def by_pose(shape: Shape, now: Carried) -> Floats:
    """Jacobian (F, M, 3, 6 + D) of the markers: by the wrist, along and about its own axes, and by the angles."""
    count, frames = now.places.shape[1:]
    result = np.zeros((BASE + DOFS, 3, count, frames))
    result[[0, 1, 2], [0, 1, 2]] = 1.0
    x, y, z = now.places
    result[4, 0], result[5, 0] = z, -y
    result[3, 1], result[5, 1] = -z, x
    result[3, 2], result[4, 2] = y, -x
    for digit, row in enumerate(COLUMNS):
        mine = np.flatnonzero(shape.digits == digit)
        for slot in np.flatnonzero(row >= 0):
            joint = JOINT_OF_SLOT[slot]
            moved = mine[shape.bones[mine] >= joint]
            arms = now.places[:, moved] - now.chains.joints[joint, :, None, digit]
            result[BASE + row[slot], :, moved] = _cross(now.chains.axes[slot, :, None, digit], arms).swapaxes(0, 1)
    for end in range(2):
        sliding = now.on[(shape.bones[now.on] + end < SEGMENTS) & np.any(shape.slides[now.on, end], axis=1)]
        columns = BASE + COLUMNS[shape.digits[sliding], FLEXION[shape.bones[sliding] + end]]
        slid = np.einsum("ckmf,mc->mkf", now.turned[:, :, sliding], shape.slides[sliding, end])
        result[columns, :, sliding] += slid
    return result.transpose(3, 2, 1, 0)


SIZE, FIRST, STANDING, LENGTHS, MARKERS = 0, 1, 16, 31, 46
"""Where a shape's parameters begin in its vector: size, first joints, rotations, bone lengths; then offsets and
slides."""


def numbers(markers: int) -> int:
    """Number of parameters of a shape with so many markers."""
    return MARKERS + 9 * markers


def by_shape(shape: Shape, now: Carried) -> Floats:
    """Jacobian (F, M, 3, S) of the markers by the shape's parameters; digits rotate about the wrist's axes, rad."""
    count, frames = now.places.shape[1:]
    result = np.zeros((frames, count, 3, numbers(count)))
    turned = now.turned.transpose(3, 2, 1, 0)
    for m in range(count):
        result[:, m, :, MARKERS + 3 * m : MARKERS + 3 * m + 3] = turned[:, m]
    for row, m in enumerate(now.on):
        digit, bone = shape.digits[m], shape.bones[m]
        result[:, m, :, FIRST + 3 * digit : FIRST + 3 * digit + 3] = np.eye(3)
        x, y, z = now.places[:, m] - shape.palm[digit][:, None]
        at = STANDING + 3 * digit
        result[:, m, 0, at + 1], result[:, m, 0, at + 2] = z, -y
        result[:, m, 1, at], result[:, m, 1, at + 2] = -z, x
        result[:, m, 2, at], result[:, m, 2, at + 1] = y, -x
        for before in range(bone):
            result[:, m, :, LENGTHS + 3 * digit + before] = now.chains.turned[before, 1, :, digit].T
        for end in range(2):
            at = MARKERS + 3 * count + 6 * m + 3 * end
            result[:, m, :, at : at + 3] = turned[:, m] * now.bends[end, row][:, None, None]
    return result
