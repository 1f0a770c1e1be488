"""Read a recipe's capture, find which markers belong to which hand, and measure the hands."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .. import capture as captures
from ..capture.marker_labels import quoted
from ..capture.markers import Markers
from ..errors import HandError, MarkerMapError
from ..hand.calibration import measuring
from ..hand.calibration.bone_stretch import bone_stretch
from ..hand.calibration.skin_markers import Recording, fit_hands
from ..hand.generators import Progress, Steps, run_to_end
from ..hand.joint_words import split_label
from ..hand.joints import BENDING_JOINTS, CHAIN_JOINTS, SIDES, Side
from ..hand.labelling.few_markers import find_few_markers
from ..hand.labelling.handedness import handedness
from ..hand.marker_sets import (
    Groups,
    Spot,
    Suggestion,
    completeness,
    from_json,
    on_palm,
    side_in_name,
    subject_of,
    suggest,
)
from ..hand.measured_hand import MeasuredHand, apply_skin_fit
from . import performer
from .camera_hands import fit_camera_hands
from .labelling import LabelledMarkers, keep_labels, label_by_shape, map_label
from .performer import Performer
from .recipe import Recipe

Floats = NDArray[np.float64]

MIN_MAP_LABELS = 3
"""Minimum number of a marker map's labels that a capture must have."""
MIN_PALM_MARKERS, MIN_HAND_MARKERS = 3, 8
"""Minimum numbers of markers on the palm and on the whole hand with which a hand can be found by shape."""
MAX_JOINT_STRETCH_M = 0.004
"""m, maximum change, without noise, of the distance between two markers on the joints of a bone. In captures, joints of
devices reach 1 mm, and markers on the skin 8 to 12 mm."""
MIN_SIDE_CONFIDENCE = 0.15
"""Minimum confidence at which the side suggested by the hand's shape overrides the side in its label."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """Which markers belong to which hand."""

    set_name: str
    confidence: float
    hands: dict[Side, dict[str, Spot]]
    warnings: tuple[str, ...]
    on_skin: bool = False
    """Whether the markers sit on the skin, beside the joints that their labels name."""


Reader = Callable[[Recipe], Steps[Markers]]
"""Reads the whole capture of a recipe. Raises CaptureError, or RigError for an armature."""


def read_file(recipe: Recipe) -> Steps[Markers]:
    """Read the recipe's capture file, in a format that needs no Blender. Raises CaptureError."""
    yield Progress(0.0, f"Reading {Path(recipe.capture).name}")
    markers = captures.read(recipe.capture, unit=recipe.unit, up=recipe.up, rate=recipe.rate)
    return (yield from fit_camera_hands(recipe, markers))


def read(recipe: Recipe, markers: Markers | None = None) -> Markers:
    """Read the recipe's capture, or take the given markers, and select the recipe's frames. Nothing is cleaned yet.

    Raises CaptureError for a file that cannot be read, MarkerMapError if the capture ends before the first frame.
    """
    if markers is None:
        markers = run_to_end(read_file(recipe))
    if recipe.start is None and recipe.end is None:
        return markers
    return markers.select(chosen_frames(recipe, markers.source, len(markers.times)))


def chosen_frames(recipe: Recipe, source: str, frames: int) -> slice:
    """Return the recipe's frames of a capture. Raises MarkerMapError if it ends before the first one."""
    first = (recipe.start or 1) - 1
    if first >= frames:
        raise MarkerMapError(f"{source}: the recipe starts at frame {first + 1}, the capture has {frames}")
    return slice(first, recipe.end)


def label_markers(recipe: Recipe, markers: Markers) -> LabelledMarkers:
    """Label the markers of a capture by their own names, or by shape if the recipe says so or the names are unknown.

    Raises MarkerMapError if neither names nor shape show a hand, or if the recipe's marker map is invalid.
    """
    return run_to_end(label_markers_stepwise(recipe, markers))


def label_markers_stepwise(recipe: Recipe, markers: Markers) -> Steps[LabelledMarkers]:
    """Do the same as `label_markers` step by step."""
    side: Side | None = next((side for side in SIDES if side == recipe.hand), None)
    if recipe.labels != "shape" and recipe.markers is not None:
        groups = from_json(recipe.markers, "marker map")
        if recipe.labels == "names" or not _needs_labelling_by_shape(groups, markers):
            return keep_labels(markers, groups)
        return (yield from label_by_shape(markers, None, side, groups))
    if recipe.labels == "names":
        return keep_labels(markers, suggest(markers.names).groups)
    performer_hands = performer.from_dict(recipe.performer, "performer").hands if recipe.performer is not None else None
    if recipe.labels == "shape":
        return _with_worn_positions(recipe, (yield from label_by_shape(markers, performer_hands, side)))
    try:
        groups = suggest(markers.names).groups
    except MarkerMapError as names_error:
        try:
            return _with_worn_positions(recipe, (yield from label_by_shape(markers, performer_hands, side)))
        except MarkerMapError as shape_error:
            raise MarkerMapError(f"{names_error}; {shape_error}") from names_error
    return keep_labels(markers, groups)


