"""The parts of a fit to a camera's landmarks, each against what it is defined by."""

import numpy as np
import pytest

from knuckle.hand.calibration.skin_markers.pose_fit import Poses
from knuckle.hand.calibration.skin_markers.skin_fit import DOFS
from knuckle.hand.camera.banded import BandedMatrix
from knuckle.hand.camera.camera_fit import CameraSettings, _nearest
from knuckle.hand.camera.hand_stretches import join_stretches
from knuckle.hand.camera.landmark_shape import SHAPE_PARAMETERS, HandShapePrior, mean_shape, step_shape
from knuckle.hand.camera.motion import MotionPrior
from knuckle.hand.camera.picture_landmarks import PictureLandmarks, PictureSize, PictureStretch
from knuckle.hand.generators import run_to_end
from knuckle.hand.jacobians import ROOT_DOFS


@pytest.mark.parametrize("frames", [1, 2, 3, 4, 7, 10])
def test_a_banded_system_has_the_solution_of_the_whole_matrix(frames):
    rng, width = np.random.default_rng(frames), 3
    blocks = rng.normal(size=(frames, width, width))
    blocks = blocks + blocks.swapaxes(1, 2) + 12 * np.eye(width)
    beside = [rng.normal(size=(max(frames - apart, 0), width)) for apart in (1, 2)]
    whole = np.zeros((frames, width, frames, width))
    for frame in range(frames):
        whole[frame, :, frame] = blocks[frame]
        for apart, rows in enumerate(beside, 1):
            if frame + apart < frames:
                whole[frame, :, frame + apart] = whole[frame + apart, :, frame] = np.diag(rows[frame])
    whole = whole.reshape(frames * width, -1)
    rhs = rng.normal(size=(frames, width, 2))
    matrix = BandedMatrix(blocks, *beside)
    found = matrix.solve(rhs).reshape(-1, 2)
    np.testing.assert_allclose(found, np.linalg.solve(whole, rhs.reshape(-1, 2)), atol=1e-12)
    free = rng.random((frames, width)) > 0.3
    held = matrix.fixed(free).solve(rhs * free[..., None]).reshape(-1, 2)
    own = free.ravel()
    assert not held[~own].any()
    if own.any():
        expected = np.linalg.solve(whole[np.ix_(own, own)], rhs.reshape(-1, 2)[own])
        np.testing.assert_allclose(held[own], expected, atol=1e-12)


@pytest.mark.parametrize("angle", [20.0, 55.0, 90.0, 130.0])
@pytest.mark.parametrize("size", [(1920.0, 1080.0), (720.0, 1280.0)])
def test_the_longer_side_of_a_picture_is_seen_under_the_angle_of_view(angle, size):
    edge = np.array([max(size) / 2, PictureSize(*size).focal_length(angle)])
    assert 2 * np.rad2deg(np.arctan2(*edge)) == pytest.approx(angle)


def stretch(frames, count):
    points = np.zeros((len(frames), 21, 3)) + np.reshape(frames, (-1, 1, 1))
    return PictureStretch(PictureLandmarks(PictureSize(640, 480), points, points), np.array(frames), count)


def test_a_hand_that_is_found_in_few_frames_is_left_out():
    """Unless nothing else is found. Both are found at once, so they are two hands."""
    times, settings = np.arange(200) / 30, CameraSettings(60.0, 0.185)
    long, short = stretch(range(20, 120), 200), stretch(range(50, 55), 200)
    (hand,) = run_to_end(join_stretches([long, short], times, settings))
    assert np.flatnonzero(hand.landmarks.seen).tolist() == list(range(20, 120))
    (hand,) = run_to_end(join_stretches([short], times, settings))
    assert np.flatnonzero(hand.landmarks.seen).tolist() == list(range(50, 55))


def test_each_frame_has_the_nearest_of_those_that_are_known():
    rng = np.random.default_rng(2)
    for count in (1, 2, 7, 30):
        known = np.sort(rng.choice(30, count, replace=False))
        away = np.abs(np.arange(30)[:, None] - known)
        found = away[np.arange(30), _nearest(known, 30)]
        np.testing.assert_array_equal(found, away.min(axis=1))


def test_what_is_known_of_a_hand_has_the_derivatives_of_differences():
    prior, step = HandShapePrior(0.19), 1e-6
    shape = step_shape(mean_shape(0.18), 0.003 * np.random.default_rng(1).normal(size=SHAPE_PARAMETERS))
    _, jacobian = prior.residuals(shape)
    moved = [
        [prior.residuals(step_shape(shape, sign * step * row))[0] for row in np.eye(SHAPE_PARAMETERS)]
        for sign in (1.0, -1.0)
    ]
    differences = (np.array(moved[0]) - moved[1]).T / (2 * step)
    np.testing.assert_allclose(jacobian, differences, atol=1e-4 * np.abs(differences).max())
    assert prior.residuals(mean_shape(0.19))[0][-1] == pytest.approx(0.0, abs=1e-9)


def test_the_equations_of_motion_are_the_derivatives_of_its_cost():
    """For a wrist that does not rotate, whose cost is a form of second order; frames are uneven in time."""
    rng, frames, width = np.random.default_rng(4), 6, ROOT_DOFS + DOFS
    prior = MotionPrior(np.cumsum(rng.uniform(0.02, 0.05, frames)), calm=1.7)

    def poses(values):
        return Poses(np.tile(np.eye(3), (frames, 1, 1)), values[:, :3], values[:, ROOT_DOFS:])

    def cost(values):
        return prior.cost(poses(values.reshape(frames, width)))

    values = rng.normal(size=(frames, width))
    values[:, 3:ROOT_DOFS] = 0.0
    matrix, gradient = prior.equations(poses(values))
    steps = np.eye(frames * width)[np.flatnonzero(np.tile(np.arange(width) // 3 != 1, frames))]
    slopes = [(cost(values.ravel() + step) - cost(values.ravel() - step)) / 4 for step in steps]
    np.testing.assert_allclose(-gradient.ravel() @ steps.T, slopes, rtol=1e-6, atol=1e-9 * np.abs(slopes).max())
    form = np.einsum("fi,fij,fj->", values, matrix.blocks, values)
    form += 2 * (values[1:] * matrix.next * values[:-1]).sum() + 2 * (values[2:] * matrix.second * values[:-2]).sum()
    assert form == pytest.approx(cost(values.ravel()))
