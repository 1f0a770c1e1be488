"""A recipe: every choice that turns a capture into a solved take, so that panel, shell and test run the same."""

import json
from dataclasses import asdict, dataclass, field, is_dataclass
from pathlib import Path
from types import UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from ..capture.cleaning import Cleaning
from ..capture.conventions import METRES, UPS
from ..errors import RecipeError

HandChoice = Literal["auto", "left", "right", "both"]
HANDS: tuple[HandChoice, ...] = get_args(HandChoice)

LabelChoice = Literal["auto", "names", "shape"]
LABELS: tuple[LabelChoice, ...] = get_args(LabelChoice)

KeepChoice = Literal["directions", "fingertips", "pinches"]
KEEPS: tuple[KeepChoice, ...] = get_args(KeepChoice)

ScaleChoice = Literal["hand", "world"]
SCALES: tuple[ScaleChoice, ...] = get_args(ScaleChoice)

DriveChoice = Literal["targets", "joints"]
DRIVES: tuple[DriveChoice, ...] = get_args(DriveChoice)

UNITS = ("auto", *METRES)
UP_AXES = ("auto", *UPS)

MarkerMap = dict[str, dict[str, Any]]
"""side -> label -> a joint's name, or {"joint": name, "offset": [x, y, z]} in metres in the joint's frame."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """What to read, how to understand it, how to solve it and what to drive. Paths are strings, as typed.

    Raises RecipeError for a value that is not among those it may take.
    """

    capture: str
    """The recording's path."""
    unit: str = "auto"
    """auto, m, dm, cm or mm: overrides what the file says or what is guessed."""
    up: str = "auto"
    """auto, x, y, z, -x, -y or -z: overrides which axis points up in the file."""
    start: int | None = None
    """First frame of the capture to use, counted from 1 as `knuckle info` counts."""
    end: int | None = None
    """Last frame of the capture to use."""
    hand: HandChoice = "auto"
    """Which hand of the capture to solve; auto takes those that it holds."""
    subject: str = ""
    """Whose hands to solve, of a capture of several people, by what its labels call them; empty takes those that are
    seen best."""
    mirror: bool = False
    """Whether each hand of the capture drives the other hand, mirrored in the world's plane X = 0."""
    markers: MarkerMap | None = None
    """Labels to joints; None finds the marker set that fits. Where labels are told by shape: those that were found."""
    labels: LabelChoice = "auto"
    """By what markers are told: their names, or how they stand and move (shape); auto by names where these tell."""
    performer: dict[str, Any] | None = None
    """A performer as `calibrate` saves it; None measures the capture itself."""
    cleaning: Cleaning = field(default_factory=Cleaning)
    solver: str = "fabrik"
    """A key of solvers.SOLVERS."""
    settings: dict[str, Any] = field(default_factory=dict)
    """The solver's own settings; what is not named keeps its default."""
    drive: DriveChoice = "targets"
    """How joint angles are found where a device told how joints are turned: by the solver from all that was told, or
    (joints) as the turns tell them."""
    smoothing: str = "off"
    """A key of solvers.SMOOTHINGS: what is done about noise between cleaning and solving."""
    smoothing_settings: dict[str, Any] = field(default_factory=dict)
    """The smoothing's own settings; what is not named keeps its default."""
    rig: str = "default"
    """'default' builds a hand fitted to the performer; else a .blend or .glb file with an armature."""
    armature: str | None = None
    """The armature of the rig's file that is driven, by its object's name; None takes the only one that has hands, or
    the active one."""
    mappings: dict[str, Any] | None = None
    """side -> a mapping of the rig's hand as a preset holds it: it comes before what is found."""
    arm: bool = False
    """Whether the arm that a rig's hand hangs on brings the wrist to where the capture has it."""
    rig_limits: bool = True
    """Whether what a rig says of how its bones may turn is obeyed."""
    keep: KeepChoice = "directions"
    """What of the performance a rig's hand of other proportions keeps: how bones point, where fingertips are, or how
    far thumb and fingers are apart where they pinch."""
    keep_scale: ScaleChoice = "hand"
    """How places and distances are kept: grown with the rig's hand, or in metres of the world."""
    fps: float | None = None
    """Frames per second of the keys; None takes the capture's own frames at the scene's rate."""

    def __post_init__(self) -> None:
        _expect("hand", self.hand, HANDS)
        _expect("labels", self.labels, LABELS)
        _expect("drive", self.drive, DRIVES)
        _expect("keep", self.keep, KEEPS)
        _expect("keep_scale", self.keep_scale, SCALES)
        _expect("unit", self.unit, UNITS)
        _expect("up", self.up, UP_AXES)
        if self.start is not None and self.start < 1:
            raise RecipeError(f"start is {self.start}, the first frame of a capture is 1")
        if self.end is not None and self.end < 1:
            raise RecipeError(f"end is {self.end}, the first frame of a capture is 1")
        if self.start is not None and self.end is not None and self.end < self.start:
            raise RecipeError(f"end is {self.end}, before start at {self.start}")
        if self.fps is not None and not 0 < self.fps <= 10_000:
            raise RecipeError(f"fps is {self.fps}, it must be above 0 and at most 10000")


