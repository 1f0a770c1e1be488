"""Known marker sets, and joint names read from any other labels.

Labels are sorted into groups, one for each hand, by the side in the label and by the subject: the text before a colon,
or a prefix that all labels share. Whether a group really is a left or a right hand is decided by its shape
(labelling/handedness.py).
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import MarkerMapError
from .finite_points import finite_points
from .joint_words import (
    DIGIT_WORDS,
    SIDE_WORDS,
    WRIST_WORDS,
    is_bare_thumb,
    is_middle_of_thumb,
    joint_in_label,
    side_in_label,
    split_label,
)
from .joints import CHAIN_JOINTS, DIGIT_JOINTS, DIGITS, JOINT_INDEX, SIDES, TIPS, Side
from .thumb_chain import joints_of_thumb


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a marker sits: at a joint, or at an offset from it."""

    joint: str
    offset: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """m: towards the little finger, along the bone, out of the back of the hand; the same axes for both hands."""

    def offset_on(self, side: Side) -> tuple[float, float, float]:
        """Return the offset in the joint's frame, whose X points towards the little finger on a right hand only."""
        x, y, z = self.offset
        return (x if side == "right" else -x, y, z)


@dataclass(frozen=True, slots=True)
class MarkerSet:
    """A known layout of the markers of a hand, and their names."""

    name: str
    """Display name."""
    labels: dict[str, Spot]
    """Label, without the side and normalised by `normalise_label` -> where the marker sits."""
    side_pattern: str = ""
    """A regular expression with the groups `side` and `label`; empty where the labels have no side."""
    side: Side | None = None
    """The side of labels that name none."""
    on_skin: bool = False
    """Whether the markers are worn on the skin or a glove, beside the joints that their labels name."""


def _chain(digit: str, labels: Iterable[str]) -> dict[str, Spot]:
    return {label: Spot(joint) for label, joint in zip(labels, CHAIN_JOINTS[digit], strict=True)}


_GLOVE_PREFIXES = {"if": "index-finger", "mf": "middle-finger", "rf": "ring-finger"}
_GLOVE_LABELS = {
    **{
        f"{letters}{part}": Spot(joint)
        for letters, digit in _GLOVE_PREFIXES.items()
        for part, joint in zip("imot", CHAIN_JOINTS[digit], strict=True)
    },
    **_chain("pinky-finger", ("pin", "pmi", "pou", "pti")),
    **_chain("thumb", ("tin", "tmi", "tou", "tti")),
    "han": Spot("wrist"),
}

_FINGER_MARKER_HEIGHT_M = 0.015
"""m from a bone's axis to the centre of a marker on a glove's back: half a finger, the glove and half a marker."""
_HAND_MARKER_HEIGHT_M = 0.022
"""m from a bone's axis to the centre of a marker on the back of the hand."""
_NAIL_MARKER_HEIGHT_M = 0.009
"""m from a bone's axis to the centre of a marker on a nail."""


def _on_proximal(digit: str, along: float) -> Spot:
    return Spot(CHAIN_JOINTS[digit][1 if digit == "thumb" else 0], (0.0, along, _FINGER_MARKER_HEIGHT_M))


_TIP_AND_MIDDLE = {
    "handleft": Spot("wrist", (-0.009, 0.022, _HAND_MARKER_HEIGHT_M)),
    "handright": Spot("wrist", (0.021, 0.022, _HAND_MARKER_HEIGHT_M)),
    "handtop": Spot("wrist", (0.019, 0.066, _HAND_MARKER_HEIGHT_M)),
    "thumbmiddle": _on_proximal("thumb", 0.016),
    "indexmiddle": _on_proximal("index-finger", 0.030),
    "middlemiddle": _on_proximal("middle-finger", 0.035),
    "ringmiddle": _on_proximal("ring-finger", 0.032),
    "littlemiddle": _on_proximal("pinky-finger", 0.026),
    **{
        f"{word}tip": Spot(tip, (0.0, 0.0, _NAIL_MARKER_HEIGHT_M))
        for word, tip in zip(("thumb", "index", "middle", "ring", "little"), TIPS, strict=True)
    },
}

_WRIST_AND_KNUCKLES = {
    "wristin": Spot("wrist", (-0.028, 0.0, 0.012)),
    "wristout": Spot("wrist", (0.028, 0.0, 0.012)),
    "handin": Spot("index-finger-phalanx-proximal"),
    "handout": Spot("pinky-finger-phalanx-proximal"),
    **{f"{word}tip": Spot(tip) for word, tip in zip(("thumb", "index", "middle", "ring", "little"), TIPS, strict=True)},
}