def _with_worn_positions(recipe: Recipe, labelled: LabelledMarkers) -> LabelledMarkers:
    """Set `on_skin` of markers labelled by shape from their motion, unless recipe or marker set specifies it."""
    markers = labelled.markers
    if recipe.markers_on != "auto" or suggest(markers.names).on_skin:
        return labelled
    stretch = max((bone_stretch(spots, positions_of(markers, spots)) for spots in labelled.groups.values()), default=0)
    on_skin = stretch > MAX_JOINT_STRETCH_M
    note = (
        f"the markers found by shape are taken as worn on the skin: two of a bone part by {1000 * stretch:.0f} mm "
        "as it moves; if they are on the joints, choose Markers On: Joints"
        if on_skin
        else "the markers found by shape are taken as on the joints: if they are worn on the skin, choose Markers On: "
        "Skin"
    )
    return replace(labelled, markers=replace(markers, on_skin=on_skin, warnings=(*markers.warnings, note)))


def _needs_labelling_by_shape(groups: Groups, markers: Markers) -> bool:
    """Return whether a capture has none of a map's labels, and the map has enough markers to find a hand by its
    shape."""
    labels = {label for spots in groups.values() for label in spots}
    is_complete = all(
        sum(map(on_palm, spots.values())) >= MIN_PALM_MARKERS and len(spots) >= MIN_HAND_MARKERS
        for spots in groups.values()
    )
    return is_complete and not labels & set(markers.names)


def _relabelled_groups(groups: Groups, markers: Markers) -> Groups:
    """Return the groups of a marker map with the labels that labelling by shape has given, if it was used."""
    labelled_groups = {
        side: {map_label(side, label): spot for label, spot in spots.items() if map_label(side, label) in markers.names}
        for side in SIDES
        for spots in ([groups[side]] if side in groups else [*groups.values()][:1])
    }
    return {side: spots for side, spots in labelled_groups.items() if spots} or groups


def assign_hands(recipe: Recipe, markers: Markers) -> Assignment:
    """Find the requested hands by the labels of the markers.

    Raises MarkerMapError if there is no hand, or not the requested one.
    """
    if recipe.markers is not None:
        groups = _relabelled_groups(from_json(recipe.markers, "marker map"), markers)
        marker_set = Suggestion("marker map", groups, max(map(completeness, groups.values())))
    else:
        marker_set = suggest(markers.names)
    hands: dict[Side, dict[str, Spot]] = {}
    warnings: list[str] = []
    groups = _groups_of_subject(recipe, markers, _drop_missing_labels(marker_set.groups, markers, warnings))
    shapes = _sides_by_shape(groups, markers, warnings)
    for group, spots in sorted(groups.items(), key=lambda entry: -completeness(entry[1])):
        side = _decide_side(recipe, group, shapes[group], markers, warnings, is_only_hand=len(groups) == 1)
        if side not in hands:
            hands[side] = spots
            continue
        person = subject_of(group)
        hint = f": choose the subject {quoted(person)} to solve it" if person else ""
        warnings.append(f"'{group}' is a second {side} hand and was left out{hint}")
    on_skin = (marker_set.on_skin or markers.on_skin) if recipe.markers_on == "auto" else recipe.markers_on == "skin"
    requested = _requested_hands(recipe, markers, hands)
    return Assignment(marker_set.name, marker_set.confidence, requested, tuple(warnings), on_skin)


def _groups_of_subject(recipe: Recipe, markers: Markers, groups: Groups) -> Groups:
    """Select the groups of the recipe's subject. Raises MarkerMapError if there is none."""
    subject_groups = {group: spots for group, spots in groups.items() if recipe.subject in ("", subject_of(group))}
    if not subject_groups:
        people = sorted({subject_of(group) for group in groups} - {""})
        names = ", ".join(map(quoted, people)) if people else "hands without a name"
        raise MarkerMapError(f"{markers.source}: has no hand of {quoted(recipe.subject)}, expected one of: {names}")
    return subject_groups


def find_lone_fingertips(recipe: Recipe, markers: Markers) -> dict[str, dict[str, tuple[str, float]]]:
    """Find fingertips in a capture without other joints, as a first marker map that the user completes.

    Returns hand -> label -> (tip joint, confidence). Fingertips alone do not show the side: a single hand is named
    after the side that the recipe requests, if any; several hands are numbered.
    """
    tip_groups = [group.tips for group in find_few_markers(markers.positions, markers.names) if group.tips]
    if len(tip_groups) == 1 and recipe.hand in SIDES:
        return {recipe.hand: tip_groups[0]}
    return {
        "hand" if len(tip_groups) == 1 else f"hand {number}": tips for number, tips in enumerate(tip_groups, start=1)
    }


