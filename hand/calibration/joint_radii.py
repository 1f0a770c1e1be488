"""Radii of the joints, half a finger's thickness: from markers on the skin, or from the hand's size.

The thesis (4.2.1) measures the thickness with a caliper. Its circular joint (4.4) can also be inverted: between markers
on the back of a finger, a bent joint inserts the hidden link d = 2 r sin(θ/2), at an angle of θ/2 to the bone before it
(4.7). The markers' positions in the finger's plane thus determine bone lengths, radii and, in each frame, joint angles.
A marker over a joint is assumed to stay in the middle of the joint's arc; the one over the knuckle is fixed to the
palm.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..joints import CHAIN_JOINTS, DIGITS
from ..marker_sets import Spot
from ..measurements import Measure, jackknife, kept
from ..mesh.anatomy import FINGER, THICKNESS, THUMB
from ..proportions import Proportions, adult
from .marker_angles import PlanarMarkers, flexions, in_plane

Floats = NDArray[np.float64]
Numbers = NDArray[Any]
"""Real numbers, or complex ones for complex-step derivatives."""

MOST_FRAMES = 200
"""Frames that the radii are fitted to; more do not improve them."""
LEAST_FRAMES = 30
PARTS = 5
"""Parts of a clip for the jackknife estimate of the radii's uncertainty."""
PLAUSIBLE = (0.6, 1.7)
"""Plausible range of a fitted radius, relative to the radius by the hand's size."""
MOST_SPREAD = 0.25
"""Largest useful standard deviation, relative to the same: above it the hand's size is more certain."""


def by_size(hand: Proportions) -> Floats:
    """Usual joint radii (5, 3) m of a hand: half its mean thickness at MCP, PIP and DIP (thumb: CMC, MCP, IP).

    Greiner (1991), Hand anthropometry of US Army personnel, the same depths as the skin's.
    """
    half = np.empty((len(DIGITS), 3))
    for row, thickness in enumerate(THICKNESS):
        stations = FINGER if row else THUMB
        back, front = (np.interp([0.0, 1.0, 2.0], stations[:, 0], stations[:, column]) for column in (2, 3))
        half[row] = thickness * (back + front) / 2
    radii: Floats = half / 1000 * hand.size / adult(hand.side).size
    return radii


def radii(hand: Proportions, spots: tuple[Spot, ...], local: Floats, digit: str) -> tuple[list[Measure], Floats | None]:
    """Estimate the radii of a digit's three joints from its markers.

    Args:
        hand: the hand's proportions.
        spots: where the M markers sit.
        local: (F, M, 3) m, all markers in the wrist's frame, NaN where not seen.
        digit: the digit's name.

    Returns:
        A measurement for each joint; where the markers do not determine a radius it is that of the hand's size, and
        the measurement says why. Then flexions (N, 3) rad in the frames that were used, if PIP and DIP were
        determined, else None. These account for the sliding of skin markers over a bent joint.
    """
    usual = by_size(hand)[DIGITS.index(digit)]
    joints = CHAIN_JOINTS[digit]
    fitted = _fitted(hand, spots, local, digit)
    if isinstance(fitted, str):
        return [_usual(joint, size, fitted) for joint, size in zip(joints, usual, strict=False)], None
    measures = [
        _measure(fitted, bone, joint, size) for bone, (joint, size) in enumerate(zip(joints, usual, strict=False))
    ]
    told = all(measure.spread is not None for measure in measures[1:])
    return measures, fitted.angles if told else None


def _plausible(radius: float, size: float) -> bool:
    return PLAUSIBLE[0] * size <= radius <= PLAUSIBLE[1] * size


def _measure(fitted: "_Fit", bone: int, joint: str, size: float) -> Measure:
    """Return the fitted radius of one joint, or the usual one if the fit is too uncertain or implausible."""
    value, spread = float(fitted.radii[bone]), float(fitted.spreads[bone])
    if not _plausible(value, size):
        return _usual(joint, size, f"the markers would make it {1000 * value:.1f} mm")
    if not spread <= MOST_SPREAD * size:
        return _usual(joint, size, f"parts of the clip disagree by {1000 * spread:.1f} mm")
    how = "how the markers' distances change with the bend (4.4)"
    figures = (1000 * value, 1000 * spread, 1000 * fitted.residual)
    return Measure("radius", joint, how, *figures, frames=len(fitted.angles))


