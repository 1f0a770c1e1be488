"""Expected errors belong to the hand: they turn, move, grow and are mirrored with it, and fade where it is unusual."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from knuckle.hand import rotations as rot
from knuckle.hand.camera import landmark_corrections
from knuckle.hand.camera.landmark_corrections import (
    PREDICTORS,
    PalmView,
    corrected,
    error_coefficients,
    trust_of,
)
from knuckle.hand.camera.picture_landmarks import PALM_LANDMARKS, PictureLandmarks, PictureSize
from knuckle.hand.joints import Side

Floats = NDArray[np.float64]

SIZE = PictureSize(1280, 720)
FRAMES = 5
SCALE = np.array([SIZE.width, SIZE.height, SIZE.width])


@pytest.fixture
def detector(monkeypatch: pytest.MonkeyPatch, perfect_detector: None) -> None:
    """Expect the errors of the table."""
    monkeypatch.setattr(landmark_corrections, "error_coefficients", error_coefficients)


def pixels(seed: int = 0) -> Floats:
    """(F, 21, 3) of hands, X right, Y down, Z away: any will do that have a palm."""
    random = np.random.default_rng(seed)
    digits = np.array([[-90.0, 60], [-45, 120], [-10, 130], [20, 120], [50, 110]])
    reach = np.concatenate([np.zeros((1, 2)), (digits[:, None] * np.linspace(0.4, 1, 4)[:, None]).reshape(-1, 2)])
    flat = np.append(reach, np.zeros((21, 1)), axis=1)
    turns = rot.to_matrix(rot.from_axis_angle(random.normal(size=(FRAMES, 3)), random.uniform(-2, 2, FRAMES)))
    return np.asarray((flat + random.normal(0, 8, (FRAMES, 21, 3))) @ turns.swapaxes(1, 2) + [600, 350, 0])


def landmarks(at: Floats) -> PictureLandmarks:
    return PictureLandmarks(SIZE, at / SCALE, at / 1000)


def correction(at: Floats, side: Side = "right") -> Floats:
    """(F, 21, 3) pixels that are subtracted."""
    seen = landmarks(at)
    subtracted: Floats = (seen.points - corrected(seen, side).points) * SCALE
    return subtracted


def test_predictors_do_not_depend_on_where_and_how_large_a_hand_is_nor_on_the_pictures_top() -> None:
    at = pixels()
    turn = rot.to_matrix(rot.from_axis_angle([0.0, 0.0, 1.0], 0.7))
    moved = PalmView.of(1.7 * at @ turn.T + [30, -20, 5])
    np.testing.assert_allclose(moved.predictors, PalmView.of(at).predictors, atol=1e-9)
    assert moved.predictors.shape == (FRAMES, PREDICTORS)


def test_errors_come_back_from_the_palms_frame() -> None:
    view, errors = PalmView.of(pixels()), np.random.default_rng(1).normal(size=(FRAMES, 21, 3))
    np.testing.assert_allclose(view.in_picture(view.in_palm(errors)), errors, atol=1e-12)
    square = view.rotations @ view.rotations.swapaxes(1, 2)
    np.testing.assert_allclose(square, np.tile(np.eye(3), (FRAMES, 1, 1)), atol=1e-12)
    assert np.linalg.det(view.rotations) == pytest.approx(1.0)


@pytest.mark.usefixtures("detector")
def test_a_correction_turns_and_grows_with_the_hand() -> None:
    at, turn = pixels(), rot.to_matrix(rot.from_axis_angle([0.0, 0.0, 1.0], -1.1))
    middle = np.array([600.0, 350.0, 0.0])
    np.testing.assert_allclose(
        correction(1.5 * (at - middle) @ turn.T + middle), 1.5 * correction(at) @ turn.T, atol=1e-9
    )


@pytest.mark.usefixtures("detector")
def test_a_left_hand_is_a_right_one_in_the_mirror() -> None:
    at = pixels()
    mirrored = at * [-1, 1, 1] + [SIZE.width, 0, 0]
    np.testing.assert_allclose(correction(mirrored, "left"), correction(at) * [-1, 1, 1], atol=1e-9)


@pytest.mark.usefixtures("detector")
def test_frames_without_the_hand_and_landmarks_without_depths_stay() -> None:
    seen = landmarks(pixels())
    points = seen.points.copy()
    points[2] = np.nan
    found = corrected(replace(seen, points=points), "right")
    assert np.isnan(found.points[2]).all() and found.seen.sum() == FRAMES - 1
    np.testing.assert_allclose(found.points[[0, 1, 3, 4]], corrected(seen, "right").points[[0, 1, 3, 4]])
    flat = replace(seen, points=seen.points * [1, 1, 0])
    assert corrected(flat, "right") is flat


@pytest.mark.usefixtures("detector")
def test_landmarks_in_one_point_stay_finite() -> None:
    assert np.isfinite(correction(np.tile([600.0, 350.0, 1.0], (2, 21, 1)))).all()


def test_predictors_of_more_than_mean_leverage_count_as_those_that_have_it() -> None:
    """Leverage over its mean is x' M x; the factor is any F of M = F F'."""
    random = np.random.default_rng(3)
    factor = random.normal(size=(PREDICTORS, PREDICTORS))
    inner = factor @ factor.T
    predictors = random.normal(size=(FRAMES, PREDICTORS))
    leverage = np.einsum("ni,ij,nj->n", predictors, inner, predictors)
    usual, unusual = predictors / np.sqrt(2 * leverage)[:, None], predictors * np.sqrt(2 / leverage)[:, None]
    np.testing.assert_array_equal(trust_of(usual, factor), np.ones((FRAMES, 1)))
    scaled = trust_of(unusual, factor) * unusual
    np.testing.assert_allclose(np.einsum("ni,ij,nj->n", scaled, inner, scaled), np.ones(FRAMES))
    np.testing.assert_allclose(trust_of(7 * unusual, factor) * 7 * unusual, scaled)


@pytest.mark.usefixtures("detector")
def test_a_correction_stays_bounded_however_deep_a_detector_takes_fingers_to_be() -> None:
    """The correction in sizes of the palm, of fingers that are drawn out in depth by more and more."""
    at = pixels()
    fingers = np.setdiff1d(np.arange(21), PALM_LANDMARKS)

    def size(depth: float) -> float:
        far = at.copy()
        far[:, fingers, 2] += depth
        return float(np.linalg.norm(correction(far) / PalmView.of(far).sizes[:, None, None], axis=-1).max())

    assert size(1e6) == pytest.approx(size(1e5), rel=0.1)
    assert size(1e6) < 2.0
