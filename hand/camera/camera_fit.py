"""Fit a hand to a take of landmarks in a camera's picture: side, bones, and the pose of every frame.

The start of each frame is the hand fitted to the detector's guess of its shape, moved to where its landmarks lie in the
picture. Both sides are tried (side_costs.py).
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...errors import HandError
from .. import rotations as rot
from ..calibration.skin_markers.chain import ShapeParameters, marker_positions
from ..calibration.skin_markers.fit import proportions
from ..calibration.skin_markers.pose_fit import PoseModel, Poses, VisibleMarkers, fit_poses, solve
from ..calibration.skin_markers.pose_starts import best_start
from ..calibration.skin_markers.priors import START_ANGLES
from ..generators import Progress, Steps
from ..joints import SIDES, Side
from ..kinematics import Pose
from ..mirror import FRAME_SIGNS, POINT_SIGNS
from ..proportions import Proportions, build
from .hand_leaps import without_leaps
from .landmark_corrections import corrected
from .landmark_shape import COUNT, HandShapePrior, mean_shape
from .landmark_table import pose_prior
from .measurement import Sighting, residuals
from .motion import MotionPrior
from .picture_landmarks import PictureLandmarks, palm_sizes
from .side_costs import SideCosts
from .take_fit import LIMITS, TakeFitProblem, TakeState, fit_take

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.intp]

SHAPE_FRAMES = 200
"""Maximum frames from which the side and the bone lengths are determined."""
BATCH_FRAMES, OVERLAP_FRAMES = 600, 45
"""Frames in a batch of a take, and additional frames on both sides that are fitted with it and discarded."""
MAX_GAP = 0.5
"""s, the longest time without the hand over which its poses are predicted."""
START_SPREAD = 0.008
"""m, standard deviation of the detector's shape at the start."""


@dataclass(frozen=True, slots=True, eq=False)
class CameraHand:
    """A hand fitted to F frames in the camera's space: X right, Y down, Z away, m."""

    side: Side
    proportions: Proportions
    pose: Pose
    """Pose of the hand that is built from these proportions."""
    known: Bools
    """(F,) frames with a pose: the hand was found in them, or they lie in a gap of at most MAX_GAP."""
    found: Bools
    """(F,) frames in which the hand was found; in the others the pose is predicted."""


@dataclass(frozen=True, slots=True)
class CameraSettings:
    """Known properties of the camera and the hand."""

    angle_of_view: float
    """Degrees across the picture's longer side."""
    length: float
    """m, from the wrist to the middle finger's tip."""


def fit_camera_hand(
    landmarks: PictureLandmarks, times: Floats, settings: CameraSettings, side: Side | None = None
) -> Steps[CameraHand]:
    """Fit a hand to landmarks at times (F,) s; side: None if it is not known.

    Raises:
        HandError: the hand is found in no frame.
    """
    seen = np.flatnonzero(landmarks.seen)
    if not len(seen):
        raise HandError("the hand is found in no frame of the take")
    some = evenly(seen, SHAPE_FRAMES)
    fits: dict[Side, tuple[TakeState, float]] = {}
    for number, tried in enumerate(SIDES if side is None else (side,)):
        yield Progress(0.25 * number, "Measuring the hand")
        fits[tried] = fit_shape(landmarks.select(some), times[some], tried, settings)
    chosen = side or SideCosts({fitted_side: cost for fitted_side, (_, cost) in fits.items()}, landmarks.claim).side
    shape = fits[chosen][0].shape
    trusted = _without_leaps(landmarks, times, chosen, settings)
    if len(trusted) < len(seen):
        landmarks, some = landmarks.only(trusted), evenly(trusted, SHAPE_FRAMES)
        shape = fit_shape(landmarks.select(some), times[some], chosen, settings)[0].shape
    yield Progress(0.5, f"Fitting the {chosen} hand to the picture")
    poses, found = yield from _fit_frames(landmarks, times, chosen, shape, settings)
    return _camera_hand(chosen, shape, poses, times, found)


def _without_leaps(landmarks: PictureLandmarks, times: Floats, side: Side, settings: CameraSettings) -> Ints:
    """Return the frames (N,) with the hand in which it does not leap for a moment."""
    state, sighting = start_state(landmarks, side, mean_shape(settings.length), settings)
    seen = np.flatnonzero(landmarks.seen)
    kept: Ints = seen[without_leaps(times[seen], sighting.distance[seen], state.poses.rotations[seen])]
    return kept


