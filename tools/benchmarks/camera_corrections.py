"""Measures hand/camera/landmark_errors.json: the errors that a detector makes on average, by a hand's pose and view.

    python tools/benchmarks/camera_corrections.py

Of the videos that tune (camera_takes.py) and those of camera_training.py, gone through by a detector. Errors are
those from true landmarks at the offsets of landmark_table.json, so camera_table.py comes first. Ridge regression with
Cauchy's weights; all videos count the same. Prints the errors of each video before and after, by the regression of the
others. Needs bpy, scipy and ../shared.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import camera_training
import numpy as np
from camera_data import hand_length
from camera_table import carriers
from camera_takes import ANGLE_OF_VIEW, BUILD, VIDEOS
from numpy.typing import NDArray
from skin_hands import SHAPES
from skin_takes import ROOT

from knuckle import capture
from knuckle.errors import CaptureError
from knuckle.hand.camera.landmark_corrections import PalmView, trust_of
from knuckle.hand.camera.landmark_table import landmark_offsets
from knuckle.hand.camera.picture_landmarks import LANDMARK_JOINTS, PictureLandmarks
from knuckle.hand.joints import JOINT_INDEX
from knuckle.hand.mirror import POINT_SIGNS

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

TABLE = ROOT / "hand" / "camera" / "landmark_errors.json"
RIDGE, RIDGE_OF_CONSTANT = 0.5, 0.05
"""Variance of a predictor that counts as much as the data's, in its own variance."""
HALF_WEIGHT = 0.25
"""Sizes of the palm, the error at which a landmark has half its weight."""
ITERATIONS = 3
MIN_FRAMES = 15
"""A video in which the hand is found in fewer frames is left out."""
MAX_SHIFT, MAX_SCALE, MAX_TURN = 0.02, 0.3, 60.0
"""Frames in which the detector saw something else do not count: m of the landmarks' mean, logarithm of the palm's size,
and degrees of the palm."""


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """The frames of a video, mirrored to a right hand."""

    name: str
    predictors: Floats
    """(N, P)"""
    errors: Floats
    """(N, 21, 3) in the palm's frame, in sizes of the palm."""
    millimetres: Floats
    """(N,) the palm's sizes at the hand."""


def sample(folder: Path, frames: Floats, *, left: bool) -> Sample | None:
    """Return a video of joints' frames (F, 25, 4, 4) as a detector saw it; None if it saw hardly a hand."""
    try:
        pictures = capture.read(folder / "landmarks.json").pictures
    except CaptureError:
        return None
    found = max((each.widened() for each in pictures), key=lambda each: each.seen.sum())
    if found.seen.sum() < MIN_FRAMES:
        return None
    mirror = POINT_SIGNS if left else np.ones(3)
    true = true_landmarks(frames, left=left)[found.seen] * mirror
    relief = found.relief()[found.seen] * mirror
    view = PalmView.of(relief)
    focal, away = found.size.focal_length(ANGLE_OF_VIEW), true[..., 2].mean(axis=1)
    errors = picture_errors(found, relief, true, mirror)
    usable = _usable(errors, view, PalmView.of(true), away / focal)
    return Sample(
        folder.name,
        view.predictors[usable],
        view.in_palm(errors)[usable],
        1000 * (view.sizes * away / focal)[usable],
    )


def true_landmarks(frames: Floats, *, left: bool) -> Floats:
    """(F, 21, 3) m, where the table's offsets put the landmarks on the joints of frames (F, 25, 4, 4)."""
    joints = frames[:, [JOINT_INDEX[joint] for joint in LANDMARK_JOINTS]][..., :3, 3]
    rotations = frames[:, carriers()][..., :3, :3].copy()
    if left:
        rotations[..., 0] *= -1
    placed: Floats = joints + hand_length(joints) * np.einsum("flij,lj->fli", rotations, landmark_offsets())
    return placed


def picture_errors(found: PictureLandmarks, relief: Floats, true: Floats, mirror: Floats) -> Floats:
    """(N, 21, 3) pixels, of landmarks in the picture and of their depths about their mean."""
    focal = found.size.focal_length(ANGLE_OF_VIEW)
    lines = found.sight_lines(ANGLE_OF_VIEW)[found.seen] * mirror[:2]
    across = focal * (lines - true[..., :2] / true[..., 2:])
    towards = np.append(lines.mean(axis=1), np.ones((len(lines), 1)), axis=1)
    towards /= np.linalg.norm(towards, axis=1, keepdims=True)
    along = np.einsum("nli,ni->nl", true - true.mean(axis=1, keepdims=True), towards)
    depths = relief[..., 2] - along * focal / true[..., 2].mean(axis=1)[:, None]
    return np.concatenate([across, depths[..., None]], axis=-1)


