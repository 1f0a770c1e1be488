"""The performer: the measurements of one person's hands, and the JSON file that holds them.

The file is in millimetres and degrees, and names joints. Version 1 held lengths only, version 2 no measurements of
markers, version 3 no skin markers.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from ..errors import MarkerMapError, RecipeError
from ..hand.joints import CHAIN_JOINTS, DIGITS, SIDES, Side
from ..hand.limits import DEFAULT_LIMITS, AngleLimits
from ..hand.marker_sets import Spot, groups_from_json, on_palm, suggest
from ..hand.marker_sets import to_json as spots_to_json
from ..hand.measured_hand import MeasuredHand, Rho
from ..hand.measurements import Kind, Measurement
from ..hand.proportions_json import from_json, to_json
from .performer_markers import from_json as worn_from_json
from .performer_markers import to_json as worn_to_json

Floats = NDArray[np.float64]

FORMAT, FORMAT_VERSION = "knuckle performer", 4
FILE_KEYS = ("format", "capture", "clips", "hands", "markers", "notes")
MAX_VERSION_DIGITS = 6
HAND_KEYS = (
    "size_mm",
    "palm_mm",
    "bones_mm",
    "directions_wxyz",
    "rho",
    "radii_mm",
    "limits_deg",
    "measures",
    "motion_deg",
    "skin",
)
MAX_RADIUS_MM = 100.0
MAX_RHO = 2.0
MAX_MOTION_FRAMES = 1000
"""Maximum number of frames of free motion in a file."""


@dataclass(frozen=True, slots=True, eq=False)
class Performer:
    """One person's hands."""

    capture: str
    """The capture that the hands were measured on."""
    hands: dict[Side, MeasuredHand]
    clips: dict[str, str] = field(default_factory=dict)
    """still, motion or fit -> description of the frames that were used."""
    notes: tuple[str, ...] = ()
    """Sentences about measurements that failed or look wrong."""

    def hand(self, side: Side, spots: dict[str, Spot]) -> MeasuredHand:
        """Return the hand of this side with a capture's markers (label -> spot).

        If only the other hand was measured, its mirror image is returned. A marker keeps its measured spot if the
        capture's spot is on the same joint, or if the measured one is on the wrist and the capture's on the palm. Skin
        markers that were fitted keep their fitted spots. Labels may have a different subject's prefix.
        """
        if side not in self.hands:
            return replace(next(iter(self.hands.values())).mirrored(), spots=spots)
        measured_hand = self.hands[side].relabelled(_labels_in_capture(self.hands[side].spots, spots))
        if measured_hand.skin_fit is not None:
            fitted_spots = measured_hand.skin_fit.spots()
            return replace(measured_hand, spots={label: fitted_spots.get(label, spot) for label, spot in spots.items()})
        measured_spots = {label: measured_hand.spots.get(label, spot) for label, spot in spots.items()}
        matching_spots = {
            label: measured_spots[label] if _on_same_bone(measured_spots[label], spot) else spot
            for label, spot in spots.items()
        }
        return replace(measured_hand, spots=matching_spots)


def _labels_in_capture(measured: dict[str, Spot], spots: dict[str, Spot]) -> dict[str, str]:
    """Return measured label -> the capture's label, for markers whose labels differ.

    Labels are the same marker if the marker set has both at one spot, such as ThumbMCP and Anna:ThumbMCP.
    """
    try:
        groups = suggest(measured).groups
    except MarkerMapError:
        return {}
    by_spot = {spot: label for group in groups.values() for label, spot in group.items()}
    return {by_spot[spot]: label for label, spot in spots.items() if label not in measured and spot in by_spot}


def _on_same_bone(measured: Spot, labelled: Spot) -> bool:
    """Return whether a measured spot and the capture's spot are on the same bone."""
    return measured.joint == labelled.joint or (measured.joint == "wrist" and on_palm(labelled))


def to_dict(performer: Performer) -> dict[str, Any]:
    """Encode a performer as JSON for its file."""
    markers = {str(side): hand.spots for side, hand in performer.hands.items()}
    return {
        "format": f"{FORMAT} {FORMAT_VERSION}",
        "capture": performer.capture,
        "clips": dict(performer.clips),
        "hands": {side: _hand_to_dict(hand) for side, hand in performer.hands.items()},
        "markers": spots_to_json(markers),
        "notes": list(performer.notes),
    }


