"""The hand's volume as an implicit surface: limbs of varying cross-section, blended into each other.

A limb is a straight axis with a profile: at each station along it, a half-width to its sides, and a height above and
below the axis. Distances are measured radially from the axis: exact on the surface, and near it accurate enough for
blending and projection.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

PROFILE_SAMPLES = 160
"""Number of samples of a profile: 1 mm apart on a long limb."""

TIP_POWER = 2.2
"""Exponent of a rounded end's outline, which is a superellipse like the sections."""


def smooth_curve(knots: ArrayLike, values: Floats, positions: ArrayLike) -> Floats:
    """Interpolate values (K, ...) at ascending knots (K,) to positions (N,), by a monotone piecewise cubic.

    Slopes by Fritsch & Butland (1984): the weighted harmonic mean of the neighbours, 0 at a turning point.
    """
    x = np.asarray(knots, float)
    clamped = np.clip(np.asarray(positions, float), x[0], x[-1])
    step = np.diff(x)
    width = step.reshape(-1, *[1] * (values.ndim - 1))
    slope = np.diff(values, axis=0) / width
    left_slope, right_slope = slope[:-1], slope[1:]
    w1, w2 = 2 * width[1:] + width[:-1], width[1:] + 2 * width[:-1]
    is_monotone = left_slope * right_slope > 0
    safe_left, safe_right = np.where(is_monotone, left_slope, 1.0), np.where(is_monotone, right_slope, 1.0)
    inner_tangents = np.where(is_monotone, (w1 + w2) / (w1 / safe_left + w2 / safe_right), 0.0)
    tangent = np.concatenate([slope[:1], inner_tangents, slope[-1:]])
    i = np.clip(np.searchsorted(x, clamped, side="right") - 1, 0, len(x) - 2)
    h = width[i]
    t = ((clamped - x[i]) / step[i]).reshape(h.shape)
    return np.asarray(
        values[i] * (1 + 2 * t) * (1 - t) ** 2
        + values[i + 1] * t * t * (3 - 2 * t)
        + h * (tangent[i] * t * (1 - t) ** 2 - tangent[i + 1] * t * t * (1 - t))
    )


@dataclass(frozen=True, slots=True, eq=False)
class Limb:
    """A straight part of the hand. Lengths in m."""

    frame: Floats
    """(4, 4) the limb's axis is the frame's Y, its back faces Z."""
    start: float
    end: float
    profile: Floats
    """(PROFILE_SAMPLES, 5) evenly from start to end: half-width, height above, depth below, centre in x and z."""
    power: float
    """Exponent of the cross-section |x|^power + |z|^power = 1: 2 is an ellipse, more is squarer."""
    back_power: float
    """Exponent for the half above the axis."""
    tip_length: float = 0.0
    """Length in m over which the end is rounded off; 0 leaves it flat."""

    @classmethod
    def from_stations(
        cls,
        frame: Floats,
        stations: ArrayLike,
        profile: Floats,
        power: float,
        *,
        back_power: float | None = None,
        tip_length: float = 0,
    ) -> "Limb":
        """Build a limb whose profile (K, 3..5) is given at stations (K,) m along its axis."""
        stations = np.asarray(stations, float)
        five_columns = np.zeros((len(stations), 5))
        five_columns[:, : profile.shape[1]] = profile
        even_stations = np.linspace(stations[0], stations[-1], PROFILE_SAMPLES)
        sampled = smooth_curve(stations, five_columns, even_stations)
        return cls(
            frame, float(even_stations[0]), float(even_stations[-1]), sampled, power, back_power or power, tip_length
        )

    def profile_at(self, y: Floats) -> Floats:
        """Interpolate the profile (N, 5) at (N,) m along the axis, constant beyond its ends."""
        sample = np.clip((y - self.start) / (self.end - self.start), 0, 1) * (PROFILE_SAMPLES - 1)
        i = np.minimum(sample.astype(np.int64), PROFILE_SAMPLES - 2)
        t = (sample - i)[:, None]
        result: Floats = self.profile[i] * (1 - t) + self.profile[i + 1] * t
        return result

    def to_local(self, points: Floats) -> Floats:
        """Transform points (N, 3) from the world into the limb's frame."""
        local: Floats = (points - self.frame[:3, 3]) @ self.frame[:3, :3]
        return local

    def to_world(self, points: Floats) -> Floats:
        """Transform points (..., 3) from the limb's frame into the world."""
        world: Floats = points @ self.frame[:3, :3].T + self.frame[:3, 3]
        return world

    def section_points(self, y: Floats, angle: Floats) -> Floats:
        """Return surface points (N, 3) in the limb's frame at y (N,) m and angle (N,) rad, from X towards the back."""
        w, up, down, cx, cz = self.profile_at(y).T
        c, s = np.cos(angle), np.sin(angle)
        height = np.where(s > 0, up, down)
        power = np.where(s > 0, self.back_power, self.power)
        radius = (np.abs(c) ** power + np.abs(s) ** power) ** (-1 / power)
        return np.stack([cx + w * radius * c, y, cz + height * radius * s], -1)

    def taper(self, y: Floats) -> Floats:
        """Return the factor (N,) on the section at y (N,) m by the rounded tip: 1 before the tip, 0 at its end."""
        if not self.tip_length:
            return np.ones_like(y)
        along = np.clip((y - self.end + self.tip_length) / self.tip_length, 0, 1)
        return np.asarray(np.maximum(1 - along**TIP_POWER, 0) ** (1 / TIP_POWER))

    def surface_points(self, y: Floats, angle: Floats) -> Floats:
        """Return world points (N, 3) on the limb, with its rounded end."""
        local = self.section_points(y, angle)
        middle = self.profile_at(y)[:, 3:5]
        local[:, [0, 2]] = middle + (local[:, [0, 2]] - middle) * self.taper(y)[:, None]
        return self.to_world(local)

    def distance(self, points: Floats) -> Floats:
        """Return the signed distance (N,) m, negative inside."""
        x, y, z = self.to_local(points).T
        w, up, down, cx, cz = self.profile_at(y).T
        x, z = x - cx, z - cz
        power = np.where(z > 0, self.back_power, self.power)
        q = ((np.abs(x) / w) ** power + (np.abs(z) / np.where(z > 0, up, down)) ** power) ** (1 / power)
        beyond_ends = np.maximum(np.maximum(self.start - y, y - self.end), 0)
        return np.asarray(np.hypot(x, z) * (1 - 1 / np.maximum(q, 1e-6)) + beyond_ends)


def smooth_union(a: Floats, b: Floats, width: ArrayLike) -> Floats:
    """Return the union (N,) of signed distances, filleted where they differ by less than `width` m (quadratic smooth
    minimum)."""
    wide = np.maximum(np.asarray(width, float), 1e-9)
    h = np.maximum(wide - np.abs(a - b), 0) / wide
    return np.asarray(np.minimum(a, b) - h * h * wide / 4)
