"""The forearm of a performer or a character over time."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from . import rotations as rot
from .pose_interpolation import neighbours

Floats = NDArray[np.float64]

MIN_LENGTH = 1e-4
"""m, minimum distance between elbow and wrist; at less they count as one point."""
MAX_LENGTH = 1.0
"""m, maximum distance between elbow and wrist, generous for large characters and inexact units."""
MIN_TILT = 0.1
"""Minimum sine of the angle between a forearm and the normal of the back of the hand at rest on it, usually near 1."""
MAX_ASYMMETRY = 0.08
"""Maximum distance between a point of one arm at rest and its mirrored counterpart, as a fraction of the forearm: in
performers' skeletons it is 2 per cent, and 9 to 24 per cent with a palm rotated by 45 degrees."""
FOREARM_DIRECTION = np.array([0.0, 1.0, 0.0])
"""Direction of the forearm in the wrist's frame of a hand at rest on it."""


@dataclass(frozen=True, slots=True, eq=False)
class Forearm:
    """A forearm in the world on F frames."""

    elbow: Floats
    """(F, 3) m."""
    wrist: Floats
    """(F, 3) m."""
    back: Floats | None = None
    """(F, 3) direction out of the back of a hand at rest on the forearm; None if unknown."""
    trunk: Floats | None = None
    """(F, 3) m, the shoulder, or another point of the trunk on this side; None if unknown."""
    weight: Floats | None = None
    """(F,) 0..1, weight of the wrist's bend against the forearm, as opposed to its captured direction; None for 1."""

    @property
    def is_seen(self) -> bool:
        """Whether the forearm has a direction in every frame."""
        return bool((np.linalg.norm(self.wrist - self.elbow, axis=-1) > MIN_LENGTH).all())

    def frames(self) -> Floats:
        """Return frames (F, 4, 4) at the elbow, with the rotation of a wrist at rest on the forearm; `back` must be
        known."""
        assert self.back is not None
        frames = np.tile(np.eye(4), (len(self.elbow), 1, 1))
        frames[:, :3, :3] = rot.frame_from_yz(self.wrist - self.elbow, self.back)
        frames[:, :3, 3] = self.elbow
        return frames

    def select(self, rows: slice) -> "Forearm":
        """Return the forearm in some of the frames."""
        back, trunk, weight = (
            None if values is None else values[rows] for values in (self.back, self.trunk, self.weight)
        )
        return Forearm(self.elbow[rows], self.wrist[rows], back, trunk, weight)


@dataclass(frozen=True, slots=True, eq=False)
class WristForearm:
    """A forearm on F frames in the frame of its hand's wrist: it follows the hand."""

    rotation: Floats
    """(F, 4) wxyz, of a hand at rest on the forearm, in the wrist's frame: +Y along the forearm, +Z out of the back."""
    length: Floats
    """(F,) m."""
    weight: Floats
    """(F,) 0..1, see Forearm."""

    def on(self, roots: Floats) -> Forearm:
        """Return the forearm in the world. roots: T_world_wrist (F, 4, 4), m."""
        frames, wrist = roots[:, :3, :3] @ rot.to_matrix(self.rotation), roots[:, :3, 3]
        return Forearm(wrist - self.length[:, None] * frames[:, :, 1], wrist, back=frames[:, :, 2], weight=self.weight)

    def select(self, rows: "slice | NDArray[np.intp]") -> "WristForearm":
        """Return the forearm in some of the frames."""
        return WristForearm(self.rotation[rows], self.length[rows], self.weight[rows])


def remove_pronation(on_upper_arm: Floats, on_forearm: Floats, along: Floats = FOREARM_DIRECTION) -> Floats:
    """Return the rotations (..., 4) wxyz of a hand at rest on a forearm that is not twisted.

    When a person pronates, skeletons rotate the forearm's bone, the wrist's, or both, and the elbow's bend does not
    distinguish these. So the forearm only swings from its rest direction relative to the upper arm to its present
    direction.

    on_upper_arm, on_forearm: (..., 4) rotations of a frame fixed to each bone; the two frames are equal at rest.
    along: (3,) the forearm's direction at rest in that frame.
    """
    swing = rot.shortest_rotation(rot.rotate(on_upper_arm, along), rot.rotate(on_forearm, along))
    return rot.multiply(swing, on_upper_arm)


