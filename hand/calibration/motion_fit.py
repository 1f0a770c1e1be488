"""Fit bone lengths and marker offsets together to a clip of free motion.

Each marker has an unknown offset from its joint, each bone an unknown length, and the hand an unknown pose in each
frame. The fit minimises the distances between the hand's markers and the observed ones, with a mean hand as prior.
Joint centres follow from how the markers move about them, as in functional methods (Ehrig et al. 2006, SCoRE), but on a
whole hand whose joints have limits and whose DIPs tend to follow the PIPs. The markers' offsets are unknowns as in MoSh
(Loper et al. 2014) and AddBiomechanics (Werling et al. 2023). The frames are a few hundred that show most of the
motion, as in the calibration of optical hands by Han et al. (2018).
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .. import rotations as rot
from ..generators import Progress, Steps, part_of
from ..joints import CHAIN_JOINTS, DIGITS
from ..limits import DIP_PER_PIP
from ..marker_sets import Spot, on_palm
from ..measured_hand import MeasuredHand
from ..measurements import Measurement
from ..model import HandModel
from ..proportions import Proportions, site_positions, to_wrist_frame
from .fit_parameters import FIRST_JOINTS, LENGTHS, OFFSETS, RHO, FitMarkers, FitPrior, SharedParameters
from .implausible_digits import MAX_TILT, digit_tilts, keep_digits
from .joint_radii import radii_by_size
from .least_squares import FitProblem, FitState
from .levenberg_marquardt import MotionFit, fit_poses, parameter_spreads
from .measuring import frames_with_palm, scaled_mean_hand

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.intp]

MAX_FRAMES = 200
"""Maximum number of frames to which a hand is fitted; as many others validate the fit."""
MIN_FRAMES = 60
"""Minimum number of frames, of which every other one is held out for validation."""
MIN_MOTION = 0.02
"""m by which the outermost marker of at least one digit must move in the palm's frame."""
INITIAL_NOISE = 0.0015
"""m, standard deviation of the markers on each axis, until it is estimated."""
RHO_SPREAD, MAX_RHO_SPREAD = 0.15, 0.05
"""Standard deviations of ρ: between people, and the maximum for a fitted ρ to be used."""
MAX_RESIDUAL_RATIO = 0.8
"""Maximum residual of the fit on held-out frames, as a fraction of that of the previous hand."""


