"""Hands followed through the pictures of a camera's take."""

from collections import Counter
from collections.abc import Sequence

from ..hand.camera.detection_paths import follow_hands
from ..hand.camera.picture_landmarks import PictureFrame, PictureLandmarks

MAX_STRETCHES = 64
"""Most stretches of a take in which a hand is followed without being lost; those seen longest are taken."""


def follow_pictures(frames: Sequence[PictureFrame | None]) -> tuple[PictureLandmarks, ...]:
    """Follow the hands of F frames, None where nothing is known: those of each stretch in which one is not lost.

    A hand that is lost and found again elsewhere has several stretches, which do not overlap. Pictures of another size
    than most show no hands.
    """
    sizes = Counter(frame.size for frame in frames if frame is not None and frame.hands)
    if not sizes:
        return ()
    ((size, _),) = sizes.most_common(1)
    found = [frame.hands if frame is not None and frame.size == size else () for frame in frames]
    pixels = [[hand.points[:, :2] * [size.width, size.height] for hand in hands] for hands in found]
    return tuple(
        PictureLandmarks.of(size, [found[frame][index] if index >= 0 else None for frame, index in enumerate(path)])
        for path in follow_hands(pixels, MAX_STRETCHES)
    )
