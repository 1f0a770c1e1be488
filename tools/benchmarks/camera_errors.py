"""Measure the causes of errors of hands solved from a camera's picture, by replacing parts of the input by the truth.

    python tools/benchmarks/camera_errors.py [--out docs]

Fills the tables of docs/explanation/camera.md, from the videos that tune (camera_takes.py) and no others. True
landmarks are where the table's offsets put them on the true joints. A hand fitted to true landmarks and depths gives
the true bones and angles. Needs bpy, scipy and ../shared.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from unittest.mock import patch

import numpy as np
from camera_scores import procrustes, score
from camera_table import views
from camera_takes import ANGLE_OF_VIEW, BUILD, VIDEOS, Video
from numpy.typing import NDArray
from skin_hands import SHAPES
from skin_takes import ROOT
from standard_page import fill, table

from knuckle import capture
from knuckle.hand.calibration.skin_markers.chain import ShapeParameters, marker_positions
from knuckle.hand.calibration.skin_markers.pose_fit import Poses
from knuckle.hand.camera import take_fit
from knuckle.hand.camera.camera_fit import CameraSettings, start_state
from knuckle.hand.camera.landmark_shape import HandShapePrior, mean_shape
from knuckle.hand.camera.landmark_table import landmark_offsets
from knuckle.hand.camera.measurement import Sighting
from knuckle.hand.camera.motion import MotionPrior
from knuckle.hand.camera.take_fit import TakeFitProblem, TakeState, fit_take
from knuckle.hand.joints import Side
from knuckle.hand.mirror import POINT_SIGNS

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

ITERATIONS = 25
PRIOR_SPREADS = (14, 10, 5, 2)
"""Degrees, standard deviations of a prior of poses about the true angles, with its weight in the fit."""
RADIUS, NEARER = 0.008, 0.012
"""m: a bone's radius, and the minimum distance by which it is nearer to the camera than what it hides."""
BONES = [(0, 1), (0, 5), (0, 9), (0, 13), (0, 17), (5, 9), (9, 13), (13, 17)]
BONES += [(first, first + 1) for digit in range(5) for first in range(1 + 4 * digit, 4 + 4 * digit)]


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """A video mirrored to a right hand: the detector's landmarks and the truth."""

    video: Video
    times: Floats
    start: TakeState
    sighting: Sighting
    settings: CameraSettings
    joints: Floats
    """(F, 21, 3) m"""
    truth: Sighting
    """The sighting with the true landmarks."""
    hidden: Bools
    """(F, 21) landmarks that the hand itself hides."""


def case(video: Video) -> Case:
    """Read a rendered video and its detected landmarks."""
    _, joints, rotations, length = views(video)
    side: Side = "right" if video.hand < len(SHAPES) else "left"
    mirror = POINT_SIGNS if side == "left" else np.ones(3)
    markers = capture.read(BUILD / video.name / "landmarks.json")
    settings = CameraSettings(ANGLE_OF_VIEW, length)
    seen = markers.pictures[0].widened()
    start, sighting = start_state(seen, side, mean_shape(length), settings)
    points = (joints + length * np.einsum("flij,lj->fli", rotations, landmark_offsets())) * mirror
    along = np.einsum("fli,fi->fl", points - points.mean(axis=1, keepdims=True), sighting.towards)
    truth = replace(sighting, lines=points[..., :2] / points[..., 2:], depths=along)
    own = joints * mirror
    return Case(video, markers.times, start, sighting, settings, own, truth, hidden(own))


def hidden(joints: Floats) -> Bools:
    """Return (F, 21) whether a bone that does not end at a joint lies before it."""
    part = np.linspace(0, 1, 9)[:, None]
    covered = np.zeros(joints.shape[:2], np.bool_)
    size = np.linalg.norm(joints, axis=-1)
    towards = joints / size[..., None]
    for a, b in BONES:
        points = joints[:, a, None] + part * (joints[:, b, None] - joints[:, a, None])
        along = np.einsum("fli,fpi->flp", towards, points)
        aside = np.sqrt(np.maximum((points**2).sum(-1)[:, None] - along**2, 0))
        before = ((aside < RADIUS) & (along < size[..., None] - NEARER)).any(axis=2)
        before[:, [a, b]] = False
        covered |= before
    return covered