def _expect(name: str, found: object, allowed: tuple[str, ...]) -> None:
    if found not in allowed:
        raise RecipeError(f"{name} is '{found}', expected one of {', '.join(allowed)}")


def from_dict(data: object, where: str) -> Recipe:
    """A Recipe from decoded JSON. Raises RecipeError naming `where` and what is not understood."""
    values = _known(data, Recipe, where)
    if "capture" not in values:
        raise RecipeError(f"{where}: there is no 'capture', a recipe must name the recording")
    if "cleaning" in values:
        values["cleaning"] = Cleaning(**_known(values["cleaning"], Cleaning, f"{where}, cleaning"))
    return Recipe(**values)


def _known(data: object, kind: type, where: str) -> dict[str, Any]:
    """The values of a dataclass, each of the type that its annotation names."""
    if not isinstance(data, dict):
        raise RecipeError(f"{where}: found {type(data).__name__}, expected an object with names and values")
    hints = get_type_hints(kind)
    for name, value in data.items():
        if name not in hints:
            raise RecipeError(f"{where}: '{name}' is not known, expected {', '.join(hints)}")
        if not _fits(value, hints[name]):
            raise RecipeError(f"{where}: '{name}' is {value!r}, which is not of the kind it takes")
    return dict(data)


def _fits(value: object, hint: Any) -> bool:
    """Whether a decoded JSON value can stand for a type; a number without a fraction may stand for a float."""
    origin = get_origin(hint)
    if origin is UnionType:
        return any(_fits(value, part) for part in get_args(hint))
    if origin is Literal:
        return value in get_args(hint)
    if is_dataclass(hint) or origin is dict:
        return isinstance(value, dict)
    if isinstance(value, bool):
        return hint is bool
    return isinstance(value, (int, float) if hint is float else hint)


def to_dict(recipe: Recipe) -> dict[str, Any]:
    """The recipe as JSON holds it."""
    return asdict(recipe)


MAX_JSON_BYTES = 16 * 2**20
"""Recipes, performers and marker maps are small; a larger file is not one."""


def read_json(path: str | Path) -> Any:
    """The decoded content of a small JSON file.

    Raises RecipeError when it is missing, larger than 16 MiB or not JSON, naming the line.
    """
    path = Path(path)
    try:
        size = path.stat().st_size
        if size > MAX_JSON_BYTES:
            raise RecipeError(f"{path}: {size / 2**20:.0f} MiB, a file of settings has at most 16")
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RecipeError(f"{path}: cannot be read ({error.strerror})") from error
    except json.JSONDecodeError as error:
        raise RecipeError(f"{path}, line {error.lineno}: not JSON ({error.msg})") from error
    except (ValueError, RecursionError) as error:
        raise RecipeError(f"{path}: not a JSON text") from error