_NINETEEN_ON_SKIN = {
    f"{word}{part}": Spot(joint)
    for digit, word in zip(DIGITS, ("thumb", "index", "middle", "ring", "pinky"), strict=True)
    for part, joint in zip(
        ("cmc", "mcp", "ip", "tip") if digit == "thumb" else ("mcp", "pip", "", "tip"), CHAIN_JOINTS[digit], strict=True
    )
    if part
} | {
    "backhand1": Spot("wrist", (0.022, 0.062, _HAND_MARKER_HEIGHT_M)),
    "backhand2": Spot("wrist", (0.022, 0.030, _HAND_MARKER_HEIGHT_M)),
    "backhand3": Spot("wrist", (-0.012, 0.046, _HAND_MARKER_HEIGHT_M)),
}

_JOINTS_BY_NUMBER = {
    f"{part}{number}": Spot(joint)
    for number, digit in enumerate(DIGITS, start=1)
    for part, joint in zip(
        ("cmc", "mp", "ip", "ft") if digit == "thumb" else ("cmc", "mp", "pp", "dp", "ft"),
        DIGIT_JOINTS[digit],
        strict=True,
    )
} | {
    "ip": Spot("thumb-phalanx-distal"),
    "rs": Spot("wrist", (-0.028, 0.0, 0.0)),
    "us": Spot("wrist", (0.028, 0.0, 0.0)),
}

_ORDINALS = dict(zip(("first", "second", "third", "fourth", "fifth"), DIGITS, strict=True))
_XSENS = {
    f"{ordinal}{part}": Spot(joint)
    for ordinal, digit in _ORDINALS.items()
    for part, joint in zip(
        ("mc", "pp", "dp", "dpend") if digit == "thumb" else ("mc", "pp", "mp", "dp", "dpend"),
        DIGIT_JOINTS[digit],
        strict=True,
    )
} | {"hand": Spot("wrist"), "carpus": Spot("wrist")}

MARKER_SETS: tuple[MarkerSet, ...] = (
    MarkerSet("optical finger glove", _GLOVE_LABELS, r"(?P<side>[lr])(?P<label>.+)", on_skin=True),
    MarkerSet("tip and middle", _TIP_AND_MIDDLE, side="right", on_skin=True),
    MarkerSet("19 markers on the skin (Han et al. 2018)", _NINETEEN_ON_SKIN, on_skin=True),
    MarkerSet(
        "FABRIK-CGA, 8 markers",
        {
            "p": Spot("index-finger-phalanx-proximal"),
            "q": Spot("pinky-finger-phalanx-proximal"),
            "r": Spot("wrist"),
            **{
                f"{name}tip": Spot(tip)
                for name, tip in zip(("thumb", "index", "middle", "ring", "little"), TIPS, strict=True)
            },
        },
        side="right",
    ),
    MarkerSet("wrist, knuckles and tips", _WRIST_AND_KNUCKLES, side="right"),
    MarkerSet("Xsens MVN fingers", _XSENS, r"(?P<side>left|right)(?P<label>.+)"),
    MarkerSet("joints by their digit's number (Ganguly et al. 2021)", _JOINTS_BY_NUMBER, on_skin=True),
)
"""Marker sets whose labels do not spell out joint names. FABRIK-CGA section 3.4.1 puts p and q on F1,2 and F4,2, and r
on the root. The middle markers of an optical glove sit near the end of the proximal phalanx, its hand markers on the
back of the hand."""


def marker_set_named(name: str) -> MarkerSet:
    """Return the marker set with a name that is in MARKER_SETS."""
    return next(marker_set for marker_set in MARKER_SETS if marker_set.name == name)


_PREFIX_ENDS = "_.- |/"
"""Characters that may end a prefix which all labels share, as in Anna_LIFT."""


def normalise_label(label: str) -> str:
    """Normalise a label: without subject prefix, case and separators: 'Human4:LIFT' -> 'lift'."""
    return re.sub(r"[^a-z0-9]", "", label.rsplit(":", 1)[-1].lower())


def parse_label(label: str) -> tuple[Side | None, Spot] | None:
    """Return the side in a label, if any, and the joint that it names; None if it names no joint of a hand."""
    side_and_joint = joint_in_label(label)
    return None if side_and_joint is None else (side_and_joint[0], Spot(side_and_joint[1]))


