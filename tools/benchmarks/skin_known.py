"""The figures of methods on made hands, whose joints are known: a row for each method, a column for each case."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from skin_figures import Truth, angle_errors, centre_errors
from skin_made import Made
from skin_methods import Method

from knuckle.errors import KnuckleError

Floats = NDArray[np.float64]

Case = tuple[int, float]
"""Markers worn, and mm of noise in each component."""
CASES: tuple[Case, ...] = tuple((markers, noise) for markers in (19, 13, 9) for noise in (0.0, 0.2, 1.0))
MAIN: tuple[Case, ...] = ((19, 0.2), (19, 1.0))
TARGET_ERRORS = {0.2: (0.8, 2.0), 1.0: (2.0, 4.0)}
"""Noise -> joint centres mm and angles degrees, RMS."""
HEAD = ["method", *(f"{markers} markers, {noise:g} mm" for markers, noise in CASES)]


def rows(methods: Sequence[tuple[Method, Sequence[Case]]], pairs: list[tuple[Made, Made]]) -> Iterator[list[str]]:
    """Yield a row for each method, with its cases."""
    for method, cases in methods:
        yield [method.name, *(cell(method, pairs, *case) if case in cases else "" for case in CASES)]
        print(f"{method.name}, made hands: done", flush=True)


def wanted() -> list[str]:
    """Return the row of targets."""
    return [
        "wanted",
        *(
            "{:g} / {:g}".format(*TARGET_ERRORS[noise]) if markers == 19 and noise in TARGET_ERRORS else ""
            for markers, noise in CASES
        ),
    ]


def cell(method: Method, pairs: list[tuple[Made, Made]], markers: int, noise: float) -> str:
    """Return errors of joint centres in mm and of angles in degrees, RMS over all hands, and how many were refused."""
    errors_of_hands = [errors for pair in pairs if (errors := errors_of(method, pair, markers, noise)) is not None]
    refused = len(pairs) - len(errors_of_hands)
    if not errors_of_hands:
        return "refused"
    centres, angles = (np.sqrt(np.mean(np.concatenate(values) ** 2)) for values in zip(*errors_of_hands, strict=True))
    return f"{centres:.1f} / {angles:.1f}" + (f" ({refused} refused)" if refused else "")


def errors_of(method: Method, pair: tuple[Made, Made], markers: int, noise: float) -> tuple[Floats, Floats] | None:
    """Return (F, 15) mm and (F, 15) degrees of one hand; None where it was refused."""
    calibration, test = pair
    clip = test.clip(markers, noise, seed=2)
    try:
        solved = method.solve(clip, method.fit([calibration.clip(markers, noise, seed=1)]), clip)
    except KnuckleError:
        return None
    truth = Truth(test.frames)
    return centre_errors(solved, truth), angle_errors(solved, truth)
