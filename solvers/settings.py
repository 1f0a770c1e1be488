"""Settings of solvers: each dataclass field carries its range and tooltip, for recipes, the shell and the panel."""

import re
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any, Literal

from ..errors import RecipeError

Unit = Literal["", "m", "rad", "s"]

MOST = 1e6
"""Default upper bound of a setting."""


@dataclass(frozen=True, slots=True)
class SettingRange:
    """The allowed values of a setting, and what it does."""

    about: str
    """One sentence for the tooltip, without a full stop."""
    least: float = 0.0
    most: float = MOST
    choices: tuple[str, ...] | Mapping[str, str] = ()
    """Of a name: the allowed ones, with a sentence for each that needs one."""
    unit: Unit = ""
    """Of a number in recipes and the shell; the panel shows metres as millimetres and radians as degrees."""


def setting(
    default: Any,
    about: str,
    *,
    least: float = 0.0,
    most: float = MOST,
    choices: tuple[str, ...] | Mapping[str, str] = (),
    unit: Unit = "",
) -> Any:  # As dataclasses.field: the default decides the type.
    """Declare a setting as a dataclass field: a bool, an int, a float or a name (str, with choices)."""
    return field(default=default, metadata={"range": SettingRange(about, least, most, choices, unit)})


def settings_of(kind: type[Any]) -> dict[str, tuple[Any, SettingRange]]:
    """Return a solver's settings: name -> (default, range)."""
    return {each.name: (each.default, each.metadata["range"]) for each in fields(kind)}


def check(solver: Any, what: str = "") -> None:
    """Raise RecipeError for the first setting that has the wrong type or is out of range (NaN is).

    what: the owner of the settings as recipes call it; by default the solver's name, from its class.
    """
    for each in fields(solver):
        value, may_be = getattr(solver, each.name), each.metadata["range"]
        if not _fits(each, value, may_be):
            whose = what or f"solver {registered(type(solver))}"
            raise RecipeError(f"{whose}: {each.name} is {value!r}, expected {expected(each.default, may_be)}")


def registered(kind: type[Any]) -> str:
    """Return a solver's name in recipes, the panel and the shell: whole-hand for WholeHand."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", kind.__name__).lower()


def _fits(each: "Field[Any]", value: Any, may_be: SettingRange) -> bool:
    if isinstance(each.default, bool) or isinstance(value, bool):
        return isinstance(each.default, bool) and isinstance(value, bool)
    if isinstance(each.default, str):
        return value in tuple(may_be.choices)
    number = isinstance(value, int if isinstance(each.default, int) else (int, float))
    # Ranges are finite, so infinity and NaN are outside of them.
    return number and may_be.least <= value <= may_be.most


def expected(default: Any, may_be: SettingRange) -> str:
    """Describe the allowed values of a setting in words."""
    if isinstance(default, bool):
        return "true or false"
    if isinstance(default, str):
        return f"one of {', '.join(may_be.choices)}"
    kind = "a whole number" if isinstance(default, int) else "a number"
    return f"{kind} from {may_be.least:g} to {may_be.most:g} {may_be.unit}".rstrip()
