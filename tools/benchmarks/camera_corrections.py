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
from knuckle.hand.camera.landmark_corrections import PalmView
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
    predictors = np.concatenate([one.predictors for one in samples])
    errors = np.concatenate([one.errors for one in samples])
    weights = np.concatenate([np.full(len(one.errors), 1 / len(one.errors)) for one in samples])
    weights /= weights.sum()
    mean = weights @ predictors
    spread = np.sqrt(weights @ (predictors - mean) ** 2) + 0.01
    mean[0], spread[0] = 0.0, 1.0
    standard = (predictors - mean) / spread
    ridge = np.full(len(mean), RIDGE)
    ridge[0] = RIDGE_OF_CONSTANT
    found = np.zeros((len(mean), *errors.shape[1:]))
    for landmark in range(errors.shape[1]):
        own, counted = errors[:, landmark], weights
        for _ in range(ITERATIONS):
            weighted = (standard * counted[:, None]).T
            found[:, landmark] = np.linalg.solve(weighted @ standard + np.diag(ridge), weighted @ own)
            misses = ((own - standard @ found[:, landmark]) ** 2).sum(axis=1)
            counted = weights / (1 + misses / HALF_WEIGHT**2)
    coefficients = found.reshape(len(mean), -1) / spread[:, None]
    coefficients[0] -= mean[1:] @ coefficients[1:]
    return coefficients


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
        coefficients = regression(found[:number] + found[number + 1 :])
        left = one.errors - (one.predictors @ coefficients).reshape(one.errors.shape)
        print(f"{one.name}: {mean_error(one, one.errors):.1f} -> {mean_error(one, left):.1f} mm", flush=True)
    rows = [[round(float(value), 4) for value in row] for row in regression(found)]
    TABLE.write_text(json.dumps({"videos": len(found), "coefficients": rows}, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
