"""Motion model of a path: white noise jerk (a Wiener process acceleration) and noisy samples.

Samples are vectors: 3 components for positions, 4 for rotations as unit quaternions. Filters treat all components
alike, so filtering commutes with rotations. Multiplying quaternions by a rotation from either side rotates them as
vectors; filtered quaternions are shorter than one only as a chord is shorter than its arc.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

ORDER = 3
"""Position, velocity, acceleration."""
MIN_STEP, MAX_STEP = 1e-4, 0.5
"""s, time steps are clipped to this range."""


@dataclass(frozen=True, slots=True)
class MotionScale:
    """Magnitudes of noise and motion for a kind of sample, in its unit."""

    noise: float
    """Initial standard deviation of a component."""
    floor: float
    """Minimum standard deviation of a component."""
    acceleration: float
    """Per s², greatest acceleration between two samples; beyond it a sample is an outlier."""
    speed: float
    """Per s, greatest speed of a path that has just started."""


POSITION_SCALE = MotionScale(noise=5e-4, floor=1e-5, acceleration=50.0, speed=5.0)
"""m. A tapping fingertip is stopped at about 50 m/s²; capture.cleaning uses the same value."""
ROTATION_SCALE = MotionScale(noise=0.01, floor=5e-5, acceleration=500.0, speed=20.0)
"""Unit quaternions, which change by half the angle: 0.02 rad, 1e-4 rad, 1000 rad/s² (50 m/s² at 5 cm), 40 rad/s."""


@dataclass(frozen=True, slots=True)
class NoiseRules:
    """Rules by which noise and outliers are distinguished from motion."""

    scale: MotionScale
    bridge: float
    """s for which an unseen path continues."""
    calm: float = 1.0
    """Divides the estimated bandwidth; used for whole takes."""
    memory: float = 0.1
    """s, time around a frame, or before it when live, whose samples determine the bandwidth."""
    deviations: float = 5.5
    """Standard deviations from the prediction beyond which a sample is an outlier: one in 30 million for normal
    noise."""
    patience: int = 2
    """Number of consecutive outliers that are rejected; the path restarts at the next one."""


def transition(dt: Floats) -> tuple[Floats, Floats]:
    """Return A and Q (..., 3, 3) for time steps dt (...) s: x' = A x + w, w of covariance Q, white jerk of intensity 1.

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
    """Return the time steps (F,) s, clipped to MIN_STEP and MAX_STEP; the first is MIN_STEP."""
    return np.clip(np.diff(times, prepend=times[:1]), MIN_STEP, MAX_STEP)


def intensity(bandwidth: Floats) -> Floats:
    """Return the jerk's intensity over the noise's variance, per s⁵, for a smoother of this bandwidth, Hz.

    Its gain is one half at ω⁶ = intensity / (variance · step), here for samples 10 ms apart; the bandwidth varies with
    the sixth root of the sampling rate.
    """
    ratio: Floats = (2 * np.pi * bandwidth) ** (2 * ORDER) * 0.01
    return ratio
