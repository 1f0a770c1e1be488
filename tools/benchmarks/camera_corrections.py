"""Trains hand/camera/landmark_errors.npz, which predicts a detector's errors by a hand's pose and view.

    python tools/benchmarks/camera_corrections.py

The training data are the videos that tune (camera_takes.py) and those of camera_training.py, with the landmarks that a
detector found in them. An error is a landmark's deviation from the true one at the offset of landmark_table.json, so
camera_table.py comes first, less what is peculiar to a skin: rigs differ in where they have the same joint, and no
detector can tell. The network's weights minimise a Cauchy loss with weight decay; all videos have the same
weight. The mean of several networks that start from different weights is stored as one network. Prints the error
before and after correction, by networks that were trained on other videos. Needs bpy, scipy and ../shared.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import camera_training
import numpy as np
from camera_data import hand_length
from camera_table import carriers
from camera_takes import ANGLE_OF_VIEW, BUILD, VIDEOS
from numpy.typing import NDArray
from scipy.optimize import minimize
from skin_hands import SHAPES
from skin_takes import ROOT

from knuckle import capture
from knuckle.errors import CaptureError
from knuckle.hand.camera.landmark_corrections import ErrorNetwork, PalmView, predictors_of
from knuckle.hand.camera.landmark_table import landmark_offsets
from knuckle.hand.camera.picture_landmarks import LANDMARK_JOINTS, PictureLandmarks
from knuckle.hand.joints import JOINT_INDEX
from knuckle.hand.mirror import POINT_SIGNS

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

NETWORK = ROOT / "hand" / "camera" / "landmark_errors.npz"
HIDDEN_UNITS, NETWORKS = 64, 3
"""Hidden units of each network, and number of networks whose mean is stored."""
WEIGHT_DECAY = 1e-3
NOISE, NOISY_COPIES = 0.3, 3
"""Standard deviation of the noise of standardised predictors, and number of noisy copies of each frame."""
CAUCHY_SCALE = 0.25
"""Palm sizes, the error at which a landmark has half its weight."""
ITERATIONS = 200
FOLDS = 6
"""Parts of the videos; the videos of each are corrected by networks trained on the other parts."""
MIN_FRAMES = 15
"""A video in which the hand is found in fewer frames is left out."""
MAX_SHIFT, MAX_SCALE, MAX_TURN = 0.02, 0.3, 60.0
"""Frames in which the detector saw something else do not count: m of the landmarks' mean, logarithm of the palm's size,
and degrees of the palm."""


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """The frames of a video, mirrored to a right hand."""

    name: str
    skin: str
    view: PalmView
    """N frames."""
    predictors: Floats
    """(N, P)"""
    errors: Floats
    """(N, 21, 3) palm sizes in the palm's frame."""
    bones: Floats
    """(N, 21, 3, 3) true rotations of the joints that carry the landmarks, in the picture's frame."""
    metres: Floats
    """(N,) palm sizes at the hand."""
    length: float
    """m, of the hand."""

    def skin_offsets(self) -> Floats:
        """Return the mean error (21, 3) of each landmark in its bone's frame, as fractions of the hand's length."""
        metres = self.view.in_picture(self.errors) * (self.metres / self.view.sizes)[:, None, None]
        return np.asarray(np.einsum("nlij,nli->lj", self.bones, metres) / len(metres) / self.length)

    def without_offsets(self, offsets: Floats) -> "Sample":
        """Return the sample with errors that are smaller by offsets (21, 3) in the bones' frames."""
        pixels = np.einsum("nlij,lj->nli", self.bones, offsets * self.length)
        pixels *= (self.view.sizes / self.metres)[:, None, None]
        return replace(self, errors=self.errors - self.view.in_palm(pixels))


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
    bones = bone_rotations(frames, left=left)[found.seen] * mirror[:, None]
    return Sample(
        folder.name,
        "MakeHuman" if left else "Knuckle",
        PalmView(view.rotations[usable], view.sizes[usable], view.points[usable]),
        predictors_of(view, PalmView.of(found.world[found.seen] * mirror))[usable],
        view.in_palm(errors)[usable],
        bones[usable],
        (view.sizes * away / focal)[usable],
        hand_length(_landmark_joints(frames)),
    )


def true_landmarks(frames: Floats, *, left: bool) -> Floats:
    """(F, 21, 3) m, where the table's offsets put the landmarks on the joints of frames (F, 25, 4, 4)."""
    joints = _landmark_joints(frames)
    rotations = bone_rotations(frames, left=left)
    placed: Floats = joints + hand_length(joints) * np.einsum("flij,lj->fli", rotations, landmark_offsets())
    return placed


def bone_rotations(frames: Floats, *, left: bool) -> Floats:
    """(F, 21, 3, 3) rotations of the joints that carry the landmarks, those of a left hand with X reversed."""
    rotations: Floats = frames[:, carriers()][..., :3, :3].copy()
    if left:
        rotations[..., 0] *= -1
    return rotations


def _landmark_joints(frames: Floats) -> Floats:
    joints: Floats = frames[:, [JOINT_INDEX[joint] for joint in LANDMARK_JOINTS]][..., :3, 3]
    return joints


