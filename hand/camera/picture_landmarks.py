"""The output of a camera's hand detector for one hand: 21 landmarks in the picture, and a guess of their depth.

The camera's space is X right, Y down, Z away from it, in m.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..joints import CHAIN_JOINTS, SIDES, Side

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

LANDMARK_JOINTS: tuple[str, ...] = ("wrist", *(joint for joints in CHAIN_JOINTS.values() for joint in joints))
"""(21,) the joint that each landmark shows, in MediaPipe's order: the wrist, then four of each digit."""
PALM_LANDMARKS = [0, 5, 9, 13, 17]
"""The wrist and the fingers' first joints."""
MIN_ANGLE_OF_VIEW, MAX_ANGLE_OF_VIEW = 5.0, 160.0
"""Degrees."""


def palm_sizes(landmarks: Floats) -> Floats:
    """Return the mean distance (...) between the palm's landmarks, in the unit of landmarks (..., 21, 3)."""
    palm, pairs = landmarks[..., PALM_LANDMARKS, :], len(PALM_LANDMARKS) * (len(PALM_LANDMARKS) - 1)
    distances = np.linalg.norm(palm[..., :, None, :] - palm[..., None, :, :], axis=-1)
    sizes: Floats = distances.sum(axis=(-1, -2)) / pairs
    return sizes


@dataclass(frozen=True, slots=True)
class PictureSize:
    """A picture's size in pixels."""

    width: float
    height: float

    def focal_length(self, angle_of_view: float) -> float:
        """Focal length in pixels of a camera with this angle of view, in degrees across the longer side."""
        return max(self.width, self.height) / 2 / float(np.tan(np.deg2rad(angle_of_view) / 2))


@dataclass(frozen=True, slots=True, eq=False)
class PictureHand:
    """A hand as a detector finds it in one picture."""

    points: Floats
    """(21, 3), as PictureLandmarks has them."""
    world: Floats
    """(21, 3) m"""
    claim: Side | None = None
    """The side that the source claims; None where its pictures may be a mirror's."""


@dataclass(frozen=True, slots=True, eq=False)
class PictureFrame:
    """The hands that a detector finds in one picture, in no order."""

    size: PictureSize
    hands: tuple[PictureHand, ...]


@dataclass(frozen=True, slots=True, eq=False)
class PictureLandmarks:
    """The landmarks of one hand over F frames. NaN in frames in which it was not found."""

    size: PictureSize
    points: Floats
    """(F, 21, 3) fractions of the picture's width and height, from its upper left corner, and how far each landmark is
    behind the wrist, as a fraction of the width: a detector's picture is one of a hand seen from afar."""
    world: Floats
    """(F, 21, 3) m, the detector's guess about the hand's shape, about a centre of its own."""
    claims: tuple[int, int] = (0, 0)
    """Number of frames in which the source claims a side, in the order of SIDES."""

    @classmethod
    def of(cls, size: PictureSize, hands: Sequence[PictureHand | None]) -> "PictureLandmarks":
        """Return one hand in the frames in which it was found."""
        points, world = np.full((2, len(hands), len(LANDMARK_JOINTS), 3), np.nan)
        for frame, hand in enumerate(hands):
            if hand is not None:
                points[frame], world[frame] = hand.points, hand.world
        claimed = [hand.claim for hand in hands if hand is not None]
        return cls(size, points, world, (claimed.count(SIDES[0]), claimed.count(SIDES[1])))

    @property
    def seen(self) -> Bools:
        """(F,) frames in which the hand was found."""
        known = np.isfinite(self.points) & np.isfinite(self.world)
        seen: Bools = np.all(known, axis=(1, 2))
        return seen

    def select(self, frames: NDArray[np.intp] | slice) -> "PictureLandmarks":
        """Return some of the frames."""
        return replace(self, points=self.points[frames], world=self.world[frames])

    def only(self, frames: NDArray[np.intp]) -> "PictureLandmarks":
        """Return the same, not found in any but these frames (N,)."""
        points, world = np.full((2, *self.points.shape), np.nan)
        points[frames], world[frames] = self.points[frames], self.world[frames]
        return replace(self, points=points, world=world)

    @property
    def claim(self) -> Side | None:
        """The side that the source claims in more frames."""
        left, right = self.claims
        return None if left == right else SIDES[int(right > left)]

    def sight_lines(self, angle_of_view: float) -> Floats:
        """Where the landmarks' lines of sight meet the plane at distance 1: x / z and y / z (F, 21, 2)."""
        pixels = (self.points[..., :2] - 0.5) * [self.size.width, self.size.height]
        lines: Floats = pixels / self.size.focal_length(angle_of_view)
        return lines

    @property
    def has_depths(self) -> bool:
        """Whether the source gives the depths of the landmarks in the picture."""
        return bool(np.any(self.points[..., 2] != 0, where=np.isfinite(self.points[..., 2])))

    def relief(self) -> Floats:
        """Return the hand's shape (F, 21, 3) as the detector guesses it, about the landmarks' mean, in pixels.

        The picture's own depths are nearer to the truth than those of the world landmarks (docs/explanation/camera.md),
        which are taken, in m, where a source leaves the former out.
        """
        pixels = self.points * [self.size.width, self.size.height, self.size.width]
        guess = pixels if self.has_depths else self.world
        centred: Floats = guess - guess.mean(axis=1, keepdims=True)
        return centred


@dataclass(frozen=True, slots=True, eq=False)
class PictureStretch:
    """The landmarks of a hand while it is not lost, in the N frames of F in which it was found."""

    landmarks: PictureLandmarks
    """Over the N frames."""
    frames: NDArray[np.intp]
    """(N,)"""
    count: int
    """F"""

    def select(self, frames: NDArray[np.intp] | slice) -> "PictureStretch":
        """Return the same over some of the F frames."""
        rows = np.full(self.count, -1)
        rows[self.frames] = np.arange(len(self.frames))
        rows = rows[frames]
        found = np.flatnonzero(rows >= 0)
        return PictureStretch(self.landmarks.select(rows[found]), found, len(rows))

    @property
    def seen(self) -> Bools:
        """(F,) frames in which the hand was found."""
        seen = np.zeros(self.count, np.bool_)
        seen[self.frames] = True
        return seen

    def with_frames_of(self, other: "PictureStretch") -> "PictureStretch":
        """Return the same with the frames in which only the other was found."""
        new = np.flatnonzero(~np.isin(other.frames, self.frames))
        frames = np.concatenate([self.frames, other.frames[new]])
        own, added, order = self.landmarks, other.landmarks.select(new), np.argsort(frames)
        points = np.concatenate([own.points, added.points])[order]
        world = np.concatenate([own.world, added.world])[order]
        claims = own.claims[0] + added.claims[0], own.claims[1] + added.claims[1]
        joined = replace(own, points=points, world=world, claims=claims)
        return PictureStretch(joined, frames[order], self.count)

    def widened(self) -> PictureLandmarks:
        """Return the landmarks over all F frames."""
        points, world = np.full((2, self.count, len(LANDMARK_JOINTS), 3), np.nan)
        points[self.frames], world[self.frames] = self.landmarks.points, self.landmarks.world
        return replace(self.landmarks, points=points, world=world)
