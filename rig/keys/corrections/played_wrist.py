"""The motion of a wrist by an armature, and the keys that move it: its bone's location, or the arm above it."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ....hand import rotations as rot
from .keyed_wrist import NO_ARM, ArmChain, WristKeys

Floats = NDArray[np.float64]

STRAIGHT_BEND = np.deg2rad(2.0)
"""rad, bend below which the axis of an elbow is undetermined."""
MIN_BEND, MAX_BEND = 0.0, np.deg2rad(150.0)
"""rad, range of an elbow's bend."""


@dataclass(frozen=True, slots=True, eq=False)
class PlayedWrist:
    """A wrist and the bones that move it, over F frames."""

    wrist: Floats
    """(F, 4, 4) T_world_wrist, orthonormal."""
    bones: Floats
    """(F, N, 4, 4) T_world_bone of the arm, if it is keyed, and last, of the wrist's bone."""
    bases: Floats
    """(F, N, 4, 4) the same relative to their rest, with locations along the axes of the bone."""
    location_axes: Floats
    """(3, 3) see RigBinding."""
    elbow_axis: Floats
    """(3,) the axis about which a straight elbow bends, in the forearm's frame."""
    arm: ArmChain = NO_ARM
    """The bones that are keyed above the wrist's."""

    @property
    def forearms(self) -> Floats | None:
        """(F, 3) unit vectors from elbow to wrist in the wrist's frame; None without an arm that is keyed."""
        if self.bones.shape[1] == 1:
            return None
        along = rot.unit_vectors(self.bones[:, -1, :3, 3] - self.bones[:, 1, :3, 3])
        return np.asarray(np.einsum("fji,fj->fi", self.wrist[:, :3, :3], along))

    @property
    def slack(self) -> float:
        """m, motion of the wrist relative to its bone, which is not zero if the control is out of the arm's reach."""
        own = np.linalg.inv(orthonormal(self.bones[:, -1])) @ self.wrist
        return float(np.linalg.norm(own[:, :3, 3] - own[0, :3, 3], axis=1).max())

    def keyed_otherwise(self, rotations: Floats | None, wrist_keys: WristKeys | None) -> "PlayedWrist":
        """Return it with other keys: rotations (F, 4) of the wrist's bone, and the keys that move it; None leaves the
        present ones.

        Each bone P with basis B becomes K · P · B^-1 · B', with K the motion of its parent.
        """
        bases = self.bases.copy()
        if rotations is not None:
            bases[:, -1, :3, :3] = rot.to_matrix(rotations)
        if wrist_keys is not None and wrist_keys.locations.shape[1]:
            bases[:, -1, :3, 3] = wrist_keys.locations @ self.location_axes.T
        if wrist_keys is not None:
            for number in range(wrist_keys.arm.shape[1]):
                bases[:, number, :3, :3] = rot.to_matrix(wrist_keys.arm[:, number])
        bones, motions = self.bones.copy(), [np.tile(np.eye(4), (len(self.wrist), 1, 1))]
        for number, parent in enumerate((*self.arm.parents, self.arm.last)):
            parent_motion = motions[parent + 1] @ self.bones[:, number] @ np.linalg.inv(self.bases[:, number])
            bones[:, number] = parent_motion @ bases[:, number]
            motions.append(bones[:, number] @ np.linalg.inv(self.bones[:, number]))
        return replace(self, wrist=orthonormal(motions[-1] @ self.wrist), bones=bones, bases=bases)

    def brought_to(self, goal: Floats) -> tuple[Floats, WristKeys]:
        """Return rotations (F, 4) of the wrist's bone, and the keys that move it, that bring the wrist to T_world_wrist
        (F, 4, 4)."""
        motion = goal @ np.linalg.inv(self.wrist)
        if self.bones.shape[1] > 1:
            return self._by_arm(motion)
        parent_motion = self.bones[:, 0] @ np.linalg.inv(self.bases[:, 0])
        bases = np.linalg.inv(parent_motion) @ motion @ self.bones[:, 0]
        rotations = rot.from_matrix(orthonormal(bases)[:, :3, :3])
        return rotations, WristKeys(bases[:, :3, 3] @ self.location_axes, np.empty((len(goal), 0, 4)))

    def _by_arm(self, motion: Floats) -> tuple[Floats, WristKeys]:
        """Do the same with the arm: it bends at the elbow in its plane, and then swings by the shortest rotation.

        So the elbow stays as near as possible to its position in the take, and if the motion (F, 4, 4) of the wrist is
        the identity, nothing moves. If the goal is out of reach, the arm points to it. The hand's twist about the
        forearm is distributed over the twist bones, about axes through the wrist, which does not move.
        """
        shoulder, elbow, wrist = np.moveaxis(self.bones[:, [0, 1, -1]][:, :, :3, 3], 1, 0)
        fore = orthonormal(self.bones[:, 1])[:, :3, :3]
        goal = (motion[:, :3, :3] @ wrist[..., None])[..., 0] + motion[:, :3, 3]
        bend = rot.from_axis_angle(self._axes(elbow - shoulder, wrist - elbow, fore), _further_bend(self.bones, goal))
        swing = rot.shortest_rotation(elbow + rot.rotate(bend, wrist - elbow) - shoulder, goal - shoulder)
        twist = rot.multiply(rot.conjugate(rot.multiply(swing, bend)), rot.from_matrix(motion[:, :3, :3]))
        own, whole = self._twists(_angle_about(twist, rot.unit_vectors(wrist - elbow)))
        rotations = [
            swing,
            rot.multiply(bend, own[1]),
            *own[2:],
            rot.multiply(rot.conjugate(whole[self.arm.last]), twist),
        ]
        keyed = [
            rot.multiply(rot.from_matrix(self.bases[:, number, :3, :3]), self._within(number, rotation))
            for number, rotation in enumerate(rotations)
        ]
        return keyed[-1], WristKeys(np.empty((len(goal), 0)), np.stack(keyed[:-1], axis=1))

    def _twists(self, angles: Floats) -> tuple[list[Floats], list[Floats]]:
        """Return the rotations in the world of the arm's bones for a twist of the hand by angles (F,) about the
        forearm.

        For each bone, these are its rotations (F, 4) relative to its parent, about the line from its head to the wrist,
        and relative to the upper arm.
        """
        wrist, fractions = self.bones[:, -1, :3, 3], (*self.arm.shares, 0.0)
        own, whole = list[Floats](), list[Floats]()
        for number, parent in enumerate(self.arm.parents):
            axis = rot.unit_vectors(wrist - self.bones[:, number, :3, 3])
            own.append(rot.from_axis_angle(axis, (fractions[number] - fractions[parent]) * angles))
            whole.append(rot.multiply(whole[parent], own[-1]) if parent >= 0 else own[-1])
        return own, whole

    def _within(self, number: int, rotations: Floats) -> Floats:
        """Convert rotations (F, 4) from the world to the frames of a bone."""
        own = rot.from_matrix(orthonormal(self.bones[:, number])[:, :3, :3])
        return rot.multiply(rot.conjugate(own), rot.multiply(rotations, own))

    def _axes(self, upper: Floats, fore: Floats, frames: Floats) -> Floats:
        """Return the elbow's axes (F, 3) in the world; upper, fore: (F, 3) along the bones."""
        across = np.cross(rot.unit_vectors(upper), rot.unit_vectors(fore))
        size = np.linalg.norm(across, axis=1, keepdims=True)
        own = frames @ self.elbow_axis
        return np.where(size > np.sin(STRAIGHT_BEND), across / np.maximum(size, 1e-12), own)


