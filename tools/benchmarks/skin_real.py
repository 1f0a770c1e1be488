"""The figures of methods on takes of three performers that took no part in any fit: one row of the table for each."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from skin_figures import at_limit, jitter, pops, residuals
from skin_methods import Fitted, Method
from skin_takes import LEFT_OUT, Clip, Split

from knuckle.errors import KnuckleError

Floats = NDArray[np.float64]

HEAD = [
    "method",
    "marker residual mean / p95 / max mm",
    "left out, all seven: mean / p95 mm",
    *(f"{kind}: mean / p95" for kind in LEFT_OUT),
    "frames at a limit %",
    "pops in 1000 frames",
    "jitter °",
    "ms a frame",
    "fit s",
    "takes not solved",
]


@dataclass(slots=True)
class Gathered:
    """Results over all test takes."""

    residual: list[Floats] = field(default_factory=list)
    left_out: dict[str, list[Floats]] = field(default_factory=lambda: {kind: [] for kind in LEFT_OUT})
    limit: list[Floats] = field(default_factory=list)
    pops: list[Floats] = field(default_factory=list)
    jitter: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    fit_seconds: list[float] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def cells(self, name: str) -> list[str]:
        """Return the row."""
        if not self.limit:
            return [name, *["-"] * (len(HEAD) - 2), f"all: {self.failed[0]}"]
        residual, limit = np.concatenate(self.residual), np.concatenate(self.limit)
        everything = [errors for kind in self.left_out.values() for errors in kind]
        return [
            name,
            f"{np.nanmean(residual):.1f} / {np.nanquantile(residual, 0.95):.1f} / {np.nanmax(residual):.0f}",
            _mean_p95(everything),
            *(_mean_p95(self.left_out[kind]) for kind in LEFT_OUT),
            f"{100 * limit.mean():.0f}",
            f"{1000 * np.concatenate(self.pops).mean():.1f}",
            f"{np.mean(self.jitter):.1f}",
            f"{1000 * sum(self.seconds) / len(limit):.2f}",
            f"{np.mean(self.fit_seconds):.1f}" if any(self.fit_seconds) else "",
            f"{len(self.failed)}",
        ]


def _mean_p95(errors: list[Floats]) -> str:
    values = np.concatenate(errors) if errors else np.array([np.nan])
    return f"{np.nanmean(values):.1f} / {np.nanquantile(values, 0.95):.1f}" if np.isfinite(values).any() else "-"


def rows(methods: list[Method], splits: list[Split]) -> Iterator[list[str]]:
    """Yield a row for each method."""
    for method in methods:
        gathered = Gathered()
        for split in splits:
            try:
                fitted = method.fit(split.calibration)
            except KnuckleError as error:
                gathered.failed += [str(error)] * len(split.test)
                continue
            gathered.fit_seconds.append(fitted.seconds)
            for clip in split.test:
                measure(method, fitted, clip, gathered)
            print(f"{method.name}, {split.performer} {split.side}: done", flush=True)
        yield gathered.cells(method.name)


def measure(method: Method, fitted: Fitted, clip: Clip, gathered: Gathered) -> None:
    """Solve a take with all markers, and with each of seven left out."""
    try:
        solved = method.solve(clip, fitted, clip)
        left_out = {kind: [left_out_mm(method, fitted, clip, label) for label in LEFT_OUT[kind]] for kind in LEFT_OUT}
    except KnuckleError as error:
        gathered.failed.append(str(error))
        return
    gathered.residual.append(residuals(clip, solved).ravel())
    gathered.limit.append(at_limit(solved))
    gathered.pops.append(pops(clip, solved))
    gathered.jitter.append(jitter(solved))
    gathered.seconds.append(solved.seconds)
    for kind, errors in left_out.items():
        gathered.left_out[kind] += errors


def left_out_mm(method: Method, fitted: Fitted, clip: Clip, label: str) -> Floats:
    """Return (F,) mm from a marker to where the hand carries it that was solved without it."""
    solved = method.solve(clip.without(label), fitted, clip)
    offsets = solved.carried[:, solved.labels.index(label)] - clip.positions[:, clip.column(label)]
    return np.asarray(1000 * np.linalg.norm(offsets, axis=-1))
