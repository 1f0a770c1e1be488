"""Whether the confidences of labels are true: captures without labels, shadowed, with ghosts and cuts.

    python tools/benchmarks/labelling_reliability.py [--every N] [--performers user2 user3]

Prints a table. Reads ../shared/data: the takes of Han et al. 2018, of which every Nth is used, and the four captures of
labelling.py. A tenth of all marker-frames is hidden: those that the fewest of eight cameras see between the hand's
digits, which are capsules about the lines through their markers.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
from labelling import CAPTURES, FILES, Recording, recording
from numpy.typing import NDArray
from standard_page import table

from knuckle import capture
from knuckle.hand.joints import DIGITS, digit_of
from knuckle.hand.labelling.label_search import label_hands
from knuckle.hand.labelling.labelling_result import LabelledSpan, Labelling
from knuckle.hand.labelling.shape_model import SKIN_LAYOUTS
from knuckle.pipeline.assignment import side_of_file
from knuckle.tests.pure.hand.labelling.spoiled import Spoiled, Truth, spoil

Floats = NDArray[np.float64]

SKIN_TAKES = CAPTURES.parent / "sig18"
BINS = (0.0, 0.7, 0.85, 0.95, 0.97, 1.0)
CAMERAS, CAMERA_DISTANCE_M, DIGIT_RADIUS_M, HIDDEN_FRACTION = 8, 2.0, 0.008, 0.1
SPOILT = {"cuts": 4, "ghosts": 2}


@dataclass
class Tally:
    """Confidences, and whether they were right, weighted by frames."""

    said: list[float] = field(default_factory=list)
    right: list[float] = field(default_factory=list)
    frames: list[int] = field(default_factory=list)
    sides: list[tuple[float, bool]] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    refused: int = 0

    def add(self, labelling: Labelling, spoiled: Spoiled, truth: Truth) -> None:
        """Count one capture."""
        correct_count, labelled_count = 0, 0
        self.refused += not labelling.hands
        for hand in labelling.hands:
            owners = spoiled.owner[np.nonzero(hand.columns >= 0)[0], hand.columns[hand.columns >= 0]]
            sides = [truth[owner][0] for owner in owners.tolist() if owner in truth]
            if sides:
                self.sides.append((hand.side_confidence, sides.count(hand.side) > len(sides) / 2))
            for span in hand.spans:
                owners = seen_owners(spoiled, span)
                is_correct = [truth.get(owner) == (hand.side, hand.layout.spots[span.spot]) for owner in owners]
                self.said.append(span.confidence)
                self.right.append(float(np.mean(is_correct)))
                self.frames.append(len(is_correct))
                correct_count, labelled_count = correct_count + sum(is_correct), labelled_count + len(is_correct)
        total = int(np.isin(spoiled.owner, list(truth)).sum())
        self.scores.append(2 * correct_count / max(labelled_count + total, 1))

    def row(self, name: str) -> list[str]:
        """Return predicted confidence and true rate by bins, wrong sides with a confidence above 0.85, refusals
        and F1."""
        wrong = sum(not good for confidence, good in self.sides if confidence >= 0.85)
        return [
            name,
            *calibration_cells(self.said, self.right, self.frames, BINS),
            f"{wrong} of {len(self.sides)}",
            f"{self.refused} of {len(self.scores)}",
            f"{np.mean(self.scores):.3f}",
        ]


def calibration_cells(
    said: Sequence[float], right: Sequence[float], frames: Sequence[float], bins: Sequence[float]
) -> list[str]:
    """Return for each bin of confidence its mean, the fraction that is right, weighted by frames, and the frames."""
    values, correct, weights = (np.array(column) for column in (said, right, frames))
    cells = []
    for low, high in pairwise(bins):
        in_bin = (values > low) & (values <= high)
        if not in_bin.any():
            cells.append("–")
            continue
        frames_in_bin = weights[in_bin]
        mean_confidence, fraction_right = (
            np.average(column[in_bin], weights=frames_in_bin) for column in (values, correct)
        )
        cells.append(f"{mean_confidence:.3f} / {fraction_right:.3f} ({frames_in_bin.sum():.0f})")
    return cells


def seen_owners(spoiled: Spoiled, span: LabelledSpan) -> list[int]:
    """Return the true marker in each of a span's frames in which its column is seen."""
    rows = slice(span.first, span.last + 1)
    owners: list[int] = spoiled.owner[rows, span.column][np.isfinite(spoiled.positions[rows, span.column, 0])].tolist()
    return owners