def fitted(
    case: Case, sighting: Sighting, shape: ShapeParameters | None = None, prior: tuple[Floats, Floats] | None = None
) -> TakeState:
    """Solve a take as camera_fit.py does. shape: known bones; prior: of poses, mean and precision, if another one."""
    prior = prior or take_fit.pose_prior()
    with patch.object(take_fit, "pose_prior", lambda: prior):
        state, problem = case.start, TakeFitProblem(sighting, MotionPrior(case.times), None)
        if shape is None:
            state, _ = fit_take(replace(problem, shape_prior=HandShapePrior(case.settings.length)), state, ITERATIONS)
        else:
            state = TakeState(shape, state.poses)
        return fit_take(problem, state, ITERATIONS)[0]


def given_poses(case: Case, true: TakeState, degrees: float) -> TakeState:
    """Solve a take with the true angles as the prior's mean, and a standard deviation about them."""
    angles = true.poses.angles
    precision = np.eye(angles.shape[1]) / np.deg2rad(degrees) ** 2 / take_fit.POSE_WEIGHT
    return fitted(case, case.sighting, prior=(angles, precision))


def joints_of(state: TakeState) -> Floats:
    """Return (F, 21, 3) m of the joints, without the landmarks' offsets."""
    shape = state.shape
    offsets = shape.offsets - landmark_offsets() * state_length(shape)
    poses: Poses = state.poses
    local = marker_positions(replace(shape, offsets=offsets), poses.angles).positions.transpose(2, 1, 0)
    placed: Floats = local @ poses.rotations.swapaxes(1, 2) + poses.positions[:, None]
    return placed


def state_length(shape: ShapeParameters) -> float:
    """Return m from the wrist to the middle finger's tip."""
    return float(np.linalg.norm(shape.first_joints[2]) + shape.lengths[2].sum())


def mixed(case: Case, *, lines: Bools | bool = False, depths: Bools | bool = False) -> Sighting:
    """Return the detector's output, with the truth where lines or depths (F, 21) are given."""
    across, along = (np.broadcast_to(given, case.hidden.shape) for given in (lines, depths))
    return replace(
        case.sighting,
        lines=np.where(across[..., None], case.truth.lines, case.sighting.lines),
        depths=np.where(along, case.truth.depths, case.sighting.depths),
    )


ORACLES: dict[str, Callable[[Case, TakeState], TakeState]] = {
    "nothing": lambda case, _: fitted(case, case.sighting),
    "bones": lambda case, true: fitted(case, case.sighting, shape=true.shape),
    **{f"poses, to {spread}°": partial(given_poses, degrees=spread) for spread in PRIOR_SPREADS},
    "landmarks in the picture": lambda case, _: fitted(case, mixed(case, lines=True)),
    "depths": lambda case, _: fitted(case, mixed(case, depths=True)),
    "hidden landmarks, with depths": lambda case, _: fitted(case, mixed(case, lines=case.hidden, depths=case.hidden)),
    "seen landmarks, with depths": lambda case, _: fitted(case, mixed(case, lines=~case.hidden, depths=~case.hidden)),
    "all landmarks, with depths": lambda _, true: true,
}


def figures(case: Case, state: TakeState) -> tuple[float, float]:
    """Return PA-MPJPE in mm, and the wrist's error in % of its distance."""
    seen = case.sighting.seen
    found = score(joints_of(state)[seen], case.joints[seen], placed=True)
    return found.pa_mpjpe, found.wrist


def misses(case: Case, state: TakeState) -> Floats:
    """Return (N, 21) m from the true joints, after alignment, in the frames in which the hand was found."""
    found, true = (joints[case.sighting.seen] for joints in (joints_of(state), case.joints))
    distances: Floats = np.linalg.norm(procrustes(found, true) - true, axis=-1)
    return distances


