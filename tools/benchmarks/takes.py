"""Every registered solver on every real recording beside the checkout: the table of docs/reference/accuracy.md.

    python tools/benchmarks/takes.py [--out docs]

The same targets for each solver; smoothing is off, so that what is seen is the solver. Needs ../shared/data.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from standard_page import fill, table

from knuckle.hand.joints import DIGITS
from knuckle.pipeline import job
from knuckle.pipeline.recipe import Recipe
from knuckle.pipeline.take import SolvedHand, Take
from knuckle.solvers import SOLVERS

ROOT = Path(__file__).resolve().parents[2]
CAPTURES = ROOT.parent / "shared" / "data" / "captures"
TAKES = {
    "optical glove, all joints": "two_hands_glove.c3d",
    "optical glove, tips and middles": "qualisys_glove.tsv",
    "Leap": "leap_finger_tap.json",
    "camera landmarks": "mediapipe_video.json",
}
CALM_MM = 5.0
"""mm, maximum movement of a calm digit's markers against the palm between two frames. Its joints hardly rotate."""


def rows() -> Iterator[list[str]]:
    """Yield a row for each recording, hand and solver."""
    for name, file in TAKES.items():
        for solver in SOLVERS:
            yield from rows_of(name, solver, CAPTURES / file)
            print(f"{name}, {solver}: done", flush=True)


def rows_of(name: str, solver: str, capture: Path) -> Iterator[list[str]]:
    """Yield the rows of one recording and solver."""
    take = job.run(Recipe(str(capture), landmarks="world", solver=solver, markers_on="joints"))
    for solved in take.hands:
        yield [f"{name}, {solved.side}", solver, *figures(take, solved)]


def figures(take: Take, solved: SolvedHand) -> list[str]:
    """Return the figures of one hand: errors of fingertips and all markers, rotation while still, limits, time."""
    report = take.report["hands"][solved.side]
    fingers = report["fingers"].values()
    tips, marks = ([finger[key] for finger in fingers] for key in ("tip_error_mm", "marker_error_mm"))
    seconds = take.report["seconds"]["solve"]
    return [
        f"{np.mean([tip['mean'] for tip in tips]):.2f} / {max(tip['max'] for tip in tips):.1f}",
        f"{np.mean([mark['mean'] for mark in marks]):.1f} / {np.mean([mark['p99'] for mark in marks]):.1f}",
        " ".join(f"{rotation:.0f}" for rotation in calm_turns(solved)),
        f"{report['limit_violations']}",
        f"{len(take.hands) * len(take.times) / seconds:,.0f}",
    ]


def calm_turns(solved: SolvedHand) -> list[float]:
    """Return degrees for each digit: the largest rotation of a joint from one frame to the next in which its markers
    are calm."""
    root = solved.pose.root
    world = solved.targets.positions - root[:, None, :3, 3]
    against_palm = np.einsum("fji,ftj->fti", root[:, :3, :3], world)
    joints = [solved.hand.joints[solved.hand.sites[site].joint] for site in solved.targets.sites]
    displacements = 1000 * np.linalg.norm(np.diff(against_palm, axis=0), axis=-1)
    rotations = np.rad2deg(np.abs(np.diff(solved.pose.angles, axis=0)))
    result = []
    for digit in DIGITS:
        digit_joints = [joint.startswith(digit) for joint in joints]
        is_calm = (displacements[:, digit_joints] < CALM_MM).all(1)
        of_digit = [solved.hand.joints[joint].startswith(digit) for joint in solved.hand.axis_joint]
        result.append(float(rotations[is_calm][:, of_digit].max(initial=0.0)))
    return result


def main() -> None:
    """Measure and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "docs")
    options = parser.parse_args()
    if not CAPTURES.is_dir():
        sys.exit("make bench: the recordings are not beside the checkout (../shared/data)")
    head = [
        "recording",
        "solver",
        "fingertips mean / max mm",
        "the digits' markers mean / p99 mm",
        "largest calm turn °, thumb to little",
        "limits broken",
        "hands a second",
    ]
    fill(options.out / "reference" / "accuracy.md", {"takes": table(head, rows())})


if __name__ == "__main__":
    main()