def without_skin_offsets(samples: list[Sample]) -> list[Sample]:
    """Return samples whose mean errors in the bones' frames are the same for all skins."""
    skins = sorted({sample.skin for sample in samples})
    offsets = {
        skin: np.mean([sample.skin_offsets() for sample in samples if sample.skin == skin], axis=0) for skin in skins
    }
    common = np.mean(list(offsets.values()), axis=0)
    return [sample.without_offsets(offsets[sample.skin] - common) for sample in samples]


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


@dataclass(frozen=True, slots=True, eq=False)
class TrainingData:
    """The frames of several videos."""

    mean: Floats
    """(P,) of the predictors."""
    deviation: Floats
    """(P,) standard deviations of the predictors."""
    predictors: Floats
    """(N, P) standardised, with noise."""
    errors: Floats
    """(N, 63) in palm sizes in the palm's frame."""
    weights: Floats
    """(N,) with sum 1."""

    @classmethod
    def of(cls, samples: list[Sample], seed: int) -> "TrainingData":
        """Return the noisy copies of all frames."""
        predictors = np.concatenate([sample.predictors for sample in samples])
        errors = np.concatenate([sample.errors for sample in samples]).reshape(len(predictors), -1)
        weights = np.concatenate([np.full(len(sample.errors), 1 / len(sample.errors)) for sample in samples])
        weights /= weights.sum()
        mean = weights @ predictors
        deviation = np.sqrt(weights @ (predictors - mean) ** 2) + MIN_DEVIATION
        random, standardised = np.random.default_rng(seed), (predictors - mean) / deviation
        noisy = [standardised + random.normal(0, NOISE, standardised.shape) for _ in range(NOISY_COPIES)]
        return cls(
            mean,
            deviation,
            np.concatenate(noisy),
            np.tile(errors, (NOISY_COPIES, 1)),
            np.tile(weights, NOISY_COPIES) / NOISY_COPIES,
        )


MIN_DEVIATION = 0.01
"""Added to standard deviations, for predictors that hardly vary."""


def train(samples: list[Sample], seed: int) -> ErrorNetwork:
    """Train one network."""
    data = TrainingData.of(samples, seed)
    shapes = [(data.predictors.shape[1], HIDDEN_UNITS), (HIDDEN_UNITS,), (HIDDEN_UNITS, 63), (63,)]
    ends = np.cumsum([np.prod(shape) for shape in shapes])

    def split(flat: Floats) -> list[Floats]:
        return [part.reshape(shape) for part, shape in zip(np.split(flat, ends[:-1]), shapes, strict=True)]

    start = np.random.default_rng(seed).normal(0, START_WEIGHT / np.sqrt(shapes[0][0]), ends[-1])
    found = minimize(_loss(data, split), start, jac=True, method="L-BFGS-B", options={"maxiter": ITERATIONS})
    return ErrorNetwork(data.mean, data.deviation, *split(found.x))


START_WEIGHT = 0.5
"""Standard deviation of a hidden unit's input at the start."""


def _loss(data: TrainingData, split: Callable[[Floats], list[Floats]]) -> Callable[[Floats], tuple[float, Floats]]:
    """Return the function from weights (W,) to the loss and its gradient (W,)."""

    def loss(flat: Floats) -> tuple[float, Floats]:
        hidden_weights, hidden_bias, output_weights, output_bias = split(flat)
        hidden = np.tanh(data.predictors @ hidden_weights + hidden_bias)
        misses = (hidden @ output_weights + output_bias - data.errors).reshape(-1, 21, 3)
        squares = 1 + (misses**2).sum(axis=2) / CAUCHY_SCALE**2
        decay = WEIGHT_DECAY * ((hidden_weights**2).sum() + (output_weights**2).sum())
        by_output = (2 * data.weights[:, None, None] * misses / squares[..., None]).reshape(len(hidden), -1)
        by_hidden = by_output @ output_weights.T * (1 - hidden**2)
        gradient = (
            data.predictors.T @ by_hidden + 2 * WEIGHT_DECAY * hidden_weights,
            by_hidden.sum(axis=0),
            hidden.T @ by_output + 2 * WEIGHT_DECAY * output_weights,
            by_output.sum(axis=0),
        )
        fit = CAUCHY_SCALE**2 * float(data.weights @ np.log(squares).sum(axis=1))
        return fit + float(decay), np.concatenate([part.ravel() for part in gradient])

    return loss


def mean_network(samples: list[Sample]) -> ErrorNetwork:
    """Return the mean of several networks as one, which has the hidden units of all."""
    networks = [train(samples, seed) for seed in range(NETWORKS)]
    return ErrorNetwork(
        networks[0].mean,
        networks[0].deviation,
        np.concatenate([network.hidden_weights for network in networks], axis=1),
        np.concatenate([network.hidden_bias for network in networks]),
        np.concatenate([network.output_weights for network in networks]) / NETWORKS,
        np.mean([network.output_bias for network in networks], axis=0),
    )


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
    return 1000 * float((np.linalg.norm(errors, axis=-1) * one.metres[:, None]).mean())


def main() -> None:
    """Train and write."""
    found = without_skin_offsets(samples())
    for fold in range(FOLDS):
        network = mean_network([one for number, one in enumerate(found) if number % FOLDS != fold])
        for one in found[fold::FOLDS]:
            corrected = one.errors - network.errors(one.predictors)
            print(f"{one.name}: {mean_error(one, one.errors):.1f} -> {mean_error(one, corrected):.1f} mm", flush=True)
    mean_network(found).write(NETWORK)


if __name__ == "__main__":
    main()