def _usable(errors: Floats, view: PalmView, true: PalmView, metres: Floats) -> Bools:
    """Return the frames (N,) in which the detector saw the hand; metres: (N,) of a pixel at the hand."""
    shifts = np.linalg.norm(errors[..., :2].mean(axis=1), axis=-1) * metres
    scales = np.abs(np.log(view.sizes * metres / true.sizes))
    cosines = (np.einsum("nij,nij->n", view.rotations, true.rotations) - 1) / 2
    turns = np.rad2deg(np.arccos(np.clip(cosines, -1, 1)))
    usable: Bools = (shifts < MAX_SHIFT) & (scales < MAX_SCALE) & (turns < MAX_TURN)
    return usable


def regression(samples: list[Sample]) -> Floats:
    """Return the coefficients (P, 63) of the errors by the predictors."""
    errors = np.concatenate([one.errors for one in samples])
    predictors, weights = _predictors(samples)
    to_standard, ridge = _standard(predictors, weights)
    standard = predictors @ to_standard
    found = np.zeros((len(ridge), *errors.shape[1:]))
    for landmark in range(errors.shape[1]):
        own, counted = errors[:, landmark], weights
        for _ in range(ITERATIONS):
            weighted = (standard * counted[:, None]).T
            found[:, landmark] = np.linalg.solve(weighted @ standard + np.diag(ridge), weighted @ own)
            misses = ((own - standard @ found[:, landmark]) ** 2).sum(axis=1)
            counted = weights / (1 + misses / HALF_WEIGHT**2)
    return np.asarray(to_standard @ found.reshape(len(ridge), -1))


def leverage_factor(samples: list[Sample]) -> Floats:
    """Return the factor (P, P) by which predictors have their leverage, as a multiple of its mean, as squared length.

    Leverage is x' (X'X + ridge)^-1 x: the variance of what the regression expects grows with it.
    """
    predictors, weights = _predictors(samples)
    to_standard, ridge = _standard(predictors, weights)
    standard = predictors @ to_standard
    spread = np.linalg.cholesky((standard * weights[:, None]).T @ standard + np.diag(ridge))
    factor: Floats = np.linalg.solve(spread, to_standard.T).T
    return factor / np.sqrt(weights @ ((predictors @ factor) ** 2).sum(axis=1))


def _predictors(samples: list[Sample]) -> tuple[Floats, Floats]:
    """Return the predictors (N, P) of all frames and their weights (N,), the same for all videos."""
    weights = np.concatenate([np.full(len(one.errors), 1 / len(one.errors)) for one in samples])
    return np.concatenate([one.predictors for one in samples]), weights / weights.sum()


def _standard(predictors: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return the matrix (P, P) that takes predictors to mean 0 and deviation 1 but for the constant, and its ridge."""
    mean = weights @ predictors
    spread = np.sqrt(weights @ (predictors - mean) ** 2) + 0.01
    mean[0], spread[0] = 0.0, 1.0
    matrix = np.diag(1 / spread)
    matrix[0] -= mean / spread
    ridge = np.full(len(mean), RIDGE)
    ridge[0] = RIDGE_OF_CONSTANT
    return matrix, ridge


def expected(one: Sample, others: list[Sample]) -> Floats:
    """Return the errors (N, 21, 3) of a video that the regression of others expects, less where it is uncertain."""
    trust = trust_of(one.predictors, leverage_factor(others))
    return np.asarray((trust * (one.predictors @ regression(others))).reshape(one.errors.shape))


def samples() -> list[Sample]:
    """All videos that were rendered and gone through by a detector."""
    tuned = [(BUILD / video.name, video.hand >= len(SHAPES)) for video in VIDEOS if video.tunes]
    others = [
        (camera_training.folder(number), number % camera_training.HANDS >= len(SHAPES))
        for number in range(camera_training.VIDEOS)
    ]
    found = []
    for folder, left in [*tuned, *others]:
        if (folder / "landmarks.json").is_file():
            with np.load(folder / "truth.npz") as truth:
                one = sample(folder, truth["joints"], left=left)
            if one is not None and len(one.errors):
                found.append(one)
    return found


def mean_error(one: Sample, errors: Floats) -> float:
    """Mean distance in mm of errors (N, 21, 3), depths and picture together."""
    return float((np.linalg.norm(errors, axis=-1) * one.millimetres[:, None]).mean())


def main() -> None:
    """Measure and write."""
    found = samples()
    for number, one in enumerate(found):
        left = one.errors - expected(one, found[:number] + found[number + 1 :])
        print(f"{one.name}: {mean_error(one, one.errors):.1f} -> {mean_error(one, left):.1f} mm", flush=True)
    tables = {"coefficients": regression(found), "leverage_factor": leverage_factor(found)}
    rows = {name: np.round(values, 4).tolist() for name, values in tables.items()}
    TABLE.write_text(json.dumps({"videos": len(found)} | rows, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