def landmark_row(name: str, cases: list[Case], columns: list[int], aligned: list[Floats]) -> list[str]:
    """Return the mean over takes of a landmark's errors, in mm at the hand: bias and noise, in the picture and of
    depth."""
    across = [(each.sighting.lines - each.truth.lines)[:, columns] * each.joints[:, columns, 2:] for each in cases]
    across = [error[each.sighting.seen] for error, each in zip(across, cases, strict=True)]
    along = [(each.sighting.depths - each.truth.depths)[each.sighting.seen][:, columns] for each in cases]
    bias = [np.linalg.norm(error.mean(axis=0), axis=-1).mean() for error in across]
    noise = [np.sqrt(error.var(axis=0).sum(axis=-1)).mean() for error in across]
    deep_bias = [np.abs(error.mean(axis=0)).mean() for error in along]
    deep_noise = [error.std(axis=0).mean() for error in along]
    lag = [correlation(error, 10) for error in along]
    miss = [each[:, columns].mean() for each in aligned]
    covered = np.mean([each.hidden[each.sighting.seen][:, columns].mean() for each in cases])
    mm = (f"{1000 * np.mean(each):.1f}" for each in (bias, noise, deep_bias, deep_noise))
    return [name, f"{100 * covered:.0f}", *mm, f"{np.mean(lag):.2f}", f"{1000 * np.mean(miss):.1f}"]


def correlation(errors: Floats, lag: int) -> float:
    """Return the autocorrelation of errors (F, L) at a lag of frames, less their means."""
    about = errors - errors.mean(axis=0)
    return float(((about[lag:] * about[:-lag]).mean(axis=0) / about.var(axis=0)).mean())


GROUPS = {
    "wrist": [0],
    **{f"thumb, landmark {row + 1}": [1 + row] for row in range(4)},
    **{
        f"fingers, {name}": [5 + row, 9 + row, 13 + row, 17 + row]
        for row, name in enumerate(("MCP", "PIP", "DIP", "tip"))
    },
}


def main() -> None:
    """Solve the videos that tune with every part of the truth."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "docs")
    options = parser.parse_args()
    cases = [case(video) for video in VIDEOS if video.tunes and (BUILD / video.name / "landmarks.json").is_file()]
    results: dict[str, list[tuple[float, float]]] = {name: [] for name in ORACLES}
    aligned = []
    for each in cases:
        true = fitted(each, each.truth)
        for name, oracle in ORACLES.items():
            state = oracle(each, true)
            results[name].append(figures(each, state))
            if name == "nothing":
                aligned.append(misses(each, state))
        print(each.video.name, {name: results[name][-1] for name in ORACLES}, flush=True)
    rows = [
        [name, *(f"{pa:.1f}" for pa, _ in found), *(f"{value:.1f}" for value in np.mean(found, axis=0))]
        for name, found in results.items()
    ]
    oracle = table(["given", *(each.video.name[:2] for each in cases), "PA-MPJPE mm", "wrist %"], rows)
    head = [
        "landmark",
        "hidden %",
        "bias mm",
        "noise mm",
        "depth bias mm",
        "depth noise mm",
        "after 0.3 s",
        "PA-MPJPE mm",
    ]
    parts = table(head, [landmark_row(name, cases, columns, aligned) for name, columns in GROUPS.items()])
    covered = [
        np.concatenate(
            [miss[each.hidden[each.sighting.seen] == hide] for miss, each in zip(aligned, cases, strict=True)]
        )
        for hide in (False, True)
    ]
    print("seen, hidden:", *(f"{1000 * one.mean():.1f} ({len(one)})" for one in covered))
    print(oracle, parts, sep="\n\n")
    fill(options.out / "explanation" / "camera.md", {"camera-oracles": oracle, "camera-landmarks": parts})


if __name__ == "__main__":
    main()
