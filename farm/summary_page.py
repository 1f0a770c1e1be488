"""The summary page of a run: takes from the worst to the best, with their figures and links to their report pages."""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote

from ..pipeline.evidence.heat import LEVEL_HEIGHTS, NEAR_LEVEL
from ..pipeline.report_page.html import Html, cut, document, element, joined
from ..pipeline.report_page.page import ASSETS
from ..pipeline.report_page.problem_list import level_of
from ..pipeline.report_page.strips import BAR_HEIGHTS, BASE, HEIGHT, legend
from .take_rows import TakeRow
from .tasks import FILE_NAMES, TAKES

MAX_ROWS = 2000
"""Maximum number of takes on the page, the worst ones; the figures contain all."""
MAX_SENTENCE = 600
HEADS = (
    *("Take", "Over time", "Worst", "Problems", "Mean, mm", "p99, mm", "Max, mm", "Predicted", "At limits"),
    *("Skin in skin, mm", "Frames", "Took, s"),
)
CSV_NAME = "takes.csv"


@dataclass(frozen=True, slots=True)
class RunFacts:
    """Facts about a whole run."""

    title: str
    """Such as the output folder's name."""
    version: str
    """Knuckle's."""
    listed: int
    """Number of ordered takes; there are fewer rows if a run ended early."""
    seconds: float
    """s that it took."""
    notes: tuple[str, ...] = ()
    """Sentences, such as about performers who could not be measured."""


def summary_page(rows: Sequence[TakeRow], facts: RunFacts) -> str:
    """Return the page as HTML."""
    style = "\n".join((ASSETS / name).read_text(encoding="utf-8") for name in ("page.css", "summary.css"))
    script = (ASSETS / "summary.js").read_text(encoding="utf-8")
    ranked = sorted(rows, key=lambda row: row.rank)
    failed = [row for row in ranked if row.state == "failed"]
    done = [row for row in ranked if row.state != "failed"]
    body = element(
        "main",
        element(
            "header",
            element("p", "Knuckle farm", class_="kind"),
            element("h1", facts.title),
            element("p", _totals(rows, facts), class_="subtitle"),
            element("p", "All figures: ", element("a", CSV_NAME, href=CSV_NAME), class_="subtitle"),
        ),
        _failures(failed) if failed else None,
        element("section", element("h2", "Takes, the worst first"), *_table(done), _left_out(len(done))),
        _notes(facts.notes) if facts.notes else None,
    )
    return document(f"{facts.title} – Knuckle farm", style, script, body)


def _totals(rows: Sequence[TakeRow], facts: RunFacts) -> str:
    """Return the outcome of the run as one line."""
    counts = {state: sum(row.state == state for row in rows) for state in ("solved", "unchanged", "failed")}
    new = [row for row in rows if row.state == "solved"]
    frames = sum(row.frames for row in new)
    minutes = max(facts.seconds, 1e-9) / 60
    states = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
    rate = f"; {frames:,} frames in {_duration(facts.seconds)}, {len(new) / minutes:.3g} takes a minute" if new else ""
    early = f"; {facts.listed - len(rows)} are left, the run ended early" if facts.listed > len(rows) else ""
    takes = f"{facts.listed} take{'' if facts.listed == 1 else 's'}"
    return f"{takes}: {states or 'none done'}{early}{rate}; Knuckle {facts.version}"


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.1f} min"


def _failures(failed: Sequence[TakeRow]) -> Html:
    items = [
        element("li", element("b", row.name), " ", cut(row.problem, MAX_SENTENCE), class_="fails")
        for row in failed[:MAX_ROWS]
    ]
    return element("section", element("h2", "Failed"), element("ul", *items, class_="conditions failures"))


CAPTION = "Mean, p99 and max are errors of all fingertips; over time is each frame's worst part of any hand."