def arms_are_symmetric(left: Floats, right: Floats) -> bool:
    """Return whether both arms of a skeleton are at rest, that is, mirror each other.

    The rest pose of a file may be the first frame of its recording, in which a performer's arms are never symmetric.
    Differences in length of forearms and hands are ignored, since skeletons measured on a performer have them.

    left, right: (P, 3) the same points of either arm, the elbow and the wrist first.
    """
    left, right = _scale_to_mean_lengths(left, right)
    asymmetry = np.linalg.norm(_mirror_onto(left, right) - right, axis=-1).max()
    return bool(asymmetry < MAX_ASYMMETRY * np.linalg.norm(left[0] - left[1]))


def _mirror_onto(points: Floats, targets: Floats) -> Floats:
    """Return points (P, 3) mirrored in the plane that brings them nearest to targets (P, 3) by least squares.

    Comparing distances between points would hardly reveal a palm that is rotated about the forearm.
    """
    middle = (points + targets).mean(axis=0) / 2
    centered = points - middle
    products = centered.T @ (targets - middle)
    normal = np.linalg.eigh(products + products.T)[1][:, 0]
    mirrored: Floats = points - 2 * np.outer(centered @ normal, normal)
    return mirrored


def _scale_to_mean_lengths(*arms: Floats) -> list[Floats]:
    """Return arms (P, 3) scaled to the mean length of the forearms and the mean size of the hands."""
    forearms = _scale_to_mean_size([arm[1] - arm[0] for arm in arms])
    hands = _scale_to_mean_size([arm[1:] - arm[1] for arm in arms])
    return [np.vstack([arm[:1], arm[0] + forearms[i] + hands[i]]) for i, arm in enumerate(arms)]


def _scale_to_mean_size(parts: list[Floats]) -> list[Floats]:
    sizes = np.maximum([np.linalg.norm(part) for part in parts], np.finfo(float).tiny)
    return [part * (sizes.mean() / size) for part, size in zip(parts, sizes, strict=True)]


def forearm_from_elbow(elbow: Floats, back: Floats) -> WristForearm | None:
    """Return a forearm of one frame from its elbow; None if no person has such a forearm.

    elbow: (3,) m. back: (3,) direction of the back of a hand at rest on the forearm. Both are in the wrist's frame.
    """
    length = float(np.linalg.norm(elbow))
    if not (MIN_LENGTH < length < MAX_LENGTH and np.linalg.norm(np.cross(elbow, back)) > MIN_TILT * length):
        return None
    frame = rot.frame_from_yz(-elbow, back)
    return WristForearm(rot.from_matrix(frame)[None], np.array([length]), np.ones(1))


def blend_forearms(start: WristForearm, end: WristForearm, fraction: Floats) -> WristForearm:
    """Interpolate from one forearm to another by fractions (F,) 0..1, rotating along the shorter arc."""
    rotation = rot.slerp(start.rotation, end.rotation, fraction[:, None])
    lengths, weights = (
        (1 - fraction) * getattr(start, name) + fraction * getattr(end, name) for name in ("length", "weight")
    )
    return WristForearm(rotation, lengths, weights)


def resample_forearm(forearm: WristForearm, times: Floats, new_times: Floats) -> WristForearm:
    """Resample a forearm from times (F,) to new times (N,), as `interpolate_pose` does."""
    before, after, fraction = neighbours(times, new_times)
    return blend_forearms(forearm.select(before), forearm.select(after), fraction)


def median_forearm(forearms: Sequence[WristForearm]) -> WristForearm:
    """Return the medoid of forearms of one frame each: the one with the least sum of angles to the others.

    Of forearms with equal sums, the last but one of the sequence is preferred.
    """
    rotations = np.concatenate([forearm.rotation for forearm in forearms])
    angles = rot.angles_between(rotations[:, None], rotations[None]).sum(axis=1)
    order = [*range(len(forearms) - 2, -1, -1), len(forearms) - 1] if len(forearms) > 1 else [0]
    return forearms[min(order, key=lambda row: angles[row])]