def _drop_missing_labels(groups: Groups, markers: Markers, warnings: list[str]) -> Groups:
    """Drop labels that the capture does not have. Raises MarkerMapError if too few of a marker map's are left."""
    present: Groups = {}
    for group, spots in groups.items():
        present[group] = {label: spot for label, spot in spots.items() if label in markers.names}
        missing_labels = [label for label in spots if label not in present[group]]
        if missing_labels and len(present[group]) < MIN_MAP_LABELS:
            raise MarkerMapError(
                f"{markers.source}: the marker map's label '{missing_labels[0]}' ({group}) is not in the capture, "
                f"with {len(missing_labels) - 1} more missing, expected {MIN_MAP_LABELS} of its {len(spots)} labels"
            )
        if missing_labels:
            verb = "is" if len(missing_labels) == 1 else "are"
            warnings.append(
                f"the marker map's {', '.join(map(quoted, missing_labels))} ({group}) {verb} not in the capture"
            )
    return present


def positions_of(markers: Markers, spots: dict[str, Spot]) -> Floats:
    """Return positions (F, T, 3) in m of the markers with these labels, NaN where not seen."""
    return _columns(markers, markers.positions, spots)


def rotations_of(markers: Markers, spots: dict[str, Spot]) -> Floats | None:
    """Return rotations (F, T, 4) wxyz of the joints with these labels, NaN where unknown; None if the capture has
    none."""
    return None if markers.rotations is None else _columns(markers, markers.rotations, spots)


def _columns(markers: Markers, values: Floats, spots: dict[str, Spot]) -> Floats:
    """Return the values, of (F, M, K), of the markers with these labels, contiguous by frame."""
    return values.take([markers.names.index(label) for label in spots], axis=1)


def _sides_by_shape(groups: Groups, markers: Markers, warnings: list[str]) -> dict[str, Side | None]:
    """Return each hand's side by its shape, None where that is not clear. Adds to `warnings` where labels disagree.

    If the shapes would give a person two left or two right hands, the labels decide: the shape of a flat hand is
    ambiguous, and the fingers of clapping hands may even be bent backwards.
    """
    shapes: dict[str, Side | None] = {}
    for group, spots in groups.items():
        side, confidence = handedness(tuple(spots.values()), positions_of(markers, spots))
        shapes[group] = side if confidence >= MIN_SIDE_CONFIDENCE else None
    sides = dict(shapes)
    for group, side in shapes.items():
        of_person = [name for name in groups if name != group and subject_of(name) == subject_of(group)]
        is_second = any(side_in_name(name) == side and shapes[name] in {side, None} for name in of_person)
        if side is not None and is_second and side_in_name(group) not in {side, None}:
            sides[group] = None
            warnings.append(
                f"'{group}' was taken as a {side_in_name(group)} hand as its labels say: it has the shape of a {side} "
                "one, but that is the other hand"
            )
    return sides


def _decide_side(
    recipe: Recipe, group: str, clear_side: Side | None, markers: Markers, warnings: list[str], *, is_only_hand: bool
) -> Side:
    """Decide between left and right, and note contradictions.

    A side named by a marker map, or by a label or file name that agrees with the recipe, comes first. Then come the
    hand's shape if it is clear, the label, and the name of a file with one hand (`is_only_hand`). The default is right.
    """
    label_side, file_side = side_in_name(group), side_of_file(markers.source) if is_only_hand else None
    named_side = label_side or file_side
    is_chosen = named_side is not None and (recipe.markers is not None or named_side == recipe.hand)
    side: Side = (named_side if is_chosen else clear_side or named_side) or "right"
    claims = {
        f"it has the shape of a {clear_side} hand": clear_side,
        f"{'the marker map says' if recipe.markers else 'its labels say'} {label_side}": label_side,
        f"the file's name says {file_side}": file_side,
    }
    if len(set(claims.values()) - {None}) > 1:
        sentence = ", ".join(sentence for sentence, claimed_side in claims.items() if claimed_side)
        warnings.append(f"'{group}' was taken as a {side} hand: {sentence}")
    return side


def side_of_file(name: str) -> Side | None:
    """Return the side that a file's name contains; None if it contains none or both."""
    sides = {side_in_name(word) for word in split_label(name.rpartition(".")[0] or name)} - {None}
    return sides.pop() if len(sides) == 1 else None


