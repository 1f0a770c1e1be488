"""What an artist says of a hand, as numbers that are read of its angles and written to them: curl, spread, oppose, cup.

A slider speaks of some angles of a hand and has a way for them: where each is at −1, at 0 and at 1, straight between.
How far a hand is on the way is told by a weighted sum of the angles, so that a finger that is bent in one joint only is
half closed as well. With weights w and the way a(v), the value of angles x is

    v = h⁻¹(w · x),  h(v) = w · a(v)          one v, since h rises: each w is how far its angle goes on the way

and another value u moves them along the way. How they stood beside it, r = x − a(v), stays as far as there is room for
it between a(−1) and a(1), so that a fist is a fist wherever it began:

    x' = a(u) + k r,  the greatest k in 0..1 with x' in there           then w · x' = h(u), since w · r = 0

What is written is thus what is read again, nothing jumps where a slider is touched, and angles of which a slider does
not speak do not move.
"""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..hand.joints import CHAIN_JOINTS, DIGITS
from ..hand.limits import AngleLimits
from ..hand.model import HandModel, Movement
from ..hand.poses import POSES

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

Word = Literal["curl", "spread", "tip", "oppose", "cup"]
Way = dict[tuple[str, Movement], tuple[float, float, float]]
"""(joint, movement) -> degrees at −1, 0 and 1; each goes one way."""


_THUMB, _INDEX, _MIDDLE, _RING, _PINKY = DIGITS
_CMC, _THUMB_MCP, _IP, _ = CHAIN_JOINTS[_THUMB]
VALUES = np.array([-1.5, -1.0, 0.0, 1.0, 1.5])
"""Ways end at the limits of their angles: a hand can stand further than its sliders usually go."""
STILL = np.deg2rad(4.5)
"""What moves by less on its whole way does not move: bones that are locked have a play of two degrees either way."""
RISING = 1e-9


def _curl(digit: str) -> Way:
    """From bent back over straight to a fist, in which the thumb goes over the fingers by itself."""
    back = dict(zip(CHAIN_JOINTS[digit], (0.0, 0.0, -25.0) if digit == _THUMB else (-30.0, 0.0, -10.0), strict=False))
    return {
        (joint, movement): (back[joint] if movement == "flexion" else 0.0, 0.0, closed)
        for (joint, movement), closed in POSES["fist"].degrees.items()
        if joint in back and (digit == _THUMB or movement == "flexion")
    }


def _lean(digit: str, together: float, apart: float) -> Way:
    return {(CHAIN_JOINTS[digit][0], "abduction"): (together, 0.0, apart)}


WAYS: dict[tuple[Word, str], Way] = {
    **{("curl", digit): _curl(digit) for digit in DIGITS},
    ("spread", _THUMB): {(_CMC, "abduction"): (-22, 0, 0), (_CMC, "flexion"): (30, 0, -20)},
    ("spread", _INDEX): _lean(_INDEX, -6, 13),
    ("spread", _MIDDLE): _lean(_MIDDLE, -10, 10),
    ("spread", _RING): _lean(_RING, 5, -12),
    ("spread", _PINKY): _lean(_PINKY, 11, -20),
    ("tip", _THUMB): {(_IP, "flexion"): (-25, 0, 70)},
    **{("tip", digit): {(CHAIN_JOINTS[digit][2], "flexion"): (-15, 0, 70)} for digit in DIGITS[1:]},
    ("oppose", _THUMB): {
        (_CMC, "abduction"): (-35, 0, 8),
        (_CMC, "twist"): (-15, 0, 20),
        (_CMC, "flexion"): (-5, 0, 35),
        (_THUMB_MCP, "flexion"): (0, 0, 45),
        (_IP, "flexion"): (0, 0, 15),
    },
}
"""The sliders of a digit. The middle finger has no side to spread to: its slider leans it to the thumb."""

