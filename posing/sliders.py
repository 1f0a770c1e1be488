"""Sliders for posing a hand: curl, spread, oppose and cup, read from its joint angles and written to them.

A slider moves some angles of a hand along a path: it gives each angle at the values -1, 0 and 1, with straight lines
between. The value of a hand that is not on the path is that of a weighted sum of its angles, so that a finger bent in a
single joint counts as partly curled. With weights w and the path a(v), the value of angles x is

    v = h⁻¹(w · x),  h(v) = w · a(v)          unique, since h increases: each weight is the span of its angle

Writing another value u moves the angles along the path. Their distance from it, r = x - a(v), is kept as far as the
range between a(-1) and a(1) allows, so that a fist is a fist from every start:

    x' = a(u) + k r,  the greatest k in 0..1 with x' in that range      then w · x' = h(u), since w · r = 0

So reading returns the value that was written, nothing jumps when a slider is touched, and other angles do not move.
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

SliderKind = Literal["curl", "spread", "tip", "oppose", "cup"]
AnglePath = dict[tuple[str, Movement], tuple[float, float, float]]
"""(joint, movement) -> degrees at -1, 0 and 1, increasing or decreasing."""

_THUMB, _INDEX, _MIDDLE, _RING, _PINKY = DIGITS
_CMC, _THUMB_MCP, _IP, _ = CHAIN_JOINTS[_THUMB]
VALUES = np.array([-1.5, -1.0, 0.0, 1.0, 1.5])
"""Values at the knots of a path. The outermost knots are the limits of the angles, beyond the usual range."""
MIN_SPAN = np.deg2rad(4.5)
"""rad. An angle whose path is shorter does not move: locked bones have two degrees of play in each direction."""
MIN_RISE = 1e-9
"""rad², minimum increase of h between two knots; also guards divisions."""


def _curl(digit: str) -> AnglePath:
    """Return the path from bent back through straight to the fist, in which the thumb lies over the fingers."""
    back = dict(zip(CHAIN_JOINTS[digit], (0.0, 0.0, -25.0) if digit == _THUMB else (-30.0, 0.0, -10.0), strict=False))
    return {
        (joint, movement): (back[joint] if movement == "flexion" else 0.0, 0.0, closed)
        for (joint, movement), closed in POSES["fist"].degrees.items()
        if joint in back and (digit == _THUMB or movement == "flexion")
    }


def _abduction(digit: str, together: float, apart: float) -> AnglePath:
    return {(CHAIN_JOINTS[digit][0], "abduction"): (together, 0.0, apart)}


DIGIT_PATHS: dict[tuple[SliderKind, str], AnglePath] = {
    **{("curl", digit): _curl(digit) for digit in DIGITS},
    ("spread", _THUMB): {(_CMC, "abduction"): (-22, 0, 0), (_CMC, "flexion"): (30, 0, -20)},
    ("spread", _INDEX): _abduction(_INDEX, -6, 13),
    ("spread", _MIDDLE): _abduction(_MIDDLE, -10, 10),
    ("spread", _RING): _abduction(_RING, 5, -12),
    ("spread", _PINKY): _abduction(_PINKY, 11, -20),
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
"""The paths of each digit's sliders. The middle finger cannot spread: its slider leans it towards the thumb."""

