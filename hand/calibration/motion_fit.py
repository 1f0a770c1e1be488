"""Fit bone lengths and marker offsets together to a clip of free motion.

Each marker has an unknown offset from its joint, each bone an unknown length, and the hand an unknown pose in each
frame. The fit brings the hand's markers nearest to those seen, and the hand nearest to a mean one where the markers do
not determine it. Joint centres follow from how the markers move about them, as in functional methods (Ehrig et al.
2006, SCoRE), but on a whole hand whose joints have limits and whose DIPs tend to follow the PIPs. The markers' offsets
are unknowns as in MoSh (Loper et al. 2014) and AddBiomechanics (Werling et al. 2023), over some hundred frames that
show most of the motion, as Han et al. (2018) calibrate optical hands.
"""

from collections.abc import Generator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .. import rotations as rot
from ..joints import CHAIN_JOINTS, DIGITS
from ..limits import DIP_PER_PIP
from ..marker_sets import Spot, on_palm
from ..measured_hand import MeasuredHand
from ..measurements import Measure
from ..model import HandModel
from ..proportions import Proportions, site_positions, to_wrist_frame
from .fit_parameters import LENGTHS, OFFSETS, PALM, RHO, FitMarkers, FitPrior, SharedParameters
from .implausible_digits import MOST_ASKEW, askew, keeping
from .joint_radii import by_size
from .least_squares import FitProblem, FitState
from .levenberg_marquardt import MotionFit, posed, spreads
from .measuring import mean_hand, palm_seen

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.intp]

MOST_FRAMES = 200
"""Frames that a hand is fitted to; as many others validate the fit."""
LEAST_FRAMES = 60
"""Every other one of these is held out for validation."""
LEAST_MOTION = 0.02
"""m by which the outermost marker of some digit must move in the palm."""
FIRST_NOISE = 0.0015
"""m on each axis, until the noise is estimated."""
RHO_SPREAD, RHO_TOLD = 0.15, 0.05
"""Standard deviations of ρ: between people, and the largest with which the fit determines it."""
BETTER = 0.8
"""On held-out frames, the fit's residual must be below this fraction of the previous hand's."""