_THUMB_SPOTS = tuple(Spot(joint) for joint in CHAIN_JOINTS["thumb"][:3])
_THUMB_CMC, _THUMB_MCP, _ = _THUMB_SPOTS

Groups = dict[str, dict[str, Spot]]
"""Group -> label -> where the marker sits. Within a group, no two labels share a spot."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """The marker set that labels seem to belong to."""

    name: str
    """The marker set's display name."""
    groups: Groups
    confidence: float
    """0..1: of five tips and three palm points, the fraction that the most complete hand has."""
    on_skin: bool = False
    """See MarkerSet."""


def suggest(names: Iterable[str]) -> Suggestion:
    """Return the marker set that explains most of the labels.

    Raises:
        MarkerMapError: fewer than three labels of any group name points of a hand.
    """
    suggestion = _suggest(tuple(names))
    return replace(suggestion, groups={group: dict(spots) for group, spots in suggestion.groups.items()})


@lru_cache(maxsize=32)
def _suggest(names: tuple[str, ...]) -> Suggestion:
    matches = _matches({name: name for name in names})
    prefix = _shared_prefix(names)
    if prefix:
        matches += _matches({name: f"{prefix[:-1]}:{name[len(prefix) :]}" for name in names})
    name, groups = max(matches, key=lambda entry: sum(map(len, entry[1].values())))
    matched = [label for spots in groups.values() for label in spots]
    groups = {group: spots for group, spots in groups.items() if len(spots) >= 3}
    if matched and not groups:
        raise MarkerMapError(
            f"only {', '.join(matched[:4])} of the {len(names)} labels name points of a hand, "
            "expected at least three of one hand"
        )
    if not groups:
        raise MarkerMapError(
            f"none of the {len(names)} labels ({', '.join(names[:4])}{' …' if len(names) > 4 else ''}) "
            "names a point of a hand, a marker map must assign them"
        )
    on_skin = any(marker_set.on_skin for marker_set in MARKER_SETS if marker_set.name == name)
    return Suggestion(name, groups, max(map(completeness, groups.values())), on_skin)


@dataclass(frozen=True, slots=True)
class _ParsedLabel:
    """A label, parsed once for all marker sets."""

    label: str
    spelling: str
    """The label with its subject, if any, before a colon."""
    subject: str
    subject_side: Side | None
    text: str
    """The label as normalise_label returns it."""
    without_side: str
    side: Side | None
    """The side at the beginning or end of the text."""


def _parse_for_sets(label: str, spelling: str) -> _ParsedLabel:
    subject, _, name = spelling.rpartition(":")
    return _ParsedLabel(label, spelling, subject, side_in_name(subject), normalise_label(name), *_split_side(name))


def _matches(spellings: dict[str, str]) -> list[tuple[str, Groups]]:
    """Return the name and the groups of each marker set. spellings: label -> spelling, see _ParsedLabel."""
    labels = [_parse_for_sets(label, spelling) for label, spelling in spellings.items()]
    matches = [(marker_set.name, _match_set(marker_set, labels)) for marker_set in MARKER_SETS]
    return [*matches, ("joint names", _match_words(labels))]


def _shared_prefix(names: tuple[str, ...]) -> str:
    """Return the subject that all labels begin with, and its separator: 'Anna_' of Anna_LIFT; empty without one.

    A side is not a subject, and neither is a word for a part of a hand.
    """
    if len(names) < 2:
        return ""
    first, last = min(names), max(names)
    shared = first[: _common_prefix_length(first, last)]
    if ":" in shared:
        return ""
    prefixes = (shared[: index + 1] for index, character in enumerate(shared) if character in _PREFIX_ENDS)
    words = {*SIDE_WORDS, *DIGIT_WORDS, *WRIST_WORDS}
    return max((prefix for prefix in prefixes if not words.intersection(split_label(prefix))), key=len, default="")


def _common_prefix_length(first: str, second: str) -> int:
    """Return the length of the common prefix of two names."""
    pairs = zip(first, second, strict=False)
    return next((i for i, pair in enumerate(pairs) if pair[0] != pair[1]), min(len(first), len(second)))


def side_in_name(group: str) -> Side | None:
    """Return the side that a group's name contains, if any."""
    return next((SIDE_WORDS[word] for word in reversed(split_label(group)) if word in SIDE_WORDS), None)


