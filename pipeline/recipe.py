"""The recipe: all choices that turn a capture into a solved take, the same for panel, shell and Python."""

import json
from dataclasses import asdict, dataclass, field, is_dataclass
from pathlib import Path
from types import UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from ..capture.cleaning import Cleaning
from ..capture.conventions import METRES, UPS
from ..capture.timestamps import MAX_RATE_HZ
from ..errors import RecipeError
from ..hand.camera.picture_landmarks import MAX_ANGLE_OF_VIEW, MIN_ANGLE_OF_VIEW
from ..hand.joints import DIGITS
from ..hand.proportions import MAX_LENGTH, MIN_LENGTH
from .capture_transform import NO_TRANSFORM, CaptureTransform

HandChoice = Literal["auto", "left", "right", "both"]
HANDS: tuple[HandChoice, ...] = get_args(HandChoice)

LabelChoice = Literal["auto", "names", "shape"]
LABELS: tuple[LabelChoice, ...] = get_args(LabelChoice)

MarkersOn = Literal["auto", "joints", "skin"]
MARKERS_ON: tuple[MarkersOn, ...] = get_args(MarkersOn)

KeepChoice = Literal["directions", "fingertips", "pinches"]
KEEPS: tuple[KeepChoice, ...] = get_args(KeepChoice)

ScaleChoice = Literal["hand", "world"]
SCALES: tuple[ScaleChoice, ...] = get_args(ScaleChoice)

LandmarksChoice = Literal["picture", "world"]
LANDMARKS: tuple[LandmarksChoice, ...] = get_args(LandmarksChoice)

AnglesChoice = Literal["solved", "device"]
ANGLES: tuple[AnglesChoice, ...] = get_args(AnglesChoice)

DriveChoice = Literal["auto", "fingers", "wrist", "arm"]
DRIVES: tuple[DriveChoice, ...] = get_args(DriveChoice)

AlignChoice = Literal["off", "pose", "rest", "forearms", "points"]
ALIGNS: tuple[AlignChoice, ...] = get_args(AlignChoice)

IntoChoice = Literal["new", "this"]
INTOS: tuple[IntoChoice, ...] = get_args(IntoChoice)

UNITS = ("auto", *METRES)
UP_AXES = ("auto", *UPS)

MIN_REDUCE_DISTANCE, MAX_REDUCE_DISTANCE = 1e-5, 1.0
"""m, bounds of `reduce_distance`."""
MIN_REDUCE_ANGLE, MAX_REDUCE_ANGLE = 0.01, 90.0
"""Degrees, bounds of `reduce_angle`."""

MAX_BLEND = 10_000
"""Maximum number of frames of a blend."""

