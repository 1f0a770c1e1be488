"""What a performer's takes add to a fit: on made hands, whose joints are known.

    python tools/benchmarks/skin_calibrations.py

Six hands wear 19 markers with 0.2 mm of noise. They are calibrated on 1, 2 and 4 takes of different motions, of which
none is the motion that tests, or on a take that moves every joint through its range (skin_exercise.py). Joint centres
in mm and angles in degrees, RMS. Prints a table. Needs ../shared/data.
"""

import os

import numpy as np
from skin_exercise import exercise
from skin_figures import Truth, angle_errors, centre_errors
from skin_hands import hand_of
from skin_made import BUILD, TESTS, Made, Studio
from skin_motions import cached
from skin_pairs import HANDS, Errors
from skin_worn import Worn
from standard_page import table

METHOD = Worn("fitted hand")
EXERCISE = "exercise"
NOISE = 0.2
"""mm in each component."""
HEAD = ["calibrated on", "joint centres mm / angles °"]


def calibrations(test: str) -> dict[str, tuple[str, ...]]:
    """Return the motions of each calibration of a hand that is tested on another motion."""
    takes = ("range", *(motion for motion in TESTS if motion != test))
    return {
        "one take": takes[:1],
        "two takes": takes[:2],
        "four takes": takes,
        "a range of motion": (EXERCISE,),
        "a range of motion and a take": (EXERCISE, *takes[:1]),
        "a range of motion and four takes": (EXERCISE, *takes),
    }


def films(number: int) -> dict[str, Made]:
    """Return every motion of a hand."""
    studio = Studio(hand_of(number), seed=number)
    return {name: studio.film(name, *motion) for name, motion in (cached(BUILD) | {EXERCISE: exercise()}).items()}


def errors_of(takes: list[Made], test: Made) -> Errors:
    """Return the errors of a hand that is calibrated on takes."""
    fitted = METHOD.fit([take.clip(19, NOISE, seed=10 + number) for number, take in enumerate(takes)])
    clip = test.clip(19, NOISE, seed=2)
    solved, truth = METHOD.solve(clip, fitted, clip), Truth(test.frames)
    return centre_errors(solved, truth), angle_errors(solved, truth)


def rows() -> list[list[str]]:
    """Return a row for each calibration, with its errors over all hands."""
    found: dict[str, list[Errors]] = {}
    for number in HANDS:
        made, test = films(number), TESTS[number % len(TESTS)]
        for name, motions in calibrations(test).items():
            found.setdefault(name, []).append(errors_of([made[motion] for motion in motions], made[test]))
        print(f"hand {number}: done", flush=True)
    return [[name, cell(errors)] for name, errors in found.items()]


def cell(errors: list[Errors]) -> str:
    """Return the root mean square of both errors over all hands."""
    centres, angles = (np.sqrt(np.mean(np.concatenate(each) ** 2)) for each in zip(*errors, strict=True))
    return f"{centres:.1f} / {angles:.1f}"


def main() -> None:
    """Measure and print the table."""
    print(table(HEAD, [*rows(), ["wanted", "0.8 / 2"]]), flush=True)
    # The bpy module is known to hang when the interpreter exits.
    os._exit(0)


if __name__ == "__main__":
    main()
