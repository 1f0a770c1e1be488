"""How sure an articulated hand's labels are: fits the curves of hand/labelling/label_confidence.json, and tests them.

    python tools/benchmarks/labelling_confidence.py [--every N] [--first K] [--cache FILE] [--out docs] [--write]

Reads the takes of Han et al. 2018 in ../shared/data/sig18, of which every Nth from the Kth on is used, spoiled as for
labelling_reliability.py, every other one mirrored. The side of a whole take is seldom wrong, so its curve is fitted to
short pieces as well, in which a hand hardly moves. Curves fitted to all but one performer are tested on that one. The
cache keeps what was measured.
"""

import argparse
import json
import zlib
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from labelling_reliability import SKIN_TAKES, SPOILT, calibration_cells, seen_owners, shadowed, skin_take
from numpy.typing import NDArray
from standard_page import fill, table

from knuckle.hand.calibration.skin_markers.chain import ShapeParameters
from knuckle.hand.generators import Steps
from knuckle.hand.joints import SIDES
from knuckle.hand.labelling import label_confidence, model_hands
from knuckle.hand.labelling.label_confidence import (
    MAX_MARGIN,
    MIN_MARGIN,
    LogisticCurve,
    SideCurve,
    side_margin,
)
from knuckle.hand.labelling.label_search import label_hands
from knuckle.hand.labelling.model_fit import ModelFit, fit_model, shape_of_spots
from knuckle.hand.labelling.shape_model import SKIN_LAYOUTS
from knuckle.hand.mirror import POINT_SIGNS, other_side
from knuckle.tests.pure.hand.labelling.spoiled import Truth, spoil

Floats = NDArray[np.float64]

ROOT = Path(__file__).resolve().parents[2]
CURVES_FILE = Path(label_confidence.__file__).with_suffix(".json")
SPOTS = tuple(SKIN_LAYOUTS[0].spots.values())
LAYOUT_SIDES = [(SKIN_LAYOUTS[0], SIDES)]
PIECES, PIECE_FRAMES = 3, 2
"""Number of short pieces of each take, and frames of each."""
BINS = (0.0, 0.7, 0.85, 0.95, 0.98, 1.0)
RIDGE = 0.01
OFFSETS = {"marker": 1000.0, "fragment": 0.0}
"""Curve -> offset added to its margins."""


@dataclass(frozen=True)
class Example:
    """A labelling decision, its margin, and whether it was right."""

    curve: str
    margin: float
    right: float
    """Fraction of the frames with a correct label."""
    weight: float
    """Number of frames; 1 for a side."""


@dataclass(frozen=True)
class _MarginAsConfidence:
    """Replaces a curve: returns the margin itself, shifted so that it shows whose curve it was."""

    offset: float

    def probability(self, margin: Floats) -> Floats:
        return np.clip(margin, MIN_MARGIN, MAX_MARGIN) + self.offset


def measure(path: Path) -> list[Example]:
    """Return examples of a corrupted take's side, markers and fragments: margins, and whether labels are right."""
    times, positions, truth = skin_take(path)
    seed = zlib.crc32(path.stem.encode()) % 100_000
    if seed % 2:
        positions = positions * POINT_SIGNS
        truth = {column: (other_side(side), spot) for column, (side, spot) in truth.items()}
    side = next(iter(truth.values()))[0]
    rng = np.random.default_rng(seed)
    spoiled = spoil(shadowed(positions, truth, rng), seed, **SPOILT)
    examples = short_pieces(positions, truth, rng)
    search, curves = model_hands.search_sides, dict(label_confidence.CURVES)

    def recorded(shape: Any, seen: Floats, starts: Any) -> Steps[Any]:
        result, side_fits = yield from search(shape, seen, starts)
        examples.append(side_example(shape, seen, side_fits, side))
        return result, side_fits

    model_hands.search_sides = recorded
    label_confidence.CURVES.update({name: _MarginAsConfidence(offset) for name, offset in OFFSETS.items()})
    try:
        labelling = label_hands(times, spoiled.positions, layouts=LAYOUT_SIDES)
    finally:
        model_hands.search_sides = search
        label_confidence.CURVES.update(curves)
    for hand in labelling.hands:
        for span in hand.spans:
            owners = seen_owners(spoiled, span)
            is_own = [owner in truth and truth[owner][1] == hand.layout.spots[span.spot] for owner in owners]
            # The side is fitted separately: its confidence multiplies that of a marker.
            shifted = span.confidence / hand.side_confidence
            curve = "marker" if shifted > OFFSETS["marker"] else "fragment"
            examples.append(Example(curve, shifted - OFFSETS[curve], float(np.mean(is_own)), len(is_own)))
    return examples


def side_example(shape: ShapeParameters, positions: Floats, fits: list[ModelFit], side: str) -> Example:
    """Return the example of the side by the best fits of both sides."""
    (cost, best), (other_cost, _) = model_hands.compare_sides(shape, positions, fits)
    return Example("side", side_margin(cost, other_cost), float(best.side == side), 1.0)