def shadowed(positions: Floats, truth: Truth, rng: np.random.Generator) -> Floats:
    """Return the positions without the tenth of the hand's marker-frames that the fewest cameras see."""
    columns = np.array(list(truth))
    rotation = rng.uniform(0, 2 * np.pi) + np.arange(CAMERAS) * 2 * np.pi / CAMERAS
    around = np.stack([np.cos(rotation), np.sin(rotation), np.where(np.arange(CAMERAS) % 2, 0.3, 0.9)], axis=1)
    segments = [
        (a, b)
        for side in {side for side, _ in truth.values()}
        for digit in DIGITS
        for a, b in pairwise(
            c for c, (own_columns, spot) in truth.items() if own_columns == side and digit_of(spot.joint) == digit
        )
    ]
    clear = np.zeros((len(positions), len(columns)))
    for direction in around:
        for row, column in enumerate(columns):
            hidden_rows = np.zeros(len(positions), bool)
            for a, b in segments:
                if column not in (a, b):
                    hidden_rows |= _is_behind(positions[:, column], positions[:, a], positions[:, b], direction)
            clear[:, row] += ~hidden_rows
    clear += rng.uniform(0, 0.01, (1, len(columns)))
    result = positions.copy()
    result[:, columns] = np.where((clear < np.quantile(clear, HIDDEN_FRACTION))[..., None], np.nan, result[:, columns])
    return result


def _is_behind(points: Floats, starts: Floats, ends: Floats, direction: Floats) -> NDArray[np.bool_]:
    """Return whether (F,) a digit's bone lies between points (F, 3) and a distant camera in a direction (3,)."""
    with np.errstate(invalid="ignore"):
        correct = np.linspace(0, 1, 6)[:, None, None]
        offsets = starts + correct * (ends - starts) - points
        depths = offsets @ direction
        distances = np.linalg.norm(offsets - depths[..., None] * direction, axis=-1)
        hit: NDArray[np.bool_] = ((distances < DIGIT_RADIUS_M) & (depths > 2 * DIGIT_RADIUS_M)).any(axis=0)
    return hit


def skin_take(path: Path) -> Recording:
    """Return a take of the set on the skin; its side is its file's."""
    markers, spots, side = capture.read(path), SKIN_LAYOUTS[0].spots, side_of_file(path.name)
    assert side is not None
    return (
        markers.times,
        markers.positions,
        {column: (side, spots[name.lower()]) for column, name in enumerate(markers.names)},
    )


def captures_of(performers: list[str], every: int) -> Iterator[tuple[str, Recording]]:
    """Yield the name and recording of each capture to measure."""
    for performer in performers:
        if performer == "captures":
            yield from ((performer, recording(CAPTURES / file)) for file in FILES)
        else:
            yield from (
                (performer, skin_take(path)) for path in sorted((SKIN_TAKES / performer).glob("*.trc"))[1::every]
            )


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=10)
    parser.add_argument("--performers", nargs="*", default=["user1", "user2", "user3", "captures"])
    options = parser.parse_args()
    tallies: dict[str, Tally] = {}
    for number, (name, (times, positions, truth)) in enumerate(captures_of(options.performers, options.every)):
        rng = np.random.default_rng(900 + number)
        spoiled = spoil(shadowed(positions, truth, rng), 900 + number, **SPOILT)
        tallies.setdefault(name, Tally()).add(label_hands(times, spoiled.positions), spoiled, truth)
    head = ["takes of", *(f"{low:g} to {high:g}" for low, high in pairwise(BINS)), "wrong sides", "refused", "F1"]
    print(table(head, [tally.row(name) for name, tally in tallies.items()]))


if __name__ == "__main__":
    main()
