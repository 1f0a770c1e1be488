"""A correction: a range of a take, its weight at each time, and what it changes.

Times are seconds on the capture's clock, which does not depend on the start frame, frame rate or rig. Corrections are
applied in the order of their list: each changes the result of those before it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...hand.joints import CHAIN_JOINTS, DIGITS, Side, digit_of
from ...hand.poses import NamedPose
from ...hand.smoothstep import smoothstep

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

Kind = Literal["difference", "pose", "motion", "contact", "object", "hide", "swap", "solve"]

PALM = "palm"
"""Name of the part of a hand that is not a digit."""
SAME_TIME = 1e-5
"""s, tolerance at the ends of a range, since times are rounded."""


@dataclass(frozen=True, slots=True)
class TimeRange:
    """A range of a take, ends included, and the durations of the blends inside it."""

    start: float
    end: float
    blend_in: float = 0.0
    blend_out: float = 0.0

    @property
    def full_start(self) -> float:
        """s, end of the blend in."""
        return self.start + self.blend_in

    @property
    def full_end(self) -> float:
        """s, start of the blend out."""
        return self.end - self.blend_out

    def contains(self, times: ArrayLike) -> Bools:
        """Return (F,) whether times (F,) s are in the range."""
        seconds = np.asarray(times, float)
        return np.asarray((seconds >= self.start - SAME_TIME) & (seconds <= self.end + SAME_TIME))

    def weights(self, times: ArrayLike) -> Floats:
        """Return the weight (F,) 0..1 at times (F,): 0 outside, and smooth over the blends."""
        seconds = np.asarray(times, float)
        weights = np.where(self.contains(seconds), 1.0, 0.0)
        if self.blend_in > SAME_TIME:
            weights = np.minimum(weights, smoothstep((seconds - self.start) / self.blend_in))
        if self.blend_out > SAME_TIME:
            weights = np.minimum(weights, smoothstep((self.end - seconds) / self.blend_out))
        return weights


@dataclass(frozen=True, slots=True, eq=False)
class PoseDifference:
    """A pose relative to the take's pose, as rotations that apply to any take and any rig."""

    rotations: Mapping[str, Floats]
    """joint -> (4,) unit quaternion wxyz on top of the joint's rotation, in the joint's own frame."""

    @property
    def joints(self) -> tuple[str, ...]:
        """The joints that it rotates."""
        return tuple(self.rotations)


@dataclass(frozen=True, slots=True, eq=False)
class PoseToHold:
    """A named pose for digits."""

    pose: str | NamedPose
    """The name of one of Knuckle's poses, or of a saved one."""
    digits: tuple[str, ...] = DIGITS

    @property
    def joints(self) -> tuple[str, ...]:
        """The joints of its digits that bend."""
        return tuple(joint for digit in self.digits for joint in CHAIN_JOINTS[digit])


@dataclass(frozen=True, slots=True, eq=False)
class TakenMotion:
    """The motion of digits in another take, kept as samples, so that it outlasts that take."""

    times: Floats
    """(N,) s on the clock of the take that is corrected, increasing."""
    rotations: Mapping[str, Floats]
    """joint -> (N, 4) unit quaternions wxyz relative to the wrist."""
    source: str = ""
    """Name of the other take."""

    @property
    def joints(self) -> tuple[str, ...]:
        """The joints that it moves."""
        return tuple(self.rotations)


@dataclass(frozen=True, slots=True, eq=False)
class HeldTouch:
    """A contact that is held: a fingertip on another digit or on the palm.

    The contact's position is relative to their bones, so that it is the same for hands of any size and proportions.
    """

    bones: tuple[str, str]
    """The joints at which two bones begin: the digit's last bone and the bone that it touches. A metacarpal means the
    palm."""
    shares: tuple[float, float]
    """Positions along the two bones, 0..1."""
    direction: Floats
    """(3,) unit, from the second bone to the first, in the frame of the second one's joint."""

    @property
    def parts(self) -> tuple[str, str]:
        """The digit, and the other one, or palm."""
        first, second = (PALM if is_palm(bone) else str(digit_of(bone)) for bone in self.bones)
        return first, second

    @property
    def digits(self) -> tuple[str, ...]:
        """The digits among its parts."""
        return tuple(part for part in self.parts if part != PALM)

    @property
    def joints(self) -> tuple[str, ...]:
        """The joints of its digits that bend."""
        return tuple(joint for digit in self.digits for joint in CHAIN_JOINTS[digit])


def is_palm(joint: str) -> bool:
    """Return whether the bone that begins at a joint is part of the palm."""
    return joint.endswith("metacarpal") and not joint.startswith("thumb")


@dataclass(frozen=True, slots=True, eq=False)
class ObjectPoint:
    """A point at which a fingertip touches an object."""

    digit: str
    place: Floats
    """(3,) position on the object's surface, in the object's coordinates."""
    direction: Floats
    """(3,) unit, direction in which the touching skin of the tip is farthest, in the frame of the digit's last
    joint."""