def informative_frames(hand: Proportions, spots: tuple[Spot, ...], local: Floats, maximum: int = MAX_FRAMES) -> Ints:
    """Select frames (N,) that show most of the motion.

    Half of them are evenly spaced in time, the others evenly spaced over the range of each digit's outermost marker on
    each axis of the palm: a finger that bends once counts as much as one that bends for a minute. The outermost
    hundredth of each range is excluded, since it may be a swap.

    Args:
        hand: the hand's proportions.
        spots: where the M markers sit.
        local: (F, M, 3) m, the markers in the wrist's frame.
        maximum: upper bound of N.
    """
    visible = np.all(np.isfinite(local), axis=-1)
    usable = np.flatnonzero(visible.any(axis=1))
    if len(usable) <= maximum:
        return usable
    selected = {int(row) for row in usable[np.linspace(0, len(usable) - 1, maximum // 2).astype(int)]}
    outermost = [_outermost(spots, visible, digit) for digit in DIGITS]
    count = max((maximum - len(selected)) // max(3 * sum(marker is not None for marker in outermost), 1), 1)
    for marker in outermost:
        if marker is None:
            continue
        rows = np.flatnonzero(visible[:, marker])
        for values in local[rows, marker].T:
            low, high = np.quantile(values, [0.01, 0.99])
            order = np.argsort(values)
            nearest = np.searchsorted(values[order], np.linspace(low, high, count)).clip(0, len(rows) - 1)
            selected.update(rows[order[nearest]].tolist())
    return np.array(sorted(selected))


def _outermost(spots: tuple[Spot, ...], visible: Bools, digit: str) -> int | None:
    """Return the outermost of a digit's markers that are seen in more than a tenth of the frames, if any."""
    joints = CHAIN_JOINTS[digit]
    often_visible = visible.mean(axis=0) > 0.1
    candidates = [m for m, spot in enumerate(spots) if spot.joint in joints and not on_palm(spot) and often_visible[m]]
    return max(candidates, key=lambda m: (joints.index(spots[m].joint), spots[m].offset[1]), default=None)


@dataclass(frozen=True, slots=True, eq=False)
class FittedHand:
    """The result of a fit to free motion."""

    proportions: Proportions
    spots: tuple[Spot, ...]
    """(M,) where the markers sit. Palm markers are fixed to the wrist."""
    rho: tuple[float | None, ...]
    """(5,) ρ of each digit, None where the fit does not determine it."""
    measurements: tuple[Measurement, ...]
    residual_before: float = 0.0
    """m, median distance in held-out frames between observed markers and those of the previously measured hand."""
    residual_after: float = 0.0
    """m, the same for the fitted hand."""
    notes: tuple[str, ...] = ()
    """A sentence for each digit that keeps its previous measurements."""


def fit_steps(
    hand: MeasuredHand,
    measured_spots: tuple[Spot, ...],
    spots: tuple[Spot, ...],
    names: tuple[str, ...],
    positions: Floats,
) -> Steps[FittedHand | str]:
    """Fit a hand to free motion.

    Args:
        hand: the previously measured hand, where the search starts.
        measured_spots: (M,) where its markers sit.
        spots: (M,) where the marker set has them.
        names: (M,) their labels.
        positions: (F, M, 3) m, NaN where not seen.

    Returns:
        The fit, or the reason why the hand keeps its previous measurements.

    Raises:
        HandError: no frame shows three palm markers.
    """
    start = hand.proportions
    positions = positions[frames_with_palm(start.side, spots, positions)]
    local = to_wrist_frame(start, measured_spots, positions)
    if len(positions) < MIN_FRAMES:
        return f"{len(positions)} frames show the palm, a fit to free motion needs {MIN_FRAMES}"
    motion = _range_of_motion(spots, local)
    if motion < MIN_MOTION:
        return (
            f"no finger moves by more than {1000 * motion:.0f} mm, a fit to free motion needs {1000 * MIN_MOTION:.0f}"
        )
    rows = informative_frames(start, spots, local, 2 * MAX_FRAMES)
    fit = prepare_fit(start, measured_spots, spots, positions[rows[::2]], hand.model)
    yield from part_of(0.0, 0.9, "", fit.steps())
    problem, before = _validation_problem(fit.problem, start, measured_spots, positions[rows[1::2]])
    before, after = fit_poses(problem, before), fit_poses(problem, replace(before, parameters=fit.state.parameters))
    unchanged_rows, notes = _tilted_digits(problem, before, after)
    parameters = keep_digits(problem.markers, after.parameters, before.parameters, unchanged_rows)
    residual_before, residual_after = (
        _median_residual(problem, before),
        _median_residual(problem, replace(after, parameters=parameters)),
    )
    yield Progress(1.0)
    if not residual_after < MAX_RESIDUAL_RATIO * residual_before:
        return (
            f"a fit to free motion leaves residuals of {1000 * residual_after:.1f} mm, without it they are "
            f"{1000 * residual_before:.1f} mm"
        )
    fitted = _fitted_hand(fit, names, parameters, unchanged_rows)
    return replace(fitted, residual_before=residual_before, residual_after=residual_after, notes=notes)


def _tilted_digits(problem: FitProblem, before: FitState, after: FitState) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Return rows of the digits that a fit tilts away from their markers, and a sentence for each."""
    tilts_before, tilts_after = digit_tilts(problem, before), digit_tilts(problem, after)
    rows = tuple(row for row in range(len(DIGITS)) if tilts_after[row, 0] > tilts_before[row, 0] + MAX_TILT)
    notes = [
        f"the {problem.mean_hand.side} {DIGITS[row]} stays as measured: a fit to free motion rotates it by "
        f"{tilts_after[row, 1]:.0f} degrees from the line of its markers, {tilts_before[row, 1]:.0f} without"
        for row in rows
    ]
    return rows, tuple(notes)


def apply_motion_fit(hand: MeasuredHand, fitted: FittedHand, spots: dict[str, Spot]) -> MeasuredHand:
    """Apply a fit to a measured hand. Radii that come from the hand's size are updated with it.

    Args:
        hand: the previously measured hand.
        fitted: the fit.
        spots: label -> where the marker sits, by the fit.
    """
    radii_before, radii_after = radii_by_size(hand.proportions), radii_by_size(fitted.proportions)
    is_by_size = np.isclose(hand.radii, radii_before, rtol=0, atol=1e-6)
    replaced = {(measure.kind, measure.of) for measure in fitted.measurements}
    measurements = [measure for measure in hand.measurements if (measure.kind, measure.of) not in replaced]
    for row, bone in np.argwhere(is_by_size).tolist():
        joint = CHAIN_JOINTS[DIGITS[row]][bone]
        measurements = [
            replace(measurement, value=1000 * float(radii_after[row, bone]))
            if (measurement.kind, measurement.of) == ("radius", joint)
            else measurement
            for measurement in measurements
        ]
    return replace(
        hand,
        proportions=fitted.proportions,
        spots=spots,
        rho=tuple(
            measured_rho if fitted_rho is None else fitted_rho
            for measured_rho, fitted_rho in zip(hand.rho, fitted.rho, strict=True)
        ),
        radii=np.where(is_by_size, radii_after, hand.radii),
        measurements=(*measurements, *fitted.measurements),
        motion=np.zeros((0, 3)),
    )


def _range_of_motion(spots: tuple[Spot, ...], local: Floats) -> float:
    """Return the largest range of motion, m, of any digit's outermost marker along an axis of the palm."""
    visible = np.all(np.isfinite(local), axis=-1)
    outermost = [marker for digit in DIGITS if (marker := _outermost(spots, visible, digit)) is not None]
    spans = [
        np.ptp(np.quantile(local[visible[:, marker], marker], [0.02, 0.98], axis=0), axis=0).max()
        for marker in outermost
    ]
    return float(max(spans, default=0.0))


def _validation_problem(
    problem: FitProblem, start: Proportions, measured_spots: tuple[Spot, ...], positions: Floats
) -> tuple[FitProblem, FitState]:
    """Return the problem for positions (F, M, 3) m in held-out frames, and the previous hand as its state."""
    visible = np.all(np.isfinite(positions), axis=-1)
    validation = replace(problem, positions=np.where(visible[..., None], positions, 0.0), seen=visible)
    return validation, _initial_state(validation, start, measured_spots, np.full(len(DIGITS), DIP_PER_PIP), positions)


def _median_residual(problem: FitProblem, state: FitState) -> float:
    """Return the median distance m of the markers after fitting the poses."""
    distances = np.linalg.norm(problem.residuals(fit_poses(problem, state)), axis=-1)
    return float(np.median(distances[problem.seen]))


def prepare_fit(
    start: Proportions,
    measured_spots: tuple[Spot, ...],
    spots: tuple[Spot, ...],
    positions: Floats,
    reference: HandModel,
) -> MotionFit:
    """Set up the fit of a hand to all of the given frames.

    Args:
        start: the proportions where the search starts.
        measured_spots: (M,) where its markers sit.
        spots: (M,) where the marker set has them.
        positions: (F, M, 3) m, NaN where not seen.
        reference: the hand whose limits are used.
    """
    mean = scaled_mean_hand(start.side, spots, positions)
    markers = FitMarkers.from_spots(spots)
    rho = np.full(len(DIGITS), DIP_PER_PIP)
    prior = FitPrior.build(mean, markers, rho, np.full(len(DIGITS), RHO_SPREAD))
    visible = np.all(np.isfinite(positions), axis=-1)
    problem = FitProblem(
        mean, reference, markers, prior, np.where(visible[..., None], positions, 0.0), visible, INITIAL_NOISE
    )
    return MotionFit(problem, _initial_state(problem, start, measured_spots, rho, positions))


def _initial_state(
    problem: FitProblem, start: Proportions, measured_spots: tuple[Spot, ...], rho: Floats, positions: Floats
) -> FitState:
    """Return the hand with relaxed fingers, aligned with the palm markers in each frame."""
    palm = [m for m, spot in enumerate(measured_spots) if on_palm(spot)]
    root = rot.fit_rigid_to_visible(site_positions(start, tuple(measured_spots[m] for m in palm)), positions[:, palm])
    return FitState(
        problem.markers.initial_parameters(start, measured_spots, rho),
        root,
        np.tile(problem.reference.neutral, (len(root), 1)),
    )


def _fitted_hand(
    fit: MotionFit, names: tuple[str, ...], parameters: SharedParameters, unchanged_rows: tuple[int, ...]
) -> FittedHand:
    """Return the fitted hand with its measurements and their uncertainties, except for digits in `unchanged_rows`."""
    problem = fit.problem
    spread = parameter_spreads(problem, fit.state)
    spots = problem.markers.fitted_spots(problem.mean_hand.side, parameters)
    distances = np.where(problem.seen, np.linalg.norm(problem.residuals(fit.state), axis=-1), np.nan)
    measurements: list[Measurement] = [
        *_bone_measurements(parameters, spread, len(distances)),
        *_knuckle_measurements(parameters, spread, len(distances)),
        *_marker_measurements(names, spots, spread, distances),
    ]
    rho = [
        float(value)
        if row and row not in unchanged_rows and uncertainty < MAX_RHO_SPREAD and 0.1 < value < 1.5
        else None
        for row, (value, uncertainty) in enumerate(zip(parameters.rho, spread[RHO], strict=True))
    ]
    method = "fitted to free motion, with all bones and markers"
    measurements += [
        Measurement("rho", digit, method, value, float(uncertainty), frames=len(distances))
        for digit, value, uncertainty in zip(DIGITS, rho, spread[RHO], strict=True)
        if value is not None
    ]
    unchanged = {joint for row in unchanged_rows for joint in CHAIN_JOINTS[DIGITS[row]]}
    unchanged |= {name for m, name in enumerate(names) if problem.markers.digit_row(m) in unchanged_rows}
    hand = problem.markers.proportions(problem.mean_hand, parameters)
    return FittedHand(
        hand, spots, tuple(rho), tuple(measurement for measurement in measurements if measurement.of not in unchanged)
    )


def _bone_measurements(parameters: SharedParameters, spread: Floats, frames: int) -> list[Measurement]:
    method = "fitted to free motion, together with the markers' offsets"
    joints = [joint for digit in DIGITS for joint in CHAIN_JOINTS[digit][:3]]
    rows = zip(joints, 1000 * parameters.lengths.ravel(), 1000 * spread[LENGTHS], strict=True)
    return [
        Measurement("bone", joint, method, float(value), float(uncertainty), frames=frames)
        for joint, value, uncertainty in rows
    ]


def _knuckle_measurements(parameters: SharedParameters, spread: Floats, frames: int) -> list[Measurement]:
    """Return the distance of each digit's first joint from the wrist, with the standard deviation along that line."""
    method = "fitted to free motion: the centre about which its digit's markers move"
    measurements = []
    for digit, position, uncertainty in zip(
        DIGITS, parameters.first_joints, spread[FIRST_JOINTS].reshape(-1, 3), strict=True
    ):
        distance = float(np.linalg.norm(position))
        radial_spread = float(np.linalg.norm(uncertainty * position) / distance)
        measurements.append(
            Measurement("palm", CHAIN_JOINTS[digit][0], method, 1000 * distance, 1000 * radial_spread, frames=frames)
        )
    return measurements


def _marker_measurements(
    names: tuple[str, ...], spots: tuple[Spot, ...], spread: Floats, distances: Floats
) -> list[Measurement]:
    """Return the distance of each marker from its joint, with its offset and residual."""
    measurements = []
    axis_names = ("towards the little finger", "along the bone", "out of the back")
    for name, spot, uncertainty, residuals in zip(
        names, spots, 1000 * spread[OFFSETS:].reshape(-1, 3), distances.T, strict=True
    ):
        offset = 1000 * np.array(spot.offset)
        visible = residuals[np.isfinite(residuals)]
        parts = ", ".join(
            f"{o:.1f} ± {s:.1f} {axis_name}" for o, s, axis_name in zip(offset, uncertainty, axis_names, strict=True)
        )
        method = f"fitted to free motion, mm in the frame of {spot.joint}: {parts}" if len(visible) else "never seen"
        distance = max(float(np.linalg.norm(offset)), 1e-9)
        residual = 1000 * float(np.sqrt((visible**2).mean())) if len(visible) else None
        radial_spread = float(np.linalg.norm(uncertainty * offset) / distance)
        measurements.append(Measurement("marker", name, method, distance, radial_spread, residual, frames=len(visible)))
    return measurements
