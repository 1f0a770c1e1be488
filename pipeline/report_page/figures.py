"""Tables of a page: figures of each digit, of whole takes, conditions, and how a take was made."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...hand.joints import Side, digit_label
from ..evidence.conditions import Outcome
from ..evidence.evidence import PALM, PARTS
from .content import ReviewedTake
from .html import Html, cut, element, joined
from .strips import predicted

Floats = NDArray[np.float64]

STATISTICS = ("Mean", "p95", "p99", "Max")
MAX_LENGTH = 1e6
"""mm, maximum length of a hand; longer ones are damaged data."""
MAX_RECIPE = 50_000
"""Maximum number of characters shown of a recipe."""


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures of a part of a hand, or of a whole take."""

    errors: Floats
    """(4,) mm, STATISTICS; NaN if nothing was measured."""
    predicted: float
    """Fraction of frames in which a joint was not determined by a marker."""
    at_limit: float
    """Fraction of frames in which an angle was at a limit."""
    depth: float
    """mm, maximum depth of skin in skin."""

    def cells(self) -> tuple[str, ...]:
        """Return the cells of a table."""
        errors = (f"{value:.2f}" if np.isfinite(value) else "–" for value in self.errors)
        return (*errors, f"{self.predicted:.1%}", f"{self.at_limit:.1%}", f"{self.depth:.1f}")


HEADS = (*(f"{name}, mm" for name in STATISTICS), "Predicted", "At limits", "Skin in skin, mm")


def figures_of_part(take: ReviewedTake, side: Side, part: int) -> Figures | None:
    """Return the figures of a part; errors are those of the fingertip, or of the palm's farthest marker."""
    hand = take.hand(side)
    if hand is None:
        return None
    errors = hand.of("marker_error" if part == PALM else "tip_error")[:, part]
    at_limit = np.nan_to_num(hand.of("at_limit")[:, part]) > 0
    return Figures(
        _statistics(errors),
        float((predicted(hand)[:, part] > 0).mean()),
        float(at_limit.mean()),
        _deepest(hand.of("depth")[:, part]),
    )


def figures_of_take(take: ReviewedTake) -> Figures:
    """Return the figures of a take: errors of all fingertips, and frames in which any part was predicted or at a
    limit."""
    tips = np.concatenate([hand.of("tip_error").ravel() for hand in take.evidence.hands])
    guessed = np.any([(predicted(hand) > 0).any(axis=1) for hand in take.evidence.hands], axis=0)
    at_limit = np.any([(np.nan_to_num(hand.of("at_limit")) > 0).any(axis=1) for hand in take.evidence.hands], axis=0)
    return Figures(
        _statistics(tips),
        float(guessed.mean()),
        float(at_limit.mean()),
        max(_deepest(hand.of("depth")) for hand in take.evidence.hands),
    )


def _deepest(values: NDArray[np.floating[Any]]) -> float:
    return float(np.nan_to_num(values).max())


def _statistics(values: NDArray[np.floating[Any]]) -> Floats:
    finite_values = values[np.isfinite(values)].astype(float)
    if not len(finite_values):
        return np.full(len(STATISTICS), np.nan)
    return np.array(
        [finite_values.mean(), np.quantile(finite_values, 0.95), np.quantile(finite_values, 0.99), finite_values.max()]
    )


def summary(takes: Sequence[ReviewedTake]) -> Html:
    """Return a table of the figures of whole takes, and their differences."""
    names = ["A", "B"] if len(takes) > 1 else ["All"]
    all_figures = [figures_of_take(take) for take in takes]
    rows = [[*figures.cells(), str(len(take.problems))] for figures, take in zip(all_figures, takes, strict=True)]
    body = [_table_row(name, row) for name, row in zip(names, rows, strict=True)]
    if len(takes) > 1:
        a, b = all_figures
        fractions = (100 * (b.predicted - a.predicted), 100 * (b.at_limit - a.at_limit))
        errors = [_signed(value, 2) if np.isfinite(value) else "–" for value in b.errors - a.errors]
        more = f"{len(takes[1].problems) - len(takes[0].problems):+d}"
        body.append(
            _table_row(
                "B − A",
                [
                    *errors,
                    *(f"{_signed(fraction, 1)} points" for fraction in fractions),
                    _signed(b.depth - a.depth, 1),
                    more,
                ],
            )
        )
    return _table("Error of all fingertips", (*HEADS, "Problems"), body)


