"""What a person may choose from, solvers and smoothings: each with its settings, for recipe, shell and panel alike."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from ..errors import RecipeError
from .settings import SettingRange, expected, settings_of

K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class KindLabel:
    """How a kind is shown to a person."""

    name: str
    about: str
    """One sentence, as a tooltip has it: without a full stop."""


@dataclass(frozen=True, slots=True, eq=False)
class Registry(Generic[K]):
    """Kinds of one thing by the names that recipes know them by; each is a frozen dataclass of settings."""

    what: str
    """The word for all of them, as "solver"."""
    kinds: Mapping[str, type[K]]
    labels: Mapping[str, KindLabel]

    def label(self, name: str) -> KindLabel:
        """How a kind is shown: as its label says, else by its own name and the first sentence of its own text."""
        about = (self.kinds[name].__doc__ or "").split(". ")[0].strip(".")
        return self.labels.get(name, KindLabel(name.replace("_", " ").title(), about))

    def settings(self, name: str) -> dict[str, tuple[Any, SettingRange]]:
        """What can be set on a kind, see settings_of. Raises RecipeError where there is none of this name."""
        if name not in self.kinds:
            raise RecipeError(f"{self.what} is '{name}', expected one of {', '.join(self.kinds)}")
        return settings_of(self.kinds[name])

    def make(self, name: str, settings: Mapping[str, Any]) -> K:
        """One of a kind with some settings changed. Raises RecipeError for a name or setting that there is not."""
        self._check_known(name, settings)
        return self.kinds[name](**settings)

    def typed(self, name: str, assignments: Iterable[str]) -> dict[str, Any]:
        """The settings of a kind that a person wrote as SETTING=VALUE; their ranges are looked at by `make`.

        Raises RecipeError for a setting that is not known and a value that is not of its kind.
        """
        known, values = self.settings(name), {}
        for assignment in assignments:
            setting, equals, text = assignment.partition("=")
            if not equals:
                raise RecipeError(f"{self.what} {name}: found '{assignment}', expected a setting's name=value")
            self._check_known(name, [setting])
            default, may_be = known[setting]
            values[setting] = _value(text, default)
            if values[setting] is None:
                raise RecipeError(f"{self.what} {name}: {setting} is '{text}', expected {expected(default, may_be)}")
        return values

    def _check_known(self, name: str, settings: Iterable[str]) -> None:
        known = self.settings(name)
        for setting in settings:
            if setting not in known:
                those = f"expected one of {', '.join(known)}" if known else "it has none"
                raise RecipeError(f"{self.what} {name} has no setting '{setting}', {those}")

    def as_lines(self) -> list[str]:
        """For a terminal: every kind, and each of its settings with its default, what it does and what it may be."""
        lines = []
        for name in self.kinds:
            lines.append(f"{self.what} {name}: {self.label(name).about}.")
            for setting, (default, may_be) in self.settings(name).items():
                shown = str(default).lower() if isinstance(default, bool) else default
                lines.append(f"    {setting}={shown}  {may_be.about}: {expected(default, may_be)}")
                if isinstance(may_be.choices, Mapping):
                    lines += [f"        {choice}: {about}" for choice, about in may_be.choices.items()]
        return lines


def _value(text: str, default: Any) -> Any:
    """A value as JSON would have it, None for a text that is not of the default's kind."""
    if isinstance(default, bool):
        return {"true": True, "false": False}.get(text.lower())
    if isinstance(default, str):
        return text
    try:
        return type(default)(text)
    except ValueError:
        return None
