"""Figures of solved clips that need no known joints, and those that do.

A *pop* is a frame in which a joint turns by more than 30 degrees and by more than four times the median of its turns in
the five frames before and after, while no marker of its digit moves by more than 8 mm against the rest of the hand (all
markers of a frame laid rigidly on those of the frame before). *Jitter* is the mean second difference of the angles over
√6: for white noise this is its own standard deviation. A frame is *at a limit* where an angle is within 0.1 degrees of
one.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from skin_methods import Solved
from skin_takes import Clip

from knuckle.hand import rotations as rot
from knuckle.hand.joints import BENDING_JOINTS, CHAIN_JOINTS, DIGITS, JOINT_INDEX

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

POP = 30.0
"""Minimum rotation of a joint in a frame that counts as a pop, degrees."""
POP_FACTOR = 4.0
"""Factor on the median rotation in the frames around a pop."""
POP_WINDOW = 5
"""Number of frames before and after a step with which the step is compared."""
MAX_CALM_MM = 8.0
"""Maximum movement of a marker of a calm digit, mm."""
AT_LIMIT = np.deg2rad(0.1)
_TURNING = tuple(joint for digit in DIGITS for joint in CHAIN_JOINTS[digit][:3])
_DIGIT_WORDS = dict(zip(DIGITS, ("Thumb", "Index", "Middle", "Ring", "Pinky"), strict=True))


def residuals(clip: Clip, solved: Solved) -> Floats:
    """Return (F, L) mm from where the hand carries each label to its marker; NaN where not seen or not worn."""
    errors = np.full((len(clip), len(solved.labels)), np.nan)
    for column, label in enumerate(solved.labels):
        if label in clip.labels:
            errors[:, column] = np.linalg.norm(
                solved.carried[:, column] - clip.positions[:, clip.column(label)], axis=-1
            )
    return 1000 * errors


def at_limit(solved: Solved) -> Bools:
    """Return (F,) whether any angle is at a limit."""
    low, high = solved.limits.T
    hit: Bools = ((solved.angles < low + AT_LIMIT) | (solved.angles > high - AT_LIMIT)).any(1)
    return hit


def jitter(solved: Solved) -> float:
    """Return the jitter in degrees, see above."""
    return float(np.rad2deg(np.abs(np.diff(solved.angles, 2, axis=0)).mean()) / np.sqrt(6))


def pops(clip: Clip, solved: Solved) -> Bools:
    """Return (F - 1,) whether the step to a frame is a pop in any joint."""
    is_pop = np.zeros(len(clip) - 1, bool)
    rotations_deg, displacements = turns(solved), _displacements(clip)
    for digit in DIGITS:
        digit_joints = [j for j, joint in enumerate(_TURNING) if joint in CHAIN_JOINTS[digit]]
        digit_markers = [i for i, label in enumerate(clip.labels) if label.startswith(_DIGIT_WORDS[digit])]
        is_calm = ~np.any(displacements[:, digit_markers] > MAX_CALM_MM, axis=1)
        is_pop |= is_calm & _leaps(rotations_deg[:, digit_joints]).any(1)
    return is_pop


def turns(solved: Solved) -> Floats:
    """Return (F - 1, 15) degrees by which each joint turns against the bone before it from one frame to the next."""
    frames = solved.frames[..., :3, :3]
    joints = [JOINT_INDEX[joint] for joint in _TURNING]
    parents = [0 if joint not in BENDING_JOINTS else JOINT_INDEX[joint] - 1 for joint in _TURNING]
    local = np.einsum("fjki,fjkl->fjil", frames[:, parents], frames[:, joints])
    trace = np.einsum("fjki,fjki->fj", local[1:], local[:-1])
    return np.asarray(np.rad2deg(np.arccos(np.clip((trace - 1) / 2, -1, 1))))


def _leaps(steps: Floats) -> Bools:
    """Return (F - 1, J) whether a joint rotates far, and much farther than in the frames around."""
    padded = np.pad(steps, ((POP_WINDOW, POP_WINDOW), (0, 0)), constant_values=np.nan)
    window = np.lib.stride_tricks.sliding_window_view(padded, 2 * POP_WINDOW + 1, axis=0)
    is_leap: Bools = (steps > POP) & (steps > POP_FACTOR * np.nanmedian(window, axis=-1))
    return is_leap


def _displacements(clip: Clip) -> Floats:
    """Return (F - 1, M) mm that a marker moves from frame to frame against the hand as a whole; NaN where not seen."""
    before, after = clip.positions[:-1], clip.positions[1:]
    both = np.isfinite(before).all(-1) & np.isfinite(after).all(-1)
    moves = rot.fit_rigid(np.where(both[..., None], before, 0), np.where(both[..., None], after, 0), both.astype(float))
    laid = np.einsum("fij,fmj->fmi", moves[:, :3, :3], before) + moves[:, None, :3, 3]
    return 1000 * np.linalg.norm(after - laid, axis=-1)


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """A hand whose joints are known."""

    frames: Floats
    """(F, 25, 4, 4) T_world_joint, Knuckle's joints and their directions."""


def centre_errors(solved: Solved, truth: Truth) -> Floats:
    """Return (F, 15) mm, the centres of the joints that bend."""
    joints = [JOINT_INDEX[joint] for joint in _TURNING]
    offsets = solved.frames[..., :3, 3] - truth.frames[..., :3, 3]
    return 1000 * np.linalg.norm(offsets[:, joints], axis=-1)


def angle_errors(solved: Solved, truth: Truth) -> Floats:
    """Return (F, 15) degrees: how far the first bone of each digit points elsewhere in the palm, and how much more or
    less the others are bent against the bone before. How the palm's own frame lies is a convention: what is constant of
    it is taken out."""
    solved_directions, true_directions = (_palm_directions(directions) for directions in (solved.frames, truth.frames))
    firsts = np.einsum("ij,fdj->fdi", _constant_turn(solved_directions, true_directions), solved_directions[:, :, 0])
    pointing = _between(firsts, true_directions[:, :, 0])
    bends = [
        _between(directions[:, :, :-1], directions[:, :, 1:]) for directions in (solved_directions, true_directions)
    ]
    return np.concatenate([pointing[..., None], bends[0] - bends[1]], axis=2).reshape(len(solved_directions), -1)


def _palm_directions(frames: Floats) -> Floats:
    """Return (F, 5, 3, 3) unit, where the three bones of each digit point, in the wrist's frame."""
    chains = np.array([[JOINT_INDEX[joint] for joint in CHAIN_JOINTS[digit]] for digit in DIGITS])
    bones = np.diff(frames[..., :3, 3][:, chains], axis=2)
    bones /= np.linalg.norm(bones, axis=-1, keepdims=True)
    return np.asarray(np.einsum("fji,fdbj->fdbi", frames[:, 0, :3, :3], bones))


def _constant_turn(solved_directions: Floats, true_directions: Floats) -> Floats:
    """Return the constant rotation (3, 3) that best aligns the fingers' first bones of all frames with the true
    ones."""
    return rot.nearest_rotation(np.einsum("fdi,fdj->ij", true_directions[:, 1:, 0], solved_directions[:, 1:, 0]))


def _between(one: Floats, other: Floats) -> Floats:
    """Return degrees between unit vectors (..., 3)."""
    return np.asarray(np.rad2deg(2 * np.arcsin(np.clip(np.linalg.norm(one - other, axis=-1) / 2, 0, 1))))