def evenly(frames: Ints, count: int) -> Ints:
    """So many of the frames, evenly spaced."""
    chosen: Ints = frames[np.unique(np.linspace(0, len(frames) - 1, min(count, len(frames))).astype(int))]
    return chosen


def fit_shape(
    landmarks: PictureLandmarks, times: Floats, side: Side, settings: CameraSettings
) -> tuple[TakeState, float]:
    """Fit shape and poses to frames at times (F,) s, as a hand of this side; return the state and its cost."""
    start, sighting = start_state(landmarks, side, mean_shape(settings.length), settings)
    problem = TakeFitProblem(sighting, MotionPrior(times), HandShapePrior(settings.length))
    return fit_take(problem, start, SHAPE_ITERATIONS)


SHAPE_ITERATIONS, POSE_ITERATIONS = 25, 25


def start_state(
    landmarks: PictureLandmarks, side: Side, shape: ShapeParameters, settings: CameraSettings
) -> tuple[TakeState, Sighting]:
    """Return poses from the detector's guess in frames with the hand, and the sighting of it, mirrored to right.

    The detector's landmarks are corrected (landmark_corrections.py). Frames without the hand get the pose of the
    nearest one with it.
    """
    landmarks = corrected(landmarks, side)
    mirror = POINT_SIGNS if side == "left" else np.ones(3)
    lines = landmarks.sight_lines(settings.angle_of_view) * mirror[:2]
    seen = landmarks.seen
    known = np.flatnonzero(seen)
    towards = rot.unit_vectors(np.append(lines[known].mean(axis=1), np.ones((len(known), 1)), axis=1))
    facing = _facing(towards)
    relief = landmarks.relief()[known] * mirror
    scale = scales(shape, relief)
    guess = relief * scale[:, None, None]
    mean, precision = pose_prior()
    model = PoseModel(shape, np.full((COUNT, 3), 1 / START_SPREAD), mean, precision, LIMITS)
    markers = VisibleMarkers.from_positions(guess @ facing.swapaxes(1, 2))
    poses = best_start(model, [mean, *START_ANGLES], markers, np.ones(COUNT, bool))
    poses, _ = fit_poses(model, poses, markers, START_ITERATIONS, 1e-3)
    poses, distance = _fit_positions(shape, poses, lines[known])
    if landmarks.has_depths:
        scale = distance / landmarks.size.focal_length(settings.angle_of_view)
    depths = relief[..., 2] * scale[:, None]
    nearest = _nearest(known, len(seen))
    sighting = Sighting(
        np.where(seen[:, None, None], lines, 0.0), depths[nearest], towards[nearest], distance[nearest], seen
    )
    return TakeState(shape, poses.select(nearest)), sighting


START_ITERATIONS = 8


def _nearest(known: Ints, frames: int) -> Ints:
    """(F,) for each frame, the index of the nearest among the frames (N,) that are known, ascending."""
    every = np.arange(frames)
    after = np.clip(np.searchsorted(known, every), 0, len(known) - 1)
    before = np.maximum(after - 1, 0)
    nearest: Ints = np.where(every - known[before] <= known[after] - every, before, after)
    return nearest


def _facing(towards: Floats) -> Floats:
    """(F, 3, 3) the smallest rotations of the camera's axis onto the lines of sight (F, 3): a detector sees a cut
    of the picture, and guesses the hand's shape as if it were in the middle."""
    axis = np.cross([0.0, 0.0, 1.0], towards)
    sine = np.linalg.norm(axis, axis=1)
    angle = np.arctan2(sine, towards[:, 2])
    unit = axis / np.maximum(sine, 1e-12)[:, None]
    return rot.to_matrix(rot.from_axis_angle(unit, angle))


def scales(shape: ShapeParameters, guess: Floats) -> Floats:
    """Return the ratio (F,) of the palm's size to that of the detector's guess (F, 21, 3)."""
    landmarks = marker_positions(shape, np.zeros((1, len(LIMITS)))).positions[:, :, 0].T
    ratios: Floats = palm_sizes(landmarks) / palm_sizes(guess)
    return ratios


