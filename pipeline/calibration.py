"""Measure a performer on a still clip and a clip of free motion (thesis, section 4.2.1).

The still clip gives the lengths of the bones. The free motion gives the positions of the knuckles, the DIP/PIP ratio of
each finger, and the thickness of the joints. Both clips may come from one capture. If markers were recorded, and not
joints, the bones and the offsets of the markers are then fitted together to the free motion.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .. import capture as captures
from ..capture.cleaning import clean
from ..capture.markers import Markers
from ..errors import HandError, MarkerMapError
from ..hand.calibration import still_clip as still
from ..hand.calibration.dip_coupling import SMOOTHING_FRAMES, measure_rho
from ..hand.calibration.joint_radii import measure_radii
from ..hand.calibration.marker_angles import flexions
from ..hand.calibration.measuring import bone_measurements, measure_proportions
from ..hand.calibration.motion_fit import apply_motion_fit, fit_steps
from ..hand.calibration.palm_joints import palm_measurements
from ..hand.calibration.skin_markers import fit
from ..hand.generators import Progress, Steps, part_of
from ..hand.joints import CHAIN_JOINTS, DIGITS, Side
from ..hand.limits import DIP_PER_PIP
from ..hand.marker_sets import Spot, palm_together
from ..hand.measured_hand import MeasuredHand, apply_skin_fit
from ..hand.measurements import Measurement
from ..hand.proportions import Proportions, to_wrist_frame
from ..hand.targets import assign
from ..solvers.fabrik import Fabrik
from . import assignment as assigning
from . import performer
from .assignment import Assignment
from .calibration_choices import CalibrationChoices, Span, nothing_typed, words
from .performer import Performer
from .recipe import Recipe

Floats = NDArray[np.float64]

MOST_MOTION = 300
"""Frames of free motion that are kept: enough to sample a fingertip's path at steps of some millimetres."""
MARKER_FORMATS = ("C3D", "TRC", "Qualisys TSV", "Motive CSV", "table")
"""Formats of markers on the skin or a glove; the other formats hold joints that a device has computed."""


@dataclass(frozen=True, slots=True, eq=False)
class _Clip:
    """A cleaned capture and which of its markers belong to which hand."""

    markers: Markers
    assigned: Assignment


class CalibrationJob:
    """Measure a performer step by step: iterate `steps()` to the end, then read `performer`."""

    def __init__(self, recipe: Recipe, choices: CalibrationChoices) -> None:
        self.recipe, self.choices = recipe, choices
        self.performer: Performer | None = None
        self._notes: list[str] = []
        self._clips: dict[str, list[str]] = {"still": [], "motion": [], "fit": []}

    def steps(self) -> Steps[None]:
        """Read, clean, assign and measure. Raises KnuckleError.

        If the recipe's `hand` is auto, a hand that cannot be measured is left out with a note.
        """
        yield Progress(0.0, f"Reading {Path(self.recipe.capture).name}")
        calm = yield from _read(self.recipe, 0.1)
        moved = calm
        if self.choices.motion_capture is not None:
            yield Progress(0.2, f"Reading {Path(self.choices.motion_capture).name}")
            moved = yield from _read(replace(self.recipe, capture=self.choices.motion_capture), 0.25)
        self._notes += (*calm.assigned.warnings, *moved.assigned.warnings)
        hands: dict[Side, MeasuredHand] = {}
        problem = None
        for number, side in enumerate(calm.assigned.hands):
            begin, end = (0.3 + 0.7 * count / len(calm.assigned.hands) for count in (number, number + 1))
            try:
                hand = _Hand(side, calm, moved, self.recipe, self.choices)
                yield from part_of(begin, end, "", hand.steps())
                assert hand.result is not None
            except (MarkerMapError, HandError) as error:
                if self.recipe.hand != "auto":
                    raise
                problem = problem or error
                self._notes.append(f"the {side} hand was left aside: {error}")
                continue
            hands[side] = hand.result
            self._notes += hand.notes
            for clip, text in hand.clips.items():
                self._clips[clip].append(f"{side} hand: {text}")
        if not hands:
            raise problem or MarkerMapError(f"{calm.markers.source}: holds no hand")
        clips = {clip: "; ".join(texts) for clip, texts in self._clips.items() if texts}
        self.performer = Performer(self.recipe.capture, hands, clips, tuple(dict.fromkeys(self._notes)))


