"""What of a performance a hand of other proportions keeps: directions of bones, places of fingertips, or pinches.

Lengths are scaled by s: how much longer the character's hand is than the performer's, or 1 where places are kept in
metres of the world. Tips x are in the frame of the wrist, of the performer and of the character.

    directions   the angles, and so the direction of every bone, are the performer's: as the markers on a bone's ends
                 show them where both are seen (bone_directions.py), else as solved
    fingertips   x̂ = s x_performer
    pinches      with g = x_finger − x_thumb, e = s g_performer − g_character, and w(|g_performer|) from 1 where thumb
                 and finger are near to 0 where they are far:
                     x̂_thumb  = x_thumb − ½ Σ w² e / Σ w            half of the way, of all fingers that pinch
                     x̂_finger = x_finger + w (x̂_thumb + s g_performer − x_finger)

The pull w is that of DexPilot (Handa 2020, (2)) and of AnyTeleop's retargeting, which switch it between two distances;
here it is smooth, and moves the places that tips are asked to, not what they are worth: so a pinch comes and goes
without a jump, and where it is whole its gap is exactly the performer's.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...hand.joints import DIGITS
from ...hand.kinematics import Pose
from ...hand.targets import Targets
from ..recipe import KeepChoice, ScaleChoice
from .bone_directions import as_seen, seen_bones
from .character_hand import Character, size, tips
from .digit_mapping import shared_angles, shares
from .tip_reach import bring_tips

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NEAR, FAR = 0.15, 0.4
"""Parts of the performer's hand's length: a fingertip nearer to the thumb's than the first pinches, beyond the other it
does not. Of a hand of 190 mm 28 and 76 mm; dex-retargeting switches at 30 and 50."""
ROUNDS = 3
"""How often thumb and fingers take over from each other what one of them cannot reach,"""
LEFT = 0.003
"""what is more than this part of the hand's length."""


@dataclass(frozen=True, slots=True)
class RetargetMode:
    """What is kept, and in what it is measured."""

    what: KeepChoice = "directions"
    scale: ScaleChoice = "hand"


@dataclass(frozen=True, slots=True, eq=False)
class RetargetedHand:
    """What a character's hand does, and what it was to do. Places in the wrist's frame, m."""

    what: KeepChoice
    character: Character
    pose: Pose
    scale: float
    """s"""
    tips: Floats
    """(F, 5, 3) where the performer's tips are, scaled."""
    pinched: Floats
    """(F, 5) how much each finger pinches, 0..1; the thumb's column is zero."""
    gaps: Floats
    """(F, 5, 3) from the performer's thumb to each tip, scaled."""


def keep(performance: Pose, of: Character, keeping: RetargetMode, targets: Targets | None = None) -> RetargetedHand:
    """A performance on a character's hand.

    targets: what the performance was solved to, by which directions are seen; None where nothing is known but the pose.
    """
    performer, table = performance.hand, shares(of.digits)
    own = tips(performer, performance.angles)
    has = [row for row, digit in enumerate(DIGITS) if digit in of.digits]
    scale = _scale(performance, of, table) if keeping.scale == "hand" else 1.0
    pinched, gaps = _pinches(own, table, float(size(performer).max()))
    gaps, asked = scale * gaps, scale * np.einsum("rd,fdi->fri", table, own)
    pointing = performance
    if targets is not None and keeping.what != "fingertips":
        pointing = as_seen(performance, of.hand.limits, targets, seen_bones(performance, targets))
    low, high = of.hand.limits.T
    angles = np.clip(shared_angles(performer, table, pointing.angles), low, high)
    if keeping.what == "fingertips":
        digits = [DIGITS[row] for row in has]
        angles = bring_tips(of, angles, digits, of.tips(angles)[:, has], asked[:, has])
    elif keeping.what == "pinches" and len(has) > 1 and has[0] == 0:
        angles = _met(of, angles, pinched, gaps)
    return RetargetedHand(keeping.what, of, Pose(of.hand, performance.root, angles), scale, asked, pinched, gaps)


