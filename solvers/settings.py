"""What can be set on a solver: each field of its dataclass says what it may be, for recipe, shell and panel alike."""

import re
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any, Literal

from ..errors import RecipeError

Unit = Literal["", "m", "rad", "s"]

MOST = 1e6
"""No count or measure of a solver is larger."""


@dataclass(frozen=True, slots=True)
class SettingRange:
    """What a setting may be, and what it does."""

    about: str
    """One sentence for the tooltip, without a full stop."""
    least: float = 0.0
    most: float = MOST
    choices: tuple[str, ...] | Mapping[str, str] = ()
    """For a name: those it may be, with a sentence for each where the name does not say enough."""
    unit: Unit = ""
    """Of a number, in recipes and the shell; the panel shows metres as millimetres and radians as degrees."""


def setting(
    default: Any,
    about: str,
    *,
    least: float = 0.0,
    most: float = MOST,
    choices: tuple[str, ...] | Mapping[str, str] = (),
    unit: Unit = "",
) -> Any:  # As dataclasses.field: the type is that of the default.
    """A field of a solver: a switch (bool), a whole number (int), a number (float) or a name (str, with choices)."""
    return field(default=default, metadata={"range": SettingRange(about, least, most, choices, unit)})


def settings_of(kind: type[Any]) -> dict[str, tuple[Any, SettingRange]]:
    """A solver's settings: name -> (default, what it may be)."""
    return {each.name: (each.default, each.metadata["range"]) for each in fields(kind)}


def check(solver: Any, what: str = "") -> None:
    """Raises RecipeError for the first setting that is not of its kind or outside its range, NaN among them.

    what: What the settings belong to, as recipes call it; for a solver it follows from the class's name.
    """
    for each in fields(solver):
        value, may_be = getattr(solver, each.name), each.metadata["range"]
        if not _fits(each, value, may_be):
            whose = what or f"solver {registered(type(solver))}"
            raise RecipeError(f"{whose}: {each.name} is {value!r}, expected {expected(each.default, may_be)}")


def registered(kind: type[Any]) -> str:
    """The name that recipes, panel and shell know a solver by: whole-hand for WholeHand."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", kind.__name__).lower()


def _fits(each: "Field[Any]", value: Any, may_be: SettingRange) -> bool:
    if isinstance(each.default, bool) or isinstance(value, bool):
        return isinstance(each.default, bool) and isinstance(value, bool)
    if isinstance(each.default, str):
        return value in tuple(may_be.choices)
    number = isinstance(value, int if isinstance(each.default, int) else (int, float))
    # Ranges are finite, so that neither infinity nor NaN is inside one.
    return number and may_be.least <= value <= may_be.most


def expected(default: Any, may_be: SettingRange) -> str:
    """What a setting may be, in words."""
    if isinstance(default, bool):
        return "true or false"
    if isinstance(default, str):
        return f"one of {', '.join(may_be.choices)}"
    kind = "a whole number" if isinstance(default, int) else "a number"
    return f"{kind} from {may_be.least:g} to {may_be.most:g} {may_be.unit}".rstrip()
