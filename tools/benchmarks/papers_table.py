"""The thesis's own experiment (Lu 1997, chapter 5) on a recorded hand: figures for docs/explanation/table.md.

    python tools/benchmarks/papers_table.py [--out docs]

Its figures 5.2 to 5.4 and 5.8 to 5.9 show the measured and the computed angles of the index finger and the thumb, 5.5,
5.6, 5.10 and 5.11 the fingertip's coordinates in the digit's plane, 5.7 and 5.12 how far the fingertip is off. As
there, the hand is calibrated on six seconds of free motion and then followed for six more by its palm, its fingertips
and the thumb's MCP alone; the markers between tell the truth. Needs ../shared/data.
"""

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import takes
from numpy.typing import NDArray
from standard_page import fill, table

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import svg

from knuckle import solvers
from knuckle.capture.cleaning import clean
from knuckle.hand.calibration.joint_radii import radii_by_size
from knuckle.hand.calibration.marker_angles import flexions
from knuckle.hand.joints import CHAIN_JOINTS, DIGITS, KNUCKLES, TIPS, Side
from knuckle.hand.kinematics import Pose, joint_frames
from knuckle.hand.measured_hand import MeasuredHand
from knuckle.hand.proportions import adult, to_wrist_frame
from knuckle.hand.targets import assign
from knuckle.pipeline import assignment
from knuckle.pipeline import calibration as calibrate
from knuckle.pipeline.calibration_choices import CalibrationChoices, FrameRange, MotionClip
from knuckle.pipeline.recipe import Recipe
from knuckle.solvers import Solver
from knuckle.solvers.fabrik import Fabrik
from knuckle.solvers.planar.planar_chain import Chain, ChainMarker
from knuckle.solvers.table import Table
from knuckle.solvers.table.linkage import linkage, tip
from knuckle.solvers.table.lu_bend import planar_lu
from knuckle.solvers.table.table_bend import planar_table
from knuckle.solvers.table.uniform_table import ROWS
from knuckle.tests.pure.hand.people import FULL, bends, on_skin, someone

Floats = NDArray[np.float64]

CAPTURE = takes.CAPTURES / "two_hands_glove.c3d"
LEARNT_FRAMES, FOLLOWED_FRAMES = FrameRange(1, 360), slice(360, 720)
"""Six seconds at 60 Hz each, thesis 5.1."""
DRAWN_DIGITS = ("index-finger", "thumb")
GIVEN = ("wrist", *KNUCKLES, CHAIN_JOINTS["thumb"][0], CHAIN_JOINTS["thumb"][1], *TIPS)
THESIS_MM = {"index-finger": 6.01, "thumb": 7.1}
"""The thesis's mean fingertip errors, from figures 5.7 and 5.12."""
METHODS: dict[str, Solver[Any]] = {
    "lu, with ρ": Table(method="lu"),
    "lu, without ρ": Table(method="lu", coupled=False),
    "even": Table(),
    "recorded": Table(method="recorded"),
    "FABRIK": Fabrik(),
}


@dataclass(frozen=True, slots=True, eq=False)
class Followed:
    """A hand solved by one method from its markers."""

    angles: dict[str, Floats]
    """Digit -> (F, 3) degrees."""
    off: dict[str, Floats]
    """Digit -> (F,) mm from the fingertip to its marker."""
    tips: dict[str, Floats]
    """Digit -> (2, F, 2) mm from the digit's first joint, along the straight digit and towards the palm: of the marker,
    and of the fingertip."""


def experiment(side: Side) -> tuple[dict[str, Floats], dict[str, Followed]]:
    """Return the measured angles, digit -> (F, 3) degrees, and the solutions of each method."""
    recipe = Recipe(str(CAPTURE), hand=side)
    hand = calibrate.run(recipe, CalibrationChoices(motions=(MotionClip(None, LEARNT_FRAMES),), fit=False)).hands[side]
    markers = clean(assignment.read(recipe), recipe.cleaning).select(FOLLOWED_FRAMES)
    positions = assignment.positions_of(markers, hand.spots)
    local = to_wrist_frame(hand.proportions, tuple(hand.spots.values()), positions)
    spots = tuple(hand.spots.values())
    measured = {digit: np.rad2deg(flexions(hand.proportions, spots, local, digit)) for digit in DRAWN_DIGITS}
    given_columns = [column for column, spot in enumerate(spots) if spot.joint in GIVEN]
    given_hand = replace(hand, spots={label: hand.spots[label] for label in np.array(list(hand.spots))[given_columns]})
    return measured, {
        name: followed(given_hand, positions[:, given_columns], solver) for name, solver in METHODS.items()
    }


