"""From a recipe to solved hands: read, clean, assign, measure, smooth, solve. The path of the data in one place."""

import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import captures, performer, solvers
from .captures.clean import clean, resample
from .captures.markers import Markers
from .denoise import Calm, calmed
from .errors import HandError, MarkerMapError
from .hand import calibration, mirror
from .hand.handedness import handedness
from .hand.joints import BENDING_JOINTS, CHAIN_JOINTS, DIGITS, SIDES, Side
from .hand.kinematics import Pose
from .hand.markersets import Groups, Spot, Suggestion, claimed_side, completeness, from_json, on_palm, suggest
from .hand.measured import MeasuredHand
from .hand.model import HandModel
from .hand.proportions import Proportions
from .hand.targets import Targets, assign
from .labels import Labels, as_named, by_shape
from .onto_rig import Asked, Rig
from .performer import Performer
from .recipe import Recipe, to_dict
from .report import doubts, hand_report
from .retarget import Kept, figures_of
from .solvers import Smoothing, Solver, State, beginning
from .solvers.companions import accompanied
from .solvers.smoothing.told import shown as digits_shown

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

PIECE = 2000
"""Frames solved between two steps of progress."""
SURE = 0.15
"""How sure a hand's shape must be of its side to overrule its label."""


@dataclass(frozen=True, slots=True, eq=False)
class SolvedHand:
    """One hand of a take, solved over F frames."""

    side: Side
    hand: HandModel
    proportions: Proportions
    targets: Targets
    """As they were measured and cleaned, not as smoothed: what errors are counted to."""
    pose: Pose
    predicted: Bools
    """(F, J) True where a joint was not held by a measured marker in that frame."""
    measured: Bools
    """(F, T) True where a target was seen, not filled in and not left out as an outlier."""
    companions: tuple[str, ...] = ()
    """Fingers without a marker, which go with the others."""
    driven: Kept | None = None
    """What the hand of the rig does, which is of other proportions; None where Knuckle builds the hand."""


@dataclass(frozen=True, slots=True, eq=False)
class Take:
    """A capture, solved."""

    recipe: Recipe
    markers: Markers
    """Cleaned, at the rate of the solved frames; as the capture has them, whether or not the hands are mirrored."""
    times: Floats
    """(F,) s of the solved frames, as the capture counts them."""
    hands: tuple[SolvedHand, ...]
    report: dict[str, Any]
    """capture, frames, rate, solver, hands{side: ...}, seconds{read, solve}: JSON-ready."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a job is: a fraction 0..1 and what it is doing, in words."""

    fraction: float
    doing: str


@dataclass(frozen=True, slots=True)
class Assignment:
    """Which markers are which hand's."""

    set_name: str
    confidence: float
    hands: dict[Side, dict[str, Spot]]
    warnings: tuple[str, ...]


def read(recipe: Recipe) -> Markers:
    """The capture's markers over the recipe's frames, not yet cleaned. Raises CaptureError or MarkerMapError."""
    markers = captures.read(recipe.capture, unit=recipe.unit, up=recipe.up)
    if recipe.start is None and recipe.end is None:
        return markers
    first, last = (recipe.start or 1) - 1, recipe.end
    if first >= len(markers.times):
        raise MarkerMapError(
            f"{markers.source}: frames from {first + 1} on were asked for, the capture has {len(markers.times)}"
        )
    return markers.select(slice(first, last))


def labelled(recipe: Recipe, markers: Markers) -> Labels:
    """The markers with labels that tell: as they are, or found by shape where the recipe asks for it or names fail.

    Raises MarkerMapError where neither names nor shape show a hand, or for a map that is not understood.
    """
    if recipe.labels != "shape" and recipe.markers is not None:
        return as_named(markers, from_json(recipe.markers, "marker map"))
    if recipe.labels == "names":
        return as_named(markers, suggest(markers.names).groups)
    known = performer.from_dict(recipe.performer, "performer").hands if recipe.performer is not None else None
    asked: Side | None = next((side for side in SIDES if side == recipe.hand), None)
    if recipe.labels == "shape":
        return by_shape(markers, known, asked)
    try:
        groups = suggest(markers.names).groups
    except MarkerMapError as unnamed:
        try:
            return by_shape(markers, known, asked)
        except MarkerMapError as shapeless:
            raise MarkerMapError(f"{unnamed}; {shapeless}") from unnamed
    return as_named(markers, groups)


