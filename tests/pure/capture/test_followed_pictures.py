"""Hands are followed through a take's pictures, and what is left out is told."""

import numpy as np

from knuckle.capture.followed_pictures import MAX_STRETCHES, follow_pictures
from knuckle.hand.camera.picture_landmarks import FoundHand, PictureFrame, PictureSize

POINTS = np.random.default_rng(0).uniform(0.3, 0.6, (21, 3))
HAND = FoundHand(POINTS, POINTS)
SIZE = PictureSize(640, 480)


def test_hands_in_pictures_of_another_size_are_left_out_and_told() -> None:
    other = PictureSize(1280, 720)
    frames = [PictureFrame(size, (HAND,)) for size in [SIZE] * 45 + [other] * 35]
    followed = follow_pictures([*frames, None, PictureFrame(other, ())])
    assert [int(stretch.seen.sum()) for stretch in followed.stretches] == [45]
    assert followed.warnings == ("hands in 35 frames were left out: their pictures are of another size than most",)
    assert follow_pictures(frames[:45]).warnings == ()


def test_a_hand_that_is_lost_too_often_is_left_out_and_told() -> None:
    once = [PictureFrame(SIZE, (HAND,))] * 4 + [PictureFrame(SIZE, ())] * 16
    assert follow_pictures(once * MAX_STRETCHES).warnings == ()
    followed = follow_pictures(once * (MAX_STRETCHES + 3))
    assert sum(int(stretch.seen.sum()) for stretch in followed.stretches) == 4 * MAX_STRETCHES
    (told,) = followed.warnings
    assert told.startswith("hands in 12 frames were left out")