def _table(rows: Sequence[TakeRow]) -> tuple[Html, ...]:
    """Return the table, and the legend of its strips."""
    if not rows:
        return (element("p", "No take was solved.", class_="quiet"),)
    heads = [element("th", element("button", name, type="button"), scope="col") for name in HEADS]
    body = [_row(row) for row in rows[:MAX_ROWS]]
    parts = (element("caption", CAPTION), element("thead", element("tr", *heads)), element("tbody", *body))
    table = element("table", *parts, class_="takes")
    scrolls = element("div", table, class_="scrolls", tabindex=0, role="region", aria_label="Takes, the worst first")
    return scrolls, legend(predicted_lane=False)


def _row(row: TakeRow) -> Html:
    severity = f"{row.severity:.1f} ×" if row.problems else "–"
    worst = element(
        "td",
        element("span", severity, class_=f"severity level{level_of(row.severity)}" if row.problems else "quiet"),
        element("span", cut(row.worst, MAX_SENTENCE), class_="reason quiet") if row.worst else None,
        data_value=row.severity,
    )
    figures = [
        *(
            _number(value, f"{value:.2f}" if value is not None else "–")
            for value in (row.mean_mm, row.p99_mm, row.max_mm)
        ),
        *(
            _number(fraction, f"{fraction:.1%}" if fraction is not None else "–")
            for fraction in (row.predicted, row.at_limit)
        ),
        _number(row.depth_mm, f"{row.depth_mm:.1f}" if row.depth_mm is not None else "–"),
        _number(row.frames, f"{row.frames:,}"),
        _number(row.seconds, f"{row.seconds:.1f}"),
    ]
    return element(
        "tr",
        element("th", _link(row), _details(row), scope="row", data_value=row.name),
        element("td", _strip(row), data_value=row.heat.count("2") + row.heat.count("3") + row.heat.count("4")),
        worst,
        _number(row.problems, str(row.problems)),
        *figures,
    )


def _number(value: float | None, shown: str) -> Html:
    return element("td", shown, data_value=-1.0 if value is None else value)


def _link(row: TakeRow) -> Html:
    """Return a take's name, as a link to its report page if it has one."""
    page = FILE_NAMES["html"]
    if page not in row.files:
        return element("span", row.name)
    return element("a", row.name, href=f"{TAKES}/{quote(row.name)}/{page}")


def _details(row: TakeRow) -> Html:
    details = [row.hands, f"{row.rate:.4g} Hz" if row.frames > 1 else "", row.performer]
    details += [f"{row.notes} note{'' if row.notes == 1 else 's'}" if row.notes else ""]
    return element("span", ", ".join(filter(None, details)), class_="quiet details")


def _strip(row: TakeRow) -> Html:
    """Return a take's heat over time as a small drawing, its columns as wide as the others'."""
    count = max(len(row.heat), 1)
    bars = []
    for level in range(NEAR_LEVEL, len(LEVEL_HEIGHTS)):
        high = BAR_HEIGHTS[level]
        path = "".join(
            f"M{column} {BASE}v{-high}h1v{high}z" for column, cell in enumerate(row.heat) if cell == str(level)
        )
        bars.append(element("path", d=path, class_=f"level{level}") if path else None)
    bad = sum(int(cell) > NEAR_LEVEL for cell in row.heat) / count
    return element(
        "svg",
        joined(*bars),
        viewBox=f"0 0 {count} {HEIGHT}",
        preserveAspectRatio="none",
        role="img",
        aria_label=f"problems in {bad:.0%} of the time",
        class_="strip",
    )


def _left_out(done: int) -> Html | None:
    if done <= MAX_ROWS:
        return None
    return element("p", f"The other {done - MAX_ROWS} takes are better, and in {CSV_NAME}.", class_="quiet")


def _notes(notes: Sequence[str]) -> Html:
    items = [element("li", cut(note, MAX_SENTENCE)) for note in notes]
    return element("section", element("h2", "Notes"), element("ul", *items, class_="notes"))
