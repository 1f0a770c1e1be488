"""Radii of the joints, that is, half a finger's thickness: from markers on the skin, or from the hand's size.

The thesis (4.2.1) measures the thickness with a caliper. Its circular joint (4.4) can also be inverted: between markers
on the back of a finger, a bent joint inserts the hidden link d = 2 r sin(θ/2), at an angle of θ/2 to the bone before it
(4.7). The markers' positions in the finger's plane thus determine bone lengths, radii and, in each frame, joint angles.
A marker over a joint is assumed to stay in the middle of the joint's arc; a marker over the knuckle is fixed to the
palm.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..joints import CHAIN_JOINTS, DIGITS
from ..marker_sets import Spot
from ..measurements import Measurement, inlier_mask, jackknife
from ..mesh.anatomy import DIGIT_THICKNESS, FINGER_PROFILE, THUMB_PROFILE
from ..proportions import Proportions, adult
from .marker_angles import PlanarMarkers, flexions, project_to_plane

Floats = NDArray[np.float64]
Numbers = NDArray[Any]
"""Real numbers, or complex ones for complex-step derivatives."""

MAX_FRAMES = 200
"""Maximum number of frames to which the radii are fitted; more do not improve them."""
MIN_FRAMES = 30
"""Minimum number of frames in which all of a digit's markers are seen."""
JACKKNIFE_PARTS = 5
"""Parts of a clip for the jackknife estimate of the radii's uncertainty."""
PLAUSIBLE_RANGE = (0.6, 1.7)
"""Plausible range of a fitted radius, relative to the usual radius for the hand's size."""
MAX_RELATIVE_SPREAD = 0.25
"""Maximum standard deviation of a fitted radius relative to the usual one: above it the usual one is more certain."""


def radii_by_size(hand: Proportions) -> Floats:
    """Return the usual joint radii (5, 3) m of a hand of this size."""
    return radii_of_size(hand.size)


def radii_of_size(size: float) -> Floats:
    """Return usual joint radii (5, 3) m: half the mean thickness at MCP, PIP and DIP (thumb: CMC, MCP, IP).

    The depths are those of the skin in `mesh.anatomy`: Greiner (1991), Hand anthropometry of US Army personnel.

    size: m, from the wrist to the middle finger's tip.
    """
    radii_mm = np.empty((len(DIGITS), 3))
    for row, thickness in enumerate(DIGIT_THICKNESS):
        stations = FINGER_PROFILE if row else THUMB_PROFILE
        back, front = (np.interp([0.0, 1.0, 2.0], stations[:, 0], stations[:, column]) for column in (2, 3))
        radii_mm[row] = thickness * (back + front) / 2
    radii: Floats = radii_mm / 1000 * size / adult("right").size
    return radii


def measure_radii(
    hand: Proportions, spots: tuple[Spot, ...], local: Floats, digit: str
) -> tuple[list[Measurement], Floats | None]:
    """Estimate the radii of a digit's three joints from its markers.

    Args:
        hand: the hand's proportions.
        spots: where the M markers sit.
        local: (F, M, 3) m, all markers in the wrist's frame, NaN where not seen.
        digit: the digit's name.

    Returns:
        A measurement for each joint; if the markers do not determine a radius, it has the usual radius and the reason.
        Flexions (N, 3) rad in the frames that were used, which account for skin markers sliding over a bent joint; None
        if the radii of PIP and DIP were not determined.
    """
    usual_radii = radii_by_size(hand)[DIGITS.index(digit)]
    joints = CHAIN_JOINTS[digit]
    fitted = _fit(hand, spots, local, digit)
    if isinstance(fitted, str):
        return [_usual_radius(joint, size, fitted) for joint, size in zip(joints, usual_radii, strict=False)], None
    measurements = [
        _measurement(fitted, bone, joint, size)
        for bone, (joint, size) in enumerate(zip(joints, usual_radii, strict=False))
    ]
    determined = all(measure.spread is not None for measure in measurements[1:])
    return measurements, fitted.angles if determined else None


def _is_plausible(radius: float, usual_radius: float) -> bool:
    return PLAUSIBLE_RANGE[0] * usual_radius <= radius <= PLAUSIBLE_RANGE[1] * usual_radius


def _measurement(fitted: "_RadiiFit", bone: int, joint: str, usual_radius: float) -> Measurement:
    """Return the fitted radius of one joint, or the usual one if the fit is too uncertain or implausible."""
    value, spread = float(fitted.radii[bone]), float(fitted.spreads[bone])
    if not _is_plausible(value, usual_radius):
        return _usual_radius(joint, usual_radius, f"the markers would make it {1000 * value:.1f} mm")
    if not spread <= MAX_RELATIVE_SPREAD * usual_radius:
        return _usual_radius(joint, usual_radius, f"parts of the clip disagree by {1000 * spread:.1f} mm")
    method = "how the markers' distances change with the bend (4.4)"
    figures = (1000 * value, 1000 * spread, 1000 * fitted.residual)
    return Measurement("radius", joint, method, *figures, frames=len(fitted.angles))


