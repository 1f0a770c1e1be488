"""What the benchmark of skin markers counts: planted pops, jitter, errors and gaps are found as large as they are."""

import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from knuckle.hand.kinematics import Pose, joint_frames
from knuckle.hand.proportions import adult, build

FRAMES = 60


@pytest.fixture(scope="module")
def bench():
    """The benchmark's modules, which are scripts and no part of the package."""
    folder = str(Path(__file__).parents[2] / "tools" / "benchmarks")
    sys.path.insert(0, folder)
    yield SimpleNamespace(**{name: import_module(f"skin_{name}") for name in ("figures", "hidden", "methods", "takes")})
    sys.path.remove(folder)


@pytest.fixture
def clip(bench):
    still = np.random.default_rng(1).normal(0, 0.05, (5, 3))
    return bench.takes.Clip(
        "made",
        "right",
        100.0,
        ("IndexMCP", "IndexPIP", "IndexTip", "BackHand1", "BackHand2"),
        still[None] + np.zeros((FRAMES, 1, 1)),
    )


def solved(bench, angles, root=None):
    """A hand that needs no markers, as a method gives it."""
    hand = build(adult("right"))
    frames = joint_frames(hand, Pose(hand, np.tile(np.eye(4), (len(angles), 1, 1)) if root is None else root, angles))
    return bench.methods.Solved((), np.zeros((len(angles), 0, 3)), frames, angles, hand.limits, 1.0)


def at_ease():
    return np.tile(build(adult("right")).neutral, (FRAMES, 1))


def pip():
    return build(adult("right")).dof("index-finger-phalanx-intermediate", "flexion")


def test_a_joint_that_leaps_while_its_markers_rest_pops_there_and_back(bench, clip):
    angles = at_ease()
    assert not bench.figures.pops(clip, solved(bench, angles)).any()
    angles[30, pip()] += np.deg2rad(40)
    assert np.flatnonzero(bench.figures.pops(clip, solved(bench, angles))).tolist() == [29, 30]


def test_a_finger_that_moves_with_its_markers_does_not_pop(bench, clip):
    angles = at_ease()
    angles[30, pip()] += np.deg2rad(40)
    clip.positions[30, 2] += [0, 0, 0.05]
    assert not bench.figures.pops(clip, solved(bench, angles)).any()


def test_jitter_of_white_noise_is_its_mean_size(bench):
    noise = np.deg2rad(2) * np.random.default_rng(2).normal(size=(4000, at_ease().shape[1]))
    assert bench.figures.jitter(solved(bench, noise)) == pytest.approx(2 * np.sqrt(2 / np.pi), rel=0.01)


def test_a_bend_that_is_off_is_an_angle_off_and_a_wrist_that_lies_otherwise_is_not(bench):
    angles = at_ease() + np.deg2rad(10) * np.sin(np.arange(FRAMES) / 7)[:, None]
    truth = bench.figures.Truth(solved(bench, angles).frames)
    off = angles.copy()
    off[:, pip()] += np.deg2rad(5)
    errors = bench.figures.angle_errors(solved(bench, off), truth)
    assert np.allclose(np.abs(errors).max(0), np.eye(15)[4] * 5, atol=1e-5)
    otherwise = solved(bench, angles)
    otherwise.frames[:, 0, :3, :3] = otherwise.frames[:, 0, :3, :3] @ np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1.0]])
    assert np.abs(bench.figures.angle_errors(otherwise, truth)).max() < 1e-5
    assert bench.figures.centre_errors(otherwise, truth).max() < 1e-9


def test_a_hand_that_stands_beside_the_truth_is_so_far_off_in_every_joint(bench):
    beside = np.tile(np.eye(4), (FRAMES, 1, 1))
    beside[:, :3, 3] = [0.003, 0, 0.004]
    errors = bench.figures.centre_errors(
        solved(bench, at_ease(), beside), bench.figures.Truth(solved(bench, at_ease()).frames)
    )
    assert errors.shape == (FRAMES, 15)
    assert np.allclose(errors, 5)


def test_a_written_clip_is_read_again_with_its_gaps(bench, clip, tmp_path):
    clip.positions[3:7, 1] = np.nan
    bench.takes.write_trc(clip, tmp_path / "clip.trc")
    found = bench.takes.read_trc(tmp_path / "clip.trc")
    assert found.labels == clip.labels
    assert np.allclose(found.positions, clip.positions, atol=1e-8, equal_nan=True)


def test_a_gap_hides_its_markers_in_its_frames_alone(bench, clip):
    case = next(case for case in bench.hidden.CASES if case.name == "one tip, 0.1 s")
    hidden = bench.hidden.gaps(clip, case)
    missing = np.isnan(bench.hidden.hide(clip, hidden).positions).any(-1)
    assert hidden
    assert missing.sum() == 10 * len(hidden)
    assert missing[:, clip.column("IndexTip")].sum() == missing.sum()
    assert not np.isnan(clip.positions).any()
