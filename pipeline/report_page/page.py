"""The whole page: one file that needs no network and is readable without its script.

Plots and strips are SVG written by this package. Of the libraries that were tried, pygal needs 49 kB and 0.1 s for each
of sixty plots, has no heat strips, fixes colors, and shrinks text on phones; uPlot draws nothing without JavaScript;
bokeh, plotly and Vega inline more than a megabyte of script.
"""

from collections.abc import Sequence
from pathlib import Path

from ...hand.joints import SIDES, Side
from ..evidence.conditions import Outcome
from .content import Pictures, ReviewedTake
from .figures import condition_list, digit_table, origin, summary
from .html import Html, cut, document, element, joined
from .plots import angle_plots, error_plots
from .problem_list import gallery, problem_list
from .strips import legend, strips
from .time_axis import TimeAxis

ASSETS = Path(__file__).parents[2] / "data" / "report"
NO_PICTURES = Pictures()


def page(takes: Sequence[ReviewedTake], pictures: Pictures = NO_PICTURES, outcomes: Sequence[Outcome] = ()) -> str:
    """Return the page of a take, or of two that are compared, as HTML.

    pictures, outcomes: of the first take.
    """
    axis = TimeAxis.of(tuple(takes))
    style, script = ((ASSETS / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    sides = [side for side in SIDES if any(side in take.sides for take in takes)]
    title = " against ".join(take.name for take in takes)
    origin_frame, frames = axis.frame_scale()
    body = element(
        "main",
        element(
            "header",
            element("p", "Knuckle report", class_="kind"),
            element("h1", title),
            *map(_subtitle, _with_letters(takes)),
            *map(_before_corrections, _with_letters(takes)),
        ),
        _section("Summary", summary(takes), condition_list(outcomes)),
        _section("Over time", *(_hand(side, strips(axis, side)) for side in sides), legend()),
        *_problem_sections(axis, pictures),
        _section("Fingertip error", *(_hand(side, error_plots(axis, side)) for side in sides)),
        _section("Joint angles", *(_hand(side, angle_plots(axis, side)) for side in sides)),
        _section("Figures", *(digit_table(takes, side) for side in sides)),
        *(_section(f"How {letter or 'it'} was made", origin(take)) for letter, take in _with_letters(takes)),
        data_origin=f"{origin_frame:.6f}",
        data_frames=f"{frames:.6f}",
        data_seconds=f"{axis.length:.6f}",
        data_takes=len(takes),
    )
    return document(f"{title} – Knuckle report", style, script, body)


def _with_letters(takes: Sequence[ReviewedTake]) -> list[tuple[str, ReviewedTake]]:
    return list(zip("AB" if len(takes) > 1 else [""], takes, strict=True))


def _subtitle(lettered: tuple[str, ReviewedTake]) -> Html:
    """Return a one-line description of a take."""
    letter, take = lettered
    first, last = take.frames
    count = len(take.seconds)
    details = [
        f"{take.name}: " if letter else "",
        f"{count} frame{'' if count == 1 else 's'}",
        f", {first:.0f} to {last:.0f}",
        f", {float(take.seconds[-1]):.1f} s at {1 / take.period:.4g} Hz" if count > 1 else "",
        f", solver {cut(take.report.get('solver', 'not known'))}",
        f", {take.left} of {len(take.problems)} problems left" if take.left < len(take.problems) else "",
    ]
    mark = element("b", letter, class_=f"letter take{'AB'.index(letter)}") if letter else None
    return element("p", mark, *details, class_="subtitle")


def _before_corrections(lettered: tuple[str, ReviewedTake]) -> Html | None:
    """Return a note that the page shows the take without its corrections; None if there are none."""
    letter, take = lettered
    count = take.marks.corrections
    if not count:
        return None
    of_take = f" of {letter}" if letter else ""
    laid = "1 correction was" if count == 1 else f"{count} corrections were"
    return element(
        "p", f"Strips, plots and figures{of_take} are of the solve, before {laid} laid on it.", class_="subtitle"
    )


def _section(title: str, *parts: Html | None) -> Html:
    return element("section", element("h2", title), *parts)


def _hand(side: Side, content: Html) -> Html:
    return joined(element("h3", f"{side.capitalize()} hand"), content)


def _problem_sections(axis: TimeAxis, pictures: Pictures) -> list[Html]:
    """Return sections with the problems of the first take and their pictures, and with those of the second take."""
    sections = []
    for number, take in enumerate(axis.takes):
        of_take = f" of {'AB'[number]}" if len(axis.takes) > 1 else ""
        pictures_row = gallery(take, pictures) if number == 0 else None
        sections.append(_section(f"Problems{of_take}, the worst first", pictures_row, problem_list(axis, number)))
    return sections