@dataclass(frozen=True, slots=True, eq=False)
class PalmPlace:
    """The pose of the wrist relative to an object on which the palm rests."""

    place: Floats
    """(3,) position in the object's coordinates."""
    turn: Floats
    """(4,) unit quaternion wxyz, the wrist's rotation relative to the object's axes."""


@dataclass(frozen=True, slots=True, eq=False)
class HeldOnObject:
    """A palm that rests on an object of the scene, and fingertips that stay at points of its surface."""

    object: str
    """Name of the object."""
    points: tuple[ObjectPoint, ...]
    """Contact points of fingertips; may be empty if the palm rests on the object."""
    palm: PalmPlace | None = None
    """None leaves the wrist where the take has it."""

    @property
    def digits(self) -> tuple[str, ...]:
        """The digits whose tips are held."""
        return tuple(point.digit for point in self.points)

    @property
    def joints(self) -> tuple[str, ...]:
        """The joints that move: those of its digits that bend.

        With a palm also the wrist and the joints of all digits, which are kept out of the object.
        """
        digits = self.digits if self.palm is None else DIGITS
        bending = tuple(joint for digit in digits for joint in CHAIN_JOINTS[digit])
        return bending if self.palm is None else ("wrist", *bending)


@dataclass(frozen=True, slots=True)
class HiddenMarkers:
    """Markers to ignore, because they are wrong or have another marker's label."""

    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SwappedLabels:
    """Two markers that have each other's labels."""

    labels: tuple[str, str]


@dataclass(frozen=True, slots=True)
class OtherMethods:
    """Another solver and smoothing."""

    solver: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    smoothing: str = "off"
    smoothing_settings: Mapping[str, Any] = field(default_factory=dict)


PoseChange = PoseDifference | PoseToHold | TakenMotion | HeldTouch | HeldOnObject
ContactChange = HeldTouch | HeldOnObject
SolveChange = HiddenMarkers | SwappedLabels | OtherMethods
Change = PoseChange | SolveChange
KINDS: dict[Kind, type[Change]] = {
    "difference": PoseDifference,
    "pose": PoseToHold,
    "motion": TakenMotion,
    "contact": HeldTouch,
    "object": HeldOnObject,
    "hide": HiddenMarkers,
    "swap": SwappedLabels,
    "solve": OtherMethods,
}


@dataclass(frozen=True, slots=True, eq=False)
class Correction:
    """A change of one hand over a range of a take."""

    id: str
    """Unique id in the take."""
    name: str
    hand: Side
    """The hand that is keyed. In a mirrored take it is not on the performer's side."""
    range: TimeRange
    change: Change
    factor: float = 1.0
    """0..1, factor on the correction's weight."""
    factor_keys: tuple[tuple[float, float], ...] = ()
    """Keys (time in s, factor), interpolated linearly and constant outside. They replace `factor`."""
    muted: bool = False
    locked: bool = False
    """Whether the panel protects it from changes."""

    @property
    def kind(self) -> Kind:
        """Kind of the change."""
        return next(kind for kind, of_kind in KINDS.items() if isinstance(self.change, of_kind))

    @property
    def is_before_solving(self) -> bool:
        """Whether it changes the solve, rather than the solved result."""
        return isinstance(self.change, SolveChange)

    @property
    def counts(self) -> bool:
        """Whether it has an effect: it is not muted, and its factor is above 0 somewhere."""
        return not self.muted and any(factor for _, factor in self.factor_keys or ((0.0, self.factor),))

    @property
    def digits(self) -> tuple[str, ...]:
        """The digits that it moves; all of them if it changes the solve."""
        if not isinstance(self.change, PoseChange):
            return DIGITS
        moving_digits = {digit_of(joint) for joint in self.change.joints}
        return tuple(digit for digit in DIGITS if digit in moving_digits)

    def weights(self, times: ArrayLike) -> Floats:
        """Return its weight, (F,) 0..1, at times (F,) s; 0 everywhere while it is muted.

        The weight of motion taken from another take is 1 in the whole range: the motion is matched to the ends instead.
        """
        is_matched = isinstance(self.change, TakenMotion)
        span = TimeRange(self.range.start, self.range.end) if is_matched else self.range
        return span.weights(times) * self.factors(times)

    def factors(self, times: ArrayLike) -> Floats:
        """Return its factor (F,) 0..1 at times (F,) s; 0 everywhere while it is muted."""
        seconds = np.asarray(times, float)
        if self.muted:
            return np.zeros(seconds.shape)
        factors: Floats | float = self.factor
        if self.factor_keys:
            keyed, values = zip(*self.factor_keys, strict=True)
            factors = np.interp(seconds, keyed, values)
        return np.broadcast_to(factors, seconds.shape)
