"""Labelling by shape on recordings without their labels: the tables of docs/explanation/labelling.md.

    python tools/benchmarks/labelling.py [sure spoiled stripped] [--out docs]

All tables, or those that are named. Needs the recordings beside the checkout (../shared/data).
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from standard_page import fill, table

from knuckle import capture
from knuckle.hand.joints import DIGITS
from knuckle.hand.labelling.label_search import label_hands
from knuckle.hand.labelling.labelling_result import LabelledHand
from knuckle.tests.pure.hand.labelling.spoiled import Spoiled, Truth, score, spoil, stripped, truth_of

Floats = NDArray[np.float64]

ROOT = Path(__file__).resolve().parents[2]
CAPTURES = ROOT.parent / "shared" / "data" / "captures"
FILES = ("two_hands_glove.c3d", "qualisys_glove.tsv", "mediapipe_video.json", "leap_finger_tap.json")
SPOILT = {
    "shuffled": {},
    "swaps": {"swaps": 8},
    "fragments": {"cuts": 12},
    "all": {"swaps": 8, "cuts": 12, "ghosts": 6},
}
SEEDS = (1, 2)
TIPS = {
    "five tips": DIGITS,
    "without the ring's": ("thumb", "index-finger", "middle-finger", "pinky-finger"),
    "thumb, index, little": ("thumb", "index-finger", "pinky-finger"),
    "thumb, index, middle": ("thumb", "index-finger", "middle-finger"),
}
CONFIDENCE_BINS = (0.5, 0.8, 0.9, 0.95, 0.97, 1.0)
"""Limits of the bins of confidence."""

Recording = tuple[Floats, Floats, Truth]
"""(F,) s, (F, M, 3) m, and the true labels of its columns."""


def recording(path: Path) -> Recording:
    """Return a recording and its true labels."""
    markers = capture.read(path)
    return markers.times, markers.positions, truth_of(markers)


def fractions_right(clip: Recording, seed: int, **spoilt: int) -> str:
    """Return the percentages of a spoiled recording's marker-frames with correct / wrong labels."""
    times, positions, truth = clip
    spoiled = spoil(positions, seed, **spoilt)
    scores = score(label_hands(times, spoiled.positions), spoiled, truth)
    return f"{round(100 * scores.right, 1):g} / {round(100 * scores.wrong, 1):g}"


def spoiled_takes() -> str:
    """Whole recordings, spoiled in four ways, twice each."""
    return table(["capture, markers a hand", *SPOILT], [spoiled_row(file, CAPTURES / file) for file in FILES])


def spoiled_row(file: str, path: Path) -> list[str]:
    """Return the row of one recording."""
    clip = recording(path)
    cells = [
        " and ".join(dict.fromkeys(fractions_right(clip, seed, **kind) for seed in SEEDS)) for kind in SPOILT.values()
    ]
    return [f"{file}, {_counts(clip)}", *cells]


def _counts(clip: Recording) -> str:
    _, positions, truth = clip
    hands = {side for side, _ in truth.values()}
    others = positions.shape[1] - len(truth)
    return f"{len(truth) // len(hands)}" + (f", and {others} elsewhere" if others else "")


def stripped_takes() -> str:
    """Recordings with three markers on the palm and some tips, shuffled."""
    return table(["capture", *TIPS], [stripped_row(file, CAPTURES / file) for file in FILES])


def stripped_row(file: str, path: Path) -> list[str]:
    """Return the row of one recording."""
    clip = recording(path)
    return [file, *(fractions_right(stripped(*clip, digits), 1) for digits in TIPS.values())]


def confidence_table() -> str:
    """Return a table of the confidence of pieces and how many are right, for recordings whole and stripped, spoiled in
    all four ways.

    The curves of confidence were fitted to recordings spoiled with other seeds.
    """
    confidences, outcomes = [], []
    for clip, seed in _sets():
        times, positions, truth = clip
        for kind in SPOILT.values():
            spoiled = spoil(positions, seed, **kind)
            for hand in label_hands(times, spoiled.positions).hands:
                for confidence, is_right in _pieces(hand, spoiled, truth):
                    confidences.append(confidence)
                    outcomes.append(is_right)
    sure, good = np.array(confidences), np.array(outcomes)
    ranges = [(sure > low) & (sure <= high) for low, high in pairwise(CONFIDENCE_BINS)]
    head = ["said", *(f"{low:g} to {high:g}" for low, high in pairwise(CONFIDENCE_BINS))]
    rows = [
        ["mean of what was said", *(_mean(sure[own]) for own in ranges)],
        ["right, of pieces", *(_mean(good[own]) for own in ranges)],
        ["how many", *(str(int(own.sum())) for own in ranges)],
    ]
    return table(head, rows)


def _sets() -> Iterator[tuple[Recording, int]]:
    """Yield the recordings, whole and stripped, and a seed for each."""
    for number, file in enumerate(FILES):
        clip = recording(CAPTURES / file)
        yield clip, 100 + 10 * number
        for more, digits in enumerate(TIPS.values(), 1):
            yield stripped(*clip, digits), 100 + 10 * number + more


def _pieces(hand: LabelledHand, spoiled: Spoiled, truth: Truth) -> Iterator[tuple[float, bool]]:
    """Yield each span's confidence, and whether most of its frames belong to the spot and side that it was labelled
    with."""
    for span in hand.spans:
        owners = spoiled.owner[span.first : span.last + 1, span.column]
        owners = owners[owners >= 0]
        owner = int(np.bincount(owners).argmax()) if len(owners) else -1
        yield span.confidence, truth.get(owner) == (hand.side, hand.layout.spots[span.spot])


def _mean(values: Floats) -> str:
    return f"{values.mean():.2f}" if len(values) else "–"


SECTIONS: dict[str, Callable[[], str]] = {
    "sure": confidence_table,
    "spoiled": spoiled_takes,
    "stripped": stripped_takes,
}


def main() -> None:
    """Measure and write the tables one by one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", metavar="TABLE", help=" ".join(SECTIONS))
    parser.add_argument("--out", type=Path, default=ROOT / "docs")
    options = parser.parse_args()
    if unknown := set(options.sections) - set(SECTIONS):
        parser.error(f"there is no table {', '.join(sorted(unknown))}, only {', '.join(SECTIONS)}")
    if not CAPTURES.is_dir():
        sys.exit("tools/benchmarks/labelling.py: the recordings are not beside the checkout (../shared/data)")
    for name in options.sections or SECTIONS:
        fill(options.out / "explanation" / "labelling.md", {name: SECTIONS[name]()})


if __name__ == "__main__":
    main()
