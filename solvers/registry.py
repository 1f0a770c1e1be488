"""Registries of the solvers and smoothings with their settings, for recipes, the shell and the panel."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from ..errors import RecipeError
from .settings import SettingRange, describe_range, settings_of

K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class KindLabel:
    """Name and tooltip of a kind."""

    name: str
    about: str
    """One sentence for the tooltip, without a full stop."""


@dataclass(frozen=True, slots=True, eq=False)
class Registry(Generic[K]):
    """Kinds of solver or smoothing by their names in recipes; each is a frozen dataclass of settings."""

    what: str
    """The noun for the kinds, such as "solver"; used in messages."""
    kinds: Mapping[str, type[K]]
    labels: Mapping[str, KindLabel]

    def label(self, name: str) -> KindLabel:
        """Return a kind's label, by default made of its name and the first sentence of its docstring."""
        about = (self.kinds[name].__doc__ or "").split(". ")[0].strip(".")
        return self.labels.get(name, KindLabel(name.replace("_", " ").title(), about))

    def settings(self, name: str) -> dict[str, tuple[Any, SettingRange]]:
        """Return a kind's settings: name -> (default, range). Raises RecipeError for an unknown name."""
        if name not in self.kinds:
            raise RecipeError(f"{self.what} is '{name}', expected one of {', '.join(self.kinds)}")
        return settings_of(self.kinds[name])

    def make(self, name: str, settings: Mapping[str, Any]) -> K:
        """Return a kind with the given settings. Raises RecipeError for an unknown name or setting or a bad value."""
        self._check_known(name, settings)
        return self.kinds[name](**settings)

    def parse(self, name: str, assignments: Iterable[str]) -> dict[str, Any]:
        """Parse settings of a kind given as SETTING=VALUE. `make` checks their ranges.

        Raises RecipeError for an unknown setting or a value of the wrong type.
        """
        defaults, values = self.settings(name), {}
        for assignment in assignments:
            setting, equals, text = assignment.partition("=")
            if not equals:
                raise RecipeError(f"{self.what} {name}: found '{assignment}', expected a setting's name=value")
            self._check_known(name, [setting])
            default, allowed = defaults[setting]
            values[setting] = _parse_value(text, default)
            if values[setting] is None:
                raise RecipeError(
                    f"{self.what} {name}: {setting} is '{text}', expected {describe_range(default, allowed)}"
                )
        return values

    def _check_known(self, name: str, settings: Iterable[str]) -> None:
        defaults = self.settings(name)
        for setting in settings:
            if setting not in defaults:
                hint = f"expected one of {', '.join(defaults)}" if defaults else "it has none"
                raise RecipeError(f"{self.what} {name} has no setting '{setting}', {hint}")

    def as_lines(self) -> list[str]:
        """Describe every kind and its settings (default, effect, range) in lines for a terminal."""
        lines = []
        for name in self.kinds:
            lines.append(f"{self.what} {name}: {self.label(name).about}.")
            for setting, (default, allowed) in self.settings(name).items():
                text = str(default).lower() if isinstance(default, bool) else default
                lines.append(f"    {setting}={text}  {allowed.about}: {describe_range(default, allowed)}")
                if isinstance(allowed.choices, Mapping):
                    lines += [f"        {choice}: {about}" for choice, about in allowed.choices.items()]
        return lines


def _parse_value(text: str, default: Any) -> Any:
    """Parse a value of the default's type; None if the text is not of that type."""
    if isinstance(default, bool):
        return {"true": True, "false": False}.get(text.lower())
    if isinstance(default, str):
        return text
    try:
        return type(default)(text)
    except ValueError:
        return None