def _usual(joint: str, size: float, why: str) -> Measure:
    return Measure("radius", joint, f"by the hand's size: {why}", 1000 * float(size))


@dataclass(frozen=True, slots=True, eq=False)
class _Fit:
    radii: Floats
    """(3,) m"""
    spreads: Floats
    """(3,) m, standard deviations."""
    residual: float
    """m, root mean square."""
    angles: Floats
    """(N, 3) rad"""


def _fitted(hand: Proportions, spots: tuple[Spot, ...], local: Floats, digit: str) -> _Fit | str:
    """Return the fit, or why there is none."""
    joints = CHAIN_JOINTS[digit]
    markers = in_plane(hand, spots, local, digit)
    skin = [i for i, spot in enumerate(markers.spots) if spot.joint != joints[0] or any(spot.offset)]
    knuckle = any(spot.joint == joints[0] and not any(spot.offset) for spot in markers.spots)
    # A frame has three unknown angles; two markers give four coordinates.
    if not knuckle or len(skin) < 2:
        return "too few markers on this digit"
    places = markers.places[:, skin]
    bends = flexions(hand, spots, local, digit)
    rows = np.flatnonzero(np.isfinite(places).all((1, 2)))
    if len(rows) < LEAST_FRAMES:
        return f"its markers are seen together in {len(rows)} of the {LEAST_FRAMES} frames needed"
    rows = rows[np.unique(np.linspace(0, len(rows) - 1, MOST_FRAMES).astype(int))]
    chain = _Chain(PlanarMarkers(tuple(markers.spots[i] for i in skin), places[rows]), joints)
    row = DIGITS.index(digit)
    usual = by_size(hand)[row]
    begin = np.concatenate([hand.phalanges[row], usual, [0.0], chain.along])
    angles = np.where(np.isfinite(bends[rows]), bends[rows], 0.3)
    everything = np.arange(len(rows))
    fixed, angles = _solve(chain, begin, angles, everything)
    good = np.flatnonzero(kept(chain.off(fixed, angles, everything).max(axis=1)))
    fixed, angles = _solve(chain, fixed, angles[good], good)
    if any(not _plausible(fixed[3 + bone], usual[bone]) for bone in (1, 2)):
        return "its markers do not move as on the skin over circular joints"
    without = [np.delete(np.arange(len(good)), part) for part in np.array_split(np.arange(len(good)), PARTS)]
    spreads = jackknife(np.array([_solve(chain, fixed, angles[rest], good[rest])[0][3:6] for rest in without]))
    off = chain.off(fixed, angles, good)
    return _Fit(fixed[3:6], spreads, float(np.sqrt((off**2).mean())), angles)


class _Chain:
    """The thesis's links with hidden links between them, (4.4)-(4.8), and the markers on them.

    Fixed over the clip are (G,): three bone lengths m, three radii m, the slope of the palm's back rad, and the
    position along its bone m of each marker that is not over a joint. Each frame has three angles.
    """

    def __init__(self, markers: PlanarMarkers, joints: tuple[str, ...]) -> None:
        self.seen = markers.places
        self.where = [(joints.index(spot.joint), any(spot.offset)) for spot in markers.spots]
        self.along = np.array(
            [spot.offset[1] for spot, (k, rides) in zip(markers.spots, self.where, strict=True) if rides and k < 3]
        )

    def places(self, fixed: Numbers, angles: Numbers) -> Numbers:
        """Model positions (F, S, 2) m of the markers."""
        length, radius, droop, along = fixed[:3], fixed[3:6], fixed[6], iter(fixed[7:])
        starts, over, ways = [], [], []
        at: Numbers = np.zeros(2)
        way: Numbers = droop
        for bone in range(3):
            bend = angles[:, bone]
            over.append(at + _link(radius[bone], bend / 2, way))
            at = at + _link(radius[bone], bend, way)
            way = way + bend  # Thesis (4.7): half at each end of the hidden link.
            starts.append(at)
            ways.append(way)
            at = at + length[bone] * _heading(way)
        over.append(at)
        found = [
            starts[joint] + next(along) * _heading(ways[joint]) if rides and joint < 3 else over[joint]
            for joint, rides in self.where
        ]
        return np.stack(found, axis=1)

    def off(self, fixed: Floats, angles: Floats, rows: NDArray[np.intp]) -> Floats:
        """Distances (N, S) m between the markers' model positions and where they are seen in these frames (N,)."""
        distances: Floats = np.linalg.norm(self.places(fixed, angles) - self.seen[rows], axis=-1)
        return distances


