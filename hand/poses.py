"""Named poses, defined by joint angles in poses.json.

The angles are tuned on an adult's hand (proportions.py), where fingers touch as they do on a person and nothing
intersects: tests/blender/test_hand_poses.py measures both on the skin.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from ..errors import HandError
from .joints import CHAIN_JOINTS, DIGITS, JOINTS
from .limits import DIGIT_MOVEMENTS, DIP_PER_PIP
from .model import HandModel, Movement

Floats = NDArray[np.float64]
Degrees = dict[tuple[str, Movement], float]

SAVED = "saved"
"""The group of the user's saved poses. GROUPS lists those of Knuckle."""
GROUPS: dict[str, str] = {"everyday": "Everyday", "grips": "Grips", "letters": "Sign Alphabet"}
"""Groups of poses and their labels."""

_FINGER_COLUMNS: tuple[tuple[int, Movement], ...] = ((0, "flexion"), (1, "flexion"), (0, "abduction"), (0, "twist"))
"""A finger's columns in poses.json: index of the joint in its chain, and movement. The thumb has DIGIT_MOVEMENTS."""


MAX_LABEL_LENGTH = 64
"""Maximum characters of the label of a saved pose."""
MOVEMENTS: tuple[Movement, ...] = get_args(Movement)


@dataclass(frozen=True, slots=True, eq=False)
class NamedPose:
    """A pose with a name and metadata."""

    name: str
    """Identifier for commands: 'letter-a'."""
    label: str
    """Display name."""
    group: str
    """A key of GROUPS."""
    about: str
    """One sentence of description."""
    tags: tuple[str, ...]
    """Other search terms."""
    degrees: Degrees
    """(joint, movement) -> angle, for all digits; those not listed are zero."""


def _degrees(row: Mapping[str, Any]) -> Degrees:
    result: Degrees = {}
    for digit in DIGITS:
        joints = CHAIN_JOINTS[digit]
        columns = DIGIT_MOVEMENTS if digit == "thumb" else _FINGER_COLUMNS
        angles = row[digit.removesuffix("-finger")]
        result.update({(joints[k], movement): angle for (k, movement), angle in zip(columns, angles, strict=True)})
        if digit != "thumb":
            result[joints[2], "flexion"] = DIP_PER_PIP * result[joints[1], "flexion"]
    return result


def _read(path: Path) -> dict[str, NamedPose]:
    rows = json.loads(path.read_text(encoding="utf-8"))["poses"]
    return {
        row["name"]: NamedPose(
            name=row["name"],
            label=row["label"],
            group=row["group"],
            about=row["about"],
            tags=tuple(row["tags"]),
            degrees=_degrees(row),
        )
        for row in rows
    }


POSES: dict[str, NamedPose] = _read(Path(__file__).with_name("poses.json"))
"""Named poses, in display order."""


def names_in_group(group: str) -> tuple[str, ...]:
    """Return the names of a group's poses."""
    return tuple(pose.name for pose in POSES.values() if pose.group == group)


def named(name: str | NamedPose) -> NamedPose:
    """Return the pose of a name; a pose is returned unchanged. Raises HandError for an unknown name."""
    if isinstance(name, NamedPose):
        return name
    if name not in POSES:
        raise HandError(f"there is no pose '{name}', only {', '.join(POSES)}")
    return POSES[name]


def angles(hand: HandModel, name: str | NamedPose) -> Floats:
    """Return the angles (D,) rad of a pose, or of the pose with a name, clipped to the hand's limits.

    Raises:
        HandError: there is no pose of that name.
    """
    result = np.zeros(hand.dofs)
    for (joint, movement), degrees in named(name).degrees.items():
        dof = hand.dof(joint, movement)
        if dof is not None:
            result[dof] = np.deg2rad(degrees)
    clipped: Floats = np.clip(result, hand.limits[:, 0], hand.limits[:, 1])
    return clipped


def pose_of_angles(hand: HandModel, hand_angles: Floats, label: str) -> NamedPose:
    """Return angles (D,) rad of a hand as a pose that any hand can take."""
    movements = zip(hand.axis_joint, hand.movements, np.rad2deg(hand_angles), strict=True)
    degrees = {(hand.joints[joint], movement): round(float(angle), 2) for joint, movement, angle in movements}
    return _saved(label, degrees)


def to_dict(pose: NamedPose) -> dict[str, Any]:
    """Convert a saved pose for JSON: the inverse of from_dict."""
    degrees = {f"{joint} {movement}": angle for (joint, movement), angle in pose.degrees.items()}
    return {"version": 1, "label": pose.label, "degrees": degrees}


def from_dict(data: Any, where: str) -> NamedPose:
    """Read a saved pose. Raises HandError, whose message begins with `where`, if it is invalid."""
    label, named_angles = (data.get(key) if isinstance(data, dict) else None for key in ("label", "degrees"))
    if not isinstance(label, str) or not 0 < len(label) <= MAX_LABEL_LENGTH or not isinstance(named_angles, dict):
        raise HandError(f"{where}: not a hand pose, expected one that Knuckle saved")
    degrees: Degrees = {}
    for name, angle in named_angles.items():
        joint, _, movement = str(name).rpartition(" ")
        if joint not in JOINTS or movement not in MOVEMENTS:
            raise HandError(f"{where}: there is no movement {name!r:.80}, expected a joint and one of {MOVEMENTS}")
        if isinstance(angle, bool) or not isinstance(angle, int | float) or not abs(angle) <= 180:
            raise HandError(f"{where}: {name} is {angle!r:.40}, expected degrees from -180 to 180")
        degrees[joint, movement] = float(angle)
    return _saved(label, degrees)


def _saved(label: str, degrees: Degrees) -> NamedPose:
    return NamedPose(f"{SAVED}:{label}", label, SAVED, "A saved pose.", (SAVED,), degrees)