def _scale(performance: Pose, of: Character, table: Floats) -> float:
    """How much longer the character's fingers are, counted from the wrist; its thumb where it has no finger."""
    rows = [DIGITS.index(digit) for digit in of.digits]
    fingers = rows[1:] if rows[0] == 0 and len(rows) > 1 else rows
    return float(np.mean(size(of.hand)[fingers] / size(performance.hand, table)[fingers]))


def _pinches(own: Floats, table: Floats, length: float) -> tuple[Floats, Floats]:
    """(F, 5) how much each digit of a rig pinches, and (F, 5, 3) m the gap to the thumb, from tips (F, 5, 3) m.

    A finger that follows several pinches as much as the one that does so most, with the gaps of those that do.
    """
    gaps = own - own[:, :1]
    share = np.clip((FAR - np.linalg.norm(gaps, axis=-1) / length) / (FAR - NEAR), 0.0, 1.0)
    weights = share * share * (3.0 - 2.0 * share)
    weights[:, 0] = 0.0
    following = np.where(table > 0, weights[:, None], 0.0)
    pinched = following.max(axis=-1)
    parts = np.where(pinched[..., None] > 0, following**2, table)
    parts = parts / parts.sum(axis=-1, keepdims=True)
    return pinched, np.einsum("frd,fdi->fri", parts, gaps)


@dataclass(frozen=True, slots=True, eq=False)
class _Meeting:
    """Thumb and T fingers that are to meet, in F frames."""

    character: Character
    rows: list[int]
    """(T,) the fingers."""
    angles: Floats
    """(F, D) rad that they leave as little as may be."""
    before: Floats
    """(F, 5, 3) m where the tips are at these."""
    pull: Floats
    """(F, T) how much each finger pinches."""
    gaps: Floats
    """(F, T, 3) m that are to be between thumb and fingers."""

    def select(self, frames: Ints) -> "_Meeting":
        """Some of the frames."""
        arrays = (self.angles, self.before, self.pull, self.gaps)
        return _Meeting(self.character, self.rows, *(array[frames] for array in arrays))

    def met(self, goal: Floats) -> tuple[Floats, Floats]:
        """(F, D) rad with the thumb at its goal (F, 1, 3) m and the fingers where that asks them to be, and the goal of
        a thumb that takes over what they lack; exactly where it is if they lack nothing."""
        moved = bring_tips(self.character, self.angles, DIGITS[:1], self.before[:, :1], goal)
        there = self.character.tips(moved)[:, :1]
        begun = self.before[:, self.rows]
        places = begun + self.pull[..., None] * (there + self.gaps - begun)
        moved = bring_tips(self.character, moved, [DIGITS[row] for row in self.rows], begun, places)
        left = places - self.character.tips(moved)[:, self.rows]
        length = np.linalg.norm(left, axis=-1, keepdims=True)
        # Less and less is taken over, down to nothing: no frame differs from the next for having one round more.
        left *= np.maximum(1.0 - LEFT * self.character.length / np.maximum(length, 1e-300), 0.0)
        return moved, there - self.mean(left)

    def mean(self, ways: Floats) -> Floats:
        """(F, 1, 3) m, what all fingers together ask of the thumb: Σ w² e / Σ w of their ways e (F, T, 3)."""
        total = self.pull.sum(axis=1)[:, None, None]
        asked: Floats = np.einsum("ft,fti->fi", self.pull**2, ways)[:, None] / np.where(total > 0, total, 1.0)
        return asked


def _met(of: Character, angles: Floats, pinched: Floats, gaps: Floats) -> Floats:
    """(F, D) rad, the angles with thumb and fingers moved to the gaps (F, 5, 3) m as much as they pinch (F, 5)."""
    rows = [row for row, digit in enumerate(DIGITS) if digit in of.digits and row]
    meeting = _Meeting(of, rows, angles, of.tips(angles), pinched[:, rows], gaps[:, rows])
    thumb = meeting.before[:, :1]
    goal = thumb - meeting.mean(meeting.gaps - (meeting.before[:, rows] - thumb)) / 2
    result, frames = angles.copy(), np.arange(len(angles))
    for _ in range(ROUNDS):
        result[frames], again = meeting.met(goal)
        lacking = np.flatnonzero(np.any(again != of.tips(result[frames])[:, :1], axis=(1, 2)))
        meeting, goal, frames = meeting.select(lacking), again[lacking], frames[lacking]
    return result