MarkerMap = dict[str, dict[str, Any]]
"""side -> label -> name of a joint, or {"joint": name, "offset": [x, y, z]} offset in m in the joint's frame."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """All choices that lead from a capture to a take. Paths are strings, as the user wrote them.

    Raises RecipeError for a value that is not allowed.
    """

    capture: str
    """The recording's path, or `armature:NAME` for an armature of the open scene."""
    unit: str = "auto"
    """Unit of length: `auto`, `m`, `dm`, `cm` or `mm`. `auto` goes by the file."""
    up: str = "auto"
    """Axis that points up: `auto`, `x`, `y`, `z`, `-x`, `-y` or `-z`. `auto` goes by the file."""
    rate: float | None = None
    """Frames per second of the capture; null goes by the file's times, or its own rate."""
    animation: str = ""
    """Animation to read from an FBX, glTF or USD file that holds several; empty reads the one that Blender plays."""
    landmarks: LandmarksChoice = "picture"
    """For landmarks of a camera: fit a hand of constant bones to them in the `picture`, or take the `world` landmarks
    as they are."""
    angle_of_view: float | None = None
    """The camera's angle of view in degrees, across the picture's longer side; null assumes 60."""
    hand_length: float | None = None
    """Length in m of the hand before a camera, from the wrist to the middle finger's tip; null assumes an adult's."""
    start: int | None = None
    """First frame to use, counted from 1."""
    end: int | None = None
    """Last frame to use."""
    hand: HandChoice = "auto"
    """Hand of the capture to solve; `auto` takes all that are in it."""
    subject: str = ""
    """Person to solve in a capture of several, by the prefix of the labels; empty takes the one seen best."""
    mirror: bool = False
    """Each hand of the capture drives the other hand, mirrored in the world's plane X = 0."""
    markers: MarkerMap | None = None
    """Marker map, by side and label; null finds the marker set that fits."""
    labels: LabelChoice = "auto"
    """Label markers by `names`, or by `shape` and motion; `auto` uses names if they are understood."""
    markers_on: MarkersOn = "auto"
    """Where markers sit: `skin` fits the performer with the markers worn and ends with least squares over all of them,
    `joints` keeps the solver's own result, which meets fingertips; `auto` goes by the marker set."""
    performer: dict[str, Any] | None = None
    """A performer, as `calibrate` saves it; null measures the capture itself."""
    cleaning: Cleaning = field(default_factory=Cleaning)
    """Settings for the cleaning of markers."""
    solver: str = "fabrik"
    """Name of a solver; `knuckle solvers` lists them."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Settings of the solver; the others keep their defaults."""
    angles: AnglesChoice = "solved"
    """For takes of devices that send rotations: joint angles are `solved` from positions, or the `device`'s own."""
    smoothing: str = "off"
    """Smoothing: `off`, `live` or `whole`."""
    smoothing_settings: dict[str, Any] = field(default_factory=dict)
    """Settings of the smoothing; the others keep their defaults."""
    rig: str = "default"
    """`default` builds a hand of the performer's size; otherwise a .blend, .glb, .vrm or .fbx file with an armature."""
    armature: str | None = None
    """Name of the armature object to key; null takes the only one that has hands, or the active one."""
    mappings: dict[str, Any] | None = None
    """Mapping of each of the rig's hands, by side, as a mapping file holds it; takes precedence over detection."""
    drive: DriveChoice = "auto"
    """What the capture moves: the `fingers` alone, the hand with its `wrist`, or also the `arm`, so that the wrist is
    where it was recorded. `auto` moves the fingers of a hand on an arm, and the wrist of a hand without one."""
    align: AlignChoice = "off"
    """Place the capture, by its location and rotation, at the rig: its hands begin where the rig's are in the current
    `pose` or at `rest`, by the `forearms` if it shows the elbows, or by two `points`."""
    align_points: list[str] | None = None
    """Names of two objects in the rig's file: where the wrist begins, and where the fingers point."""
    digits: list[str] | None = None
    """Digits to key, such as `thumb` and `index-finger`; null keys all. Unless all are keyed, wrist and arm stay."""
    into: IntoChoice = "new"
    """Key a `new` take, or replace these frames of `this` take, which the rig plays."""
    blend_in: int = 5
    """Frames of the scene over which this take's keys go over to the new ones."""
    blend_out: int = 5
    """Frames of the scene over which the new keys go over to this take's."""
    reduce: bool = False
    """Reduce the keys of a new take to few with handles; the dense take is kept beside it."""
    reduce_distance: float = 0.001
    """Maximum distance by which reducing keys may move a fingertip, in m."""
    reduce_angle: float = 1.0
    """Maximum rotation of a joint by reducing keys, in degrees."""
    reduce_shared: bool = False
    """Key all bones of a digit on each of its frames; if not, each has only the keys that it needs, on some of them."""
    hold_contacts: bool = False
    """Hold the performer's contacts on the hand that is keyed: where fingertips stay on other digits or the palm."""
    keep_apart: bool = False
    """Keep digits and palm from being deeper in each other than 1 mm, on the hand that is keyed."""
    corrections: list[dict[str, Any]] | None = None
    """Corrections that are applied to the take, as `Save Recipe` and the action of a take store them."""
    rig_limits: bool = True
    """Obey the rig's rotation limits."""
    keep: KeepChoice = "directions"
    """What to keep on a rig of other proportions: `directions` of bones, positions of `fingertips`, or `pinches`."""
    keep_scale: ScaleChoice = "hand"
    """Scale of positions and distances that are kept: of the rig's `hand`, or metres of the `world`."""
    transform: CaptureTransform = NO_TRANSFORM
    """Transform of the capture in the scene; it is mirrored first."""
    fps: float | None = None
    """Frames per second of the keys; null takes the capture's own frames."""

    def __post_init__(self) -> None:
        _check_choice("hand", self.hand, HANDS)
        _check_choice("labels", self.labels, LABELS)
        _check_choice("angles", self.angles, ANGLES)
        _check_choice("drive", self.drive, DRIVES)
        _check_choice("align", self.align, ALIGNS)
        if (self.align == "points") != (self.align_points is not None) or len(self.align_points or "12") != 2:
            raise RecipeError(
                f"align is '{self.align}' and align_points is {self.align_points}, expected the names of two objects "
                "with 'points', and none without"
            )
        _check_choice("markers_on", self.markers_on, MARKERS_ON)
        _check_choice("into", self.into, INTOS)
        _check_choice("keep", self.keep, KEEPS)
        _check_choice("keep_scale", self.keep_scale, SCALES)
        _check_choice("landmarks", self.landmarks, LANDMARKS)
        _check_range("angle_of_view", self.angle_of_view, MIN_ANGLE_OF_VIEW, MAX_ANGLE_OF_VIEW, "degrees")
        _check_range("hand_length", self.hand_length, MIN_LENGTH, MAX_LENGTH, "m")
        _check_choice("unit", self.unit, UNITS)
        _check_choice("up", self.up, UP_AXES)
        if self.start is not None and self.start < 1:
            raise RecipeError(f"start is {self.start}, the first frame of a capture is 1")
        if self.end is not None and self.end < 1:
            raise RecipeError(f"end is {self.end}, the first frame of a capture is 1")
        if self.start is not None and self.end is not None and self.end < self.start:
            raise RecipeError(f"end is {self.end}, before start at {self.start}")
        if self.rate is not None and not 0 < self.rate <= MAX_RATE_HZ:
            raise RecipeError(f"rate is {self.rate}, expected more than 0 and at most {MAX_RATE_HZ:g} Hz")
        for name, frames in (("blend_in", self.blend_in), ("blend_out", self.blend_out)):
            if not 0 <= frames <= MAX_BLEND:
                raise RecipeError(f"{name} is {frames}, expected 0 to {MAX_BLEND} frames")
        _check_range("reduce_distance", self.reduce_distance, MIN_REDUCE_DISTANCE, MAX_REDUCE_DISTANCE, "m")
        _check_range("reduce_angle", self.reduce_angle, MIN_REDUCE_ANGLE, MAX_REDUCE_ANGLE, "degrees")
        if self.reduce and self.into != "new":
            raise RecipeError(f"reduce is on and into is '{self.into}', expected 'new': only a new take is reduced")
        if self.digits is not None and not self.digits:
            raise RecipeError(f"digits is empty, expected some of {', '.join(DIGITS)}")
        for digit in self.digits or ():
            _check_choice("digit", digit, DIGITS)
        if self.fps is not None and not 0 < self.fps <= 10_000:
            raise RecipeError(f"fps is {self.fps}, expected more than 0 and at most 10000")


