"""Settings of solvers: each dataclass field carries its range and tooltip, for recipes, the shell and the panel."""

import re
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any, Literal

from ..errors import RecipeError

Unit = Literal["", "m", "rad", "s"]

MAX_DEFAULT = 1e6
"""Default upper bound of a setting."""


@dataclass(frozen=True, slots=True)
class SettingRange:
    """The allowed values of a setting, and its description."""

    about: str
    """One sentence for the tooltip, without a full stop."""
    minimum: float = 0.0
    maximum: float = MAX_DEFAULT
    choices: tuple[str, ...] | Mapping[str, str] = ()
    """Allowed names, with a description for each that needs one; empty for a number."""
    unit: Unit = ""
    """Unit of a number in recipes and the shell; the panel shows metres as millimetres and radians as degrees."""


def setting(
    default: Any,
    about: str,
    *,
    minimum: float = 0.0,
    maximum: float = MAX_DEFAULT,
    choices: tuple[str, ...] | Mapping[str, str] = (),
    unit: Unit = "",
) -> Any:  # As dataclasses.field: the default decides the type.
    """Declare a setting as a dataclass field: a bool, an int, a float or a name (str, with choices)."""
    return field(default=default, metadata={"range": SettingRange(about, minimum, maximum, choices, unit)})


def settings_of(kind: type[Any]) -> dict[str, tuple[Any, SettingRange]]:
    """Return a solver's settings: name -> (default, range)."""
    return {entry.name: (entry.default, entry.metadata["range"]) for entry in fields(kind)}


def check(solver: Any, owner: str = "") -> None:
    """Raise RecipeError for the first setting that has the wrong type or is out of range (NaN is).

    owner: the owner of the settings as recipes call it; by default the solver's name, from its class.
    """
    for entry in fields(solver):
        value, allowed = getattr(solver, entry.name), entry.metadata["range"]
        if not _fits(entry, value, allowed):
            name = owner or f"solver {registered_name(type(solver))}"
            expected = describe_range(entry.default, allowed)
            raise RecipeError(f"{name}: {entry.name} is {value!r}, expected {expected}")


def registered_name(kind: type[Any]) -> str:
    """Return a solver's name in recipes, the panel and the shell: whole-hand for WholeHand."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", kind.__name__).lower()


def _fits(entry: "Field[Any]", value: Any, allowed: SettingRange) -> bool:
    if isinstance(entry.default, bool) or isinstance(value, bool):
        return isinstance(entry.default, bool) and isinstance(value, bool)
    if isinstance(entry.default, str):
        return value in tuple(allowed.choices)
    number = isinstance(value, int if isinstance(entry.default, int) else (int, float))
    # Ranges are finite, so infinity and NaN are outside of them.
    return number and allowed.minimum <= value <= allowed.maximum


def describe_range(default: Any, allowed: SettingRange) -> str:
    """Describe the allowed values of a setting in words."""
    if isinstance(default, bool):
        return "true or false"
    if isinstance(default, str):
        return f"one of {', '.join(allowed.choices)}"
    kind = "a whole number" if isinstance(default, int) else "a number"
    return f"{kind} from {allowed.minimum:g} to {allowed.maximum:g} {allowed.unit}".rstrip()