def assignment(recipe: Recipe, markers: Markers) -> Assignment:
    """The hands that the recipe asks for, found among the labels.

    Raises MarkerMapError when there is no hand, or not the one asked for.
    """
    if recipe.markers is not None:
        groups = from_json(recipe.markers, "marker map")
        found = Suggestion("marker map", groups, max(map(completeness, groups.values())))
    else:
        found = suggest(markers.names)
    hands: dict[Side, dict[str, Spot]] = {}
    warnings: list[str] = []
    for group, spots in _fullest_first(_present(found.groups, markers)):
        side = _side(group, spots, markers, told=recipe.markers is not None, warnings=warnings)
        if side in hands:
            warnings.append(f"'{group}' is a second {side} hand and was left aside")
        else:
            hands[side] = spots
    return Assignment(found.name, found.confidence, _asked(recipe, markers, hands), tuple(warnings))


def _present(groups: Groups, markers: Markers) -> Groups:
    """The groups with the labels that the capture has. Raises MarkerMapError for a map that names another."""
    for group, spots in groups.items():
        for label in spots:
            if label not in markers.names:
                raise MarkerMapError(
                    f"{markers.source}: the marker map's label '{label}' ({group}) is not in the capture"
                )
    return groups


def _fullest_first(groups: Groups) -> list[tuple[str, dict[str, Spot]]]:
    return sorted(groups.items(), key=lambda entry: -completeness(entry[1]))


def positions_of(markers: Markers, spots: dict[str, Spot]) -> Floats:
    """(F, T, 3) m, the markers at these spots, NaN where not seen."""
    return markers.positions[:, [markers.names.index(label) for label in spots]]


def _side(group: str, spots: dict[str, Spot], markers: Markers, told: bool, warnings: list[str]) -> Side:
    """Left or right: as the hand's shape says unless the person said so, as the label claims where shape is unsure."""
    claimed = claimed_side(group)
    shape, sure = handedness(tuple(spots.values()), positions_of(markers, spots))
    if shape is None or sure < SURE:
        return claimed or "right"
    if claimed is None or shape == claimed:
        return shape
    if told:
        warnings.append(f"the marker map calls '{group}' what has the shape of a {shape} hand")
        return claimed
    warnings.append(f"'{group}' has the shape of a {shape} hand and is taken for one")
    return shape


def _asked(recipe: Recipe, markers: Markers, hands: dict[Side, dict[str, Spot]]) -> dict[Side, dict[str, Spot]]:
    """The hands asked for. Raises MarkerMapError if the capture lacks one of them."""
    wanted = {"auto": tuple(hands), "both": SIDES}.get(recipe.hand, (recipe.hand,))
    for side in wanted:
        if side not in hands:
            raise MarkerMapError(
                f"{markers.source}: holds a {' and a '.join(hands)} hand, not the {side} one that was asked for"
            )
    return {side: hands[side] for side in SIDES if side in wanted}


def check_solvable(side: Side, spots: dict[str, Spot], markers: Markers) -> None:
    """Raises MarkerMapError or HandError for a hand of which no finger, or not the palm, can be solved."""
    if not any(spot.joint in BENDING_JOINTS or _on_bone(spot) for spot in spots.values()):
        raise MarkerMapError(f"{markers.source}: the {side} hand has no marker on a finger")
    if not np.isfinite(positions_of(markers, spots)).all(-1).any():
        raise MarkerMapError(f"{markers.source}: none of the {side} hand's markers is ever seen")
    calibration.palm_seen(side, tuple(spots.values()), positions_of(markers, spots))


def _on_bone(spot: Spot) -> bool:
    """Whether a marker rides on a digit's first moving bone, away from its knuckle."""
    return any(spot.offset) and spot.joint in {joints[0] for joints in CHAIN_JOINTS.values()}