def _usual_radius(joint: str, radius: float, reason: str) -> Measurement:
    return Measurement("radius", joint, f"by the hand's size: {reason}", 1000 * float(radius))


@dataclass(frozen=True, slots=True, eq=False)
class _RadiiFit:
    radii: Floats
    """(3,) m"""
    spreads: Floats
    """(3,) m, standard deviations."""
    residual: float
    """m, root mean square."""
    angles: Floats
    """(N, 3) rad"""


def _fit(hand: Proportions, spots: tuple[Spot, ...], local: Floats, digit: str) -> _RadiiFit | str:
    """Return the fit, or the reason why there is none."""
    joints = CHAIN_JOINTS[digit]
    markers = project_to_plane(hand, spots, local, digit)
    skin_markers = [i for i, spot in enumerate(markers.spots) if spot.joint != joints[0] or any(spot.offset)]
    has_knuckle = any(spot.joint == joints[0] and not any(spot.offset) for spot in markers.spots)
    # A frame has three unknown angles; two markers give four coordinates.
    if not has_knuckle or len(skin_markers) < 2:
        return "too few markers on this digit"
    positions = markers.positions[:, skin_markers]
    bends = flexions(hand, spots, local, digit)
    rows = np.flatnonzero(np.isfinite(positions).all((1, 2)))
    if len(rows) < MIN_FRAMES:
        return f"its markers are seen together in {len(rows)} of the {MIN_FRAMES} frames needed"
    rows = rows[np.unique(np.linspace(0, len(rows) - 1, MAX_FRAMES).astype(int))]
    chain = _CircularJointChain(PlanarMarkers(tuple(markers.spots[i] for i in skin_markers), positions[rows]), joints)
    row = DIGITS.index(digit)
    usual_radii = radii_by_size(hand)[row]
    start = np.concatenate([hand.phalanges[row], usual_radii, [0.0], chain.along])
    angles = np.where(np.isfinite(bends[rows]), bends[rows], 0.3)
    all_rows = np.arange(len(rows))
    parameters, angles = _solve(chain, start, angles, all_rows)
    inliers = np.flatnonzero(inlier_mask(chain.distances(parameters, angles, all_rows).max(axis=1)))
    parameters, angles = _solve(chain, parameters, angles[inliers], inliers)
    if any(not _is_plausible(parameters[3 + bone], usual_radii[bone]) for bone in (1, 2)):
        return "its markers do not move as on the skin over circular joints"
    remaining = [
        np.delete(np.arange(len(inliers)), part) for part in np.array_split(np.arange(len(inliers)), JACKKNIFE_PARTS)
    ]
    spreads = jackknife(
        np.array([_solve(chain, parameters, angles[part], inliers[part])[0][3:6] for part in remaining])
    )
    distances = chain.distances(parameters, angles, inliers)
    return _RadiiFit(parameters[3:6], spreads, float(np.sqrt((distances**2).mean())), angles)


class _CircularJointChain:
    """A digit's bones, the hidden links between them, thesis (4.4)-(4.8), and the markers on them.

    G parameters are fixed over the clip: three bone lengths (m), three radii (m), the slope of the palm's back (rad),
    and the position along its bone (m) of each marker that is not over a joint. Each frame has three angles.
    """

    def __init__(self, markers: PlanarMarkers, joints: tuple[str, ...]) -> None:
        self.observed = markers.positions
        self.attachments = [(joints.index(spot.joint), any(spot.offset)) for spot in markers.spots]
        self.along = np.array(
            [
                spot.offset[1]
                for spot, (joint, is_on_bone) in zip(markers.spots, self.attachments, strict=True)
                if is_on_bone and joint < 3
            ]
        )

    def positions(self, parameters: Numbers, angles: Numbers) -> Numbers:
        """Return model positions (F, S, 2) m of the markers."""
        length, radius, slope, along = parameters[:3], parameters[3:6], parameters[6], iter(parameters[7:])
        starts, arc_middles, headings = [], [], []
        position: Numbers = np.zeros(2)
        heading: Numbers = slope
        for bone in range(3):
            bend = angles[:, bone]
            arc_middles.append(position + _hidden_link(radius[bone], bend / 2, heading))
            position = position + _hidden_link(radius[bone], bend, heading)
            heading = heading + bend  # Thesis (4.7): half the bend at each end of the hidden link.
            starts.append(position)
            headings.append(heading)
            position = position + length[bone] * _unit_vector(heading)
        arc_middles.append(position)
        positions = [
            starts[joint] + next(along) * _unit_vector(headings[joint])
            if is_on_bone and joint < 3
            else arc_middles[joint]
            for joint, is_on_bone in self.attachments
        ]
        return np.stack(positions, axis=1)

    def distances(self, parameters: Floats, angles: Floats, rows: NDArray[np.intp]) -> Floats:
        """Return distances (N, S) m between the markers' modelled and observed positions in frames (N,)."""
        distances: Floats = np.linalg.norm(self.positions(parameters, angles) - self.observed[rows], axis=-1)
        return distances