def orthonormal(frames: Floats) -> Floats:
    """Return frames (F, 4, 4) without their scale."""
    result = frames.copy()
    result[:, :3, :3] = rot.orthonormal(frames[:, :3, :3])
    return result


def _angle_about(rotations: Floats, axes: Floats) -> Floats:
    """Return the twists (F,) rad, -π..π, of quaternions (F, 4) about axes (F, 3), by swing-twist decomposition."""
    along = np.einsum("fi,fi->f", rotations[:, 1:], axes)
    return np.asarray(2 * np.arctan(along / np.where(np.abs(rotations[:, 0]) < 1e-12, 1e-12, rotations[:, 0])))


def _further_bend(bones: Floats, goal: Floats) -> Floats:
    """Return the angles (F,) rad by which elbows must bend further so that wrists are as far from the shoulders as
    their goals."""
    shoulder, elbow, wrist = np.moveaxis(bones[:, [0, 1, -1]][:, :, :3, 3], 1, 0)
    upper, fore = np.linalg.norm(elbow - shoulder, axis=1), np.linalg.norm(wrist - elbow, axis=1)
    current, then = (
        np.arccos(
            np.clip((np.linalg.norm(target - shoulder, axis=1) ** 2 - upper**2 - fore**2) / (2 * upper * fore), -1, 1)
        )
        for target in (wrist, goal)
    )
    return np.asarray(np.clip(then, MIN_BEND, np.maximum(MAX_BEND, current)) - current)
