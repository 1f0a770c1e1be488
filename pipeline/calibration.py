"""Measure a performer on a still clip and a clip of free motion (thesis, section 4.2.1).

The still clip gives the lengths of the bones. The free motion gives the positions of the knuckles, the DIP/PIP ratio of
each finger, and the thickness of the joints. Both clips may come from one capture. If the capture has markers rather
than joints, the bones and marker offsets are then fitted together to the free motion.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..capture.markers import Markers
from ..errors import HandError, KnuckleError, MarkerMapError
from ..hand.calibration import still_clip
from ..hand.calibration.dip_coupling import SMOOTHING_FRAMES, measure_rho
from ..hand.calibration.joint_radii import measure_radii
from ..hand.calibration.marker_angles import flexions
from ..hand.calibration.measuring import bone_measurements, measure_proportions
from ..hand.calibration.motion_fit import apply_motion_fit, fit_steps
from ..hand.calibration.palm_joints import palm_measurements
from ..hand.calibration.skin_markers import Recording, SkinFit, fit_hands
from ..hand.generators import Progress, Steps, part_of
from ..hand.joints import CHAIN_JOINTS, DIGITS, Side, digit_of
from ..hand.limits import DIP_PER_PIP
from ..hand.marker_sets import Spot, palm_visible
from ..hand.measured_hand import MeasuredHand, apply_skin_fit
from ..hand.measurements import Measurement
from ..hand.proportions import Proportions, to_wrist_frame
from ..hand.targets import assign
from ..solvers.fabrik import Fabrik
from . import performer
from .assignment import (
    Assignment,
    Reader,
    assign_hands,
    check_solvable,
    label_markers_stepwise,
    read_file,
)
from .calibration_choices import CalibrationChoices, FrameRange, describe_frames, unknown_per_bone
from .marker_cleaning import clean_markers
from .performer import Performer
from .recipe import Recipe

Floats = NDArray[np.float64]

MAX_SAMPLED_FRAMES = 300
"""Frames of free motion that are kept: enough to sample a fingertip's path at steps of some millimetres."""
MAX_RATE_DIFFERENCE = 0.05
"""Maximum relative difference in rate of clips of free motion, whose change from frame to frame is compared."""
MARKER_FORMATS = ("C3D", "TRC", "Qualisys TSV", "Motive CSV", "table")
"""Formats with markers on the skin or a glove; other formats contain joints computed by a device."""


@dataclass(frozen=True, slots=True, eq=False)
class _Clip:
    """A cleaned capture and which of its markers belong to which hand."""

    markers: Markers
    assignment: Assignment


@dataclass(frozen=True, slots=True, eq=False)
class _Motion:
    """A clip of free motion."""

    clip: _Clip
    rows: range

    def __str__(self) -> str:
        return f"{self.clip.markers.source}, {describe_frames(self.rows)}"


