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
the objective with it. Here it is smooth and moves the goals of the tips: a pinch comes and goes without a jump, and the
gap of a full pinch is exactly the performer's.
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
"""Gaps between fingertip and thumb, relative to the length of the performer's hand: up to the first it is a full pinch,
beyond the second none. For a hand of 190 mm these are 28 and 76 mm; dex-retargeting switches at 30 and 50."""
ROUNDS = 3
"""How often the thumb moves to take over what the fingers cannot reach."""
LEFT = 0.003
"""Relative to the length of the hand: a smaller rest is not taken over."""


@dataclass(frozen=True, slots=True)
class RetargetMode:
    """What is kept, and at which scale."""

    what: KeepChoice = "directions"
    scale: ScaleChoice = "hand"


@dataclass(frozen=True, slots=True, eq=False)
class RetargetedHand:
    """A pose on a character's hand, and its goals. Positions are in m in the wrist's frame."""

    what: KeepChoice
    character: Character
    pose: Pose
    scale: float
    """s"""
    tips: Floats
    """(F, 5, 3) positions of the performer's tips, scaled."""
    pinched: Floats
    """(F, 5) pinch weight w of each finger, 0..1; zero for the thumb."""
    gaps: Floats
    """(F, 5, 3) from the performer's thumb to each tip, scaled."""


def keep(performance: Pose, of: Character, keeping: RetargetMode, targets: Targets | None = None) -> RetargetedHand:
    """Retarget a performance to a character's hand.

    targets: what the performance was solved to, which show the bone directions; None if only the pose is known.
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
    """Ratio of the character's finger lengths to the performer's, from the wrist; of the thumbs without a finger."""
    rows = [DIGITS.index(digit) for digit in of.digits]
    fingers = rows[1:] if rows[0] == 0 and len(rows) > 1 else rows
    return float(np.mean(size(of.hand)[fingers] / size(performance.hand, table)[fingers]))


def _pinches(own: Floats, table: Floats, length: float) -> tuple[Floats, Floats]:
    """Pinch weights (F, 5) and gaps to the thumb (F, 5, 3) in m of a rig's digits, from the tips (F, 5, 3) in m.

    A finger that follows several gets the largest of their weights, and a mean of the gaps of those that pinch.
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
    """A thumb and T fingers that pinch in F frames."""

    character: Character
    rows: list[int]
    """(T,) indices of the fingers."""
    angles: Floats
    """(F, D) rad, to be changed as little as possible."""
    before: Floats
    """(F, 5, 3) m, positions of the tips at these angles."""
    pull: Floats
    """(F, T) pinch weights w."""
    gaps: Floats
    """(F, T, 3) m, wanted vectors from the thumb's tip to the fingers'."""

    def select(self, frames: Ints) -> "_Meeting":
        """Select frames by index."""
        arrays = (self.angles, self.before, self.pull, self.gaps)
        return _Meeting(self.character, self.rows, *(array[frames] for array in arrays))

    def met(self, goal: Floats) -> tuple[Floats, Floats]:
        """Move the thumb's tip to its goal (F, 1, 3) in m and the fingers' tips to it.

        Returns the angles (F, D) in rad, and the next goal of the thumb (F, 1, 3): closer to fingers that cannot reach
        it, and exactly the thumb's position where all can.
        """
        moved = bring_tips(self.character, self.angles, DIGITS[:1], self.before[:, :1], goal)
        there = self.character.tips(moved)[:, :1]
        begun = self.before[:, self.rows]
        places = begun + self.pull[..., None] * (there + self.gaps - begun)
        moved = bring_tips(self.character, moved, [DIGITS[row] for row in self.rows], begun, places)
        left = places - self.character.tips(moved)[:, self.rows]
        length = np.linalg.norm(left, axis=-1, keepdims=True)
        # Fades to zero, so that a frame with one iteration more does not jump relative to its neighbours.
        left *= np.maximum(1.0 - LEFT * self.character.length / np.maximum(length, 1e-300), 0.0)
        return moved, there - self.mean(left)

    def mean(self, ways: Floats) -> Floats:
        """Weighted mean (F, 1, 3) in m of the fingers' offsets e (F, T, 3): Σ w² e / Σ w."""
        total = self.pull.sum(axis=1)[:, None, None]
        asked: Floats = np.einsum("ft,fti->fi", self.pull**2, ways)[:, None] / np.where(total > 0, total, 1.0)
        return asked


def _met(of: Character, angles: Floats, pinched: Floats, gaps: Floats) -> Floats:
    """Move thumb and fingers towards the gaps (F, 5, 3) in m, by their pinch weights (F, 5). Returns angles (F, D)."""
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
