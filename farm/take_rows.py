"""The row of a take in the farm's results, which is also stored beside the take's files."""

import json
import math
from dataclasses import asdict, dataclass, fields
from pathlib import Path, PurePath
from types import UnionType
from typing import Any, Literal, get_args, get_type_hints

import numpy as np

from ..errors import RecipeError
from ..pipeline.evidence.columns import column_starts
from ..pipeline.evidence.heat import LEVEL_HEIGHTS, heat
from ..pipeline.recipe import read_json
from ..pipeline.report_page.content import ReviewedTake
from ..pipeline.report_page.figures import figures_of_take

RECORD = "take.json"
"""The file beside a take's files that records their inputs; written last."""
HEAT_COLUMNS = 120
"""Maximum number of columns of a take's heat strip."""

State = Literal["solved", "unchanged", "failed"]


@dataclass(frozen=True, slots=True)
class TakeRow:
    """The figures of a take."""

    name: str
    capture: str
    state: State
    """`unchanged` was solved by an earlier run from the same files, `failed` has no new files."""
    problem: str = ""
    """Why it failed, in one sentence."""
    performer: str = ""
    frames: int = 0
    rate: float = 0.0
    """Hz"""
    hands: str = ""
    mean_mm: float | None = None
    """Mean error of all fingertips; this and the following are None if nothing was measured."""
    p95_mm: float | None = None
    p99_mm: float | None = None
    max_mm: float | None = None
    predicted: float | None = None
    """Fraction of frames in which a joint was not determined by a marker."""
    at_limit: float | None = None
    """Fraction of frames in which an angle was at a limit."""
    depth_mm: float | None = None
    """Maximum depth of skin in skin."""
    problems: int = 0
    severity: float = 0.0
    """Severity of the worst problem: how many times it exceeds its threshold."""
    worst: str = ""
    """The worst problem, in words."""
    notes: int = 0
    """Warnings in the report."""
    seconds: float = 0.0
    """Time to read, solve and write the take."""
    files: tuple[str, ...] = ()
    """Names of its files, in its folder."""
    heat: str = ""
    """The worst level of any part of its hands, 0 to 4, in columns over time."""

    @property
    def rank(self) -> tuple[bool, float, int, float, str]:
        """Sort key, the worst take first: failed takes, then by severity of the worst problem."""
        return (self.state != "failed", -self.severity, -self.problems, -(self.p99_mm or 0.0), self.name)


def row_of(take: ReviewedTake, capture: str, performer: str) -> TakeRow:
    """Return the row of a solved take, as yet without files."""
    figures = figures_of_take(take)
    worst = take.problems[0] if take.problems else None
    mean, p95, p99, maximum = (round(float(value), 3) if np.isfinite(value) else None for value in figures.errors)
    warnings = take.report.get("warnings")
    return TakeRow(
        take.name,
        capture,
        "solved",
        performer=performer,
        frames=len(take.seconds),
        rate=round(1.0 / take.period, 3),
        hands=", ".join(take.sides),
        mean_mm=mean,
        p95_mm=p95,
        p99_mm=p99,
        max_mm=maximum,
        predicted=round(figures.predicted, 4),
        at_limit=round(figures.at_limit, 4),
        depth_mm=round(figures.depth, 2),
        problems=len(take.problems),
        severity=worst.severity if worst is not None else 0.0,
        worst=f"{worst.side} {worst.reason}" if worst is not None else "",
        notes=len(warnings) if isinstance(warnings, list) else 0,
        heat=_heat(take),
    )


def _heat(take: ReviewedTake) -> str:
    levels = np.max([heat(hand).max(axis=1) for hand in take.evidence.hands], axis=0)
    columns = np.maximum.reduceat(levels, column_starts(len(levels), HEAT_COLUMNS))
    return "".join(map(str, columns.tolist()))


@dataclass(frozen=True, slots=True)
class TakeRecord:
    """The record beside a take's files."""

    key: str
    """Key of the inputs they were made from: farm.take_key."""
    run: str
    """The run that made them."""
    row: TakeRow
    sizes: dict[str, int]
    """File -> size in bytes, which shows that a file was truncated or replaced."""

    def as_line(self) -> bytes:
        """Return the record as JSON in one line."""
        return (json.dumps(asdict(self)) + "\n").encode()

    def whole(self, folder: Path) -> dict[str, int]:
        """Return the sizes of those files that are still as they were written."""
        return {name: size for name, size in self.sizes.items() if _size(folder / name) == size}


def read_record(folder: Path) -> TakeRecord | None:
    """Return the record of a folder, None if there is none, or a damaged one: the take is solved again then."""
    try:
        data = read_json(folder / RECORD)
        key, run, sizes = data["key"], data["run"], data["sizes"]
        names = all(PurePath(name).name == name and type(size) is int for name, size in sizes.items())
        row = row_from_json(data["row"])
    except (RecipeError, ValueError, KeyError, TypeError, AttributeError):
        return None
    sound = isinstance(key, str) and isinstance(run, str) and names and {*row.files} == {*sizes}
    return TakeRecord(key, run, row, sizes) if sound else None


def _size(path: Path) -> int:
    """Return the size of a file in bytes, -1 if it is not there."""
    try:
        return path.stat().st_size
    except OSError:
        return -1


def row_from_json(data: dict[str, Any]) -> TakeRow:
    """Return the row in decoded JSON. Raises TypeError, KeyError or ValueError if it holds none."""
    hints = get_type_hints(TakeRow)
    values = {each.name: data[each.name] for each in fields(TakeRow)}
    values["files"] = tuple(values["files"])
    for name, value in values.items():
        hint = hints[name]
        kinds = get_args(hint) if isinstance(hint, UnionType) else (hint,)
        if name == "state":
            sound = value in get_args(State)
        elif name == "files":
            sound = all(isinstance(file, str) for file in value)
        else:
            sound = type(value) in kinds or (type(value) is int and float in kinds)
        if not sound or (isinstance(value, float) and not math.isfinite(value)):
            raise ValueError(name)
    levels = {str(level) for level in range(len(LEVEL_HEIGHTS))}
    if not {*values["heat"]} <= levels or len(values["heat"]) > HEAT_COLUMNS:
        raise ValueError("heat")
    return TakeRow(**values)
