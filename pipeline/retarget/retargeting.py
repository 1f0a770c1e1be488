"""Retarget a pose to a hand of other proportions, keeping directions of bones, positions of fingertips, or pinches.

Lengths are scaled by s, the ratio of the character's hand to the performer's, or 1 if positions are kept in metres of
the world. Positions x of tips are in the wrist's frame, of the performer or of the character.

    directions   the angles, and so the directions of all bones, are the performer's: those between the markers on a
                 bone's ends if both are seen (bone_directions.py), else the solved ones
    fingertips   x̂ = s x_performer
    pinches      with g = x_finger − x_thumb, e = s g_performer − g_character, and a weight w(|g_performer|) that falls
                 from 1 for a thumb and finger close together to 0 for distant ones:
                     x̂_thumb  = x_thumb − ½ Σ w² e / Σ w            over all fingers that pinch
                     x̂_finger = x_finger + w (x̂_thumb + s g_performer − x_finger)

DexPilot (Handa 2020, equation 2) and AnyTeleop use such a weight as well, but switch it between two distances and weigh
the objective with it. Here it is smooth and moves the goals of the tips: a pinch starts and ends without a jump, and
the gap of a full pinch is exactly the performer's.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...hand.joints import DIGITS
from ...hand.kinematics import Pose
from ...hand.smoothstep import smoothstep
from ...hand.targets import Targets
from ..recipe import KeepChoice, ScaleChoice
from .bone_directions import follow_directions, observed_directions
from .character_hand import Character, digit_lengths, tip_positions
from .digit_mapping import digit_weights, mix_angles
from .tip_reach import move_tips

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FULL_PINCH_GAP, NO_PINCH_GAP = 0.15, 0.4
"""Gaps between fingertip and thumb, relative to the length of the performer's hand: a full pinch up to the first, and
no pinch beyond the second. For a hand of 190 mm these are 28 and 76 mm; dex-retargeting switches at 30 and 50."""
PINCH_ITERATIONS = 3
"""Number of times that the thumb moves to compensate for distances that the fingers cannot reach."""
PINCH_TOLERANCE = 0.003
"""Relative to the length of the hand: smaller remaining distances are not compensated."""


@dataclass(frozen=True, slots=True)
class RetargetMode:
    """What retargeting preserves, and at which scale."""

    keep: KeepChoice = "directions"
    scale: ScaleChoice = "hand"


@dataclass(frozen=True, slots=True, eq=False)
class RetargetedHand:
    """A pose on a character's hand, and its goals. Positions are in m in the wrist's frame."""

    keep: KeepChoice
    character: Character
    pose: Pose
    scale: float
    """s, the ratio of the character's length to the performer's."""
    tips: Floats
    """(F, 5, 3) positions of the performer's tips, scaled."""
    pinch_weights: Floats
    """(F, 5) pinch weight w of each finger, 0..1; zero for the thumb."""
    thumb_gaps: Floats
    """(F, 5, 3) from the performer's thumb to each tip, scaled."""


def retarget(
    performance: Pose, character: Character, mode: RetargetMode, targets: Targets | None = None
) -> RetargetedHand:
    """Retarget a performance to a character's hand.

    targets: the targets of the performance's solve, which show the bone directions; None if only the pose is known.
    """
    performer, hand, table = performance.hand, character.hand, digit_weights(character.digits)
    rows = [row for row, digit in enumerate(DIGITS) if digit in character.digits]
    has_thumb = rows[0] == 0
    performer_tips = tip_positions(performer, performance.angles)
    scale = 1.0
    if mode.scale == "hand":
        # Compare lengths of fingers from the wrist, or of thumbs if the rig has no finger.
        compared = rows[1:] if has_thumb and len(rows) > 1 else rows
        scale = float(np.mean(digit_lengths(hand)[compared] / digit_lengths(performer, table)[compared]))
    pinch_weights, gaps = _pinches(performer_tips, table, float(digit_lengths(performer).max()))
    gaps, goals = scale * gaps, scale * np.einsum("rd,fdi->fri", table, performer_tips)
    if targets is not None and mode.keep != "fingertips":
        directions = observed_directions(performance, targets)
        performance = follow_directions(performance, hand.limits, targets, directions)
    low, high = hand.limits.T
    angles = np.clip(mix_angles(performer, table, performance.angles), low, high)
    if mode.keep == "fingertips":
        digits = [DIGITS[row] for row in rows]
        angles = move_tips(character, angles, digits, character.tips(angles)[:, rows], goals[:, rows])
    elif mode.keep == "pinches" and has_thumb and len(rows) > 1:
        angles = _close_pinches(character, angles, pinch_weights, gaps)
    pose = Pose(hand, performance.root, angles)
    return RetargetedHand(mode.keep, character, pose, scale, goals, pinch_weights, gaps)