def subject_of(group: str) -> str:
    """Return the subject, a performer's name, of a group: 'Anna' of 'Anna left', '#2' of 'left#2', '' of 'left'."""
    first, _, last = group.rpartition(" ")
    side, mark, number = last.partition("#")
    return f"{first}{mark}{number}" if side_in_name(side) else ""


def _group_of_label(parsed_label: _ParsedLabel, side: Side | None) -> str:
    """Return the group of a label: 'LeftHandIndex1' -> 'left'.

    With a subject: 'Human4:LIFT' -> 'Human4 left', 'left#2:wrist' -> 'left#2'.
    """
    if not parsed_label.subject or side is None or parsed_label.subject_side == side:
        return parsed_label.subject or side or "hand"
    return f"{parsed_label.subject} {side}"


def _match_set(marker_set: MarkerSet, labels: list[_ParsedLabel]) -> Groups:
    result: _Candidates = {}
    for parsed_label in labels:
        text, side = parsed_label.text, parsed_label.subject_side or marker_set.side
        if marker_set.side_pattern:
            match = re.fullmatch(marker_set.side_pattern, text)
            if match is None:
                continue
            text, side = match["label"], SIDE_WORDS[match["side"]]
        elif text not in marker_set.labels:
            text, side = parsed_label.without_side, parsed_label.side or side
        if text in marker_set.labels:
            _add(result, _group_of_label(parsed_label, side), parsed_label.label, marker_set.labels[text])
    return _choose_labels(result)


def _split_side(name: str) -> tuple[str, Side | None]:
    """Return a label without the side at its beginning or end, normalised, and the side: 'L_IndexTip' -> 'indextip'."""
    words = split_label(name)
    for index, rest in ((0, words[1:]), (-1, words[:-1])):
        if words and words[index] in SIDE_WORDS:
            return "".join(rest), SIDE_WORDS[words[index]]
    return "".join(words), None


def _match_words(labels: list[_ParsedLabel]) -> Groups:
    parsed = [
        (parsed_label, *side_and_spot)
        for parsed_label in labels
        if (side_and_spot := parse_label(parsed_label.spelling)) is not None
    ]
    groups = [_group_of_label(parsed_label, side) for parsed_label, side, _ in parsed]
    with_middle = {
        group
        for group, (parsed_label, _, _) in zip(groups, parsed, strict=True)
        if is_middle_of_thumb(parsed_label.label)
    }
    result: _Candidates = {}
    for group, (parsed_label, _, spot) in zip(groups, parsed, strict=True):
        is_cmc = group in with_middle and spot == _THUMB_MCP and not is_middle_of_thumb(parsed_label.label)
        _add(result, group, parsed_label.label, _THUMB_CMC if is_cmc else spot)
    for group, spots in result.items():
        for joint, label in joints_of_thumb(_thumb(labels, group, spots)).items():
            spots[Spot(joint)] = [label]
    return _choose_labels(result)


def _thumb(labels: list[_ParsedLabel], group: str, spots: dict[Spot, list[str]]) -> list[tuple[str, str | None]]:
    """Return the labels of a group's thumb in their order, without the tip, each with the joint that it names."""
    joints = {label: spot.joint for spot, spot_labels in spots.items() if spot in _THUMB_SPOTS for label in spot_labels}
    bare = {
        parsed_label.label
        for parsed_label in labels
        if is_bare_thumb(parsed_label.spelling)
        and _group_of_label(parsed_label, side_in_label(parsed_label.spelling)) == group
    }
    return [
        (parsed_label.label, joints.get(parsed_label.label))
        for parsed_label in labels
        if parsed_label.label in bare or parsed_label.label in joints
    ]


_Candidates = dict[str, dict[Spot, list[str]]]
"""Group -> spot -> the labels that name it: duplicates and helper joints may have the same words."""


def _add(candidates: _Candidates, group: str, label: str, spot: Spot) -> None:
    candidates.setdefault(group, {}).setdefault(spot, []).append(label)


def _choose_labels(candidates: _Candidates) -> Groups:
    """Return groups with one label for each spot: the label whose beginning is most like those of the other spots.

    Next to right_hand_thumb_tip, for example, right_hand_wrist is preferred to a body's right_wrist.
    """
    return {group: {_best_label(spot, spots): spot for spot in spots} for group, spots in candidates.items()}


def _best_label(spot: Spot, spots: dict[Spot, list[str]]) -> str:
    """Return the label of a spot whose beginning is shared most with the labels of the other spots."""
    labels = spots[spot]
    if len(labels) == 1:
        return labels[0]
    others = [other_labels[0] for other_spot, other_labels in spots.items() if other_spot != spot]
    return max(labels, key=lambda label: sum(_common_prefix_length(label, other_label) for other_label in others))


