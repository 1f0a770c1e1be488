"""How a path is taken to move: its jerk is white noise (a Wiener process integrated twice), its samples are noisy.

A path's samples are vectors of any width: 3 for places, 4 for rotations as unit quaternions. Filters treat the
components alike, so that turning all samples turns the filtered path and nothing else; quaternions are turned by a
rotation on either side as vectors are, and stay unit but for what a chord is shorter than its arc.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

ORDER = 3
"""Place, velocity, acceleration."""
SHORTEST, LONGEST = 1e-4, 0.5
"""s: steps of time are taken as at least and at most this long; over a longer one nothing is carried."""


@dataclass(frozen=True, slots=True)
class MotionScale:
    """What is small and what is fast for a kind of sample, in its own unit."""

    noise: float
    """Standard deviation of a component before anything is known of it."""
    floor: float
    """The least standard deviation: no device is better."""
    acceleration: float
    """Per s²: what a path may do between two samples without being taken for an outlier."""
    speed: float
    """Per s: what a path that has just begun may do."""


PLACES = MotionScale(noise=5e-4, floor=1e-5, acceleration=50.0, speed=5.0)
"""m. A fingertip that taps is stopped at about 50 m/s²; cleaning counts with the same."""
TURNS = MotionScale(noise=0.01, floor=5e-5, acceleration=500.0, speed=20.0)
"""Of unit quaternions, which go half as far as the angle: 0.02 rad, 1e-4 rad, 1000 rad/s² (5 cm: 50 m/s²), 40 rad/s."""


@dataclass(frozen=True, slots=True)
class NoiseRules:
    """How paths are told from noise and outliers."""

    scale: MotionScale
    bridge: float
    """s for which a path that is not seen goes on."""
    calm: float = 1.0
    """In whole takes: divides the bandwidth that the samples tell."""
    memory: float = 0.1
    """s: how fast a path moves is told by its samples so far around, or so far back."""
    deviations: float = 5.5
    """Standard deviations of noise from where a path was to be, beyond which a sample is an outlier: of normal noise
    one in 30 million is."""
    patience: int = 2
    """Outliers in a row that are refused; the next is where the path is now."""


def transition(dt: Floats) -> tuple[Floats, Floats]:
    """A and Q (..., 3, 3) over steps of dt (...) s: x' = A x + w, w of covariance Q for white jerk of intensity 1.

    Bar-Shalom, Li & Kirubarajan, Estimation with Applications to Tracking and Navigation (2001), 6.2.3, one order up.
    """
    powers = dt[..., None, None]
    return _A * powers**_A_POWERS, _Q * powers**_Q_POWERS


_ROW, _COLUMN = np.indices((ORDER, ORDER))
_FACTORIAL = np.array([1.0, 1.0, 2.0])
_A_POWERS = np.maximum(_COLUMN - _ROW, 0)
_A: Floats = np.triu(1 / _FACTORIAL[_A_POWERS])
_Q_POWERS = 2 * ORDER - 1 - _ROW - _COLUMN
_Q: Floats = 1 / (_Q_POWERS * _FACTORIAL[2 - _ROW] * _FACTORIAL[2 - _COLUMN])


def steps_of(times: Floats) -> Floats:
    """(F,) s from the sample before, within SHORTEST and LONGEST; the first is SHORTEST."""
    return np.clip(np.diff(times, prepend=times[:1]), SHORTEST, LONGEST)


def intensity(bandwidth: Floats) -> Floats:
    """The jerk's intensity over the noise's variance, per s⁵, for which a smoother passes motion up to `bandwidth` Hz.

    It passes half at ω⁶ = intensity / (variance · step): here for samples 10 ms apart; at other rates a little more
    or less, by the sixth root of the rate.
    """
    ratio: Floats = (2 * np.pi * bandwidth) ** (2 * ORDER) * 0.01
    return ratio
