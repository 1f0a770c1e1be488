"""Match the motion of another take to the take in which it replaces a range, so that it starts and ends like that take.

The difference of the two at an end of the range, and its rate of change, decay over the blend and are added to the
other motion, as by Bollo (2018, Inertialization: High-performance animation transitions in Gears of War). The take
inside the range, which may be wrong, has no influence.
"""

import numpy as np
from numpy.typing import NDArray

from ....hand import rotations as rot
from ....hand.smoothstep import smoothstep
from ....pipeline.corrections.correction import SAME_TIME, TimeRange

Floats = NDArray[np.float64]

MAX_INITIAL_RATE = 3.0
"""Maximum initial rate of a difference, in multiples of itself per blend, above which its decay would overshoot."""


def matched(taken: Floats, base: Floats, times: Floats, span: TimeRange) -> Floats:
    """Return rotations (F, 4) of another motion at times (F,) s that equal the base's at the ends of a range.

    Both are (F, 4), with a frame before and after the range if there is one: the base's angular velocity there is kept.
    Between the blends, the rotations are the other motion's; an end without a blend is a cut.
    """
    inside = np.flatnonzero(span.contains(times))
    if not len(inside):
        return taken
    lasting = max(span.blend_in + span.blend_out, SAME_TIME)
    maximum = (times[inside[-1]] - times[inside[0]]) / lasting
    result = taken.copy()
    for at, inwards, blend in ((inside[0], 1, span.blend_in), (inside[-1], -1, span.blend_out)):
        seconds = blend * min(maximum, 1.0)
        if seconds > SAME_TIME:
            gap, speed = _difference(taken, base, times, int(at), inwards)
            fast, limit = float(np.linalg.norm(speed)) * seconds, MAX_INITIAL_RATE * float(np.linalg.norm(gap))
            speed *= seconds * min(1.0, limit / max(fast, 1e-12))
            part = np.clip(np.abs(times - times[at]) / seconds, 0.0, 1.0)[:, None]
            offset = gap * (1.0 - smoothstep(part)) + speed * part * (1.0 - part) ** 2
            result = rot.multiply(result, _from_vectors(offset))
    return result


def _difference(taken: Floats, base: Floats, times: Floats, at: int, inwards: int) -> tuple[Floats, Floats]:
    """Return the rotation vector (3,) from taken to base on frame `at`, and its rate of change per second, inwards."""
    gap = _vectors(rot.multiply(rot.conjugate(taken[at]), base[at]))
    speed, before, after = np.zeros(3), at - inwards, at + inwards
    if 0 <= before < len(times) and 0 <= after < len(times):
        step, next_step = abs(times[at] - times[before]), abs(times[after] - times[at])
        step_vectors = _vectors(rot.multiply(rot.conjugate(taken[at]), taken[after]))
        earlier = rot.multiply(taken[at], _from_vectors(-step_vectors * step / next_step))
        speed = (gap - _vectors(rot.multiply(rot.conjugate(earlier), base[before]))) / step
    return gap, speed


def _vectors(q: Floats) -> Floats:
    """Return the rotation vectors (..., 3), of at most π rad, of unit quaternions (..., 4)."""
    q = np.where(q[..., :1] < 0, -q, q)
    sine = np.linalg.norm(q[..., 1:], axis=-1, keepdims=True)
    angle = 2.0 * np.arctan2(sine, q[..., :1])
    return np.asarray(np.where(sine > 1e-9, angle / np.maximum(sine, 1e-9), 2.0) * q[..., 1:])


def _from_vectors(vectors: Floats) -> Floats:
    """Return the unit quaternions (..., 4) of rotation vectors (..., 3) rad."""
    angle = np.linalg.norm(vectors, axis=-1)
    return rot.from_axis_angle(vectors / np.maximum(angle, 1e-12)[..., None], angle)
