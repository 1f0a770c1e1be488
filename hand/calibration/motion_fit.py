"""Bones and marker offsets fitted together to a clip of free motion.

Each marker rides somewhere on its joint, each bone has a length, and in each frame the hand has a pose: all at once are
what brings the hand's markers nearest to those seen, and the hand nearest to a mean one where the markers do not tell.
Joint centres follow from how the markers move about them, as in the functional methods (Ehrig et al. 2006, SCoRE), but
on a whole hand whose joints bend within their limits and whose DIPs lean to their PIPs. The markers' offsets are
unknowns as in MoSh (Loper et al. 2014) and AddBiomechanics (Werling et al. 2023), over some hundred frames that show
most of the motion, as optical hands are calibrated by Han et al. (2018).
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
from ..proportions import Proportions, in_palm, site_places
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
"""Frames that a hand is fitted to, and as many others on which it is tried."""
LEAST_FRAMES = 60
"""Of which every other one is left for the trial."""
LEAST_MOTION = 0.02
"""m through which the outermost marker of some digit must move in the palm."""
FIRST_NOISE = 0.0015
"""m on each axis, until the noise is told."""
RHO_SPREAD, RHO_TOLD = 0.15, 0.05
"""Of DIP per PIP: from person to person, and up to which the fit tells it."""
BETTER = 0.8
"""Of what the hand as measured otherwise leaves on frames that were not fitted, a fit must leave less."""


def telling_frames(hand: Proportions, spots: tuple[Spot, ...], local: Floats, most: int = MOST_FRAMES) -> Ints:
    """(N,) the frames that show most of the motion; local (F, M, 3) m are the markers in the wrist's frame.

    Half of them evenly in time, the others evenly through the range of each digit's outermost marker on each axis of
    the palm: a finger that is bent once counts as much as one that is bent for a minute. The outermost hundredth of
    each range is left out, since it may be a swap.
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
    """The marker of a digit that is farthest out, of those that are seen in a tenth of the frames."""
    joints = CHAIN_JOINTS[digit]
    often = seen.mean(axis=0) > 0.1
    own = [m for m, spot in enumerate(spots) if spot.joint in joints and not on_palm(spot) and often[m]]
    return max(own, key=lambda m: (joints.index(spots[m].joint), spots[m].offset[1]), default=None)


@dataclass(frozen=True, slots=True, eq=False)
class FittedHand:
    """A hand as a clip of free motion has it."""

    proportions: Proportions
    spots: tuple[Spot, ...]
    """(M,) where the markers sit. Those of the palm ride on the wrist."""
    rho: tuple[float | None, ...]
    """(5,) where the fit tells it."""
    measures: tuple[Measure, ...]
    before: float = 0.0
    """m that markers were off, in the middle of frames that were not fitted: of the hand as it was measured before."""
    after: float = 0.0
    """m, of this hand."""
    notes: tuple[str, ...] = ()
    """A sentence of each digit that stays as it was measured before."""


def fitting(
    hand: MeasuredHand, at: tuple[Spot, ...], spots: tuple[Spot, ...], names: tuple[str, ...], positions: Floats
) -> Generator[float, None, FittedHand | str]:
    """Fits a hand to free motion; yields how far it is, 0..1, and returns it, or in words why it stays as it is.

    hand: as measured otherwise, from where the search begins, with its markers at the spots `at` (M,). spots, names
    (M,): where the markers are said to be, and their labels. positions (F, M, 3) m, NaN where not seen.

    Raises HandError where no frame shows the palm.
    """
    start = hand.proportions
    positions = positions[palm_seen(start.side, spots, positions)]
    local = in_palm(start, at, positions)
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
    """The digits (rows) that a fit turns away from their markers, and a sentence of each."""
    was, now = askew(problem, before), askew(problem, after)
    rows = tuple(row for row in range(len(DIGITS)) if now[row, 0] > was[row, 0] + MOST_ASKEW)
    told = [
        f"the {problem.mean.side} {DIGITS[row]} stays as measured: a fit to free motion turns it by "
        f"{now[row, 1]:.0f} degrees from the line of its markers, {was[row, 1]:.0f} without"
        for row in rows
    ]
    return rows, tuple(told)


def taken_over(hand: MeasuredHand, fitted: FittedHand, spots: dict[str, Spot]) -> MeasuredHand:
    """The hand with what was fitted; spots: label -> where it was found to sit. Radii by its size go with it."""
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
    """m through which the liveliest digit's outermost marker moves, along the palm's axes."""
    seen = np.all(np.isfinite(local), axis=-1)
    ends = [end for digit in DIGITS if (end := _outermost(spots, seen, digit)) is not None]
    spans = [np.ptp(np.quantile(local[seen[:, end], end], [0.02, 0.98], axis=0), axis=0).max() for end in ends]
    return float(max(spans, default=0.0))


def _held_out(
    problem: FitProblem, start: Proportions, at: tuple[Spot, ...], positions: Floats
) -> tuple[FitProblem, FitState]:
    """The problem of other frames (F, M, 3), and the hand as measured before in them."""
    seen = np.all(np.isfinite(positions), axis=-1)
    other = replace(problem, positions=np.where(seen[..., None], positions, 0.0), seen=seen)
    return other, _beginning(other, start, at, np.full(len(DIGITS), DIP_PER_PIP), positions)


def _left(problem: FitProblem, state: FitState) -> float:
    """m, the median distance of the markers once each frame is posed."""
    off = np.linalg.norm(problem.off(posed(problem, state)), axis=-1)
    return float(np.median(off[problem.seen]))


def prepared(
    start: Proportions, at: tuple[Spot, ...], spots: tuple[Spot, ...], positions: Floats, known: HandModel
) -> MotionFit:
    """The fit of a hand to all of these frames (F, M, 3) m, as `fitting` has them. known: for its limits."""
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
    """The hand at ease, laid on the palm's markers of each frame."""
    palm = [m for m, spot in enumerate(at) if on_palm(spot)]
    root = rot.fit_seen(site_places(start, tuple(at[m] for m in palm)), positions[:, palm])
    return FitState(problem.riders.begin(start, at, rho), root, np.tile(problem.usual.neutral, (len(root), 1)))


def _fitted(fit: MotionFit, names: tuple[str, ...], anatomy: SharedParameters, kept: tuple[int, ...]) -> FittedHand:
    """The hand that was found, and how sure each measure is of the digits that are not kept (rows) as they were."""
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
    """Of the digits' first joints: how far from the wrist, the spread along that line."""
    how = "fitted to free motion: about which its digit's markers move"
    found = []
    for digit, place, sure in zip(DIGITS, anatomy.palm, spread[PALM].reshape(-1, 3), strict=True):
        away = float(np.linalg.norm(place))
        along = float(np.linalg.norm(sure * place) / away)
        found.append(Measure("palm", CHAIN_JOINTS[digit][0], how, 1000 * away, 1000 * along, frames=frames))
    return found


def _markers(names: tuple[str, ...], spots: tuple[Spot, ...], spread: Floats, off: Floats) -> list[Measure]:
    """Of each marker how far it sits from its joint, where, and what is left of it."""
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