CUPS: tuple[tuple[Way, Movement], ...] = (
    ({(f"{_RING}-metacarpal", "flexion"): (-4, 0, 10), (f"{_PINKY}-metacarpal", "flexion"): (-8, 0, 22)}, "flexion"),
    (
        {
            (CHAIN_JOINTS[_RING][0], "twist"): (-4, 0, 8),
            (CHAIN_JOINTS[_RING][0], "flexion"): (-5, 0, 14),
            (CHAIN_JOINTS[_PINKY][0], "twist"): (-6, 0, 14),
            (CHAIN_JOINTS[_PINKY][0], "flexion"): (-10, 0, 28),
        },
        "twist",
    ),
)
"""How a palm becomes hollow: by the metacarpals of ring and little finger, and on a hand whose palm is of one piece by
their knuckles, which bend and turn to the thumb. With each the movement that tells how far: a knuckle is bent by a curl
as well, and turned by a cup alone."""

ARCH: AngleLimits = {joint: (low, high) for joint, (low, _, high) in CUPS[0][0].items()}
"""What a hand with such metacarpals is given as further limits, `MeasuredHand(limits=ARCH)`."""


@dataclass(frozen=True, slots=True)
class Slider:
    """A word for a digit, or for the whole hand."""

    word: Word
    digit: str | None = None


SLIDERS = (
    Slider("curl"),
    Slider("spread"),
    *(Slider(word, digit) for word, digit in WAYS if word != "oppose"),
    Slider("oppose"),
    Slider("cup"),
)


@dataclass(frozen=True, eq=False)
class Sliders:
    """The sliders of one hand. Angles are (D,) rad inside its limits."""

    hand: HandModel
    locked: bool = True
    """Whether the last joint of a finger follows its middle one: then it has no slider, and is no part of its curl."""

    def moves(self, slider: Slider) -> tuple[int, ...]:
        """The angles that writing a slider may change; none where the hand cannot do what it says."""
        path = self._paths.get(slider)
        if path is None:
            return ()
        after = [last for last, (middle, _) in self._followers.items() if middle in path.dofs]
        return tuple(sorted({*path.dofs.tolist(), *after}))

    def read(self, angles: Floats, slider: Slider) -> float:
        """Where a hand stands by a slider, −1.5..1.5; 0 where it cannot do what it says."""
        path = self._paths.get(slider)
        return path.value(angles[path.dofs]) if path else 0.0

    def write(self, angles: Floats, slider: Slider, value: float) -> Floats:
        """(D,) rad, a hand brought to where a slider reads `value`."""
        path = self._paths.get(slider)
        if path is None:
            return angles
        result = angles.copy()
        result[path.dofs] = path.moved(angles[path.dofs], value)
        end = angles.copy()
        end[path.dofs] = path.at(np.copysign(1.0, value - path.value(angles[path.dofs])))
        return self._followed(angles, result, end, path.dofs.tolist())

    def _followed(self, before: Floats, after: Floats, end: Floats, dofs: Collection[int]) -> Floats:
        """(D,) rad, with the last joints where their middle ones, if those are among `dofs`, want them. One that stood
        elsewhere comes there as its middle one moves, so that it does not leap: as fast as that, or faster where it
        would not be there at the end (D,) of the way.
        """
        result = after.copy()
        for last, (middle, slope) in self._followers.items():
            if middle in dofs:
                limits = self.hand.limits[last]
                wanted, now = np.clip(slope * np.array([before[middle], after[middle]]), *limits)
                astray = before[last] - wanted
                moved, room = abs(after[middle] - before[middle]), abs(end[middle] - before[middle])
                left = max(abs(astray) - moved * max(1.0, abs(astray) / max(room, RISING)), 0.0)
                result[last] = np.clip(now + np.copysign(left, astray), *limits)
        return result

    @cached_property
    def _followers(self) -> dict[int, tuple[int, float]]:
        """Last joint -> the middle one that it follows, and by how much: of the couplings θ_dip = ρ θ_pip."""
        found = {}
        for row in self.hand.couplings if self.locked else ():
            coupled = np.flatnonzero(row.coefficients).tolist()
            if len(coupled) == 2 and row.lower == row.upper == 0.0:
                middle, last = coupled
                found[last] = middle, float(-row.coefficients[middle] / row.coefficients[last])
        return found

    @cached_property
    def _paths(self) -> dict[Slider, "_Path"]:
        """Of the sliders that move anything."""
        found = {slider: [self._path(*way) for way in _ways(slider)] for slider in SLIDERS}
        return {slider: next(filter(None, paths)) for slider, paths in found.items() if any(paths)}

    def _path(self, way: Way, told_by: Movement | None) -> "_Path | None":
        known = ((self.hand.dof(*joint), ends) for joint, ends in way.items())
        rows = [(dof, ends) for dof, ends in known if dof is not None and dof not in self._followers]
        if not rows:
            return None
        dofs = np.array([dof for dof, _ in rows])
        limits = self.hand.limits[dofs]
        # How a rig's fingers are twisted at rest says nothing.
        built = [self.hand.neutral[dof] if self.hand.movements[dof] == "twist" else 0.0 for dof in dofs]
        ends = np.clip(np.deg2rad([ends for _, ends in rows]).T + built, *limits.T)
        span = ends[2] - ends[0]
        tells = [told_by in (None, self.hand.movements[dof]) for dof in dofs]
        moving = np.abs(span) > STILL
        if not np.any(moving & tells):
            return None
        knots = np.stack([np.where(span > 0, *limits.T), *ends, np.where(span > 0, *limits.T[::-1])])[:, moving]
        digits = [self.hand.joints[self.hand.axis_joint[dof]].split("-")[0] for dof in dofs]
        each = np.array([np.sum(span[[own == digit for own in digits]] ** 2) for digit in digits])
        # The slider of all digits is about the mean of theirs: one that moves by larger angles counts no more.
        weights = np.where(tells, span / np.maximum(each, RISING), 0.0)[moving]
        rises = np.diff(knots @ weights) > RISING
        # What a rig leaves no room for is no part of the way; zero always is.
        there = np.array([*rises[:2], True, *rises[2:]])
        return _Path(dofs[moving], VALUES[there], knots[there], weights)