class CalibrationJob:
    """Measure a performer step by step: iterate `steps()` to the end, then read `performer`."""

    def __init__(self, recipe: Recipe, choices: CalibrationChoices, reader: Reader = read_file) -> None:
        self.recipe, self.choices, self.reader = recipe, choices, reader
        self.performer: Performer | None = None
        self._notes: list[str] = []
        self._clips: dict[str, list[str]] = {"still": [], "motion": [], "fit": []}

    def steps(self) -> Steps[None]:
        """Read, clean, assign and measure. Raises KnuckleError.

        If the recipe's `hand` is auto, a hand that cannot be measured is left out with a note.
        """
        still = yield from part_of(0.0, 0.2, "", _read(self.recipe, self.reader))
        motions = yield from self._read_motions(still)
        self._notes += still.assignment.warnings
        for motion in motions:
            self._notes += motion.clip.assignment.warnings
        measured, problem = yield from self._measure_hands(still, motions)
        if on_skin := [hand for hand in measured if hand.on_skin and self.choices.fit is not False]:
            yield Progress(0.7, f"Fitting the {' and the '.join(hand.side for hand in on_skin)} hand with skin markers")
            self._notes += _fit_skin_markers(on_skin)
        hands: dict[Side, MeasuredHand] = {}
        for number, hand in enumerate(measured):
            start, end = (0.8 + 0.2 * count / len(measured) for count in (number, number + 1))
            try:
                hands[hand.side] = yield from part_of(start, end, "", hand.finish())
            except (MarkerMapError, HandError) as error:
                problem = self._leave_out(hand.side, error, problem)
                continue
            self._notes += hand.notes
            for clip, text in hand.clips.items():
                self._clips[clip].append(f"{hand.side} hand: {text}")
        if not hands:
            raise problem or MarkerMapError(f"{still.markers.source}: holds no hand")
        clips = {clip: "; ".join(texts) for clip, texts in self._clips.items() if texts}
        self.performer = Performer(self.recipe.capture, hands, clips, tuple(dict.fromkeys(self._notes)))

    def _read_motions(self, still: _Clip) -> Steps[list[_Motion]]:
        """Read the captures of the clips of free motion, each once.

        Raises HandError if a clip is too short.
        """
        clips, motions = {self.recipe.capture: still}, []
        for number, choice in enumerate(self.choices.motions):
            capture = choice.capture or self.recipe.capture
            if capture not in clips:
                start, end = (0.2 + 0.1 * count / len(self.choices.motions) for count in (number, number + 1))
                recipe = replace(self.recipe, capture=capture)
                clips[capture] = yield from part_of(start, end, "", _read(recipe, self.reader))
            clip = clips[capture]
            default = FrameRange(self.recipe.start or 1, self.recipe.end) if clip is still else FrameRange()
            motions.append(_Motion(clip, (choice.frames or default).frames(clip.markers)))
        return motions

    def _measure_hands(
        self, still: _Clip, motions: list[_Motion]
    ) -> Steps[tuple[list["_HandCalibration"], KnuckleError | None]]:
        """Measure each hand; return the measured hands, and the error of the first that could not be measured.

        Raises MarkerMapError if a further clip of free motion has none of the hands.
        """
        sides = still.assignment.hands.keys()
        for motion in motions[1:]:
            if not sides & motion.clip.assignment.hands.keys():
                raise MarkerMapError(
                    f"{motion.clip.markers.source}: has no {' or '.join(sides)} hand, as {still.markers.source} has"
                )
        measured: list[_HandCalibration] = []
        problem = None
        for number, side in enumerate(still.assignment.hands):
            start, end = (0.3 + 0.4 * count / len(still.assignment.hands) for count in (number, number + 1))
            try:
                hand = _HandCalibration(side, still, motions, self.recipe, self.choices)
                yield from part_of(start, end, "", hand.measure())
            except (MarkerMapError, HandError) as error:
                problem = self._leave_out(side, error, problem)
                continue
            measured.append(hand)
        return measured, problem

    def _leave_out(self, side: Side, error: KnuckleError, first: KnuckleError | None) -> KnuckleError:
        """Note that a hand is left out, or raise the error if the recipe requests the hand. Returns the first error."""
        if self.recipe.hand != "auto":
            raise error
        self._notes.append(f"the {side} hand was left out: {error}")
        return first or error


def _read(recipe: Recipe, reader: Reader) -> Steps[_Clip]:
    """Read and clean all frames of a capture; clips are selected later."""
    markers = yield from part_of(0.0, 0.4, "", reader(recipe))
    raw = (yield from part_of(0.4, 0.7, "", label_markers_stepwise(recipe, markers))).markers
    assigned = assign_hands(recipe, raw)
    cleaned = yield from part_of(0.7, 1.0, "", clean_markers(recipe, raw, assigned))
    return _Clip(cleaned.markers, assigned)


