"""Conditions on the figures of a take, such as "tip_error_mm.p99>3,leaps>0": a take that meets one fails.

conditions = condition ("," condition)*
condition  = figure operator number
figure     = measure "." ("mean" | "p99" | "max") | count
operator   = ">" | ">=" | "<" | "<="
"""

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...errors import RecipeError
from .evidence import MEASURES, Evidence
from .ranking import Problem

OPERATORS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
STATISTICS = ("mean", "p99", "max")
COUNTS = {
    "problems": "spans in the ranking of problems",
    "leaps": "of these, leaps of markers or joints",
    "predicted_frames": "frames in which a joint of a hand was not determined by a marker",
}
"""Count -> its meaning."""
MAX_TEXT = 1000
"""Maximum number of characters of a text of conditions."""
_CONDITION = re.compile(r"\s*([a-z0-9_]+)(?:\.([a-z0-9]+))?\s*(>=|<=|>|<)\s*([0-9.eE+-]{1,30})\s*")


@dataclass(frozen=True, slots=True)
class Condition:
    """A figure compared with a number."""

    figure: str
    statistic: str
    """Empty for a count."""
    comparison: str
    limit: float

    def __str__(self) -> str:
        name = f"{self.figure}.{self.statistic}" if self.statistic else self.figure
        return f"{name}{self.comparison}{self.limit:g}"


def parse_conditions(text: str) -> tuple[Condition, ...]:
    """Return the conditions of a text. Raises RecipeError, which lists the existing figures."""
    if len(text) > MAX_TEXT:
        raise RecipeError(f"--fail-on: {len(text)} characters, expected at most {MAX_TEXT}")
    return tuple(map(_parse, text.split(",")))


def _parse(text: str) -> Condition:
    matched = _CONDITION.fullmatch(text)
    if matched is None:
        raise RecipeError(f"--fail-on: '{text.strip()}' is not a condition, expected one such as tip_error_mm.p99>3")
    figure, statistic, comparison, number = matched.groups()
    measures = [measure.figure for measure in MEASURES]
    is_known = figure in (measures if statistic else COUNTS) and statistic in (*STATISTICS, None)
    if not is_known:
        name = f"{figure}.{statistic}" if statistic else figure
        raise RecipeError(
            f"--fail-on: '{name}' is not known, expected {', '.join(COUNTS)}, or .{', .'.join(STATISTICS)} of "
            + ", ".join(measures)
        )
    try:
        limit = float(number)
    except ValueError:
        limit = float("nan")
    if not np.isfinite(limit):
        raise RecipeError(f"--fail-on: '{number}' in '{text.strip()}' is not a number")
    return Condition(figure, statistic or "", comparison, limit)


@dataclass(frozen=True, slots=True)
class Outcome:
    """A condition and the figure of a take. A take that meets the condition fails."""

    condition: Condition
    found: float | None
    """The take's figure; None if unknown. An unknown figure fails."""

    @property
    def failed(self) -> bool:
        """Whether the take fails because of this condition."""
        compare = OPERATORS[self.condition.comparison]
        return self.found is None or compare(self.found, self.condition.limit)

    def __str__(self) -> str:
        return f"{self.condition} (it is {'not known' if self.found is None else f'{self.found:.4g}'})"


def outcomes(
    conditions: tuple[Condition, ...], evidence: Evidence, problems: tuple[Problem, ...]
) -> tuple[Outcome, ...]:
    """Return each condition with the figure of a take."""
    return tuple(Outcome(condition, figure_of(condition, evidence, problems)) for condition in conditions)


def figure_of(condition: Condition, evidence: Evidence, problems: tuple[Problem, ...]) -> float | None:
    """Return the figure of a condition, over all hands, parts and frames of a take; None if it is not known."""
    if condition.figure == "problems":
        return len(problems)
    if condition.figure == "leaps":
        return sum(problem.measure in ("marker_leap", "joint_leap") for problem in problems)
    if condition.figure == "predicted_frames":
        return sum(int((np.nan_to_num(hand.of("predicted")) > 0).any(axis=1).sum()) for hand in evidence.hands)
    measure = next(measure for measure in MEASURES if measure.figure == condition.figure)
    values = np.concatenate([hand.of(measure.name).ravel() for hand in evidence.hands]).astype(float)
    finite_values = values[np.isfinite(values)]
    if not len(finite_values):
        return None
    if condition.statistic == "p99":
        return float(np.quantile(finite_values, 0.99))
    return float(finite_values.mean() if condition.statistic == "mean" else finite_values.max())