def _hand_to_dict(hand: MeasuredHand) -> dict[str, Any]:
    return {
        **to_json(hand.proportions),
        "rho": {digit: _rounded(rho, 4) for digit, rho in zip(DIGITS, hand.rho, strict=True)},
        "radii_mm": {
            digit: [round(1000 * float(radius), 3) for radius in row]
            for digit, row in zip(DIGITS, hand.radii, strict=True)
        },
        "limits_deg": {f"{joint} {movement}": list(low_high) for (joint, movement), low_high in hand.limits.items()},
        "measures": [
            {
                name: _rounded(value, 4) if isinstance(value, float) else value
                for name, value in asdict(measure).items()
                if value is not None
            }
            for measure in hand.measurements
        ],
        "motion_deg": _motion_to_dict(hand),
        **({} if hand.skin_fit is None else {"skin": worn_to_json(hand.skin_fit)}),
    }


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)


def from_dict(data: object, where: str) -> Performer:
    """Build a performer from a decoded file of this version or an older one.

    Raises RecipeError, HandError or MarkerMapError naming `where` and what is wrong. An unknown key is an error, since
    its value would be ignored otherwise.
    """
    if not isinstance(data, dict) or not isinstance(data.get("hands"), dict):
        raise RecipeError(f"{where}: not a performer file, expected '{FORMAT} {FORMAT_VERSION}' with 'hands'")
    _check_version(data.get("format"), where)
    _check_keys(data, FILE_KEYS, where)
    sides = [side for side in SIDES if side in data["hands"]]
    if not sides:
        raise RecipeError(f"{where}: holds neither a left nor a right hand")
    _check_keys(data["hands"], SIDES, f"{where}, hands")
    clips, notes = data.get("clips", {}), data.get("notes", [])
    if not isinstance(clips, dict) or not all(isinstance(text, str) for text in clips.values()):
        raise RecipeError(f"{where}: 'clips' is {clips!r}, expected names and texts")
    if not isinstance(notes, list) or not all(isinstance(text, str) for text in notes):
        raise RecipeError(f"{where}: 'notes' is {notes!r}, expected a list of sentences")
    markers = groups_from_json(data["markers"], where) if data.get("markers") else {}
    hands = {side: _hand(side, data["hands"][side], markers.get(side, {}), f"{where}, {side}") for side in sides}
    return Performer(str(data.get("capture", "")), hands, clips, tuple(notes))


def _check_version(value: object, where: str) -> None:
    name, _, version = value.rpartition(" ") if isinstance(value, str) else ("", "", "")
    if name != FORMAT or not version.isdecimal() or len(version) > MAX_VERSION_DIGITS or int(version) < 1:
        raise RecipeError(
            f"{where}: not a performer file, its format is {value!r:.60}, expected '{FORMAT} {FORMAT_VERSION}'"
        )
    if int(version) > FORMAT_VERSION:
        raise RecipeError(
            f"{where}: of version {version}, this Knuckle reads performers up to version {FORMAT_VERSION}"
        )


def _check_keys(data: dict[Any, Any], allowed: Iterable[str], where: str) -> None:
    for key in data:
        if key not in allowed:
            raise RecipeError(f"{where}: '{key}' is not known, expected {', '.join(allowed)}")


def _hand(side: Side, data: object, spots: dict[str, Spot], where: str) -> MeasuredHand:
    proportions = from_json(side, data, where)
    assert isinstance(data, dict)  # from_json has found numbers in it
    _check_keys(data, HAND_KEYS, where)
    measures = data.get("measures", [])
    if not isinstance(measures, list):
        raise RecipeError(f"{where}: 'measures' is {measures!r}, expected a list")
    default = MeasuredHand(proportions, spots)
    hand = MeasuredHand(
        proportions,
        spots,
        rho=_rho(_mapping_at(data, "rho", where), where),
        radii=_radii(_mapping_at(data, "radii_mm", where), default.radii, where),
        limits=_limits(_mapping_at(data, "limits_deg", where), where),
        measurements=tuple(_measure(entry, where) for entry in measures),
    )
    if "skin" in data:
        hand = replace(hand, skin_fit=worn_from_json(data["skin"], proportions, hand.limits, f"{where}, skin"))
    return replace(hand, motion=_motion(_mapping_at(data, "motion_deg", where), hand, where))


def _mapping_at(data: dict[str, Any], name: str, where: str) -> dict[str, Any]:
    group = data.get(name, {})
    if not isinstance(group, dict):
        raise RecipeError(f"{where}: '{name}' is {group!r}, expected names and values")
    return group


