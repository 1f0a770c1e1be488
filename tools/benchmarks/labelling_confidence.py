"""How sure an articulated hand's labels are: fits the curves of hand/labelling/label_confidence.json, and tests them.

    python tools/benchmarks/labelling_confidence.py [--every N] [--first K] [--cache FILE] [--out docs] [--write]

Reads the takes of Han et al. 2018 in ../shared/data/sig18, of which every Nth from the Kth on is used, spoiled as for
labelling_reliability.py, every other one mirrored. A search that finds the right hand is right for sure, so the curve
of the side is fitted to what it would have said without that hand, too, with a small weight. Curves fitted to all but
one performer are tested on that one. The cache keeps what was measured.
"""

import argparse
import json
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from labelling_reliability import SKIN_TAKES, SPOILT, shadowed, skin_take
from numpy.typing import NDArray
from standard_page import fill, table

from knuckle.hand.generators import Steps
from knuckle.hand.joints import SIDES
from knuckle.hand.labelling import label_confidence, model_hands
from knuckle.hand.labelling.label_confidence import MAX_MARGIN, MIN_MARGIN, LogisticCurve
from knuckle.hand.labelling.label_search import label_hands
from knuckle.hand.labelling.model_fit import ModelFit
from knuckle.hand.labelling.shape_model import SKIN_LAYOUTS
from knuckle.hand.mirror import POINT_SIGNS, other_side
from knuckle.tests.pure.hand.labelling.spoiled import Spoiled, Truth, spoil

Floats = NDArray[np.float64]

ROOT = Path(__file__).resolve().parents[2]
CURVES_FILE = Path(label_confidence.__file__).with_suffix(".json")
SPOTS = tuple(SKIN_LAYOUTS[0].spots.values())
LAYOUT_SIDES = [(SKIN_LAYOUTS[0], SIDES)]
MISSED_WEIGHT = 0.05
"""Weight of what a search would have said without the right hand: about how often it misses that."""
BINS = (0.0, 0.7, 0.85, 0.95, 0.98, 1.0)
RIDGE = 0.01
OFFSETS = {"marker": 1000.0, "fragment": 0.0}


@dataclass(frozen=True)
class Example:
    """Something that was said, and whether it was right."""

    curve: str
    margin: float
    cost: float
    right: float
    """Share of frames."""
    weight: float
    """Frames, or 1 for a side."""


@dataclass(frozen=True)
class _Told:
    """A curve that tells the margin itself, with an offset."""

    offset: float

    def probability(self, margin: Floats, cost: float = 0.0) -> Floats:
        return np.clip(margin, MIN_MARGIN, MAX_MARGIN) + self.offset


def measure(path: Path) -> list[Example]:
    """What labelling a spoiled take says of its side, its markers and its fragments."""
    times, positions, truth = skin_take(path)
    seed = zlib.crc32(path.stem.encode()) % 100_000
    if seed % 2:
        positions = positions * POINT_SIGNS
        truth = {column: (other_side(side), spot) for column, (side, spot) in truth.items()}
    spoiled = spoil(shadowed(positions, truth, np.random.default_rng(seed)), seed, **SPOILT)
    examples: list[Example] = []
    search, curves = model_hands.search_sides, dict(label_confidence.CURVES)

    def recorded(shape: Any, seen: Floats, starts: Any) -> Steps[Any]:
        best, rivals = yield from search(shape, seen, starts)
        examples.extend(_sides([best.fit, *rivals], _owners(seen, spoiled), truth))
        return best, rivals

    model_hands.search_sides = recorded
    label_confidence.CURVES.update({name: _Told(offset) for name, offset in OFFSETS.items()})
    try:
        found = label_hands(times, spoiled.positions, layouts=LAYOUT_SIDES)
    finally:
        model_hands.search_sides = search
        label_confidence.CURVES.update(curves)
    for hand in found.hands:
        for span in hand.spans:
            rows = slice(span.first, span.last + 1)
            owners = spoiled.owner[rows, span.column][np.isfinite(spoiled.positions[rows, span.column, 0])]
            # The side counts apart: its confidence multiplies that of a marker.
            own = [owner in truth and truth[owner][1] == hand.layout.spots[span.spot] for owner in owners.tolist()]
            told = span.confidence / hand.side_confidence
            curve = "marker" if told > OFFSETS["marker"] else "fragment"
            examples.append(Example(curve, told - OFFSETS[curve], 0.0, float(np.mean(own)), len(own)))
    return examples


def _owners(seen: Floats, spoiled: Spoiled) -> list[int]:
    """Which column of the capture each trajectory (N, T, 3) of a sample is, −1 for a ghost."""
    frames, columns = np.nonzero(np.isfinite(spoiled.positions[..., 0]))
    known = {
        position.tobytes(): int(owner)
        for position, owner in zip(spoiled.positions[frames, columns], spoiled.owner[frames, columns], strict=True)
    }
    owners = []
    for track in range(seen.shape[1]):
        positions = seen[np.isfinite(seen[:, track, 0]), track]
        owners.append(known[positions[0].tobytes()] if len(positions) else -1)
    return owners