def followed(hand: MeasuredHand, positions: Floats, solver: Solver[Any]) -> Followed:
    """Return a hand solved frame by frame from markers (F, M, 3) m."""
    model, targets = assign(hand.model, hand.spots, np.arange(len(positions)) / 60, positions)
    state = solver.solve(model, targets.select(slice(0, 1)), solvers.initial_state(solver, hand))[1]
    roots, angles = [], []
    for frame in range(len(targets)):
        pose, state = solver.solve(model, targets.select(slice(frame, frame + 1)), state)
        roots.append(pose.root)
        angles.append(pose.angles)
    pose = Pose(model, np.concatenate(roots), np.concatenate(angles))
    tips = joint_frames(model, pose)[:, [model.joints.index(CHAIN_JOINTS[digit][3]) for digit in DRAWN_DIGITS]][
        ..., :3, 3
    ]
    bases = joint_frames(model, replace(pose, angles=np.zeros_like(pose.angles)))
    bases = bases[:, [model.joints.index(CHAIN_JOINTS[digit][0]) for digit in DRAWN_DIGITS]]
    there = positions[
        :, [[spot.joint for spot in hand.spots.values()].index(CHAIN_JOINTS[digit][3]) for digit in DRAWN_DIGITS]
    ]
    errors = 1000 * np.linalg.norm(tips - there, axis=-1)
    return Followed(
        angles={digit: bent(pose, digit) for digit in DRAWN_DIGITS},
        off=dict(zip(DRAWN_DIGITS, errors.T, strict=True)),
        tips={digit: in_plane(bases[:, k], there[:, k], tips[:, k]) for k, digit in enumerate(DRAWN_DIGITS)},
    )


def in_plane(bases: Floats, *points: Floats) -> Floats:
    """Return points (F, 3) m, each (F, 2) mm along the straight digit and towards the palm.

    bases: (F, 4, 4) frames of its first joint at zero angles, +Y along the digit, +Z out of the back of the hand.
    """
    local = [np.einsum("fji,fj->fi", bases[:, :3, :3], positions - bases[:, :3, 3]) for positions in points]
    return 1000 * np.stack(local)[..., [1, 2]] * [1.0, -1.0]


def bent(pose: Pose, digit: str) -> Floats:
    """Return (F, 3) degrees of a digit's flexions."""
    dofs = [pose.hand.dof(joint, "flexion") for joint in CHAIN_JOINTS[digit][:3]]
    flexed: Floats = np.rad2deg(pose.angles[:, dofs])
    return flexed


def rows(measured: dict[str, Floats], solutions: dict[str, Followed]) -> list[list[str]]:
    """Return a row for each method: mean errors of angles and of fingertips."""
    result = []
    for name, solution in solutions.items():
        cells = [name]
        for digit in DRAWN_DIGITS:
            angle_errors = np.nanmean(np.abs(solution.angles[digit] - measured[digit]), axis=0)
            cells += [" / ".join(f"{angle:.1f}" for angle in angle_errors), f"{solution.off[digit].mean():.2f}"]
        result.append(cells)
    thesis = [cell for digit in DRAWN_DIGITS for cell in ("", f"{THESIS_MM[digit]:g}")]
    return [*result, ["the thesis, its own recording", *thesis]]


def skin_rows(hands: int = 4, frames: int = 120, noise: float = 0.0005) -> list[list[str]]:
    """Return mean errors of markers on the skin over joints of known radii, by fingertips and palm: with the radii and
    without.

    Here the truth is known to the last digit, which no recording at hand has.
    """
    rho = np.array([0.5, 0.6, 0.65, 0.7, 0.75])
    visible_columns = [FULL.index(spot) for spot in FULL if spot.joint in ("wrist", *KNUCKLES, *TIPS)]
    methods = {name: METHODS[name] for name in ("lu, with ρ", "even", "FABRIK")}
    errors: dict[tuple[str, bool], list[float]] = {}
    for seed in range(hands):
        shape = someone("right", seed)
        true = bends(frames, rho, seed)
        radii = radii_by_size(shape) * np.random.default_rng(seed).uniform(0.8, 1.2, (5, 3))
        positions = on_skin(shape, radii, true, noise, seed)[:, visible_columns]
        spots = {FULL[column].joint: FULL[column] for column in visible_columns}
        for name, solver in methods.items():
            for has_radii in (False, True):
                given_radii = radii if has_radii else radii_by_size(shape)
                hand = MeasuredHand(shape, spots, rho=(None, *rho[1:].tolist()), radii=given_radii)
                model, targets = assign(hand.model, spots, np.arange(frames) / 60, positions)
                pose, _ = solver.solve(model, targets, solvers.initial_state(solver, hand))
                off = [np.abs(bent(pose, digit) - np.rad2deg(true[:, row])) for row, digit in enumerate(DIGITS) if row]
                errors.setdefault((name, has_radii), []).append(float(np.mean(off)))
    means = {name: [np.mean(errors[name, has_radii]) for has_radii in (False, True)] for name in methods}
    return [[name, *(f"{error:.1f}" for error in means[name])] for name in methods]