def _heading(way: Numbers) -> Numbers:
    """Unit vectors (F, 2) at angles (F,) from the straight digit towards the palm."""
    return np.stack([np.cos(way), np.sin(way)], axis=-1)


def _link(radius: float, bend: Numbers, way: Numbers) -> Numbers:
    """The hidden link (F, 2) m of an arc that bends by (F,) rad, thesis (4.4), (4.7)."""
    link: Numbers = (2 * radius * np.sin(bend / 2))[:, None] * _heading(way + bend / 2)
    return link


PASSES = 30
TINY = 1e-30
"""Imaginary step for derivatives that are exact to rounding (Squire & Trapp 1998)."""


def _solve(chain: _Chain, fixed: Floats, angles: Floats, rows: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Fit the fixed parameters (G,) and the angles (N, 3) to the markers in these frames.

    Levenberg-Marquardt; the angles of each frame are eliminated first, as in bundle adjustment (Triggs et al. 2000,
    6.1). Outliers have Huber weights.
    """
    seen = chain.seen[rows]

    def cost(fixed: Floats, angles: Floats) -> tuple[float, Floats, Floats]:
        off = chain.places(fixed, angles) - seen
        far = np.linalg.norm(off, axis=-1)
        # Three median distances, at least 1e-5 m for exact fits.
        most = max(3 * float(np.median(far)), 1e-5)
        weights = np.minimum(1.0, most / np.maximum(far, 1e-12))
        return float((weights * far**2).sum()), off, weights

    damping = 1e-3
    value, off, weights = cost(fixed, angles)
    for _ in range(PASSES):
        by_fixed, by_angles = _derivatives(chain, fixed, angles)
        step = _step(by_fixed, by_angles, off, weights, damping)
        tried = fixed + step[0], angles + step[1]
        better, off_there, weights_there = cost(*tried)
        if better < value:
            done = value - better < 1e-6 * value
            (fixed, angles), value, off, weights, damping = tried, better, off_there, weights_there, damping / 5
            if done:
                break
        else:
            damping *= 10
            if damping > 1e6:
                break
    return fixed, angles


def _derivatives(chain: _Chain, fixed: Floats, angles: Floats) -> tuple[Floats, Floats]:
    """Jacobians (N, S, 2, G) and (N, S, 2, 3) of the markers with respect to fixed parameters and angles."""
    steps = 1j * TINY * np.eye(len(fixed))
    by_fixed = [chain.places(fixed + step, angles).imag / TINY for step in steps]
    by_angles = [chain.places(fixed, angles + step).imag / TINY for step in 1j * TINY * np.eye(3)]
    return np.stack(by_fixed, axis=-1), np.stack(by_angles, axis=-1)


def _step(by_fixed: Floats, by_angles: Floats, off: Floats, weights: Floats, damping: float) -> tuple[Floats, Floats]:
    """Damped step of the fixed parameters (G,) and of the angles (N, 3)."""
    w = weights[..., None]
    a = np.einsum("nsig,nsih->gh", by_fixed * w[..., None], by_fixed)
    b = np.einsum("nsia,nsig->nag", by_angles * w[..., None], by_fixed)
    c = np.einsum("nsia,nsib->nab", by_angles * w[..., None], by_angles)
    down_fixed = -np.einsum("nsig,nsi->g", by_fixed, w * off)
    down_angles = -np.einsum("nsia,nsi->na", by_angles, w * off)
    a = a + damping * np.diag(np.diag(a) + 1e-12)
    c = c + damping * c * np.eye(3) + 1e-12 * np.eye(3)
    solved = np.linalg.solve(c, np.concatenate([b, down_angles[..., None]], axis=-1))
    reduced = a - np.einsum("nag,nah->gh", b, solved[..., :-1])
    right = down_fixed - np.einsum("nag,na->g", b, solved[..., -1])
    fixed = np.linalg.lstsq(reduced, right, rcond=1e-12)[0]
    return fixed, solved[..., -1] - solved[..., :-1] @ fixed
