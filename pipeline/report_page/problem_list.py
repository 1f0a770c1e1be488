"""The ranking of a take's problems, the worst first, with pictures of the worst frames."""

import base64

from ...hand.joints import digit_label
from ..evidence.heat import LEVEL_SEVERITIES, PROBLEM_LEVEL
from ..evidence.ranking import MAX_REPORTED, Problem
from .content import Pictures, ReviewedTake
from .html import Html, cut, element, joined
from .time_axis import TimeAxis

EXPANDED_COUNT = 20
"""Number of problems that are expanded when the page opens."""


def problem_list(axis: TimeAxis, number: int) -> Html:
    """Return the list of a take's problems; if two takes are compared, problems of both are marked."""
    take = axis.takes[number]
    problems = take.problems[:MAX_REPORTED]
    if not problems:
        return element("p", "No problems were found.", class_="quiet")
    other_take = axis.takes[1 - number] if len(axis.takes) > 1 else None
    rows = [_row(axis, number, rank, problem, other_take) for rank, problem in enumerate(problems, 1)]
    parts = [_left(take), element("ol", *rows[:EXPANDED_COUNT], class_="problems")]
    if len(rows) > EXPANDED_COUNT:
        folded = element("ol", *rows[EXPANDED_COUNT:], class_="problems", start=EXPANDED_COUNT + 1)
        parts.append(element("details", element("summary", f"{len(rows) - EXPANDED_COUNT} more"), folded))
    if len(take.problems) > len(problems):
        parts.append(element("p", f"{len(take.problems) - len(problems)} lesser ones are left out.", class_="quiet"))
    return joined(*parts)


def _left(take: ReviewedTake) -> Html | None:
    """Return the numbers of problems left, mended and seen; None if none is mended or seen."""
    seen = len(take.marks.seen.difference(take.marks.mended))
    counts = {"mended": len(take.marks.mended), "marked as seen": seen}
    summary = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    return element("p", f"{take.left} of {len(take.problems)} left: {summary}.", class_="quiet") if summary else None


def _mark(take: ReviewedTake, rank: int) -> Html | None:
    """Return the state of a problem, as in the panel Review. rank: 0 for the worst."""
    mended_by = take.marks.mended.get(rank)
    if mended_by:
        return element("span", f"✓ Mended by {cut(', '.join(mended_by))}", class_="done")
    return element("span", "Marked as seen", class_="done") if rank in take.marks.seen else None


def _row(axis: TimeAxis, number: int, rank: int, problem: Problem, other: ReviewedTake | None) -> Html:
    take = axis.takes[number]
    first, last = (take.frame(row) for row in (problem.first, problem.last))
    start, end = (float(take.seconds[row]) for row in (problem.first, problem.last))
    frames = f"Frame {first:.0f}" if f"{first:.0f}" == f"{last:.0f}" else f"Frames {first:.0f} to {last:.0f}"
    seconds = f"{start:.2f} s" if f"{start:.2f}" == f"{end:.2f}" else f"{start:.2f} to {end:.2f} s"
    return element(
        "li",
        element("span", rank, class_="rank"),
        element("span", f"{problem.severity:.1f} ×", class_=f"severity level{level_of(problem.severity)}"),
        element(
            "span",
            element("span", f"{problem.side.capitalize()} {problem.reason}", class_="reason"),
            element("span", f"{frames}, {seconds}", class_="quiet"),
            _mark(take, rank - 1),
            element("span", _shared(axis, number, problem), class_="shared") if other is not None else None,
        ),
        data_from=f"{axis.share(number, problem.first):.5f}",
        data_to=f"{axis.share(number, problem.last):.5f}",
        data_worst=f"{axis.share(number, problem.worst):.5f}",
    )


def level_of(severity: float) -> int:
    """Return the heat level of a problem's severity."""
    return max(sum(severity >= minimum for minimum in LEVEL_SEVERITIES), PROBLEM_LEVEL)


def _shared(axis: TimeAxis, number: int, problem: Problem) -> str:
    """Return whether the other take has a problem of the same part at the same time."""
    other_number = 1 - number
    first, last = (axis.share(number, row) for row in (problem.first, problem.last))
    is_shared = any(
        problem_b.side == problem.side
        and not {*problem_b.parts}.isdisjoint(problem.parts)
        and axis.share(other_number, problem_b.first) <= last
        and axis.share(other_number, problem_b.last) >= first
        for problem_b in axis.takes[other_number].problems
    )
    return f"also in {'AB'[other_number]}" if is_shared else f"only in {'AB'[number]}"


def gallery(take: ReviewedTake, pictures: Pictures) -> Html:
    """Return the pictures, each with its rank, frame and caption."""
    note = element("p", pictures.note, class_="quiet") if pictures.note else None
    ranks = sorted({picture.rank for picture in pictures.found})
    figures = [_figure(take, rank, pictures) for rank in ranks if rank < len(take.problems)]
    return joined(element("div", *figures, class_="gallery") if figures else None, note)


def _figure(take: ReviewedTake, rank: int, pictures: Pictures) -> Html:
    problem = take.problems[rank]
    where = f"{problem.side} {' and '.join(digit_label(part) for part in problem.parts[:3])}"
    images = [
        element(
            "img",
            src=f"data:image/jpeg;base64,{base64.b64encode(picture.jpeg).decode()}",
            alt=f"The {where} {picture.view}",
            width=picture.width,
            height=picture.height,
        )
        for picture in pictures.found
        if picture.rank == rank
    ]
    caption = f"{rank + 1}. Frame {take.frame(problem.worst):.0f}: {problem.side} {problem.reason}"
    return element("figure", element("div", *images), element("figcaption", caption))