def _sides(fits: list[ModelFit], owners: list[int], truth: Truth) -> Iterator[Example]:
    """What is said of the side: by all fits, and by those without the right hand."""
    side = next(iter(truth.values()))[0]
    correct = []
    for fit in fits:
        own = [owners[label] if label < len(owners) else -1 for label in fit.labels]
        share = np.mean([owner in truth and truth[owner][1] == spot for owner, spot in zip(own, SPOTS, strict=True)])
        correct.append(fit.side == side and share > 0.5)
    missed = [fit for fit, good in zip(fits, correct, strict=True) if not good]
    for some, weight in ((fits, 1.0), (missed, MISSED_WEIGHT)):
        if {fit.side for fit in some} != set(SIDES):
            continue
        best = min(some, key=lambda fit: fit.cost)
        cost = best.cost / len(SPOTS)
        if cost > model_hands.MAX_MODEL_COST:
            continue
        other = min(fit.cost for fit in some if fit.side != best.side)
        yield Example("side", other / best.cost - 1, cost, float(best.side == side), weight)


def fit_curve(examples: list[Example], curve: str) -> LogisticCurve:
    """Fit a curve by logistic regression, Newton's method with a weak ridge."""
    own = [example for example in examples if example.curve == curve]
    margins = np.log(np.clip([example.margin for example in own], MIN_MARGIN, MAX_MARGIN))
    columns = [np.ones(len(own)), margins]
    if curve == "side":
        columns.append(np.array([example.cost for example in own]))
    design = np.stack(columns, axis=1)
    right, weight = (np.array([getattr(example, name) for example in own]) for name in ("right", "weight"))
    weight = weight * len(own) / weight.sum()
    parameters = np.zeros(design.shape[1])
    for _ in range(50):
        said = 1 / (1 + np.exp(-design @ parameters))
        gradient = design.T @ (weight * (right - said)) - RIDGE * parameters
        curvature = (design * (weight * said * (1 - said))[:, None]).T @ design + RIDGE * np.eye(len(parameters))
        parameters = parameters + np.clip(np.linalg.solve(curvature, gradient), -2, 2)
    return LogisticCurve(*(round(float(value), 3) for value in parameters))


def said_and_right(examples: list[Example], curves: dict[str, LogisticCurve], name: str) -> list[str]:
    """By bins: the mean of what is said and what is right, of the frames of markers and fragments."""
    rows = [
        (float(curves[each.curve].probability(np.array(each.margin))), each.right, each.weight)
        for each in examples
        if each.curve != "side"
    ]
    said, right, weight = np.array(rows).T
    cells = []
    for low, high in pairwise(BINS):
        own = (said > low) & (said <= high)
        cells.append(
            f"{np.average(said[own], weights=weight[own]):.3f} / {np.average(right[own], weights=weight[own]):.3f}"
            f" ({weight[own].sum():.0f})"
            if own.any()
            else "–"
        )
    return [name, *cells]


def collect(options: argparse.Namespace) -> dict[str, list[Example]]:
    """Performer -> examples of the takes that are asked for; those of the cache are not measured again."""
    cache, done = options.cache, {}
    if cache.exists():
        done = {row["take"]: row["examples"] for row in map(json.loads, cache.read_text("utf-8").splitlines())}
    takes = [
        path
        for folder in sorted(SKIN_TAKES.glob("user*"))
        for path in sorted(folder.glob("*.trc"))[options.first :: options.every]
    ]
    found: dict[str, list[Example]] = {}
    for path in takes:
        take = f"{path.parent.name}/{path.stem}"
        if take not in done:
            done[take] = [asdict(example) for example in measure(path)]
            cache.parent.mkdir(parents=True, exist_ok=True)
            with cache.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"take": take, "examples": done[take]}) + "\n")
        found.setdefault(path.parent.name, []).extend(Example(**each) for each in done[take])
    return found


def main() -> None:
    """Measures, fits, tests and writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=6)
    parser.add_argument("--first", type=int, default=2)
    parser.add_argument("--cache", type=Path, default=ROOT / "build" / "labelling_confidence.jsonl")
    parser.add_argument("--out", type=Path, default=ROOT / "docs")
    parser.add_argument("--write", action="store_true", help="write the curves, and the table of the page")
    options = parser.parse_args()
    found = collect(options)
    rows = []
    for performer, own in found.items():
        others = [example for name, examples in found.items() if name != performer for example in examples]
        curves = {curve: fit_curve(others, curve) for curve in label_confidence.CURVES}
        rows.append(said_and_right(own, curves, f"{performer}, from the others"))
    every = [example for examples in found.values() for example in examples]
    curves = {curve: fit_curve(every, curve) for curve in label_confidence.CURVES}
    rows.append(said_and_right(every, curves, "all"))
    text = table(["said / right (frames)", *(f"{low:g} to {high:g}" for low, high in pairwise(BINS))], rows)
    print(text, json.dumps({name: asdict(curve) for name, curve in curves.items()}, indent=2), sep="\n")
    if options.write:
        CURVES_FILE.write_text(
            json.dumps({name: asdict(curve) for name, curve in curves.items()}, indent=2) + "\n", "utf-8"
        )
        fill(options.out / "explanation" / "labelling.md", {"articulated": text})


if __name__ == "__main__":
    main()