def _requested_hands(
    recipe: Recipe, markers: Markers, hands: dict[Side, dict[str, Spot]]
) -> dict[Side, dict[str, Spot]]:
    """Select the hands that the recipe requests. Raises MarkerMapError if the capture lacks one of them."""
    requested = {"auto": tuple(hands), "both": SIDES}.get(recipe.hand, (recipe.hand,))
    for side in requested:
        if side not in hands:
            raise MarkerMapError(f"{markers.source}: has a {' and a '.join(hands)} hand, not the requested {side} one")
    return {side: hands[side] for side in SIDES if side in requested}


def check_solvable(side: Side, spots: dict[str, Spot], markers: Markers) -> None:
    """Raise MarkerMapError or HandError for a hand without a finger or a palm that can be solved."""
    if not any(spot.joint in BENDING_JOINTS or _is_on_first_bone(spot) for spot in spots.values()):
        raise MarkerMapError(f"{markers.source}: the {side} hand has no marker on a finger")
    if not np.isfinite(positions_of(markers, spots)).all(-1).any():
        raise MarkerMapError(f"{markers.source}: none of the {side} hand's markers is ever seen")
    measuring.frames_with_palm(side, tuple(spots.values()), positions_of(markers, spots))


def _is_on_first_bone(spot: Spot) -> bool:
    """Return whether a marker sits on a digit's first moving bone, away from its knuckle."""
    return any(spot.offset) and spot.joint in {joints[0] for joints in CHAIN_JOINTS.values()}


def measure_performer(
    recipe: Recipe, markers: Markers, assigned: Assignment, *, fit_skin: bool = True
) -> tuple[Performer, Assignment]:
    """Return the recipe's performer, or measure one on the cleaned markers; and the hands that can be solved.

    fit_skin: whether to fit a hand and its skin markers together, if the performer's file contains no such fit.
    If the recipe's `hand` is auto, a hand with too few markers is left out with a warning. Raises KnuckleError if no
    hand is left, or if a requested one cannot be measured.
    """
    saved_performer = performer.from_dict(recipe.performer, "performer") if recipe.performer is not None else None
    hands: dict[Side, MeasuredHand] = {}
    warnings, problems = list(assigned.warnings), list[HandError | MarkerMapError]()
    for side, spots in assigned.hands.items():
        try:
            check_solvable(side, spots, markers)
            if saved_performer is not None:
                hands[side] = saved_performer.hand(side, spots)
            else:
                positions = positions_of(markers, spots)
                proportions, measured = measuring.measure_proportions(side, tuple(spots.values()), positions)
                hands[side] = MeasuredHand(proportions, dict(zip(spots, measured, strict=True)))
            if not (assigned.on_skin and _has_usable_skin_fit(hands[side], spots, warnings)):
                hands[side] = replace(hands[side], skin_fit=None)
        except (MarkerMapError, HandError) as error:
            if recipe.hand != "auto":
                raise
            problems.append(error)
            warnings.append(f"the {side} hand was left out: {error}")
    if not hands and problems:
        raise type(problems[-1])("; ".join(map(str, problems)))
    if fit_skin and assigned.on_skin:
        _fit_skin_markers(hands, assigned.hands, markers, warnings)
    usable = {side: assigned.hands[side] for side in hands}
    return Performer(recipe.capture, hands), replace(assigned, hands=usable, warnings=tuple(warnings))


def _has_usable_skin_fit(measured: MeasuredHand, spots: dict[str, Spot], warnings: list[str]) -> bool:
    """Return whether a hand's skin fit covers most of a capture's markers; warn about markers that it lacks."""
    if measured.skin_fit is None:
        return False
    side = measured.proportions.side
    unfitted_labels = [label for label in spots if label not in measured.skin_fit.markers.labels]
    if 2 * len(unfitted_labels) > len(spots):
        warnings.append(
            f"the {side} hand is fitted again: {len(unfitted_labels)} of its {len(spots)} markers are not among "
            "those that the performer was measured with"
        )
        return False
    if unfitted_labels:
        warnings.append(f"the performer was measured without {', '.join(map(quoted, unfitted_labels))}: left out")
    return True


def _fit_skin_markers(
    hands: dict[Side, MeasuredHand], spots: dict[Side, dict[str, Spot]], markers: Markers, warnings: list[str]
) -> None:
    """Fit hands without a skin fit together with their skin markers; a hand that cannot be fitted gets a warning."""
    unfitted = [side for side, hand in hands.items() if hand.skin_fit is None]
    recordings = {side: Recording([positions_of(markers, spots[side])], markers.rate, spots[side]) for side in unfitted}
    result = fit_hands(recordings)
    warnings += result.notes
    problems = dict(result.problems)
    for side, skin_fit in result.fits.items():
        try:
            hands[side] = apply_skin_fit(hands[side], skin_fit)
        except HandError as error:
            problems[side] = error
    warnings += (f"the performer was not fitted to the markers on the skin: {error}" for error in problems.values())
