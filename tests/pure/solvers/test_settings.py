"""What can be set on the registered solvers and smoothings, and how it is reported and typed."""

from dataclasses import dataclass
from typing import Any

import pytest

from knuckle.errors import RecipeError
from knuckle.solvers import SMOOTHING, SOLVER
from knuckle.solvers.registry import Registry
from knuckle.solvers.settings import check, setting

KINDS = [(registry, kind) for registry in (SOLVER, SMOOTHING) for kind in registry.kinds]


@pytest.mark.parametrize("registry", [SOLVER, SMOOTHING], ids=lambda registry: registry.what)
def test_each_kind_has_a_name_and_a_sentence_of_its_own(registry: Registry[Any]) -> None:
    assert set(registry.kinds) <= set(registry.labels)
    names = [registry.label(kind).name for kind in registry.kinds]
    assert len(set(names)) == len(names)
    for kind in registry.kinds:
        about = registry.label(kind).about
        assert about[0].isupper() and not about.endswith("."), f"{kind}: '{about}'"


@pytest.mark.parametrize(("registry", "kind"), KINDS, ids=lambda part: getattr(part, "what", part))
def test_what_a_terminal_prints_about_a_kind_makes_that_kind(registry: Registry[Any], kind: str) -> None:
    reported = registry.as_lines()
    mine = reported.index(f"{registry.what} {kind}: {registry.label(kind).about}.")
    known = registry.settings(kind)
    lines = [line for line in reported[mine + 1 :] if not line.startswith(" " * 8)][: len(known)]
    settings = registry.parse(kind, [line.split("  ")[2] for line in lines])
    assert list(settings) == list(known)
    assert registry.make(kind, settings) == registry.make(kind, {})
    for _, may_be in known.values():
        assert may_be.about[0].isupper() and not may_be.about.endswith("."), may_be.about


def test_a_kind_without_a_label_is_shown_by_its_own_words() -> None:
    kind = SOLVER.kinds["fabrik"]
    label = Registry("solver", {"pair-wise": kind}, {}).label("pair-wise")
    assert label.name == "Pair-Wise"
    assert (kind.__doc__ or "").startswith(f"{label.about}. ")


@pytest.mark.parametrize(
    ("assignment", "sentence"),
    [
        ("passes", "solver fabrik: found 'passes', expected a setting's name=value"),
        ("colour=3", "solver fabrik has no setting 'colour', expected one of mode, tolerance, passes"),
        ("passes=many", "solver fabrik: passes is 'many', expected a whole number from 1 to 1000"),
        ("passes=3.5", "solver fabrik: passes is '3.5', expected a whole number"),
        ("tolerance=", "solver fabrik: tolerance is '', expected a number from 1e-09"),
    ],
)
def test_what_cannot_be_set_is_reported(assignment: str, sentence: str) -> None:
    with pytest.raises(RecipeError, match=sentence):
        SOLVER.parse("fabrik", [assignment])


def test_a_switch_is_true_or_false() -> None:
    assert SOLVER.parse("table", ["coupled=False"]) == {"coupled": False}
    with pytest.raises(RecipeError, match="coupled is 'perhaps', expected true or false"):
        SOLVER.parse("table", ["coupled=perhaps"])
    with pytest.raises(RecipeError, match="smoothing off has no setting 'calm', it has none"):
        SMOOTHING.parse("off", ["calm=1"])


@pytest.mark.parametrize("value", [float("nan"), float("inf"), int(400 * "9"), -1, True, "1"])
@pytest.mark.parametrize("name", ["tolerance", "passes"])
def test_a_number_outside_its_range_is_reported(name: str, value: object) -> None:
    with pytest.raises(RecipeError, match=rf"solver fabrik: {name} is .*, expected a .*number from"):
        SOLVER.make("fabrik", {name: value})


def test_a_name_that_is_no_choice_is_reported() -> None:
    @dataclass(frozen=True)
    class Painter:
        colour: str = setting("red", "What it paints in", choices=("red", "green"))

    for colour in ("red", "green"):
        check(Painter(colour))
    with pytest.raises(RecipeError, match="solver painter: colour is 'blue', expected one of red, green"):
        check(Painter("blue"))