def calibrate(recipe: Recipe, markers: Markers, assigned: Assignment) -> tuple[Performer, Assignment]:
    """The performer, as the recipe has them or measured on the cleaned markers, and the hands that can be solved.

    Where the recipe takes what the capture holds, a hand with too few markers is left aside with a warning. Raises
    KnuckleError where none is left, or one that was asked for cannot be measured.
    """
    known = performer.from_dict(recipe.performer, "performer") if recipe.performer is not None else None
    hands: dict[Side, MeasuredHand] = {}
    warnings, problem = list(assigned.warnings), None
    for side, spots in assigned.hands.items():
        try:
            check_solvable(side, spots, markers)
            hands[side] = known.hand(side, spots) if known else _measured(side, spots, markers)
        except (MarkerMapError, HandError) as error:
            if recipe.hand != "auto":
                raise
            problem = problem or error
            warnings.append(f"the {side} hand was left aside: {error}")
    if not hands and problem is not None:
        raise problem
    usable = {side: assigned.hands[side] for side in hands}
    return Performer(recipe.capture, hands), replace(assigned, hands=usable, warnings=tuple(warnings))


def _measured(side: Side, spots: dict[str, Spot], markers: Markers) -> MeasuredHand:
    proportions, found = calibration.measure(side, tuple(spots.values()), positions_of(markers, spots))
    return MeasuredHand(proportions, dict(zip(spots, found, strict=True)))


class Job:
    """Runs a recipe step by step, so that a panel can show progress and cancel between the steps.

    Iterate `steps()` to the end, then read `take`. Nothing outside the job is changed by it.
    """

    def __init__(self, recipe: Recipe, rig: Rig | None = None) -> None:
        self.recipe = recipe
        self.rig = rig
        self.take: Take | None = None

    def steps(self) -> Iterator[Progress]:
        """Reads, cleans, assigns, measures, smooths and solves in pieces. Raises KnuckleError."""
        recipe, begin = self.recipe, time.perf_counter()
        solver = solvers.make(recipe.solver, recipe.settings)
        smoothing = solvers.make_smoothing(recipe.smoothing, recipe.smoothing_settings)
        yield Progress(0.0, f"Reading {Path(recipe.capture).name}")
        labels = labelled(recipe, read(recipe))
        raw = labels.markers
        seconds = {"read": time.perf_counter() - begin}
        yield Progress(0.1, "Cleaning")
        markers = clean(raw, recipe.cleaning)
        yield Progress(0.15, "Measuring the performer")
        person, assigned = calibrate(recipe, markers, assignment(recipe, raw))
        asked = Asked(recipe, self.rig)
        for doing in asked.ask(person):
            yield Progress(0.17, doing)
        person = asked.performing(person)
        notes = tuple(note for allowed in asked.allowed.values() for note in allowed.notes)
        assigned = replace(assigned, warnings=assigned.warnings + notes)
        yield Progress(0.18, "Smoothing")
        samples = markers.seen & (raw.predicted | ~markers.predicted)
        # Before resampling: what is put between samples has less noise than they.
        calm = calmed(smoothing, person, markers, samples, recipe.cleaning.gap_limit)
        if recipe.fps is not None:
            markers, calm = resample(markers, recipe.fps), replace(calm, markers=resample(calm.markers, recipe.fps))
        solved = []
        for number, measured in enumerate(person.hands.values()):
            span = (0.2 + 0.8 * number / len(person.hands), 0.2 + 0.8 * (number + 1) / len(person.hands))
            solved.append((yield from _solve(measured, markers, calm, Methods(solver, smoothing), span)))
        if recipe.mirror:
            solved = [_mirrored(hand) for hand in reversed(solved)]
        solved = [replace(one, driven=asked.driven(person, one.pose)) for one in solved]
        seconds["solve"] = time.perf_counter() - begin - seconds["read"]
        report = _report(recipe, markers, assigned, solved, seconds)
        report["labels"] = labels.facts
        for side, allowed in asked.allowed.items():
            report["hands"][asked.drives(side)]["limited_bones"] = allowed.bones
        report["warnings"] += [
            f"no marker on {', '.join(one.companions)} of the {one.side} hand: guessed from the fingers beside"
            for one in solved
            if one.companions
        ]
        report["warnings"] += [doubt for side, hand in report["hands"].items() for doubt in doubts(side, hand)]
        self.take = Take(recipe, markers, markers.times, tuple(solved), report)


def _mirrored(solved: SolvedHand) -> SolvedHand:
    """The other hand that moves alike. Angles stay, so that limits hold and errors are as large as they were."""
    hand = mirror.model(solved.hand)
    return replace(
        solved,
        side=hand.side,
        hand=hand,
        proportions=solved.proportions.mirrored(),
        targets=mirror.targets(solved.targets),
        pose=mirror.pose(solved.pose, hand),
    )