def _signed(value: float, digits: int) -> str:
    """Format a difference with its sign, or without a sign if it rounds to zero."""
    rounded = round(value, digits)
    return f"{rounded:+.{digits}f}" if rounded else f"{0:.{digits}f}"


def digit_table(takes: Sequence[ReviewedTake], side: Side) -> Html:
    """Return a table of the figures of a hand, with a row for each part and take."""
    rows = []
    for part, name in enumerate(PARTS):
        for letter, take in zip("AB", takes, strict=False):
            figures = figures_of_part(take, side, part)
            if figures is not None:
                label = digit_label(name).capitalize() + (f" {letter}" if len(takes) > 1 else "")
                rows.append(_table_row(label, figures.cells()))
    return _table(f"{side.capitalize()} hand", HEADS, rows)


def condition_list(outcomes: Sequence[Outcome]) -> Html | None:
    """Return the list of checked conditions; failed ones are marked in words as well as in color."""
    if not outcomes:
        return None
    items = [
        element(
            "li",
            "Fails: " if condition.failed else "Passes: ",
            str(condition),
            class_="fails" if condition.failed else "passes",
        )
        for condition in outcomes
    ]
    return joined(element("h3", "Conditions"), element("ul", *items, class_="conditions"))


def origin(take: ReviewedTake) -> Html:
    """Return the origin of a take: capture, solver, notes, recipe and versions."""
    rows = [element("div", element("dt", name), element("dd", cut(value))) for name, value in _facts(take)]
    recipe = json.dumps(take.report.get("recipe"), indent=2, ensure_ascii=False)
    lines = [element("code", line) for line in cut(recipe, MAX_RECIPE).split("\n")]
    return joined(
        element("dl", *rows),
        _notes(take.report.get("warnings")),
        element("details", element("summary", "Recipe"), element("pre", *lines, tabindex=0)),
    )


def _facts(take: ReviewedTake) -> Iterator[tuple[str, object]]:
    report, markers = take.report, take.report.get("marker_set")
    yield "Capture", report.get("capture", "–")
    yield "Format", report.get("format", "–")
    yield "Marker set", markers.get("name", "–") if isinstance(markers, dict) else "–"
    yield "Solver", report.get("solver", "–")
    yield "Smoothing", report.get("smoothing", "–")
    hands = report.get("hands")
    for side in take.sides:
        hand = hands.get(side) if isinstance(hands, dict) else None
        length = hand.get("hand_length_mm") if isinstance(hand, dict) else None
        if isinstance(length, int | float) and 0 < length < MAX_LENGTH:
            yield f"{side.capitalize()} hand", f"{length:g} mm from wrist to middle fingertip"
    seconds = report.get("seconds")
    if isinstance(seconds, dict):
        yield "Took", ", ".join(f"{name} {took} s" for name, took in seconds.items())
    versions = report.get("versions")
    if isinstance(versions, dict):
        yield "Versions", ", ".join(f"{name} {version}" for name, version in versions.items())


def _notes(warnings: object) -> Html | None:
    notes = [note for note in warnings if isinstance(note, str)] if isinstance(warnings, list) else []
    return element("ul", *(element("li", cut(note)) for note in notes), class_="notes") if notes else None


def _table(caption: str, heads: Sequence[str], rows: Sequence[Html]) -> Html:
    head = element("tr", element("td"), *(element("th", name, scope="col") for name in heads))
    table = element("table", element("caption", caption), element("thead", head), element("tbody", *rows))
    return element("div", table, class_="scrolls", tabindex=0, role="region", aria_label=caption)


def _table_row(name: str, cells: Sequence[str]) -> Html:
    return element("tr", element("th", name, scope="row"), *(element("td", cell) for cell in cells))