def short_pieces(positions: Floats, truth: Truth, rng: np.random.Generator) -> list[Example]:
    """Return examples of the side by the fits of both sides to short pieces with correct labels."""
    shape, side = shape_of_spots(SPOTS), next(iter(truth.values()))[0]
    column_of = {spot: column for column, (_, spot) in truth.items()}
    labels = np.array([column_of[spot] for spot in SPOTS])
    starts = rng.integers(0, len(positions) - PIECE_FRAMES, PIECES)
    pieces = [positions[start : start + PIECE_FRAMES] for start in starts]
    return [
        side_example(shape, piece, [fit_model(shape, fitted_side, piece, labels) for fitted_side in SIDES], side)
        for piece in pieces
    ]


def fit_side(examples: list[Example]) -> SideCurve:
    """Fit the slope of the side's curve by maximum likelihood."""
    signed_margins = np.array(
        [example.margin * (1 if example.right else -1) for example in examples if example.curve == "side"]
    )
    slopes = np.linspace(0.5, 50, 1000)
    likelihoods = -np.logaddexp(0, -slopes[:, None] * signed_margins).sum(axis=1)
    return SideCurve(round(float(slopes[likelihoods.argmax()]), 2))


def fit_curve(examples: list[Example], curve: str) -> LogisticCurve:
    """Fit a curve by logistic regression, Newton's method with a weak ridge."""
    curve_examples = [example for example in examples if example.curve == curve]
    margins = np.log(np.clip([example.margin for example in curve_examples], MIN_MARGIN, MAX_MARGIN))
    design = np.stack([np.ones(len(curve_examples)), margins], axis=1)
    is_right, weight = (
        np.array([getattr(example, name) for example in curve_examples]) for name in ("right", "weight")
    )
    weight = weight * len(curve_examples) / weight.sum()
    parameters = np.zeros(2)
    for _ in range(50):
        probability = 1 / (1 + np.exp(-design @ parameters))
        gradient = design.T @ (weight * (is_right - probability)) - RIDGE * parameters
        curvature = (design * (weight * probability * (1 - probability))[:, None]).T @ design + RIDGE * np.eye(2)
        parameters = parameters + np.clip(np.linalg.solve(curvature, gradient), -2, 2)
    return LogisticCurve(*(round(float(value), 3) for value in parameters))


def row(examples: list[Example], curves: dict[str, LogisticCurve], name: str) -> list[str]:
    """Return the row of confidences of markers and fragments, and how many are right."""
    row_examples = [example for example in examples if example.curve in curves]
    probabilities = [float(curves[example.curve].probability(np.array(example.margin))) for example in row_examples]
    return [
        name,
        *calibration_cells(
            probabilities,
            [example.right for example in row_examples],
            [example.weight for example in row_examples],
            BINS,
        ),
    ]


def collect(options: argparse.Namespace) -> dict[str, list[Example]]:
    """Return performer -> examples of the requested takes; cached ones are not measured again."""
    cache, examples_of_take = options.cache, {}
    if cache.exists():
        examples_of_take = {
            row["take"]: row["examples"] for row in map(json.loads, cache.read_text("utf-8").splitlines())
        }
    takes = [
        path
        for folder in sorted(SKIN_TAKES.glob("user*"))
        for path in sorted(folder.glob("*.trc"))[options.first :: options.every]
    ]
    examples_of_performer: dict[str, list[Example]] = {}
    for path in takes:
        take = f"{path.parent.name}/{path.stem}"
        if take not in examples_of_take:
            examples_of_take[take] = [asdict(example) for example in measure(path)]
            cache.parent.mkdir(parents=True, exist_ok=True)
            with cache.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"take": take, "examples": examples_of_take[take]}) + "\n")
        examples_of_performer.setdefault(path.parent.name, []).extend(
            Example(**example_fields) for example_fields in examples_of_take[take]
        )
    return examples_of_performer


def main() -> None:
    """Measure, fit and test, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=6)
    parser.add_argument("--first", type=int, default=2)
    parser.add_argument("--cache", type=Path, default=ROOT / "build" / "labelling_confidence.jsonl")
    parser.add_argument("--out", type=Path, default=ROOT / "docs")
    parser.add_argument("--write", action="store_true", help="write the curves, and the table of the page")
    options = parser.parse_args()
    examples_of_performer = collect(options)
    rows, slopes = [], []
    for performer, test_examples in examples_of_performer.items():
        training_examples = [
            example for name, examples in examples_of_performer.items() if name != performer for example in examples
        ]
        curves = {curve: fit_curve(training_examples, curve) for curve in OFFSETS}
        rows.append(row(test_examples, curves, f"{performer}, from the others"))
        slopes.append(fit_side(training_examples))
    all_examples = [example for examples in examples_of_performer.values() for example in examples]
    curves = {curve: fit_curve(all_examples, curve) for curve in OFFSETS}
    rows.append(row(all_examples, curves, "all"))
    text = table(["takes of", *(f"{low:g} to {high:g}" for low, high in pairwise(BINS))], rows)
    # So few sides are wrong that only the most cautious fit can be trusted.
    side = min(slopes, key=lambda curve: curve.slope)
    parameters = {"side": asdict(side), **{name: asdict(curve) for name, curve in curves.items()}}
    print(text, json.dumps(parameters, indent=2), sep="\n")
    if options.write:
        CURVES_FILE.write_text(json.dumps(parameters, indent=2) + "\n", "utf-8")
        fill(options.out / "explanation" / "labelling.md", {"articulated": text})


if __name__ == "__main__":
    main()