def _check_range(name: str, value: float | None, minimum: float, maximum: float, unit: str) -> None:
    if value is not None and not minimum <= value <= maximum:
        raise RecipeError(f"{name} is {value:g}, expected {minimum:g} to {maximum:g} {unit}")


def _check_choice(name: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise RecipeError(f"{name} is '{value}', expected one of {', '.join(allowed)}")


def from_dict(data: object, where: str) -> Recipe:
    """Build a recipe from decoded JSON. Raises RecipeError naming `where` and what is wrong."""
    _check_renamed(data, where)
    values = _check_fields(data, Recipe, where)
    if "capture" not in values:
        raise RecipeError(f"{where}: there is no 'capture', a recipe must name the recording")
    if "cleaning" in values:
        values["cleaning"] = Cleaning(**_check_fields(values["cleaning"], Cleaning, f"{where}, cleaning"))
    if "transform" in values:
        parts: dict[str, Any] = _check_fields(values["transform"], CaptureTransform, f"{where}, transform")
        parts |= {name: tuple(part) for name, part in parts.items() if isinstance(part, list)}
        values["transform"] = CaptureTransform(**parts)
    return Recipe(**values)


_RENAMED = {
    '"arm": true': '"drive": "arm"',
    '"arm": false': '"drive": "wrist"',
    '"drive": "targets"': '"angles": "solved"',
    '"drive": "joints"': '"angles": "device"',
}
"""Field and value in recipes of early versions -> their replacement."""


def _check_renamed(data: object, where: str) -> None:
    """Raise RecipeError for a field that has been renamed."""
    for name in ("arm", "drive"):
        early_field = f'"{name}": {json.dumps(data.get(name))}' if isinstance(data, dict) else ""
        if early_field in _RENAMED:
            raise RecipeError(f"{where}: {early_field} is of an early version, expected {_RENAMED[early_field]}")


def _check_fields(data: object, kind: type, where: str) -> dict[str, Any]:
    """Check the names and types of a dataclass's values. Raises RecipeError."""
    if not isinstance(data, dict):
        raise RecipeError(f"{where}: found {type(data).__name__}, expected an object with names and values")
    hints = get_type_hints(kind)
    for name, value in data.items():
        if name not in hints:
            raise RecipeError(f"{where}: '{name}' is not known, expected {', '.join(hints)}")
        if not _matches_type(value, hints[name]):
            raise RecipeError(f"{where}: '{name}' is {value!r}, which has the wrong type")
    return dict(data)


def _matches_type(value: object, hint: Any) -> bool:
    """Return whether a decoded JSON value matches a type hint; an integer matches float."""
    origin = get_origin(hint)
    if origin is UnionType:
        return any(_matches_type(value, part) for part in get_args(hint))
    if origin is Literal:
        return value in get_args(hint)
    if origin in (list, tuple):
        return _matches_items(value, get_args(hint), any_number=origin is list)
    if is_dataclass(hint) or origin is dict:
        return isinstance(value, dict)
    if isinstance(value, bool):
        return hint is bool
    return isinstance(value, (int, float) if hint is float else hint)


def _matches_items(value: object, hints: tuple[Any, ...], *, any_number: bool) -> bool:
    """Return whether a decoded JSON value is a list of items of these types, or of any number of the only type."""
    if not isinstance(value, list | tuple) or not (any_number or len(value) == len(hints)):
        return False
    return all(_matches_type(item, hint) for item, hint in zip(value, hints * len(value), strict=False))


def to_dict(recipe: Recipe) -> dict[str, Any]:
    """Encode a recipe as JSON."""
    data = asdict(recipe)
    data["transform"] |= {name: list(part) for name, part in data["transform"].items() if isinstance(part, tuple)}
    return data


MAX_JSON_BYTES = 16 * 2**20
"""Maximum size of a JSON file: recipe, performer or marker map."""
MAX_DIGITS = 18
"""Maximum number of digits of an integer in a JSON file, with its sign."""


def decode_json(text: str, where: str) -> Any:
    """Decode a JSON text of any content.

    Raises RecipeError naming `where`, and the line, for what is not JSON, is nested too deeply, has an integer
    beyond 64 bits, or half a character.
    """
    try:
        data = json.loads(text, parse_int=_integer)
        # Half a surrogate pair, written as \ud800, is JSON but not a character.
        json.dumps(data, ensure_ascii=False).encode("utf-8")
    except json.JSONDecodeError as error:
        raise RecipeError(f"{where}, line {error.lineno}: not JSON ({error.msg})") from error
    except UnicodeEncodeError as error:
        raise RecipeError(f"{where}: contains half a character ({error.object[error.start]!r})") from error
    except (ValueError, RecursionError) as error:
        raise RecipeError(f"{where}: not a JSON text") from error
    return data


def _integer(text: str) -> int:
    """Return an integer of 64 bits. Raises ValueError."""
    if len(text) > MAX_DIGITS:
        raise ValueError(text[:MAX_DIGITS])
    return int(text)


def read_json(path: str | Path) -> Any:
    """Read and decode a small JSON file.

    Raises RecipeError if the file is missing or larger than 16 MiB, and as decode_json does.
    """
    path = Path(path)
    try:
        if path.exists() and not path.is_file():
            raise RecipeError(f"{path}: a folder or a device, expected a file of JSON")
        if path.stat().st_size > MAX_JSON_BYTES:
            raise RecipeError(f"{path}: larger than {MAX_JSON_BYTES >> 20} MiB, the maximum for a file of settings")
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise RecipeError(f"{path}: cannot be read ({error.strerror})") from error
    except ValueError as error:
        raise RecipeError(f"{path}: not a JSON text") from error
    return decode_json(text, str(path))