def _pinches(tips: Floats, table: Floats, length: float) -> tuple[Floats, Floats]:
    """Return pinch weights (F, 5) and gaps to the thumb (F, 5, 3) in m of a rig's digits, from the tips (F, 5, 3) in m.

    A finger that follows several gets the largest of their weights, and a mean of the gaps of those that pinch.
    """
    gaps = tips - tips[:, :1]
    relative = np.linalg.norm(gaps, axis=-1) / length
    weights = smoothstep((NO_PINCH_GAP - relative) / (NO_PINCH_GAP - FULL_PINCH_GAP))
    weights[:, 0] = 0.0
    followed = np.where(table > 0, weights[:, None], 0.0)
    pinch_weights = followed.max(axis=-1)
    mean_weights = np.where(pinch_weights[..., None] > 0, followed**2, table)
    mean_weights = mean_weights / mean_weights.sum(axis=-1, keepdims=True)
    return pinch_weights, np.einsum("frd,fdi->fri", mean_weights, gaps)


@dataclass(frozen=True, slots=True, eq=False)
class _Pinch:
    """A thumb and T fingers that pinch in F frames."""

    character: Character
    rows: list[int]
    """(T,) indices of the fingers."""
    angles: Floats
    """(F, D) rad, to be changed as little as possible."""
    initial_tips: Floats
    """(F, 5, 3) m, positions of the tips at these angles."""
    weights: Floats
    """(F, T) pinch weights w."""
    gaps: Floats
    """(F, T, 3) m, desired vectors from the thumb's tip to the fingers'."""

    def select(self, frames: Ints) -> "_Pinch":
        """Select frames by index."""
        arrays = (self.angles, self.initial_tips, self.weights, self.gaps)
        return _Pinch(self.character, self.rows, *(array[frames] for array in arrays))

    def close(self, goal: Floats) -> tuple[Floats, Floats]:
        """Move the thumb's tip to its goal (F, 1, 3) in m and the fingers' tips to it.

        Returns the angles (F, D) in rad, and the next goal of the thumb (F, 1, 3): closer to fingers that cannot reach
        it, and exactly the thumb's position where all can.
        """
        angles = move_tips(self.character, self.angles, DIGITS[:1], self.initial_tips[:, :1], goal)
        thumb = self.character.tips(angles)[:, :1]
        initial = self.initial_tips[:, self.rows]
        goals = initial + self.weights[..., None] * (thumb + self.gaps - initial)
        angles = move_tips(self.character, angles, [DIGITS[row] for row in self.rows], initial, goals)
        errors = goals - self.character.tips(angles)[:, self.rows]
        length = np.linalg.norm(errors, axis=-1, keepdims=True)
        # Errors fade to zero at the tolerance, so that frames with more iterations do not jump.
        errors *= np.maximum(1.0 - PINCH_TOLERANCE * self.character.length / np.maximum(length, 1e-300), 0.0)
        return angles, thumb - self.weighted_mean(errors)

    def weighted_mean(self, offsets: Floats) -> Floats:
        """Return the weighted mean (F, 1, 3) in m of the fingers' offsets e (F, T, 3): Σ w² e / Σ w."""
        total = self.weights.sum(axis=1)[:, None, None]
        mean: Floats = np.einsum("ft,fti->fi", self.weights**2, offsets)[:, None] / np.where(total > 0, total, 1.0)
        return mean


def _close_pinches(character: Character, angles: Floats, pinch_weights: Floats, gaps: Floats) -> Floats:
    """Move thumb and fingers towards the gaps (F, 5, 3) in m, by their pinch weights (F, 5). Returns angles (F, D)."""
    rows = [row for row, digit in enumerate(DIGITS) if digit in character.digits and row]
    pinch = _Pinch(character, rows, angles, character.tips(angles), pinch_weights[:, rows], gaps[:, rows])
    thumb = pinch.initial_tips[:, :1]
    goal = thumb - pinch.weighted_mean(pinch.gaps - (pinch.initial_tips[:, rows] - thumb)) / 2
    result, frames = angles.copy(), np.arange(len(angles))
    for _ in range(PINCH_ITERATIONS):
        result[frames], next_goal = pinch.close(goal)
        unfinished = np.flatnonzero(np.any(next_goal != character.tips(result[frames])[:, :1], axis=(1, 2)))
        pinch, goal, frames = pinch.select(unfinished), next_goal[unfinished], frames[unfinished]
    return result