def _read(recipe: Recipe, fraction: float) -> Steps[_Clip]:
    """Read the whole capture. Which of its frames are used is decided later."""
    markers = captures.read(recipe.capture, unit=recipe.unit, up=recipe.up)
    raw = (yield from part_of(fraction, fraction, "", assigning.labelling(recipe, markers))).markers
    return _Clip(clean(raw, recipe.cleaning), assigning.assignment(recipe, raw))


class _Hand:
    """Measure one hand on the two clips."""

    def __init__(self, side: Side, calm: _Clip, moved: _Clip, recipe: Recipe, choices: CalibrationChoices) -> None:
        self.side, self.recipe, self.choices = side, recipe, choices
        self.calm, self.moved = calm.markers, moved.markers
        if side not in moved.assigned.hands:
            raise MarkerMapError(f"{moved.markers.source}: holds no {side} hand, the still clip does")
        assigning.check_solvable(side, moved.assigned.hands[side], moved.markers)
        self.on_skin = moved.assigned.on_skin
        self.places = moved.assigned.hands[side] | calm.assigned.hands[side]
        self.spots = tuple(dict.fromkeys(self.places.values()))
        """(M,) Markers of the two clips that sit at the same spot of the hand count as one."""
        self.positions = [_columns(clip, self.spots, side) for clip in (calm, moved)]
        self.notes: list[str] = []
        self.clips: dict[str, str] = {}
        self.result: MeasuredHand | None = None

    def steps(self) -> Steps[None]:
        """Measure the hand."""
        yield Progress(0.0, f"Measuring the {self.side} hand")
        rows = self._motion_rows()
        lengths, measures = self._still_lengths(rows)
        everything = self._all_frames(rows)
        proportions, found = measure_proportions(self.side, self.spots, everything, lengths)
        local = _local(proportions, found, everything)
        measures += bone_measurements(proportions, found, local, lengths)
        measures += palm_measurements(proportions, found, local)
        local = _local(proportions, found, self.positions[1][rows.start : rows.stop])
        for number, digit in enumerate(DIGITS):
            yield Progress(0.2 + 0.04 * number, f"Measuring the {self.side} {digit}")
            measures += self._joints(proportions, found, local, digit)
        self._tell(measures)
        known = self.recipe.performer
        limits = {} if known is None else performer.from_dict(known, "performer").hand(self.side, {}).limits
        chains = CHAIN_JOINTS.values()
        measured = MeasuredHand(
            proportions,
            {label: found[self.spots.index(spot)] for label, spot in self.places.items()},
            rho=tuple(_value(measures, "rho", digit) for digit in DIGITS),
            radii=np.array([[_value(measures, "radius", joint) for joint in chain[:3]] for chain in chains], float)
            / 1000,
            limits=limits,
            measurements=tuple(measures),
        )
        if self.on_skin and self.choices.fit is not False:
            yield Progress(0.4, f"Fitting the {self.side} hand with the markers that it wore")
            measured = self._with_markers(measured, rows)
        elif self.choices.fit or (self.choices.fit is None and self.moved.format in MARKER_FORMATS):
            measured = yield from self._fitted(measured, found, rows)
        yield Progress(0.98, f"Solving the {self.side} hand's free motion")
        # Clips of two devices may label the same spot differently. The still clip's label is kept.
        label_at = {spot: label for label, spot in self.places.items()}
        spots = {label: measured.spots[label] for label in label_at.values()}
        self.result = replace(measured, spots=spots, motion=self._motion(measured, rows))

    def _with_markers(self, hand: MeasuredHand, rows: range) -> MeasuredHand:
        """Fit the hand together with its skin markers. If that fails, add a note and return it as measured."""
        label_at = {spot: label for label, spot in self.places.items()}
        takes = [self.positions[1][rows.start : rows.stop]]
        if self.choices.motion_capture is not None:
            takes.append(self.positions[0])
        try:
            worn = fit(takes, self.moved.rate, {label_at[spot]: spot for spot in self.spots}, self.side)
        except HandError as error:
            self.notes.append(f"the {self.side} hand was not fitted with its markers: {error}")
            return hand
        self.clips["fit"] = f"of {self.clips['motion']}: with the markers that it wore on its skin"
        return apply_skin_fit(hand, worn)

    def _fitted(self, hand: MeasuredHand, found: tuple[Spot, ...], rows: range) -> Steps[MeasuredHand]:
        """Fit bones and marker offsets to the free motion. The fit is used if it is better on held-out frames."""
        label_at = {spot: label for label, spot in self.places.items()}
        names = tuple(label_at[spot] for spot in self.spots)
        search = fit_steps(hand, found, self.spots, names, self.positions[1][rows.start : rows.stop])
        fitted = yield from part_of(0.4, 0.97, f"Fitting the {self.side} hand to its motion", search)
        if isinstance(fitted, str):
            self.notes.append(f"the {self.side} hand's bones stay as measured: {fitted}")
            return hand
        self.notes += fitted.notes
        self.clips["fit"] = (
            f"of {self.clips['motion']}: in frames left out of it markers are {1000 * fitted.residual_after:.1f} mm "
            f"off in the median, {1000 * fitted.residual_before:.1f} mm without it"
        )
        return apply_motion_fit(
            hand, fitted, {label: fitted.spots[self.spots.index(s)] for label, s in self.places.items()}
        )

    def _motion(self, hand: MeasuredHand, rows: range) -> Floats:
        """Angles (N, D) in rad of the free motion, sampled evenly from the frames in which all markers are seen."""
        places = {label: spot for label, spot in hand.spots.items() if label in self.moved.names}
        positions = assigning.positions_of(self.moved, places)[rows.start : rows.stop]
        positions = positions[np.all(np.isfinite(positions), axis=(1, 2))]
        positions = positions[:: max(1, -(-len(positions) // MOST_MOTION))]
        model, targets = assign(hand.model, places, np.arange(float(len(positions))), positions)
        return Fabrik().solve(model, targets)[0].angles

    def _motion_rows(self) -> range:
        usual = Span(self.recipe.start or 1, self.recipe.end) if self.choices.motion_capture is None else Span()
        rows = (self.choices.motion or usual).frames(self.moved)
        self.clips["motion"] = f"{self.moved.source}, {words(rows)}"
        return rows

    def _still_lengths(self, motion: range) -> tuple[Floats, list[Measurement]]:
        """Bone lengths (5, 3) in m, NaN where not measured. Raises HandError if the chosen still clip is not still."""
        positions, told = self.positions[0], self.choices.still
        if told is not None:
            rows = told.frames(self.calm)
        else:
            among = motion if self.choices.motion_capture is None else range(len(positions))
            first = among.start + still.stillest_window(positions[among.start : among.stop])
            rows = range(first, min(first + still.STILL_FRAMES, among.stop))
        strayed = still.movement(positions[rows.start : rows.stop])
        moves = f"its markers move by {1000 * strayed:.1f} mm in {words(rows)}"
        if strayed > still.MAX_MOVEMENT:
            if told is not None:
                raise HandError(
                    f"{self.side} hand: {moves} of {self.calm.source}, "
                    f"a still hand's by at most {1000 * still.MAX_MOVEMENT:.0f} mm"
                )
            self.notes.append(f"the {self.side} hand is never still for {still.STILL_FRAMES} frames, at best {moves}")
            self.clips["still"] = "none"
            return nothing_typed(), []
        if len(rows) < still.STILL_FRAMES:
            self.notes.append(f"{self.calm.source} has {len(rows)} of the {still.STILL_FRAMES} frames of a still clip")
        self.clips["still"] = f"{self.calm.source}, {words(rows)}, {1000 * strayed:.1f} mm of movement"
        return still.bone_lengths(self.spots, positions[rows.start : rows.stop], f"still {words(rows)}")

    def _all_frames(self, motion: range) -> Floats:
        """Positions (F, M, 3) to measure the palm on: the motion's, and the still clip's if it has its own file."""
        moving = self.positions[1][motion.start : motion.stop]
        if self.choices.motion_capture is None:
            return moving
        return np.concatenate([self.positions[0], moving])

    def _joints(self, hand: Proportions, spots: tuple[Spot, ...], local: Floats, digit: str) -> list[Measurement]:
        """Measure a digit's joint radii and, if it is a finger, its rho."""
        typed, joints = self.choices.radii[DIGITS.index(digit)], CHAIN_JOINTS[digit]
        angles, smoothed = None, 1  # the frames that radii are fitted to do not follow each other
        if np.isfinite(typed).all():
            measures = [Measurement("radius", joints[bone], "typed", 1000 * float(typed[bone])) for bone in range(3)]
        else:
            measures, angles = measure_radii(hand, spots, local, digit)
        if digit != "thumb":
            if angles is None:
                angles, smoothed = flexions(hand, spots, local, digit), SMOOTHING_FRAMES
            measures.append(measure_rho(digit, angles[:, 1], angles[:, 2], smoothed))
        return measures

    def _tell(self, measures: list[Measurement]) -> None:
        """Add a note for each reason why something was not measured, with all digits that it applies to."""
        reasons: dict[str, list[str]] = {}
        for one in measures:
            if one.kind == "rho" and one.value is None:
                why = one.how.removeprefix("not measured: ")
                reasons.setdefault(f"rho stays {DIP_PER_PIP:.2f}, {why}", []).append(one.of)
            elif one.kind == "radius" and ": " in one.how:
                reasons.setdefault(f"joint radii {one.how}", []).append(_digit_of(one.of))
        for why, of in reasons.items():
            self.notes.append(f"{self.side} hand, {', '.join(dict.fromkeys(of))}: {why}")


def _digit_of(joint: str) -> str:
    return next(digit for digit, joints in CHAIN_JOINTS.items() if joint in joints)


def _value(measures: list[Measurement], kind: str, of: str) -> float | None:
    return next((one.value for one in measures if one.kind == kind and one.of == of), None)


def _columns(clip: _Clip, spots: tuple[Spot, ...], side: Side) -> Floats:
    """Positions (F, M, 3) in m of the markers at these spots, NaN where the clip has none."""
    positions = np.full((len(clip.markers.times), len(spots), 3), np.nan)
    for label, spot in clip.assigned.hands[side].items():
        if spot in spots:
            positions[:, spots.index(spot)] = clip.markers.positions[:, clip.markers.names.index(label)]
    return positions


def _local(hand: Proportions, spots: tuple[Spot, ...], positions: Floats) -> Floats:
    """Positions (F, M, 3) in m in the wrist's frame, of the frames in which the palm is seen."""
    return to_wrist_frame(hand, spots, positions[palm_together(spots, positions)])


def run(recipe: Recipe, choices: CalibrationChoices) -> Performer:
    """Measure a performer on the recipe's capture, all at once. Raises KnuckleError."""
    calibration = CalibrationJob(recipe, choices)
    for _ in calibration.steps():
        pass
    assert calibration.performer is not None
    return calibration.performer