def _fit_positions(shape: ShapeParameters, poses: Poses, lines: Floats) -> tuple[Poses, Floats]:
    """Move poses along and across the lines of sight (F, 21, 2) to where they fit best; also their distances (F,).

    The wrist's position t solves (p + t)_x = u (p + t)_z and (p + t)_y = v (p + t)_z by least squares.
    """
    local = marker_positions(shape, poses.angles).positions.transpose(2, 1, 0) @ poses.rotations.swapaxes(1, 2)
    frames = len(local)
    rows = np.zeros((frames, COUNT, 2, 3))
    rows[..., 0, 0] = rows[..., 1, 1] = 1.0
    rows[..., 2] = -lines
    known = (lines * local[..., 2:] - local[..., :2]).reshape(frames, -1, 1)
    flat = rows.reshape(frames, -1, 3)
    transposed = flat.swapaxes(1, 2)
    positions = solve(transposed @ flat, transposed @ known)[..., 0]
    distance = np.maximum((positions[:, None] + local)[..., 2].mean(axis=1), 0.05)
    return Poses(poses.rotations, positions, poses.angles), distance


def _fit_frames(
    landmarks: PictureLandmarks, times: Floats, side: Side, shape: ShapeParameters, settings: CameraSettings
) -> Steps[tuple[Poses, Bools]]:
    """Fit every frame of a take with a known shape, piece by piece; return poses and where the hand was found (F,)."""
    state, sighting = start_state(landmarks, side, shape, settings)
    result, found = state.poses.copy(), landmarks.seen.copy()
    for start in range(0, len(times), BATCH_FRAMES):
        yield Progress(0.5 + 0.5 * start / len(times))
        first = max(start - OVERLAP_FRAMES, 0)
        rows = slice(first, start + BATCH_FRAMES + OVERLAP_FRAMES)
        problem = TakeFitProblem(sighting.select(rows), MotionPrior(times[rows]), None)
        fitted, _ = fit_take(problem, replace(state, poses=state.poses.select(rows)), POSE_ITERATIONS)
        trusted = _without_false_frames(problem, fitted)
        fitted, _ = fit_take(trusted, fitted, POSE_ITERATIONS)
        own = np.arange(start, min(start + BATCH_FRAMES, len(times)))
        result.assign(own, fitted.poses.select(own - first))
        found[own] = trusted.sighting.seen[own - first]
    return result, found


def _without_false_frames(problem: TakeFitProblem, state: TakeState) -> TakeFitProblem:
    """Return the problem without frames whose landmarks are far from the fitted hand, which the detector got wrong."""
    sighting = problem.sighting
    misses = np.linalg.norm(residuals(state.shape, state.poses, sighting).picture, axis=-1).mean(axis=1)
    usual = float(np.median(misses[sighting.seen])) if sighting.seen.any() else 0.0
    seen = sighting.seen & (misses <= max(FALSE_FRAME * usual, MIN_MISS))
    return replace(problem, sighting=replace(sighting, seen=seen))


FALSE_FRAME = 2.5
"""A frame whose landmarks are so many times as far from the hand as usual is false."""
MIN_MISS = 1.0
"""Standard deviations: a frame whose landmarks are nearer is never false, however near they usually are."""


def _camera_hand(side: Side, shape: ShapeParameters, poses: Poses, times: Floats, found: Bools) -> CameraHand:
    right = proportions(shape)
    own = right if side == "right" else right.mirrored()
    root = np.tile(np.eye(4), (len(times), 1, 1))
    root[:, :3, :3], root[:, :3, 3] = poses.rotations, poses.positions
    if side == "left":
        root *= FRAME_SIGNS
    return CameraHand(side, own, Pose(build(own), root, poses.angles), _predictable(times, found), found)


def _predictable(times: Floats, found: Bools) -> Bools:
    """Return the frames (F,) with the hand, and those between two of them that are MAX_GAP apart at most."""
    frames = np.flatnonzero(found)
    before = np.maximum.accumulate(np.where(found, np.arange(len(found)), -1))
    after = np.minimum.accumulate(np.where(found, np.arange(len(found)), len(found))[::-1])[::-1]
    inside = (before >= 0) & (after < len(found))
    known = np.zeros(len(found), bool)
    known[inside] = times[after[inside]] - times[before[inside]] <= MAX_GAP
    known[frames] = True
    return known
