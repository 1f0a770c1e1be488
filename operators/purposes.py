"""Choose solver and smoothing by purpose, for most users; the algorithms are under Advanced."""

from dataclasses import dataclass
from typing import Any

from bpy.props import EnumProperty

from .setting_properties import NOT_ANIMATED, assign, changed
from .solver_settings import REGISTRIES, chosen_settings


@dataclass(frozen=True, slots=True)
class Purpose:
    """A solver and a smoothing, with default settings."""

    name: str
    about: str
    solver: str
    smoothing: str


# FABRIK serves all three (docs/reference/accuracy.md, docs/reference/benchmarks.md): it meets fingertips to 0.01 mm,
# turns least between calm frames of the solvers that do, solves takes as fast as any, and needs 50 us for a live hand.
# The table needs 30 us, but its thumb turns by up to 64 degrees between calm frames. Purposes differ in smoothing: over
# a whole take it leaves 1.0 times the jitter of the true hand, live 2.8 times, and without it 35 times.
PURPOSES = {
    "BEST": Purpose(
        "Best", "For takes: uses all frames before and after, so that nothing jitters or lags", "fabrik", "whole"
    ),
    "FAST": Purpose("Fast", "For a quick look, or clean captures: no smoothing", "fabrik", "off"),
    "LIVE": Purpose("Live", "For live devices: waits for one frame at most", "fabrik", "live"),
}
ADVANCED = "ADVANCED"
_CHOICES = (*PURPOSES, ADVANCED)


def purpose_of(settings: Any) -> str:
    """Return the purpose that the settings of a scene serve; ADVANCED if there is none, or if it was chosen."""
    if settings.advanced or any(changed(*chosen_settings(settings, what)) for what in REGISTRIES):
        return ADVANCED
    current_choice = settings.solver, settings.smoothing
    return next(
        (key for key, purpose in PURPOSES.items() if (purpose.solver, purpose.smoothing) == current_choice), ADVANCED
    )


def choose_purpose(settings: Any, key: str) -> None:
    """Choose the solver and the smoothing of a purpose, with default settings; ADVANCED changes neither."""
    settings.advanced = key == ADVANCED
    if key == ADVANCED:
        return
    settings.solver, settings.smoothing = PURPOSES[key].solver, PURPOSES[key].smoothing
    for what in REGISTRIES:
        assign(*chosen_settings(settings, what), {})


def purpose_property() -> Any:
    """Make the property that shows and chooses the purpose. It stores nothing: recipes have solver and smoothing."""
    items = [(key, purpose.name, purpose.about) for key, purpose in PURPOSES.items()]
    return EnumProperty(
        name="Solver",
        description="What the capture is solved for",
        items=[*items, (ADVANCED, "Advanced...", "Choose an algorithm, smoothing and their settings")],
        get=lambda settings: _CHOICES.index(purpose_of(settings)),
        set=lambda settings, number: choose_purpose(settings, _CHOICES[number]),
        options=NOT_ANIMATED,  # type: ignore[arg-type]
    )
