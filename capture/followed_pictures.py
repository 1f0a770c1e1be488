"""Follow hands through the pictures of a camera's take."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..hand.camera.detection_paths import follow_hands
from ..hand.camera.picture_landmarks import PictureFrame, PictureLandmarks, PictureStretch

MAX_STRETCHES = 1024
"""Maximum number of stretches, ranges of a take in which a hand is followed without being lost; the longest are
used."""


@dataclass(frozen=True, slots=True, eq=False)
class FollowedPictures:
    """The hands followed through F frames."""

    stretches: tuple[PictureStretch, ...] = ()
    """Ranges of frames in which a hand is not lost, with its landmarks, the longest first."""
    warnings: tuple[str, ...] = ()
    """Sentences about hands that were left out."""


def follow_pictures(frames: Sequence[PictureFrame | None]) -> FollowedPictures:
    """Follow hands through F frames, which are None without a picture.

    A hand that is lost and found again has several stretches, which do not overlap. Hands in pictures whose size
    differs from that of most are left out.
    """
    sizes = Counter(frame.size for frame in frames if frame is not None and frame.hands)
    if not sizes:
        return FollowedPictures()
    ((size, count),) = sizes.most_common(1)
    detections = [frame.hands if frame is not None and frame.size == size else () for frame in frames]
    pixels = [[hand.points[:, :2] * [size.width, size.height] for hand in hands] for hands in detections]
    paths = follow_hands(pixels, MAX_STRETCHES)
    followed = len({step.frame for path in paths for step in path}) if len(paths) == MAX_STRETCHES else count
    stretches = [
        PictureStretch(
            PictureLandmarks.of(size, [detections[step.frame][step.index] for step in path]),
            np.array([step.frame for step in path]),
            len(frames),
        )
        for path in paths
    ]
    left_out = (
        (sizes.total() - count, "their pictures are of another size than most"),
        (count - followed, f"hands are lost and found again over {MAX_STRETCHES - 1} times"),
    )
    warnings = (f"hands in {number} frames were left out: {reason}" for number, reason in left_out if number)
    return FollowedPictures(tuple(stretches), tuple(warnings))