def completeness(spots: dict[str, Spot]) -> float:
    """Return the fraction, 0..1, of five tips and three palm points that are among the spots."""
    tips = {spot.joint for spot in spots.values()} & set(TIPS)
    palm = sum(map(on_palm, spots.values()))
    return (len(tips) + min(palm, 3)) / 8


_KNUCKLES = {CHAIN_JOINTS[digit][0] for digit in DIGITS}
_PALM = {"wrist"} | {joint for digit in DIGITS[1:] for joint in DIGIT_JOINTS[digit][:-3]}


def on_palm(spot: Spot) -> bool:
    """Return whether a marker moves with the palm: at a knuckle or on a metacarpal, not on a phalanx.

    The thumb's CMC is excluded: in headset captures it moves by a centimetre relative to the others.
    """
    return spot.joint in _PALM and not (spot.joint in _KNUCKLES and any(spot.offset))


def palm_visible(spots: tuple[Spot, ...], positions: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return whether at least three palm markers are seen in each frame (F,).

    Args:
        spots: where the M markers sit.
        positions: (F, M, 3), NaN where not seen.
    """
    palm = [i for i, spot in enumerate(spots) if on_palm(spot)]
    visible: NDArray[np.bool_] = np.sum(finite_points(positions[:, palm]), axis=1) >= 3
    return visible


def from_json(data: object, where: str) -> Groups:
    """Read a marker map as `groups_from_json` does, and drop sides without markers.

    Raises:
        MarkerMapError: as `groups_from_json`, or no side has markers.
    """
    groups = {side: spots for side, spots in groups_from_json(data, where).items() if spots}
    if not groups:
        raise MarkerMapError(f"{where}: has no markers, expected labels and joints for 'left', 'right' or both")
    return groups


def groups_from_json(data: object, where: str) -> Groups:
    """Read markers from decoded JSON: {"left": {"LIFT": "index-finger-tip", ...}, "right": {...}}.

    A label maps to a joint's name or to {"joint": name, "offset": [x, y, z]}, the offset as in Spot.

    Args:
        data: the decoded JSON.
        where: the source as it appears in error messages.

    Raises:
        MarkerMapError: an entry is not understood, or two labels have the same spot.
    """
    if not isinstance(data, dict) or not data or not set(data) <= set(SIDES):
        raise MarkerMapError(f"{where}: expected an object with 'left', 'right' or both")
    result: Groups = {}
    for side in SIDES:
        if side not in data:
            continue
        if not isinstance(data[side], dict):
            raise MarkerMapError(f"{where}, {side}: expected an object of labels and joints")
        result[side] = {
            label: _spot_from_json(value, f"{where}, {side}, {label}") for label, value in data[side].items()
        }
    for group, spots in result.items():
        if len(set(spots.values())) < len(spots):
            shared = next(spot for spot in spots.values() if list(spots.values()).count(spot) > 1)
            raise MarkerMapError(f"{where}, {group}: two labels sit at {shared.joint}, each needs its own position")
    return result


def _spot_from_json(value: Any, where: str) -> Spot:
    entry = {"joint": value} if isinstance(value, str) else value
    if not isinstance(entry, dict) or not {"joint"} <= set(entry) <= {"joint", "offset"}:
        raise MarkerMapError(f"{where}: expected a joint's name or an object with 'joint' and 'offset'")
    joint, offset = entry["joint"], entry.get("offset", [0.0, 0.0, 0.0])
    if not isinstance(joint, str) or joint not in JOINT_INDEX:
        raise MarkerMapError(f"{where}: '{joint}' is not a joint, expected a WebXR name such as index-finger-tip")
    are_numbers = isinstance(offset, list) and len(offset) == 3 and all(isinstance(x, int | float) for x in offset)
    if not are_numbers or not all(abs(x) < 0.5 for x in offset):
        raise MarkerMapError(f"{where}: offset is {offset!r}, expected three numbers in metres")
    return Spot(joint, (float(offset[0]), float(offset[1]), float(offset[2])))


def to_json(groups: Groups) -> dict[str, dict[str, Any]]:
    """Convert a marker map for JSON: the inverse of from_json."""
    return {
        side: {
            label: {"joint": spot.joint, "offset": list(spot.offset)} if any(spot.offset) else spot.joint
            for label, spot in spots.items()
        }
        for side, spots in groups.items()
    }