@dataclass(frozen=True, slots=True, eq=False)
class _Path:
    """The way of a slider for N angles of one hand."""

    dofs: Ints
    """(N,)"""
    values: Floats
    """(K,) ascending"""
    knots: Floats
    """(K, N) rad inside the limits, where each value is; every angle goes one way."""
    weights: Floats
    """(N,)"""

    def at(self, value: float) -> Floats:
        """(N,) rad"""
        return np.array([np.interp(value, self.values, column) for column in self.knots.T])

    def moved(self, angles: Floats, value: float) -> Floats:
        """(N,) rad, angles (N,) brought to a value along the way."""
        beside, goal = angles - self.at(self.value(angles)), self.at(value)
        # Where it stands already there is room as well.
        ends = np.vstack([self.knots[np.abs(self.values) <= 1.0], angles])
        room = np.maximum(np.where(beside > 0, ends.max(axis=0) - goal, goal - ends.min(axis=0)), 0.0)
        apart = np.abs(beside) > 1e-12
        kept = np.min(room[apart] / np.abs(beside[apart]), initial=1.0)
        moved: Floats = goal + kept * beside
        return moved

    def value(self, angles: Floats) -> float:
        """Of angles (N,)."""
        return float(np.interp(self.weights @ angles, self.knots @ self.weights, self.values))


def _ways(slider: Slider) -> tuple[tuple[Way, Movement | None], ...]:
    """The first of these that a hand can go is its slider's; with each the movement that tells its value, None: all."""
    if slider.word == "cup":
        return CUPS
    if slider.word == "oppose":
        return ((WAYS["oppose", _THUMB], None),)
    if slider.digit is not None:
        return ((WAYS[slider.word, slider.digit], None),)
    digits = [digit for digit in DIGITS if (slider.word, digit) != ("spread", _MIDDLE)]
    return (({joint: ends for digit in digits for joint, ends in WAYS[slider.word, digit].items()}, None),)