CUP_PATHS: tuple[tuple[AnglePath, Movement], ...] = (
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
"""Angles that cup a palm: the metacarpals of ring and little finger or, if the palm is rigid, their knuckles, which
flex and twist towards the thumb. Each path comes with the movement from which the value is read: curl flexes a knuckle,
too, but only cup twists it."""

ARCH: AngleLimits = {joint: (low, high) for joint, (low, _, high) in CUP_PATHS[0][0].items()}
"""Limits of the metacarpals that cup the palm, for `MeasuredHand(limits=ARCH)`."""


@dataclass(frozen=True, slots=True)
class Slider:
    """A slider of one digit, or of the whole hand."""

    kind: SliderKind
    digit: str | None = None


SLIDERS = (
    Slider("curl"),
    Slider("spread"),
    *(Slider(kind, digit) for kind, digit in DIGIT_PATHS if kind != "oppose"),
    Slider("oppose"),
    Slider("cup"),
)


@dataclass(frozen=True, eq=False)
class Sliders:
    """The sliders of one hand. Angles are (D,) rad inside its limits."""

    hand: HandModel
    locked: bool = True
    """Whether each DIP joint follows its PIP joint; it then has no slider of its own and is not part of the curl."""

    def moves(self, slider: Slider) -> tuple[int, ...]:
        """Return the degrees of freedom that writing a slider may change; none if the hand lacks the movement."""
        path = self._paths.get(slider)
        if path is None:
            return ()
        followers = [dip for dip, (pip, _) in self._followers.items() if pip in path.dofs]
        return tuple(sorted({*path.dofs.tolist(), *followers}))

    def read(self, angles: Floats, slider: Slider) -> float:
        """Return a slider's value for angles (D,) rad, -1.5..1.5; 0 if the hand lacks the movement."""
        path = self._paths.get(slider)
        return path.value(angles[path.dofs]) if path else 0.0

    def write(self, angles: Floats, slider: Slider, value: float) -> Floats:
        """Return the angles (D,) rad changed so that a slider reads `value`."""
        path = self._paths.get(slider)
        if path is None:
            return angles
        result = angles.copy()
        result[path.dofs] = path.moved(angles[path.dofs], value)
        end = angles.copy()
        end[path.dofs] = path.at(np.copysign(1.0, value - path.value(angles[path.dofs])))
        return self._follow(angles, result, end, path.dofs.tolist())

    def _follow(self, before: Floats, after: Floats, end: Floats, dofs: Collection[int]) -> Floats:
        """Return angles `after` (D,) rad with each DIP joint coupled to its PIP joint again, if the PIP joint is among
        `dofs`.

        A DIP joint that was elsewhere does not jump: it returns by as much as its PIP joint moves, or faster if it
        would otherwise not arrive at `end` (D,) rad, the end of the slider's path.
        """
        result = after.copy()
        for dip, (pip, slope) in self._followers.items():
            if pip in dofs:
                limits = self.hand.limits[dip]
                coupled_before, coupled_after = np.clip(slope * np.array([before[pip], after[pip]]), *limits)
                offset = before[dip] - coupled_before
                moved, room = abs(after[pip] - before[pip]), abs(end[pip] - before[pip])
                remaining = max(abs(offset) - moved * max(1.0, abs(offset) / max(room, MIN_RISE)), 0.0)
                result[dip] = np.clip(coupled_after + np.copysign(remaining, offset), *limits)
        return result

    @cached_property
    def _followers(self) -> dict[int, tuple[int, float]]:
        """Return DIP -> (PIP, ρ) as degrees of freedom, from the couplings θ_dip = ρ θ_pip."""
        followers = {}
        for row in self.hand.couplings if self.locked else ():
            coupled = np.flatnonzero(row.coefficients).tolist()
            if len(coupled) == 2 and row.lower == row.upper == 0.0:
                pip, dip = coupled
                followers[dip] = pip, float(-row.coefficients[pip] / row.coefficients[dip])
        return followers

    @cached_property
    def _paths(self) -> dict[Slider, "_HandPath"]:
        """Return the path of each slider that moves anything on this hand."""
        candidates = {slider: [self._path(*path) for path in _candidate_paths(slider)] for slider in SLIDERS}
        return {slider: next(filter(None, paths)) for slider, paths in candidates.items() if any(paths)}

    def _path(self, path: AnglePath, read_from: Movement | None) -> "_HandPath | None":
        """Return a path within this hand's limits; None if the hand cannot move along it."""
        known = ((self.hand.dof(*joint), ends) for joint, ends in path.items())
        rows = [(dof, ends) for dof, ends in known if dof is not None and dof not in self._followers]
        if not rows:
            return None
        dofs = np.array([dof for dof, _ in rows])
        limits = self.hand.limits[dofs]
        # A rig's fingers may be twisted at rest.
        rest = [self.hand.neutral[dof] if self.hand.movements[dof] == "twist" else 0.0 for dof in dofs]
        ends = np.clip(np.deg2rad([ends for _, ends in rows]).T + rest, *limits.T)
        span = ends[2] - ends[0]
        is_read = [read_from in (None, self.hand.movements[dof]) for dof in dofs]
        moving = np.abs(span) > MIN_SPAN
        if not np.any(moving & is_read):
            return None
        knots = np.stack([np.where(span > 0, *limits.T), *ends, np.where(span > 0, *limits.T[::-1])])[:, moving]
        digits = [self.hand.joints[self.hand.axis_joint[dof]].split("-")[0] for dof in dofs]
        squared_spans = np.array([np.sum(span[[other == digit for other in digits]] ** 2) for digit in digits])
        # The slider of all digits reads their mean: a digit with larger angles does not count more.
        weights = np.where(is_read, span / np.maximum(squared_spans, MIN_RISE), 0.0)[moving]
        rises = np.diff(knots @ weights) > MIN_RISE
        # Leave out knots beyond the rig's limits, but keep zero.
        used = np.array([*rises[:2], True, *rises[2:]])
        return _HandPath(dofs[moving], VALUES[used], knots[used], weights)


@dataclass(frozen=True, slots=True, eq=False)
class _HandPath:
    """The path of a slider for N angles of one hand."""

    dofs: Ints
    """(N,)"""
    values: Floats
    """(K,) ascending"""
    knots: Floats
    """(K, N) rad within the limits, the angles at each value; each column is monotonic."""
    weights: Floats
    """(N,)"""

    def at(self, value: float) -> Floats:
        """Return the angles (N,) rad on the path at a value."""
        return np.array([np.interp(value, self.values, column) for column in self.knots.T])

    def moved(self, angles: Floats, value: float) -> Floats:
        """Return angles (N,) rad moved along the path to a value."""
        offset, goal = angles - self.at(self.value(angles)), self.at(value)
        # The current angles are allowed even if they are outside the range.
        ends = np.vstack([self.knots[np.abs(self.values) <= 1.0], angles])
        room = np.maximum(np.where(offset > 0, ends.max(axis=0) - goal, goal - ends.min(axis=0)), 0.0)
        is_off_path = np.abs(offset) > 1e-12
        fraction = np.min(room[is_off_path] / np.abs(offset[is_off_path]), initial=1.0)
        moved: Floats = goal + fraction * offset
        return moved

    def value(self, angles: Floats) -> float:
        """Return the value of angles (N,) rad."""
        return float(np.interp(self.weights @ angles, self.knots @ self.weights, self.values))


def _candidate_paths(slider: Slider) -> tuple[tuple[AnglePath, Movement | None], ...]:
    """Return a slider's paths; a hand uses the first that it can move along.

    Each comes with the movement from which the value is read; None for all.
    """
    if slider.kind == "cup":
        return CUP_PATHS
    if slider.kind == "oppose":
        return ((DIGIT_PATHS["oppose", _THUMB], None),)
    if slider.digit is not None:
        return ((DIGIT_PATHS[slider.kind, slider.digit], None),)
    digits = [digit for digit in DIGITS if (slider.kind, digit) != ("spread", _MIDDLE)]
    return (({joint: ends for digit in digits for joint, ends in DIGIT_PATHS[slider.kind, digit].items()}, None),)