def _rho(group: dict[str, Any], where: str) -> Rho:
    """Return rho (5,), None for digits that are not named."""
    _check_keys(group, DIGITS, f"{where}, rho")
    for digit, value in group.items():
        if value is not None and not (_is_number(value) and 0 < value <= MAX_RHO):
            raise RecipeError(
                f"{where}: rho of {digit} is {value!r}, expected a number above 0 and at most {MAX_RHO:g}"
            )
    return tuple(None if group.get(digit) is None else float(group[digit]) for digit in DIGITS)


def _radii(group: dict[str, Any], default: Floats, where: str) -> Floats:
    """Return joint radii (5, 3) in m, `default` for digits that are not named."""
    _check_keys(group, DIGITS, f"{where}, radii_mm")
    radii = default.copy()
    for digit, values in group.items():
        has_three = isinstance(values, list) and len(values) == len(CHAIN_JOINTS[digit]) - 1
        if not has_three or not all(_is_number(value) and 0 <= value <= MAX_RADIUS_MM for value in values):
            raise RecipeError(
                f"{where}: radii_mm of {digit} is {values!r}, expected three numbers from 0 to {MAX_RADIUS_MM:g}"
            )
        radii[DIGITS.index(digit)] = np.array(values, float) / 1000
    return radii


def _limits(group: dict[str, Any], where: str) -> AngleLimits:
    """Return limits in degrees, written as 'index-finger-phalanx-distal flexion': [0, 70]."""
    names = {f"{joint} {movement}": (joint, movement) for joint, movement in DEFAULT_LIMITS}
    limits: AngleLimits = {}
    for name, low_high in group.items():
        if name not in names:
            raise RecipeError(f"{where}: limits_deg names '{name}', expected a movement such as '{next(iter(names))}'")
        is_pair = isinstance(low_high, list) and len(low_high) == 2
        if not is_pair or not all(_is_number(end) and abs(end) <= 180 for end in low_high):
            raise RecipeError(f"{where}: limits_deg of {name} is {low_high!r}, expected two numbers from -180 to 180")
        limits[names[name]] = (float(low_high[0]), float(low_high[1]))
    return limits


def _movements(hand: MeasuredHand) -> list[str]:
    """Return names of the hand model's angles, such as 'index-finger-phalanx-distal flexion'."""
    joints = [hand.model.joints[joint] for joint in hand.model.axis_joint]
    return [f"{joint} {movement}" for joint, movement in zip(joints, hand.model.movements, strict=True)]


def _motion_to_dict(hand: MeasuredHand) -> dict[str, list[float]]:
    if not len(hand.motion):
        return {}
    columns = np.round(np.rad2deg(hand.motion), 2).T.tolist()
    return dict(zip(_movements(hand), columns, strict=True))


def _motion(group: dict[str, Any], hand: MeasuredHand, where: str) -> Floats:
    """Return angles (N, D) in rad of free motion, clamped to the hand's limits; angles that are not named are at
    rest."""
    names = _movements(hand)
    _check_keys(group, names, f"{where}, motion_deg")
    frames = max((len(angles) for angles in group.values() if isinstance(angles, list)), default=0)
    for name, angles in group.items():
        if not isinstance(angles, list) or not all(_is_number(angle) and abs(angle) <= 180 for angle in angles):
            raise RecipeError(f"{where}: motion_deg of {name} is not a list of numbers from -180 to 180")
        if not len(angles) == frames <= MAX_MOTION_FRAMES:
            raise RecipeError(
                f"{where}: motion_deg of {name} has {len(angles)} frames, expected as many as the others have "
                f"and at most {MAX_MOTION_FRAMES}"
            )
    motion = np.tile(hand.model.neutral, (frames, 1))
    for name, angles in group.items():
        motion[:, names.index(name)] = np.deg2rad(angles)
    low, high = hand.model.limits.T
    clamped: Floats = np.minimum(np.maximum(motion, low), high)
    return clamped


def _measure(entry: object, where: str) -> Measurement:
    names = [entry_field.name for entry_field in fields(Measurement)]
    if not isinstance(entry, dict):
        raise RecipeError(f"{where}: a measure is {entry!r}, expected {', '.join(names)}")
    _check_keys(entry, names, f"{where}, measures")
    has_texts = entry.get("kind") in get_args(Kind) and all(isinstance(entry.get(name), str) for name in ("of", "how"))
    if not has_texts or not all(_is_number(entry.get(name, 0)) for name in ("value", "spread", "residual", "frames")):
        raise RecipeError(
            f"{where}: a measure is {entry!r}, expected kind ({', '.join(get_args(Kind))}), of, how and numbers"
        )
    return Measurement(**entry)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and bool(np.isfinite(value))
