"""Hands are followed through a take's pictures, and what is left out is reported."""

from dataclasses import replace

import numpy as np
import pytest

from knuckle.capture import followed_pictures
from knuckle.capture.followed_pictures import follow_pictures
from knuckle.hand.camera.picture_landmarks import PictureFrame, PictureHand, PictureSize

POINTS = np.random.default_rng(0).uniform(0.3, 0.6, (21, 3))
HAND = PictureHand(POINTS, POINTS)
SIZE = PictureSize(640, 480)
ONCE = [PictureFrame(SIZE, (HAND,))] * 4 + [PictureFrame(SIZE, ())] * 16


def test_hands_in_pictures_of_another_size_are_left_out_and_reported() -> None:
    other = PictureSize(1280, 720)
    frames = [PictureFrame(size, (HAND,)) for size in [SIZE] * 45 + [other] * 35]
    followed = follow_pictures([*frames, None, PictureFrame(other, ())])
    assert [int(stretch.seen.sum()) for stretch in followed.stretches] == [45]
    assert followed.warnings == ("hands in 35 frames were left out: their pictures are of another size than most",)
    assert follow_pictures(frames[:45]).warnings == ()


def test_a_hand_that_is_lost_too_often_is_left_out_and_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(followed_pictures, "MAX_STRETCHES", 5)
    assert follow_pictures(ONCE * 5).warnings == ()
    followed = follow_pictures(ONCE * 8)
    assert sum(int(stretch.seen.sum()) for stretch in followed.stretches) == 20
    (reported,) = followed.warnings
    assert reported.startswith("hands in 12 frames were left out")


def test_a_hand_that_comes_and_goes_all_the_time_takes_the_memory_of_its_own_frames() -> None:
    followed = follow_pictures(ONCE * 300)
    assert len(followed.stretches) == 300 and not followed.warnings
    held = [(stretch.landmarks.points, stretch.landmarks.world, stretch.frames) for stretch in followed.stretches]
    assert sum(each.nbytes for arrays in held for each in arrays) < 2 * 300 * 4 * (2 * 63 * 8)
    seen = np.logical_or.reduce([stretch.seen for stretch in followed.stretches])
    np.testing.assert_array_equal(seen, np.arange(6000) % 20 < 4)


def test_some_frames_of_a_stretch_and_all_frames_are_those_of_the_take() -> None:
    found = [frame % 7 not in (2, 3) for frame in range(40)]
    frames = [PictureFrame(SIZE, (replace(HAND, points=POINTS + 0.001 * f),) if found[f] else ()) for f in range(40)]
    (stretch,) = follow_pictures(frames).stretches
    wide = stretch.widened()
    np.testing.assert_array_equal(wide.seen, found)
    np.testing.assert_array_equal(stretch.seen, found)
    np.testing.assert_allclose(wide.points[found], [POINTS + 0.001 * f for f in range(40) if found[f]])
    for some in (slice(3, 30), np.array([1, 2, 5, 9, 30])):
        np.testing.assert_array_equal(stretch.select(some).widened().points, wide.points[some])
