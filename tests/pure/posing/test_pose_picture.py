"""The picture of a posed hand: a hand before a transparent ground, without holes, that shows the pose."""

import numpy as np
import pytest

from knuckle.hand.poses import POSES
from knuckle.posing.pose_picture import SIZE, pose_picture


def ink(name: str):
    """(N, N) how opaque each pixel is, from the bottom."""
    return pose_picture(POSES[name])[..., 3]


@pytest.mark.parametrize("name", ["open", "fist", "ok"])
def test_a_picture_is_a_hand_before_a_transparent_ground(name):
    picture = pose_picture(POSES[name])
    assert picture.shape == (SIZE, SIZE, 4) and picture.min() >= 0.0 and picture.max() <= 1.0
    opaque = picture[..., 3] > 0.5
    assert 0.1 < opaque.mean() < 0.7
    assert not (opaque[0].any() and opaque[-1].any() and opaque[:, 0].any() and opaque[:, -1].any()), "not to all edges"
    assert picture[opaque][:, :3].std() > 0.03, "shaded"


@pytest.mark.parametrize("name", ["open", "fist", "victory"])
def test_the_skin_has_no_holes(name):
    opaque = ink(name) > 0.99
    # A pixel within the hand whose four neighbours are all opaque is opaque.
    inner = opaque[:-2, 1:-1] & opaque[2:, 1:-1] & opaque[1:-1, :-2] & opaque[1:-1, 2:]
    assert opaque[1:-1, 1:-1][inner].mean() > 0.995


@pytest.mark.parametrize("name", ["open", "fist", "ok"])
def test_what_is_behind_does_not_show_through(name):
    picture = pose_picture(POSES[name])
    bright = picture[..., :3].mean(axis=-1)
    around = np.median([np.roll(bright, shift, (0, 1)) for shift in np.ndindex(3, 3)], axis=0)
    inner = picture[..., 3] > 0.99
    speckles = (np.roll(bright, (1, 1), (0, 1)) < 0.75 * around) & np.roll(inner, (1, 1), (0, 1))
    assert speckles.sum() < 0.003 * inner.sum()


def test_the_fingers_are_up_and_the_thumb_is_to_the_right():
    opaque = ink("open") > 0.5
    rows, columns = np.nonzero(opaque)
    width = [np.ptp(columns[rows == row]) for row in (rows.min() + 3, int(np.median(rows)))]
    assert width[0] < width[1], "the wrist is below"
    assert np.abs(rows - rows.mean()).max() > np.abs(columns - columns.mean()).max(), "upright"


def test_poses_look_different():
    pictures = {name: ink(name) for name in POSES}
    names = list(pictures)
    alike = [
        (one, other)
        for at, one in enumerate(names)
        for other in names[at + 1 :]
        if np.abs(pictures[one] - pictures[other]).mean() < 1e-3
    ]
    assert alike == []