def _unit_vector(heading: Numbers) -> Numbers:
    """Return unit vectors (F, 2) at angles (F,) from the straight digit towards the palm."""
    return np.stack([np.cos(heading), np.sin(heading)], axis=-1)


def _hidden_link(radius: float, bend: Numbers, heading: Numbers) -> Numbers:
    """Return the hidden link (F, 2) m of a joint's arc, thesis (4.4), (4.7). bend, heading: (F,) rad."""
    link: Numbers = (2 * radius * np.sin(bend / 2))[:, None] * _unit_vector(heading + bend / 2)
    return link


MAX_ITERATIONS = 30
"""Maximum number of Levenberg-Marquardt steps."""
COMPLEX_STEP = 1e-30
"""Imaginary step for derivatives that are exact to rounding (Squire & Trapp 1998)."""


def _solve(
    chain: _CircularJointChain, parameters: Floats, angles: Floats, rows: NDArray[np.intp]
) -> tuple[Floats, Floats]:
    """Fit the fixed parameters (G,) and the angles (N, 3) to the markers in frames `rows` (N,).

    Levenberg-Marquardt; the angles of each frame are eliminated first, as in bundle adjustment (Triggs et al. 2000,
    6.1). Outliers have Huber weights.
    """
    observed = chain.observed[rows]

    def cost(parameters: Floats, angles: Floats) -> tuple[float, Floats, Floats]:
        residuals = chain.positions(parameters, angles) - observed
        distances = np.linalg.norm(residuals, axis=-1)
        # Three times the median distance, at least 1e-5 m for exact fits.
        threshold = max(3 * float(np.median(distances)), 1e-5)
        weights = np.minimum(1.0, threshold / np.maximum(distances, 1e-12))
        return float((weights * distances**2).sum()), residuals, weights

    damping = 1e-3
    best, residuals, weights = cost(parameters, angles)
    for _ in range(MAX_ITERATIONS):
        parameter_jacobian, angle_jacobian = _jacobians(chain, parameters, angles)
        step = _step(parameter_jacobian, angle_jacobian, residuals, weights, damping)
        trial = parameters + step[0], angles + step[1]
        trial_cost, trial_residuals, trial_weights = cost(*trial)
        if trial_cost < best:
            converged = best - trial_cost < 1e-6 * best
            (parameters, angles), best, residuals, weights, damping = (
                trial,
                trial_cost,
                trial_residuals,
                trial_weights,
                damping / 5,
            )
            if converged:
                break
        else:
            damping *= 10
            if damping > 1e6:
                break
    return parameters, angles


def _jacobians(chain: _CircularJointChain, parameters: Floats, angles: Floats) -> tuple[Floats, Floats]:
    """Return Jacobians (N, S, 2, G) and (N, S, 2, 3) of the markers with respect to fixed parameters and angles."""
    steps = 1j * COMPLEX_STEP * np.eye(len(parameters))
    by_parameters = [chain.positions(parameters + step, angles).imag / COMPLEX_STEP for step in steps]
    by_angles = [
        chain.positions(parameters, angles + step).imag / COMPLEX_STEP for step in 1j * COMPLEX_STEP * np.eye(3)
    ]
    return np.stack(by_parameters, axis=-1), np.stack(by_angles, axis=-1)


def _step(
    parameter_jacobian: Floats, angle_jacobian: Floats, residuals: Floats, weights: Floats, damping: float
) -> tuple[Floats, Floats]:
    """Return the damped step of the fixed parameters (G,) and of the angles (N, 3)."""
    w = weights[..., None]
    a = np.einsum("nsig,nsih->gh", parameter_jacobian * w[..., None], parameter_jacobian)
    b = np.einsum("nsia,nsig->nag", angle_jacobian * w[..., None], parameter_jacobian)
    c = np.einsum("nsia,nsib->nab", angle_jacobian * w[..., None], angle_jacobian)
    rhs_parameters = -np.einsum("nsig,nsi->g", parameter_jacobian, w * residuals)
    rhs_angles = -np.einsum("nsia,nsi->na", angle_jacobian, w * residuals)
    a = a + damping * np.diag(np.diag(a) + 1e-12)
    c = c + damping * c * np.eye(3) + 1e-12 * np.eye(3)
    solved = np.linalg.solve(c, np.concatenate([b, rhs_angles[..., None]], axis=-1))
    reduced = a - np.einsum("nag,nah->gh", b, solved[..., :-1])
    rhs = rhs_parameters - np.einsum("nag,na->g", b, solved[..., -1])
    parameters = np.linalg.lstsq(reduced, rhs, rcond=1e-12)[0]
    return parameters, solved[..., -1] - solved[..., :-1] @ parameters