class _HandCalibration:
    """Measure one hand on the still clip and the clips of free motion."""

    def __init__(
        self, side: Side, still: _Clip, motions: list[_Motion], recipe: Recipe, choices: CalibrationChoices
    ) -> None:
        first = motions[0].clip
        self.side, self.recipe, self.choices = side, recipe, choices
        self.still_markers, self.motion_markers = still.markers, first.markers
        if side not in first.assignment.hands:
            raise MarkerMapError(f"{first.markers.source}: has no {side} hand, the still clip has one")
        check_solvable(side, first.assignment.hands[side], first.markers)
        self.on_skin = first.assignment.on_skin
        self.label_spots = first.assignment.hands[side] | still.assignment.hands[side]
        """label -> spot, from both captures; the still clip's spot where they differ."""
        self.spots = tuple(dict.fromkeys(self.label_spots.values()))
        """(M,) spots of the markers in both captures, without duplicates."""
        self.spot_labels = {spot: label for label, spot in self.label_spots.items()}
        """spot -> label; the still clip's label where the captures differ."""
        self.still_positions = _positions_at(still, self.spots, side)
        self.shared_rows = next((motion.rows for motion in motions if motion.clip is still), None)
        """Frames of free motion in the capture of the still clip; None if all are in other captures."""
        self.notes: list[str] = []
        self.hand: MeasuredHand
        motions = [motion for motion in motions if side in motion.clip.assignment.hands]
        for motion in motions[1:]:
            self._check_further(motion.clip)
        self.motions = [
            _positions_at(motion.clip, self.spots, side)[motion.rows.start : motion.rows.stop] for motion in motions
        ]
        """(F, M, 3) m each, the clips of free motion that have this hand."""
        self.clips = {"motion": " and ".join(map(str, motions))}

    def _check_further(self, clip: _Clip) -> None:
        """Raise an error if a capture's rate, or what its markers sit on, is not that of the first free motion."""
        first, further = self.motion_markers, clip.markers
        if not np.isclose(further.rate, first.rate, rtol=MAX_RATE_DIFFERENCE):
            raise HandError(
                f"{further.source}: has {further.rate:g} frames per second and {first.source} has {first.rate:g}, "
                "expected one rate for all clips of free motion"
            )
        if clip.assignment.on_skin != self.on_skin:
            sit = ["on the joints", "on the skin"]
            raise MarkerMapError(
                f"{further.source}: its markers sit {sit[clip.assignment.on_skin]}, those of {first.source} "
                f"{sit[self.on_skin]}"
            )

    def measure(self) -> Steps[None]:
        """Measure the hand without its skin markers."""
        yield Progress(0.0, f"Measuring the {self.side} hand")
        motion = np.concatenate(self.motions)
        lengths, measurements = self._still_lengths()
        palm_positions = np.concatenate([self.still_positions, motion]) if self.shared_rows is None else motion
        proportions, spots = measure_proportions(self.side, self.spots, palm_positions, lengths)
        local = _in_palm_frame(proportions, spots, palm_positions)
        measurements += bone_measurements(proportions, spots, local, lengths)
        measurements += palm_measurements(proportions, spots, local)
        local = _in_palm_frame(proportions, spots, motion)
        for number, digit in enumerate(DIGITS):
            yield Progress(0.2 + 0.04 * number, f"Measuring the {self.side} {digit}")
            measurements += self._measure_joints(proportions, spots, local, digit)
        self._add_notes(measurements)
        saved_performer = self.recipe.performer
        limits = (
            {}
            if saved_performer is None
            else performer.from_dict(saved_performer, "performer").hand(self.side, {}).limits
        )
        radii_mm = [
            [_measured_value(measurements, "radius", joint) for joint in chain[:3]] for chain in CHAIN_JOINTS.values()
        ]
        hand = MeasuredHand(
            proportions,
            {label: spots[self.spots.index(spot)] for label, spot in self.label_spots.items()},
            rho=tuple(_measured_value(measurements, "rho", digit) for digit in DIGITS),
            radii=np.array(radii_mm, float) / 1000,
            limits=limits,
            measurements=tuple(measurements),
        )
        requested = self.choices.fit or (self.choices.fit is None and self.motion_markers.format in MARKER_FORMATS)
        if requested and not self.on_skin:
            hand = yield from self._fit_to_motion(hand, spots, motion)
        self.hand = hand

    def finish(self) -> Steps[MeasuredHand]:
        """Solve the free motion with the measured and fitted hand; return the hand."""
        yield Progress(0.0, f"Solving the {self.side} hand's free motion")
        spots = {label: self.hand.spots[label] for label in self.spot_labels.values()}
        return replace(self.hand, spots=spots, motion=self._solve_motion(self.hand))

    def recording(self) -> Recording:
        """Return the takes to which the hand is fitted with its skin markers."""
        clips = list(self.motions)
        if self.shared_rows is None:
            clips.append(self.still_positions)
        spots = {self.spot_labels[spot]: spot for spot in self.spots}
        return Recording(clips, self.motion_markers.rate, spots)

    def apply(self, skin_fit: SkinFit) -> None:
        """Use the result of a fit with skin markers. Raises HandError if the hand's own limits do not allow it."""
        self.hand = apply_skin_fit(self.hand, skin_fit)
        self.clips["fit"] = f"of {self.clips['motion']}: with its skin markers"

    def _fit_to_motion(self, hand: MeasuredHand, spots: tuple[Spot, ...], motion: Floats) -> Steps[MeasuredHand]:
        """Fit bones and marker offsets to the free motion. The fit is used if it is better on held-out frames."""
        labels = tuple(self.spot_labels[spot] for spot in self.spots)
        search = fit_steps(hand, spots, self.spots, labels, motion)
        fitted = yield from part_of(0.4, 0.97, f"Fitting the {self.side} hand to its motion", search)
        if isinstance(fitted, str):
            self.notes.append(f"the {self.side} hand's bones stay as measured: {fitted}")
            return hand
        self.notes += fitted.notes
        self.clips["fit"] = (
            f"of {self.clips['motion']}: median error of the markers on held-out frames "
            f"{1000 * fitted.residual_after:.1f} mm, {1000 * fitted.residual_before:.1f} mm without it"
        )
        fitted_spots = {label: fitted.spots[self.spots.index(spot)] for label, spot in self.label_spots.items()}
        return apply_motion_fit(hand, fitted, fitted_spots)

    def _solve_motion(self, hand: MeasuredHand) -> Floats:
        """Return angles (N, D) in rad of the free motion, sampled evenly from the frames in which all markers are
        seen."""
        positions = np.concatenate(self.motions)
        seen = np.flatnonzero(np.isfinite(positions).any(axis=(0, 2)))
        positions = positions[:, seen]
        positions = positions[np.all(np.isfinite(positions), axis=(1, 2))]
        positions = positions[:: max(1, -(-len(positions) // MAX_SAMPLED_FRAMES))]
        labels = (self.spot_labels[self.spots[column]] for column in seen)
        spots = {label: hand.spots[label] for label in labels}
        model, targets = assign(hand.model, spots, np.arange(float(len(positions))), positions)
        return Fabrik().solve(model, targets)[0].angles

    def _still_lengths(self) -> tuple[Floats, list[Measurement]]:
        """Return bone lengths (5, 3) in m, NaN where not measured.

        Raises HandError if the chosen still clip is not still.
        """
        positions, source = self.still_positions, self.still_markers.source
        if self.choices.still is not None:
            rows = self.choices.still.frames(self.still_markers)
        else:
            candidates = range(len(positions)) if self.shared_rows is None else self.shared_rows
            first = candidates.start + still_clip.stillest_window(positions[candidates.start : candidates.stop])
            rows = range(first, min(first + still_clip.STILL_FRAMES, candidates.stop))
        movement = still_clip.movement(positions[rows.start : rows.stop])
        movement_text = f"its markers move by {1000 * movement:.1f} mm in {describe_frames(rows)}"
        if movement > still_clip.MAX_MOVEMENT:
            if self.choices.still is not None:
                raise HandError(
                    f"{self.side} hand: {movement_text} of {source}, "
                    f"a still hand's by at most {1000 * still_clip.MAX_MOVEMENT:.0f} mm"
                )
            self.notes.append(
                f"the {self.side} hand is never still for {still_clip.STILL_FRAMES} frames, at best {movement_text}"
            )
            self.clips["still"] = "none"
            return unknown_per_bone(), []
        if len(rows) < still_clip.STILL_FRAMES:
            self.notes.append(f"{source} has {len(rows)} of the {still_clip.STILL_FRAMES} frames of a still clip")
        self.clips["still"] = f"{source}, {describe_frames(rows)}, {1000 * movement:.1f} mm of movement"
        return still_clip.bone_lengths(self.spots, positions[rows.start : rows.stop], f"still {describe_frames(rows)}")

    def _measure_joints(
        self, hand: Proportions, spots: tuple[Spot, ...], local: Floats, digit: str
    ) -> list[Measurement]:
        """Measure a digit's joint radii and, if it is a finger, its rho."""
        entered, joints = self.choices.radii[DIGITS.index(digit)], CHAIN_JOINTS[digit]
        angles, smoothed = None, 1  # radii are fitted to frames that are not consecutive
        if np.isfinite(entered).all():
            measurements = [
                Measurement("radius", joints[bone], "typed", 1000 * float(entered[bone])) for bone in range(3)
            ]
        else:
            measurements, angles = measure_radii(hand, spots, local, digit)
        if digit != "thumb":
            if angles is None:
                angles, smoothed = flexions(hand, spots, local, digit), SMOOTHING_FRAMES
            measurements.append(measure_rho(digit, angles[:, 1], angles[:, 2], smoothed))
        return measurements

    def _add_notes(self, measurements: list[Measurement]) -> None:
        """Add a note for each reason why a rho or radius was not measured, with all digits concerned."""
        reasons: dict[str, list[str]] = {}
        for entry in measurements:
            if entry.kind == "rho" and entry.value is None:
                reason = entry.how.removeprefix("not measured: ")
                reasons.setdefault(f"rho stays {DIP_PER_PIP:.2f}, {reason}", []).append(entry.of)
            elif entry.kind == "radius" and ": " in entry.how:
                reasons.setdefault(f"joint radii {entry.how}", []).append(digit_of(entry.of) or entry.of)
        for reason, digits in reasons.items():
            self.notes.append(f"{self.side} hand, {', '.join(dict.fromkeys(digits))}: {reason}")


def _fit_skin_markers(hands: list[_HandCalibration]) -> tuple[str, ...]:
    """Fit hands together with their skin markers; a hand that cannot be fitted stays as measured. Returns notes."""
    result = fit_hands({hand.side: hand.recording() for hand in hands})
    problems = dict(result.problems)
    for hand in hands:
        if hand.side in result.fits:
            try:
                hand.apply(result.fits[hand.side])
            except HandError as error:
                problems[hand.side] = error
    failed = (f"the {side} hand was not fitted with its markers: {error}" for side, error in problems.items())
    return (*result.notes, *failed)


def _measured_value(measurements: list[Measurement], kind: str, name: str) -> float | None:
    """Return the measured rho of a digit, or radius of a joint; None if it was not measured."""
    return next((entry.value for entry in measurements if entry.kind == kind and entry.of == name), None)


def _positions_at(clip: _Clip, spots: tuple[Spot, ...], side: Side) -> Floats:
    """Return positions (F, M, 3) in m of the markers at these spots, NaN where the clip has none."""
    positions = np.full((len(clip.markers.times), len(spots), 3), np.nan)
    for label, spot in clip.assignment.hands[side].items():
        if spot in spots:
            positions[:, spots.index(spot)] = clip.markers.positions[:, clip.markers.names.index(label)]
    return positions


def _in_palm_frame(hand: Proportions, spots: tuple[Spot, ...], positions: Floats) -> Floats:
    """Return positions (N, M, 3) in m in the wrist's frame, for the N frames in which the palm is seen."""
    return to_wrist_frame(hand, spots, positions[palm_visible(spots, positions)])


def run(recipe: Recipe, choices: CalibrationChoices) -> Performer:
    """Measure a performer on the recipe's capture and return the result. Raises KnuckleError."""
    calibration = CalibrationJob(recipe, choices)
    for _ in calibration.steps():
        pass
    assert calibration.performer is not None
    return calibration.performer