@dataclass(frozen=True, slots=True)
class Methods:
    """How a hand is solved."""

    solver: Solver[Any]
    smoothing: Smoothing


def _solve(
    measured: MeasuredHand, markers: Markers, calm: Calm, how: Methods, span: tuple[float, float]
) -> Generator[Progress, None, SolvedHand]:
    """One hand by its calm markers, piece by piece; the progress goes from the first to the second of `span`."""
    proportions, spots = measured.proportions, measured.spots
    hand, targets = assign(measured.model, spots, calm.markers.times, positions_of(calm.markers, spots))
    state = _first_sight(how.solver, hand, targets, beginning(how.solver, measured))
    poses = []
    for start in range(0, len(targets), PIECE):
        yield Progress(span[0] + (span[1] - span[0]) * start / len(targets), f"Solving the {hand.side} hand")
        pose, state = how.solver.solve(hand, targets.select(slice(start, start + PIECE)), state)
        poses.append(pose)
    pose = Pose(hand, np.concatenate([p.root for p in poses]), np.concatenate([p.angles for p in poses]))
    pose = how.smoothing.steadied(hand, targets, pose, calm.noise[hand.side])
    pose, companions = accompanied(pose, np.any(digits_shown(hand, targets), axis=0))
    filled = calm.markers.predicted[:, [markers.names.index(label) for label in spots]]
    seen = (targets.weights > 0) & ~filled
    _, shown = assign(measured.model, spots, markers.times, positions_of(markers, spots))
    predicted = predicted_joints(hand, targets, seen)
    return SolvedHand(hand.side, hand, proportions, shown, pose, predicted, seen, companions)


def _first_sight(solver: Solver[Any], hand: HandModel, targets: Targets, state: State | None) -> State:
    """The state in the frame that shows most of the hand, so that frames before it do not begin at the origin."""
    fullest = int((targets.weights > 0).sum(axis=1).argmax())
    seen: State = solver.solve(hand, targets.select(slice(fullest, fullest + 1)), state)[1]
    return seen


def predicted_joints(hand: HandModel, targets: Targets, measured: Bools) -> Bools:
    """(F, J) True where no marker measured in that frame holds the joint.

    A joint of a digit is held by a marker on it or beyond it, the palm's joints by three markers on the palm.
    measured (F, T): True where a target was seen and not filled in.
    """
    result = np.ones((len(targets), len(hand.joints)), bool)
    sites = [hand.sites[site] for site in targets.sites]
    palm = [i for i, site in enumerate(sites) if on_palm(Spot(hand.joints[site.joint], site.offset))]
    still = [j for j, name in enumerate(hand.joints) if name not in BENDING_JOINTS]
    result[:, still] = (measured[:, palm].sum(1) < 3)[:, None]
    for digit in DIGITS:
        chain = [hand.joints.index(joint) for joint in CHAIN_JOINTS[digit]]
        for k in (1, 2, 3):
            holders = [i for i, site in enumerate(sites) if site.joint in chain[k:]]
            result[:, chain[k]] = ~measured[:, holders].any(1)
    return result


def _report(
    recipe: Recipe, markers: Markers, assigned: Assignment, solved: list[SolvedHand], seconds: dict[str, float]
) -> dict[str, Any]:
    """The take in figures, JSON-ready."""
    figures = {s.side: hand_report(s.hand, s.targets, s.pose, s.predicted, s.measured) for s in solved}
    for one in solved:
        if one.driven is not None:
            figures[one.side]["rig"] = figures_of(one.driven)
    return {
        "capture": recipe.capture,
        "format": markers.format,
        "frames": len(markers.times),
        "rate": markers.rate,
        "solver": recipe.solver,
        "smoothing": recipe.smoothing,
        "marker_set": {"name": assigned.set_name, "confidence": round(assigned.confidence, 3)},
        "hands": figures,
        "warnings": [*markers.warnings, *assigned.warnings],
        "recipe": to_dict(recipe),
        "seconds": {name: round(value, 4) for name, value in seconds.items()},
    }


def run(recipe: Recipe) -> Take:
    """A recipe, run to its end. Raises KnuckleError."""
    job = Job(recipe)
    for _ in job.steps():
        pass
    assert job.take is not None
    return job.take