def telling_frames(hand: Proportions, spots: tuple[Spot, ...], local: Floats, most: int = MOST_FRAMES) -> Ints:
    """Select frames (N,) that show most of the motion.

    Half of them are evenly spaced in time, the others evenly spaced over the range of each digit's outermost marker on
    each axis of the palm: a finger that bends once counts as much as one that bends for a minute. The outermost
    hundredth of each range is left out, since it may be a swap.

    Args:
        hand: the hand's proportions.
        spots: where the M markers sit.
        local: (F, M, 3) m, the markers in the wrist's frame.
        most: N, at most.
    """
    seen = np.all(np.isfinite(local), axis=-1)
    usable = np.flatnonzero(seen.any(axis=1))
    if len(usable) <= most:
        return usable
    chosen = {int(row) for row in usable[np.linspace(0, len(usable) - 1, most // 2).astype(int)]}
    ends = [_outermost(spots, seen, digit) for digit in DIGITS]
    each = max((most - len(chosen)) // max(3 * sum(end is not None for end in ends), 1), 1)
    for end in ends:
        if end is None:
            continue
        rows = np.flatnonzero(seen[:, end])
        for values in local[rows, end].T:
            low, high = np.quantile(values, [0.01, 0.99])
            order = np.argsort(values)
            at = np.searchsorted(values[order], np.linspace(low, high, each)).clip(0, len(rows) - 1)
            chosen.update(rows[order[at]].tolist())
    return np.array(sorted(chosen))


def _outermost(spots: tuple[Spot, ...], seen: Bools, digit: str) -> int | None:
    """The outermost of a digit's markers that are seen in a tenth of the frames."""
    joints = CHAIN_JOINTS[digit]
    often = seen.mean(axis=0) > 0.1
    own = [m for m, spot in enumerate(spots) if spot.joint in joints and not on_palm(spot) and often[m]]
    return max(own, key=lambda m: (joints.index(spots[m].joint), spots[m].offset[1]), default=None)


@dataclass(frozen=True, slots=True, eq=False)
class FittedHand:
    """The result of a fit to free motion."""

    proportions: Proportions
    spots: tuple[Spot, ...]
    """(M,) where the markers sit. Palm markers are carried by the wrist."""
    rho: tuple[float | None, ...]
    """(5,) None where the fit does not determine it."""
    measures: tuple[Measure, ...]
    before: float = 0.0
    """m, median distance of markers in held-out frames for the hand as it was measured before."""
    after: float = 0.0
    """m, the same for this hand."""
    notes: tuple[str, ...] = ()
    """A sentence for each digit that stays as it was measured before."""


def fitting(
    hand: MeasuredHand, at: tuple[Spot, ...], spots: tuple[Spot, ...], names: tuple[str, ...], positions: Floats
) -> Generator[float, None, FittedHand | str]:
    """Fit a hand to free motion, yielding progress 0..1.

    Args:
        hand: the hand as measured before, where the search starts.
        at: (M,) where its markers sit.
        spots: (M,) where the marker set has them.
        names: (M,) their labels.
        positions: (F, M, 3) m, NaN where not seen.

    Returns:
        The fit, or in words why the hand stays as it is.

    Raises:
        HandError: no frame shows three palm markers.
    """
    start = hand.proportions
    positions = positions[palm_seen(start.side, spots, positions)]
    local = to_wrist_frame(start, at, positions)
    if len(positions) < LEAST_FRAMES:
        return f"{len(positions)} frames show the palm, a fit to free motion needs {LEAST_FRAMES}"
    moved = _motion(spots, local)
    if moved < LEAST_MOTION:
        return (
            f"no finger moves by more than {1000 * moved:.0f} mm, a fit to free motion needs {1000 * LEAST_MOTION:.0f}"
        )
    rows = telling_frames(start, spots, local, 2 * MOST_FRAMES)
    fit = prepared(start, at, spots, positions[rows[::2]], hand.model)
    for done in fit.steps():
        yield 0.9 * done
    problem, before = _held_out(fit.problem, start, at, positions[rows[1::2]])
    before, after = posed(problem, before), posed(problem, replace(before, anatomy=fit.state.anatomy))
    kept, notes = _turned(problem, before, after)
    anatomy = keeping(problem.riders, after.anatomy, before.anatomy, kept)
    was, now = _left(problem, before), _left(problem, replace(after, anatomy=anatomy))
    yield 1.0
    if not now < BETTER * was:
        return f"a fit to free motion leaves {1000 * now:.1f} mm where {1000 * was:.1f} mm were left without"
    found = _fitted(fit, names, anatomy, kept)
    return replace(found, before=was, after=now, notes=notes)


def _turned(problem: FitProblem, before: FitState, after: FitState) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Rows of the digits that a fit tilts away from their markers, and a sentence for each."""
    was, now = askew(problem, before), askew(problem, after)
    rows = tuple(row for row in range(len(DIGITS)) if now[row, 0] > was[row, 0] + MOST_ASKEW)
    told = [
        f"the {problem.mean.side} {DIGITS[row]} stays as measured: a fit to free motion turns it by "
        f"{now[row, 1]:.0f} degrees from the line of its markers, {was[row, 1]:.0f} without"
        for row in rows
    ]
    return rows, tuple(told)


def taken_over(hand: MeasuredHand, fitted: FittedHand, spots: dict[str, Spot]) -> MeasuredHand:
    """Apply a fit to a measured hand. Radii that come from the hand's size are updated with it.

    Args:
        hand: the hand as measured before.
        fitted: the fit.
        spots: label -> where the marker sits by the fit.
    """
    usual, now = by_size(hand.proportions), by_size(fitted.proportions)
    by_its_size = np.isclose(hand.radii, usual, rtol=0, atol=1e-6)
    told = {(measure.kind, measure.of) for measure in fitted.measures}
    kept = [measure for measure in hand.measures if (measure.kind, measure.of) not in told]
    for row, bone in np.argwhere(by_its_size).tolist():
        joint = CHAIN_JOINTS[DIGITS[row]][bone]
        kept = [
            replace(one, value=1000 * float(now[row, bone])) if (one.kind, one.of) == ("radius", joint) else one
            for one in kept
        ]
    return replace(
        hand,
        proportions=fitted.proportions,
        spots=spots,
        rho=tuple(own if new is None else new for own, new in zip(hand.rho, fitted.rho, strict=True)),
        radii=np.where(by_its_size, now, hand.radii),
        measures=(*kept, *fitted.measures),
        motion=np.zeros((0, 3)),
    )


def _motion(spots: tuple[Spot, ...], local: Floats) -> float:
    """Range of motion m of the digits' outermost markers along the palm's axes, the largest of all."""
    seen = np.all(np.isfinite(local), axis=-1)
    ends = [end for digit in DIGITS if (end := _outermost(spots, seen, digit)) is not None]
    spans = [np.ptp(np.quantile(local[seen[:, end], end], [0.02, 0.98], axis=0), axis=0).max() for end in ends]
    return float(max(spans, default=0.0))


def _held_out(
    problem: FitProblem, start: Proportions, at: tuple[Spot, ...], positions: Floats
) -> tuple[FitProblem, FitState]:
    """The problem for held-out frames (F, M, 3), and the previous hand as its state."""
    seen = np.all(np.isfinite(positions), axis=-1)
    other = replace(problem, positions=np.where(seen[..., None], positions, 0.0), seen=seen)
    return other, _beginning(other, start, at, np.full(len(DIGITS), DIP_PER_PIP), positions)


def _left(problem: FitProblem, state: FitState) -> float:
    """Median distance m of the markers after fitting the poses."""
    off = np.linalg.norm(problem.off(posed(problem, state)), axis=-1)
    return float(np.median(off[problem.seen]))


def prepared(
    start: Proportions, at: tuple[Spot, ...], spots: tuple[Spot, ...], positions: Floats, known: HandModel
) -> MotionFit:
    """Set up the fit of a hand to all of these frames (F, M, 3) m; arguments as in `fitting`.

    Args:
        start: the proportions where the search starts.
        at: (M,) where its markers sit.
        spots: (M,) where the marker set has them.
        positions: (F, M, 3) m, NaN where not seen.
        known: the hand whose limits are used.
    """
    mean = mean_hand(start.side, spots, positions)
    riders = FitMarkers.of(spots)
    rho = np.full(len(DIGITS), DIP_PER_PIP)
    prior = FitPrior.of(mean, riders, rho, np.full(len(DIGITS), RHO_SPREAD))
    seen = np.all(np.isfinite(positions), axis=-1)
    problem = FitProblem(mean, known, riders, prior, np.where(seen[..., None], positions, 0.0), seen, FIRST_NOISE)
    return MotionFit(problem, _beginning(problem, start, at, rho, positions))


def _beginning(
    problem: FitProblem, start: Proportions, at: tuple[Spot, ...], rho: Floats, positions: Floats
) -> FitState:
    """The relaxed hand, fitted to the palm markers of each frame."""
    palm = [m for m, spot in enumerate(at) if on_palm(spot)]
    root = rot.fit_rigid_to_visible(site_positions(start, tuple(at[m] for m in palm)), positions[:, palm])
    return FitState(problem.riders.begin(start, at, rho), root, np.tile(problem.usual.neutral, (len(root), 1)))


def _fitted(fit: MotionFit, names: tuple[str, ...], anatomy: SharedParameters, kept: tuple[int, ...]) -> FittedHand:
    """The fitted hand, with the uncertainty of each measurement except those of digits in `kept` (rows)."""
    problem = fit.problem
    spread = spreads(problem, fit.state)
    spots = problem.riders.found(problem.mean.side, anatomy)
    off = np.where(problem.seen, np.linalg.norm(problem.off(fit.state), axis=-1), np.nan)
    told: list[Measure] = [
        *_bones(anatomy, spread, len(off)),
        *_knuckles(anatomy, spread, len(off)),
        *_markers(names, spots, spread, off),
    ]
    rho = [
        float(value) if row and row not in kept and sure < RHO_TOLD and 0.1 < value < 1.5 else None
        for row, (value, sure) in enumerate(zip(anatomy.rho, spread[RHO], strict=True))
    ]
    how = "fitted to free motion, with all bones and markers"
    told += [
        Measure("rho", digit, how, value, float(sure), frames=len(off))
        for digit, value, sure in zip(DIGITS, rho, spread[RHO], strict=True)
        if value is not None
    ]
    stays = {joint for row in kept for joint in CHAIN_JOINTS[DIGITS[row]]}
    stays |= {name for m, name in enumerate(names) if problem.riders.digit(m) in kept}
    hand = problem.riders.proportions(problem.mean, anatomy)
    return FittedHand(hand, spots, tuple(rho), tuple(one for one in told if one.of not in stays))


def _bones(anatomy: SharedParameters, spread: Floats, frames: int) -> list[Measure]:
    how = "fitted to free motion, together with the markers' offsets"
    joints = [joint for digit in DIGITS for joint in CHAIN_JOINTS[digit][:3]]
    rows = zip(joints, 1000 * anatomy.lengths.ravel(), 1000 * spread[LENGTHS], strict=True)
    return [Measure("bone", joint, how, float(value), float(sure), frames=frames) for joint, value, sure in rows]


def _knuckles(anatomy: SharedParameters, spread: Floats, frames: int) -> list[Measure]:
    """Distance of each digit's first joint from the wrist, with the standard deviation along that line."""
    how = "fitted to free motion: about which its digit's markers move"
    found = []
    for digit, place, sure in zip(DIGITS, anatomy.palm, spread[PALM].reshape(-1, 3), strict=True):
        away = float(np.linalg.norm(place))
        along = float(np.linalg.norm(sure * place) / away)
        found.append(Measure("palm", CHAIN_JOINTS[digit][0], how, 1000 * away, 1000 * along, frames=frames))
    return found


def _markers(names: tuple[str, ...], spots: tuple[Spot, ...], spread: Floats, off: Floats) -> list[Measure]:
    """Distance of each marker from its joint, with its offset and residual."""
    found = []
    ways = ("towards the little finger", "along the bone", "out of the back")
    for name, spot, sure, left in zip(names, spots, 1000 * spread[OFFSETS:].reshape(-1, 3), off.T, strict=True):
        place = 1000 * np.array(spot.offset)
        known = left[np.isfinite(left)]
        parts = ", ".join(f"{o:.1f} ± {s:.1f} {way}" for o, s, way in zip(place, sure, ways, strict=True))
        how = f"fitted to free motion, mm in the frame of {spot.joint}: {parts}" if len(known) else "never seen"
        away = max(float(np.linalg.norm(place)), 1e-9)
        residual = 1000 * float(np.sqrt((known**2).mean())) if len(known) else None
        along = float(np.linalg.norm(sure * place) / away)
        found.append(Measure("marker", name, how, away, along, residual, frames=len(known)))
    return found
