"""What the other hand of a person adds to a fit: on the takes of three performers, and on made hands.

    python tools/benchmarks/skin_pairs.py [real made]

real: both hands of each performer of Han et al. 2018, each fitted separately and together with the other, as skin.py
splits and measures them. made: a hand that wears 19 markers and whose joints are known. The other hand of its person
has the same bones or others by 2 %, wears its markers at spots of its own, and does another motion. The hand goes
through its range, or does so but for an index finger that hardly bends. Joint centres in mm and angles in degrees, RMS
over six hands that are solved on a third motion. Prints tables. Needs ../shared/data.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from skin_figures import Truth, angle_errors, centre_errors
from skin_hands import hand_of
from skin_made import BUILD, TESTS, Made, Studio
from skin_methods import Fitted
from skin_motions import cached
from skin_real import HEAD as REAL_HEAD
from skin_real import Gathered, measure
from skin_takes import PERFORMERS, Clip, splits
from skin_worn import Worn, spots_of
from standard_page import table

from knuckle.hand.calibration.skin_markers import Recording, SkinFit, fit_hands
from knuckle.hand.joints import CHAIN_JOINTS
from knuckle.hand.mirror import POINT_SIGNS
from knuckle.hand.model import HandModel

Floats = NDArray[np.float64]
Errors = tuple[Floats, Floats]
"""(F, 15) mm and (F, 15) degrees."""

HANDS = (0, 3, 5, 6, 9, 11)
NOISES = (0.2, 1.0)
"""Standard deviations of the markers' noise in each component, mm."""
DIFFERENCE = 0.02
"""Standard deviation of the difference between the hands' bones."""
STIFF = 0.1
"""Fraction of its flexion that a stiff finger keeps."""
CALIBRATIONS = ("range", "index still")
OTHERS = ("alone", "same bones", "bones 2 % different")
MADE_HEAD = ["calibration", "noise mm", *(f"{other}: {what}" for other in OTHERS for what in ("all joints", "index"))]


def real() -> str:
    """Return the table of the takes of three performers: all test takes and their frames."""
    rows = []
    for performer in PERFORMERS:
        performer_splits = [split for split in splits(4, None) if split.performer == performer]
        together = _fitted({split.side: split.calibration for split in performer_splits})
        for split in performer_splits:
            is_alone = _fitted({split.side: split.calibration})
            for words, fits in (("alone", is_alone), ("with the other hand", together)):
                gathered = Gathered()
                for clip in split.test:
                    measure(Worn(words), Fitted(fits[split.side]), clip, gathered)
                rows.append(gathered.cells(f"{performer}, {split.side}, {words}"))
                print(*rows[-1], flush=True)
    return table(REAL_HEAD, rows)


def made() -> str:
    """Return the table of made hands."""
    motions = cached(BUILD)
    errors_of_case: dict[tuple[str, float, str], list[Errors]] = {}
    for number in HANDS:
        for key, errors in _made_errors(number, motions):
            errors_of_case.setdefault(key, []).append(errors)
        print(f"hand {number}: done", flush=True)
    rows = [
        [
            calibration,
            f"{noise:g}",
            *(cell for other in OTHERS for cell in _cells(errors_of_case[calibration, noise, other])),
        ]
        for calibration in CALIBRATIONS
        for noise in NOISES
    ]
    return table(MADE_HEAD, rows)


def _made_errors(number: int, motions: dict[str, Errors]) -> Iterator[tuple[tuple[str, float, str], Errors]]:
    """Errors of a hand, by its calibration, the noise and its other hand."""
    random = np.random.default_rng(number)
    hand, other_hand = hand_of(number), hand_of(number, 1 + random.normal(0, DIFFERENCE, (5, 3)))
    studio, name = Studio(hand, seed=number), TESTS[1:][number % 3]
    takes = {
        "range": studio.film("range", *motions["range"]),
        "index still": studio.film("index still", *_stiff(hand.model, *motions["range"])),
    }
    test = studio.film(name, *motions[name])
    others = {
        "same bones": _mirrored(Studio(hand, seed=100 + number).film("headset", *motions["headset"])),
        "bones 2 % different": _mirrored(Studio(other_hand, seed=200 + number).film("headset", *motions["headset"])),
    }
    for noise in NOISES:
        for calibration, take in takes.items():
            clip, solved = take.clip(19, noise, seed=1), test.clip(19, noise, seed=2)
            for other in OTHERS:
                clips = [clip] if other == "alone" else [clip, others[other].clip(19, noise, seed=3)]
                fits = _fitted({clip_of_side.side: [clip_of_side] for clip_of_side in clips})
                yield (calibration, noise, other), _errors(fits[clip.side], solved, test)


def _fitted(takes: dict[str, Sequence[Clip]]) -> dict[str, SkinFit]:
    """Return the hands of one person, by side."""
    recordings = {
        side: Recording([clip.positions for clip in clips], clips[0].rate, spots_of(clips[0]))
        for side, clips in takes.items()
    }
    fitted = fit_hands(recordings)  # type: ignore[arg-type]
    print(*fitted.notes)
    return dict(fitted.fits)


def _stiff(model: HandModel, angles: Floats, roots: Floats) -> tuple[Floats, Floats]:
    """Return a motion with an index finger that hardly bends."""
    stiff = angles.copy()
    for joint in CHAIN_JOINTS["index-finger"][:3]:
        stiff[:, model.dof(joint, "flexion")] *= STIFF
    return stiff, roots


def _mirrored(take: Made) -> Made:
    """Return the mirrored take of the other hand. Its joints are not mirrored."""
    return replace(take, side="left" if take.side == "right" else "right", positions=take.positions * POINT_SIGNS)


def _errors(fit: SkinFit, clip: Clip, test: Made) -> Errors:
    solved, truth = Worn("fitted hand").solve(clip, Fitted(fit), clip), Truth(test.frames)
    return centre_errors(solved, truth), angle_errors(solved, truth)


def _cells(errors: list[Errors]) -> list[str]:
    """Return table cells: errors over all joints, and over the index finger's joints."""
    return [
        " / ".join(
            f"{np.sqrt(np.mean(np.concatenate(errors_of_kind)[:, joints] ** 2)):.2f}"
            for errors_of_kind in zip(*errors, strict=True)
        )
        for joints in (slice(None), slice(3, 6))
    ]


TABLES = {"real": real, "made": made}


def main() -> None:
    """Measure and print the tables."""
    for name in sys.argv[1:] or TABLES:
        print(TABLES[name](), flush=True)
    # The bpy module is known to hang when the interpreter exits.
    os._exit(0)


if __name__ == "__main__":
    main()