def precision_rows(frames: int = 400) -> list[list[str]]:
    """Return a row for each size of an index finger's table: entries, kilobytes, and errors of tip and angles."""
    limits = np.deg2rad([[-20, 80], [0, 100], [0, 67]])
    chain = Chain(adult("right").phalanges[1], limits, 2 / 3, 0.0)
    end = ChainMarker(2, float(chain.lengths[2]))
    times = np.linspace(0, 1, frames)
    middle = np.deg2rad(48 + 46 * np.sin(9 * times))
    true_angles = np.stack([np.deg2rad(28 + 44 * np.sin(7 * times + 1)), middle, middle * 2 / 3], axis=-1)
    goals = tip(linkage(chain, end, np.zeros(3)).links, true_angles)
    even = planar_table(chain, end, np.zeros(3))
    result = []
    for precision, with_rho in product((0.25, 0.5, 1.0, 2.0, 4.0), (True, False)):
        lu = planar_lu(even, precision, with_rho)
        assert lu.index is not None
        entries = len(lu.index.middle)
        first, second, third = true_angles[0].tolist()
        angles = lu.after((first, second, third)).bend_frames(goals.real, goals.imag, [])
        name = f"lu, {precision:g} mm and °" + ("" if with_rho else ", without ρ")
        result.append(_precision_row(name, entries, 3 * entries, angles, true_angles))
    angles = even.bend_frames(goals.real, goals.imag, [])
    return [*result, _precision_row("even", ROWS + 2, 2 * (ROWS + 2), angles, true_angles)]


def _precision_row(
    name: str, entries: int, numbers: int, solution: tuple[Floats, ...], true_angles: Floats
) -> list[str]:
    off, error = np.rad2deg(np.abs(np.stack(solution[:3], axis=-1) - true_angles)), 1000 * solution[3]
    tips, angles = f"{error.mean():.3f} / {error.max():.2f}", f"{off.mean():.2f} / {off.max():.1f}"
    return [name, f"{entries:,}", f"{8 * numbers / 1024:,.0f}", tips, angles]


def pictures(folder: Path, measured: dict[str, Floats], solutions: dict[str, Followed]) -> None:
    """Draw the page's pictures."""
    method_of_curve = {"measured": None, "lu, with ρ": "lu, with ρ", "even": "even"}
    for digit, joint in (("index-finger", 0), ("index-finger", 1), ("index-finger", 2), ("thumb", 1), ("thumb", 2)):
        joint_name = ("MCP", "PIP", "DIP")[joint] if digit != "thumb" else ("CMC", "MCP", "IP")[joint]
        curves = [
            (measured if of is None else solutions[of].angles)[digit][:, joint] for of in method_of_curve.values()
        ]
        title = f"{digit.replace('-', ' ')}, {joint_name}: how far it is bent"
        path = folder / f"table-{digit.split('-')[0]}-{joint_name.lower()}.svg"
        draw(path, title, "degrees", dict(zip(method_of_curve, curves, strict=True)))
    for digit, (axis, about) in product(DRAWN_DIGITS, enumerate(("along the straight digit", "towards the palm"))):
        curves = [
            solutions["even"].tips[digit][0],
            *(solutions[name].tips[digit][1] for name in ("lu, with ρ", "even")),
        ]
        path = folder / f"table-{digit.split('-')[0]}-tip-{'xy'[axis]}.svg"
        title = f"{digit.replace('-', ' ')}: its tip, {about}"
        draw(path, title, "mm", dict(zip(method_of_curve, (curve[:, axis] for curve in curves), strict=True)))
    for digit in DRAWN_DIGITS:
        errors = {name: solutions[name].off[digit] for name in ("lu, with ρ", "even", "recorded")}
        path = folder / f"table-{digit.split('-')[0]}-tip.svg"
        draw(path, f"{digit.replace('-', ' ')}: fingertip to its marker", "mm", errors)


def draw(path: Path, title: str, unit: str, curves: dict[str, Floats]) -> None:
    """Draw curves over the frames."""
    frames = np.arange(len(next(iter(curves.values()))))
    x = svg.Axis("frame", 0, len(frames), svg.ticks(0, len(frames)))
    y = svg.axis(unit, [float(value) for curve in curves.values() for value in curve if np.isfinite(value)])
    series = [svg.Series(name, frames.tolist(), curve.tolist(), name == "measured") for name, curve in curves.items()]
    svg.write(path, svg.lines(title, x, y, series))


HEAD = ("method", "index MCP / PIP / DIP, °", "tip, mm", "thumb CMC / MCP / IP, °", "tip, mm")
SECTIONS: dict[str, Callable[[], str]] = {
    "left": lambda: table(HEAD, rows(*experiment("left"))),
    "right": lambda: table(HEAD, rows(*experiment("right"))),
    "skin": lambda: table(["method", "radii unknown, °", "radii known, °"], skin_rows()),
    "precision": lambda: table(
        ["table", "entries", "kB", "tip mean / max, mm", "angles mean / max, °"], precision_rows()
    ),
}
"""The tables of docs/explanation/table.md, which tests/pure/test_doc_tables.py holds to what is printed there."""


def main() -> None:
    """Measure and write the tables and pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=takes.ROOT / "docs")
    options = parser.parse_args()
    fill(options.out / "explanation" / "table.md", {name: made() for name, made in SECTIONS.items()})
    pictures(options.out / "pictures", *experiment("left"))


if __name__ == "__main__":
    main()
